"""A network's own confidence: the width of its distribution over disparities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.law import share_within
from ...matching.result import StereoResult

WITHIN_A_PX = 1 / 12  # px^2: the distribution is over whole px, each of which stands for all disparities in it


def with_own_confidence(result: StereoResult, variance: NDArray[np.float32]) -> StereoResult:
    """The result with the variance of the distribution, and the probability that follows from it.

    Parameters
    ----------
    result : StereoResult
    variance : ndarray of float32, shape (h, w)
        px^2, of the distribution over whole disparities.

    Returns
    -------
    StereoResult

    Examples
    --------
    >>> unsure = StereoResult(np.float32([[9.0, np.nan]]), np.float32([[1.0, 0.0]]))
    >>> found = with_own_confidence(unsure, np.float32([[4.0, 4.0]]))
    >>> [[f"{value:.2f}" for value in row] for row in (found.probability[0], found.variance[0])]
    [['0.55', '0.00'], ['4.08', 'nan']]
    """
    known = result.known
    claimed = np.where(known, variance + np.float32(WITHIN_A_PX), np.float32(np.nan))
    probability = np.where(known, share_within(1.0, claimed), np.float32(0))
    return replace(result, probability=probability, variance=claimed)
