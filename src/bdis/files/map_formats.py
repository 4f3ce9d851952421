"""File formats of disparity and depth maps, in one table.

To add a format, write its functions and add a line to ``FORMATS``.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, as_numbers, holds_numbers
from ..common.atomic import Place, write_whole
from ..common.npz import Npz, read_npy
from ..common.printable import printable
from ..common.reading import MAX_IMAGE_BYTES, read_limited
from .images import decode_pixels, encode_pixels
from .pfm import decode_pfm, encode_pfm

FloatMap = NDArray[np.float32]


@dataclass(frozen=True)
class Quantity:
    """What a map shows; the formats that store integers or several maps need to know it.

    Attributes
    ----------
    name : str
        With its article, for messages: "a disparity".
    npz_name : str
        Name of its array in a result file (``.npz``).
    to_png : callable
        Converts a float32 map to the uint16 values of a PNG, 0 = unknown.
    png_steps : float
        Steps of a PNG per px or mm, for reading.
    """

    name: str
    npz_name: str
    to_png: Callable[[FloatMap], NDArray[np.uint16]]
    png_steps: float


@dataclass(frozen=True)
class MapFormat:
    """A file format of maps.

    Attributes
    ----------
    endings : tuple of str
        Endings of its file names.
    decode : callable
        Takes the content of a file, its name for messages and the :class:`Quantity`; returns an array.
    encode : callable or None
        Takes a float32 map (NaN = unknown), the ending and the :class:`Quantity`; returns the content of a file.  None
        if maps are only read in this format.
    """

    endings: tuple[str, ...]
    decode: Callable[[bytes, Place, Quantity], Array]
    encode: Callable[[FloatMap, str, Quantity], bytes] | None = None


def write_map(path: Place, values: Any, name: str, quantity: Quantity) -> None:
    """Write a map in the format of the ending of ``path``; ``name`` is what the caller's parameter is called."""
    array = as_numbers(values, name).astype(np.float32, copy=False)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; expected (height, width)")
    by_ending = {ending: each.encode for each in FORMATS if each.encode is not None for ending in each.endings}
    ending = check_ending(path, tuple(by_ending), quantity.name)
    write_whole(path, by_ending[ending](array, ending, quantity))


def as_map(values: Array) -> FloatMap:
    """``values`` as float32; what is not finite, or too large for float32, becomes NaN."""
    with np.errstate(over="ignore"):
        array = values.astype(np.float32)
    return np.where(np.isfinite(array), array, np.float32(np.nan))


def decode_map(path: Place, quantity: Quantity) -> Array:
    """The values (h, w) of a map in the type that its file has."""
    by_ending = {ending: each for each in FORMATS for ending in each.endings}
    ending = check_ending(path, tuple(by_ending), quantity.name)
    values = by_ending[ending].decode(read_limited(path, MAX_IMAGE_BYTES), path, quantity)
    if values.ndim != 2:
        raise ValueError(f"{path} has shape {values.shape}; expected {quantity.name} of (height, width)")
    if not holds_numbers(values):
        raise ValueError(f"{path} holds {values.dtype}; {quantity.name} is numbers")
    return values


def check_ending(path: Place, known: tuple[str, ...], what: str) -> str:
    """Return the ending of ``path`` in lower case; ValueError if it is not one of the known ones."""
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ValueError(f"{path} ends with {ending!r}; {what} is stored as {', '.join(known)}")
    return ending


def readable(load: Callable[[], Any], path: Place, what: str) -> Any:
    """Call ``load``; the various errors of NumPy and zipfile about a damaged file become one ValueError."""
    try:
        return load()
    except OSError:
        raise
    except Exception as error:
        reason = printable(str(error)) or type(error).__name__
        raise ValueError(f"{path} cannot be read as {what}: {reason}") from error


# --- The formats ------------------------------------------------------------------------------------------------------


def _decode_tiff(content: bytes, path: Place, quantity: Quantity) -> Array:
    return decode_pixels(content, path)


def _encode_tiff(values: FloatMap, ending: str, quantity: Quantity) -> bytes:
    return encode_pixels(values, ending)


def _decode_pfm(content: bytes, path: Place, quantity: Quantity) -> Array:
    values: Array = readable(lambda: decode_pfm(content), path, quantity.name)
    return values


def _encode_pfm(values: FloatMap, ending: str, quantity: Quantity) -> bytes:
    return encode_pfm(np.where(np.isnan(values), np.float32(np.inf), values))  # as in Middlebury's files


def _decode_npy(content: bytes, path: Place, quantity: Quantity) -> Array:
    values: Array = readable(lambda: read_npy(io.BytesIO(content)), path, quantity.name)
    return values


def _encode_npy(values: FloatMap, ending: str, quantity: Quantity) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _decode_npz(content: bytes, path: Place, quantity: Quantity) -> Array:
    name = quantity.npz_name
    values: Array = readable(lambda: Npz(content)[name], path, f"a result with {name}")
    return values


def _decode_png(content: bytes, path: Place, quantity: Quantity) -> Array:
    steps = decode_pixels(content, path)
    if steps.ndim == 2 and steps.dtype != np.uint16:
        raise ValueError(f"{path} is {steps.dtype}; {quantity.name} as PNG is uint16")
    return np.where(steps > 0, steps / np.float32(quantity.png_steps), np.float32(np.nan))


def _encode_png(values: FloatMap, ending: str, quantity: Quantity) -> bytes:
    return encode_pixels(quantity.to_png(values), ending)


FORMATS = (
    MapFormat((".tif", ".tiff"), _decode_tiff, _encode_tiff),
    MapFormat((".pfm",), _decode_pfm, _encode_pfm),
    MapFormat((".npy",), _decode_npy, _encode_npy),
    MapFormat((".npz",), _decode_npz),  # written by write_result, together with the other maps of a result
    MapFormat((".png",), _decode_png, _encode_png),
)
