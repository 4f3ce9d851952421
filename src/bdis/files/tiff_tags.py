"""The directories of a TIFF: what its tags say, read without trust in any of it."""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
ROLE, WIDTH, HEIGHT, ORIENTATION = 254, 256, 257, 274  # numbers of tags
_LIMITED = (ROLE, WIDTH, HEIGHT, ORIENTATION)
# Kinds of whole numbers: libtiff takes each for any tag.  Negative ones become large, and are refused as such.
_KINDS = {1: "B", 3: "H", 4: "I", 6: "B", 8: "H", 9: "I", 16: "Q", 17: "Q"}
_MOST_TAGS = 1000


class Tiff:
    """The directories of a TIFF or BigTIFF, one for each page; methods raise struct.error where the content ends.

    Parameters
    ----------
    content : bytes
        Content of a file, with one of :data:`TIFF_STARTS`.
    """

    def __init__(self, content: bytes):
        self._content = content
        self._order = "<" if content.startswith(b"II") else ">"
        is_big = content[2:4] in (b"+\0", b"\0+")
        self._at_first, self._at_kind = (8, "Q") if is_big else (4, "I")
        self._count_kind, self._entry_bytes, self._value_at = ("Q", 20, 12) if is_big else ("H", 12, 8)

    def first(self) -> int:
        """Where the first directory is."""
        return self._number(self._at_kind, self._at_first)

    def next(self, start: int) -> int:
        """Where the directory after this one is; 0 if there is none."""
        count = self._number(self._count_kind, start)
        at = start + struct.calcsize(f"={self._count_kind}") + self._entry_bytes * count
        return self._number(self._at_kind, at)

    def limits(self, start: int) -> dict[int, int]:
        """Role, width, height and orientation of a directory, of which the largest counts if one is there twice."""
        found: dict[int, int] = {}
        for tag, kind, at in self._entries(start):
            if tag in _LIMITED and kind in _KINDS:
                value = self._number(_KINDS[kind], at + self._value_at)
                found[tag] = max(value, found.get(tag, 0))
        return found

    def value(self, start: int, tag: int, default: int) -> int:
        """The first number of a tag, or ``default`` if the directory does not have it."""
        numbers = self.numbers(start, (tag,), 1)
        return int(numbers[0]) if len(numbers) else default

    def numbers(self, start: int, tags: tuple[int, ...], most: int) -> NDArray[Any]:
        """The numbers of the first of these tags, at most ``most``; none if the directory has none of them."""
        for tag, kind, at in self._entries(start):
            if tag not in tags or kind not in _KINDS:
                continue
            dtype = np.dtype(self._order + _KINDS[kind])
            count = self._number(self._at_kind, at + 4)
            place = at + self._value_at
            if (
                count * dtype.itemsize > self._entry_bytes - self._value_at
            ):  # too many for the entry: they are elsewhere
                place = self._number(self._at_kind, place)
            count = min(count, most)
            if not count:
                break
            if place + count * dtype.itemsize > len(self._content):
                raise struct.error("the numbers of a tag are cut off")
            return np.frombuffer(self._content, dtype, count, place)
        return np.empty(0, np.uint64)

    def _entries(self, start: int) -> list[tuple[int, int, int]]:
        """Tag, kind and place of each entry of a directory."""
        count = self._number(self._count_kind, start)
        if count > _MOST_TAGS:  # of which some would not be looked at here, but by a decoder
            raise struct.error("a directory has too many tags")
        first = start + struct.calcsize(f"={self._count_kind}")
        places = [first + self._entry_bytes * number for number in range(count)]
        return [(self._number("H", at), self._number("H", at + 2), at) for at in places]

    def _number(self, kind: str, at: int) -> int:
        (number,) = struct.unpack_from(self._order + kind, self._content, min(at, len(self._content)))
        return int(number)
