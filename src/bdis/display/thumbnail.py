"""Small pictures of maps as PNG, made with nothing but NumPy: for the page of a notebook."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from .colors import UNKNOWN_ON_LIGHT, Range, Rgb, color_steps, color_table

MAX_PIXELS = 160 * 120  # of a thumbnail: at most 20 kB as PNG, whatever it shows


def thumbnail(values: Array, colormap: str, span: Range, *, unknown: Rgb = UNKNOWN_ON_LIGHT) -> bytes:
    """A map in colours, as a small PNG.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        NaN where unknown.  Of a larger map every so many pixels are shown: a mean would mix known with unknown.
    colormap : str
        As for :func:`color_table`.
    span : (float, float)
        Values of the first and the last colour.
    unknown : tuple of int
        RGB colour of unknown pixels.

    Returns
    -------
    bytes
        Content of a PNG file with at most ``MAX_PIXELS`` pixels.

    Examples
    --------
    >>> picture = thumbnail(np.full((480, 640), 50, np.float32), "turbo", (0, 100))
    >>> picture[1:4], len(picture) < 2000
    (b'PNG', True)
    """
    height, width = values.shape
    every = max(1, int(np.ceil(np.sqrt(height * width / MAX_PIXELS))))
    values = np.where(np.isfinite(values[::every, ::every]), values[::every, ::every], np.nan).astype(np.float32)
    return _png(color_steps(values, span), color_table(colormap, unknown))


def address(png: bytes) -> str:
    """A PNG as the address of an ``img`` element.

    Examples
    --------
    >>> address(b"PNG")
    'data:image/png;base64,UE5H'
    """
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _png(steps: NDArray[np.uint8], table: NDArray[np.uint8]) -> bytes:
    """A PNG with a palette: ``steps`` (h, w) are indices of ``table`` (256, 3)."""
    height, width = steps.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, palette
    rows = np.pad(steps, ((0, 0), (1, 0)))  # a row begins with the number of its filter: 0, none
    parts = ((b"IHDR", header), (b"PLTE", table.tobytes()), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
