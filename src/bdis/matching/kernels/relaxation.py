"""Over-relaxation of least squares between neighbouring pixels, a few rows behind the row that is read.

A sweep corrects the pixels with x + y even and then the others, each toward the minimum given its four neighbours.  The
first half of the first sweep works on row y, its second half on row y - 1, the first half of the second sweep on row
y - 2, and so on: a half sweep needs nothing but what the half before it left in the row above and the row below.
"""

from numba import float32, uint64

from ...vector.array_types import LANES
from ...vector.cache import inner
from ...vector.simd import load, slide, splat, store

# What changing these does, as in variational.py:
SWEEPS = 5  # per round, and `relax_rows` is written for five; 3: +1.5, +1.7, -1 %, 10: -0.4, -1.4, +7 %
BEYOND = 1.9  # how far each correction goes, 1 = to the minimum; 1.8: +0.7, +0.5, -1 %, 1.95: -0.4, 0, +2 %

HALF_SWEEPS = 2 * SWEEPS
SLOTS = HALF_SWEEPS + 3  # rows in work: two that are read, one per half sweep, one above; row y is in slot y % SLOTS

# A row in work is made of blocks of 32 px, even pixels before odd ones; of either of them sixteen of each of these:
VALUE = 0  # px of the level, disparity as far as the sweeps are; 0 = unknown
GOAL = 1 * LANES  # A d - B: what the data pull to
SHARE = 2 * LANES  # BEYOND / (A + all bonds)
DOWN = 3 * LANES  # bond to the pixel below
RIGHT = 4 * LANES  # bond to the pixel on the right
ODD = 5 * LANES
BLOCK = 2 * ODD


def work_stride(width: int) -> int:
    """Numbers to allocate for a row in work: two more blocks on either side."""
    return BLOCK * (4 + -(-width // (2 * LANES)))


@inner
def relax(work, row, at, is_odd, below, here, above, bond_below, bond_above):
    """One correction of the sixteen even or odd pixels ``here`` of a block, given those below and above."""
    own = uint64(ODD) if is_odd else uint64(0)
    if is_odd:
        left, after = load(work, row, at + uint64(VALUE)), load(work, row, at + uint64(BLOCK + VALUE))
        right = slide(left, after, 1)
        bond_left = load(work, row, at + uint64(RIGHT))
    else:
        before, right = load(work, row, at - uint64(ODD - VALUE)), load(work, row, at + uint64(ODD + VALUE))
        left = slide(before, right, 15)
        bond_left = slide(load(work, row, at - uint64(ODD - RIGHT)), load(work, row, at + uint64(ODD + RIGHT)), 15)
    pull = load(work, row, at + own + uint64(GOAL)) + bond_left * left
    pull = pull + load(work, row, at + own + uint64(RIGHT)) * right + bond_above * above
    share = load(work, row, at + own + uint64(SHARE))
    # What was just computed below comes last: rows wait for each other, and this is the shortest wait.
    value = share * pull + splat(float32(1 - BEYOND)) * here + share * bond_below * below
    store(work, row, at + own + uint64(VALUE), value)
    return value


@inner
def relax_rows(work, y, first, last):
    """All half sweeps that are due once rows ``y - 1`` and ``y`` are weighed; ``y`` is even.

    In columns ``first``, with which a block begins, to ``last - 1``.

    Because of row y - 1 these are the first half sweep of row y - 1, the second of row y - 2 and so on: all of odd
    pixels.  Because of row y it is the same one row further down, of even pixels.  Both together need little more from
    the second-level cache than one; the second is a block behind the first, whose results it needs on the right.
    """
    s0, s1, s2 = uint64((y + 1) % SLOTS), uint64(y % SLOTS), uint64((y - 1) % SLOTS)
    s3, s4, s5 = uint64((y - 2) % SLOTS), uint64((y - 3) % SLOTS), uint64((y - 4) % SLOTS)
    s6, s7, s8 = uint64((y - 5) % SLOTS), uint64((y - 6) % SLOTS), uint64((y - 7) % SLOTS)
    s9, s10, s11 = uint64((y - 8) % SLOTS), uint64((y - 9) % SLOTS), uint64((y - 10) % SLOTS)
    s12 = uint64((y - 11) % SLOTS)
    begin, end = first // (2 * LANES) + 2, (last + 2 * LANES - 1) // (2 * LANES) + 3
    for at in range(uint64(begin * BLOCK), uint64(end * BLOCK), uint64(BLOCK)):
        i, j = at + uint64(ODD + VALUE), at + uint64(ODD + DOWN)
        v0, v1, b0, b1 = load(work, s2, i), load(work, s3, i), load(work, s2, j), load(work, s3, j)
        value = relax(work, s2, at, True, load(work, s1, i), v0, v1, b0, b1)
        v2, b2 = load(work, s4, i), load(work, s4, j)
        value = relax(work, s3, at, True, value, v1, v2, b1, b2)
        v3, b3 = load(work, s5, i), load(work, s5, j)
        value = relax(work, s4, at, True, value, v2, v3, b2, b3)
        v4, b4 = load(work, s6, i), load(work, s6, j)
        value = relax(work, s5, at, True, value, v3, v4, b3, b4)
        v5, b5 = load(work, s7, i), load(work, s7, j)
        value = relax(work, s6, at, True, value, v4, v5, b4, b5)
        v6, b6 = load(work, s8, i), load(work, s8, j)
        value = relax(work, s7, at, True, value, v5, v6, b5, b6)
        v7, b7 = load(work, s9, i), load(work, s9, j)
        value = relax(work, s8, at, True, value, v6, v7, b6, b7)
        v8, b8 = load(work, s10, i), load(work, s10, j)
        value = relax(work, s9, at, True, value, v7, v8, b7, b8)
        v9, b9 = load(work, s11, i), load(work, s11, j)
        value = relax(work, s10, at, True, value, v8, v9, b8, b9)
        v10, b10 = load(work, s12, i), load(work, s12, j)
        relax(work, s11, at, True, value, v9, v10, b9, b10)
        before = at - uint64(BLOCK)
        i, j = before + uint64(VALUE), before + uint64(DOWN)
        v0, v1, b0, b1 = load(work, s1, i), load(work, s2, i), load(work, s1, j), load(work, s2, j)
        value = relax(work, s1, before, False, load(work, s0, i), v0, v1, b0, b1)
        v2, b2 = load(work, s3, i), load(work, s3, j)
        value = relax(work, s2, before, False, value, v1, v2, b1, b2)
        v3, b3 = load(work, s4, i), load(work, s4, j)
        value = relax(work, s3, before, False, value, v2, v3, b2, b3)
        v4, b4 = load(work, s5, i), load(work, s5, j)
        value = relax(work, s4, before, False, value, v3, v4, b3, b4)
        v5, b5 = load(work, s6, i), load(work, s6, j)
        value = relax(work, s5, before, False, value, v4, v5, b4, b5)
        v6, b6 = load(work, s7, i), load(work, s7, j)
        value = relax(work, s6, before, False, value, v5, v6, b5, b6)
        v7, b7 = load(work, s8, i), load(work, s8, j)
        value = relax(work, s7, before, False, value, v6, v7, b6, b7)
        v8, b8 = load(work, s9, i), load(work, s9, j)
        value = relax(work, s8, before, False, value, v7, v8, b7, b8)
        v9, b9 = load(work, s10, i), load(work, s10, j)
        value = relax(work, s9, before, False, value, v8, v9, b8, b9)
        v10, b10 = load(work, s11, i), load(work, s11, j)
        relax(work, s10, before, False, value, v9, v10, b9, b10)
