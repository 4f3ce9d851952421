"""What the page displays of a frame, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Range = tuple[float, float]


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
    """

    shown_map: str
    cloud_color: str = "image"
    ranges: Mapping[str, Range] | None = None
    point_size: float = 1.3
    most_points: int = 60_000
    max_depth_mm: float | None = None
    is_turning: bool = False

    def range_of(self, name: str) -> Range:
        """Range of the colours of a map."""
        return (self.ranges or {}).get(name, (0.0, 1.0))
