"""A flat map in the centre of the page, for streams without a calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..display.colors import UNKNOWN_ON_DARK
from .display_options import DisplayOptions
from .frame_maps import FrameMaps, colored
from .scene import FIELD_OF_VIEW, Marker, SceneView, Vector, Viewpoint


class MapView(SceneView):
    """The chosen map as a flat image: without a calibration there is no depth.

    Parameters
    ----------
    server : viser.ViserServer
        Serves the page.
    size : (int, int)
        Width and height of the images, px; one unit of the scene is one pixel.
    """

    def __init__(self, server: Any, size: tuple[int, int]):
        self._width, self._height = size
        blank = np.full((2, 2, 3), UNKNOWN_ON_DARK, np.uint8)
        self._image = server.scene.add_image("/map", blank, float(self._width), float(self._height), format="jpeg")
        self.marker = Marker(server.scene, "")
        distance = 0.72 * max(self._height, self._width) / math.tan(FIELD_OF_VIEW / 2)
        self.viewpoint = Viewpoint(np.array([0.0, 0.0, -distance]), np.zeros(3))

    def show_frame(self, maps: FrameMaps, display: DisplayOptions) -> None:
        name = display.shown_map
        self._image.image = colored(name, maps[name], display.range_of(name))

    def pick(self, origin: Any, direction: Any) -> tuple[int, int] | None:
        start, way = np.asarray(origin), np.asarray(direction)
        if way[2] == 0:
            return None
        x, y, _ = start - way * (start[2] / way[2])
        pixel = math.floor(x + self._width / 2), math.floor(y + self._height / 2)
        return pixel if 0 <= pixel[0] < self._width and 0 <= pixel[1] < self._height else None

    def point_at(self, maps: FrameMaps, pixel: tuple[int, int]) -> tuple[Vector, float]:
        x, y = pixel
        return np.array([x + 0.5 - self._width / 2, y + 0.5 - self._height / 2, -1.0]), 0.008 * self._height
