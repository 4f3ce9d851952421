"""A matcher notes its kernel calls in the first match: the pairs before leave no trace in the result of a pair."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render


@pytest.fixture(scope="module")
def pairs():
    """Of one size, that take different ways through a match: rows moved or not, unseen pixels, other pixel types."""
    aligned, lower, higher = (
        render("tissue", 160, 224, seed=seed, vertical_shift_px=shift) for seed, shift in ((1, 0), (2, 1.5), (3, -2.5))
    )
    black = aligned.left.copy(), aligned.right.copy()
    for image in black:
        image[:30] = 0
    return [
        (aligned.left, aligned.right),
        (lower.left, lower.right),
        (higher.left, higher.right),
        black,
        (lower.left[..., 1].copy(), lower.right[..., 1].copy()),
        (lower.left.astype(np.uint16) * 16, lower.right.astype(np.uint16) * 16),
        (aligned.left, higher.right),
        (np.full_like(aligned.left, 90), np.full_like(aligned.left, 90)),
    ]


@pytest.mark.parametrize("preset", ["balanced", "accurate", "fast", "paper"])
@pytest.mark.parametrize("options", [{}, {"dense": True, "variance": True}, {"threads": 2}], ids=str)
def test_pairs_before_leave_no_trace(pairs, preset, options):
    alone = [bdis.StereoMatcher(preset, **options).match(*pair) for pair in pairs]
    matcher = bdis.StereoMatcher(preset, **options)
    for k in np.random.default_rng(0).permutation(np.repeat(np.arange(len(pairs)), 2)):
        result = matcher.match(*pairs[k])
        assert (result.row_offset, result.row_tilt) == (alone[k].row_offset, alone[k].row_tilt)
        for name in ("disparity", "probability", *(["variance"] if "variance" in options else [])):
            np.testing.assert_array_equal(getattr(result, name), getattr(alone[k], name))
