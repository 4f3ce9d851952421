"""Foxglove: depth, sigma, images, cloud and camera in its own schemas, for its live connection and its MCAP files.

Lengths are metres, as everywhere in Foxglove and ROS, and unknown pixels are NaN (REP 118).  All is in the coordinate
frame ``bdis_left`` of the left camera: x to the right, y down, z forward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from ..common.arrays import Array
from ..common.optional import require
from ..matching.result import StereoResult

LEFT, DEPTH, SIGMA, POINTS = "/bdis/left", "/bdis/depth", "/bdis/sigma", "/bdis/points"
CALIBRATION, TRANSFORM, WARNINGS = "/bdis/calibration", "/bdis/transform", "/bdis/warnings"
TOPICS = {
    CALIBRATION: "CameraCalibration",
    TRANSFORM: "FrameTransform",
    WARNINGS: "Log",
    LEFT: "RawImage",
    SIGMA: "RawImage",
    POINTS: "PointCloud",
    DEPTH: "RawImage",  # the last of a frame: where there is a depth, the frame is complete
}  # and the names of their schemas
CAMERA_FRAME, WORLD_FRAME = "bdis_left", "bdis_world"
MAX_POINTS = 50_000
METRES_PER_MM = np.float32(1e-3)
PURPOSE = "messages for Foxglove"


def open_channels(context: Any) -> dict[str, Any]:
    """A channel for each topic.

    Parameters
    ----------
    context : foxglove.Context
        What its servers and files listen to.

    Returns
    -------
    dict of str to foxglove.Channel

    Examples
    --------
    >>> import foxglove
    >>> sorted(open_channels(foxglove.Context()))[0]
    '/bdis/calibration'
    """
    foxglove, schemas = require("foxglove", PURPOSE), require("foxglove.messages", PURPOSE)
    return {
        topic: foxglove.Channel(
            topic, schema=getattr(schemas, schema).get_schema(), message_encoding="protobuf", context=context
        )
        for topic, schema in TOPICS.items()
    }


def frame_messages(
    rig: Rig,
    left: Array,
    result: StereoResult,
    time_ns: int,
    *,
    max_depth_mm: float | None = None,
    is_suspect: bool = False,
    wanted: Collection[str] = tuple(TOPICS),
) -> Iterator[tuple[str, bytes]]:
    """The messages of a frame.

    Parameters
    ----------
    rig : Rig
        Of the rectified images.
    left : ndarray, shape (h, w) or (h, w, 3)
        The left one, grey or RGB.
    result : StereoResult
        Sigma is left out if it has no variance.
    time_ns : int
        Time stamp of all messages, nanoseconds.
    max_depth_mm : float, optional
        Pixels that are farther away are unknown.
    is_suspect : bool
        The images were decoded from a damaged frame: a warning says so.
    wanted : collection of str
        Topics; others are not computed.

    Yields
    ------
    topic : str
    message : bytes

    Examples
    --------
    >>> result = StereoResult(np.float32([[25, np.nan]]), np.float32([[0.9, 0]]))
    >>> rig = Rig(500, cx=0, cy=0, baseline_mm=5)
    >>> [topic for topic, _ in frame_messages(rig, np.zeros((1, 2), np.uint8), result, 0)]
    ['/bdis/calibration', '/bdis/transform', '/bdis/left', '/bdis/points', '/bdis/depth']
    """
    schemas = require("foxglove.messages", PURPOSE)
    seconds, nanoseconds = divmod(time_ns, 10**9)
    stamp = schemas.Timestamp(seconds, nanoseconds)
    known = np.isfinite(depth := rig.depth(result, max_depth_mm=max_depth_mm))

    def sigma_m() -> Array:
        return np.where(known, rig.depth_sigma(result), np.float32(np.nan)) * METRES_PER_MM

    make: dict[str, Callable[[], Any]] = {
        CALIBRATION: lambda: _calibration(schemas, rig, left.shape, stamp),
        TRANSFORM: lambda: schemas.FrameTransform(
            timestamp=stamp, parent_frame_id=WORLD_FRAME, child_frame_id=CAMERA_FRAME,
            translation=schemas.Vector3(), rotation=schemas.Quaternion(x=-0.5, y=0.5, z=-0.5, w=0.5),
        ),  # z forward and y down become x forward and z up
        LEFT: lambda: _image(schemas, left if _is_grey(left) else as_rgb_bytes(left), stamp),
        POINTS: lambda: _points(schemas, rig, left, result, max_depth_mm, stamp),
        DEPTH: lambda: _image(schemas, depth * METRES_PER_MM, stamp),
    }  # fmt: skip
    if result.variance is not None:
        make[SIGMA] = lambda: _image(schemas, sigma_m(), stamp)
    if is_suspect:
        make[WARNINGS] = lambda: schemas.Log(
            timestamp=stamp,
            level=schemas.LogLevel.Warning,
            name="bdis",
            message="SUSPECT: decoded from a damaged frame",
        )
    for topic in TOPICS:
        if topic in wanted and topic in make:
            yield topic, make[topic]().encode()


def _is_grey(image: Array) -> bool:
    return image.dtype == np.uint8 and image.ndim == 2


def _image(schemas: Any, image: Array, stamp: Any) -> Any:
    height, width = image.shape[:2]
    encoding = {"f": "32FC1"}.get(image.dtype.kind, "mono8" if image.ndim == 2 else "rgb8")
    step = width * image.itemsize * (1 if image.ndim == 2 else 3)
    return schemas.RawImage(
        timestamp=stamp, frame_id=CAMERA_FRAME, width=width, height=height, encoding=encoding, step=step,
        data=image.tobytes(),
    )  # fmt: skip


def _calibration(schemas: Any, rig: Rig, shape: tuple[int, ...], stamp: Any) -> Any:
    f, cx, cy = rig.focal_px, rig.cx, rig.cy
    return schemas.CameraCalibration(
        timestamp=stamp, frame_id=CAMERA_FRAME, width=shape[1], height=shape[0],
        distortion_model="plumb_bob", D=[0.0] * 5, K=[f, 0, cx, 0, f, cy, 0, 0, 1],
        R=[1, 0, 0, 0, 1, 0, 0, 0, 1], P=[f, 0, cx, 0, 0, f, cy, 0, 0, 0, 1, 0],
    )  # fmt: skip


def _points(schemas: Any, rig: Rig, left: Array, result: StereoResult, max_depth_mm: float | None, stamp: Any) -> Any:
    every = math.ceil(math.sqrt(result.disparity.size / MAX_POINTS))
    cloud = rig.cloud(result, left, max_depth_mm=max_depth_mm, every=every)
    names = [*"xyz", "red", "green", "blue", "alpha", "sigma"]
    kinds = ["<f4"] * 3 + ["u1"] * 4 + ["<f4"]
    points = np.zeros(len(cloud), list(zip(names, kinds)))
    for column, name in enumerate("xyz"):
        points[name] = cloud.points[:, column] * METRES_PER_MM
    assert cloud.colors is not None
    for column, name in enumerate(("red", "green", "blue")):
        points[name] = cloud.colors[:, column]
    points["alpha"] = 255
    points["sigma"] = np.nan if cloud.sigma_mm is None else cloud.sigma_mm * METRES_PER_MM
    number = schemas.PackedElementFieldNumericType
    fields = [
        schemas.PackedElementField(
            name=name,
            offset=points.dtype.fields[name][1],  # type: ignore[index]
            type=number.Uint8 if kind == "u1" else number.Float32,
        )
        for name, kind in zip(names, kinds)
    ]
    return schemas.PointCloud(
        timestamp=stamp, frame_id=CAMERA_FRAME, point_stride=points.itemsize, fields=fields, data=points.tobytes(),
        pose=schemas.Pose(position=schemas.Vector3(), orientation=schemas.Quaternion(w=1)),
    )  # fmt: skip
