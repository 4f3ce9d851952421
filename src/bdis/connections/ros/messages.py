"""Rigs, disparities and clouds as the fields of ROS messages, and back; ``image_messages.py`` has images.

Messages are taken as any object that has their fields as attributes: those of rosbags, rospy and rclpy do.  What is
written are dicts of fields, without the headers that only the caller knows.  ROS 1 writes some names in capitals (D, K,
R, P of a camera_info, T of a disparity image); here they are in small letters, and :func:`named_for_ros1` changes them.

ROS measures in metres, bdis in mm: these two files are where one becomes the other.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...cameras.cloud import Cloud
from ...cameras.formats import CalibrationFile, check_plausible
from ...cameras.formats.ros import camera_info_pair
from ...cameras.rig import Rig
from ...common.arrays import Array
from .image_messages import MM_PER_M, Fields, image_fields

Side = Literal["left", "right"]

OTHER_CALIBRATION = "give the calibration (--calib FILE)"
_NS_PER_S = 10**9
_FLOAT32, _POINT_BYTES = 7, 20  # PointField.FLOAT32; x, y, z, rgb and sigma
_CAPITAL = {"d": "D", "k": "K", "r": "R", "p": "P", "t": "T"}


# --- Cameras ----------------------------------------------------------------------------------------------------------


def cameras_of(left: Any, right: Any) -> CalibrationFile:
    """The cameras of two ``sensor_msgs/CameraInfo``.

    Parameters
    ----------
    left, right : object
        With the fields height, width, distortion_model, and d, k, r and p, or D, K, R and P; binning_x, binning_y and
        roi if they have them.

    Returns
    -------
    CalibrationFile
        With the rectified cameras of P, and the raw ones.

    Raises
    ------
    ValueError
        A matrix is missing or makes no sense, no stereo camera has their baseline, or the images are a part of the
        sensor or binned.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rig = Rig(500, 320, 240, 5, size=(640, 480))
    >>> infos = [SimpleNamespace(**camera_info_fields(rig, side) | {"roi": None}) for side in ("left", "right")]
    >>> cameras_of(*infos).rectified["baseline_mm"]
    5.0
    """
    infos = _camera_info_values(left, "left"), _camera_info_values(right, "right")
    found = camera_info_pair(*infos, MM_PER_M, "m (ROS convention)")
    check_plausible(found, f"P[0,3] of the right camera is not -f T in px m; {OTHER_CALIBRATION}")
    return found


def camera_info_fields(rig: Rig, side: Side) -> Fields:
    """The fields of a ``sensor_msgs/CameraInfo`` of rectified images, without its header.

    Parameters
    ----------
    rig : Rig
        With a size.
    side : {"left", "right"}

    Returns
    -------
    dict
        height, width, distortion_model, d, k, r, p, binning_x, binning_y and roi.

    Examples
    --------
    >>> camera_info_fields(Rig(500, 320, 240, 5, size=(640, 480)), "right")["p"].reshape(3, 4)[0].tolist()
    [500.0, 0.0, 320.0, -2.5]
    """
    if rig.size is None:
        raise ValueError("a camera_info needs the size of the images: Rig(..., size=(width, height))")
    width, height = rig.size
    is_right = side == "right"
    cx = rig.cx + rig.doffs if is_right else rig.cx
    shift = -rig.focal_px * rig.baseline_mm / MM_PER_M if is_right else 0.0
    p = np.array([[rig.focal_px, 0, cx, shift], [0, rig.focal_px, rig.cy, 0], [0, 0, 1, 0]], np.float64)
    return {
        "height": height, "width": width, "distortion_model": "plumb_bob", "d": np.zeros(5),
        "k": p[:, :3].reshape(-1).copy(), "r": np.eye(3).reshape(-1), "p": p.reshape(-1),
        "binning_x": 0, "binning_y": 0, "roi": window_fields(0, 0, 0, 0),
    }  # fmt: skip


def is_calibrated(message: Any) -> bool:
    """Whether a ``sensor_msgs/CameraInfo`` has a calibration; the K of a camera without one is 0.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> is_calibrated(SimpleNamespace(K=np.zeros(9)))
    False
    """
    return any(_numbers(message, "k").tolist())  # np.any warns of signalling NaN, which a bag may have


def _numbers(message: Any, name: str) -> Array:
    """The numbers of a matrix, whose name ROS 1 writes in capitals."""
    value = getattr(message, name, None)
    return np.asarray(getattr(message, name.upper(), ()) if value is None else value, np.float64)


def _camera_info_values(message: Any, side: str) -> dict[str, Any]:
    """Names and values as in a camera_info file."""
    values: dict[str, list[float]] = {name: _numbers(message, name).tolist() for name in "dkrp"}
    if not any(values["k"]) or not any(values["p"]):
        raise ValueError(f"the camera_info of the {side} camera has no calibration: its K or P is 0")
    roi = getattr(message, "roi", None)
    part = {} if roi is None else {name: getattr(roi, name) for name in ("x_offset", "y_offset", "width", "height")}
    binning = {name: getattr(message, name, 0) for name in ("binning_x", "binning_y")}
    size = {"width": int(message.width), "height": int(message.height)}
    return {**values, **size, **binning, "roi": part, "distortion_model": str(message.distortion_model)}


# --- Disparity and points ---------------------------------------------------------------------------------------------


def disparity_fields(disparity: Array, rig: Rig, searched: tuple[float, float] | None = None) -> Fields:
    """The fields of a ``stereo_msgs/DisparityImage``, without its header and that of its image.

    As in ROS, depth = f t / disparity: what the principal points of the cameras differ by is in the disparity.  Unknown
    pixels are 1 px below ``min_disparity``.  Disparities are not rounded: ``delta_d`` is the resolution of float32.

    Parameters
    ----------
    disparity : ndarray of float32, shape (h, w)
        px; NaN = unknown.
    rig : Rig
        The rectified cameras.
    searched : (float, float), optional
        Smallest and largest disparity that were looked for, px.  Default: those that were found.

    Returns
    -------
    dict
        image (a dict as of :func:`image_fields`), f (px), t (m), valid_window, min_disparity, max_disparity and delta_d
        (px).

    Examples
    --------
    >>> fields = disparity_fields(np.float32([[25, np.nan]]), Rig(500, 320, 240, 5))
    >>> fields["image"]["data"].view(np.float32).tolist(), fields["f"], fields["t"], fields["min_disparity"]
    ([25.0, 24.0], 500.0, 0.005, 25.0)
    """
    shift = np.asarray(disparity, np.float32) + np.float32(rig.doffs)
    with np.errstate(invalid="ignore"):
        known = shift > 0  # the others are unknown, or behind infinity
    found = shift[known]
    low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 0.0)
    if searched is not None:
        low, high = min(low, searched[0] + rig.doffs), max(high, searched[1] + rig.doffs)
    low = max(low, 0.0)
    rows, columns = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    window = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) if len(rows) else (0, 0, 0, 0)
    return {
        "image": image_fields(np.where(known, shift, np.float32(low - 1)), "32FC1"),
        "f": rig.focal_px,
        "t": rig.baseline_mm / MM_PER_M,
        "valid_window": window_fields(*map(int, window)),
        "min_disparity": low,
        "max_disparity": high,
        "delta_d": float(np.spacing(np.float32(max(high, 1)))),
    }


def window_fields(left: int, top: int, right: int, bottom: int) -> Fields:
    """The fields of a ``sensor_msgs/RegionOfInterest``; ``right`` and ``bottom`` are the first pixels beyond it."""
    return {"x_offset": left, "y_offset": top, "height": bottom - top, "width": right - left, "do_rectify": False}


def point_cloud_fields(cloud: Cloud) -> Fields:
    """The fields of a ``sensor_msgs/PointCloud2``, without its header: x, y, z in metres, rgb, sigma in metres.

    Parameters
    ----------
    cloud : Cloud
        Points in mm; those without colours are white, those without a sigma have NaN.

    Returns
    -------
    dict
        height, width, fields (a list of dicts), is_bigendian, point_step, row_step, data (a flat ndarray of uint8) and
        is_dense.

    Examples
    --------
    >>> fields = point_cloud_fields(Cloud(np.float32([[1, 2, 50]]), np.uint8([[255, 0, 16]]), np.float32([0.5])))
    >>> fields["data"].view(np.float32)[[2, 4]].tolist(), hex(fields["data"].view(np.uint32)[3])
    ([0.05000000074505806, 0.0005000000237487257], '0xff0010')
    """
    count = len(cloud)
    points: NDArray[np.float32] = np.full((count, 5), np.nan, "<f4")
    points[:, :3] = cloud.points / np.float32(MM_PER_M)
    packed: NDArray[np.uint32] = np.full(count, 0xFFFFFF, "<u4")
    if cloud.colors is not None:
        red, green, blue = cloud.colors.astype(np.uint32).T
        packed[:] = red << 16 | green << 8 | blue
    points.view("<u4")[:, 3] = packed  # as all of ROS does: three bytes within a float32
    if cloud.sigma_mm is not None:
        points[:, 4] = cloud.sigma_mm / np.float32(MM_PER_M)
    names = ("x", "y", "z", "rgb", "sigma")
    return {
        "height": 1,
        "width": count,
        "fields": [
            {"name": name, "offset": 4 * number, "datatype": _FLOAT32, "count": 1} for number, name in enumerate(names)
        ],
        "is_bigendian": False,
        "point_step": _POINT_BYTES,
        "row_step": _POINT_BYTES * count,
        "data": points.reshape(-1).view(np.uint8),
        "is_dense": True,  # every point is known
    }


# --- Headers and names ------------------------------------------------------------------------------------------------


def stamp_ns_of(header: Any) -> int:
    """The stamp of a ``std_msgs/Header`` in ns since 1970.

    Parameters
    ----------
    header : object
        Its stamp has the fields sec and nanosec (rosbags, rclpy) or secs and nsecs (rospy).

    Raises
    ------
    ValueError
        The nanoseconds are a second or more.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> stamp_ns_of(SimpleNamespace(stamp=SimpleNamespace(secs=7, nsecs=5)))
    7000000005
    """
    stamp = header.stamp
    seconds = int(stamp.secs if hasattr(stamp, "secs") else stamp.sec)
    rest = int(stamp.nsecs if hasattr(stamp, "nsecs") else stamp.nanosec)
    if not 0 <= rest < _NS_PER_S:
        raise ValueError(f"a stamp of {seconds} s and {rest} ns; expected less than {_NS_PER_S} ns")
    return seconds * _NS_PER_S + rest


def stamp_fields(stamp_ns: int) -> Fields:
    """A stamp in ns as sec and nanosec.

    >>> stamp_fields(7000000005)
    {'sec': 7, 'nanosec': 5}
    """
    return dict(zip(("sec", "nanosec"), divmod(stamp_ns, _NS_PER_S)))


def named_for_ros1(fields: Fields) -> Fields:
    """Fields with the capital letters of ROS 1.

    >>> named_for_ros1({"f": 500.0, "t": 0.005})
    {'f': 500.0, 'T': 0.005}
    """
    return {_CAPITAL.get(name, name): value for name, value in fields.items()}
