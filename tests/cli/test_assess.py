"""``bdis assess``: what it writes, what it warns of, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from tests.cli.commands import HEIGHT, WIDTH, bdis_command, fails

WRONG = slice(100, 140), slice(150, 200)  # pixels that are 8 px off


@pytest.fixture(scope="module")
def given(scene):
    """The exact disparity with a region that is wrong; NaN where the right camera does not see the point."""
    disparity = scene.disparity.copy()
    disparity[WRONG] += 8
    return disparity


def assess_array(array, pair, folder, *more):
    """Run the command on an array; returns its exit code and the folder of its files."""
    np.save(folder / "given.npy", array)
    return run(["assess", *pair, str(folder / "given.npy"), *map(str, more), "-o", str(folder / "out")]), folder / "out"


# --- What is written --------------------------------------------------------------------------------------------------


def test_assess_writes_a_result_and_a_preview(folder, given, tmp_path):
    """The one command of a new user, in a process of its own."""
    bdis.write_disparity(tmp_path / "given.tiff", given)
    done = bdis_command("assess", "left.png", "right.png", tmp_path / "given.tiff", "-o", tmp_path / "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["preview.png", "result.npz", "run.json"]
    result = bdis.read_result(tmp_path / "out" / "result.npz")
    np.testing.assert_array_equal(result.disparity, given)
    assert result.probability[WRONG].mean() < 0.3
    assert result.probability[result.known].mean() > 0.8
    for words in ("known", "95 % of errors", "px, median of the pixels", "probability", "result.npz"):
        assert words in done.stdout


def test_assess_says_what_the_library_says(pair, scene, given, tmp_path):
    code, out = assess_array(given, pair, tmp_path, "--format", "npz")
    assert code == 0
    result, expected = bdis.read_result(out / "result.npz"), bdis.assess(scene.left, scene.right, given)
    np.testing.assert_array_equal(result.probability, expected.probability)
    np.testing.assert_array_equal(result.variance, expected.variance)


def test_assess_with_a_calibration_gives_depth(pair, calib, given, tmp_path, capsys):
    code, out = assess_array(given, pair, tmp_path, *calib, "--format", "tiff,ply", "--max-depth", 60, "--json")
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"] == ["cloud.ply", "depth.tiff", "disparity.tiff", "run.json"]
    assert answer["sigma_mm"]["50%"] > 0
    assert answer["interval_95_px"]["5%"] < answer["interval_95_px"]["50%"] < 1
    assert 0.5 < answer["mean_probability"] < 1
    assert np.nanmax(bdis.read_depth(out / "depth.tiff")) <= 60


def test_a_factor_that_was_fitted_with_our_matcher_is_not_used_and_that_is_said(pair, calib, given, tmp_path, capsys):
    rig = replace(bdis.Rig.load(calib[1]), sigma_scale=3, sigma_preset="fast")
    rig.save(tmp_path / "fitted.toml")
    code, out = assess_array(given, pair, tmp_path, "--calib", tmp_path / "fitted.toml", "--format", "npz", "--json")
    assert code == 0
    assert any(
        "x 3, fitted with preset fast: not used" in line for line in json.loads(capsys.readouterr().out)["calibration"]
    )
    left, right = (bdis.read_image(path) for path in pair)
    np.testing.assert_array_equal(
        bdis.read_result(out / "result.npz").variance, bdis.assess(left, right, given).variance
    )


@pytest.mark.parametrize("ending", ["tiff", "pfm", "npy", "png", "npz"])
def test_assess_reads_every_format(ending, pair, given, tmp_path):
    path = tmp_path / f"given.{ending}"
    if ending == "npz":
        bdis.write_result(path, bdis.StereoResult(given, np.ones_like(given)))
    else:
        bdis.write_disparity(path, given)
    assert run(["assess", *pair, str(path), "-o", str(tmp_path / "out"), "--format", "npz"]) == 0
    result = bdis.read_result(tmp_path / "out" / "result.npz")
    np.testing.assert_allclose(result.disparity, given, atol=1 / 512 if ending == "png" else 0)


def test_a_value_that_means_unknown(pair, given, tmp_path, capsys):
    marked = np.where(np.isnan(given) | (np.arange(WIDTH) < 40), np.float32(-1), given)
    code, out = assess_array(marked, pair, tmp_path, "--format", "npz")
    assert code == 0
    assert "of the disparities are exactly -1 px, the smallest: if that means unknown" in capsys.readouterr().err
    code, out = assess_array(marked, pair, tmp_path, "--unknown", "-1", "--format", "npz")
    assert code == 0
    assert "warning" not in capsys.readouterr().err
    np.testing.assert_array_equal(bdis.read_result(out / "result.npz").known, marked != -1)


def test_a_mask_changes_what_is_judged_by(pair, given, tmp_path):
    mask = np.full((HEIGHT, WIDTH), 255, np.uint8)
    mask[:, WIDTH // 2 :] = 0
    bdis.write_image(tmp_path / "mask.png", mask)
    _, out = assess_array(given, pair, tmp_path, "--format", "npz")
    whole = bdis.read_result(out / "result.npz")
    assert assess_array(given, pair, tmp_path, "--format", "npz", "--mask", tmp_path / "mask.png")[0] == 0
    masked = bdis.read_result(out / "result.npz")
    hidden = np.s_[:, WIDTH // 2 + 20 :]
    assert masked.probability[hidden].mean() < whole.probability[hidden].mean()
    np.testing.assert_array_equal(masked.known, whole.known)


# --- Disparities of verged cameras ------------------------------------------------------------------------------------


def test_negative_disparities_are_judged_as_well(scene, given, tmp_path, capsys):
    """Cropped on opposite sides, the images are those of cameras that look at the same point."""
    crop = 40
    paths = [str(tmp_path / f"{side}.png") for side in ("left", "right")]
    bdis.write_image(paths[0], scene.left[:, crop:])
    bdis.write_image(paths[1], scene.right[:, :-crop])
    verged = given[:, crop:] - crop
    assert np.nanmax(verged[:90]) < 0
    code, out = assess_array(verged, paths, tmp_path, "--format", "npz")
    assert code == 0
    assert "of the disparities are negative, as only verged cameras have them" in capsys.readouterr().err
    result = bdis.read_result(out / "result.npz")
    np.testing.assert_array_equal(result.disparity, verged)
    assert result.probability[result.known].mean() > 0.8
    assert result.probability[100:140, 150 - crop : 200 - crop].mean() < 0.3


# --- What it warns of and refuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [np.nan, np.inf])
def test_a_map_without_a_disparity(nothing, pair, calib, tmp_path, capsys):
    array = np.full((HEIGHT, WIDTH), nothing, np.float32)
    code, out = assess_array(array, pair, tmp_path, *calib, "--format", "npz,tiff,preview,ply")
    assert code == 0
    assert "no pixel has a disparity" in capsys.readouterr().err
    assert not bdis.read_result(out / "result.npz").known.any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda disparity: -disparity, "is the sign the other way round?"),
        (lambda disparity: -1000 * disparity, "is the sign the other way round?"),
        (lambda disparity: 16 * disparity, "point outside the right image: are they in px?"),
        (lambda disparity: disparity + 10, "of the matched features agree with the disparity"),
    ],
)
def test_a_map_that_is_probably_wrong(change, words, pair, given, tmp_path, capsys):
    code, out = assess_array(change(given), pair, tmp_path, "--format", "npz")
    assert code == 0
    assert words in capsys.readouterr().err
    assert words in (out / "run.json").read_text()


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((HEIGHT - 2, WIDTH), np.float32), "is 320x238 but the images are 320x240"),
        (np.zeros((HEIGHT, WIDTH, 3), np.float32), "expected a disparity of (height, width)"),
        (np.zeros((HEIGHT, WIDTH), np.int16), "is int16, which OpenCV uses for 16ths of a px: save"),
        (np.full((HEIGHT, WIDTH), -1e9), "a disparity of -1e+09 px; if that means unknown, add --unknown -1e+09"),
    ],
)
def test_files_that_are_no_disparity_of_the_pair(array, words, pair, tmp_path, capsys):
    np.save(tmp_path / "given.npy", array)
    fails(capsys, ["assess", *pair, tmp_path / "given.npy", "-o", tmp_path / "out"], 1, "given.npy", words)
    assert not (tmp_path / "out").exists()


def test_int16_images_of_opencv_are_refused_as_well(pair, given, tmp_path, capsys):
    cv2 = pytest.importorskip("cv2")
    sixteenths = np.rint(16 * np.nan_to_num(given, nan=-1)).astype(np.int16)
    if not cv2.imwrite(str(tmp_path / "given.tiff"), sixteenths):
        pytest.skip("this OpenCV does not write int16")
    fails(capsys, ["assess", *pair, tmp_path / "given.tiff", "-o", tmp_path / "out"], 1, "add --unknown -1")


def test_a_calibration_of_unrectified_cameras(raw_arguments, given, tmp_path, capsys):
    np.save(tmp_path / "given.npy", given)
    left, right, *calib = raw_arguments
    arguments = ["assess", left, right, tmp_path / "given.npy", *calib, "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "describes unrectified cameras", "as bdis rectify writes them")


def test_bad_usage(pair, tmp_path, capsys):
    fails(capsys, ["assess", *pair], 2, "DISPARITY")
    np.save(tmp_path / "given.npy", np.zeros((HEIGHT, WIDTH), np.float32))
    arguments = ["assess", *pair, tmp_path / "given.npy", "-o", tmp_path / "out"]
    fails(capsys, [*arguments, "--unknown", "no"], 2, "'--unknown'")
    fails(capsys, [*arguments, "--focal", "500"], 2, "--focal (px) and --baseline (mm) must be given together")
    fails(capsys, [*arguments, "--format", "exr"], 2, "expected one or more of tiff")
    fails(capsys, ["assess", *pair, "given.bmp"], 1, "given.bmp ends with '.bmp'")
