"""Several results of one pair made one, by their laws of error."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.law import share_within
from .result import StereoResult

ROUNDS = 5  # of reweighting
# Chosen with SGBM, BM, ELAS and DIS flow, beside `balanced` or each other, on real, rendered and the authors' pairs,
# all cut to the smallest coverage: 13 of 48 combinations are more than 2 % worse than the best single one, 8 of the 36
# that `balanced` leads. With 1 for the second number it was 26; with 50 it is as with 100.
OTHERS = 4.0  # factor on the variance of all but the first when they are weighted
UNKNOWN_TO_FIRST = 100.0  # factor on the variance of what the one to trust most does not know: it had a reason


def combine(results: Sequence[StereoResult]) -> StereoResult:
    """The most probable disparity of each pixel, given what several matchers say of it.

    Each result brings a Student's t around its disparity.  Where they agree the disparities are averaged by their
    precision; where they do not, the surer ones win and the disagreement is part of the variance, as is that some know
    nothing of a pixel, most of all the first one.  Matchers see the same images and make the same errors, so that
    agreement between them does not make the variance smaller than theirs.

    Parameters
    ----------
    results : sequence of StereoResult
        Of the same pair, the one to trust most first, each with a variance: from ``StereoMatcher(variance=True)`` or,
        for other matchers, from :func:`bdis.assess`.

    Returns
    -------
    StereoResult
        Known where any of them is.

    Raises
    ------
    TypeError
        Something else than results.
    ValueError
        No results, results of different sizes, one without a variance, or one that is negative.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1), np.float32)
    >>> sure, unsure = StereoResult(20 * one, one, 0.01 * one), StereoResult(21 * one, one, 0.25 * one)
    >>> result = combine([sure, unsure])
    >>> f"{result.disparity[0, 0]:.2f} px, sigma {np.sqrt(result.variance[0, 0]):.2f} px"
    '20.01 px, sigma 0.13 px'
    """
    if not results:
        raise ValueError("there are no results to combine")
    for number, result in enumerate(results):
        _check(result, f"results[{number}]")
    shapes = {result.disparity.shape for result in results}
    if len(shapes) > 1:
        raise ValueError(f"the results have different sizes: {' and '.join(map(str, sorted(shapes)))}")
    disparities = np.stack([result.disparity for result in results])
    variances = np.stack([result.known_variance() for result in results])
    known = np.isfinite(disparities) & np.isfinite(variances)
    disparity, variance = _most_probable(np.where(known, disparities, 0), np.where(known, variances, np.inf))
    is_unknown = ~known.any(0)
    disparity[is_unknown] = variance[is_unknown] = np.nan
    probability = np.where(is_unknown, np.float32(0), share_within(1.0, variance))
    first = results[0]
    return StereoResult(disparity, probability, variance, first.row_offset, first.row_tilt)


def _check(result: Any, name: str) -> None:
    """Refuse what would be combined to something that looks right."""
    if not isinstance(result, StereoResult):
        raise TypeError(f"{name} must be a StereoResult, but it is {type(result).__name__}; bdis.assess makes one")
    disparity, variance = np.asarray(result.disparity), np.asarray(result.known_variance())
    if disparity.ndim != 2 or disparity.shape != variance.shape or {disparity.dtype.kind, variance.dtype.kind} != {"f"}:
        raise ValueError(
            f"{name} must have a disparity and a variance of float32, shape (h, w), but they are {disparity.dtype} of "
            f"shape {disparity.shape} and {variance.dtype} of shape {variance.shape}"
        )
    if (variance < 0).any():
        raise ValueError(f"{name} has negative variances, down to {np.nanmin(variance):g}; unknown is NaN")


def _most_probable(disparities: Array, variances: Array) -> tuple[Array, Array]:
    """Where the product of the laws is largest, from the surest one on, and its variance; an infinite one = unknown."""
    variances = np.maximum(variances, np.float32(1e-8))
    doubted = variances.copy()
    doubted[1:] *= np.float32(OTHERS)
    best = np.take_along_axis(disparities, doubted.argmin(0)[None], 0)[0]
    for _ in range(ROUNDS):
        weights = 1 / (doubted + (disparities - best) ** 2)
        best = (weights * disparities).sum(0) / np.maximum(weights.sum(0), np.float32(1e-30))
    is_known = np.isfinite(variances)
    spread = np.where(is_known, variances + (disparities - best) ** 2, 0)
    variance = (weights * spread).sum(0) / np.maximum(weights.sum(0), np.float32(1e-30))
    variance *= len(variances) / np.maximum(is_known.sum(0), 1)  # not all know it
    variance = np.where(is_known[0], variance, UNKNOWN_TO_FIRST * variance)
    return best.astype(np.float32), variance.astype(np.float32)
