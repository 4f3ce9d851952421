"""What the header of an image file promises, read before a decoder takes memory for it.

Only the formats that bdis reads are known here; a decoder never sees any other content.
"""

import re
import struct

from ..common.atomic import Place
from ..common.reading import check_pixels
from .tiff_tags import HEIGHT, ORIENTATION, ROLE, TIFF_STARTS, WIDTH, Tiff

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_BITS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}  # by colour type
_JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers that begin a header with the size
_THUMBNAIL_OR_MASK = 1 | 4  # bits of the role of a page
_UPRIGHT = (0, 1)  # orientations of a TIFF: not stated, and the first row on top, its first pixel left
_MOST_PAGES = 20
_PNM = re.compile(rb"P[2356](?:\s++|#[^\n]*+\n)++([0-9]{1,9})(?:\s++|#[^\n]*+\n)++([0-9]{1,9})\s")


def is_png(content: bytes) -> bool:
    """Whether a file is a PNG."""
    return content.startswith(_PNG_START)


def check_header(content: bytes, name: Place) -> None:
    r"""Refuse content that is none of PNG, JPEG, TIFF, PGM and PPM, or promises more pixels or pages than are read.

    A TIFF that is to be turned is refused as well.

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
    elif content[:4] in TIFF_STARTS:
        size = _tiff_size(content)
    elif found := _PNM.match(content):
        size = int(found[1]), int(found[2])
    if size is None or min(size) < 1:
        raise ValueError(
            f"{name} cannot be read as an image ({len(content)} bytes): not PNG, JPEG, TIFF, PGM or PPM, or cut short"
        )
    check_pixels(*size, name)
    if content[:4] not in TIFF_STARTS:
        return
    if _has_more_pages(content):
        raise ValueError(
            f"{name} is a TIFF of several pages, of which only the first would be read; make a file of each, as with "
            "libtiff (tiffsplit) or ImageMagick (magick pages.tif page-%03d.png)"
        )
    orientation = _tiff_orientation(content)
    if orientation not in _UPRIGHT:  # OpenCV would turn or mirror it, and not other formats: rows would not be rows
        raise ValueError(
            f"{name} is a TIFF with orientation {orientation} (tag 274), which would turn or mirror its pixels; store "
            "them as they are seen, as with ImageMagick (magick turned.tif -auto-orient upright.tif), or, if they are "
            "stored so, say it with orientation 1, as with libtiff (tiffset -s 274 1 FILE)"
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


def _tiff_size(content: bytes) -> tuple[int, int] | None:
    """Size of the first page."""
    tiff = Tiff(content)
    try:
        found = tiff.limits(tiff.first())
        return found[WIDTH], found[HEIGHT]
    except (struct.error, KeyError):
        return None


def _tiff_orientation(content: bytes) -> int:
    """Orientation of the first page, 0 if it is not stated."""
    tiff = Tiff(content)
    return tiff.limits(tiff.first()).get(ORIENTATION, 0)


def _has_more_pages(content: bytes) -> bool:
    """Whether a further page, or the place of one, follows the first; thumbnails and masks of it do not count."""
    tiff = Tiff(content)
    try:
        at = tiff.next(tiff.first())
    except struct.error:
        return False
    for _ in range(_MOST_PAGES):
        if at == 0:
            return False
        try:
            if not tiff.limits(at).get(ROLE, 0) & _THUMBNAIL_OR_MASK:
                return True
            at = tiff.next(at)
        except struct.error:
            return True
    return True
