"""Bring the right image under the left one along a surface, so that slanted patches match as flat ones."""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import LANES, floor, lane_numbers, larger, load, smaller, splat, store, to_float, to_int
from ...vector.tiles import gather_near_short_pairs
from .layout import PAD, ROWS
from .pyramid import Views, repeat_border
from .surface import Surface


@inner
def warp_row(right, disparity, row, width, out):
    """``out[x] = right[x - disparity[x]]`` along one row, linearly interpolated and rounded; the border repeats."""
    zero, half, last = splat(float32(0)), splat(float32(0.5)), splat(float32(width - 1))
    sixteen = splat(int32(16))
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        col = to_float(lane_numbers() + splat(int32(x)))
        place = smaller(larger(col - load(disparity, row, x), zero), last)
        whole = floor(place)
        pair = gather_near_short_pairs(right, row, to_int(whole) + splat(int32(PAD)))
        here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
        store(out, row, x + uint64(PAD), to_int(floor(here + (place - whole) * (there - here) + half)))
    repeat_border(out, row, width)


@inner
def warp_seen_row(usable, disparity, row, width, out):
    """1 where the pixels that ``warp_row`` took, for a pixel and its right neighbour, could be used."""
    for x in range(width):
        good = True
        for col in (x, min(x + 1, width - 1)):
            place = float32(col) - disparity[row, col]
            place = place if place > float32(0) else float32(0)  # also if it is NaN
            good = good and usable[row, PAD + int64(min(place, float32(width - 1)))] != 0
        out[row, PAD + x] = 1 if good else 0
    repeat_border(out, row, width)


@kernel
def warp_right_image(views: Views, surface: Surface, slanted: Views, has_hidden: bool, crew: Crew) -> None:
    """The right image as seen along the surface, and (``has_hidden``) where it is usable, into ``slanted``."""
    begin, end = share(crew, surface.height, ROWS)
    for y in range(uint64(begin), uint64(end)):
        warp_row(views.right, surface.disparity, y, surface.width, slanted.right)
        if has_hidden:
            warp_seen_row(views.usable_right, surface.disparity, y, surface.width, slanted.usable_right)
    meet(crew)
