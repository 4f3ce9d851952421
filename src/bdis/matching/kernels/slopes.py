"""How steeply a disparity map rises, so that neighbours on a slope can hold each other at that slant.

Without it the refinement takes every slope for a series of small jumps: neighbours hardly hold each other, and where
the images say nothing they draw steps.  The slope is that of blocks of 8x8 pixels: from the pixel in the middle of a
block, as the mean of four, to those ``REACH`` px before and behind it, the smaller of both slopes if they have the same
sign, else 0.  Beside a depth edge that is a slope of the pixel's own side, and there is none across it.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.simd import LANES, absolute, gather, lane_numbers, larger, select, smaller, splat, store
from .layout import whole_vectors

# What changing these does to the error on tissue and on Middlebury, and to the median error on sets 30 and 31:
BLOCK, SHIFT = 8, 3  # px, and its logarithm; 4: as it is
REACH = 32  # px; 24: -0.1, +0.6, +1 %, 40: +0.1, -0.2, -0.3 %
STEEPEST = 0.5  # px per px, steeper slopes count as this; 1: as it is


def slopes_shape(height: int, width: int) -> tuple[int, int]:
    """Of an array with a slope for each two columns of each block of eight rows."""
    return -(-height // BLOCK), whole_vectors((width + 1) // 2)


@inner
def four_near(disparity, row, column, last):
    """Sum of four disparities in and beside sixteen columns: one alone may be noise."""
    total = splat(float32(0))
    for offset in (-3, -1, 1, 3):
        at = smaller(larger(column + splat(int32(offset)), splat(int32(0))), last)
        total = total + gather(disparity, row, at)
    return total


@inner
def limited(before, after, is_before, is_after):
    """The smaller of the slopes on both sides if they have the same sign; the other one where one side is missing."""
    none = splat(float32(0))
    before, after = select(is_before, before, after), select(is_after, after, before)
    size = smaller(smaller(absolute(before), absolute(after)), splat(float32(STEEPEST)))
    is_slope = (is_before | is_after) & (before * after > none)  # not if NaN
    return select(is_slope, select(before > none, size, none - size), none)


@inner
def spread_blocks(slopes, row, blocks):
    """The slopes of the blocks of a row, at its begin, to all columns of the blocks; the last one also beyond."""
    end = slopes.shape[1]
    for k in range(blocks):
        block = blocks - 1 - k  # what is not yet read is not overwritten
        slope, first = slopes[row, uint64(block)], block * (BLOCK // 2)
        for at in range(first, end):
            slopes[row, uint64(at)] = slope
        end = first


@inner
def find_slopes(disparity, height, width, begin, end, across, down):
    """Slopes of the blocks whose first row is one of ``begin`` to ``end - 1``.

    Number (block of rows, k) of ``across`` and ``down`` gets by how much the disparity grows from one pixel to the next
    along x and y, in columns 2 k and 2 k + 1.
    """
    blocks, per_px, reach = (width + BLOCK - 1) // BLOCK, splat(float32(1 / (4 * REACH))), splat(int32(REACH))
    zero, last, y_last, y_reach = splat(int32(0)), splat(int32(width - 1)), splat(int32(height - 1)), int32(REACH)
    for block in range((begin + BLOCK - 1) // BLOCK, (end + BLOCK - 1) // BLOCK):
        row, y = uint64(block), min(block * BLOCK + BLOCK // 2, height - 1)
        above, below = uint64(max(y - REACH, 0)), uint64(min(y + REACH, height - 1))
        is_above, is_below = splat(int32(y) - y_reach) >= zero, splat(int32(y) + y_reach) <= y_last
        for first in range(0, blocks, LANES):
            column = ((lane_numbers() + splat(int32(first))) << splat(int32(SHIFT))) + splat(int32(BLOCK // 2))
            column = smaller(column, last)
            left, right = column - reach, column + reach
            here = four_near(disparity, uint64(y), column, last)
            before = here - four_near(disparity, uint64(y), left, last)
            after = four_near(disparity, uint64(y), right, last) - here
            slope = limited(before * per_px, after * per_px, left >= zero, right <= last)
            store(across, row, uint64(first), slope)
            before = here - four_near(disparity, above, column, last)
            after = four_near(disparity, below, column, last) - here
            store(down, row, uint64(first), limited(before * per_px, after * per_px, is_above, is_below))
        spread_blocks(across, row, blocks)
        spread_blocks(down, row, blocks)


@inner
def clear_slopes(begin, end, across, down):
    """No slopes in these blocks."""
    none = splat(float32(0))
    for block in range((begin + BLOCK - 1) // BLOCK, (end + BLOCK - 1) // BLOCK):
        for k in range(uint64(0), uint64(across.shape[1]), uint64(LANES)):
            store(across, uint64(block), k, none)
            store(down, uint64(block), k, none)
