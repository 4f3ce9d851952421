"""Segments of connected elements in a float array: found by joining runs within rows, and removed if too small."""

import numpy as np
from numba import float32, int64, uint64

from .cache import inner
from .simd import LANES, absolute, load, mask_bits, splat, trailing_zeros

# Columns of `runs`, stretches of connected elements within a row.
BEGIN, END, PARENT, SIZE = (uint64(k) for k in range(4))


@inner
def _root(runs, k):
    """Representative of run ``k``'s segment; halves the path on the way."""
    while uint64(runs[k, PARENT]) != k:
        grandparent = runs[uint64(runs[k, PARENT]), PARENT]
        runs[k, PARENT] = grandparent
        k = uint64(grandparent)
    return k


@inner
def _row_runs(disparity, row, width, tolerance, runs, count):
    """Append the runs of one row: known neighbours no further than ``tolerance`` apart.  Returns the new count."""
    limit = splat(float32(tolerance))
    joined_before = int64(0)  # is the last pixel of the previous sixteen joined to the first of these?
    for x in range(0, width, LANES):
        here = load(disparity, row, uint64(x))
        known = mask_bits(here == here)
        joined = mask_bits(absolute(load(disparity, row, uint64(x + 1)) - here) <= limit)
        if x + LANES >= width:  # nothing beyond the row's end
            inside = (int64(1) << (width - x)) - 1
            known &= inside
            joined &= inside >> 1
        begins = known & ~((joined << 1) | joined_before)
        ends = known & ~joined
        while ends:
            end = trailing_zeros(ends)
            ends &= ends - 1
            if begins and trailing_zeros(begins) <= end:
                runs[count, BEGIN] = x + trailing_zeros(begins)
                begins &= begins - 1
            runs[count, END] = x + end + 1
            runs[count, PARENT] = count
            runs[count, SIZE] = runs[count, END] - runs[count, BEGIN]
            count += uint64(1)
        if begins:
            runs[count, BEGIN] = x + trailing_zeros(begins)
        joined_before = (joined >> (LANES - 1)) & 1
    return count


@inner
def join_rows(disparity, row, tolerance, runs, rows):
    """Unite the runs of ``row`` with those of the row above where they touch."""
    if row == 0:
        return
    limit = float32(tolerance)
    one = uint64(1)
    row = uint64(row)
    a, a_end = uint64(rows[row - one, 0]), uint64(rows[row - one, 1])
    b, b_end = uint64(rows[row, 0]), uint64(rows[row, 1])
    while a < a_end and b < b_end:
        x = uint64(max(runs[a, BEGIN], runs[b, BEGIN]))
        last = uint64(min(runs[a, END], runs[b, END]))
        while x < last and not abs(disparity[row, x] - disparity[row - one, x]) <= limit:
            x += one
        if x < last:
            root_a, root_b = _root(runs, a), _root(runs, b)
            if root_a != root_b:
                root_a, root_b = min(root_a, root_b), max(root_a, root_b)
                runs[root_b, PARENT] = root_a
                runs[root_a, SIZE] += runs[root_b, SIZE]
        if runs[a, END] <= runs[b, END]:
            a += one
        else:
            b += one


@inner
def find_runs(disparity, width, tolerance, runs, rows, begin, end):
    """Runs of the rows ``begin`` to ``end - 1``, united among themselves into segments.

    ``runs``: int32 (h * (width + 1), 4), from ``begin * (width + 1)`` on.  ``rows``: int32 (h, 2), first and last + 1
    run of each row.
    """
    count = uint64(begin * (width + 1))
    for y in range(uint64(begin), uint64(end)):
        rows[y, 0] = count
        count = _row_runs(disparity, y, width, tolerance, runs, count)
        rows[y, 1] = count
        if y > uint64(begin):
            join_rows(disparity, y, tolerance, runs, rows)


@inner
def remove_small_runs(disparity, probability, min_size, runs, rows, begin, end):
    """Make what belongs to segments of fewer than ``min_size`` pixels unknown, in the rows ``begin`` to ``end - 1``."""
    for y in range(uint64(begin), uint64(end)):
        for k in range(uint64(rows[y, 0]), uint64(rows[y, 1])):
            root = k
            while uint64(runs[root, PARENT]) != root:  # other threads look as well: nothing is shortened here
                root = uint64(runs[root, PARENT])
            if runs[root, SIZE] < min_size:
                for x in range(uint64(runs[k, BEGIN]), uint64(runs[k, END])):
                    disparity[y, x] = np.nan
                    probability[y, x] = 0
