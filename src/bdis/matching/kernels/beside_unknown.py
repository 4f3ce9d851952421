"""Pixels where the images differ, with unknown ones around them, are unknown as well.

What only the left camera sees lies beside depth edges.  A part of it matches by chance, or as the foreground that it is
drawn with is smooth; what is known to be unseen around it tells.
"""

import numpy as np
from numba import float32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Record, kernel
from ...vector.simd import LANES, any_lane, load, select, splat, store
from .layout import PAD, ROWS, Map, Maps

APART = 3  # px, to the eight pixels around that are looked at; all of 9x9: the same
UNKNOWN = -1.0


class Differences(Record):
    """How far the images differ.

    Attributes
    ----------
    sizes : ndarray of float32, shape (h, image stride)
        Grey levels per px, mean difference of the gradients of both images in 5x5 px, beyond what noise explains;
        UNKNOWN where the result has no disparity.  Pixel (y, x) is ``sizes[y, PAD + x]``.  Beyond the left and right
        border nothing is unknown; the upper and lower row repeat.
    largest : float
        Grey levels per px: pixels of a larger size, times the share of unknown pixels around, become unknown.
    """

    sizes: Floats
    largest: float


@inner
def end_row(sizes, row, width):
    """Nothing is unknown beyond the border."""
    for x in (uint64(0), uint64(PAD + width)):
        store(sizes, row, x, splat(float32(0)))


@inner
def count_unknown(sizes, y, at, height):
    """How many of the eight pixels around each of sixteen are unknown; the upper and lower border repeat."""
    zero, one, count = splat(float32(0)), splat(float32(1)), splat(float32(0))
    for k in (-APART, 0, APART):
        row = uint64(min(max(y + k, 0), height - 1))
        for x in (at - uint64(APART), at, at + uint64(APART)):  # the middle one is known, or nothing is left out
            count += select(load(sizes, row, x) < zero, one, zero)
    return count


@kernel
def leave_out_beside_unknown(
    differences: Differences, result: Maps, variance: Map, has_variance: bool, is_dense: bool, crew: Crew
) -> None:
    """Pixels that differ, with unknown ones around them, become unknown.

    ``is_dense``: they keep what they have as a guess, of probability 0.
    """
    sizes, height, width = differences.sizes, result.disparity.shape[0], result.width
    unknown, none = splat(float32(np.nan)), splat(float32(0))
    largest, eight_times = splat(float32(differences.largest)), splat(float32(8 * differences.largest))
    begin, end = share(crew, height, ROWS)
    for y in range(begin, end):
        row, x = uint64(y), 0
        while x < width:
            x = min(x, width - LANES)  # the last sixteen overlap: rows of the result follow each other
            at = uint64(x)
            x += LANES
            size = load(sizes, row, uint64(PAD) + at)
            if not any_lane(size > largest):
                continue
            is_left_out = size * count_unknown(sizes, y, uint64(PAD) + at, height) > eight_times
            if not any_lane(is_left_out):
                continue
            store(result.probability, row, at, select(is_left_out, none, load(result.probability, row, at)))
            if is_dense:
                continue
            store(result.disparity, row, at, select(is_left_out, unknown, load(result.disparity, row, at)))
            if has_variance:
                store(variance.values, row, at, select(is_left_out, unknown, load(variance.values, row, at)))
    meet(crew)
