"""Small segments are removed [III-F]: pieces of connected pixels, found by joining runs within rows."""

import numpy as np
from numba import float32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share, share_of
from ...vector.records import Ints, Record, kernel
from ...vector.simd import LANES, absolute, load, mask_bits, splat, trailing_zeros
from .layout import ROWS, Maps

# Neighbours of a segment differ by no more, px of their level [III-F]; 0.5 loses 6 to 9 % of coverage, 2 raises the
# error of `fast` by 8 to 14 % (docs/constants.md).
TOLERANCE_PX = 1.0
# Columns of the `runs` scratch: stretches of connected pixels within an image row.
BEGIN, END, PARENT, SIZE = (uint64(k) for k in range(4))


class Runs(Record):
    """Room to find the segments of a map of h rows and w columns; nothing in it outlives a call.

    Attributes
    ----------
    runs : ndarray of int32, shape (h * (w + 1), 4)
        Stretches of connected pixels within a row.
    rows : ndarray of int32, shape (h, 2)
        First and last + 1 run of each row.
    """

    runs: Ints
    rows: Ints


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
            while uint64(runs[root, PARENT]) != root:  # other bands look as well: nothing is shortened here
                root = uint64(runs[root, PARENT])
            if runs[root, SIZE] < min_size:
                for x in range(uint64(runs[k, BEGIN]), uint64(runs[k, END])):
                    disparity[y, x] = np.nan
                    probability[y, x] = 0


@kernel
def remove_small_segments(maps: Maps, room: Runs, min_size: int, crew: Crew) -> None:
    """Make segments of fewer than ``min_size`` pixels unknown.

    Each thread finds the runs of its rows, the first joins those of different threads, each cleans up its rows.
    """
    height, runs, rows = maps.disparity.shape[0], room.runs, room.rows
    begin, end = share(crew, height, ROWS)
    find_runs(maps.disparity, maps.width, TOLERANCE_PX, runs, rows, begin, end)
    if not meet(crew):
        return
    if crew.member == 0:
        for other in range(1, crew.count):
            seam, last = share_of(other, crew, height, ROWS)
            if seam < last:
                join_rows(maps.disparity, seam, TOLERANCE_PX, runs, rows)
    if not meet(crew):
        return
    remove_small_runs(maps.disparity, maps.probability, min_size, runs, rows, begin, end)
    meet(crew)
