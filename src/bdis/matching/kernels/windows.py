"""Sums over windows around the pixels of a row: first over rows, then over columns.  The border repeats.

Sums over rows lie in a row of ``sums`` from column 16 on, so that windows may reach 16 columns beyond both ends.
"""

from numba import uint64

from ...vector.cache import inner
from ...vector.simd import LANES, load, splat, store


@inner
def repeat_ends(sums, which, width):
    """The first and the last of a row of sums repeat beyond it."""
    first, columns = uint64(LANES), uint64(width)
    store(sums, which, uint64(0), splat(sums[which, first]))
    store(sums, which, first + columns, splat(sums[which, first + columns - uint64(1)]))


@inner
def add_rows(plane, y, height, width, radius, step, sums, which, columns):
    """Sums over every ``step``-th row of windows around row ``y``, into row ``which`` of ``sums``; of ``columns``."""
    for x in range(uint64(columns[0]), uint64(columns[1]), uint64(LANES)):
        total = load(plane, uint64(y), x)
        for k in range(step, radius + 1, step):
            total += load(plane, uint64(max(y - k, 0)), x) + load(plane, uint64(min(y + k, height - 1)), x)
        store(sums, which, uint64(LANES) + x, total)
    repeat_ends(sums, which, width)


@inner
def add_columns(sums, which, x, radius, step):
    """Sums over every ``step``-th column of windows around sixteen pixels from ``x`` on."""
    at = uint64(LANES) + x
    total = load(sums, which, at)
    for k in range(uint64(step), uint64(radius + 1), uint64(step)):
        total += load(sums, which, at - k) + load(sums, which, at + k)
    return total
