"""What is seen in the middle of the page: the cloud before its camera, or without a calibration a flat map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from ..files.colors import UNKNOWN_ON_DARK
from .maps import Look, Maps, colored

Vector = NDArray[np.float64]
FIELD_OF_VIEW = math.radians(40)  # vertical, of those who watch
PICK_WITHIN = math.radians(1.2)  # of the ray of a click
FRONT = 0.02  # share of the distance that points may lie behind the first one and still be meant by a click
SWAY, SWAY_S = math.radians(28), 14.0  # how far to each side, and how long to and fro
_THUMBNAIL = 160  # px, the picture in the frustum
_MARK = (0, 230, 255)  # neither tissue nor blood nor a highlight has it


class Mark:
    """A ball and a label at the point that was clicked."""

    def __init__(self, scene: Any, parent: str):
        self._ball = scene.add_icosphere(f"{parent}/mark", 1.0, color=_MARK, visible=False, cast_shadow=False)
        # Browsers draw each letter once, a few per frame; those that come up are ready when the first click comes.
        letters = "0123456789 ± .mpx unknown"
        self._label = scene.add_label(f"{parent}/mark_label", letters, visible=False, anchor="bottom-center")

    def hide(self) -> None:
        self._ball.visible = self._label.visible = False

    def put(self, point: Vector, radius: float, text: str) -> None:
        self._ball.position, self._ball.scale = point, radius
        self._label.position, self._label.text = point - [0, 1.6 * radius, 0], text
        self._ball.visible = self._label.visible = True


@dataclass(frozen=True)
class Standpoint:
    """Where one who watches begins; y is down."""

    position: Vector
    look_at: Vector


class CloudScene:
    """Points in mm in the left camera's frame, and that camera."""

    def __init__(self, server: Any, rig: Rig, size: tuple[int, int]):
        self._server, self._rig = server, rig
        width, height = size
        scene = server.scene
        self._root = scene.add_frame("/rig", show_axes=False)
        self._cloud = scene.add_point_cloud(
            "/rig/cloud", np.zeros((1, 3), np.float32), np.zeros((1, 3), np.uint8), visible=False,
            precision="float32", point_shape="circle", point_shading="flat",
        )  # fmt: skip
        self._frustum = scene.add_camera_frustum(
            "/rig/camera", 2 * math.atan(height / 2 / rig.focal_px), width / height,
            scale=1.0, thickness=1.5, thickness_units="screen", color=(170, 178, 190), format="jpeg",
        )  # fmt: skip
        self.mark = Mark(scene, "/rig")
        self._points = np.zeros((0, 3), np.float32)
        self._centre = np.array([0.0, 0.0, 100.0])
        self._angle = 0.0
        self.standpoint: Standpoint | None = None

    def show(self, maps: Maps, look: Look) -> None:
        """Everything about a frame but where one looks from."""
        height, width = maps.result.disparity.shape
        every = max(1, round(math.sqrt(height * width / look.most_points)))
        wanted = as_rgb_bytes(maps.frame.left) if look.cloud_color == "image" else None
        cloud = self._rig.cloud(maps.result, wanted, max_depth_mm=look.max_depth_mm, every=every)
        if cloud.colors is not None:
            colors = cloud.colors
        elif look.cloud_color == "sigma" and cloud.sigma_mm is not None:
            colors = colored("sigma", cloud.sigma_mm, look.range_of("sigma"))
        else:
            colors = colored("depth", cloud.points[:, 2], look.range_of("depth"))
        self._points = cloud.points
        if len(cloud) and self.standpoint is None:
            self._place()
        self._cloud.visible = len(cloud) > 0
        if len(cloud):  # browsers refuse a cloud of no points
            self._cloud.points, self._cloud.colors = cloud.points, colors
        distance = float(np.median(cloud.points[:, 2])) if len(cloud) else float(self._centre[2])
        # A point as large as the gap to its neighbour closes the surface.
        self._cloud.point_size = round(look.point_size * every * distance / self._rig.focal_px, 3)
        thumbnail = max(1, width // _THUMBNAIL)
        self._frustum.image = as_rgb_bytes(maps.frame.left[::thumbnail, ::thumbnail])

    def _place(self) -> None:
        """Look at the first cloud from behind the endoscope, from above and aside, so that both are seen."""
        low, high = np.percentile(self._points.astype(np.float64), [2, 98], axis=0)
        self._centre = (low + high) / 2
        yaw, pitch = math.radians(24), math.radians(16)
        away = np.array([-math.sin(yaw) * math.cos(pitch), -math.sin(pitch), -math.cos(yaw) * math.cos(pitch)])
        target = 0.85 * self._centre
        distance = 0.58 * float(np.linalg.norm(high - low)) / math.sin(FIELD_OF_VIEW / 2)
        self.standpoint = Standpoint(target + distance * away, target)
        self._frustum.scale = float(0.07 * self._centre[2])

    def turn(self, seconds: float | None) -> None:
        """Sway about the middle of the cloud; None: stand still, straight."""
        self._angle = 0.0 if seconds is None else SWAY * math.sin(2 * math.pi * seconds / SWAY_S)
        rotation = self._rotation()
        with self._server.atomic():
            self._root.wxyz = (math.cos(self._angle / 2), 0.0, math.sin(self._angle / 2), 0.0)
            self._root.position = self._centre - rotation @ self._centre

    def _rotation(self) -> Vector:
        cos, sin = math.cos(self._angle), math.sin(self._angle)
        return np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])

    def pick(self, origin: Any, direction: Any) -> tuple[int, int] | None:
        """The pixel (x, y) of the point that a ray meets first."""
        inverse = self._rotation().T
        offset = self._centre - self._rotation() @ self._centre
        start, way = inverse @ (np.asarray(origin) - offset), inverse @ np.asarray(direction)
        place = nearest_to_ray(self._points, start, way)
        if place is None:
            return None
        x, y, z = self._points[place]
        scale = self._rig.focal_px / z
        return round(float(x * scale + self._rig.cx)), round(float(y * scale + self._rig.cy))

    def point_at(self, maps: Maps, pixel: tuple[int, int]) -> tuple[Vector, float] | None:
        """Where a pixel (x, y) is in the scene, and how large its mark should be."""
        x, y = pixel
        z = float(maps.depth[y, x])
        if math.isnan(z):
            return None
        rig = self._rig
        return np.array([(x - rig.cx) / rig.focal_px, (y - rig.cy) / rig.focal_px, 1.0]) * z, 0.01 * z


class FlatScene:
    """The chosen map on a wall: with no calibration there is no depth to be had."""

    def __init__(self, server: Any, size: tuple[int, int]):
        self._width, self._height = size
        blank = np.full((2, 2, 3), UNKNOWN_ON_DARK, np.uint8)
        self._wall = server.scene.add_image("/map", blank, float(self._width), float(self._height), format="jpeg")
        self.mark = Mark(server.scene, "")
        distance = 0.72 * max(self._height, self._width) / math.tan(FIELD_OF_VIEW / 2)
        self.standpoint: Standpoint | None = Standpoint(np.array([0.0, 0.0, -distance]), np.zeros(3))

    def show(self, maps: Maps, look: Look) -> None:
        self._wall.image = colored(look.shown, maps[look.shown], look.range_of(look.shown))

    def turn(self, seconds: float | None) -> None:
        """A wall stands still."""

    def pick(self, origin: Any, direction: Any) -> tuple[int, int] | None:
        """The pixel (x, y) that a ray meets."""
        start, way = np.asarray(origin), np.asarray(direction)
        if way[2] == 0:
            return None
        x, y, _ = start - way * (start[2] / way[2])
        pixel = math.floor(x + self._width / 2), math.floor(y + self._height / 2)
        return pixel if 0 <= pixel[0] < self._width and 0 <= pixel[1] < self._height else None

    def point_at(self, maps: Maps, pixel: tuple[int, int]) -> tuple[Vector, float] | None:
        """Where a pixel (x, y) is in the scene, and how large its mark should be."""
        x, y = pixel
        return np.array([x + 0.5 - self._width / 2, y + 0.5 - self._height / 2, -1.0]), 0.008 * self._height


def nearest_to_ray(points: NDArray[np.float32], start: Vector, way: Vector) -> int | None:
    """Which point a click means: of those close to its ray the first, and of its neighbours the closest.

    Examples
    --------
    >>> points = np.float32([[0, 0, 50], [0.1, 0, 50], [0, 0, 90], [30, 0, 50]])
    >>> nearest_to_ray(points, np.zeros(3), np.array([0.1, 0, 50.0]))
    1
    """
    if not len(points):
        return None
    way = way / np.linalg.norm(way)
    ahead = points - start
    along = ahead @ way
    aside = np.linalg.norm(ahead - along[:, None] * way, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (along > 0) & (aside < math.tan(PICK_WITHIN) * along)
    if not near.any():
        return None
    near &= along < along[near].min() * (1 + FRONT)
    return int(np.flatnonzero(near)[np.argmin(aside[near])])
