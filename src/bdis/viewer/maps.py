"""What is known of the pixels of a frame, as maps with a unit, and how a map is coloured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import Rig
from ..common.arrays import Array
from ..files.colors import COLORMAPS, UNKNOWN_ON_DARK, color_steps, color_table, round_range
from ..matching.result import StereoResult
from ..video.stream.depth_stream import DepthFrame

Range = tuple[float, float]
_COLORMAPS = {**COLORMAPS, "sigma": "plasma", "probability": "viridis"}  # none begins with black, as the page is dark


@dataclass(frozen=True)
class Look:
    """What of a frame is shown, and how; the same for all who watch.

    Attributes
    ----------
    shown : name of the map in the panel
    cloud_color : "image", or the name of a map
    ranges : values of the first and the last colour of each map
    point_size : of the cloud, in distances between points
    most_points : the live cloud is thinned out to about as many
    max_depth_mm : what is further counts as unknown
    is_turning : the scene sways
    """

    shown: str
    cloud_color: str = "image"
    ranges: Mapping[str, Range] | None = None
    point_size: float = 1.3
    most_points: int = 60_000
    max_depth_mm: float | None = None
    is_turning: bool = False

    def range_of(self, name: str) -> Range:
        return (self.ranges or {}).get(name, (0.0, 1.0))


class Maps:
    """The maps of one frame; each is computed when it is first asked for.

    Parameters
    ----------
    frame : the frame
    rig : the rectified cameras; None: there is no depth, and sigma is that of the disparity
    max_depth_mm : what is further counts as unknown
    """

    def __init__(self, frame: DepthFrame, rig: Rig | None, max_depth_mm: float | None = None):
        self.frame, self.rig, self.max_depth_mm = frame, rig, max_depth_mm

    @property
    def result(self) -> StereoResult:
        return self.frame.result

    @cached_property
    def coverage(self) -> float:
        """Share of the pixels that are known, and not too far."""
        return float(np.isfinite(self.disparity).mean())

    @cached_property
    def depth(self) -> Array:
        """float32 (height, width), mm."""
        assert self.rig is not None
        return self.rig.depth(self.result, max_depth_mm=self.max_depth_mm)

    @cached_property
    def disparity(self) -> Array:
        """float32 (height, width), px."""
        return self._where_shown(self.result.disparity)

    @cached_property
    def sigma(self) -> Array:
        """float32 (height, width): of the depth in mm, or of the disparity in px."""
        if self.result.variance is None:
            return np.full_like(self.result.disparity, np.nan)
        if self.rig is None:
            return np.sqrt(self.result.variance)
        return self._where_shown(self.rig.depth_sigma(self.result))

    @cached_property
    def probability(self) -> Array:
        """float32 (height, width), 0 to 1."""
        return self._where_shown(np.where(self.result.known, self.result.probability, np.float32(np.nan)))

    def __getitem__(self, name: str) -> Array:
        return np.asarray(getattr(self, name))

    def _where_shown(self, values: Array) -> Array:
        if self.rig is None or self.max_depth_mm is None:
            return values
        return np.where(np.isnan(self.depth), np.float32(np.nan), values)

    def fitted_range(self, name: str) -> Range:
        """A range that holds most of a map's values, in round numbers."""
        if name == "probability" or not np.isfinite(self[name]).any():
            return 0.0, 1.0
        values = self[name]
        if name == "sigma":  # at depth edges it is many times what it is elsewhere
            return 0.0, round_range(np.minimum(values, np.nanpercentile(values, 85)))[1]
        return round_range(values)


def map_names(rig: Rig | None, has_sigma: bool) -> tuple[str, ...]:
    """The maps there are, the most telling first.

    Examples
    --------
    >>> map_names(None, has_sigma=False)
    ('disparity', 'probability')
    """
    names = ("depth", "disparity", "sigma", "probability")
    return tuple(name for name in names if (name != "depth" or rig) and (name != "sigma" or has_sigma))


def unit_of(name: str, rig: Rig | None) -> str:
    """mm, px, or nothing.

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
    """uint8 (256, 3): the colours of a map, that of the unknown first."""
    return color_table(_COLORMAPS[name], UNKNOWN_ON_DARK)


def colored(name: str, values: Array, span: Range) -> NDArray[np.uint8]:
    """Values of a map as colours, uint8 with one more axis; beyond the range they stay those of its ends.

    Examples
    --------
    >>> colored("depth", np.float32([np.nan]), (0, 1)).tolist() == [list(UNKNOWN_ON_DARK)]
    True
    """
    return np.take(palette(name), color_steps(values, span), axis=0)
