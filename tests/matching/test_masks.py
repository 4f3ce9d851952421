"""Masks: what they hide, which are refused, and black borders, which count as masked."""

import numpy as np
import pytest

import bdis
from tests.matching.pairs import HEIGHT, TOLERANT, WIDTH, assert_normal, assert_same, framed, holes


@pytest.mark.parametrize("name", ["left_mask", "right_mask"])
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones((3, 4), bool), ValueError, r"has shape \(3, 4\); expected that of its image, \(96, 128\)"),
        (np.ones((WIDTH, HEIGHT), bool), ValueError, r"has shape \(128, 96\); expected that of its image, \(96, 128\)"),
        (np.ones((HEIGHT, WIDTH, 1), bool), ValueError, r"has shape \(96, 128, 1\); expected that of its image"),
        (True, ValueError, r"has shape \(\); expected that of its image"),
        ("mask.png", ValueError, r"has shape \(\); expected that of its image"),
        (np.ones((HEIGHT, WIDTH)), TypeError, "is float64; expected bool or integers, nonzero = seen"),
        (np.ones((HEIGHT, WIDTH), complex), TypeError, "is complex128; expected bool or integers"),
        (np.ones((HEIGHT, WIDTH), object), TypeError, "is object; expected bool or integers"),
        (np.full((HEIGHT, WIDTH), "yes"), TypeError, "is <U3; expected bool or integers"),
    ],
    ids=["size", "transposed", "3d", "True", "a name", "float", "complex", "object", "text"],
)
def test_wrong_mask_is_refused(matcher, grey, name, mask, error, message):
    with pytest.raises(error, match=f"^{name} {message}"):
        matcher.match(*grey, **{name: mask})


def test_a_refused_pair_leaves_the_matcher_as_it_was(grey):
    matcher = bdis.StereoMatcher()
    expected = matcher.match(*grey)
    bad = np.full((HEIGHT, WIDTH), np.nan)
    for arguments, masks in [((bad, bad), {}), (grey, {"right_mask": bad}), ((grey[0], grey[1][1:]), {})]:
        with pytest.raises((ValueError, TypeError)):
            matcher.match(*arguments, **masks)
        assert_same(matcher.match(*grey), expected)


def test_masks_that_hide_nothing_change_nothing(matcher, grey):
    expected = matcher.match(*grey)
    everything = np.ones((HEIGHT, WIDTH), bool)
    assert_same(matcher.match(*grey, left_mask=everything), expected)
    assert_same(matcher.match(*grey, right_mask=everything.astype(np.int32)), expected)
    assert_same(matcher.match(*grey, left_mask=everything.tolist(), right_mask=everything), expected)


@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_nothing_is_predicted_where_the_left_mask_hides(preset, grey):
    mask = holes()
    result = bdis.StereoMatcher(preset).match(*grey, left_mask=mask)
    assert_normal(result, (HEIGHT, WIDTH))
    assert not result.known[~mask].any()
    if preset in TOLERANT:
        assert result.known[mask].mean() > 0.8


def test_masks_of_all_kinds_mean_the_same(matcher, grey):
    """Nonzero is seen, whatever the number, its type and the order of the bytes."""
    mask = holes()
    expected = matcher.match(*grey, left_mask=mask, right_mask=mask)
    for other in (
        mask.astype(np.uint8) * 255,
        -mask.astype(np.int64),
        mask.astype(">u2") * 256,  # a low byte of 0 is not "hidden"
        np.asfortranarray(mask),
        mask[::-1, ::-1].copy()[::-1, ::-1],
        mask.tolist(),
    ):
        assert_same(matcher.match(*grey, left_mask=other, right_mask=other), expected)


def test_pixels_hidden_in_the_right_image_are_not_matched(matcher, grey):
    """Of a pair of equal images, the half with nothing to match stays unknown, up to half a coarse patch."""
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[:, 64:] = False
    result = matcher.match(grey[0], grey[0], right_mask=mask)
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.known[:, :56].mean() > 0.995  # a corner may be lost
    assert not result.known[:, 72:].any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32], ids=str)
@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_black_border_gets_nothing(preset, dtype, grey):
    left, right = (image.astype(dtype) for image in framed(grey, 9))
    result = bdis.StereoMatcher(preset).match(left, right)
    assert_normal(result, (HEIGHT, WIDTH))
    assert not result.known[left == 0].any()
    if preset in TOLERANT:
        assert result.known[left > 0].mean() > 0.8


def test_black_counts_as_masked(matcher, grey):
    left, right = framed(grey, 9)
    expected = matcher.match(left, right)
    assert_same(matcher.match(left, right, left_mask=left > 0, right_mask=right > 0), expected)


def test_a_colour_pixel_is_black_only_if_all_channels_are(matcher, colour):
    """Pure blue is dark, not hidden; alpha says nothing about it."""
    left = np.dstack([colour[0], np.zeros((HEIGHT, WIDTH), np.uint8)])
    left[40:44, 60:64] = (0, 0, 1, 0)
    left[40:44, 80:84] = (0, 0, 0, 255)
    right = left.copy()
    known = matcher.match(left, right).known
    assert known[40:44, 60:64].all()
    assert not known[40:44, 80:84].any()
