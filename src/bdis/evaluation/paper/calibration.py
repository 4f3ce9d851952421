"""Calibration of the variance as the paper measures it.  NumPy only."""

import math

import numpy as np

from ..errors import Comparison


def within_196_sigma(found: Comparison) -> float:
    """Share of the errors within 1.96 claimed standard deviations, as in the paper's Table VI.

    The paper takes errors of depth for Gaussian and their standard deviation from that of the disparity, linearly.

    Parameters
    ----------
    found : Comparison
        What :func:`bdis.evaluation.errors.compare` returned.

    Returns
    -------
    float
        Of the depth, without a rig of the disparity; NaN if the method claims no variance.

    Examples
    --------
    >>> error, ones = np.array([0, 0.5, 1.5, 3]), np.ones(4)
    >>> within_196_sigma(Comparison(error, error, ones, ones, ones, 4))
    0.75
    """
    error, sigma = (found.error_px, found.sigma_px) if found.in_px else (found.error_mm, found.sigma_mm)
    if sigma is None:
        return math.nan
    known = np.isfinite(sigma) & (sigma > 0)
    return float((np.abs(error[known]) / sigma[known] < 1.96).mean()) if known.any() else math.nan
