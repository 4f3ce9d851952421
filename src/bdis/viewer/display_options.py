"""What the page displays of a frame, and how."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Range = tuple[float, float]
MAPS = ("depth", "disparity", "sigma", "probability")  # the most useful one first
MIN_POINTS, MAX_POINTS = 5_000, 400_000  # of the displayed cloud
MIN_POINT_SIZE, MAX_POINT_SIZE = 0.2, 5.0


@dataclass(frozen=True)
class DisplayOptions:
    """What is displayed; the same in all browsers.

    Attributes
    ----------
    shown_map : str
        Name of the map beside the left image.
    cloud_color : str
        Colours of the cloud: "image", or the name of a map.
    ranges : mapping of str to (float, float), optional
        Values of the first and the last colour of each map; None before the first frame.
    point_size : float
        Of the cloud, relative to the distance between neighbouring points.
    most_points : int
        The displayed cloud is reduced to about this many points.
    max_depth_mm : float, optional
        Pixels that are farther away are displayed as unknown.
    is_turning : bool
        The cloud turns slowly to and fro.

    Raises
    ------
    ValueError
        Nothing can be displayed so.
    """

    shown_map: str
    cloud_color: str = "image"
    ranges: Mapping[str, Range] | None = None
    point_size: float = 1.3
    most_points: int = 60_000
    max_depth_mm: float | None = None
    is_turning: bool = False

    def __post_init__(self) -> None:
        _check("map", self.shown_map, self.shown_map in MAPS, f"one of {', '.join(MAPS)}")
        colors = ("image", *MAPS)
        _check("colour of the cloud", self.cloud_color, self.cloud_color in colors, f"one of {', '.join(colors)}")
        for name, (low, high) in (self.ranges or {}).items():
            is_good = math.isfinite(low) and math.isfinite(high) and low < high
            _check(f"range of {name}", f"{low:g} to {high:g}", is_good, "two numbers, the smaller one first")
        is_good = MIN_POINT_SIZE <= self.point_size <= MAX_POINT_SIZE
        _check("point size", self.point_size, is_good, f"{MIN_POINT_SIZE} to {MAX_POINT_SIZE}")
        is_good = MIN_POINTS <= self.most_points <= MAX_POINTS
        _check("number of points", self.most_points, is_good, f"{MIN_POINTS} to {MAX_POINTS}")
        limit = self.max_depth_mm
        _check("max. depth", limit, limit is None or limit > 0, "a number of mm above 0, or nothing")

    def range_of(self, name: str) -> Range:
        """Range of the colours of a map."""
        return (self.ranges or {}).get(name, (0.0, 1.0))


def _check(what: str, value: object, is_good: bool, expected: str) -> None:
    if not is_good:
        raise ValueError(f"the {what} is {value}; expected {expected}")
