"""Arrays as the fields of ``sensor_msgs/Image`` and back: pictures, depth, and what is compressed.

As in ``messages.py``, messages are any objects that have their fields as attributes, and what is written are dicts.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.arrays import Array
from ...common.optional import require
from ...common.printable import printable
from ...common.reading import check_pixels
from ...files.images import decode_image

Fields = dict[str, Any]

MM_PER_M = 1000.0
MOST_MM = 65535  # of a depth image of whole mm


class _Encoding(NamedTuple):
    """How pixels lie in an image message."""

    dtype: type[np.generic]
    channels: int = 1
    is_bgr: bool = False
    conversion: str | None = None  # name of OpenCV's conversion to RGB
    least_px: int = 1  # width and height that this conversion needs
    whole_px: int = 1  # of which the width must be a multiple


_PIXELS = {
    "mono8": _Encoding(np.uint8), "8UC1": _Encoding(np.uint8),
    "mono16": _Encoding(np.uint16), "16UC1": _Encoding(np.uint16),
    "rgb8": _Encoding(np.uint8, 3), "rgba8": _Encoding(np.uint8, 4),
    "bgr8": _Encoding(np.uint8, 3, is_bgr=True), "bgra8": _Encoding(np.uint8, 4, is_bgr=True),
    "rgb16": _Encoding(np.uint16, 3), "rgba16": _Encoding(np.uint16, 4),
    "bgr16": _Encoding(np.uint16, 3, is_bgr=True), "bgra16": _Encoding(np.uint16, 4, is_bgr=True),
    # As cv_bridge names what it was not told more about: the order is that of OpenCV, which RViz assumes as well.
    "8UC3": _Encoding(np.uint8, 3, is_bgr=True), "8UC4": _Encoding(np.uint8, 4, is_bgr=True),
    "16UC3": _Encoding(np.uint16, 3, is_bgr=True), "16UC4": _Encoding(np.uint16, 4, is_bgr=True),
}  # fmt: skip
# What capture cards and webcams give: two pixels share their colour.  Each has an older and a newer name.
_YUV = {"yuv422": "UYVY", "uyvy": "UYVY", "yuv422_yuy2": "YUY2", "yuyv": "YUY2"}
# ROS names a pattern by its first two rows; OpenCV by the second and third pixel of the second row.
_BAYER = {"rggb": "BG", "bggr": "RG", "gbrg": "GR", "grbg": "GB"}
_ENCODINGS = (
    _PIXELS
    | {name: _Encoding(np.uint8, 2, conversion=f"COLOR_YUV2RGB_{code}", whole_px=2) for name, code in _YUV.items()}
    | {
        f"bayer_{pattern}{bits}": _Encoding(dtype, conversion=f"COLOR_Bayer{code}2RGB", least_px=3)
        for pattern, code in _BAYER.items()
        for bits, dtype in ((8, np.uint8), (16, np.uint16))
    }
)
_WRITTEN = {
    "mono8": (np.uint8, 2), "rgb8": (np.uint8, 3), "mono16": (np.uint16, 2), "rgb16": (np.uint16, 3),
    "16UC1": (np.uint16, 2), "32FC1": (np.float32, 2),
}  # fmt: skip


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
        It is a Bayer pattern or YUV, and OpenCV is not installed.

    Examples
    --------
    >>> image_of(SimpleNamespace(height=1, width=2, encoding="bgr8", is_bigendian=0, step=6, data=bytes(range(6))))
    array([[[2, 1, 0],
            [5, 4, 3]]], dtype=uint8)
    """
    encoding = _ENCODINGS.get(message.encoding)
    if encoding is None:
        known = f"{', '.join((*_PIXELS, *_YUV))}, bayer_rggb8 and its like"
        raise ValueError(f"images are encoded as {printable(repr(message.encoding))[:60]}; expected one of {known}")
    pixels = _pixels_of(message, encoding)
    height, width = pixels.shape[:2]
    if encoding.conversion is not None:
        if min(height, width) < encoding.least_px or width % encoding.whole_px:
            raise ValueError(f"an image of {width}x{height} cannot be encoded as {message.encoding}")
        cv2 = require("cv2", f"reading images encoded as {message.encoding}")
        colors: Array = cv2.cvtColor(pixels, getattr(cv2, encoding.conversion))
        return colors
    if encoding.channels == 1:
        return pixels
    return np.ascontiguousarray(pixels[..., 2::-1] if encoding.is_bgr else pixels[..., :3])


def _pixels_of(message: Any, encoding: _Encoding) -> Array:
    """The numbers of an image as they lie in the message: (h, w), or (h, w, channels)."""
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
    dtype = np.dtype(encoding.dtype)
    typed = np.ascontiguousarray(rows).view(dtype.newbyteorder(">" if message.is_bigendian else "<"))
    pixels: Array = typed.astype(encoding.dtype, copy=False)
    return pixels if encoding.channels == 1 else pixels.reshape(height, width, encoding.channels)


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


def depth_mm_of(message: Any) -> NDArray[np.float32]:
    """The depth of a ``sensor_msgs/Image`` of 32FC1 in metres, in mm.

    Parameters
    ----------
    message : object
        As of :func:`image_of`.

    Returns
    -------
    ndarray of float32, shape (h, w)
        NaN = unknown.

    Raises
    ------
    ValueError
        It is another image, or the size, the step and the data contradict each other.

    Examples
    --------
    >>> depth_mm_of(SimpleNamespace(**depth_fields(np.float32([[62.5, np.nan]])))).tolist()
    [[62.5, nan]]
    """
    if message.encoding != "32FC1":
        raise ValueError(f"depth is encoded as {printable(repr(message.encoding))[:60]}; expected 32FC1")
    return _pixels_of(message, _Encoding(np.float32)) * np.float32(MM_PER_M)


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
