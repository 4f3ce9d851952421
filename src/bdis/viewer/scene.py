"""The interface of the two views in the centre of the page, and what both use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.measure import Pixel
from ..display.colors import MARK_COLOR
from .display_options import DisplayOptions
from .frame_maps import FrameMaps

Vector = NDArray[np.float64]
FIELD_OF_VIEW = math.radians(40)  # vertical, of the browser's camera


@dataclass(frozen=True)
class Viewpoint:
    """Where the browser's camera starts; y points down.

    Attributes
    ----------
    position, look_at : ndarray of float64, shape (3,)
        The camera, and the point that it looks at.
    """

    position: Vector
    look_at: Vector

    @property
    def distance(self) -> float:
        return float(np.linalg.norm(self.position - self.look_at))


class Marker:
    """A ball at the point that was clicked, with a label, and one at the point before.

    Parameters
    ----------
    scene : viser.SceneApi
        Where to add it.
    parent : str
        Name of the parent node.
    """

    def __init__(self, scene: Any, parent: str):
        self._ball, self._before = (
            scene.add_icosphere(f"{parent}/{name}", 1.0, color=MARK_COLOR, visible=False, cast_shadow=False)
            for name in ("mark", "mark_before")
        )
        # Browsers prepare the shape of each letter once, a few per frame.  A hidden label with all letters that can
        # occur makes them ready before the first click.
        letters = "0123456789 .,% mpx unknown within and may be infinite"
        self._label = scene.add_label(f"{parent}/mark_label", letters, visible=False, anchor="bottom-center")

    def hide(self) -> None:
        """Show no marker."""
        self._ball.visible = self._label.visible = False

    def show_before(self, place: tuple[Vector, float] | None) -> None:
        """Show the point before, or not."""
        self._before.visible = place is not None
        if place is not None:
            self._before.position, self._before.scale = place[0], 0.7 * place[1]

    def show(self, point: Vector, radius: float, text: str) -> None:
        """Show the marker at a point."""
        self._ball.position, self._ball.scale = point, radius
        self._label.position, self._label.text = point - [0, 1.6 * radius, 0], text
        self._ball.visible = self._label.visible = True


class SceneView(ABC):
    """What is drawn in the centre of the page.

    Attributes
    ----------
    marker : Marker
        At the pixel that was clicked.
    viewpoint : Viewpoint or None
        Where the browser's camera starts; None until it is known.
    """

    marker: Marker
    viewpoint: Viewpoint | None = None

    @abstractmethod
    def show_frame(self, maps: FrameMaps, display: DisplayOptions) -> None:
        """Draw a frame."""

    @abstractmethod
    def pick(self, origin: Any, direction: Any) -> tuple[int, int] | None:
        """Column and row of the pixel that a ray from the camera hits; None if there is none."""

    @abstractmethod
    def point_at(self, maps: FrameMaps, pixel: tuple[int, int]) -> tuple[Vector, float] | None:
        """Position of a pixel in the scene and a suitable radius of its marker; None if it is unknown."""

    def turn(self, seconds: float | None) -> None:
        """Turn to where the animation is after ``seconds``; None: to its start.  A flat view does not turn."""
        return None

    def mark(self, maps: FrameMaps, pixels: Sequence[Pixel], text: str) -> None:
        """Show the marker at the last of some pixels with a text, and a ball at the one before it."""
        places = [self.point_at(maps, pixel) for pixel in pixels]
        newest = places[-1] if places else None
        if newest is None:
            self.marker.hide()
        else:
            self.marker.show(*newest, text)
        self.marker.show_before(places[0] if len(places) > 1 else None)
