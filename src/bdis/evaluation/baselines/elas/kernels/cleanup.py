"""ELAS: what is done to the disparities afterwards.  Disparity maps: float32 (h, map_stride(w)), NaN = unknown."""

import numpy as np
from numba import float64, int64, uint64, void

from .....vector.array_types import FLOATS, INTS
from .....vector.cache import inner, kernel
from .....vector.segments import find_runs, remove_small_runs


@kernel(void(FLOATS, FLOATS, int64, int64, float64))
def elas_check_left_right(left, right, width, step, max_difference):
    """Forget left disparities that the right pixel they lead to does not return within ``max_difference`` px.

    ``step``: px between the samples of a map.
    """
    for j in range(left.shape[0]):
        for i in range(width):
            d = left[j, i]
            if not np.isnan(d):
                there = i - int64(d / step + 0.5)
                if there < 0 or not abs(right[j, there] - d) <= max_difference:
                    left[j, i] = np.nan


@kernel(void(FLOATS, FLOATS, int64, float64, int64, INTS, INTS))
def elas_remove_small_segments(disparity, probability, width, tolerance, min_size, runs, run_rows):
    """Forget segments under ``min_size`` px whose neighbours differ by at most ``tolerance``."""
    height = disparity.shape[0]
    find_runs(disparity, width, tolerance, runs, run_rows, 0, height)
    remove_small_runs(disparity, probability, min_size, runs, run_rows, 0, height)


@inner
def _fill_line(disparity, start, down, along, length, longest, tolerance):
    """Fill the gaps of one row or column."""
    before = -1  # the last known pixel
    for k in range(length):
        end = disparity[start * along + k * down, start * down + k * along]
        if np.isnan(end):
            continue
        if before >= 0 and 1 < k - before <= longest + 1:
            begin = disparity[start * along + before * down, start * down + before * along]
            if abs(end - begin) <= tolerance:
                for gap in range(before + 1, k):
                    share = (gap - before) / (k - before)
                    disparity[start * along + gap * down, start * down + gap * along] = begin + share * (end - begin)
        before = k


@kernel(void(FLOATS, int64, int64, float64))
def elas_fill_gaps(disparity, width, longest, tolerance):
    """Fill gaps up to ``longest`` px, along rows and then columns, on a line between ends within ``tolerance`` px."""
    height = disparity.shape[0]
    for y in range(height):
        _fill_line(disparity, y, 0, 1, width, longest, tolerance)
    for x in range(width):
        _fill_line(disparity, x, 1, 0, height, longest, tolerance)


@inner
def _add(disparity, row, other_row, shift, first, last, reciprocal, sums):
    """Add the weighted differences of the pixels ``first`` to ``last - 1`` of ``row`` to those ``shift`` px further."""
    zero, one = np.float32(0), np.float32(1)
    for x in range(uint64(first), uint64(last)):
        difference = disparity[other_row, uint64(int64(x) + shift)] - disparity[row, x]
        weight = one - abs(difference) * reciprocal
        counts = weight > zero  # not so if either is unknown
        sums[0, x] += weight * difference if counts else zero
        sums[1, x] += weight if counts else zero


@kernel(void(FLOATS, int64, int64, int64, float64, int64, FLOATS, FLOATS))
def elas_mean(disparity, width, before, after, reach, vertical, sums, out_mean):
    """Mean over ``before`` pixels before to ``after`` pixels after, along rows or (``vertical``) columns.

    A neighbour counts less the more its disparity differs, and nothing from ``reach`` px on.  Unknown stays unknown.
    ``sums``: scratch, float32 (2, >= w).
    """
    height = disparity.shape[0]
    reciprocal = np.float32(1 / reach)
    for y in range(height):
        sums[:] = 0
        for k in range(-before, after + 1):
            if vertical:
                if 0 <= y + k < height:
                    _add(disparity, uint64(y), uint64(y + k), 0, 0, width, reciprocal, sums)
            else:
                _add(disparity, uint64(y), uint64(y), k, max(0, -k), min(width, width - k), reciprocal, sums)
        for x in range(uint64(width)):
            out_mean[uint64(y), x] = disparity[uint64(y), x] + sums[0, x] / sums[1, x]
