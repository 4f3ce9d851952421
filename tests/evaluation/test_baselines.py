"""Other matchers: they find what they should, fail in words, and keep their accuracy."""

import pickle
import sys

import cv2
import numpy as np
import pytest

from bdis import PRESETS, StereoMatcher, StereoResult
from bdis.common.optional import install_command
from bdis.evaluation.baselines import METHODS, known_methods, method
from bdis.evaluation.baselines.elas.matcher import Elas
from bdis.evaluation.baselines.elas.settings import SETTINGS, ElasSettings
from bdis.evaluation.baselines.opencv import OpenCVFlow, OpenCVStereo, disparity_count
from bdis.evaluation.baselines.pair import finished, grey_pair
from bdis.evaluation.metrics import mean_score, score_result
from benchmarks.data import AUTHORS_SET, authors_frames, rendered_frames
from tests.scenes import smooth_noise, warped_pair

# dis-flow-ultrafast is too coarse for the small images here; test_rendered_tissue has it.
OTHERS = ["sgbm", "sgbm-3way", "bm", "dis-flow", "elas", "elas-middlebury"]
NETWORKS = ["psmnet", "gwcnet-g", "gwcnet-gc", "onnx:FILE"]  # see tests/networks
SHIFT = 11


def shifted_pair(height=96, width=150, seed=0):
    wide = smooth_noise(height, width + SHIFT, np.random.default_rng(seed))
    return wide[:, :width], wide[:, SHIFT:]


def assert_sound(result, height, width):
    assert isinstance(result, StereoResult)
    assert result.disparity.shape == result.probability.shape == (height, width)
    assert result.disparity.dtype == result.probability.dtype == np.float32
    assert result.variance is None
    np.testing.assert_array_equal(result.probability, np.isfinite(result.disparity))
    assert (result.disparity[result.known] > 0).all()


# --- The registry ---------------------------------------------------------------------------------------------------


def test_registry_is_complete():
    ours = ["bdis", "bdis-accurate", "bdis-fast", "bdis-paper", "bdis-2021", "dis"]
    assert list(METHODS) == [*ours, *OTHERS[:4], "dis-flow-ultrafast", *OTHERS[4:], *NETWORKS]
    for name, entry in METHODS.items():
        assert entry.name == name
        assert entry.summary
        assert "\n" not in entry.summary
        if name in NETWORKS:
            assert entry.needs, "a file of weights, if the package is there"
        else:
            assert entry.needs is None, "the development environment has everything"
        assert entry.describe() != name, "tables show a title"
        assert entry.preset or (entry.settings and entry.details)


def test_settings_in_words_are_those_of_the_matcher():
    matcher = OpenCVStereo("sgbm", 100)
    made = matcher._matcher(cv2, disparity_count(100))
    assert (
        method("sgbm").describe([100]) == f"OpenCV SGBM, 112 disparities, block {made.getBlockSize()}, five directions"
    )
    assert made.getNumDisparities() == 112
    details = method("sgbm").details
    for words in (f"P1 {made.getP1()}", f"P2 {made.getP2()}", f"uniqueness {made.getUniquenessRatio()} %"):
        assert words in details
    assert f"left-right check {made.getDisp12MaxDiff()} px" in details
    assert f"regions below {made.getSpeckleWindowSize()} px" in details
    block = OpenCVStereo("bm")._matcher(cv2, 16)
    assert method("bm").settings == f"block {block.getBlockSize()}"


def test_without_padding_only_the_left_margin_is_unknown():
    left, right = shifted_pair(96, 200)
    whole, margin = (OpenCVStereo("sgbm", 32, whole_width=w).match(left, right) for w in (True, False))
    assert not margin.known[:, :32].any()
    assert margin.known[10:-10, 40:].mean() > 0.8
    assert whole.known[10:-10, 20:32].mean() > 0.8
    assert np.nanmedian(np.abs(whole.disparity - margin.disparity)) == 0


def test_every_preset_is_a_method():
    for preset, settings in PRESETS.items():
        matcher = method(f"bdis-{preset}").make(40)
        assert isinstance(matcher, StereoMatcher)
        assert matcher.settings == StereoMatcher(preset, max_disparity=40).settings
        assert method(f"bdis-{preset}").make(None).settings == settings
    assert method("bdis").make(None).settings == StereoMatcher().settings


def test_unknown_method_names_those_there_are():
    with pytest.raises(ValueError, match="unknown method 'sgmb'; there are bdis, .*sgbm-3way.*elas-middlebury"):
        method("sgmb")


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("cv2", {"sgbm", "sgbm-3way", "bm", "dis-flow", "dis-flow-ultrafast"}),
        ("scipy", {"elas", "elas-middlebury"}),
        ("torch", {"psmnet", "gwcnet-g", "gwcnet-gc"}),
        ("onnxruntime", {"onnx:FILE"}),
    ],
)
def test_missing_package_is_listed_with_its_command(monkeypatch, package, names):
    monkeypatch.setitem(sys.modules, package, None)  # import says: not there
    monkeypatch.delitem(sys.modules, f"{package}.spatial", raising=False)
    command = install_command(package)
    listed = known_methods()
    assert {name for name, entry in listed.items() if entry.needs == command} == names
    assert {name for name, entry in listed.items() if entry.needs} == {*names, *NETWORKS}
    for name in names:
        assert listed[name].needs == command
        with pytest.raises(ImportError) as raised:
            listed[name].make(None)
        assert command in str(raised.value)


# --- What they find -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("size", [(96, 150), (97, 151), (33, 131)])
def test_shifted_pair_gives_the_shift(name, size):
    left, right = shifted_pair(*size)
    result = method(name).make(24).match(left, right)
    assert_sound(result, *size)
    assert np.nanmedian(result.disparity) == pytest.approx(SHIFT, abs=0.2)
    share = 0.5 if size[0] < 40 else 0.7
    assert result.coverage > share
    assert (np.abs(result.disparity[result.known] - SHIFT) < 1).mean() > 0.95


@pytest.mark.parametrize("name", ["sgbm", "sgbm-3way", "bm", "dis-flow"])
def test_whole_width_is_used(name):
    """Columns left of the largest disparity have a match as long as their own disparity is smaller."""
    left, right = shifted_pair(96, 200)
    result = method(name).make(64).match(left, right)
    assert result.known[10:-10, 20:48].mean() > 0.8
    assert result.known[10:-10, -28:-14].mean() > 0.8
    assert not result.known[:, : SHIFT - 2].any(), "that is left of the right image"


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("grey", [0, 1, 128])
def test_textureless_pair_gives_nothing(name, grey):
    image = np.full((60, 80), grey, np.uint8)
    assert_sound(result := method(name).make(32).match(image, image), 60, 80)
    assert result.coverage == 0


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_known_inside_black_borders(name):
    left, right = (np.repeat(image[..., None], 3, 2) for image in shifted_pair(121, 171))
    for image in (left, right):
        image[:24] = image[-20:] = 0
        image[:, :20] = image[:, -16:] = 0
    result = method(name).make(32).match(left, right)
    assert_sound(result, 121, 171)
    inside = (left != 0).all(2)
    assert not result.known[~inside].any()
    assert np.nanmedian(result.disparity) == pytest.approx(SHIFT, abs=0.2)
    assert result.known[inside].mean() > 0.4


@pytest.mark.parametrize("name", OTHERS)
def test_slanted_surface_between_pixels(name):
    left, right, truth = warped_pair(120, 160, seed=3, slope=0.06, offset=5.0)
    result = method(name).make(32).match(left, right)
    error = np.abs(result.disparity - truth)[result.known]
    assert np.median(error) < 0.25
    assert (error < 1).mean() > 0.9


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_beyond_the_largest_disparity(name):
    left, right, _ = warped_pair(120, 160, seed=3, slope=0.06, offset=5.0)
    for limit in (8.5, 1, 500, None):
        result = method(name).make(limit).match(left, right)
        assert_sound(result, 120, 160)
        if limit is not None:
            assert (result.disparity[result.known] <= limit).all()


@pytest.mark.parametrize("name", OTHERS)
def test_noise_without_a_match_and_the_smallest_pair(name):
    rng = np.random.default_rng(7)
    for height, width in ((32, 32), (35, 61)):
        left, right = rng.integers(0, 256, (2, height, width), dtype=np.uint8)
        assert_sound(method(name).make(None).match(left, right), height, width)


@pytest.mark.parametrize("name", OTHERS)
def test_same_bits_every_time_also_from_a_copy_of_the_matcher(name):
    left, right = shifted_pair()
    matcher = method(name).make(24)
    first = matcher.match(left, right).disparity
    matcher.match(right[:50], left[:50])
    for again in (matcher, pickle.loads(pickle.dumps(matcher))):
        np.testing.assert_array_equal(again.match(left, right).disparity, first)


@pytest.mark.parametrize("kind", [np.uint16, np.float32, np.float64])
def test_all_kinds_of_pixels_are_the_same_picture(kind):
    left, right = shifted_pair()
    scale = 257 if kind is np.uint16 else 1 / 255
    given = [np.repeat((image * kind(scale)).astype(kind)[..., None], 3, 2) for image in (left, right)]
    for made, expected in zip(grey_pair(*given), grey_pair(left, right)):
        np.testing.assert_array_equal(made, expected)


def test_dark_is_seen_and_black_is_not():
    left = np.zeros((32, 32, 3), np.uint8)
    left[3, 4] = 0, 0, 1  # its grey value rounds to 0
    pair = grey_pair(left, left)
    assert pair.left[3, 4] == 0
    assert pair.seen.sum() == 1
    assert pair.seen[3, 4]
    assert not finished(np.ones((32, 32)), pair, 1e9).known[0].any()


# --- Wrong input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    ("left", "right", "error", "words"),
    [
        (np.ones((40, 50), np.uint8), np.ones((40, 51), np.uint8), ValueError, "left is 50x40 but right is 51x40"),
        (np.ones((9, 50), np.uint8), np.ones((9, 50), np.uint8), ValueError, "left is 50x9; expected at least 32x32"),
        (np.ones((40, 50), np.int32), np.ones((40, 50), np.int32), TypeError, "expected uint8, uint16, float32"),
        (np.full((40, 50), np.nan), np.ones((40, 50)), ValueError, "left holds NaN"),
        ("left.png", "right.png", ValueError, "left has shape"),
    ],
)
def test_bad_pairs_are_told_in_words(name, left, right, error, words):
    with pytest.raises(error, match=words):
        method(name).make(16).match(left, right)


@pytest.mark.parametrize("name", OTHERS)
def test_bad_range_is_told_in_words(name):
    for wrong in (0, -3, np.nan, np.inf):
        words = (
            "(None or above 0 and below 1e5 px|a number or None)" if np.isnan(wrong) else "None or above 0 and below"
        )
        with pytest.raises(ValueError, match=f"max_disparity must be {words}.*, but it is"):
            method(name).make(wrong)
    with pytest.raises(TypeError, match="max_disparity must be a number or None, but it is 'far'"):
        method(name).make("far")


def test_bad_settings_are_told_in_words():
    with pytest.raises(ValueError, match="unknown setting 'fast'; there are robotics, middlebury"):
        Elas("fast")
    with pytest.raises(ValueError, match="unknown setting radius; there are max_disparity, .*plane_radius"):
        Elas(radius=3)
    with pytest.raises(ValueError, match="grid_step must be from 1 to 1e6, but it is 0"):
        Elas(grid_step=0)
    with pytest.raises(TypeError, match="subsampling must be True or False, but it is 2"):
        Elas(subsampling=2)
    with pytest.raises(TypeError, match=r"cell_px must be a whole number, but it is 2.5"):
        Elas(cell_px=2.5)
    with pytest.raises(ValueError, match="unknown kind 'sgm'; there are sgbm, sgbm-3way, bm"):
        OpenCVStereo("sgm")
    with pytest.raises(ValueError, match="unknown quality 'best'; there are medium, ultrafast"):
        OpenCVFlow(quality="best")


# --- ELAS -----------------------------------------------------------------------------------------------------------


def test_published_settings():
    assert SETTINGS["robotics"] == ElasSettings()
    robotics, middlebury = SETTINGS["robotics"], SETTINGS["middlebury"]
    assert (robotics.beta, robotics.gamma, robotics.sigma, robotics.plane_radius) == (0.02, 3, 1, 2)
    assert (middlebury.beta, middlebury.gamma, middlebury.sigma, middlebury.plane_radius) == (0.02, 5, 1, 3)
    assert (robotics.max_ratio, middlebury.max_ratio) == (0.85, 0.95)
    assert (robotics.max_gap, middlebury.max_gap) == (3, 5000)


def test_too_few_or_collinear_support_points_give_nothing(monkeypatch):
    left, right = shifted_pair()
    for points in ([], [[50, 20, 11]], [[50, 20, 11], [60, 20, 11]], [[50, 20, 11], [60, 20, 11], [70, 20, 11]]):
        chosen = np.array(points, np.int32).reshape(-1, 3)
        monkeypatch.setattr(Elas, "support_points", lambda *_: chosen)
        assert_sound(result := Elas().match(left, right), *left.shape)
        assert result.coverage == 0


@pytest.mark.parametrize("size", [(96, 150), (97, 151)])
def test_subsampling_is_close_to_every_pixel(size):
    left, right, truth = warped_pair(*size, seed=5, slope=0.05, offset=6.0)
    every, second = (Elas(subsampling=s, max_disparity=24).match(left, right) for s in (False, True))
    assert_sound(second, *size)
    assert second.coverage > 0.9 * every.coverage
    assert np.nanmedian(np.abs(second.disparity - truth)) < 0.3


def test_middlebury_is_denser():
    pair = rendered_frames(1, 240, 320)[0]
    robotics, middlebury = (Elas(setting).match(pair.left, pair.right) for setting in SETTINGS)
    assert middlebury.coverage > robotics.coverage + 0.02


# --- Accuracy -------------------------------------------------------------------------------------------------------

# Median error (mm), share of known pixels more than 1 px off, coverage: a little above what each reaches.
RENDERED = {
    "sgbm": (0.23, 0.025, 0.91), "sgbm-3way": (0.22, 0.025, 0.91), "bm": (0.125, 0.025, 0.85),
    "dis-flow": (0.12, 0.04, 0.90), "dis-flow-ultrafast": (0.30, 0.1, 0.87),
    "elas": (0.25, 0.036, 0.86), "elas-middlebury": (0.235, 0.046, 0.89),
}  # fmt: skip


@pytest.fixture(scope="module")
def tissue():
    return rendered_frames(2)


@pytest.mark.parametrize("name", RENDERED)
def test_rendered_tissue(tissue, name):
    frames = tissue
    median_mm, bad_1px, coverage = RENDERED[name]
    matcher = method(name).make(None)
    found = mean_score([score_result(matcher.match(f.left, f.right), f) for f in frames])
    assert found.median_mm < median_mm, found
    assert found.bad_1px < bad_1px, found
    assert found.valid > coverage * frames[0].left[..., 0].size, found


# What the public implementation of ELAS reaches there: mean mm, median mm, valid pixels.
PUBLIC = {"30": (0.378, 0.080, 142_700), "31": (0.154, 0.084, 83_300)}


@pytest.fixture(scope="module")
def virtual_colon():
    return {name: authors_frames(name) for name in PUBLIC}


@pytest.mark.skipif(not (AUTHORS_SET / "31").is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
@pytest.mark.parametrize("name", PUBLIC)
def test_elas_is_no_weaker_than_the_public_one(virtual_colon, name):
    matcher = Elas()
    found = mean_score([score_result(matcher.match(f.left, f.right), f) for f in virtual_colon[name]])
    mean, median, valid = PUBLIC[name]
    assert found.mean_mm <= mean, found
    assert found.median_mm <= median, found
    assert found.valid >= valid, found


# Mean and median error (mm) and valid pixels on four frames of sets 30 and 31: a little above what each reaches.
COLON = {
    "sgbm": ((0.207, 0.0915, 178_000), (0.344, 0.1419, 125_000)),
    "sgbm-3way": ((0.19, 0.0805, 184_500), (0.343, 0.1232, 135_500)),
    "bm": ((0.225, 0.0715, 117_500), (0.461, 0.0861, 88_000)),
    "dis-flow": ((0.1, 0.0384, 190_500), (0.172, 0.0472, 148_000)),
    "elas": ((0.131, 0.064, 174_000), (0.172, 0.0929, 85_000)),
    "elas-middlebury": ((0.307, 0.1204, 233_000), (0.414, 0.1803, 162_000)),
}


@pytest.mark.skipif(not (AUTHORS_SET / "31").is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
@pytest.mark.parametrize("name", OTHERS)
def test_virtual_colon(virtual_colon, name):
    matcher = method(name).make(None)
    for frames, (mean, median, valid) in zip(virtual_colon.values(), COLON[name]):
        found = mean_score([score_result(matcher.match(f.left, f.right), f) for f in frames[::3][:4]])
        assert found.mean_mm < mean, found
        assert found.median_mm < median, found
        assert found.valid > valid, found


@pytest.mark.parametrize("rows_off", [0, 3])
def test_flow_that_leaves_its_row_is_not_believed_unless_all_does(rows_off):
    """An instrument moves down between the images; the rows of the whole pair may be off, as real rigs have it."""
    wide = smooth_noise(160, 200 + SHIFT, np.random.default_rng(1))
    left, right = wide[6:134, :200], wide[6 + rows_off : 134 + rows_off, SHIFT:].copy()
    right[40:90, 60:120] = wide[46 + rows_off + 5 : 96 + rows_off + 5, 60 + SHIFT : 120 + SHIFT]
    result = OpenCVFlow().match(left, right)
    assert result.known[10:-10, 140:-10].mean() > 0.8
    assert result.known[50:80, 80 + SHIFT : 110 + SHIFT].mean() < 0.05


def test_a_darker_image_of_a_12_bit_pair_is_not_taken_for_one_of_10_bits():
    bright = np.full((32, 40), 2048, np.uint16)
    bright[0, 0] = 4095
    pair = grey_pair(bright, np.full((32, 40), 1000, np.uint16))
    assert int(pair.left[5, 5]) == 128
    assert int(pair.right[5, 5]) == 62
