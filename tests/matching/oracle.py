"""Compare a result of the matcher with one of the oracle, map by map."""

import numpy as np


def assert_equals_the_oracle(result, reference, settings):
    """The matcher and the oracle know the same pixels and say the same about them.

    The kernels compute in float32, the oracle in float64.  With a surface the finest level is searched a second time in
    a warped image of whole grey steps: where a value lies at a half, one step more or less moves a patch a little.
    Fusion by residuals also counts patches whose search did not converge, which are sensitive to rounding.

    Parameters
    ----------
    result : bdis.StereoResult
        What the matcher returned.
    reference : naive.Result
        What the oracle returned.
    settings : bdis.Settings
        Settings of both.
    """
    twice = settings.smoothing > 0 and settings.slanted
    known = ~np.isnan(reference.disparity)
    assert np.mean(known != result.known) <= (5e-3 if twice else 0)
    np.testing.assert_array_equal(result.probability > 0, result.known)
    assert (result.variance is None) == (reference.variance is None)
    known &= result.known
    if known.any():
        error = np.abs(result.disparity - reference.disparity)[known]
        assert np.percentile(error, 99) < (1e-3 if twice or settings.fusion == "residual" else 1e-4)
        assert error.max() < (0.1 if twice else 1e-2 if settings.fusion == "residual" else 2e-3)
        assert np.percentile(np.abs(result.probability - reference.probability)[known], 99) < (2e-3 if twice else 1e-4)
    if result.variance is not None:
        np.testing.assert_array_equal(np.isnan(result.variance), ~result.known)
        relative = np.abs(result.variance / reference.variance - 1)[known]
        assert not known.any() or np.percentile(relative, 99) < (1e-2 if twice else 1e-3)
    assert (result.memory is None) == (reference.memory is None)
    if result.memory is not None:
        assert result.memory.shape == reference.memory.shape
        # What the result leaves out is as good as not known, and a tie between two sides of an edge changes much there.
        px = 2**settings.finest_level
        difference = np.abs(result.memory - reference.memory)[:, result.known[::px, ::px]]
        assert not difference.size or np.percentile(difference, 99) < 1e-3
