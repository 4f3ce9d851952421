"""How well the confidence of a result is calibrated, and how well it sorts pixels by their error.  NumPy only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..common.law import log_density, sigmas
from .errors import Comparison, Floats

CURVE = np.linspace(0.02, 1.0, 50)  # coverages at which an error-coverage curve is sampled
RELIABILITY_BINS = 10
WITHIN_PX = 1.0  # a probability is that of an error below this


def uncertainty(found: Comparison) -> dict[str, float]:
    """How honest the claimed variance is: shares of the errors inside the intervals that follow from it, and its score.

    All is measured in px.  With a rig the shares are those of depth as well: depth falls steadily with disparity, so
    that a true depth lies in the interval of depth (:meth:`bdis.Rig.depth_interval`) exactly where the true disparity
    lies in that of the disparity.

    Parameters
    ----------
    found : Comparison
        What :func:`bdis.evaluation.metrics.compare` returned.

    Returns
    -------
    dict of str to float
        ``within_68``, ``within_95``, ``interval_95`` and ``log_score`` of :class:`Score`; empty if the method claims no
        variance.

    Examples
    --------
    >>> import numpy as np
    >>> error, ones = np.array([0, 0.5, 1.5, 3]), np.ones(4)
    >>> found = uncertainty(Comparison(error, error, ones, ones, ones, 4))
    >>> found["within_68"], found["within_95"], round(found["interval_95"], 3)
    (0.5, 0.75, 1.837)
    """
    if found.sigma_px is None:
        return {}
    known = np.isfinite(found.sigma_px) & (found.sigma_px > 0)
    if not known.any():
        return {}
    error, sigma = found.error_px[known], found.sigma_px[known]
    distance = np.abs(error) / sigma
    return {
        "within_68": float((distance <= sigmas(0.68)).mean()),
        "within_95": float((distance <= sigmas(0.95)).mean()),
        "interval_95": float(sigmas(0.95) * sigma.mean()),
        "log_score": float(-log_density(error, sigma**2).mean()),
    }


def ause(error: Floats, confidence: Floats) -> float:
    """Area under the sparsification error: how far the confidence is from ordering the pixels by their error.

    The least certain pixels are removed in steps of 1 %.  At each step the mean error of the remaining pixels is
    compared with the mean error that would remain if the pixels with the largest errors had been removed instead; the
    difference is averaged over the steps.  0 is perfect.

    Parameters
    ----------
    error : ndarray of float64, shape (n,)
        Absolute errors.
    confidence : ndarray of float64, shape (n,)
        Higher is more certain.

    Returns
    -------
    float
        In the unit of the error.

    Examples
    --------
    >>> import numpy as np
    >>> error = np.array([1.0, 2, 3, 4])
    >>> ause(error, -error), ause(error, error) > 1
    (0.0, True)
    """
    kept = np.maximum(np.rint(np.linspace(1, 0.01, 100) * len(error)).astype(int), 1)
    by_confidence = _mean_of_most_certain(error, confidence)
    by_error = _mean_of_most_certain(error, -error)
    return float((by_confidence - by_error)[kept - 1].mean())


def _mean_of_most_certain(error: Floats, confidence: Floats) -> Floats:
    """Mean error of the 1, 2, ... n most certain pixels."""
    order = np.argsort(-confidence, kind="stable")
    return np.asarray(np.cumsum(error[order]) / np.arange(1, len(error) + 1))


def error_coverage(found: Comparison) -> Floats:
    """Mean error of the most certain pixels as a function of coverage, at the coverages ``CURVE``.

    Parameters
    ----------
    found : Comparison
        What :func:`bdis.evaluation.metrics.compare` returned.

    Returns
    -------
    ndarray of float64, shape (50,)
        mm (px without a rig); NaN beyond the coverage of the result, and everywhere if the method has no confidence or
        knows nothing.

    Examples
    --------
    >>> import numpy as np
    >>> error = np.arange(1.0, 101)
    >>> found = Comparison(error, error, 1 / error, None, None, 200)
    >>> curve = error_coverage(found)
    >>> float(curve[CURVE.searchsorted(0.5)]), bool(np.isnan(curve[-1]))
    (50.5, True)
    """
    confidence = found.confidence
    if confidence is None or not confidence.size:
        return np.full(len(CURVE), np.nan)
    counts = np.maximum(np.rint(CURVE * found.references).astype(int), 1)
    means = _mean_of_most_certain(found.error, confidence)
    return np.where(counts <= len(means), means[np.minimum(counts, len(means)) - 1], np.nan)


@dataclass(frozen=True)
class EqualCoverage:
    """Error of a method reduced to the smallest coverage of all methods.

    Attributes
    ----------
    mean, median : float
        Absolute error, mm (px without a rig).
    coverage : float
        Share of the pixels with a reference that is left.
    is_cut : bool
        Whether pixels were removed; False for the method with the smallest coverage and for methods without a
        confidence to select by.
    """

    mean: float
    median: float
    coverage: float
    is_cut: bool


def at_equal_coverage(found: Mapping[str, Comparison]) -> dict[str, EqualCoverage]:
    """Error of several methods on one frame, each reduced by its own confidence to the smallest coverage of all.

    A method without a confidence is left unchanged: removing random pixels would not change its mean.  Methods that
    predict nothing are left out and do not count as the smallest coverage.

    Parameters
    ----------
    found : mapping of str to Comparison
        Comparisons on the same frame, by method.

    Returns
    -------
    dict of str to EqualCoverage

    Examples
    --------
    >>> import numpy as np
    >>> sure = Comparison(np.array([1.0, 9]), np.zeros(2), np.array([0.9, 0.1]), None, None, 2)
    >>> sparse = Comparison(np.array([2.0]), np.zeros(1), np.ones(1), None, None, 2)
    >>> cut = at_equal_coverage({"a": sure, "b": sparse})
    >>> cut["a"].mean, cut["a"].is_cut, cut["b"].mean, cut["b"].coverage
    (1.0, True, 2.0, 0.5)
    """
    some = {name: each for name, each in found.items() if len(each.error_px)}
    smallest = min((len(each.error_px) for each in some.values()), default=0)
    out = {}
    for name, each in some.items():
        error, confidence = each.error, each.confidence
        is_cut = confidence is not None and len(error) > smallest
        if is_cut:
            assert confidence is not None
            error = error[np.argsort(-confidence, kind="stable")[:smallest]]
        share = len(error) / each.references
        out[name] = EqualCoverage(float(error.mean()), float(np.median(error)), share, is_cut)
    return out


def reliability(found: Comparison) -> dict[str, list[float]]:
    """Share of pixels within 1 px of the truth, in ten classes of the reported probability.

    Parameters
    ----------
    found : Comparison
        What :func:`bdis.evaluation.metrics.compare` returned.

    Returns
    -------
    dict of str to list of float
        "count", "probability" (mean in the class) and "within" (share within 1 px), ten numbers each; a class
        without pixels has 0, NaN and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> found = Comparison(np.zeros(4), np.array([0.1, 0.2, 3, 0]), np.array([0.95, 0.95, 0.95, 0.05]), None, None, 4)
    >>> table = reliability(found)
    >>> table["count"][0], table["count"][9], round(table["within"][9], 3)
    (1, 3, 0.667)
    """
    place = np.minimum((found.probability * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    near = np.abs(found.error_px) < WITHIN_PX
    count = np.bincount(place, minlength=RELIABILITY_BINS)
    sums = np.bincount(place, found.probability, RELIABILITY_BINS), np.bincount(place, near, RELIABILITY_BINS)
    with np.errstate(invalid="ignore"):
        probability, within = (each / count for each in sums)
    return {"count": count.tolist(), "probability": probability.tolist(), "within": within.tolist()}


def reliability_error(table: Mapping[str, Sequence[float]]) -> float:
    """Mean distance between the probability and the share within 1 px, over pixels (expected calibration error).

    Parameters
    ----------
    table : mapping of str to sequence of float
        What :func:`reliability` returned.

    Returns
    -------
    float
        NaN if there are no pixels.

    Examples
    --------
    >>> round(reliability_error({"count": [1, 3], "probability": [0.25, 0.9], "within": [0.25, 0.7]}), 3)
    0.15
    """
    count, probability, within = (np.asarray(table[name], float) for name in ("count", "probability", "within"))
    some = count > 0
    if not some.any():
        return math.nan
    return float((count * np.abs(probability - within))[some].sum() / count.sum())
