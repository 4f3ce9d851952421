"""Limits of the disparity, masks, weights of the levels and threads against the oracle."""

import numpy as np
import pytest

import bdis
from tests import naive
from tests.matching.oracle import assert_equals_the_oracle
from tests.scenes import warped_pair

SIZE = 65, 83
# Numbers that are no multiples of a pixel of the level where all disparities are tried.
LIMITS = [
    {"min_disparity": -7.0, "max_disparity": 1.0},
    {"min_disparity": -5.0, "max_disparity": -1.5},
    {"min_disparity": -8.5, "max_disparity": -6.5},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("balanced", {}),
        ("balanced", {"slanted": False}),
        ("fast", {}),
        ("balanced", {"finest_level": 0}),
        ("fast", {"finest_level": 0}),
    ],
    ids=str,
)
def test_negative_disparities_within_limits(preset, changes, limits):
    """A pair the wrong way round has disparities of -6 to -9 px."""
    right, left, _ = warped_pair(*SIZE, seed=7)
    matcher = bdis.StereoMatcher(preset, **changes, **limits)
    result = matcher.match(left, right)
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)
    found = result.disparity[result.known]
    assert ((found >= limits["min_disparity"]) & (found <= limits["max_disparity"])).all()


@pytest.mark.parametrize("smoothing_edge", [8.0, 1000.0])
def test_a_surface_may_swing_a_little_beyond_the_limit(smoothing_edge):
    """The disparity runs across the limit; what lies half a px of the finest level beyond it is unknown, not cut."""
    left, right, truth = warped_pair(*SIZE, seed=12, slope=0.1, offset=3.0)
    matcher = bdis.StereoMatcher(
        max_disparity=6.0, min_probability=0.0, min_surface_probability=0.0, smoothing_edge=smoothing_edge
    )
    result = matcher.match(left, right)
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)
    assert result.known[truth < 5.5].mean() > 0.6
    assert not result.known[truth > 8.0].any()


@pytest.mark.parametrize("finest_level", [0, 1])
@pytest.mark.parametrize("weights", ["1/n", "2^n", "equal"])
def test_weights_of_three_levels(weights, finest_level):
    """With two levels, 2^n and 2 n are the same weights."""
    left, right, _ = warped_pair(97, 131, seed=13)
    matcher = bdis.StereoMatcher("fast", level_weights=weights, finest_level=finest_level)
    reference = naive.match(left, right, matcher.settings)
    assert naive.coarsest_level(*left.shape, matcher.settings) == 3
    assert_equals_the_oracle(matcher.match(left, right), reference, matcher.settings)


@pytest.mark.parametrize("black", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize("masked", ["left", "right", "both"])
@pytest.mark.parametrize("finest_level", [0, 1])
@pytest.mark.parametrize("preset", ["balanced", "accurate", "fast"])
def test_masks(preset, finest_level, masked, black):
    """What a mask hides counts as black does, and both are joined."""
    left, right, _ = warped_pair(*SIZE, seed=9)
    if black:
        left[:6], right[:, -9:] = 0, 0
    masks = [np.ones(SIZE, bool) if masked in (side, "both") else None for side in ("left", "right")]
    if masks[0] is not None:
        masks[0][30:41, 20:39] = False
    if masks[1] is not None:
        masks[1][10:25, 40:60] = False
    matcher = bdis.StereoMatcher(preset, variance=True, finest_level=finest_level)
    result = matcher.match(left, right, left_mask=masks[0], right_mask=masks[1])
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings, masks=masks), matcher.settings)
    if masks[0] is not None:
        assert not result.known[~masks[0]].any()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    "changes", [{"variance": True}, {"label_level": 0}, {"dense": True}, {"finest_level": 0}], ids=str
)
def test_several_threads_equal_the_oracle(changes, threads):
    """Sweeps and enlarging cross the seams between the rows of the threads."""
    left, right, _ = warped_pair(*SIZE, seed=10)
    matcher = bdis.StereoMatcher(threads=threads, **changes)
    assert_equals_the_oracle(matcher.match(left, right), naive.match(left, right, matcher.settings), matcher.settings)


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_a_segment_across_the_seams_of_threads_is_one(threads):
    """One surface covers the picture; cut at any seam, a part of it would be an island and go."""
    left, right, _ = warped_pair(96, 128, seed=11)
    alone, shared = (bdis.StereoMatcher(threads=n, min_island=0.7).match(left, right) for n in (1, threads))
    assert alone.coverage > 0.75
    np.testing.assert_array_equal(shared.disparity, alone.disparity)
