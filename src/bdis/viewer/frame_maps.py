"""The maps of a frame (depth, disparity, sigma, probability), their units and their colours."""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import Rig
from ..common.arrays import Array
from ..display.colors import COLORMAPS, UNKNOWN_ON_DARK, color_steps, color_table, round_range
from ..matching.result import StereoResult
from ..video.stream.depth_stream import DepthFrame
from .display_options import MAPS, Range

_COLORMAPS = {**COLORMAPS, "sigma": "plasma", "probability": "viridis"}  # none starts with black: the page is dark


class FrameMaps:
    """The maps of one frame; each is computed when it is first used.

    ``maps["depth"]`` is the same as ``maps.depth``.

    Parameters
    ----------
    frame : DepthFrame
        A matched pair.
    rig : Rig or None
        The rectified cameras; None: there is no depth, and sigma is that of the disparity.
    max_depth_mm : float, optional
        Pixels that are farther away are unknown in all maps.
    """

    def __init__(self, frame: DepthFrame, rig: Rig | None, max_depth_mm: float | None = None):
        self.frame, self.rig, self.max_depth_mm = frame, rig, max_depth_mm

    @property
    def result(self) -> StereoResult:
        return self.frame.result

    @cached_property
    def coverage(self) -> float:
        """Share of known pixels, 0 to 1."""
        return float(np.isfinite(self.disparity).mean())

    @cached_property
    def depth(self) -> Array:
        """float32, shape (h, w), mm."""
        assert self.rig is not None
        return self.rig.depth(self.result, max_depth_mm=self.max_depth_mm)

    @cached_property
    def disparity(self) -> Array:
        """float32, shape (h, w), px."""
        return self._within_max_depth(self.result.disparity)

    @cached_property
    def sigma(self) -> Array:
        """Standard deviation, float32, shape (h, w): of the depth in mm, or without a rig of the disparity in px."""
        if self.result.variance is None:
            return np.full_like(self.result.disparity, np.nan)
        sigma = np.sqrt(self.result.variance) if self.rig is None else self.rig.depth_sigma(self.result)
        return self._within_max_depth(sigma)

    @cached_property
    def probability(self) -> Array:
        """float32, shape (h, w), 0 to 1; NaN where the disparity is unknown."""
        return self._within_max_depth(np.where(self.result.known, self.result.probability, np.float32(np.nan)))

    def __getitem__(self, name: str) -> Array:
        match name:
            case "depth":
                return self.depth
            case "disparity":
                return self.disparity
            case "sigma":
                return self.sigma
            case "probability":
                return self.probability
        raise KeyError(name)

    def _within_max_depth(self, values: Array) -> Array:
        if self.rig is None or self.max_depth_mm is None:
            return values
        return np.where(np.isnan(self.depth), np.float32(np.nan), values)

    def fitted_range(self, name: str) -> Range:
        """A range in round numbers that contains most values of a map."""
        if name == "probability" or not np.isfinite(self[name]).any():
            return 0.0, 1.0
        values = self[name]
        if name == "sigma":  # at depth edges it is many times as large as elsewhere
            return 0.0, round_range(np.minimum(values, np.nanpercentile(values, 85)))[1]
        return round_range(values)


def map_names(rig: Rig | None, has_sigma: bool) -> tuple[str, ...]:
    """Names of the available maps.

    Parameters
    ----------
    rig : Rig or None
        Without it there is no depth.
    has_sigma : bool
        Whether the matcher computes a variance.

    Returns
    -------
    tuple of str
        The most useful map first.

    Examples
    --------
    >>> map_names(None, has_sigma=False)
    ('disparity', 'probability')
    """
    return tuple(name for name in MAPS if (name != "depth" or rig) and (name != "sigma" or has_sigma))


def unit_of(name: str, rig: Rig | None) -> str:
    """Unit of a map: "mm", "px", or "" for the probability.

    Examples
    --------
    >>> unit_of("sigma", None)
    'px'
    """
    if name == "probability":
        return ""
    return "px" if rig is None or name == "disparity" else "mm"


@cache
def palette(name: str) -> NDArray[np.uint8]:
    """Colours of a map, uint8, shape (256, 3); the first one is that of unknown pixels."""
    return color_table(_COLORMAPS[name], UNKNOWN_ON_DARK)


def colored(name: str, values: Array, value_range: Range) -> NDArray[np.uint8]:
    """Colours for the values of a map.

    Parameters
    ----------
    name : str
        Of the map.
    values : ndarray of float32
        Of any shape; NaN = unknown.
    value_range : (float, float)
        Values of the first and the last colour; values outside have the colour of the nearer end.

    Returns
    -------
    ndarray of uint8, shape (..., 3)
        RGB.

    Examples
    --------
    >>> colored("depth", np.float32([np.nan]), (0, 1)).tolist() == [list(UNKNOWN_ON_DARK)]
    True
    """
    return np.take(palette(name), color_steps(values, value_range), axis=0)
