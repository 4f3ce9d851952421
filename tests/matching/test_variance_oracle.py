"""All kinds of variance, and the probability that comes with them, against the oracle."""

import numpy as np
import pytest

import bdis
from tests import naive, naive_surface
from tests.matching.oracle import assert_equals_the_oracle
from tests.scenes import warped_pair

SIZES = [(65, 83), (48, 96)]
SETTINGS = [
    ("balanced", {}),
    ("accurate", {}),
    ("fast", {}),
    ("paper", {}),
    ("paper-2021", {}),
    ("dis", {}),
    ("fast", {"finest_level": 2}),
    ("balanced", {"finest_level": 2}),
    ("fast", {"finest_level": 0}),
    ("paper", {"finest_level": 0}),
    ("dis", {"finest_level": 0}),
    ("balanced", {"finest_level": 0}),
    ("accurate", {"finest_level": 0}),
    ("balanced", {"finest_level": 0, "slanted": False, "min_island": 0.1}),
    ("balanced", {"slanted": False, "min_island": 0.1}),
    ("fast", {"patch_size": 12, "sigma_r": 4.0}),
    ("paper", {"window_step": 0.8, "sigma_spatial": None, "min_disparity": -4.0, "max_disparity": 9.0}),
]


@pytest.mark.parametrize("black", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", [True, "paper"])
@pytest.mark.parametrize(("preset", "changes"), SETTINGS, ids=str)
def test_equals_the_oracle(preset, changes, kind, size, black):
    left, right, _ = warped_pair(*size, seed=5)
    if black:
        left[:, :9] = 0
        left[:5] = 0
        right[:, -7:] = 0
        right[20:24, 15:25] = 0
    matcher = bdis.StereoMatcher(preset, variance=kind, **changes)
    if min(size) <= 2 ** (matcher.settings.finest_level) * (matcher.settings.patch_size - 1):
        pytest.skip("no patch fits the finest level of this size")
    result = matcher.match(left, right)
    assert result.known.mean() > 0.2
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)


@pytest.mark.parametrize("preset", ["fast", "paper", "dis"])
@pytest.mark.parametrize("finest_level", [0, 1, 2])
def test_probability_follows_from_the_variance_on_every_level(preset, finest_level):
    """Without a surface a measured variance replaces the posterior: one law, in px of the image, for all levels."""
    left, right, _ = warped_pair(128, 160, seed=6)
    rng = np.random.default_rng(6)
    right = np.clip(right + rng.normal(0, 6, right.shape), 1, 255).astype(np.uint8)
    result = bdis.StereoMatcher(preset, variance=True, finest_level=finest_level).match(left, right)
    law = naive_surface.probability_of(result.variance[result.known].astype(float))
    assert np.ptp(law) > 0.02
    np.testing.assert_allclose(result.probability[result.known], law, atol=2e-5)
