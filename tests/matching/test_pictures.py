"""Pictures that are no stereo pair get a warning in the result, and good pairs get none."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render

PRESETS = ["balanced", "accurate", "fast", "paper"]
SCENES = [("tissue", 1), ("colon", 2), ("instruments", 3)]


@pytest.fixture(scope="module", params=SCENES, ids=lambda scene: scene[0])
def pair(request):
    return render(request.param[0], 240, 320, seed=request.param[1])


@pytest.fixture(scope="module", params=PRESETS)
def matcher(request):
    return bdis.StereoMatcher(request.param)


def said(matcher, left, right, **options):
    return " / ".join(matcher.match(np.ascontiguousarray(left), np.ascontiguousarray(right), **options).warnings)


def test_good_pairs_get_no_warning(pair, matcher):
    assert matcher.match(pair.left, pair.right).warnings == ()


def test_a_swapped_pair_was_an_empty_view_without_a_word(pair, matcher):
    assert "left and right look swapped" in said(matcher, pair.right, pair.left)


def test_the_same_picture_twice_gave_disparity_0_without_a_word(pair, matcher):
    assert "left and right are the same picture" in said(matcher, pair.left, pair.left)


def test_the_same_picture_compressed_twice_is_noticed_too(pair):
    noise = np.random.default_rng(0).integers(-1, 2, pair.left.shape)
    again = np.clip(pair.left.astype(int) + noise, 1, 255).astype(np.uint8)
    assert "show the same view" in said(bdis.StereoMatcher(), pair.left, again)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda image: image[:, ::-1], "mirrored"),
        (lambda image: image[::-1], "upside down"),
        (lambda image: image[::-1, ::-1], "turned by 180 degrees"),
        (lambda image: np.roll(image, 14, 0), "lower than the left one: this pair does not look rectified"),
        (lambda image: np.roll(image, -11, 0), "higher than the left one: this pair does not look rectified"),
    ],
    ids=["mirrored", "upside down", "turned", "lower", "higher"],
)
def test_what_happened_to_one_image_is_told(pair, change, word):
    matcher = bdis.StereoMatcher()
    assert word in said(matcher, pair.left, change(pair.right))


def moved(image, matrix):
    """The image with its pixels moved around its centre by a 2x2 matrix; the border is repeated."""
    height, width = image.shape[:2]
    centre = np.array([(height - 1) / 2, (width - 1) / 2])
    places = np.moveaxis(np.mgrid[:height, :width], 0, -1) - centre
    rows, columns = np.moveaxis(places @ np.linalg.inv(matrix).T + centre, -1, 0)
    top, left = np.clip(rows.astype(int), 0, height - 2), np.clip(columns.astype(int), 0, width - 2)
    down, across = np.clip(rows - top, 0, 1)[..., None], np.clip(columns - left, 0, 1)[..., None]
    mixed = [image[top + i, left] * (1 - across) + image[top + i, left + 1] * across for i in (0, 1)]
    return np.rint(mixed[0] * (1 - down) + mixed[1] * down).astype(np.uint8)


@pytest.fixture(scope="module", params=["tissue", "colon", "instruments", "plane", "sphere"])
def large_pair(request):
    return render(request.param, seed=7)


@pytest.mark.parametrize("zoom", [1.03, 1.05, 0.97])
def test_another_zoom_gave_wrong_depths_without_a_word(large_pair, zoom):
    text = said(bdis.StereoMatcher(), large_pair.left, moved(large_pair.right, np.diag([zoom, zoom])))
    assert "at the upper and lower borders, which is not corrected: this pair does not look rectified" in text


@pytest.mark.parametrize("kind", ["tissue", "colon", "plane"])
def test_an_image_turned_by_three_degrees_was_called_corrected(kind):
    pair, angle = render(kind, seed=7), np.deg2rad(3)
    turned = moved(pair.right, np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]))
    text = said(bdis.StereoMatcher(), pair.left, turned)
    assert "at the left and right borders, which is not corrected: this pair does not look rectified" in text
    assert "is corrected" not in text


def test_a_tilt_of_rows_is_corrected_and_that_of_columns_is_not():
    flat = np.full((480, 640), 20, np.float32)
    (text,) = bdis.StereoResult(flat, flat / 20, row_offset=0.2, row_tilt=0.01).warnings
    assert "3.4 px at one border: the rows of this result are corrected, its columns are not" in text
    (text,) = bdis.StereoResult(flat, flat / 20, row_offset=1.2, row_tilt=0.001).warnings
    assert text.endswith("1.5 px at one border: this result is corrected, but the calibration is not exact")


@pytest.mark.parametrize("options", [{"noise": 5}, {"texture": 0.3}, {"blur": 2}, {"smoke": 0.4}, {"highlights": 2}])
@pytest.mark.parametrize("preset", PRESETS)
def test_rows_of_pairs_that_are_hard_to_match_are_right(options, preset):
    pair = render("colon", seed=11, **options)
    assert "rows" not in said(bdis.StereoMatcher(preset), pair.left, pair.right)


@pytest.mark.parametrize("size", [(240, 320), (480, 640)])
@pytest.mark.parametrize("shift", [0.5, 1.5, -2.0, 3.0])
def test_rows_that_were_corrected_are_not_told_to_be_uncorrected(size, shift):
    pair = render("tissue", *size, seed=4, vertical_shift_px=shift)
    matcher, previous = bdis.StereoMatcher(), None
    for _ in range(3):  # in a video the coarse levels are moved as well, by what the frame before has found
        previous = matcher.match(pair.left, pair.right, previous=previous)
        assert abs(previous.row_offset - shift) < 0.1
        assert "not corrected" not in " ".join(previous.warnings)
    known = bdis.StereoMatcher(row_offset=shift, align_rows="off").match(pair.left, pair.right)
    assert "not corrected" not in " ".join(known.warnings)
    not_moved = bdis.StereoMatcher(align_rows="off").match(pair.left, np.roll(pair.right, int(np.sign(shift)) * 3, 0))
    assert "this pair does not look rectified" in " ".join(not_moved.warnings)


def test_both_images_mirrored_look_swapped(pair):
    assert "swapped" in said(bdis.StereoMatcher(), pair.left[:, ::-1], pair.right[:, ::-1])


@pytest.mark.parametrize("preset", PRESETS)
def test_unrelated_pictures_are_told(preset):
    one, other = render("tissue", 240, 320, seed=5), render("colon", 240, 320, seed=6)
    assert "do both images show the same scene" in said(bdis.StereoMatcher(preset), one.left, other.right)


@pytest.mark.parametrize("preset", ["balanced", "accurate"])
def test_unrelated_and_swapped_pictures_are_told_if_every_pixel_gets_a_disparity(pair, preset):
    matcher = bdis.StereoMatcher(preset, dense=True)
    one, other = render("tissue", 240, 320, seed=5), render("colon", 240, 320, seed=6)
    assert "of the disparities are likely: do both images show the same scene" in said(matcher, one.left, other.right)
    assert "swapped" in said(matcher, pair.right, pair.left)
    assert said(matcher, pair.left, pair.right) == ""


@pytest.mark.parametrize("settings", [{"preset": "dis"}, {"preset": "paper", "fusion": "residual"}])
def test_a_matcher_that_doubts_nothing_said_nothing_of_pictures_that_are_no_pair(pair, settings):
    matcher = bdis.StereoMatcher(**settings)
    assert said(matcher, pair.left, pair.right) == ""
    assert "swapped" in said(matcher, pair.right, pair.left)
    assert "mirrored" in said(matcher, pair.left, pair.right[:, ::-1])
    assert "upside down" in said(matcher, pair.left, pair.right[::-1])
    for seed in range(5):
        other = render("tissue", 240, 320, seed=20 + seed)
        assert "do both images show the same scene" in said(matcher, pair.left, other.right)


@pytest.mark.parametrize("options", [{"noise": 5}, {"texture": 0.3}, {"blur": 2}, {"smoke": 0.4}, {"disparity_px": 60}])
def test_a_matcher_that_doubts_nothing_is_silent_of_pairs_that_are_hard_to_match(options):
    for kind in ("tissue", "colon", "instruments"):
        pair = render(kind, 240, 320, seed=11, **options)
        assert said(bdis.StereoMatcher("dis"), pair.left, pair.right) == ""


@pytest.mark.parametrize(("kind", "limit"), [("tissue", "near_mm"), ("instruments", "near_mm"), ("colon", "far_mm")])
@pytest.mark.parametrize("preset", ["balanced", "accurate"])
def test_disparities_piled_up_at_the_limit_of_the_search_as_if_they_were_sure(kind, limit, preset):
    """Of those at the limit a quarter lay in their intervals; now they are unknown."""
    pair = render(kind, 240, 320, seed=8)
    middle = float(np.nanmedian(pair.depth_mm))
    rig = bdis.Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
    result = bdis.StereoMatcher.for_rig(rig, preset, variance=True, **{limit: middle}).match(pair.left, pair.right)
    known = result.known & ~np.isnan(pair.disparity)
    assert known.mean() > 0.2
    error = np.abs(result.disparity - pair.disparity)[known]
    assert np.mean(error <= result.interval(0.95)[known]) > 0.85
    beyond = pair.depth_mm < 0.97 * middle if limit == "near_mm" else pair.depth_mm > 1.03 * middle
    assert result.known[beyond].mean() < 0.1


@pytest.mark.parametrize("kind", ["tissue", "instruments", "colon"])
def test_cameras_turned_towards_each_other_are_told_where_disparities_end_at_0(kind):
    pair = render(kind, 240, 320, seed=3)
    right = np.roll(pair.right, 24, 1)
    right[:, :24] = 0
    assert "if the cameras are turned towards each other, set min_disparity below 0" in said(
        bdis.StereoMatcher(), pair.left, right
    )


def test_a_scene_outside_of_the_range_was_said_to_be_swapped():
    pair = render("tissue", 240, 320, seed=1)
    rig = bdis.Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
    for range_mm, words in (
        ({"near_mm": 20, "far_mm": 45}, "looks farther than it may be"),
        ({"near_mm": 0.05, "far_mm": 0.2}, "looks farther than it may be"),  # in metres
        ({"near_mm": 100}, "looks nearer than it may be"),
    ):
        assert words in said(bdis.StereoMatcher.for_rig(rig, **range_mm), pair.left, pair.right)


def test_differently_exposed_pictures_are_told(pair, matcher):
    dark = np.maximum(pair.right // 2, 1)
    assert "the left image is 2.0 times as bright as the right one" in said(matcher, pair.left, dark)
    assert "the right image is" in said(matcher, np.maximum(pair.left // 2, 1), pair.right)
    slightly = np.maximum(0.9 * pair.right, 1).astype(np.uint8)
    assert said(matcher, pair.left, slightly) == ""


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_blue_tissue_comes_from_cv2_imread(pair, kind):
    matcher = bdis.StereoMatcher("fast")
    left, right = (
        (image.astype(float) * (257 if kind == np.uint16 else 1)).astype(kind) for image in (pair.left, pair.right)
    )
    assert said(matcher, left, right) == ""
    blue = left[..., ::-1], right[..., ::-1]
    assert "the colours look like BGR" in said(matcher, *blue)
    assert said(matcher, *blue, bgr=True) == ""
    expected = matcher.match(left, right)
    found = matcher.match(*blue, bgr=True)
    np.testing.assert_array_equal(found.disparity, expected.disparity)


@pytest.mark.parametrize(
    ("scale", "kind", "hot"),
    [(1.6 / 255, float, None), (16 / 255, np.float32, None), (1 / 255, float, 2), (4, np.uint16, 65535)],
    ids=["0 to 1.6", "0 to 16", "a hot pixel in 0 to 1", "a hot pixel in 10 bits"],
)
def test_a_range_that_the_brightest_pixel_makes_too_large_was_not_told(pair, matcher, scale, kind, hot):
    left, right = ((image * scale).astype(kind) for image in (pair.left, pair.right))
    left[5, 5] = left[5, 5] if hot is None else hot
    assert "as their brightest pixel has it, but reach only" in said(matcher, left, right)
    if hot is not None:
        left[5, 5] = 0.5 if kind is float else 512
        assert said(matcher, left, right) == ""


@pytest.mark.parametrize("white", [32, 48, 64, 100])
def test_floats_that_reach_neither_1_nor_255_were_read_as_dark_ones_without_a_word(pair, white):
    left, right = (image * np.float32(white / 255) for image in (pair.left, pair.right))
    words = "the images are read as 0 to 255, as their brightest pixel has it, but reach only"
    assert words in said(bdis.StereoMatcher(), left, right)
    assert said(bdis.StereoMatcher(), left / white, right / white) == ""
    assert said(bdis.StereoMatcher(bits=8), left, right) == ""  # they are dark indeed
    assert said(bdis.StereoMatcher(), *(image.astype(np.float32) for image in (pair.left, pair.right))) == ""


@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_dark_pictures_of_a_known_range_are_only_dark(pair, bits):
    dark = [np.maximum(image // 16, 1) for image in (pair.left, pair.right)]
    assert said(bdis.StereoMatcher(), *dark) == ""
    wide = [image.astype(np.uint16) << (bits - 8) for image in dark]
    assert said(bdis.StereoMatcher(bits=bits), *wide) == ""
    assert said(bdis.StereoMatcher(), *wide) == ""  # told from the brightest pixel, as fewer bits
    assert said(bdis.StereoMatcher(), *(image / 255 for image in dark)) == ""


def test_verged_cameras_are_not_swapped_ones(pair):
    cut = 60
    left, right = pair.left[:, cut:], pair.right[:, :-cut]
    assert said(bdis.StereoMatcher(min_disparity=-cut), left, right) == ""
    assert "turned towards each other: then set min_disparity" in said(bdis.StereoMatcher(), left, right)


def test_black_pictures_are_not_the_same_scene():
    black = np.zeros((64, 96), np.uint8)
    (text,) = bdis.StereoMatcher().match(black, black).warnings
    assert text.startswith("only 0.0% of the pixels are known")


def test_results_without_pictures_have_their_own_warnings():
    zero = np.zeros((4, 6), np.float32)
    assert bdis.StereoResult(zero, zero + 1).warnings == (
        "the disparity is 0 everywhere: left and right show the same view",
    )
    nothing = bdis.StereoResult(zero * np.nan, zero)
    assert nothing.warnings[0].startswith("only 0.0% of the pixels are known")
    assert bdis.StereoResult(zero + 9, zero + 1).warnings == ()


def test_asking_for_warnings_does_not_change_the_result(pair):
    first, second = (bdis.StereoMatcher("fast").match(pair.left, pair.right) for _ in range(2))
    assert first.warnings == second.warnings
    np.testing.assert_array_equal(first.disparity, second.disparity)
