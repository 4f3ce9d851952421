"""How commands fail: files and options they cannot use, and places they cannot write to."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from tests.cli.commands import bdis_command, fails, needs_posix

# --- bdis match: what it warns of and refuses -------------------------------------------------------------------------


def test_match_warns_of_rows_that_differ(scene, calib, tmp_path, capsys):
    bdis.write_image(tmp_path / "left.png", scene.left)
    bdis.write_image(tmp_path / "right.png", np.roll(scene.right, 3, 0))
    paths = [str(tmp_path / "left.png"), str(tmp_path / "right.png")]
    assert run(["match", *paths, *calib, "-o", str(tmp_path / "out"), "--format", "tiff"]) == 0
    said = capsys.readouterr()
    assert "px on median: this pair does not look rectified" in said.err
    assert "does not look rectified" in (tmp_path / "out" / "run.json").read_text()


def test_match_warns_of_swapped_sides(pair, calib, tmp_path, capsys):
    assert run(["match", *pair[::-1], *calib, "-o", str(tmp_path), "--format", "tiff"]) == 0
    assert "left and right look swapped" in capsys.readouterr().err


def test_wrong_path(pair, capsys, tmp_path):
    fails(capsys, ["match", pair[0], "nowhere.png", "-o", tmp_path / "out"], 1, "nowhere.png", "No such file")
    arguments = ["match", *pair, "--calib", "nowhere.yaml", "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "nowhere.yaml", "No such file")
    assert not (tmp_path / "out").exists()


def test_truncated_image(pair, capsys, tmp_path):
    (tmp_path / "short.png").write_bytes(Path(pair[0]).read_bytes()[:5000])
    fails(capsys, ["match", tmp_path / "short.png", pair[1], "-o", tmp_path / "out"], 1, "short.png", "cut short")


def test_images_of_two_sizes(pair, scene, capsys, tmp_path):
    bdis.write_image(tmp_path / "right.png", scene.right[:-2])
    arguments = ["match", pair[0], tmp_path / "right.png", "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "left is 320x240 but right is 320x238; a rectified pair has one size")


def test_one_image_of_8_and_one_of_16_bit(pair, scene, capsys, tmp_path):
    bdis.write_image(tmp_path / "right.png", scene.right.astype(np.uint16))
    fails(capsys, ["match", pair[0], tmp_path / "right.png"], 1, "left is uint8 but right is uint16")


def test_calibration_of_another_size_offers_scaled(scene, calib, capsys, tmp_path):
    for name in ("left", "right"):
        bdis.write_image(tmp_path / f"{name}.png", getattr(scene, name)[::2, ::2])
    arguments = ["match", tmp_path / "left.png", tmp_path / "right.png", *calib, "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "the images are 160x120 but", "is for 320x240", "add --calib-scale 0.5")


def test_calibration_that_cannot_belong_to_the_images(pair, capsys, tmp_path):
    (tmp_path / "K.txt").write_text("3997 0 1176 0 3997 1011 0 0 1 0.19")
    arguments = ["match", *pair, "--calib", tmp_path / "K.txt", "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "principal point at (1176.0, 1011.0), outside the images of 320x240", "--calib-scale")


def test_broken_calibration(pair, capsys, tmp_path):
    (tmp_path / "calib.yaml").write_text("M1: [1, 2")
    fails(capsys, ["match", *pair, "--calib", tmp_path / "calib.yaml"], 1, "calib.yaml", "cut short", "Kalibr")


def test_disparity_that_a_png_cannot_hold_writes_nothing(pair, scene, calib, capsys, tmp_path):
    wide = np.repeat(np.repeat(scene.left, 4, 0), 4, 1)
    bdis.write_image(tmp_path / "left.png", wide)
    bdis.write_image(tmp_path / "right.png", np.roll(wide, -300, 1))
    arguments = ["match", tmp_path / "left.png", tmp_path / "right.png", "--format", "npy,png", "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "a PNG holds 0 to 255.99, write TIFF or PFM")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "best"], "unknown preset 'best'; there are balanced"),
        (["--set", "patch=8"], "unknown setting patch; there are bits, patch_size"),
        (["--set", "patch_size"], "expected NAME=VALUE"),
        (["--set", "patch_size=7"], "patch_size must be an even number"),
        (["--set", "patch_size=big"], "patch_size must be a whole number, but it is 'big'"),
        (["--set", "fusion=magic"], "fusion must be one of 'bayes', 'residual'"),
        (["--format", "exr"], "expected one or more of tiff, pfm"),
        (["--focal", "500"], "--focal (px) and --baseline (mm) must be given together"),
        (["--calib", "a.yaml", "--focal", "500"], "--calib cannot be combined with --focal"),
        (["--layout", "diagonal"], "expected side-by-side or top-bottom"),
        (["--layout", "top-bottom"], "RIGHT is given as well"),
        (["--squeezed"], "--squeezed is for one image with both views, but RIGHT is given"),
        (["--rectify"], "--rectify needs --calib"),
        (["--calib", "a.yaml", "--unit", "inch"], "expected mm, cm or m"),
        (["--calib", "a.yaml", "--calib-scale", "0"], "a factor above 0"),
        (["--cx", "0"], "--focal (px) and --baseline (mm) must be given together"),
        (["--max-depth", "-1"], "--max-depth is -1; expected a number of mm above 0"),
        (["--focal", "wide"], "'--focal'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_usage(pair, arguments, words, capsys, tmp_path):
    fails(capsys, ["match", *pair, *arguments, "-o", tmp_path / "out"], 2, words, "--help")
    assert not (tmp_path / "out").exists()


def test_bad_usage_of_others(capsys, pair):
    fails(capsys, ["mach"], 2, "mach")
    fails(capsys, ["match"], 2, "LEFT")
    fails(capsys, ["match", pair[0]], 2, "RIGHT is missing; if LEFT holds both views, add --layout side-by-side")
    fails(capsys, ["rectify", *pair], 2, "--calib")
    fails(capsys, ["presets", "best"], 2, "unknown preset 'best'")
    fails(capsys, ["calib", "show", "x", "--unit", "inch"], 2, "expected mm, cm or m")


def test_errors_for_machines_and_for_debugging(pair, capsys):
    said = fails(capsys, ["match", pair[0], "nowhere.png", "--json"], 1, "nowhere.png")
    assert "nowhere.png" in json.loads(said.out)["error"]
    assert run(["match", pair[0], "nowhere.png", "--debug"]) == 1
    said = capsys.readouterr()
    assert "Traceback" in said.err
    assert said.err.splitlines()[-1].startswith("error: ")


# --- Places that cannot be written to ---------------------------------------------------------------------------------


def test_output_folder_that_cannot_be_made_is_said_before_matching(pair, calib, capsys, tmp_path):
    (tmp_path / "file").touch()
    said = fails(capsys, ["match", *pair, *calib, "-o", tmp_path / "file" / "out"], 1, "out", "Not a directory")
    assert "matching" not in said.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(pair, calib, capsys, tmp_path):
    tmp_path.chmod(0o500)
    fails(capsys, ["match", *pair, *calib, "-o", tmp_path], 1, str(tmp_path), "Permission denied")


def test_folder_on_a_read_only_disk(pair, calib, capsys, tmp_path, monkeypatch):
    def refuse(path, *arguments, **options):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    fails(capsys, ["match", *pair, *calib, "-o", tmp_path], 1, f"{tmp_path}: Read-only file system")


@needs_posix
def test_full_disk_loses_nothing(pair, calib, tmp_path):
    """No file may grow beyond 100 kB: the first one fails in the middle of its write."""
    import resource

    (tmp_path / "depth.tiff").write_text("of the last run")
    done = bdis_command(
        "match", *pair, *calib, "-o", tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert f"error: {tmp_path / 'disparity.tiff'}: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["depth.tiff"]
    assert (tmp_path / "depth.tiff").read_text() == "of the last run"


STUCK = """
import sys, time
import bdis.cli.result_files as result_files
def wait(stage, *rest, **options):
    (stage / "depth.tiff").write_text("half")
    time.sleep(60)
result_files.write_outputs = wait
from bdis.cli import main
main()
"""


@needs_posix
@pytest.mark.parametrize("how", ["SIGTERM", "SIGHUP"])
def test_terminated_while_writing_leaves_nothing(pair, calib, tmp_path, how):
    process = subprocess.Popen([sys.executable, "-c", STUCK, "match", *pair, *calib, "-o", tmp_path / "out"])
    end = time.monotonic() + 60
    while not list((tmp_path / "out").glob(".unfinished-*/depth.tiff")) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.Signals[how])
    assert process.wait(timeout=20) == 128 + signal.Signals[how]
    assert not (tmp_path / "out").exists()
