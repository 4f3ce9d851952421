"""Compare a result of the matcher with one of the oracle, map by map."""

import numpy as np

from tests import naive


def assert_equals_the_oracle(result, reference, settings):
    """The matcher and the oracle know the same pixels and say the same about them.

    The kernels compute in float32, the oracle in float64.  With a surface the finest level is searched a second time in
    a warped image of whole grey steps: where a value lies at a half, one step more or less moves a patch a little.
    Fusion by residuals also counts patches whose search did not converge, which are sensitive to rounding.  With labels
    a pixel chooses between two disparities, and now and then rounding decides.  The refinement divides to 0.13 %.

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
    labelled = naive.has_labels(settings)
    refined = labelled and settings.refinement_rounds > 0
    loose = twice or labelled
    known = ~np.isnan(reference.disparity)
    assert np.mean(known != result.known) <= (5e-3 if loose else 0)
    np.testing.assert_array_equal(result.probability > 0, result.known)
    assert (result.variance is None) == (reference.variance is None)
    known &= result.known
    if known.any():
        error = np.abs(result.disparity - reference.disparity)[known]
        bound = 2e-2 if refined else 1e-3 if loose or settings.fusion == "residual" else 1e-4
        assert np.percentile(error, 99) < bound
        largest = 0.1 if loose else 1e-2 if settings.fusion == "residual" else 2e-3
        assert np.mean(error >= largest) <= (2e-3 if labelled else 0)
        assert np.percentile(np.abs(result.probability - reference.probability)[known], 99) < (2e-3 if loose else 1e-4)
    if result.variance is not None:
        np.testing.assert_array_equal(np.isnan(result.variance), ~result.known)
        # At full resolution it squares differences between neighbours, also those that the refinement leaves, seven
        # times; where nothing else tells of an error that is all there is.
        least = 1e-3 if labelled else 0.0  # px^2
        relative = (np.abs(result.variance - reference.variance) / (reference.variance + least))[known]
        if known.any():
            assert np.percentile(relative, 95 if labelled else 99) < (1.5e-2 if labelled else 1e-2 if loose else 1e-3)
            assert np.percentile(relative, 99) < 0.1
    np.testing.assert_allclose(result.row_offset, reference.row_offset, atol=2e-3)
    np.testing.assert_allclose(result.row_tilt, reference.row_tilt, atol=2e-5)
    assert (result.memory is None) == (reference.memory is None)
    if result.memory is not None:
        np.testing.assert_array_equal(result.memory.left, reference.memory.left)
        np.testing.assert_allclose(result.memory.trust, reference.memory.trust, atol=1e-6)
        assert result.memory.settings == reference.memory.settings
