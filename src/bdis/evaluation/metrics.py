"""How good a result is: error, coverage, and whether its confidence can be trusted.  NumPy only.

A result is compared with a frame's reference once (:func:`compare`); all figures are taken from that.  Figures of a
data set are averages of per-frame figures, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..matching.result import StereoResult
from .datasets.frame import Frame

Floats = NDArray[np.float64]
BAD_PX = {"bad_05px": 0.5, "bad_1px": 1.0, "bad_2px": 2.0, "bad_3px": 3.0}
CURVE = np.linspace(0.02, 1.0, 50)  # coverages at which an error-coverage curve is sampled
RELIABILITY_BINS = 10
WITHIN_PX = 1.0  # a probability is that of being nearer to the truth than this


@dataclass(frozen=True)
class Comparison:
    """The predicted pixels of a result that have a reference, in one row each.

    Attributes
    ----------
    error_mm : float64 (n,), depth minus its reference; NaN without a rig
    error_px : float64 (n,), disparity minus its reference
    probability : float64 (n,)
    sigma_mm, sigma_px : float64 (n,), standard deviations the method claims, or None
    references : pixels that have a reference
    """

    error_mm: Floats
    error_px: Floats
    probability: Floats
    sigma_mm: Floats | None
    sigma_px: Floats | None
    references: int

    @property
    def error(self) -> Floats:
        """Absolute error, (n,): mm if there is a rig, else px."""
        return np.abs(self.error_px if self.in_px else self.error_mm)

    @property
    def in_px(self) -> bool:
        """Without a rig there is no depth."""
        return bool(np.isnan(self.error_mm).all())

    @property
    def confidence(self) -> Floats | None:
        """(n,), higher is surer: from the variance, else the probability; None if the method has neither."""
        sigma = self.sigma_px if self.in_px else self.sigma_mm
        if sigma is not None:
            return np.where(np.isnan(sigma), -np.inf, -sigma)
        return self.probability if self.has_probability else None

    @property
    def has_probability(self) -> bool:
        """A method without one reports the same everywhere."""
        return bool(len(self.probability)) and bool(self.probability.min() < self.probability.max())


def compare(result: StereoResult, frame: Frame) -> Comparison:
    """Compare a result with the reference of its frame.

    An estimate beyond ``frame.max_depth_mm`` or behind the cameras counts as not predicted.

    Raises
    ------
    ValueError
        The frame has no reference, or the sizes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from bdis import Rig
    >>> image = np.full((1, 3), 9, np.uint8)
    >>> frame = Frame("made up", "1", image, image, Rig(500, 0, 0, 5), np.float32([[100, 100, np.nan]]))
    >>> result = StereoResult(np.float32([[25, np.nan, 25]]), np.float32([[1, 0, 1]]))
    >>> found = compare(result, frame)
    >>> found.error_mm.tolist(), found.references
    ([0.0], 2)
    """
    disparity, reference, depth_reference = result.disparity.astype(np.float64), frame.disparity, frame.depth_mm
    if reference is None:
        raise ValueError(f"{frame} has no reference disparity, or a reference depth without a rig to compare it by")
    if reference.shape != disparity.shape:
        raise ValueError(f"{frame} is {reference.shape} but the result is {disparity.shape}")
    known = np.isfinite(reference)
    counted = known & np.isfinite(disparity)
    depth = np.full(disparity.shape, np.nan)
    if frame.rig is not None:
        depth = frame.rig.depth(result, max_depth_mm=frame.max_depth_mm).astype(np.float64)
        counted &= np.isfinite(depth)
    error_mm = np.full(int(counted.sum()), np.nan)
    if depth_reference is not None:
        error_mm = depth[counted] - depth_reference[counted].astype(np.float64)
    sigma_mm = sigma_px = None
    if result.variance is not None:
        sigma_px = np.sqrt(result.variance[counted].astype(np.float64))
        if frame.rig is not None:
            sigma_mm = frame.rig.depth_sigma(result)[counted].astype(np.float64)
    return Comparison(
        error_mm,
        disparity[counted] - reference[counted],
        result.probability[counted].astype(np.float64),
        sigma_mm,
        sigma_px,
        int(known.sum()),
    )


@dataclass(frozen=True)
class Score:
    """Figures of a frame, or their average over frames; NaN where there is nothing to say.

    Attributes
    ----------
    mean_mm, median_mm, rmse_mm, std_mm : of the absolute depth error; std_mm is the standard deviation of it
    epe_px : mean absolute disparity error
    bad_05px, bad_1px, bad_2px, bad_3px : share of the predicted pixels that are further off
    valid : predicted pixels that have a reference
    coverage : their share of the pixels that have a reference
    within_1sigma, within_196sigma : share of the errors inside; 0.683 and 0.950 if the variance is right
    nll : mean negative log likelihood of the disparity error under the claimed variance, nats
    ause : area under the sparsification error, mm (px without a rig)
    reliability_error : mean distance of the probability from the share that is within 1 px
    """

    mean_mm: float = math.nan
    median_mm: float = math.nan
    rmse_mm: float = math.nan
    std_mm: float = math.nan
    epe_px: float = math.nan
    bad_05px: float = math.nan
    bad_1px: float = math.nan
    bad_2px: float = math.nan
    bad_3px: float = math.nan
    valid: float = 0
    coverage: float = 0.0
    within_1sigma: float = math.nan
    within_196sigma: float = math.nan
    nll: float = math.nan
    ause: float = math.nan
    reliability_error: float = math.nan


def score(found: Comparison) -> Score:
    """The figures of one frame.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.ones(4)
    >>> found = score(Comparison(np.array([1.0, -1, 3, 1]), np.array([0.1, 0.6, -1.5, 0]), ones, None, None, 8))
    >>> found.mean_mm, found.median_mm, found.bad_1px, found.valid, found.coverage
    (1.5, 1.0, 0.25, 4, 0.5)
    """
    count = len(found.error_px)
    if not count:
        return Score()
    error, error_px = np.abs(found.error_mm), np.abs(found.error_px)
    figures: dict[str, Any] = {name: float((error_px > limit).mean()) for name, limit in BAD_PX.items()}
    confidence = found.confidence
    return Score(
        mean_mm=float(error.mean()),
        median_mm=float(np.median(error)),
        rmse_mm=float(np.sqrt((error**2).mean())),
        std_mm=float(error.std()),
        epe_px=float(error_px.mean()),
        valid=count,
        coverage=count / found.references,
        **figures,
        **uncertainty(found),
        ause=math.nan if confidence is None else ause(found.error, confidence),
        reliability_error=reliability_error(reliability(found)) if found.has_probability else math.nan,
    )


def mean_score(scores: Sequence[Score]) -> Score:
    """Average of per-frame figures, as the paper averages; frames without a prediction count only as coverage.

    Examples
    --------
    >>> found = mean_score([Score(mean_mm=1.0, valid=10, coverage=0.5), Score()])
    >>> found.mean_mm, found.valid, found.coverage
    (1.0, 5.0, 0.25)
    """
    averages = {}
    for field in fields(Score):
        values = np.array([getattr(each, field.name) for each in scores], float)
        values = values[~np.isnan(values)]
        averages[field.name] = float(values.mean()) if len(values) else math.nan
    return Score(**averages)


# --- Confidence -------------------------------------------------------------------------------------------------------


def uncertainty(found: Comparison) -> dict[str, float]:
    """Is the claimed variance right: the share of depth errors inside, as in the paper, and the likelihood in px.

    Returns
    -------
    within_1sigma, within_196sigma and nll of :class:`Score`; nothing if the method claims no variance

    Examples
    --------
    >>> import numpy as np
    >>> sigma = np.ones(4)
    >>> found = uncertainty(Comparison(np.array([0, 0.5, 1.5, 3]), np.zeros(4), np.ones(4), sigma, sigma, 4))
    >>> found["within_1sigma"], found["within_196sigma"]
    (0.5, 0.75)
    """
    if found.sigma_px is None:
        return {}
    error, sigma = (found.error_px, found.sigma_px) if found.in_px else (found.error_mm, found.sigma_mm)
    assert sigma is not None
    known = np.isfinite(sigma) & (found.sigma_px > 0)
    if not known.any():
        return {}
    distance = np.abs(error[known]) / sigma[known]
    sigma_px = found.sigma_px[known]
    surprise = 0.5 * np.log(2 * np.pi * sigma_px**2) + 0.5 * (found.error_px[known] / sigma_px) ** 2
    return {
        "within_1sigma": float((distance < 1).mean()),
        "within_196sigma": float((distance < 1.96).mean()),
        "nll": float(surprise.mean()),
    }


def ause(error: Floats, confidence: Floats) -> float:
    """Area under the sparsification error: how far the confidence is from sorting the pixels by their error.

    The least sure pixels are removed step by step, 1 % each; the mean error of the rest, less what it would be had
    the worst ones been removed, is averaged over the steps.  0 is perfect.

    Parameters
    ----------
    error : (n,), absolute
    confidence : (n,), higher is surer

    Returns
    -------
    float, unit of the error

    Examples
    --------
    >>> import numpy as np
    >>> error = np.array([1.0, 2, 3, 4])
    >>> ause(error, -error), ause(error, error) > 1
    (0.0, True)
    """
    kept = np.maximum(np.rint(np.linspace(1, 0.01, 100) * len(error)).astype(int), 1)
    by_confidence = _mean_of_surest(error, confidence)
    by_error = _mean_of_surest(error, -error)
    return float((by_confidence - by_error)[kept - 1].mean())


def _mean_of_surest(error: Floats, confidence: Floats) -> Floats:
    """Mean error of the surest 1, 2, ... n pixels."""
    order = np.argsort(-confidence, kind="stable")
    return np.asarray(np.cumsum(error[order]) / np.arange(1, len(error) + 1))


def error_coverage(found: Comparison) -> Floats:
    """Mean error of the surest pixels over the coverage they have, at the coverages ``CURVE``.

    Returns
    -------
    float64 (50,), mm (px without a rig); NaN beyond the coverage of the result, and everywhere if the method has no
    confidence

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
    if confidence is None:
        return np.full(len(CURVE), np.nan)
    counts = np.maximum(np.rint(CURVE * found.references).astype(int), 1)
    means = _mean_of_surest(found.error, confidence)
    return np.where(counts <= len(means), means[np.minimum(counts, len(means)) - 1], np.nan)


@dataclass(frozen=True)
class EqualCoverage:
    """Error of a method cut to the coverage of the smallest."""

    mean: float  # mm, px without a rig
    median: float
    coverage: float
    is_cut: bool  # False: it has the smallest coverage, or no confidence to be cut by, and is as it was


def at_equal_coverage(found: Mapping[str, Comparison]) -> dict[str, EqualCoverage]:
    """Error of several methods on one frame, each cut to the coverage of the smallest by its own confidence.

    A method without a confidence is left as it is: random pixels removed would not change its mean.  Methods that
    predict nothing are left out and set no coverage.

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
    """Of pixels reported with probability p, how many are within 1 px of the truth, in ten classes of p.

    Returns
    -------
    dict of "count", "probability" (mean in the class) and "within" (share within 1 px), ten numbers each; a class
    without pixels has 0, NaN and NaN

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


def time_figures(times_ms: Sequence[float]) -> dict[str, float]:
    """Minimum, median and 99th percentile of repeated measurements.

    Examples
    --------
    >>> time_figures([3.0, 1.0, 2.0])["median_ms"]
    2.0
    """
    low, middle, high = np.min(times_ms), np.median(times_ms), np.percentile(times_ms, 99)
    return {"min_ms": float(low), "median_ms": float(middle), "p99_ms": float(high)}
