"""What `bdis.assess` and `bdis.combine` make of other matchers' disparities, and which errors all have in common."""

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

import bdis
from bdis.common.arrays import Array
from bdis.common.law import sigmas
from bdis.evaluation.baselines import METHODS
from bdis.evaluation.baselines.opencv import OpenCVStereo
from bdis.evaluation.confidence import ause
from bdis.evaluation.datasets import Frame
from bdis.evaluation.errors import Comparison, compare
from bdis.evaluation.metrics import score

from .methods import matcher_for
from .real import real_sets
from .uncertainty import FEWEST_PIXELS, REFERENCE_SIGMA_PX

ASSESSED = "sgbm", "bm", "elas", "dis-flow"
KEPT = 0.8  # share of its pixels that a method is cut to
STRICTER = range(15, 100, 5)  # %, uniqueness that is asked of OpenCV's matchers, instead of 10
OURS = "balanced"
SMOOTH_PX = 40  # standard deviation of the Gaussian whose mean is the smooth part of an error
LARGEST_PX = 3.0  # larger errors are mismatches, and count as this
COMBINED = (
    *((OURS, other) for other in ASSESSED),
    (OURS, "sgbm", "elas"),
    (OURS, *ASSESSED),
    ("sgbm", "elas"),
    ("elas", "sgbm"),
    ("sgbm", "dis-flow"),
    ("elas", "dis-flow"),
)


def assessed(sets: dict[str, list[Frame]]) -> dict:
    """For each method and set: is the confidence that it is given honest, and better than checks of its own?"""
    return {
        name: {
            set_name: _means([_judge(name, frame) for frame in frames])
            for set_name, frames in {**real_sets(), **sets}.items()
        }
        for name in ASSESSED
    }


def combined(sets: dict[str, list[Frame]]) -> dict:
    """For each combination and set: error of the combined result, relative to that of the best single one.

    All are cut to as many pixels of a frame as the one that knows the fewest, each by its own variance.
    """
    found: dict = {" + ".join(names): {} for names in COMBINED}
    for set_name, frames in {**real_sets(), **sets}.items():
        errors: dict = {names: [] for names in COMBINED}
        for frame in frames:
            results = {name: _with_law(name, frame) for name in (OURS, *ASSESSED)}
            for names in COMBINED:
                errors[names].append(_side_by_side([results[name] for name in names], frame))
        for names, rows in errors.items():
            together, *alone = np.nanmean(rows, axis=0)
            found[" + ".join(names)][set_name] = float(together / min(alone))
    return found


def common() -> dict:
    """For each real pair: how far errors agree with those of other matchers, and our intervals without what is smooth.

    Different matchers make different errors.  What they have in common is an error of the reference, or of the cameras.
    """
    return {frame.name: _in_common(frame) for frames in real_sets().values() for frame in frames}


def _in_common(frame: Frame) -> dict[str, float]:
    result = _with_law(OURS, frame)
    reference = np.asarray(frame.disparity)
    ours = np.clip(result.disparity - reference, -LARGEST_PX, LARGEST_PX)
    known = np.isfinite(ours)
    smooth = _smooth(ours, known)
    variance = result.known_variance() + REFERENCE_SIGMA_PX.get(frame.name, 0.0) ** 2
    figures = {
        "smooth_px": float(np.sqrt((smooth[known] ** 2).mean())),
        "within_95": _share_within_95(result.disparity - reference, variance),
        "within_95_without": _share_within_95(result.disparity - reference - smooth, variance),
    }
    for name in ASSESSED:
        given = matcher_for(METHODS[name], frame).match(frame.left, frame.right).disparity
        theirs = np.clip(given - reference, -LARGEST_PX, LARGEST_PX)
        both = known & np.isfinite(theirs)
        figures[name] = float(np.corrcoef(_smooth(ours, both)[both], _smooth(theirs, both)[both])[0, 1])
    return figures


def _smooth(error: Array, known: Array) -> Array:
    """Gaussian mean of the known errors around each pixel, px."""
    total, weight = (
        cv2.GaussianBlur(part.astype(np.float32), (0, 0), SMOOTH_PX) for part in (np.where(known, error, 0), known)
    )
    return np.asarray(total / np.maximum(weight, 1e-3))


def _share_within_95(error: Array, variance: Array) -> float:
    known = np.isfinite(error)
    return float((np.abs(error[known]) <= sigmas(0.95) * np.sqrt(variance[known])).mean())


def _with_law(name: str, frame: Frame) -> bdis.StereoResult:
    """The result of a method with a variance: its own, or that of `bdis.assess`."""
    if name == OURS:
        return bdis.StereoMatcher(name, variance=True).match(frame.left, frame.right)
    given = matcher_for(METHODS[name], frame).match(frame.left, frame.right).disparity
    return bdis.assess(frame.left, frame.right, given)


def _side_by_side(results: list[bdis.StereoResult], frame: Frame) -> list[float]:
    """Mean errors of what is combined and of each alone, of equally many pixels; NaN if there are too few."""
    compared = [compare(result, frame) for result in (bdis.combine(results), *results)]
    count = min(len(each.error_px) for each in compared)
    if count < FEWEST_PIXELS:
        return [np.nan] * len(compared)
    return [_error_of_surest(each, each.confidence, count) for each in compared]


def _error_of_surest(found: Comparison, confidence: Array | None, count: int) -> float:
    """Mean error of the pixels with the highest confidence."""
    order = np.argsort(-np.asarray(confidence), kind="stable")
    return float(found.error[order[:count]].mean())


def _judge(name: str, frame: Frame) -> dict[str, float]:
    """Figures of one frame; empty if there are too few pixels."""
    matcher = matcher_for(METHODS[name], frame)
    given = matcher.match(frame.left, frame.right)
    result = bdis.assess(frame.left, frame.right, given.disparity)
    found = compare(result, frame)
    if len(found.error) < FEWEST_PIXELS:
        return {}
    own = REFERENCE_SIGMA_PX.get(frame.name, 0.0)
    allowed = score(compare(replace(result, variance=result.known_variance() + own**2), frame))
    count = round(KEPT * len(found.error))
    chance = np.random.default_rng(0).random(len(found.error))  # what a constant confidence comes to
    figures = {
        "ause": ause(found.error, found.confidence),
        "ause_constant": ause(found.error, chance),
        "within_95": allowed.within_95,
        "error": _error_of_surest(found, found.confidence, count),
        "error_left_right": _error_of_surest(found, -_left_right(matcher, frame, given.disparity), count),
    }
    if name in ("sgbm", "bm"):
        figures |= _stricter(name, frame, found, count)
    return figures


def _left_right(matcher, frame: Frame, disparity: Array) -> Array:
    """px, for the compared pixels: how far the disparity is from the one that the right image has there.

    A matcher finds the disparities of the right image in the mirrored pair.  Infinite where that knows nothing.
    """
    mirrored = [np.ascontiguousarray(image[:, ::-1]) for image in (frame.right, frame.left)]
    of_right = matcher.match(*mirrored).disparity[:, ::-1]
    rows, columns = np.indices(disparity.shape)
    place = np.rint(columns - np.nan_to_num(disparity)).astype(int)
    there = of_right[rows, np.clip(place, 0, disparity.shape[1] - 1)]
    distance = np.abs(disparity - there)
    distance = np.where(np.isnan(distance) | (place < 0), np.inf, distance).astype(np.float32)
    result = bdis.StereoResult(disparity, np.ones_like(disparity), distance**2)  # compared as its pixels are
    return np.asarray(compare(result, frame).sigma_px)


def _stricter(name: str, frame: Frame, found: Comparison, count: int) -> dict[str, float]:
    """Error of the method with the least strict uniqueness that leaves at most ``count`` pixels, and ours at its."""
    for uniqueness in STRICTER:
        matcher = OpenCVStereo(name, frame.max_disparity_px, uniqueness=uniqueness)
        left = compare(matcher.match(frame.left, frame.right), frame)
        if len(left.error) <= count:
            break
    if not FEWEST_PIXELS <= len(left.error) <= count:
        return {}
    return {
        "error_unique": float(left.error.mean()),
        "error_as_unique": _error_of_surest(found, found.confidence, len(left.error)),
    }


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}
