"""Arrays, rigs and clouds as the fields of ROS messages, and back.

Messages are taken as any object that has their fields as attributes: those of rosbags, rospy and rclpy do.  What is
written are dicts of fields, without the headers that only the caller knows.  ROS 1 writes some names in capitals (D, K,
R, P of a camera_info, T of a disparity image); here they are in small letters, and :func:`named_for_ros1` changes them.

ROS measures in metres, bdis in mm: this file is where one becomes the other.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...cameras.cloud import Cloud
from ...cameras.formats.base import CalibrationFile
from ...cameras.formats.ros import camera_info_pair
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...common.optional import require
from ...common.printable import printable
from ...common.reading import check_pixels
from ...files.images import decode_image

Fields = dict[str, Any]
Side = Literal["left", "right"]

MM_PER_M = 1000.0
MOST_MM = 65535  # of a depth image of whole mm
_NS_PER_S = 10**9
_FLOAT32, _POINT_BYTES = 7, 20  # PointField.FLOAT32; x, y, z, rgb and sigma
_CAPITAL = {"d": "D", "k": "K", "r": "R", "p": "P", "t": "T"}


class _Encoding(NamedTuple):
    """How pixels lie in an image message."""

    dtype: type[np.generic]
    channels: int = 1
    is_bgr: bool = False
    bayer: str | None = None  # name of OpenCV's conversion to RGB


_PIXELS = {
    "mono8": _Encoding(np.uint8), "8UC1": _Encoding(np.uint8),
    "mono16": _Encoding(np.uint16), "16UC1": _Encoding(np.uint16),
    "rgb8": _Encoding(np.uint8, 3), "rgba8": _Encoding(np.uint8, 4),
    "bgr8": _Encoding(np.uint8, 3, is_bgr=True), "bgra8": _Encoding(np.uint8, 4, is_bgr=True),
    "rgb16": _Encoding(np.uint16, 3), "rgba16": _Encoding(np.uint16, 4),
    "bgr16": _Encoding(np.uint16, 3, is_bgr=True), "bgra16": _Encoding(np.uint16, 4, is_bgr=True),
}  # fmt: skip
# ROS names a pattern by its first two rows; OpenCV by the second and third pixel of the second row.
_BAYER = {"rggb": "BG", "bggr": "RG", "gbrg": "GR", "grbg": "GB"}
_ENCODINGS = _PIXELS | {
    f"bayer_{pattern}{bits}": _Encoding(dtype, bayer=f"COLOR_Bayer{code}2RGB")
    for pattern, code in _BAYER.items()
    for bits, dtype in ((8, np.uint8), (16, np.uint16))
}
_WRITTEN = {
    "mono8": (np.uint8, 2), "rgb8": (np.uint8, 3), "mono16": (np.uint16, 2), "rgb16": (np.uint16, 3),
    "16UC1": (np.uint16, 2), "32FC1": (np.float32, 2),
}  # fmt: skip


# --- Images -----------------------------------------------------------------------------------------------------------


def image_of(message: Any) -> Array:
    """The pixels of a ``sensor_msgs/Image``.

    Parameters
    ----------
    message : object
        With the fields height, width, encoding, is_bigendian, step and data (bytes, or ndarray of uint8).

    Returns
    -------
    ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey or RGB; transparency is dropped.

    Raises
    ------
    ValueError
        The encoding is not known, or the size, the step and the data contradict each other.
    ImportError
        It is a Bayer pattern, and OpenCV is not installed.

    Examples
    --------
    >>> image_of(SimpleNamespace(height=1, width=2, encoding="bgr8", is_bigendian=0, step=6, data=bytes(range(6))))
    array([[[2, 1, 0],
            [5, 4, 3]]], dtype=uint8)
    """
    encoding = _ENCODINGS.get(message.encoding)
    if encoding is None:
        known = f"{', '.join(_PIXELS)}, bayer_rggb8 and its like"
        raise ValueError(f"images are encoded as {printable(repr(message.encoding))[:60]}; expected one of {known}")
    height, width, step = int(message.height), int(message.width), int(message.step)
    if height < 1 or width < 1:
        raise ValueError(f"an image of {width}x{height} pixels has none")
    check_pixels(width, height, "an image")
    row_bytes = width * encoding.channels * np.dtype(encoding.dtype).itemsize
    data = np.frombuffer(message.data, np.uint8)
    # The last row may end with its last pixel.
    if step < row_bytes or len(data) < (height - 1) * step + row_bytes:
        raise ValueError(
            f"an image of {width}x{height} as {message.encoding} has {len(data)} bytes in rows of {step}; "
            f"expected rows of {row_bytes} or more"
        )
    rows = np.lib.stride_tricks.as_strided(data, (height, row_bytes), (step, 1), writeable=False)
    order = ">" if message.is_bigendian else "<"
    typed = np.ascontiguousarray(rows).view(np.dtype(encoding.dtype).newbyteorder(order))
    pixels: Array = typed.astype(encoding.dtype, copy=False)
    if encoding.bayer is not None:
        if height < 3 or width < 3:
            raise ValueError(f"an image of {width}x{height} is too small for a Bayer pattern")
        cv2 = require("cv2", "reading images of a Bayer pattern")
        colors: Array = cv2.cvtColor(pixels, getattr(cv2, encoding.bayer))
        return colors
    if encoding.channels == 1:
        return pixels
    pixels = pixels.reshape(height, width, encoding.channels)
    return np.ascontiguousarray(pixels[..., 2::-1] if encoding.is_bgr else pixels[..., :3])


def compressed_image_of(message: Any) -> Array:
    """The pixels of a ``sensor_msgs/CompressedImage`` of JPEG or PNG.

    Parameters
    ----------
    message : object
        With the fields format and data (bytes, or ndarray of uint8).

    Returns
    -------
    ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey or RGB.

    Raises
    ------
    ValueError
        It is no JPEG or PNG, or is damaged.
    ImportError
        OpenCV is not installed.

    Examples
    --------
    >>> from bdis.files.images import encode_pixels
    >>> content = encode_pixels(np.full((2, 3), 7, np.uint8), ".png")
    >>> compressed_image_of(SimpleNamespace(format="png", data=content)).tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    content = bytes(message.data)
    if not content.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")):
        kind = printable(repr(message.format))[:60]
        raise ValueError(f"a compressed image of format {kind} is neither JPEG nor PNG")
    image = decode_image(content, "a compressed image")
    # The format tells what was compressed, such as "rgb8; png compressed bgr8"; of Bayer patterns the colours are left.
    pattern = str(message.format).partition(";")[0].strip()
    if image.ndim == 2 and pattern.startswith("bayer_"):
        return image_of(SimpleNamespace(**image_fields(image) | {"encoding": pattern}))
    return image


def image_fields(pixels: Array, encoding: str | None = None) -> Fields:
    """The fields of a ``sensor_msgs/Image``, without its header.

    Parameters
    ----------
    pixels : ndarray of uint8, uint16 or float32, shape (h, w) or (h, w, 3)
        Grey, RGB, or values such as depth.
    encoding : {"mono8", "rgb8", "mono16", "rgb16", "16UC1", "32FC1"}, optional
        Default: mono8, rgb8, mono16 or rgb16 for images, 32FC1 for float32.

    Returns
    -------
    dict
        height, width, encoding, is_bigendian, step and data (a flat ndarray of uint8).

    Raises
    ------
    ValueError
        The pixels do not fit the encoding.

    Examples
    --------
    >>> fields = image_fields(np.zeros((2, 3), np.float32))
    >>> fields["encoding"], fields["step"], len(fields["data"])
    ('32FC1', 12, 24)
    """
    if encoding is None:
        kinds = {kind: name for name, kind in _WRITTEN.items() if name != "16UC1"}
        encoding = kinds.get((pixels.dtype.type, pixels.ndim), "unknown")
    dtype, ndim = _WRITTEN.get(encoding, (None, 0))
    if pixels.dtype != dtype or pixels.ndim != ndim or (ndim == 3 and pixels.shape[2] != 3):
        raise ValueError(f"pixels of shape {pixels.shape}, {pixels.dtype}, cannot be encoded as {encoding}")
    little = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("<"))
    height, width = pixels.shape[:2]
    return {
        "height": height, "width": width, "encoding": encoding, "is_bigendian": 0,
        "step": little.strides[0], "data": little.reshape(-1).view(np.uint8),
    }  # fmt: skip


def depth_fields(depth_mm: Array) -> Fields:
    """The fields of a depth image of REP 118: 32FC1 in metres, NaN = unknown.

    Parameters
    ----------
    depth_mm : ndarray of float32, shape (h, w)
        Depth, or its standard deviation, in mm; NaN = unknown.

    Returns
    -------
    dict
        As of :func:`image_fields`.

    Examples
    --------
    >>> depth_fields(np.float32([[62.5]]))["data"].view(np.float32).tolist()
    [0.0625]
    """
    return image_fields(np.asarray(depth_mm / np.float32(MM_PER_M), np.float32), "32FC1")


def depth_mm_fields(depth_mm: Array) -> Fields:
    """The fields of a depth image of whole mm: 16UC1, 0 = unknown, or more than 65535 mm.

    Parameters
    ----------
    depth_mm : ndarray of float32, shape (h, w)
        NaN = unknown.

    Returns
    -------
    dict
        As of :func:`image_fields`.

    Examples
    --------
    >>> depth_mm_fields(np.float32([[62.5, np.nan, 0.2, 1e6]]))["data"].view(np.uint16).tolist()
    [62, 0, 1, 0]
    """
    whole = np.maximum(np.rint(depth_mm), 1)  # 0 would mean unknown
    with np.errstate(invalid="ignore"):
        return image_fields(np.where(whole <= MOST_MM, whole, 0).astype(np.uint16), "16UC1")


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
        A matrix is missing or makes no sense, or the images are a part of the sensor or binned.

    Examples
    --------
    >>> rig = Rig(500, 320, 240, 5, size=(640, 480))
    >>> infos = [SimpleNamespace(**camera_info_fields(rig, side) | {"roi": None}) for side in ("left", "right")]
    >>> cameras_of(*infos).rectified["baseline_mm"]
    5.0
    """
    pair = [_camera_info_values(message, side) for message, side in ((left, "left"), (right, "right"))]
    return camera_info_pair(*pair, MM_PER_M, "m (ROS convention)")


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


def _camera_info_values(message: Any, side: str) -> dict[str, Any]:
    """Names and values as in a camera_info file."""
    values = {}
    for name in "dkrp":
        value = getattr(message, name, None)
        values[name] = np.asarray(getattr(message, name.upper(), ()) if value is None else value, np.float64).tolist()
    if not any(values["k"]) or not any(values["p"]):
        raise ValueError(f"the camera_info of the {side} camera has no calibration: its K or P is 0")
    roi = getattr(message, "roi", None)
    is_part = roi is not None and (roi.width or roi.height or roi.x_offset or roi.y_offset)
    is_whole = is_part and (roi.x_offset, roi.y_offset, roi.width, roi.height) == (0, 0, message.width, message.height)
    if max(getattr(message, "binning_x", 0), getattr(message, "binning_y", 0)) > 1 or (is_part and not is_whole):
        raise ValueError(
            f"the camera_info of the {side} camera is of binned images or of a part of the sensor (roi), which bdis "
            "does not apply: give the calibration of the images as they are (--calib FILE)"
        )
    width, height = int(message.width), int(message.height)
    return {**values, "width": width, "height": height, "distortion_model": str(message.distortion_model)}


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
