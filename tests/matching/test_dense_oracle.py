"""`dense`, where every pixel gets a disparity, against the oracle."""

import numpy as np
import pytest

import bdis
from tests import naive
from tests.matching.oracle import assert_equals_the_oracle
from tests.scenes import warped_pair

SIZES = [(65, 83), (48, 96)]
SETTINGS = [
    ("balanced", {"variance": True}),
    ("accurate", {"variance": "paper"}),
    ("balanced", {"slanted": False}),
    # In small pictures labels and single patches jump by much of their width.  A refinement across such jumps is
    # sensitive to rounding, so the steps that make more of them and the refinement take turns.
    ("balanced", {"finest_level": 2, "variance": True, "sides": False, "refinement_slopes": False}),
    ("balanced", {"finest_level": 2, "variance": True, "sides": False, "refinement_rounds": 1}),
    ("balanced", {"finest_level": 2, "variance": True, "refinement_rounds": 0}),
    ("balanced", {"finest_level": 0, "variance": True, "sides": False, "max_iterations": 8, "stop_step": 0.01}),
    ("balanced", {"finest_level": 0, "variance": True, "refinement_rounds": 0}),
    ("accurate", {"finest_level": 0, "variance": "paper"}),
    ("fast", {"variance": True}),
    ("fast", {"finest_level": 0, "variance": True}),
    ("paper", {"variance": "paper"}),
    ("dis", {}),
]


def pair_with_holes(size, black):
    """A pair with a large patch without texture, and with ``black`` borders and a black hole too."""
    left, right, _ = warped_pair(*size, seed=4)
    height, width = size
    left[height // 3 : -8, width // 3 : -width // 4] = 90
    if black:
        left[:, :9] = 0
        left[10:20, 30:50] = 0
        right[:, -7:] = 0
    return left, right


@pytest.mark.parametrize("black", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("preset", "changes"), SETTINGS, ids=str)
def test_equals_the_oracle(preset, changes, size, black):
    left, right = pair_with_holes(size, black)
    matcher = bdis.StereoMatcher(preset, dense=True, **changes)
    if min(size) <= 2 ** (matcher.settings.finest_level) * (matcher.settings.patch_size - 1):
        pytest.skip("no patch fits the finest level of this size")
    result = matcher.match(left, right)
    assert result.known.all()
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)


@pytest.mark.parametrize(
    ("preset", "changes", "seen"),
    [("balanced", {"label_level": None}, True), ("fast", {}, True), ("balanced", {}, False),
     ("balanced", {"label_level": 0, "refinement_rounds": 2}, False)],
)  # fmt: skip
def test_a_hole_is_filled_across_edges_of_the_image(preset, changes, seen):
    """Strong edges around a hole keep the surface out of it; a wide surface, which knows no edges, must fill it."""
    left, right, truth = warped_pair(128, 160, seed=2, slope=0.0, offset=12.0)
    hole = np.zeros(left.shape, bool)
    hole[30:100, 50:120] = True
    left[hole] = np.where(np.indices(left.shape).sum(0) // 4 % 2, 255, 1)[hole]
    result = bdis.StereoMatcher(preset, dense=True, **changes).match(left, right, left_mask=None if seen else ~hole)
    assert result.known.all()
    assert np.abs(result.disparity - truth)[40:90, 60:110].max() < 3
