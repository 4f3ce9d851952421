"""The point cloud in the centre of the page, with the endoscope's camera in front of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from .display_options import DisplayOptions
from .frame_maps import FrameMaps, colored
from .scene import FIELD_OF_VIEW, Marker, SceneView, Vector, Viewpoint

PICK_ANGLE = math.radians(1.2)  # largest angle between the ray of a click and a point that it can select
PICK_DEPTH = 0.02  # points this share of the distance behind the nearest one can still be selected
TURN_ANGLE, TURN_PERIOD_S = math.radians(28), 14.0  # to each side, and for a full turn to and fro
_THUMBNAIL = 160  # px, width of the image in the camera's frustum


class CloudView(SceneView):
    """Points in mm in the coordinates of the left camera, and that camera.

    Parameters
    ----------
    server : viser.ViserServer
        Serves the page.
    rig : Rig
        The rectified cameras.
    size : (int, int)
        Width and height of the images, px.
    """

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
        self.marker = Marker(scene, "/rig")
        self._points = np.zeros((0, 3), np.float32)
        self._centre = np.array([0.0, 0.0, 100.0])
        self._angle = 0.0

    def show_frame(self, maps: FrameMaps, display: DisplayOptions) -> None:
        height, width = maps.result.disparity.shape
        every = max(1, round(math.sqrt(height * width / display.most_points)))
        image = as_rgb_bytes(maps.frame.left) if display.cloud_color == "image" else None
        cloud = self._rig.cloud(maps.result, image, max_depth_mm=display.max_depth_mm, every=every)
        if cloud.colors is not None:
            colors = cloud.colors
        elif display.cloud_color == "sigma" and cloud.sigma_mm is not None:
            colors = colored("sigma", cloud.sigma_mm, display.range_of("sigma"))
        else:
            colors = colored("depth", cloud.points[:, 2], display.range_of("depth"))
        self._points = cloud.points
        if len(cloud) and self.viewpoint is None:
            self._choose_viewpoint()
        self._cloud.visible = len(cloud) > 0
        if len(cloud):  # browsers refuse a cloud without points
            self._cloud.points, self._cloud.colors = cloud.points, colors
        distance = float(np.median(cloud.points[:, 2])) if len(cloud) else float(self._centre[2])
        # Points as large as the distance between neighbours form a closed surface.
        self._cloud.point_size = round(display.point_size * every * distance / self._rig.focal_px, 3)
        thumbnail = max(1, width // _THUMBNAIL)
        self._frustum.image = as_rgb_bytes(maps.frame.left[::thumbnail, ::thumbnail])

    def _choose_viewpoint(self) -> None:
        """Look at the first cloud from behind, above and beside the endoscope, so that both can be seen."""
        low, high = np.percentile(self._points.astype(np.float64), [2, 98], axis=0)
        self._centre = (low + high) / 2
        yaw, pitch = math.radians(24), math.radians(16)
        away = np.array([-math.sin(yaw) * math.cos(pitch), -math.sin(pitch), -math.cos(yaw) * math.cos(pitch)])
        target = 0.85 * self._centre
        distance = 0.58 * float(np.linalg.norm(high - low)) / math.sin(FIELD_OF_VIEW / 2)
        self.viewpoint = Viewpoint(target + distance * away, target)
        self._frustum.scale = float(0.07 * self._centre[2])

    def turn(self, seconds: float | None) -> None:
        """Turn to and fro about the centre of the cloud; None: back to the middle."""
        self._angle = 0.0 if seconds is None else TURN_ANGLE * math.sin(2 * math.pi * seconds / TURN_PERIOD_S)
        rotation = self._rotation()
        with self._server.atomic():
            self._root.wxyz = (math.cos(self._angle / 2), 0.0, math.sin(self._angle / 2), 0.0)
            self._root.position = self._centre - rotation @ self._centre

    def _rotation(self) -> Vector:
        cos, sin = math.cos(self._angle), math.sin(self._angle)
        return np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])

    def pick(self, origin: Any, direction: Any) -> tuple[int, int] | None:
        inverse = self._rotation().T
        offset = self._centre - self._rotation() @ self._centre
        start, way = inverse @ (np.asarray(origin) - offset), inverse @ np.asarray(direction)
        place = nearest_to_ray(self._points, start, way)
        if place is None:
            return None
        x, y, z = self._points[place]
        scale = self._rig.focal_px / z
        return round(float(x * scale + self._rig.cx)), round(float(y * scale + self._rig.cy))

    def point_at(self, maps: FrameMaps, pixel: tuple[int, int]) -> tuple[Vector, float] | None:
        x, y = pixel
        z = float(maps.depth[y, x])
        if math.isnan(z):
            return None
        rig = self._rig
        return np.array([(x - rig.cx) / rig.focal_px, (y - rig.cy) / rig.focal_px, 1.0]) * z, 0.01 * z


def nearest_to_ray(points: NDArray[np.float32], start: Vector, way: Vector) -> int | None:
    """Find the point that a click selects: of the points near its ray the foremost, and of its neighbours the closest.

    Parameters
    ----------
    points : ndarray of float32, shape (n, 3)
        The cloud.
    start, way : ndarray of float64, shape (3,)
        Origin and direction of the ray.

    Returns
    -------
    int or None
        Index of the point; None if no point is near the ray.

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
        near = (along > 0) & (aside < math.tan(PICK_ANGLE) * along)
    if not near.any():
        return None
    near &= along < along[near].min() * (1 + PICK_DEPTH)
    return int(np.flatnonzero(near)[np.argmin(aside[near])])
