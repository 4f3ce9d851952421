"""A scene at one moment, and the two cameras in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..common.arrays import Array
from . import kernels
from .options import RenderOptions

_COARSE = (48, 64)  # rows and columns of the picture in which the baseline for a wanted disparity is found


@dataclass(frozen=True)
class World:
    """A scene at one moment, in the arrays of ``kernels/rays.py``, and the position of the cameras.

    Attributes
    ----------
    wall : ndarray, shape (n, 8)
        The tissue.
    rods : ndarray, shape (m, 8)
        Instruments and balls in front of it.
    size_mm : float
        Typical distance: reference of the light and of the default baseline.
    position : ndarray, shape (3,)
        Of the left camera, or of the middle between both cameras if ``is_centred``.
    axes : ndarray, shape (3, 3)
        Rows: the cameras' x, y and z axis.
    is_centred : bool
    """

    wall: Array
    rods: Array
    size_mm: float
    position: Array
    axes: Array
    is_centred: bool = False

    def cameras(self, baseline: float, focal: float, height: int, width: int) -> tuple[Array, Array]:
        """Left and right camera in the form of ``kernels/rays.py``."""
        intrinsics = [focal, (width - 1) / 2, (height - 1) / 2]
        start = self.position - (baseline / 2 if self.is_centred else 0.0) * self.axes[0]
        left = np.vstack([start, self.axes, intrinsics])
        right = np.vstack([start + baseline * self.axes[0], self.axes, intrinsics])
        return left, right

    def trace(self, camera: Array, height: int, width: int) -> tuple[Array, Array]:
        """Depth in mm, and the number of the object that is seen, at each pixel."""
        depth, seen = np.empty((height, width)), np.empty((height, width), np.uint8)
        kernels.trace_view(self.wall, self.rods, camera, depth, seen)
        return depth, seen

    def check_distance(self, left: Array, right: Array, baseline: float) -> None:
        """Raise ValueError if a camera is inside the tissue or an instrument."""
        for name, camera in (("left", left), ("right", right)):
            if self.trace(camera, 2, 2)[0].min() < 0.02 * self.size_mm:
                raise ValueError(
                    f"the {name} camera would touch the scene: baseline {baseline:.3g} mm is too long for it; ask for "
                    "a shorter one, a smaller disparity_px, or a larger depth_mm with a given baseline_mm"
                )

    def light(self, left: Array, right: Array, options: RenderOptions, frame: int) -> Array:
        """The light in the form of ``kernels/rays.py``: a lamp between the cameras, a little above them."""
        lamp = (left[0] + right[0]) / 2 - 0.03 * self.size_mm * self.axes[1]
        return np.array(
            [
                [*lamp, float(options.lighting == "headlight")],
                [*self.axes[2], self.size_mm],
                [options.highlights, options.texture, options.smoke, 0.01 * frame],
            ]
        )


def focal_length(options: RenderOptions, width: int) -> float:
    """Focal length, px.

    Raises
    ------
    ValueError
        It does not suit the width.
    """
    focal = 0.85 * width if options.focal_px is None else options.focal_px
    if not 0.4 * width <= focal <= 10 * width:
        raise ValueError(f"focal_px is {focal:g}; expected {0.4 * width:g} to {10 * width:g} for a width of {width}")
    return focal


def baseline_length(options: RenderOptions, world: World, focal: float, height: int, width: int) -> float:
    """Distance between the cameras, mm: as given, as the wanted disparity needs it, or the default.

    Raises
    ------
    ValueError
        The wanted disparity does not suit the width.
    """
    if options.disparity_px is None:
        return world.size_mm / 12 if options.baseline_mm is None else options.baseline_mm
    wanted = options.disparity_px
    if not 1 <= wanted <= 0.9 * width:
        raise ValueError(f"disparity_px is {wanted:g}; expected 1 to {0.9 * width:g} for a width of {width}")
    rows, columns = _COARSE
    baseline = 0.0
    for attempt in range(10 if world.is_centred else 1):  # the left camera's position may depend on the baseline
        camera, _ = world.cameras(baseline, focal, height, width)
        camera[4] *= columns / width
        camera[4, 1:] = (columns - 1) / 2, (rows - 1) / 2
        depth, _ = world.trace(camera, rows, columns)
        fitting = wanted / float(np.median(focal / np.maximum(depth, 1e-9)))
        baseline = fitting if attempt == 0 else (baseline + fitting) / 2
    return baseline
