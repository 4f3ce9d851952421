"""Cameras turned towards each other: the rig says which disparities there are, and commands search them."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("cv2")

import bdis
from bdis.cli.app import run
from bdis.synthetic.renderer import render

CUT = 40  # px: by so much disparities are smaller than those of parallel cameras
HEIGHT, WIDTH = 240, 320


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """left/, right/, disparity/ and rig.toml: a rendered pair, cut as cameras with shifted principal points see it."""
    pair = render("tissue", HEIGHT, WIDTH, seed=2)
    folder = tmp_path_factory.mktemp("verged")
    left, right = pair.left[:, CUT:], pair.right[:, :-CUT]
    for side, image in (("left", left), ("right", right)):
        (folder / side).mkdir()
        bdis.write_image(folder / side / "0.png", image)
    (folder / "disparity").mkdir()
    bdis.write_disparity(folder / "disparity" / "0.pfm", pair.disparity[:, CUT:] - CUT)
    centre = (WIDTH - 1) / 2
    rig = bdis.Rig(pair.focal_px, centre - CUT, (HEIGHT - 1) / 2, pair.baseline_mm, centre, size=left.shape[1::-1])
    rig.save(folder / "rig.toml")
    return folder


@pytest.fixture
def pair(folder):
    return [str(folder / side / "0.png") for side in ("left", "right")]


def test_a_verged_rig_lost_most_of_its_pixels(folder, pair, tmp_path, capsys):
    given = ["match", *pair, "--calib", str(folder / "rig.toml"), "--format", "npz", "--json"]
    assert run([*given, "-o", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    reference = bdis.read_disparity(folder / "disparity" / "0.pfm")
    assert np.nanmedian(reference) < 0
    assert found["coverage"] > 0.8
    assert found["warnings"] == []
    assert "disparities from -40 to" in " ".join(found["calibration"])
    error = np.abs(bdis.read_result(tmp_path / "result.npz").disparity - reference)
    assert np.nanmedian(error) < 0.2
    assert run([*given, "--set", "min_disparity=0", "-o", str(tmp_path / "as-before")]) == 0  # asked for
    assert json.loads(capsys.readouterr().out)["coverage"] < 0.6


def test_a_video_of_a_verged_rig(folder, tmp_path, capsys):
    given = ["run", str(folder), "--calib", str(folder / "rig.toml"), "--save", "disparity", "--json"]
    assert run([*given, "-o", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["coverage"] > 0.8
    assert '"min_disparity": -40.0' in (tmp_path / "out" / "manifest.json").read_text()


@pytest.mark.parametrize("method", ["bdis", "sgbm", "elas"])
def test_the_bench_of_a_verged_rig_is_fair_to_all(folder, method, tmp_path, capsys):
    copied = tmp_path / "data"
    shutil.copytree(folder, copied)
    given = ["bench", str(copied), "--methods", method, "--json", "-o", str(tmp_path / "report"), "--rounds", "0"]
    assert run(given) == 0
    (scored,) = [row["score"] for row in json.loads(capsys.readouterr().out)["summary"] if row["method"] == method]
    assert scored["coverage"] > 0.7
    assert scored["bad_2px"] < 0.1


def test_a_matcher_for_a_rig(folder, pair):
    left, right = map(bdis.read_image, pair)
    rig = bdis.Rig.load(folder / "rig.toml")
    reference = rig.depth(bdis.read_disparity(folder / "disparity" / "0.pfm"))
    near, far = float(np.nanmin(reference)), float(np.nanmax(reference))
    for limits in ({}, {"near_mm": near, "far_mm": far}):
        matcher = bdis.StereoMatcher.for_rig(rig, **limits)
        depth = rig.depth(matcher.match(left, right))
        assert np.isfinite(depth).mean() > 0.8
        assert np.nanmedian(np.abs(depth / reference - 1)) < 0.01
    assert bdis.StereoMatcher.for_rig(rig, "fast", min_disparity=3).settings.min_disparity == 3
    fitted = bdis.Rig(500, 320, 240, 5, sigma_scale=1.5)
    assert bdis.StereoMatcher.for_rig(fitted).settings.sigma_scale == 1.5
    assert bdis.StereoMatcher.for_rig(fitted).settings.min_disparity == 0
    with pytest.raises(ValueError, match="near_mm must be above 0 and below far_mm, but they are 50 and 20 mm"):
        bdis.StereoMatcher.for_rig(rig, near_mm=50, far_mm=20)
