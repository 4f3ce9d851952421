"""The command line as a whole, and the small commands."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

import bdis
from bdis.cli import app, doctor, options, terminal
from bdis.cli.app import run
from bdis.common import optional
from bdis.common.declared import declarations
from bdis.common.optional import install_command
from bdis.matching.settings import PRESET_SUMMARIES
from tests.cli.commands import WIDTH, bdis_command, fails


def test_help_is_instant_and_shows_real_commands():
    """Neither Numba nor NumPy nor OpenCV nor Matplotlib is needed to print a help text."""
    code = """
import sys
from bdis.cli.app import COMMANDS, run
groups = ("calib -h", "calib show -h", "certainty -h", "certainty fit -h", "certainty show -h")
for words in ("", "-h", "--version", "match --help", *groups, *(f"{name} -h" for name in COMMANDS)):
    assert run(words.split()) == 0, words
heavy = {"numba", "numpy", "cv2", "matplotlib", "rich.console"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "bdis match left.png right.png --calib calibration.yaml" in done.stdout
    assert f"bdis {bdis.__version__}" in done.stdout


def test_every_command_is_listed_with_a_whole_sentence(capsys):
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2].splitlines()
    for name in [*app.COMMANDS, "calib", "certainty"]:
        (line,) = [line for line in listed if line.startswith(f"  {name} ")]
        assert line.endswith("."), line
        assert not line.endswith("..."), line


def test_layouts_of_the_options_are_those_of_the_sources():
    from bdis.video.sources.views import LAYOUTS

    assert options.LAYOUTS == LAYOUTS


def test_without_typer_the_command_names_the_pip_command():
    code = "import sys; sys.modules['typer'] = sys.modules['av'] = None\nfrom bdis.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"error: the bdis command needs typer: {install_command('typer', 'av')}\n"


def test_shell_completion_knows_commands_and_presets():
    def complete(words):
        environment = {**os.environ, "_BDIS_COMPLETE": "complete_bash", "COMP_WORDS": words,
                       "COMP_CWORD": str(len(words.split(" ")) - 1)}  # fmt: skip
        code = "import sys; sys.argv = ['bdis']; from bdis.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        ).stdout.split()

    assert complete("bdis ma") == ["match"]
    assert complete("bdis match --preset pap") == ["paper", "paper-2021"]


def test_presets(capsys):
    assert run(["presets"]) == 0
    said = capsys.readouterr().out
    for name in bdis.PRESETS:
        assert name in said
        assert PRESET_SUMMARIES[name].split()[0] in said
    assert "label_level=0" in said
    assert run(["presets", "paper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == vars(bdis.PRESETS["paper"])


def test_a_preset_is_listed_with_meaning_unit_and_range_of_every_setting(capsys):
    assert run(["presets", "paper"]) == 0
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines() if line.startswith(" ")}
    paper = bdis.PRESETS["paper"]
    for name, declared in declarations(bdis.Settings).items():
        value = getattr(paper, name)
        assert declared.description()[:60] in lines[name]
        assert f" {value} " in lines[name]
        assert ("default" in lines[name]) == (value != declared.default)
        assert declared.group in said
    assert "10 (default 8)" in lines["patch_size"]
    assert "An even number from 4 to 16 px of a level." in lines["patch_size"]


def test_python_runs_the_command_where_the_shell_does_not_find_it():
    done = subprocess.run([sys.executable, "-m", "bdis", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(bdis.__version__)


def test_calib_show_tells_a_focal_length_that_hardly_any_camera_has(tmp_path, capsys):
    bdis.Rig(54400, 319.5, 239.5, 5, size=(640, 480)).save(tmp_path / "rig.toml")
    with pytest.warns(UserWarning, match="focal length of 54400 px"):
        bdis.Rig.load(tmp_path / "rig.toml")
    assert run(["calib", "show", str(tmp_path / "rig.toml")]) == 0
    assert "rig.toml has a focal length of 54400 px: images of 640x480 see 0.674 degrees" in capsys.readouterr().err


def test_calib_show(folder, scene, raw, capsys, tmp_path):
    assert run(["calib", "show", str(folder / "rig.toml"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["format"] == "bdis rig"
    half = np.degrees(np.arctan(WIDTH / 2 / scene.focal_px))
    assert shown["field_of_view_degrees"][0] == pytest.approx(2 * half)
    product = scene.focal_px * scene.baseline_mm
    expected = {str(depth): depth**2 / product for depth in (50, 100, 200)}
    assert shown["depth_resolution_mm_per_px"] == pytest.approx(expected)
    assert run(["calib", "show", str(raw / "endoscope_calibration.yaml")]) == 0
    said = capsys.readouterr().out
    assert "OpenCV FileStorage YAML" in said
    assert "assumed: OpenCV files do not say" in said
    assert "give --size" in said
    assert run(["calib", "show", str(raw / "endoscope_calibration.yaml"), "--size", "320x240"]) == 0
    said = capsys.readouterr().out
    assert "field of view" in said
    assert "at 200 mm" in said
    fails(capsys, ["calib", "show", tmp_path / "none.yaml"], 1, "No such file")
    fails(capsys, ["calib", "show", folder / "left.png"], 1, "left.png", "not a text file")


def test_doctor_says_all_is_well(capsys):
    bdis.StereoMatcher().match(np.zeros((64, 96), np.uint8), np.zeros((64, 96), np.uint8))  # so that a kernel is cached
    assert run(["doctor", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["self_test"]["passed"]
    assert answer["self_test"]["median_error_px"] < doctor.MAX_ERROR_PX
    assert answer["packages"]["bdis"] == bdis.__version__
    assert answer["processor"]
    assert answer["cache"]["kernels"] > 0


def test_doctor_fails_when_the_result_is_wrong(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_self_test", lambda: (3.0, 0.9, 1.0))
    assert run(["doctor"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_doctor_names_a_cache_that_others_may_write_to(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_self_test", lambda: (0.1, 0.9, 1.0))
    monkeypatch.setenv("BDIS_CACHE_DIR", str(tmp_path / "open"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert run(["doctor"]) == 0
    assert "NOT SAFE" in capsys.readouterr().out
    assert run(["doctor", "--json"]) == 0
    (problem,) = json.loads(capsys.readouterr().out)["cache"]["unsafe"]
    assert problem.startswith(f"other users may write to {tmp_path / 'open'}")


def test_doctor_names_two_opencv_wheels_and_how_to_keep_one(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_self_test", lambda: (0.1, 0.9, 1.0))
    wheels = {"opencv-python": "4.12.0.88", "opencv-python-headless": "5.0.0.93"}
    monkeypatch.setattr(doctor, "opencv_wheels", lambda: wheels)
    monkeypatch.setattr(optional, "opencv_wheels", lambda: wheels)
    assert run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["opencv"]
    assert found["found"] == "opencv-python 4.12.0.88, opencv-python-headless 5.0.0.93"
    assert "2 WHEELS THAT OVERWRITE EACH OTHER" in found["problem"]
    uninstall, install = found["problem"].partition("to keep one: ")[2].split(", then ")
    assert uninstall.endswith(" -m pip uninstall opencv-python opencv-python-headless")
    assert install == install_command("cv2")
    assert ' "opencv-python>=' in install


def test_doctor_says_that_opencv_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_self_test", lambda: (0.1, 0.9, 1.0))
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert run(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opencv"]["problem"].startswith("NOT USABLE: reading images needs cv2")


def test_warmup_leaves_every_kernel_ready(capsys):
    """The matcher's, the renderer's and those of ELAS; a second time nothing is compiled, nor said to be."""
    from bdis.evaluation.baselines.elas import kernels as elas
    from bdis.matching import kernels
    from bdis.synthetic import kernels as renderer
    from bdis.vector.cache import kernels_in

    assert run(["warmup", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["kernels"] == sum(len(kernels_in(package)) for package in (kernels, renderer, elas))
    assert answer["kernels"] > len(kernels.__all__)
    assert answer["files"] >= answer["kernels"]
    assert run(["warmup"]) == 0
    said = capsys.readouterr()
    assert "0 of them compiled" in said.out
    assert "compiling" not in said.err


def test_commands_that_the_demo_ends_with_run_as_printed(tmp_path):
    """Also if the environment is not activated, and from a folder with a blank in its name."""
    script = tmp_path / ".venv" / "bin" / "bdis"
    script.parent.mkdir(parents=True)
    smaller = "from bdis.cli import demo, main; demo.HEIGHT, demo.WIDTH, demo.TIMED_FRAMES = 96, 128, 1"
    script.write_text(f"#!{sys.executable}\n{smaller}\nmain()\n")
    script.chmod(0o755)
    demo = [script, "demo", "-o", "my demo", "--preset", "fast"]
    said = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    match, view = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert match.startswith(".venv/bin/bdis match 'my demo/left.png'")
    subprocess.run(match, shell=True, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "bdis-output" / "depth.tiff").exists()
    serving = [*shlex.split(view), "--no-browser"]
    with subprocess.Popen(serving, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as page:
        said = next((line for line in page.stdout if "http://" in line), "no address")
        page.send_signal(signal.SIGINT)
        page.communicate(timeout=60)
    assert "http://" in said


def test_demo_renders_matches_and_compares(tmp_path):
    """What ``make demo`` runs."""
    done = bdis_command("demo", "-o", tmp_path / "demo", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["median_error_mm"] < 0.2
    assert answer["coverage"] > 0.7
    assert answer["frames_per_second"] > 10
    expected = {"left.png", "right.png", "rig.toml", "preview.png", "cloud.ply", "depth.tiff", "disparity.tiff",
                "result.npz", "run.json"}  # fmt: skip
    assert {path.name for path in (tmp_path / "demo").iterdir()} == expected
    assert "rendering" in done.stderr


@pytest.mark.parametrize("is_terminal", [True, False])
def test_waiting_is_shown_and_compiling_only_when_it_happens(is_terminal, monkeypatch, capsys):
    from bdis.vector import progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with terminal.working("matching"):
        pass
    said = capsys.readouterr().err
    assert "matching" in said
    assert "compiling" not in said
    with terminal.working("matching"), progress.current() as report:
        report(0, 7, "search")
        report(3, 7, "smooth")
    said = capsys.readouterr().err
    assert "matching" in said
    assert "compiling" in said
    assert ("3/7" if is_terminal else "compiling 7 kernels") in said
    assert progress._reporter is progress.line_on_terminal


def test_interruption_is_no_traceback(monkeypatch, capsys):
    @contextlib.contextmanager
    def interrupt(folder):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("bdis.cli.demo.output_folder", interrupt)
    assert app.run(["demo"]) == 130
    assert capsys.readouterr().err == "error: interrupted; nothing was written\n"
