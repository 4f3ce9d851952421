"""What the header of an image file promises, read before a decoder takes memory for it.

Only the formats that bdis reads are known here; a decoder never sees any other content.
"""

import re
import struct

from ..common.atomic import Place
from ..common.reading import check_pixels

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_BITS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}  # by colour type
_JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers that begin a header with the size
_TIFF_ROLE, _TIFF_WIDTH, _TIFF_HEIGHT = 254, 256, 257  # numbers of tags
_THUMBNAIL_OR_MASK = 1 | 4  # bits of the role of a page
_TIFF_KINDS = {3: "H", 4: "I", 16: "Q"}  # 16, 32 and 64 bits
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_MOST_TAGS, _MOST_PAGES = 1000, 20
_PNM = re.compile(rb"P[2356](?:\s++|#[^\n]*+\n)++([0-9]{1,9})(?:\s++|#[^\n]*+\n)++([0-9]{1,9})\s")


def is_png(content: bytes) -> bool:
    """Whether a file is a PNG."""
    return content.startswith(_PNG_START)


def check_header(content: bytes, name: Place) -> None:
    r"""Refuse content that is none of PNG, JPEG, TIFF, PGM and PPM, or promises more pixels or pages than are read.

    Parameters
    ----------
    content : bytes
        Content of a file.
    name : str or path-like
        Name of the file, for messages.

    Raises
    ------
    ValueError
        The message says what is wrong.

    Examples
    --------
    >>> check_header(b"P5 60000 60000 255\n", "big.pgm")
    Traceback (most recent call last):
    ValueError: big.pgm is 60000x60000; at most 67108864 pixels are read, as in 8192x8192
    """
    size = None
    if is_png(content):
        size = _png_size(content)
    elif content.startswith(b"\xff\xd8\xff"):
        size = _jpeg_size(content)
    elif content[:4] in _TIFF_STARTS:
        size = _tiff_size(content)
    elif found := _PNM.match(content):
        size = int(found[1]), int(found[2])
    if size is None or min(size) < 1:
        raise ValueError(
            f"{name} cannot be read as an image ({len(content)} bytes): not PNG, JPEG, TIFF, PGM or PPM, or cut short"
        )
    check_pixels(*size, name)
    if content[:4] in _TIFF_STARTS and _has_more_pages(content):
        raise ValueError(
            f"{name} is a TIFF of several pages, of which only the first would be read; make a file of each, as with "
            "libtiff (tiffsplit) or ImageMagick (magick pages.tif page-%03d.png)"
        )


def _png_size(content: bytes) -> tuple[int, int] | None:
    if content[12:16] != b"IHDR" or len(content) < 33:
        return None
    width, height, bits, color, compression, filtering, interlace = struct.unpack(">IIBBBBB", content[16:29])
    is_known = bits in _PNG_BITS.get(color, ()) and compression == filtering == 0 and interlace <= 1
    return (width, height) if is_known else None


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        if marker == 0xFF:  # fills up
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # without content
            at += 2
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None


class _Tiff:
    """The directories of a TIFF or BigTIFF, one for each page; methods raise struct.error where the content ends."""

    def __init__(self, content: bytes):
        self._content = content
        self._order = "<" if content.startswith(b"II") else ">"
        is_big = content[2:4] in (b"+\0", b"\0+")
        self._at_first, self._at_kind = (8, "Q") if is_big else (4, "I")
        self._count_kind, self._entry_bytes, self._value_at = ("Q", 20, 12) if is_big else ("H", 12, 8)

    def first(self) -> int:
        """Where the first directory is."""
        return self._number(self._at_kind, self._at_first)

    def tags(self, start: int) -> dict[int, int]:
        """The numbers of a directory that are looked for here."""
        found: dict[int, int] = {}
        for number in range(min(self._number(self._count_kind, start), _MOST_TAGS)):
            at = start + struct.calcsize(f"={self._count_kind}") + self._entry_bytes * number
            tag, kind = self._number("H", at), self._number("H", at + 2)
            if tag in (_TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_ROLE) and kind in _TIFF_KINDS:
                value = self._number(_TIFF_KINDS[kind], at + self._value_at)
                found[tag] = max(value, found.get(tag, 0))  # if it is there twice
        return found

    def next(self, start: int) -> int:
        """Where the directory after this one is; 0 if there is none."""
        count = self._number(self._count_kind, start)
        at = start + struct.calcsize(f"={self._count_kind}") + self._entry_bytes * count
        return self._number(self._at_kind, at)

    def _number(self, kind: str, at: int) -> int:
        (number,) = struct.unpack_from(self._order + kind, self._content, min(at, len(self._content)))
        return int(number)


def _tiff_size(content: bytes) -> tuple[int, int] | None:
    """Size of the first page."""
    tiff = _Tiff(content)
    try:
        tags = tiff.tags(tiff.first())
        return tags[_TIFF_WIDTH], tags[_TIFF_HEIGHT]
    except (struct.error, KeyError):
        return None


def _has_more_pages(content: bytes) -> bool:
    """Whether a further page, or the place of one, follows the first; thumbnails and masks of it do not count."""
    tiff = _Tiff(content)
    try:
        at = tiff.next(tiff.first())
    except struct.error:
        return False
    for _ in range(_MOST_PAGES):
        if at == 0:
            return False
        try:
            if not tiff.tags(at).get(_TIFF_ROLE, 0) & _THUMBNAIL_OR_MASK:
                return True
            at = tiff.next(at)
        except struct.error:
            return True
    return True
