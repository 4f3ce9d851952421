"""Soft and strongly compressed pictures, whose intervals are too narrow, are told; all others are not."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render

cv2 = pytest.importorskip("cv2")

SOFT = "soft, as if"
BLOCKS = "the blocks of a strong JPEG compression"


def blurred(image, sigma=3.0):
    return cv2.GaussianBlur(image, (0, 0), sigma)


def enlarged(image, factor=4):
    height, width = image.shape[:2]
    small = cv2.resize(image, (width // factor, height // factor), interpolation=cv2.INTER_AREA)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)


def compressed(image, quality=10):
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_UNCHANGED)


def matched(pair, change, preset="balanced"):
    return bdis.StereoMatcher(preset, variance=True).match(change(pair.left), change(pair.right))


@pytest.mark.parametrize("kind", ["tissue", "colon", "instruments"])
@pytest.mark.parametrize(
    ("change", "words"), [(blurred, SOFT), (enlarged, SOFT), (compressed, BLOCKS)], ids=["blurred", "enlarged", "JPEG"]
)
def test_poor_pictures_had_too_narrow_intervals_without_a_word(kind, change, words):
    pair = render(kind, 480, 640, seed=9, noise=1.5)
    result = matched(pair, change)
    is_judged = result.known & np.isfinite(pair.disparity)
    error = np.abs(result.disparity - pair.disparity)[is_judged]
    assert np.mean(error < result.interval(0.95)[is_judged]) < 0.92
    (text,) = result.warnings
    assert words in text
    assert text.startswith("the images")


@pytest.mark.parametrize("kind", ["tissue", "colon", "instruments", "sphere"])
@pytest.mark.parametrize("options", [{}, {"noise": 4}, {"smoke": 0.2}, {"blur": 1}])
@pytest.mark.parametrize("size", [(480, 640), (120, 160)])
def test_other_pictures_are_not_called_poor(kind, options, size):
    said = " ".join(matched(render(kind, *size, seed=4, **options), np.copy, "fast").warnings)
    assert SOFT not in said
    assert BLOCKS not in said


def test_it_is_said_which_picture_is_poor():
    pair = render("tissue", 240, 320, seed=4)
    matcher = bdis.StereoMatcher("fast", variance=True)
    for change, words in ((blurred, "looks soft, as if it were"), (compressed, "shows the blocks")):
        assert f"the left image {words}" in " ".join(matcher.match(change(pair.left), pair.right).warnings)
        assert f"the right image {words}" in " ".join(matcher.match(pair.left, change(pair.right)).warnings)


@pytest.mark.parametrize(("kind", "white"), [(np.uint16, 65535), (np.uint16, 1023), (np.float64, 1), (np.float32, 255)])
def test_pictures_of_every_type_are_judged_alike(kind, white):
    pair = render("tissue", 240, 320, seed=4)
    for change, words in ((blurred, SOFT), (compressed, BLOCKS)):
        views = [(change(image) * (white / 255)).astype(kind)[..., 1] for image in (pair.left, pair.right)]
        assert words in " ".join(bdis.StereoMatcher("fast", variance=True).match(*views).warnings)


def test_pictures_without_texture_and_narrow_ones_are_not_judged():
    flat = np.full((48, 64, 3), 90, np.uint8)
    narrow = blurred(render("tissue", 64, 96, seed=4).left)[:, :40].copy()
    for image in (flat, narrow):
        said = " ".join(bdis.StereoMatcher("fast", variance=True).match(image, np.roll(image, 1, 1)).warnings)
        assert SOFT not in said
        assert BLOCKS not in said
