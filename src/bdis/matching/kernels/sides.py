"""On which side of a depth edge a pixel lies: that of the pixels which look like it.

Windows and patches draw the foreground a few pixels too wide, over background that only one camera sees: nothing in the
right image contradicts them there.  The brightness of the left image does.  Near a depth edge pixels vote, 25 of them
around each pixel, each the more the closer its grey value.  If those on the other side of the edge have clearly more
votes, the pixel moves to their mean disparity.  What only one camera sees votes as background.
"""

import numpy as np
from numba import float32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import LANES, absolute, larger, load, mask_bits, select, splat, store, to_float
from .detail import BLOCK, Blocks, Candidates, DetailLine, around_block
from .layout import PAD, Map
from .pyramid import Image

# What changing these does to the error on Middlebury and on rendered scenes, and to the share of pixels there that only
# one camera sees and that get a disparity nevertheless:
REACH, EVERY = 8, 4  # px, every fourth row and column of 17x17 votes; 9 and 3: -0.3, -0.3, -1 % in twice the time
ALIKE = 20.0  # grey levels by which a pixel without a vote differs; at half of them it has half a vote
CLEARLY = 1.2  # times as many votes as its own side must the other side have; 1.5: +0.3, +0.4, +2 %, 2.0: +1, +1, +6 %


@inner
def fill_middles(blocks, block_row, width, grey, sums):
    """The disparity between both sides for the columns of a row of blocks, NaN away from depth edges.

    Returns whether there is an edge.
    """
    has_edge = False
    for block in range(blocks.low.shape[1]):
        low, high, is_edge = around_block(blocks, block_row, block, grey)
        middle = float32(0.5) * (low + high) if is_edge else float32(np.nan)
        has_edge = has_edge or is_edge
        for x in range(block * BLOCK, min(block * BLOCK + BLOCK, width)):
            sums[2, x] = middle
    return has_edge


@inner
def count_votes(candidates, pixels, y, x, height, middle, grey):
    """Votes for both sides of sixteen pixels, and the sums of the disparities behind them, weighted alike."""
    reach, none = splat(float32(ALIKE * candidates.grey)), splat(float32(0))
    far, near, far_sum, near_sum = none, none, none, none
    for j in range(-REACH, REACH + 1, EVERY):
        row = uint64(min(max(y + j, 0), height - 1))
        for k in range(uint64(0), uint64(2 * REACH + 1), uint64(EVERY)):
            at = uint64(PAD - REACH) + x + k
            vote = load(candidates.votes, row, at)
            weight = larger(reach - absolute(to_float(load(pixels, row, at)) - grey), none)
            is_far, is_near = vote < middle, vote >= middle  # neither if NaN
            far, near = far + select(is_far, weight, none), near + select(is_near, weight, none)
            weighted = weight * vote
            far_sum, near_sum = far_sum + select(is_far, weighted, none), near_sum + select(is_near, weighted, none)
    return far, near, far_sum, near_sum


@kernel
def take_sides(candidates: Candidates, blocks: Blocks, left: Image, out: Map, line: DetailLine, crew: Crew) -> None:
    """Move the pixels of ``out`` that look like those on the other side of a depth edge."""
    height, width, sums, pixels = out.values.shape[0], candidates.width, line.sums, left.pixels
    begin, end = share(crew, height, BLOCK)
    clearly, has_edge = splat(float32(CLEARLY)), False
    for y in range(begin, end):
        if y % BLOCK == 0:
            has_edge = fill_middles(blocks, y // BLOCK, width, candidates.grey, sums)
        row = uint64(y)
        for x in range(uint64(0), uint64(width if has_edge else 0), uint64(LANES)):
            middle = load(sums, uint64(2), x)
            if mask_bits(middle == middle) == 0:
                continue
            value, grey = load(out.values, row, x), to_float(load(pixels, row, uint64(PAD) + x))
            far, near, far_sum, near_sum = count_votes(candidates, pixels, y, x, height, middle, grey)
            is_far = value < middle
            own, other = select(is_far, far, near), select(is_far, near, far)
            mean = select(is_far, near_sum, far_sum) / other
            moves = (other > clearly * own) & (middle == middle)
            store(out.values, row, x, select(moves, mean, value))
    meet(crew)
