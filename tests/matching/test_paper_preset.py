"""What the thresholds of preset ``paper`` [III-F, IV-A] do, told by results alone."""

import numpy as np
import pytest

import bdis
from tests import naive
from tests.matching.oracle import assert_equals_the_oracle
from tests.scenes import warped_pair


@pytest.mark.parametrize(("preset", "share"), [("paper", 0.75), ("paper-2021", 0.75), ("fast", 0.25)])
def test_a_patch_needs_its_share_of_seen_pixels(preset, share):
    """Of a strip that is one patch high or less, the rows that were seen decide whether anything is known."""
    left, right, _ = warped_pair(64, 96, seed=3, slope=0.0, offset=4.0)
    size = bdis.PRESETS[preset].patch_size
    for seen_rows in range(1, size):  # of level 1, from the top: only the first row of patches sees them
        hidden = left.copy()
        hidden[2 * seen_rows :] = 0
        # Support and segments are other conditions.
        matcher = bdis.StereoMatcher(preset, coarsest_level=1, min_support=0.0, segment_filter=False)
        result = matcher.match(hidden, right)
        assert result.known.any() == (seen_rows / size >= share), seen_rows


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_threshold_removes_nothing_by_itself(seed):
    """The centre of a window of five samples that is its strict minimum has a posterior above 1 / 5, and so has the
    mean over levels and patches: thresholds of 0.15 and of 0 give the same result, so only the value can be tested.
    """
    left, right, _ = warped_pair(96, 128, seed=seed)
    rng = np.random.default_rng(seed)
    right = np.clip(right + rng.normal(0, 25, right.shape), 1, 255).astype(np.uint8)
    paper, without, above = (
        bdis.StereoMatcher("paper", **changes).match(left, right)
        for changes in ({}, {"min_probability": 0.0}, {"min_probability": 0.42})
    )
    assert without.probability[without.known].min() >= 0.2 - 1e-6
    np.testing.assert_array_equal(paper.disparity, without.disparity)
    assert above.coverage < paper.coverage


@pytest.mark.parametrize(
    ("patch_size", "overlap", "rounding", "stride"),
    [(10, 0.55, "down", 4), (10, 0.55, "up", 5), (10, 0.6, "down", 4), (10, 0.6, "up", 4), (8, 0.4, "down", 4),
     (8, 0.4, "up", 5), (8, 0.95, "down", 1), (8, 0.95, "up", 1), (16, 0.0, "up", 16)],
)  # fmt: skip
def test_the_stride_of_both_roundings(patch_size, overlap, rounding, stride):
    assert bdis.Settings(patch_size=patch_size, overlap=overlap, stride_rounding=rounding).stride == stride


@pytest.mark.parametrize("black", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize(
    "changes",
    [
        {"spatial_sum": False},
        {"likelihood_area": "window"},
        {"likelihood_area": "window", "sigma_r": 8.0, "patch_size": 6},
        {"stride_rounding": "up"},
        {"spatial_sum": True, "sigma_spatial": None},
        {"stop_step": 0.0, "level_weights": "2^n"},
    ],
    ids=str,
)
def test_every_reading_equals_the_oracle(changes, black):
    """docs/paper.md says what they are."""
    left, right, _ = warped_pair(65, 83, seed=5)
    if black:
        left[:, :9] = 0
        right[20:24, 15:25] = 0
    matcher = bdis.StereoMatcher("paper", variance="paper", **changes)
    result = matcher.match(left, right)
    assert result.known.mean() > 0.2
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)


@pytest.mark.parametrize("changes", [{"spatial_sum": False}, {"likelihood_area": "window"}, {"stride_rounding": "up"}])
def test_every_reading_changes_the_result(changes):
    left, right, _ = warped_pair(96, 128, seed=5)
    paper, other = (bdis.StereoMatcher("paper", **each).match(left, right) for each in ({}, changes))
    assert not np.array_equal(paper.probability, other.probability)
