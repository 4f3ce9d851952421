"""How good a result is: error, coverage and confidence in one score.  NumPy only.

Metrics of a data set are averages of per-frame metrics, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..matching.result import StereoResult
from .confidence import ause, reliability, reliability_error, uncertainty
from .datasets.frame import Frame
from .errors import Comparison, compare

BAD_PX = {"bad_05px": 0.5, "bad_1px": 1.0, "bad_2px": 2.0, "bad_3px": 3.0}


@dataclass(frozen=True)
class Score:
    """Metrics of a frame, or their average over frames; NaN where a metric is not defined.

    Attributes
    ----------
    mean_mm, median_mm, rmse_mm, std_mm : float
        Mean, median, root mean square and standard deviation of the absolute depth error.
    epe_px : float
        Mean absolute disparity error (end-point error).
    bad_05px, bad_1px, bad_2px, bad_3px : float
        Share of the predicted pixels with a larger disparity error.
    valid : float
        Number of predicted pixels that have a reference.
    coverage : float
        Their share of the pixels that have a reference.
    within_68, within_95 : float
        Share of the errors inside the intervals that shall hold 68 and 95 % of them; 0.68 and 0.95 are ideal.
    interval_95 : float
        Mean half width of the interval of 95 %, px.
    log_score : float
        Mean negative log density of the disparity error under the claimed law (``bdis.common.law``), nats, of a
        density per px.  Smaller is better: it is smallest if the law is true, and narrow.
    ause : float
        Area under the sparsification error, mm (px without a rig).
    reliability_error : float
        Mean distance of the probability from the share of pixels within 1 px.
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
    within_68: float = math.nan
    within_95: float = math.nan
    interval_95: float = math.nan
    log_score: float = math.nan
    ause: float = math.nan
    reliability_error: float = math.nan


def score(found: Comparison) -> Score:
    """The metrics of one frame.

    Parameters
    ----------
    found : Comparison
        What :func:`bdis.evaluation.metrics.compare` returned.

    Returns
    -------
    Score

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
    bad: dict[str, Any] = {name: float((error_px > limit).mean()) for name, limit in BAD_PX.items()}
    confidence = found.confidence
    return Score(
        mean_mm=float(error.mean()),
        median_mm=float(np.median(error)),
        rmse_mm=float(np.sqrt((error**2).mean())),
        std_mm=float(error.std()),
        epe_px=float(error_px.mean()),
        valid=count,
        coverage=count / found.references,
        **bad,
        **uncertainty(found),
        ause=math.nan if confidence is None else ause(found.error, confidence),
        reliability_error=reliability_error(reliability(found)) if found.has_probability else math.nan,
    )


def score_result(result: StereoResult, frame: Frame) -> Score:
    """The metrics of a result: :func:`bdis.evaluation.metrics.compare` and ``score`` in one call.

    Parameters
    ----------
    result : StereoResult
        The result of a matcher.
    frame : Frame
        The frame it was computed from, with a reference.

    Returns
    -------
    Score

    Examples
    --------
    >>> import numpy as np
    >>> image = np.full((1, 2), 9, np.uint8)
    >>> frame = Frame("made up", "1", image, image, reference_disparity=np.float32([[20, 20]]))
    >>> score_result(StereoResult(np.float32([[20.5, np.nan]]), np.float32([[1, 0]])), frame).epe_px
    0.5
    """
    return score(compare(result, frame))


def mean_score(scores: Sequence[Score]) -> Score:
    """Average of per-frame metrics, as in the paper; frames without a prediction only lower the coverage.

    Parameters
    ----------
    scores : sequence of Score
        One per frame.

    Returns
    -------
    Score

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


def time_summary(times_ms: Sequence[float]) -> dict[str, float]:
    """Minimum, median and 99th percentile of repeated measurements.

    Parameters
    ----------
    times_ms : sequence of float
        Milliseconds.

    Returns
    -------
    dict of str to float
        "min_ms", "median_ms" and "p99_ms".

    Examples
    --------
    >>> time_summary([3.0, 1.0, 2.0])["median_ms"]
    2.0
    """
    low, middle, high = np.min(times_ms), np.median(times_ms), np.percentile(times_ms, 99)
    return {"min_ms": float(low), "median_ms": float(middle), "p99_ms": float(high)}
