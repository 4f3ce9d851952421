"""The law that errors of disparity follow: Student's t with three degrees of freedom.

Errors of stereo have heavy tails: most pixels are much closer than the standard deviation, and a few are far off.  On
rendered and real pairs a t with 2.4 to 3 degrees of freedom fits; with three all of it is said by the variance, in
closed form.  With u = x / sigma the share of errors smaller than x is

    2 / pi (u / (1 + u^2) + arctan u),

so that 68 % lie within 0.69 sigma, 95 % within 1.84 sigma and 99 % within 3.37 sigma.
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def share_within(distance: Any, variance: Any) -> NDArray[np.float32]:
    """Share of errors that are smaller than a distance.

    Parameters
    ----------
    distance : array_like
        px, or any unit.
    variance : array_like
        Square of that unit; NaN = unknown.

    Returns
    -------
    ndarray of float32
        0 to 1; NaN where the variance is.

    Examples
    --------
    >>> f"{share_within(1.0, 0.25):.3f}"  # px, sigma is 0.5 px
    '0.959'
    """
    sigma = np.sqrt(np.asarray(variance, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(sigma > 0, np.asarray(distance, np.float64) / sigma, np.inf)
        u = np.where(np.isnan(sigma), np.nan, u)
        share = 2 / math.pi * (1 / (u + 1 / u) + np.arctan(u))
    return np.asarray(np.where(u == 0, 0, share), np.float32)


def sigmas(share: float) -> float:
    """Standard deviations within which a share of the errors lies.

    Parameters
    ----------
    share : float
        Above 0 and below 1.

    Raises
    ------
    TypeError
        It is no number.
    ValueError
        It is out of range.

    Examples
    --------
    >>> f"{sigmas(0.95):.3f} {sigmas(0.68):.3f}"
    '1.837 0.686'
    """
    if not isinstance(share, numbers.Real):
        kind = type(share).__name__
        raise TypeError(f"the share of errors in an interval must be a number above 0 and below 1, but it is {kind}")
    if not 0 < share < 1:
        raise ValueError(f"the share of errors in an interval must be above 0 and below 1, but it is {share}")
    low, high = 0.0, 1e9
    for _ in range(100):  # halves the interval
        u = (low + high) / 2
        is_too_small = 2 / math.pi * (u / (1 + u * u) + math.atan(u)) < share
        low, high = (u, high) if is_too_small else (low, u)
    return high


def log_density(error: Any, variance: Any) -> NDArray[np.float64]:
    """Logarithm of the density of errors.

    Parameters
    ----------
    error : array_like
        px, or any unit.
    variance : array_like
        Square of that unit, above 0; NaN = unknown.

    Returns
    -------
    ndarray of float64
        Nats, of a density per unit of the error; NaN where the variance is.

    Examples
    --------
    >>> f"{np.exp(log_density(0.0, 0.25)):.3f} per px"  # sigma is 0.5 px
    '1.273 per px'
    """
    sigma = np.sqrt(np.asarray(variance, np.float64))
    u = np.asarray(error, np.float64) / sigma
    return np.asarray(-np.log(math.pi / 2 * sigma) - 2 * np.log1p(u * u))
