"""The errors of a result: it is compared with a frame's reference once, and all metrics are computed from that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..matching.result import StereoResult
from .datasets.frame import Frame

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """The predicted pixels of a result that have a reference, one entry per pixel.

    Attributes
    ----------
    error_mm : ndarray of float64, shape (n,)
        Depth minus its reference; NaN without a rig.
    error_px : ndarray of float64, shape (n,)
        Disparity minus its reference.
    probability : ndarray of float64, shape (n,)
        Reported probability of an error below 1 px.
    sigma_mm, sigma_px : ndarray of float64, shape (n,), or None
        Standard deviations that the method claims.
    references : int
        Number of pixels that have a reference, predicted or not.
    """

    error_mm: Floats
    error_px: Floats
    probability: Floats
    sigma_mm: Floats | None
    sigma_px: Floats | None
    references: int

    @property
    def error(self) -> Floats:
        """Absolute error, shape (n,): mm if there is a rig, else px."""
        return np.abs(self.error_px if self.in_px else self.error_mm)

    @property
    def in_px(self) -> bool:
        """Whether errors are in px, as there is no rig to compute depth; without any error that is not known: False."""
        return len(self.error_mm) > 0 and bool(np.isnan(self.error_mm).all())

    @property
    def confidence(self) -> Floats | None:
        """Shape (n,), higher is more certain: from the variance, else the probability; None if there is neither."""
        sigma = self.sigma_px if self.in_px else self.sigma_mm
        if sigma is not None:
            return np.where(np.isnan(sigma), -np.inf, -sigma)
        return self.probability if self.has_probability else None

    @property
    def has_probability(self) -> bool:
        """Whether the probability differs between pixels; methods without one report a constant."""
        return bool(len(self.probability)) and bool(self.probability.min() < self.probability.max())


def compare(result: StereoResult, frame: Frame) -> Comparison:
    """Compare a result with the reference of its frame.

    An estimate beyond ``frame.max_depth_mm`` or behind the cameras counts as not predicted.

    Parameters
    ----------
    result : StereoResult
        The result of a matcher.
    frame : Frame
        The frame it was computed from, with a reference.

    Returns
    -------
    Comparison

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
