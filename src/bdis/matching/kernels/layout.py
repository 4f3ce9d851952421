"""How images and maps lie in memory.

Images of a level have ``PAD`` columns on the left and at least ``3 PAD`` on the right that repeat their border, so that
sixteen pixels loaded near the border lie inside the array: pixel (y, x) is ``image[y, PAD + x]``.  Maps (disparity,
probability and the like) have no padding on the left: pixel (y, x) is ``map[y, x]``.
"""

from ...vector.array_types import LANES
from ...vector.records import Floats, Record

PAD = 16  # columns left of the image; the shift table reaches 7 px to the left of a patch
ROWS = 4  # threads share rows by so many: fewer are not worth a meeting


def image_stride(width: int) -> int:
    """Columns to allocate for an image row of ``width`` pixels, padding included.

    The last sums over a patch are read 25 px beyond the image and their sixteen columns need sixteen more behind them.
    """
    return PAD + whole_vectors(width) + 3 * PAD


def map_stride(width: int) -> int:
    """Columns to allocate for a map of ``width`` pixels; the last sixteen take what the lanes of a patch spill."""
    return whole_vectors(width) + LANES


def whole_vectors(count: int) -> int:
    """``count`` rounded up to a multiple of sixteen."""
    return -(-count // LANES) * LANES


class Maps(Record):
    """What is known of the pixels of one level.

    Attributes
    ----------
    disparity : ndarray of float32, shape (h, map_stride(width))
        px of the level, NaN = unknown.
    probability : ndarray of float32, shape (h, map_stride(width))
        0 = unknown.
    width : int
        px.
    """

    disparity: Floats
    probability: Floats
    width: int


class Map(Record):
    """One number for each pixel of a level.

    Attributes
    ----------
    values : ndarray of float32, shape (h, map_stride(width))
        NaN = unknown.
    width : int
        px.
    """

    values: Floats
    width: int
