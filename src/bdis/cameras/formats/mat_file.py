"""MATLAB's ``.mat`` files, of version 5 to 7 and of 7.3: numbers, texts and structs; nothing else is read, or run.

Version 5 is read here and not with SciPy: few of its parts are needed, every length is checked before memory is taken,
and nobody has to install more.  Version 7.3 is HDF5, for which h5py is needed.
"""

import io
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.optional import require

MAT_5, MAT_73 = b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file"
_HEADER = 128  # bytes
_MATRIX, _COMPRESSED = 14, 15
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
    17: "u2",
}
_STRUCT, _OBJECT, _CHAR, _OPAQUE, _NUMBERS = 2, 3, 4, 17, range(6, 16)
_MOST_BYTES = 2**26  # of what a file holds, uncompressed
_MOST_NUMBERS = 10_000  # of an array that is read; images and points are larger, and not needed
_MOST_FIELDS, _DEPTH = 1000, 16


@dataclass(frozen=True)
class MatlabObject:
    """An object of a MATLAB class, whose content only MATLAB understands."""

    class_name: str


def read_mat(content: bytes) -> dict[str, Any]:
    """Read the variables of a ``.mat`` file.

    Parameters
    ----------
    content : bytes
        Content of the file.

    Returns
    -------
    dict
        By name: arrays of float64 for numbers, with at least two dimensions as in MATLAB; str for texts; dicts for
        structs; :class:`MatlabObject` for objects; None for anything else, and for large arrays.

    Raises
    ------
    ValueError
        The file is damaged, or larger than any calibration.
    ImportError
        It is of version 7.3, and h5py is not installed.
    """
    try:
        if content.startswith(MAT_73):
            return _read_hdf5(content)
        order = {b"IM": "<", b"MI": ">"}[content[126:128]]
        return _Mat5(order).variables(memoryview(content)[_HEADER:])
    except (struct.error, KeyError, IndexError, zlib.error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError("a .mat file that is damaged or cut short") from error


class _Mat5:
    """The elements of a file of version 5, one inside the other."""

    def __init__(self, order: str):
        self._order = order
        self._left = _MOST_BYTES

    def variables(self, data: memoryview) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while len(data) >= 8:
            kind, part, data = self._element(data)
            if kind == _COMPRESSED:
                kind, part, _ = self._element(memoryview(self._inflated(part)))
            if kind == _MATRIX:
                name, value = self._matrix(part, _DEPTH)
                found[name] = value
                if len(found) > _MOST_FIELDS:
                    raise ValueError(f"more than {_MOST_FIELDS} variables")
        return found

    def _element(self, data: memoryview) -> tuple[int, memoryview, memoryview]:
        """Type and content of the first element, and what follows it."""
        kind, size = struct.unpack_from(f"{self._order}II", data)
        if kind >> 16:  # a small one: size and type share four bytes, and the content follows at once
            kind, size, start, end = kind & 0xFFFF, kind >> 16, 4, 8
            if size > 4:
                raise ValueError("a .mat file that is damaged: an element of the wrong size")
        else:
            start, end = 8, 8 + (size if kind == _COMPRESSED else -(-size // 8) * 8)
        if start + size > len(data):
            raise ValueError("a .mat file that is cut short")
        return kind, data[start : start + size], data[end:]

    def _inflated(self, data: memoryview) -> bytes:
        inflater = zlib.decompressobj()
        content = inflater.decompress(data, self._left)
        self._left -= len(content)
        if self._left <= 0:
            raise ValueError(f"more than {_MOST_BYTES >> 20} MB, which no calibration has")
        return content

    def _matrix(self, data: memoryview, depth: int) -> tuple[str, Any]:
        """Name and value of a variable or field."""
        if depth == 0:
            raise ValueError("a .mat file that is nested too deeply")
        if not len(data):  # an empty field
            return "", None
        _, flags, data = self._element(data)
        kind = struct.unpack_from(f"{self._order}I", flags)[0] & 0xFF
        if kind == _OPAQUE:
            texts = []
            for _ in range(3):  # name, type system, class
                _, text, data = self._element(data)
                texts.append(bytes(text).decode("latin-1"))
            return texts[0], MatlabObject(texts[2])
        _, dims, data = self._element(data)
        shape = np.frombuffer(dims, f"{self._order}i4").tolist()
        _, text, data = self._element(data)
        name = bytes(text).decode("latin-1")
        if kind == _OBJECT:
            _, text, data = self._element(data)
            return name, MatlabObject(bytes(text).decode("latin-1"))
        if kind == _STRUCT:
            return name, self._struct(shape, data, depth)
        if kind == _CHAR or kind in _NUMBERS:
            return name, self._values(kind, shape, data)
        return name, None

    def _struct(self, shape: list[int], data: memoryview, depth: int) -> dict[str, Any] | None:
        """A single struct; an array of several is not read."""
        _, length, data = self._element(data)
        width = struct.unpack_from(f"{self._order}i", length)[0]
        _, text, data = self._element(data)
        if math.prod(shape) != 1 or not 0 < width <= 64:
            return None
        names = [
            bytes(text[at : at + width]).partition(b"\0")[0].decode("latin-1") for at in range(0, len(text), width)
        ]
        if len(names) > _MOST_FIELDS:
            raise ValueError(f"a struct with more than {_MOST_FIELDS} fields")
        fields = {}
        for name in names:
            kind, part, data = self._element(data)
            fields[name] = self._matrix(part, depth - 1)[1] if kind == _MATRIX else None
        return fields

    def _values(self, kind: int, shape: list[int], data: memoryview) -> Array | str | None:
        storage, part, _ = self._element(data)
        if kind == _CHAR and storage == 16:  # UTF-8
            return bytes(part).decode("utf-8")
        if math.prod(shape) > _MOST_NUMBERS:
            return None
        dtype = np.dtype(f"{self._order}{_TYPES[storage]}")
        if min(shape, default=0) < 0 or len(part) != math.prod(shape) * dtype.itemsize:
            raise ValueError("a .mat file that is damaged: an array of the wrong size")
        values = np.frombuffer(part, dtype)
        if kind == _CHAR:
            if dtype.kind == "f":
                raise ValueError("a .mat file that is damaged: a text of fractions")
            return "".join(chr(code) for code in values.tolist())
        return values.astype(float).reshape(shape, order="F")


def _read_hdf5(content: bytes) -> dict[str, Any]:
    """A file of version 7.3."""
    h5py = require("h5py", "reading a .mat file of version 7.3")
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            return {name: value for name, value in _group(h5py, file, _DEPTH).items() if not name.startswith("#")}
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # h5py raises many kinds for damaged content
        raise ValueError("a .mat file of version 7.3 that is damaged or cut short") from error


def _group(h5py: Any, group: Any, depth: int) -> dict[str, Any]:
    if depth == 0 or len(group) > _MOST_FIELDS:
        raise ValueError("a .mat file that is nested too deeply, or has too many fields")
    found: dict[str, Any] = {}
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):  # others may lead to another file
            continue
        node = group[name]
        kind = node.attrs.get("MATLAB_class", b"")
        kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
        if isinstance(node, h5py.Group):
            found[name] = _group(h5py, node, depth - 1) if not name.startswith("#") else None
        elif "MATLAB_object_decode" in node.attrs:
            found[name] = MatlabObject(kind)
        elif node.attrs.get("MATLAB_empty", 0) or node.dtype.kind not in "biuf" or node.size > _MOST_NUMBERS:
            found[name] = "" if kind == "char" else None
        else:
            values = np.asarray(node[()]).T  # MATLAB stores columns
            found[name] = "".join(map(chr, values.ravel().astype(int))) if kind == "char" else values.astype(float)
    return found
