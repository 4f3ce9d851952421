"""``bdis match`` and ``bdis rectify``: what they write, and what they warn of."""

import json

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.files.images import encode_pixels
from bdis.synthetic import render
from benchmarks.data import AUTHORS_SET
from tests.cli.commands import HEIGHT, WIDTH, bdis_command, fails


def error_mm(depth, scene):
    return np.nanmedian(np.abs(depth - np.where(np.isnan(scene.disparity), np.nan, scene.depth_mm)))


# --- What is written --------------------------------------------------------------------------------------------------


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


def test_squeezed_views_in_one_image_were_to_be_matched_with_an_option_that_was_missing(scene, calib, tmp_path, capsys):
    import cv2

    squeezed = [
        cv2.resize(view, (WIDTH // 2, HEIGHT), interpolation=cv2.INTER_AREA) for view in (scene.left, scene.right)
    ]
    bdis.write_image(tmp_path / "both.png", np.concatenate(squeezed, 1))
    arguments = ["match", str(tmp_path / "both.png"), "--layout", "side-by-side", *calib, "-o", str(tmp_path / "out")]
    assert run(arguments) == 1
    assert "if both views were squeezed into one image, add --squeezed" in capsys.readouterr().err
    assert run([*arguments, "--squeezed"]) == 0
    assert error_mm(bdis.read_depth(tmp_path / "out" / "depth.tiff"), scene) < 2


def test_match_of_16_bit_images(scene, calib, tmp_path):
    for name in ("left", "right"):
        bdis.write_image(tmp_path / f"{name}.tiff", getattr(scene, name).astype(np.uint16) * 257)
    paths = [str(tmp_path / f"{name}.tiff") for name in ("left", "right")]
    assert run(["match", *paths, *calib, "-o", str(tmp_path / "out")]) == 0
    assert error_mm(bdis.read_depth(tmp_path / "out" / "depth.tiff"), scene) < 0.5
    assert bdis.read_ply(tmp_path / "out" / "cloud.ply").colors.max() > 100


def test_a_mask_that_hides_nothing_or_only_a_part_is_told(pair, calib, tmp_path, capsys):
    """One in the transparency, whose colours are white, hid nothing; one in JPEG not all of what it shows."""
    mask = np.full((HEIGHT, WIDTH), 255, np.uint8)
    mask[: HEIGHT // 2, : WIDTH // 2] = 0
    white = np.dstack([np.full((HEIGHT, WIDTH, 3), 255, np.uint8), mask])
    (tmp_path / "alpha.png").write_bytes(encode_pixels(white, ".png"))
    rounded = mask.copy()
    rounded[HEIGHT // 2 - 2 : HEIGHT // 2] = 3  # as JPEG does
    bdis.write_image(tmp_path / "jpeg.png", rounded)
    bdis.write_image(tmp_path / "mask.png", mask)
    words = {"alpha": "alpha.png hides no pixel", "jpeg": "jpeg.png has values from 3 to 255 beside 0", "mask": None}
    for name, expected in words.items():
        options = ["--mask", str(tmp_path / f"{name}.png"), "--format", "npz", "--json", "-o", str(tmp_path / name)]
        assert run(["match", *pair, *calib, "--preset", "fast", *options]) == 0
        printed = capsys.readouterr()
        told = [text for text in json.loads(printed.out)["warnings"] if "beside 0" in text or "hides no" in text]
        assert len(told) == (expected is not None)
        assert all(f"warning: {text}" in printed.err and expected in text for text in told)


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


# --- Rectification ----------------------------------------------------------------------------------------------------


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


def test_rows_that_differ_are_corrected_and_told(tmp_path, capsys):
    lower = render("tissue", HEIGHT, WIDTH, seed=3, vertical_shift_px=1.5)
    paths = [tmp_path / f"{side}.png" for side in ("left", "right")]
    for path, image in zip(paths, (lower.left, lower.right)):
        bdis.write_image(path, image)
    assert run(["match", *map(str, paths), "-o", str(tmp_path / "out"), "--format", "npz"]) == 0
    said = capsys.readouterr()
    assert "warning: the right image lies 1.5 px lower than the left one" in said.err
    assert "px lower; corrected" in said.out
    summary = json.loads((tmp_path / "out" / "run.json").read_text())
    assert summary["row_offset_px"] == pytest.approx(1.5, abs=0.1)
    assert bdis.read_result(tmp_path / "out" / "result.npz").row_offset == summary["row_offset_px"]
    assert run(["match", *map(str, paths), "-o", str(tmp_path / "off"), "--set", "align_rows=off"]) == 0
    assert "the rectification is not exact" in capsys.readouterr().err


def test_nothing_to_rectify_with(pair, calib, capsys, tmp_path):
    fails(capsys, ["match", *pair, *calib, "--rectify", "-o", tmp_path / "out"], 1, "nothing to rectify with")


# --- Both views in one picture ----------------------------------------------------------------------------------------


def test_bars_of_a_capture_card_made_everything_too_near_without_a_word(scene, tmp_path, capsys):
    bar = np.zeros((HEIGHT, 16, 3), np.uint8)
    for name, parts in {"plain": (scene.left, scene.right), "bars": (bar, scene.left, scene.right, bar)}.items():
        bdis.write_image(tmp_path / f"{name}.png", np.hstack(parts))
        arguments = [str(tmp_path / f"{name}.png"), "--layout", "side-by-side", "-o", str(tmp_path / name)]
        assert run(["match", *arguments, "--format", "npy"]) == 0
        said = capsys.readouterr().err
        warnings = json.loads((tmp_path / name / "run.json").read_text())["warnings"]
        if name == "plain":
            assert warnings == []
        else:
            assert "warning: black bars of 16 px in the left and 0 px in the right view" in said
            assert "remove the bars first" in warnings[0]


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
