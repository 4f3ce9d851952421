"""OpenIGTLink: what 3D Slicer, PLUS and other software of navigated surgery speak.

Only the messages; ``video/live/igtl.py`` sends them and ``video/sources/igtl.py`` receives them.  A message is a header
of 58 bytes and a body.  All numbers are big-endian, lengths are mm, and the axes of the world are those of the left
camera: x to the right, y down, z forward.  They are called R, A and S, because a receiver that is not told otherwise
takes coordinates for those: nothing is mirrored on the way.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.cloud import Cloud
from ..cameras.rig import Rig
from ..common.arrays import Array
from ..common.printable import printable
from ..common.reading import check_pixels
from . import kernels
from .kernels.crc64 import make_tables

HEADER_BYTES = 58
MAX_BODY_BYTES = 2**26  # 64 MB: two views of 4K in colour
PLANE_MM = 100.0  # distance from the camera at which images are placed
DEFAULT_PORT = 18944

_HEADER = struct.Struct(">H12s20sIIQQ")
_IMAGE = struct.Struct(">HBBBB3H12f6H")
_EXTENDED = struct.Struct(">HHII")
_POLYDATA = struct.Struct(">10I")
_RAS, _LITTLE_ENDIAN, _ASCII = 1, 2, 3
_SCALARS: dict[int, np.dtype[Any]] = {3: np.dtype(np.uint8), 5: np.dtype(np.uint16), 10: np.dtype(np.float32)}
_SCALAR_NUMBERS = {dtype: number for number, dtype in _SCALARS.items()}
_POINT_SCALAR, _POINT_VECTOR = 0, 1


# --- Sending ----------------------------------------------------------------------------------------------------------


def pack(kind: str, device: str, time_s: float, content: bytes) -> bytes:
    """A whole message, with the header of version 1, which every version of the protocol reads.

    Parameters
    ----------
    kind : str
        Such as "IMAGE".
    device : str
        Name under which the receiver shows it; at most 20 letters of ASCII.
    time_s : float
        Seconds since 1970.
    content : bytes
        Its body.

    Returns
    -------
    bytes

    Examples
    --------
    >>> message = pack("STRING", "Status", 1.5, string_content("well"))
    >>> parse_header(message[:HEADER_BYTES]).device
    'Status'
    """
    seconds = int(time_s)
    fraction = min(int((time_s - seconds) * 2**32), 2**32 - 1)
    header = _HEADER.pack(
        1, kind.encode("ascii"), device.encode("ascii"), seconds, fraction, len(content), crc64(content)
    )
    return header + content


def image_content(image: Array, matrix: NDArray[np.float64]) -> bytes:
    """Body of an IMAGE: one slice, whose column is the index i and whose row is the index j.

    Parameters
    ----------
    image : ndarray of uint8, uint16 or float32, shape (h, w) or (h, w, 3)
        Grey, RGB, or a map.
    matrix : ndarray, shape (4, 4)
        From (i, j, k, 1) to mm, see :func:`image_matrix`.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        The protocol has no such images.

    Examples
    --------
    >>> len(image_content(np.zeros((48, 64), np.float32), np.eye(4)))
    12360
    """
    if image.dtype not in _SCALAR_NUMBERS or image.ndim not in (2, 3):
        raise ValueError(f"an image of {image.dtype} with {image.ndim} dimensions cannot be sent with OpenIGTLink")
    height, width = image.shape[:2]
    size = (width, height, 1)
    centre = matrix @ [(width - 1) / 2, (height - 1) / 2, 0, 1]  # the protocol wants the centre, not the corner
    header = _IMAGE.pack(
        1, 1 if image.ndim == 2 else image.shape[2], _SCALAR_NUMBERS[image.dtype], _LITTLE_ENDIAN, _RAS, *size,
        *matrix[:3, :3].T.ravel(), *centre[:3], 0, 0, 0, *size,
    )  # fmt: skip
    pixels = np.ascontiguousarray(image, image.dtype.newbyteorder("<"))
    return b"".join((header, pixels.data))  # one copy of the pixels


def image_matrix(rig: Rig) -> NDArray[np.float64]:
    """From (column, row, 0, 1) to the point in mm where the ray of that pixel meets the plane z = ``PLANE_MM``.

    A map of depths is not a slice of a volume: its pixels lie on rays.  In that plane it has its true size, and the
    point that a pixel sees is the point of the plane times its depth, divided by ``PLANE_MM``.

    Parameters
    ----------
    rig : Rig
        The rectified cameras.

    Returns
    -------
    ndarray of float64, shape (4, 4)

    Examples
    --------
    >>> matrix = image_matrix(Rig(500, cx=320, cy=240, baseline_mm=5))
    >>> (matrix @ [320 + 500, 240, 0, 1]).tolist()
    [100.0, 0.0, 100.0, 1.0]
    """
    spacing = PLANE_MM / rig.focal_px
    matrix = np.diag([spacing, spacing, 1.0, 1.0])
    matrix[:3, 3] = -rig.cx * spacing, -rig.cy * spacing, PLANE_MM
    return matrix


def polydata_content(cloud: Cloud) -> bytes:
    """Body of a POLYDATA: every point a vertex, with the attributes Color (red, green, blue: 0 to 1) and Sigma_mm.

    Parameters
    ----------
    cloud : Cloud
        Points in mm.

    Returns
    -------
    bytes

    Examples
    --------
    >>> len(polydata_content(Cloud(np.zeros((5, 3), np.float32))))
    140
    """
    count = len(cloud)
    vertices = np.stack([np.ones(count), np.arange(count)], -1).astype(">u4").tobytes()
    attributes: list[tuple[int, bytes, NDArray[np.float32]]] = []
    if cloud.sigma_mm is not None:
        attributes.append((_POINT_SCALAR, b"Sigma_mm\0", cloud.sigma_mm[:, None]))
    if cloud.colors is not None:
        # Not as RGBA: OpenIGTLink 1.11 takes that for 9 numbers a point, reads past the message, and may crash.
        attributes.append((_POINT_VECTOR, b"Color\0", cloud.colors.astype(np.float32) / np.float32(255)))
    header = _POLYDATA.pack(count, count, len(vertices), 0, 0, 0, 0, 0, 0, len(attributes))
    kinds = b"".join(struct.pack(">BBI", kind, values.shape[1], count) for kind, _, values in attributes)
    names = b"".join(name for _, name, _ in attributes)
    names += b"\0" * (len(names) % 2)
    data = b"".join(values.astype(">f4").tobytes() for _, _, values in attributes)
    return header + cloud.points.astype(">f4").tobytes() + vertices + kinds + names + data


def string_content(text: str) -> bytes:
    """Body of a STRING.

    Examples
    --------
    >>> string_content("well").hex()
    '0003000477656c6c'
    """
    content = printable(text).encode("ascii", "replace")[:65535]
    return struct.pack(">HH", _ASCII, len(content)) + content


@lru_cache(1)
def _tables() -> NDArray[np.uint64]:
    return make_tables()


def crc64(content: bytes) -> int:
    """The check sum of a body.

    Examples
    --------
    >>> hex(crc64(b"123456789"))
    '0x6c40df5f0b497347'
    """
    return int(kernels.crc64_of(np.frombuffer(content, np.uint8)[None], _tables()))


# --- Receiving --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """What stands before a body.

    Attributes
    ----------
    version : int
        Of the header; from 2 on the body has an extended header and metadata.
    kind, device : str
        Type of the message and name of the device.
    time_s : float
        Seconds since 1970; 0 if the sender does not tell.
    body_bytes : int
        Size of the body, at most ``MAX_BODY_BYTES``.
    crc : int
        Its check sum.
    """

    version: int
    kind: str
    device: str
    time_s: float
    body_bytes: int
    crc: int


def parse_header(content: bytes) -> Header:
    """Read a header.  After an error nobody knows where the next message begins.

    Parameters
    ----------
    content : bytes
        ``HEADER_BYTES`` of them.

    Returns
    -------
    Header

    Raises
    ------
    ValueError
        It is not a header of OpenIGTLink, or declares a body that is too large.

    Examples
    --------
    >>> parse_header(b"GET / HTTP/1.1".ljust(58))
    Traceback (most recent call last):
    ValueError: this is not OpenIGTLink: a message has the version 18245; expected 1 to 3
    """
    version, kind, device, seconds, fraction, body_bytes, crc = _HEADER.unpack(content)
    if not 1 <= version <= 3:
        raise ValueError(f"this is not OpenIGTLink: a message has the version {version}; expected 1 to 3")
    names = [name.rstrip(b" \t\r\n\0") for name in (kind, device)]
    if not names[0] or not all(32 < letter < 127 for letter in names[0]):
        raise ValueError(f"this is not OpenIGTLink: a message has the type {names[0]!r}")
    if body_bytes > MAX_BODY_BYTES:
        raise ValueError(
            f"a message of type {names[0].decode()} declares {body_bytes} bytes; at most {MAX_BODY_BYTES} are taken"
        )
    kind, device = names[0].decode("ascii"), printable(names[1].decode("utf8", "replace"))
    return Header(version, kind, device, seconds + fraction / 2**32, body_bytes, crc)


def parse_image(header: Header, body: bytes) -> Array:
    """Read the image of an IMAGE message.

    Parameters
    ----------
    header : Header
        Its header.
    body : bytes
        ``header.body_bytes`` of them.

    Returns
    -------
    ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey or RGB.

    Raises
    ------
    ValueError
        The check sum is wrong, or it is not one whole slice of such pixels.

    Examples
    --------
    >>> message = pack("IMAGE", "Left", 0, image_content(np.full((2, 3), 7, np.uint8), np.eye(4)))
    >>> parse_image(parse_header(message[:HEADER_BYTES]), message[HEADER_BYTES:]).tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    if crc64(body) != header.crc:
        raise ValueError(f"an image of {header.device!r} has a wrong check sum: it was damaged on its way")
    content = _content(header, body)
    if len(content) < _IMAGE.size:
        raise ValueError(f"an image of {header.device!r} ends in its header")
    values = _IMAGE.unpack_from(content)
    components, scalar, endian, size, part = values[1], values[2], values[3], values[5:8], values[20:26]
    width, height, slices = size
    if slices != 1 or part != (0, 0, 0, *size) or 0 in size:
        raise ValueError(f"{header.device!r} sends {width}x{height}x{slices} voxels in parts; expected one whole image")
    check_pixels(width, height, f"an image of {header.device!r}")
    dtype = _SCALARS.get(scalar)
    if dtype is None or dtype.kind == "f" or components not in (1, 3) or endian not in (1, 2):
        raise ValueError(
            f"{header.device!r} sends pixels of type {scalar} with {components} components; "
            "expected 8 or 16 bit, grey or RGB"
        )
    expected = width * height * components * dtype.itemsize
    if len(content) - _IMAGE.size != expected:
        raise ValueError(
            f"an image of {header.device!r} of {width}x{height} has {len(content) - _IMAGE.size} bytes of pixels; "
            f"expected {expected}"
        )
    pixels = np.frombuffer(content, dtype.newbyteorder("<" if endian == _LITTLE_ENDIAN else ">"), offset=_IMAGE.size)
    shape = (height, width) if components == 1 else (height, width, 3)
    return pixels.astype(dtype).reshape(shape)


def _content(header: Header, body: bytes) -> bytes:
    """A body without extended header and metadata."""
    if header.version == 1:
        return body
    if len(body) < _EXTENDED.size:
        raise ValueError(f"a message of {header.device!r} ends in its extended header")
    begin, *metadata, _ = _EXTENDED.unpack_from(body)
    end = len(body) - sum(metadata)
    if not _EXTENDED.size <= begin <= end:
        raise ValueError(f"a message of {header.device!r} declares more metadata than it has bytes")
    return body[begin:end]
