"""Small-segment filter [III-F] and hiding what the camera never saw."""

import numpy as np
from numba import float32, float64, int64, uint64, void

from .cache import inner, kernel
from .layout import BYTES, FLOATS, INTS
from .simd import LANES, absolute, load, mask_bits, splat, trailing_zeros

# Rows of the `runs` scratch: stretches of connected pixels within an image row.
BEGIN, END, PARENT, SIZE = range(4)


@inner
def _root(runs, k):
    """Representative of run ``k``'s segment; halves the path on the way."""
    k = uint64(k)
    while uint64(runs[PARENT, k]) != k:
        grandparent = runs[PARENT, uint64(runs[PARENT, k])]
        runs[PARENT, k] = grandparent
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
            if begins and trailing_zeros(begins) <= end:
                runs[BEGIN, count] = x + trailing_zeros(begins)
                begins &= begins - 1
            runs[END, count] = x + end + 1
            runs[PARENT, count] = count
            runs[SIZE, count] = runs[END, count] - runs[BEGIN, count]
            ends &= ends - 1
            count += 1
        if begins:
            runs[BEGIN, count] = x + trailing_zeros(begins)
        joined_before = (joined >> (LANES - 1)) & 1
    return count


@inner
def _join_rows(disparity, row, tolerance, runs, above, here, end):
    """Unite runs ``above`` .. ``here - 1`` of the row above with runs ``here`` .. ``end - 1`` where they touch."""
    limit = float32(tolerance)
    a, b = above, here
    while a < here and b < end:
        first = max(runs[BEGIN, a], runs[BEGIN, b])
        last = min(runs[END, a], runs[END, b])
        for x in range(first, last):
            if abs(disparity[row, x] - disparity[row - 1, x]) <= limit:
                root_a, root_b = _root(runs, a), _root(runs, b)
                if root_a != root_b:
                    root_a, root_b = min(root_a, root_b), max(root_a, root_b)
                    runs[PARENT, root_b] = root_a
                    runs[SIZE, root_a] += runs[SIZE, root_b]
                break
        if runs[END, a] <= runs[END, b]:
            a += 1
        else:
            b += 1


@kernel(void(FLOATS, FLOATS, int64, float64, int64, INTS, INTS))
def remove_small_segments(disparity, probability, width, tolerance, min_size, runs, row_starts):
    """Make segments of fewer than ``min_size`` pixels unknown; 4-neighbours within ``tolerance`` px are connected.

    ``runs``: int32 (4, h * (width + 1)) and ``row_starts``: int32 (1, h + 1) are scratch.
    """
    height = disparity.shape[0]
    count = 0
    row_starts[0, 0] = 0
    for y in range(height):
        begin = count
        count = _row_runs(disparity, uint64(y), width, tolerance, runs, begin)
        row_starts[0, y + 1] = count
        if y > 0:
            _join_rows(disparity, y, tolerance, runs, row_starts[0, y - 1], begin, count)
    for y in range(height):
        for k in range(row_starts[0, y], row_starts[0, y + 1]):
            if runs[SIZE, _root(runs, k)] < min_size:
                for x in range(runs[BEGIN, k], runs[END, k]):
                    disparity[y, x] = np.nan
                    probability[y, x] = 0


@kernel(void(BYTES, FLOATS, FLOATS, int64, int64))
def hide_unseen(seen, disparity, probability, begin, end):
    """Nothing is known of a pixel the left camera never saw; rows ``begin`` to ``end - 1``."""
    for y in range(begin, end):
        for x in range(disparity.shape[1]):
            if seen[y, x] == 0:
                disparity[y, x] = np.nan
                probability[y, x] = 0
