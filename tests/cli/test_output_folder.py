"""A folder that is written to a second time: what is removed, what stays, and what is refused."""

import json
import os
import shutil

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.common.atomic import all_or_nothing
from tests.cli.commands import fails


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def matched(pair, calib, tmp_path):
    """What ``bdis match`` left: cloud.ply, depth.tiff, disparity.tiff and run.json."""
    assert run(["match", *pair, *calib, "--preset", "fast", "--format", "tiff,ply", "-o", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def test_depth_of_the_run_before_does_not_stay_beside_the_new_disparity(matched, pair, capsys):
    capsys.readouterr()
    assert run(["match", *pair, "--preset", "fast", "--format", "tiff", "-o", str(matched)]) == 0
    assert names(matched) == ["disparity.tiff", "run.json"]
    said = capsys.readouterr().err
    assert f"removed from {matched}, as it belonged to the run before: cloud.ply, depth.tiff" in said
    assert run(["match", *pair, "--preset", "fast", "--format", "tiff", "-o", str(matched)]) == 0
    assert "removed" not in capsys.readouterr().err


def test_a_strangers_files_stay(matched, pair, capsys):
    (matched / "notes.txt").write_text("mine")
    (matched / "depth.pfm").write_text("also mine")
    assert run(["match", *pair, "--preset", "fast", "--format", "npz", "-o", str(matched)]) == 0
    assert names(matched) == ["depth.pfm", "notes.txt", "result.npz", "run.json"]
    assert (matched / "depth.pfm").read_text() == "also mine"
    assert f"warning: {matched} also has depth.pfm, which this command did not write" in capsys.readouterr().err


def test_rectified_again_removes_the_depth_of_the_old_images(matched, raw_arguments, capsys):
    assert run(["rectify", *raw_arguments, "-o", str(matched)]) == 0
    assert names(matched) == ["left.png", "rig.toml", "right.png"]
    assert "cloud.ply, depth.tiff, disparity.tiff, run.json" in capsys.readouterr().err


def test_a_file_that_is_read_is_not_removed(matched, pair):
    given = bdis.read_disparity(matched / "disparity.tiff")
    arguments = [*pair, str(matched / "disparity.tiff"), "--format", "npz", "-o", str(matched)]
    assert run(["assess", *arguments]) == 0
    assert names(matched) == ["disparity.tiff", "result.npz", "run.json"]
    np.testing.assert_array_equal(bdis.read_disparity(matched / "disparity.tiff"), given)


def test_rectify_does_not_replace_the_images_it_reads(raw_arguments, tmp_path, capsys, monkeypatch):
    for name in raw_arguments[:2]:
        shutil.copy(name, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    arguments = ["rectify", "left.png", "right.png", *raw_arguments[2:], "-o", "."]
    fails(capsys, arguments, 1, "left.png", "would replace a file that it reads", "choose another folder with -o")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "content",
    ["", "[1]", "{}", '{"files": ["notes.txt"]}', '{"bdis": "0.1", "files": 3}',
     '{"bdis": "0.1", "files": ["../notes.txt", "/notes.txt", ".", "folder", "missing", 7]}'],
)  # fmt: skip
def test_only_what_an_own_summary_lists_is_removed(content, pair, tmp_path):
    out = tmp_path / "out"
    (out / "folder").mkdir(parents=True)
    for place in (tmp_path, out):
        (place / "notes.txt").write_text("mine")
    (out / "run.json").write_text(content)
    assert run(["match", *pair, "--preset", "fast", "--format", "npz", "-o", str(out)]) == 0
    assert names(out) == ["folder", "notes.txt", "result.npz", "run.json"]
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("fails_at", range(1, 7))
def test_files_that_cannot_all_be_moved_leave_the_folder_as_it_was(fails_at, tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).write_text("before")
    replace, calls = os.replace, iter(range(1, 100))

    def full(source, target):
        if next(calls) == fails_at:
            raise OSError(28, "No space left on device", str(source), None, str(target))
        replace(source, target)

    def write():
        with all_or_nothing(tmp_path, instead_of=["c"]) as stage:
            for name in "abd":
                (stage / name).write_text("now")
            monkeypatch.setattr(os, "replace", full)

    with pytest.raises(OSError, match="No space left"):
        write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys("abc", "before")


def test_summary_lists_only_what_was_written_now(matched):
    assert json.loads((matched / "run.json").read_text())["files"] == names(matched)
