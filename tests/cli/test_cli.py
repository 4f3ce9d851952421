"""The commands as a user runs them: what they write, what they say, and how they fail."""

import contextlib
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
from bdis.cli import app, doctor, terminal
from bdis.cli.app import run
from bdis.synthetic.renderer import render
from benchmarks.data import AUTHORS_SET

HEIGHT, WIDTH = 240, 320
COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and limits of POSIX")


def bdis_command(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.fixture(scope="module")
def scene():
    return render("tissue", HEIGHT, WIDTH, seed=2)


@pytest.fixture(scope="module")
def folder(scene, tmp_path_factory):
    """left.png, right.png and rig.toml of a rendered scene; tests do not change it."""
    folder = tmp_path_factory.mktemp("pair")
    bdis.write_image(folder / "left.png", scene.left)
    bdis.write_image(folder / "right.png", scene.right)
    rig = bdis.Rig(scene.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, scene.baseline_mm, size=(WIDTH, HEIGHT))
    rig.save(folder / "rig.toml")
    return folder


@pytest.fixture
def pair(folder):
    return [str(folder / "left.png"), str(folder / "right.png")]


@pytest.fixture
def calib(folder):
    return ["--calib", str(folder / "rig.toml")]


def fails(capsys, arguments, code, *words):
    """Run a command that must fail with ``code`` and one line that has these words."""
    assert run([str(argument) for argument in arguments]) == code
    said = capsys.readouterr()
    errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, said.err
    assert "Traceback" not in said.err
    for word in words:
        assert word in errors[0]
    return said


def error_mm(depth, scene):
    return np.nanmedian(np.abs(depth - np.where(np.isnan(scene.disparity), np.nan, scene.depth_mm)))


# --- bdis match: what it writes ---------------------------------------------------------------------------------------


def test_match_writes_depth_cloud_and_preview(folder, scene, tmp_path):
    """The one command of a new user, in a process of its own."""
    done = bdis_command("match", "left.png", "right.png", "--calib", "rig.toml", "-o", tmp_path / "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "cloud.ply", "depth.tiff", "disparity.tiff", "preview.png", "run.json",
    ]  # fmt: skip
    depth = bdis.read_depth(tmp_path / "out" / "depth.tiff")
    assert error_mm(depth, scene) < 0.5
    cloud = bdis.read_ply(tmp_path / "out" / "cloud.ply")
    assert len(cloud) == np.isfinite(depth).sum()
    np.testing.assert_array_equal(cloud.points[:, 2], depth[np.isfinite(depth)])
    np.testing.assert_array_equal(cloud.colors, scene.left[np.isfinite(depth)])
    assert bdis.read_image(tmp_path / "out" / "preview.png").shape[1] > 1000
    figures = json.loads((tmp_path / "out" / "run.json").read_text())
    assert figures["preset"] == "balanced"
    assert figures["rig"]["baseline_mm"] == scene.baseline_mm
    for words in ("known", "depth", "mm", "cloud.ply"):
        assert words in done.stdout


def test_match_answers_machines_with_json_alone(pair, calib, tmp_path, capsys):
    assert run(["match", *pair, *calib, "-o", str(tmp_path), "--json", "--format", "tiff"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"] == ["depth.tiff", "disparity.tiff", "run.json"]
    assert answer["warnings"] == []
    assert 0.5 < answer["coverage"] < 1
    assert answer["depth_mm"]["5%"] < answer["depth_mm"]["50%"] < answer["depth_mm"]["95%"]
    assert set(answer["settings"]) == set(vars(bdis.PRESETS["balanced"]))


def test_match_in_every_format(pair, calib, tmp_path):
    assert run(["match", *pair, *calib, "-o", str(tmp_path), "--format", "tiff,pfm,npy", "--format", "npz,png"]) == 0
    first = bdis.read_disparity(tmp_path / "disparity.tiff")
    for ending in ("pfm", "npy"):
        np.testing.assert_array_equal(bdis.read_disparity(tmp_path / f"disparity.{ending}"), first)
        np.testing.assert_array_equal(
            bdis.read_depth(tmp_path / f"depth.{ending}"), bdis.read_depth(tmp_path / "depth.tiff")
        )
    np.testing.assert_array_equal(bdis.read_result(tmp_path / "result.npz").disparity, first)
    np.testing.assert_allclose(bdis.read_disparity(tmp_path / "disparity.png"), first, atol=1 / 512)
    millimetres = bdis.read_depth(tmp_path / "depth.png")
    np.testing.assert_allclose(millimetres, bdis.read_depth(tmp_path / "depth.tiff"), atol=0.5)
    assert not (tmp_path / "preview.png").exists()


def test_match_with_numbers_instead_of_a_file(pair, folder, scene, tmp_path):
    numbers = ["--focal", str(scene.focal_px), "--baseline", str(scene.baseline_mm)]
    assert run(["match", *pair, *numbers, "-o", str(tmp_path), "--format", "tiff", "--max-depth", "60"]) == 0
    depth = bdis.read_depth(tmp_path / "depth.tiff")
    assert error_mm(depth, scene) < 0.5
    assert np.nanmax(depth) <= 60
    # The centre of the picture is the default principal point.
    assert json.loads((tmp_path / "run.json").read_text())["rig"]["cx"] == (WIDTH - 1) / 2


def test_match_without_calibration_gives_a_disparity(pair, tmp_path, capsys):
    assert run(["match", *pair, "-o", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disparity.tiff", "preview.png", "run.json"]
    assert "No depth: give --calib FILE, or --focal PX and --baseline MM" in capsys.readouterr().out


@pytest.mark.parametrize(("layout", "axis"), [("side-by-side", 1), ("top-bottom", 0)])
def test_match_of_both_views_in_one_image(layout, axis, scene, pair, calib, tmp_path):
    bdis.write_image(tmp_path / "both.png", np.concatenate([scene.left, scene.right], axis))
    assert run(["match", str(tmp_path / "both.png"), "--layout", layout, *calib, "-o", str(tmp_path / "a")]) == 0
    assert run(["match", *pair, *calib, "-o", str(tmp_path / "b"), "--format", "tiff"]) == 0
    np.testing.assert_array_equal(*(bdis.read_depth(tmp_path / name / "depth.tiff") for name in "ab"))


def test_match_of_16_bit_images(scene, calib, tmp_path):
    for name in ("left", "right"):
        bdis.write_image(tmp_path / f"{name}.tiff", getattr(scene, name).astype(np.uint16) * 257)
    paths = [str(tmp_path / f"{name}.tiff") for name in ("left", "right")]
    assert run(["match", *paths, *calib, "-o", str(tmp_path / "out")]) == 0
    assert error_mm(bdis.read_depth(tmp_path / "out" / "depth.tiff"), scene) < 0.5
    assert bdis.read_ply(tmp_path / "out" / "cloud.ply").colors.max() > 100


def test_match_with_a_mask_and_settings(pair, calib, tmp_path):
    mask = np.full((HEIGHT, WIDTH), 255, np.uint8)
    mask[:, WIDTH // 2 :] = 0
    bdis.write_image(tmp_path / "mask.png", mask)
    more = ["--mask", str(tmp_path / "mask.png"), "--preset", "fast", "--set", "min_probability=0.3",
            "--set", "coarsest_level=none", "--set", "newton=no", "--set", "level_weights=equal"]  # fmt: skip
    assert run(["match", *pair, *calib, *more, "-o", str(tmp_path / "out"), "--format", "npz"]) == 0
    result = bdis.read_result(tmp_path / "out" / "result.npz")
    assert not result.known[:, WIDTH // 2 :].any()
    assert result.known[:, : WIDTH // 2].mean() > 0.5
    settings = json.loads((tmp_path / "out" / "run.json").read_text())["settings"]
    changed = {"min_probability": 0.3, "coarsest_level": None, "newton": False, "level_weights": "equal"}
    assert {name: settings[name] for name in changed} == changed
    assert settings["patch_size"] == bdis.PRESETS["fast"].patch_size


def test_match_of_resized_images_with_a_scaled_calibration(scene, pair, folder, tmp_path):
    """A calibration for twice the size gives the same depth once it is scaled."""
    bdis.Rig.load(folder / "rig.toml").scaled(2).save(tmp_path / "large.toml")
    large = ["--calib", str(tmp_path / "large.toml"), "--calib-scale", "0.5"]
    assert run(["match", *pair, *large, "-o", str(tmp_path / "out"), "--format", "tiff"]) == 0
    assert error_mm(bdis.read_depth(tmp_path / "out" / "depth.tiff"), scene) < 0.5


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
        (["--set", "patch=8"], "unknown setting patch; there are patch_size"),
        (["--set", "patch_size"], "expected NAME=VALUE"),
        (["--set", "patch_size=7"], "patch_size must be an even number"),
        (["--set", "patch_size=big"], "patch_size must be a whole number, but it is 'big'"),
        (["--set", "fusion=magic"], "fusion must be one of 'bayes', 'residual'"),
        (["--format", "exr"], "expected of tiff, pfm"),
        (["--focal", "500"], "--focal (px) and --baseline (mm) belong together"),
        (["--calib", "a.yaml", "--focal", "500"], "exclude each other"),
        (["--layout", "diagonal"], "expected side-by-side or top-bottom"),
        (["--layout", "top-bottom"], "RIGHT is given as well"),
        (["--rectify"], "--rectify needs --calib"),
        (["--calib", "a.yaml", "--unit", "inch"], "expected mm, cm or m"),
        (["--calib", "a.yaml", "--calib-scale", "0"], "a factor above 0"),
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
import bdis.cli.match as match
def wait(stage, *rest, **options):
    (stage / "depth.tiff").write_text("half")
    time.sleep(60)
match.write_outputs = wait
from bdis.cli import main
main()
"""


@needs_posix
def test_terminated_while_writing_leaves_nothing(pair, calib, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", STUCK, "match", *pair, *calib, "-o", tmp_path / "out"])
    end = time.monotonic() + 60
    while not list((tmp_path / "out").glob(".unfinished-*/depth.tiff")) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert not (tmp_path / "out").exists()


# --- Rectification ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw(scene, tmp_path_factory):
    """The scene as a right camera that is turned a little would see it: left.png, right.png and their calibration."""
    cv2 = pytest.importorskip("cv2")
    folder = tmp_path_factory.mktemp("raw")
    k = np.array([[scene.focal_px, 0, 159.5], [0, scene.focal_px, 119.5], [0, 0, 1]])
    turn, _ = cv2.Rodrigues(np.array([0.02, 0.01, 0.03]))
    turned = cv2.warpPerspective(scene.right, k @ turn @ np.linalg.inv(k), (WIDTH, HEIGHT))
    bdis.write_image(folder / "left.png", scene.left)
    bdis.write_image(folder / "right.png", turned)
    storage = cv2.FileStorage(str(folder / "endoscope_calibration.yaml"), cv2.FILE_STORAGE_WRITE)
    shift = turn @ np.array([[-scene.baseline_mm], [0], [0]])
    for name, value in {"M1": k, "D1": np.zeros(5), "M2": k, "D2": np.zeros(5), "R": turn, "T": shift}.items():
        storage.write(name, value)
    storage.release()
    return folder


@pytest.fixture
def raw_arguments(raw):
    return [str(raw / "left.png"), str(raw / "right.png"), "--calib", str(raw / "endoscope_calibration.yaml")]


def distance_of(cloud):
    """Median distance to the left camera, which no rotation changes."""
    return np.median(np.linalg.norm(cloud.points, axis=1))


def true_distance(scene):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    rays = np.stack([(columns - 159.5) / scene.focal_px, (rows - 119.5) / scene.focal_px, np.ones((HEIGHT, WIDTH))])
    return np.median((np.linalg.norm(rays, axis=0) * scene.depth_mm)[np.isfinite(scene.disparity)])


def test_rectify_then_match(raw_arguments, scene, tmp_path, capsys):
    assert run(["rectify", *raw_arguments, "-o", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["left.png", "rig.toml", "right.png"]
    assert bdis.Rig.load(tmp_path / "rig.toml").baseline_mm == pytest.approx(scene.baseline_mm)
    said = capsys.readouterr()
    assert "warning" not in said.err
    assert "rows differ by" in said.out
    images = [str(tmp_path / "left.png"), str(tmp_path / "right.png")]
    assert run(["match", *images, "--calib", str(tmp_path / "rig.toml"), "-o", str(tmp_path / "out")]) == 0
    assert distance_of(bdis.read_ply(tmp_path / "out" / "cloud.ply")) == pytest.approx(true_distance(scene), rel=0.02)


def test_match_rectifies_raw_images_by_itself(raw_arguments, scene, tmp_path, capsys):
    assert run(["match", *raw_arguments, "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "warning" not in said.err
    assert "images rectified with it" in said.out
    assert distance_of(bdis.read_ply(tmp_path / "cloud.ply")) == pytest.approx(true_distance(scene), rel=0.02)


def test_raw_images_matched_as_they_are_get_a_warning(raw_arguments, tmp_path, capsys):
    assert run(["match", *raw_arguments[:2], "-o", str(tmp_path)]) == 0
    assert "this pair does not look rectified" in capsys.readouterr().err


def test_nothing_to_rectify_with(pair, calib, capsys, tmp_path):
    fails(capsys, ["match", *pair, *calib, "--rectify", "-o", tmp_path / "out"], 1, "nothing to rectify with")


# --- The other commands -----------------------------------------------------------------------------------------------


def test_help_is_instant_and_shows_real_commands():
    """Neither Numba nor NumPy nor OpenCV nor Matplotlib is needed to print a help text."""
    code = """
import sys
from bdis.cli.app import run
for words in ("", "-h", "match --help", "demo -h", "rectify -h", "calib -h", "calib show -h", "presets -h", "doctor -h",
              "warmup -h", "--version"):
    assert run(words.split()) == 0, words
heavy = {"numba", "numpy", "cv2", "matplotlib", "rich.console"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "bdis match left.png right.png --calib calibration.yaml" in done.stdout
    assert f"bdis {bdis.__version__}" in done.stdout


def test_without_typer_the_command_names_the_pip_command():
    code = "import sys; sys.modules['typer'] = None\nfrom bdis.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'error: the bdis command needs typer: pip install "bdis[cli]"\n'


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
    assert run(["presets", "paper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == vars(bdis.PRESETS["paper"])


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

    monkeypatch.setattr("bdis.cli.demo.all_or_nothing", interrupt)
    assert app.run(["demo"]) == 130
    assert capsys.readouterr().err == "error: interrupted; nothing was written\n"


# --- Real images ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not (AUTHORS_SET / "30").is_dir(), reason="the authors' set is not here")
def test_match_of_the_virtual_colon(tmp_path, capsys):
    images = AUTHORS_SET / "30" / "images_rectified"
    numbers = ["--focal", "520", "--cx", "320", "--cy", "240", "--baseline", "0.5", "--max-depth", "30"]
    paths = [str(images / side / "5.png") for side in ("left", "right")]
    assert run(["match", *paths, *numbers, "-o", str(tmp_path), "--format", "tiff"]) == 0
    assert "warning" not in capsys.readouterr().err
    reference = bdis.read_image(AUTHORS_SET / "30" / "depth_0000005.png").astype(float)
    red, green = reference[..., 0], reference[..., 1]
    truth = np.round(green * 100 / 255) + red / 255
    depth = bdis.read_depth(tmp_path / "depth.tiff")
    assert np.nanmedian(np.abs(depth - np.where(truth < 30, truth, np.nan))) < 0.1
