"""Depth of a pixel and distance between two, each with how far it may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..matching.result import StereoResult
from .rig import Rig

Pixel = tuple[int, int]  # column and row
# 95 % of the sums of two errors are within this many standard deviations: one error alone needs 1.84 (common/law.py),
# many together 1.96, as a Gaussian has it.
_SIGMAS_OF_SUM = 1.96


@dataclass(frozen=True)
class Measure:
    """A length, and how far it may be off.

    Attributes
    ----------
    mm : float
        The length.
    sigma_mm : float
        Its standard deviation; NaN if the result has no variance.
    within_mm : float
        95 % of the true lengths are within this distance of it; infinite if a point may be infinitely far away, NaN if
        the result has no variance.

    Examples
    --------
    >>> Measure(68.12, 0.38, 0.71).words()
    '68.1 mm, 95 % within 0.7'
    """

    mm: float
    sigma_mm: float = math.nan
    within_mm: float = math.nan

    def words(self) -> str:
        """As a person would say it."""
        return in_words(self.mm, self.within_mm, "mm")


def in_words(value: float, within: float, unit: str) -> str:
    """A value and how far it may be off, with as many digits as that allows.

    Parameters
    ----------
    value, within : float
        95 % of the true values are within ``within`` of ``value``; NaN: not known.
    unit : str
        Of both.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words(20.334, 0.0412, "px"), in_words(68.12, float("inf"), "mm"), in_words(68.12, float("nan"), "mm")
    ('20.33 px, 95 % within 0.04', '68.1 mm, and may be infinite', '68.1 mm')
    """
    digits = 2 if within < 0.1 else 1
    shown = f"{value:.{digits}f} {unit}"
    if math.isnan(within):
        return shown
    return f"{shown}, and may be infinite" if math.isinf(within) else f"{shown}, 95 % within {within:.{digits}f}"


def depth_at(rig: Rig, result: StereoResult, pixel: Pixel) -> Measure | None:
    """Depth of a pixel.

    Parameters
    ----------
    rig : Rig
        The cameras.
    result : StereoResult
        Result of a matcher.
    pixel : (int, int)
        Column and row.

    Returns
    -------
    Measure or None
        None where the depth is unknown.  ``within_mm`` is the larger side of :meth:`Rig.depth_interval`.

    Raises
    ------
    ValueError
        The size of the result is not that of the rig.

    Examples
    --------
    >>> result = StereoResult(np.float32([[25]]), np.float32([[0.9]]), np.float32([[0.01]]))
    >>> depth_at(Rig(500, 0, 0, 5), result, (0, 0)).words()
    '100.0 mm, 95 % within 0.7'
    """
    rig.check_fits(result.disparity.shape)
    column, row = pixel
    place = np.s_[row : row + 1, column : column + 1]
    variance = None if result.variance is None else result.variance[place]
    here = StereoResult(result.disparity[place], result.probability[place], variance)
    cameras = replace(rig, size=(1, 1))
    depth = float(cameras.depth(here)[0, 0])
    if not math.isfinite(depth):
        return None
    if variance is None:
        return Measure(depth)
    nearest, farthest = (float(end[0, 0]) for end in cameras.depth_interval(here))
    return Measure(depth, float(cameras.depth_sigma(here)[0, 0]), max(depth - nearest, farthest - depth))


def distance_between(rig: Rig, result: StereoResult, first: Pixel, second: Pixel) -> Measure | None:
    """Straight distance between the points of two pixels.

    Its standard deviation follows from those of both depths, along the line between the points.  Errors of neighbouring
    pixels are alike and those of distant ones are not; of what lies between, the case is taken in which the distance is
    least sure.  Errors of the calibration, and of where one has clicked, are not in it.

    Parameters
    ----------
    rig, result
        As for :func:`depth_at`.
    first, second : (int, int)
        Column and row of each.

    Returns
    -------
    Measure or None
        None if a depth is unknown, or both pixels are the same.

    Examples
    --------
    >>> result = StereoResult(np.full((1, 101), 25, np.float32), np.ones((1, 101), np.float32))
    >>> distance_between(Rig(500, 0, 0, 5), result, (0, 0), (100, 0)).words()
    '20.0 mm'
    """
    ends = depth_at(rig, result, first), depth_at(rig, result, second)
    if ends[0] is None or ends[1] is None or first == second:
        return None
    rays = [np.array([(x - rig.cx) / rig.focal_px, (y - rig.cy) / rig.focal_px, 1.0]) for x, y in (first, second)]
    line = ends[1].mm * rays[1] - ends[0].mm * rays[0]
    length = float(np.linalg.norm(line))
    # How the line changes with the depth of each end, along itself and across; the latter makes it longer as well.
    moves = -ends[0].sigma_mm * rays[0], ends[1].sigma_mm * rays[1]
    along = [float(move @ line) / length for move in moves]
    across = [move - part * line / length for move, part in zip(moves, along)]
    sigma = _sigma_of_sum(along[0] ** 2, along[1] ** 2, along[0] * along[1])
    aside = _sigma_of_sum(*(float(across[i] @ across[j]) for i, j in ((0, 0), (1, 1), (0, 1))))
    farthest = math.hypot(length + _SIGMAS_OF_SUM * sigma, _SIGMAS_OF_SUM * aside)
    is_bounded = not (math.isinf(ends[0].within_mm) or math.isinf(ends[1].within_mm))
    return Measure(length, sigma, farthest - length if is_bounded else math.inf)


def _sigma_of_sum(first: float, second: float, both: float) -> float:
    """Of two errors with given variances; ``both`` is their covariance if they are alike, and 0 if they are not."""
    return math.sqrt(first + second + 2 * max(0.0, both))
