"""How far a matcher is off in the frames of a data set, and what it claimed to be off."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import Rig
from ..common.law import sigmas
from ..matching.matcher import StereoMatcher
from ..matching.settings import Settings
from .datasets import Dataset, Frame
from .errors import compare
from .runner import why_not_scored

MIN_PIXELS = 1000  # of a frame: fewer leave less than 50 beyond the interval


@dataclass(frozen=True)
class FrameErrors:
    """Errors of a frame and the standard deviations that the matcher claimed for them, one entry per pixel.

    Attributes
    ----------
    name : str
        Group and name of the frame.
    error_px : ndarray of float32, shape (n,)
        Absolute error of the disparity.
    sigma_px : ndarray of float32, shape (n,)
        Claimed standard deviation, above 0.
    rig : Rig or None
        Cameras of the frame.
    problem : str
        Why the frame cannot be used; empty if it can.
    """

    name: str
    error_px: NDArray[np.float32]
    sigma_px: NDArray[np.float32]
    rig: Rig | None = None
    problem: str = ""

    def share_inside(self, share: float, scale: float = 1.0) -> float:
        """Share of the errors inside the interval that is claimed to hold ``share`` of them.

        Parameters
        ----------
        share : float
            Above 0 and below 1.
        scale : float
            Factor on sigma.

        Returns
        -------
        float

        Examples
        --------
        >>> errors = FrameErrors("1", np.float32([0.1, 0.2, 3, 4]), np.ones(4, np.float32))
        >>> errors.share_inside(0.95), errors.share_inside(0.95, scale=2)
        (0.5, 0.75)
        """
        return float((self.error_px <= scale * sigmas(share) * self.sigma_px).mean())


def frame_errors(
    data: Dataset,
    settings: Settings,
    *,
    occluded: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> list[FrameErrors]:
    """Match the frames of a data set and compare them with their reference.

    The disparity range is that of the settings and not that of the data set, as it is when the cameras are used.

    Parameters
    ----------
    data : Dataset
        Frames with a reference.
    settings : Settings
        Settings of the matcher; a variance is computed in any case.
    occluded : bool
        Whether pixels that the right camera does not see count as well.
    progress : callable
        Called with the number of frames done.

    Returns
    -------
    list of FrameErrors
        Of all frames; those that cannot be used say why.

    Raises
    ------
    ValueError
        The variance is the paper's, to which no factor applies; or a frame cannot be read.

    Examples
    --------
    >>> from bdis.evaluation.datasets import open_dataset
    >>> (errors,) = frame_errors(open_dataset("render:plane,frames=1,height=48,width=64"), Settings())
    >>> errors.name, len(errors.error_px) > 1000
    ('rendered plane/000000', True)
    """
    if settings.variance == "paper":
        raise ValueError("variance is 'paper', which follows no law that could be fitted; leave it out")
    matcher = StereoMatcher(replace(settings, variance=True))
    found = []
    for frame in data.frames():
        if frame.min_disparity_px < matcher.settings.min_disparity:  # verged cameras, of all frames
            matcher = StereoMatcher(matcher.settings, min_disparity=frame.min_disparity_px)
        found.append(_errors_of(frame if occluded else frame.without_occluded(), matcher))
        progress(len(found))
    return found


def _errors_of(frame: Frame, matcher: StereoMatcher) -> FrameErrors:
    reason = why_not_scored(frame)
    error = sigma = np.zeros(0, np.float32)
    if reason is None:
        compared = compare(matcher.match(frame.left, frame.right), frame)
        assert compared.sigma_px is not None
        known = np.isfinite(compared.sigma_px) & (compared.sigma_px > 0)
        error = np.abs(compared.error_px[known]).astype(np.float32)
        sigma = compared.sigma_px[known].astype(np.float32)
        if len(error) < MIN_PIXELS:
            reason = f"too few pixels with a disparity and a reference, {len(error)} of the {MIN_PIXELS} needed"
    return FrameErrors(str(frame), error, sigma, frame.rig, reason or "")


def left_out(frames: Sequence[FrameErrors]) -> list[str]:
    """What is wrong with the frames that cannot be used.

    Parameters
    ----------
    frames : sequence of FrameErrors
        Usable ones are not mentioned.

    Returns
    -------
    list of str
        One line for each kind of problem, however many frames have it.

    Examples
    --------
    >>> none = np.zeros(0, np.float32)
    >>> left_out([FrameErrors(name, none, none, problem="no reference") for name in "abc"])
    ['a: no reference; left out, like 2 more']
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for frame in frames:
        if frame.problem:
            kind = re.sub(r"\d+", "", frame.problem)  # the numbers differ from frame to frame
            first.setdefault(kind, f"{frame.name}: {frame.problem}")
            counts[kind] = counts.get(kind, 0) + 1
    return [
        f"{text}; left out" if counts[kind] == 1 else f"{text}; left out, like {counts[kind] - 1} more"
        for kind, text in first.items()
    ]
