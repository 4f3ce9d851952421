"""Output that goes nowhere, and names that are no text or as long as names can be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bdis
from bdis.cli.app import run
from bdis.common.atomic import write_whole
from bdis.evaluation.datasets import write_rendered
from tests.cli.commands import COMMAND, bdis_command, needs_posix

SCENE = ["render", "plane", "--size", "96x64"]
NOT_TEXT = os.fsdecode(b"colon-\xff\xfe")
needs_names_of_bytes = pytest.mark.skipif(sys.platform != "linux", reason="names of other systems are text")
TERMINAL = {"env": {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}}  # as Python has it in most places of the world


@needs_posix
@pytest.mark.parametrize("arguments", [["presets"], ["presets", "--json"], ["--version"], ["-h"]])
def test_a_reader_that_goes_away_is_no_error(arguments):
    """As in ``bdis presets | head -1``."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run([*COMMAND, *arguments], stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.stderr == ""
    assert done.returncode in (0, 1 if arguments == ["-h"] else 0)  # help is printed by typer, which says 1


@needs_posix
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_do_not_stop_the_work(closed, pair, calib, tmp_path):
    command = [*COMMAND, "match", *pair, *calib, "--preset", "fast", "--format", "npz", "-o", tmp_path / "out"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *map(str, command)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["result.npz", "run.json"]
    assert bdis.read_result(tmp_path / "out" / "result.npz").coverage > 0.5


@needs_posix
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_stop_a_recording(closed, tmp_path):
    command = [*COMMAND, "run", "render:plane,frames=3,height=48,width=64", "--preset", "fast", "-o", tmp_path / "out"]
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *map(str, command)], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["state"] == "complete"


@needs_posix
def test_a_result_that_cannot_be_printed_is_one_line_of_error():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "presets", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


@needs_names_of_bytes
def test_bench_of_a_folder_whose_name_is_no_text(tmp_path):
    folder, out = tmp_path / NOT_TEXT, tmp_path / f"{NOT_TEXT}-out"
    assert bdis_command(*SCENE, "--frames", "2", "-o", folder, **TERMINAL).returncode == 0
    (folder / "scene.json").unlink()  # as a plain folder, whose group has the name of the folder
    done = bdis_command(
        "bench", folder, "--kind", "folder", "--methods", "bdis-fast", "--rounds", "0", "-o", out, **TERMINAL
    )
    assert done.returncode == 0, done.stderr
    assert "colon-\\udcff\\udcfe" in done.stdout
    assert "colon-\\udcff\\udcfe" in (out / "report.html").read_text(encoding="utf-8")
    assert "colon-\\udcff\\udcfe" in (out / "frames.csv").read_text(encoding="utf-8")
    assert json.loads((out / "results.json").read_text())


@needs_names_of_bytes
def test_match_of_a_folder_whose_name_is_no_text(pair, tmp_path):
    done = bdis_command("match", *pair, "--preset", "fast", "--format", "npz", "-o", tmp_path / NOT_TEXT, **TERMINAL)
    assert done.returncode == 0, done.stderr
    assert "colon-\\udcff\\udcfe: result.npz, run.json" in done.stdout


@pytest.mark.parametrize("name", ["colon $x_{$", pytest.param(NOT_TEXT, marks=needs_names_of_bytes)])
def test_certainty_of_a_folder_whose_name_is_a_formula_or_no_text(name, tmp_path):
    folder, picture = tmp_path / name, tmp_path / "certainty.png"
    write_rendered(folder, "plane", 2, 64, 96)
    (folder / "scene.json").unlink()
    arguments = ["certainty", "show", folder, "--kind", "folder", "--preset", "fast", "-o", picture]
    done = bdis_command(*arguments, **TERMINAL)
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 10_000


def test_a_file_may_have_the_longest_name(tmp_path):
    path = tmp_path / ("n" * 251 + ".bin")
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"


def test_bench_of_a_folder_with_the_longest_name(tmp_path, capsys):
    folder = tmp_path / ("é" * 127)  # 254 bytes
    assert run([*SCENE, "--frames", "2", "-o", str(folder)]) == 0
    (folder / "scene.json").unlink()
    out = tmp_path / "out"
    arguments = ["bench", str(folder), "--kind", "folder", "--methods", "bdis-fast", "--rounds", "0", "-o", str(out)]
    assert run(arguments) == 0, capsys.readouterr().err
    assert len(list((out / "samples").iterdir())) == 1


@pytest.mark.parametrize("place", ["lib/python3.11/site-packages", "src"])
def test_a_wheel_in_somebodys_repository_does_not_report_its_commit(place, tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "theirs"], check=True)
    package = Path(bdis.__file__).parent
    shutil.copytree(package, tmp_path / place / "bdis", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "theirs"\n')
    code = "from bdis.common.machine import _commit; print(_commit())"
    assert said_by(code, tmp_path / place) == "unknown"


def test_the_commit_is_that_of_the_working_copy_whatever_git_is_told():
    """In a hook of git, GIT_DIR names another repository."""
    code = "from bdis.common.machine import _commit; print(_commit())"
    source = Path(bdis.__file__).parents[1]
    assert said_by(code, source, GIT_DIR="/nowhere") == said_by(code, source)


def said_by(code, path, **environment):
    environment = {**os.environ, "PYTHONPATH": str(path), **environment}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()
