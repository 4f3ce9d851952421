"""Fits the factor on sigma to one's own cameras, from a few frames with a reference.

The matcher claims a standard deviation for every pixel, but its constants were chosen on other images.  Other cameras
have other lenses, noise and calibration errors; one factor on all standard deviations is to make up for that.  It is a
split-conformal quantile: the number that the 95 % intervals must be multiplied by to hold 95 % of the errors.  Every
frame counts the same, however many pixels it has, and frames are the unit of the confidence interval, because errors
of pixels of one frame are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import Rig
from ..common.law import share_within, sigmas
from ..matching.matcher import StereoMatcher
from ..matching.settings import Settings, preset_of
from .confidence import WITHIN_PX, reliability
from .datasets import Dataset
from .errors import Comparison
from .frame_errors import FrameErrors, frame_errors, left_out
from .summary import counted

SHARE = 0.95  # of the errors that shall lie in the interval of that share
MIN_FRAMES = 3
LIKELY_SCALE = 0.2, 5.0  # of any cameras; intervals that are further off are so for another reason
LARGEST_RATIO = 2.0  # between the factors of two frames that are still called alike
SHARES = np.linspace(0.02, 0.98, 49)  # at which a reliability curve is sampled
# 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond, 1.96 + 2.4 / degrees is right to 0.3 %.
_T_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086,
)  # fmt: skip


@dataclass(frozen=True)
class FrameFactor:
    """The fit of one frame alone.

    Attributes
    ----------
    name : str
        Group and name of the frame.
    pixels : int
        Pixels with a disparity and a reference.
    factor : float
        Factor on sigma with which 95 % of its errors lie in the 95 % intervals.
    """

    name: str
    pixels: int
    factor: float


@dataclass(frozen=True)
class CertaintyFit:
    """The fitted factor on sigma.

    Attributes
    ----------
    factor : float
        Factor on the standard deviations of the matcher that was used, with which 95 % of the errors lie in the 95 %
        intervals.
    low, high : float
        95 % confidence interval of the factor: the t-interval of the logarithms of the factors of the frames, around
        ``factor``.  NaN for a single frame.
    sigma_scale : float
        The setting that has this effect: that of the matcher that was used, times the factor.
    frames : list of FrameFactor
        The frames it was fitted to.
    rig : Rig or None
        The cameras of all frames, with ``sigma_scale``, its confidence interval and the preset; None if there are none
        or several.
    warnings : list of str
        Why the factor should not be trusted, in words; empty if nothing is wrong.
    """

    factor: float
    low: float
    high: float
    sigma_scale: float
    frames: list[FrameFactor]
    rig: Rig | None
    warnings: list[str]


@dataclass(frozen=True)
class ReliabilityCurves:
    """What is claimed against what is true.

    Attributes
    ----------
    inside : ndarray of float64, shape (49,)
        Share of the errors inside the interval of each share in ``SHARES``, averaged over frames.
    probability : dict of str to list of float
        What :func:`bdis.evaluation.confidence.reliability` returns, of all pixels together.
    """

    inside: NDArray[np.float64]
    probability: dict[str, list[float]]


def fit_certainty(
    data: Dataset,
    settings: Settings | str = "balanced",
    *,
    occluded: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> CertaintyFit:
    """Fit the factor on sigma to the frames of a data set.

    Parameters
    ----------
    data : Dataset
        Frames with a reference, all of the same cameras; three suffice if they show different places.
    settings : Settings or str
        Settings of the matcher, or a preset: the ones that will be used with these cameras.
    occluded : bool
        Whether pixels that the right camera does not see count as well.
    progress : callable
        Called with the number of frames done.

    Returns
    -------
    CertaintyFit

    Raises
    ------
    ValueError
        No frame can be used, the variance is the paper's, or the factor is out of the range of ``sigma_scale``.

    Examples
    --------
    >>> from bdis.evaluation.datasets import open_dataset
    >>> fit = fit_certainty(open_dataset("render:tissue,frames=3,height=96,width=128"), "fast")
    >>> 0.5 < fit.factor < 3, fit.rig.sigma_scale == fit.sigma_scale
    (True, True)
    """
    settings = StereoMatcher(settings, variance=True).settings if isinstance(settings, str) else settings
    return fit_errors(frame_errors(data, settings, occluded=occluded, progress=progress), settings)


def fit_errors(frames: Sequence[FrameErrors], settings: Settings | None = None) -> CertaintyFit:
    """Fit the factor on sigma to errors that are known already.

    Parameters
    ----------
    frames : sequence of FrameErrors
        Frames that cannot be used are left out, and a warning says so.
    settings : Settings, optional
        Of the matcher when the errors were made.

    Returns
    -------
    CertaintyFit

    Raises
    ------
    ValueError
        No frame can be used, or the factor is out of the range of ``sigma_scale``.

    Examples
    --------
    >>> errors = np.linspace(0, 1, 2000, dtype=np.float32)
    >>> frames = [FrameErrors(name, errors, np.full(2000, 0.5, np.float32)) for name in "abc"]
    >>> fit = fit_errors(frames)  # 95 % are below 0.95 px, and the intervals 1.84 x 0.5 px
    >>> f"{fit.factor:.2f}", fit.warnings
    ('1.03', [])
    """
    used = [frame for frame in frames if not frame.problem]
    if not used:
        reasons = "; ".join(left_out(frames)) or "there are no frames"
        raise ValueError(f"nothing to fit the certainty to: {reasons}")
    distances = [frame.error_px / (frame.sigma_px * sigmas(SHARE)) for frame in used]
    factors = [
        FrameFactor(frame.name, len(distance), _quantile([distance])) for frame, distance in zip(used, distances)
    ]
    factor = _quantile(distances)
    scale = float(f"{(settings.sigma_scale if settings else 1.0) * factor:.4g}")
    try:
        Settings(sigma_scale=scale)
    except ValueError as error:
        raise ValueError(
            f"{error}: do the references belong to these images, and are they in the right unit?"
        ) from None
    low, high = _interval(factor, [frame.factor for frame in factors])
    rigs = {frame.rig for frame in used}
    rig = used[0].rig if len(rigs) == 1 else None
    return CertaintyFit(
        factor=factor,
        low=low,
        high=high,
        sigma_scale=scale,
        frames=factors,
        rig=None if rig is None else _with_factor(rig, scale, low / factor, high / factor, settings),
        warnings=[*_misfit(scale), *left_out(frames), *_doubts(factors, len(rigs))],
    )


def _with_factor(rig: Rig, scale: float, low: float, high: float, settings: Settings | None) -> Rig:
    """The rig with the factor, its confidence interval in multiples of it, and the preset of the settings."""
    interval = min(low, 1.0) * scale, max(high, 1.0) * scale  # rounding may put the factor outside
    is_known = all(map(math.isfinite, interval))
    return replace(
        rig,
        sigma_scale=scale,
        sigma_scale_range=interval if is_known else None,
        sigma_preset=None if settings is None else preset_of(settings),
    )


def _quantile(distances: Sequence[NDArray[np.float32]]) -> float:
    """Split-conformal quantile of distances; each array has the same weight, whatever its length."""
    values = np.concatenate(distances)
    weights = np.concatenate([np.full(len(each), 1 / (len(each) * len(distances))) for each in distances])
    order = np.argsort(values, kind="stable")
    level = min(1.0, SHARE * (1 + 1 / len(values)))  # the next error is one of n + 1
    place = int(np.searchsorted(np.cumsum(weights[order]), level - 1e-9))  # less than a pixel, more than rounding
    return float(values[order[min(place, len(values) - 1)]])


def _interval(factor: float, of_frames: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of the factor, from how much the factors of the frames differ."""
    if len(of_frames) < 2 or min(of_frames) <= 0:
        return math.nan, math.nan
    degrees = len(of_frames) - 1
    wide = _T_QUANTILES[degrees - 1] if degrees <= len(_T_QUANTILES) else 1.96 + 2.4 / degrees
    half = wide * float(np.std(np.log(of_frames), ddof=1)) / math.sqrt(len(of_frames))
    return factor * math.exp(-half), factor * math.exp(half)


def _misfit(scale: float) -> list[str]:
    """What speaks against the reference or the rig."""
    least, most = LIKELY_SCALE
    if least <= scale <= most:
        return []
    return [
        f"the reference or the rig does not fit these images: sigma would have to be {scale:.3g} times what it is, and "
        f"{least:g} to {most:g} times are expected; compare a disparity map with its reference before this is used"
    ]


def _doubts(frames: Sequence[FrameFactor], rigs: int) -> list[str]:
    """What speaks against the fit."""
    found = []
    if len(frames) < MIN_FRAMES:
        found.append(f"fitted to {counted(len(frames), 'frame')}, which is too few; take {MIN_FRAMES} or more")
    in_order = sorted(frames, key=lambda frame: frame.factor)
    least, most = in_order[0], in_order[-1]
    if most.factor > LARGEST_RATIO * least.factor:
        found.append(
            f"the frames are unlike each other: {least.name} needs a factor of {least.factor:.3g}, {most.name} one of "
            f"{most.factor:.3g}, more than {LARGEST_RATIO:g} times as much; no single factor suits both"
        )
    if rigs > 1:
        found.append(f"the frames were taken with {rigs} different rigs; fit each of them by itself")
    return found


def reliability_curves(frames: Sequence[FrameErrors], scale: float = 1.0) -> ReliabilityCurves:
    """Compare what intervals and probabilities claim with what is true.

    Parameters
    ----------
    frames : sequence of FrameErrors
        One or more that can be used.
    scale : float
        Factor on sigma.

    Returns
    -------
    ReliabilityCurves

    Examples
    --------
    >>> frame = FrameErrors("1", np.float32([0.2, 5]), np.float32([0.1, 0.1]))
    >>> curves = reliability_curves([frame])
    >>> float(curves.inside[-1]), curves.probability["count"][-1]
    (0.5, 2)
    """
    inside = np.array([np.mean([frame.share_inside(share, scale) for frame in frames]) for share in SHARES])
    error = np.concatenate([frame.error_px for frame in frames]).astype(np.float64)
    sigma = np.concatenate([frame.sigma_px for frame in frames]).astype(np.float64)
    probability = share_within(WITHIN_PX, (scale * sigma) ** 2).astype(np.float64)
    unknown = np.full(len(error), np.nan)
    pixels = Comparison(unknown, error, probability, None, None, len(error))
    return ReliabilityCurves(inside, reliability(pixels))
