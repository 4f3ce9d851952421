"""Damage in the pixels of a TIFF, which OpenCV passes over: it returns what libtiff decoded until then."""

import struct
import zlib
from collections.abc import Iterator

from ..common.atomic import Place
from .tiff_tags import HEIGHT, WIDTH, Tiff

_BITS, _COMPRESSION, _PHOTOMETRIC, _SAMPLES, _PLANES = 258, 259, 262, 277, 284  # numbers of tags
_STRIP_ROWS, _STRIP_PLACES, _STRIP_BYTES = 278, 273, 279
_TILE_WIDTH, _TILE_HEIGHT, _TILE_PLACES, _TILE_BYTES = 322, 323, 324, 325
_DEFLATE = (8, 32946)  # as it is written today, and as it was before it had a number
_YCBCR = 6  # may have fewer values of colour than pixels
_PLANE_PER_SAMPLE = 2
_MOST_PIECES = 2**18  # of one image: strips of one row, and tiles of 16x16 of the largest image
_STEP = 2**14  # bytes inflated at once, to 17 MB at most


def check_deflate(content: bytes, name: Place) -> None:
    """Refuse a TIFF with Deflate whose strips or tiles do not have the checksum that is stored with them.

    Other compressions store none: nothing is checked.

    Parameters
    ----------
    content : bytes
        Content of a TIFF that OpenCV has decoded, so that its size is one that is read.
    name : str or path-like
        Name of the file, for messages.

    Raises
    ------
    ValueError
        A strip or tile is damaged or missing, or holds more or less than its size; or there are too many.
    """
    tiff = Tiff(content)
    try:
        start = tiff.first()
        if tiff.value(start, _COMPRESSION, 1) not in _DEFLATE:
            return
        is_whole = all(
            _is_whole(memoryview(content)[place : place + count], least, most)
            for place, count, least, most in _pieces(tiff, start, len(content))
        )
    except (struct.error, zlib.error, KeyError):
        is_whole = False
    except _TooManyPieces as error:
        raise ValueError(f"{name} is a TIFF {error}") from None
    if not is_whole:
        raise ValueError(
            f"{name} is a TIFF that is cut short or damaged: its pixels do not have the checksum stored with them"
        )


class _TooManyPieces(Exception):
    pass


def _pieces(tiff: Tiff, start: int, content_bytes: int) -> Iterator[tuple[int, int, int, int]]:
    """Strips or tiles: where each begins, its bytes, and the fewest and most bytes of its pixels."""
    limits = tiff.limits(start)
    width, height = limits[WIDTH], limits[HEIGHT]
    samples, bits = max(tiff.value(start, _SAMPLES, 1), 1), tiff.value(start, _BITS, 1)
    planes = samples if tiff.value(start, _PLANES, 1) == _PLANE_PER_SAMPLE else 1
    tile_width = tiff.value(start, _TILE_WIDTH, 0)
    if tile_width:
        columns, rows = tile_width, tiff.value(start, _TILE_HEIGHT, 0) or height
    else:
        columns, rows = width, min(tiff.value(start, _STRIP_ROWS, 0) or height, height)
    down = -(-height // rows)
    count = -(-width // columns) * down * planes
    if count > _MOST_PIECES:
        raise _TooManyPieces(f"of {count} strips or tiles; at most {_MOST_PIECES} are read")
    # Some writers list tiles as if they were strips.
    places = tiff.numbers(start, (_TILE_PLACES, _STRIP_PLACES), count)
    sizes = tiff.numbers(start, (_TILE_BYTES, _STRIP_BYTES), count)
    if min(len(places), len(sizes)) < count or sum(map(int, sizes)) > content_bytes:
        raise struct.error("strips or tiles are missing, or have more than the file")
    row_bytes = -(-columns * bits * (samples // planes) // 8)
    may_lack_color = tiff.value(start, _PHOTOMETRIC, 0) == _YCBCR
    for number, (place, size) in enumerate(zip(places, sizes, strict=True)):
        is_last = not tile_width and number % down == down - 1
        fewest_rows = height - rows * (down - 1) if is_last else rows
        yield int(place), int(size), 0 if may_lack_color else fewest_rows * row_bytes, rows * row_bytes


def _is_whole(piece: memoryview, least: int, most: int) -> bool:
    """Whether a strip or tile ends with the right checksum after so many bytes; zlib.error if it is damaged."""
    stream, size = zlib.decompressobj(), 0
    for at in range(0, len(piece), _STEP):
        size += len(stream.decompress(piece[at : at + _STEP]))
        if stream.eof or size > most:
            break
    return stream.eof and least <= size <= most
