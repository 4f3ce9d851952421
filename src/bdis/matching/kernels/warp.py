"""Bring the right image under the left one along a surface, so that slanted patches match as flat ones."""

from numba import boolean, float32, int32, int64, uint64, void

from ...vector.array_types import ADDRESSES, BYTES, FLOATS, SHORTS
from ...vector.barrier import meet
from ...vector.cache import inner, kernel
from ...vector.simd import LANES, floor, lane_numbers, larger, load, smaller, splat, store, to_float, to_int
from ...vector.tiles import gather_short_pairs
from .layout import PAD, SURFACE
from .pyramid import repeat_border
from .surface import copy_rows


@inner
def warp_row(right, disparity, row, width, out):
    """``out[x] = right[x - disparity[x]]`` along one row, linearly interpolated and rounded; the border repeats."""
    zero, half, last = splat(float32(0)), splat(float32(0.5)), splat(float32(width - 1))
    sixteen = splat(int32(16))
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        col = to_float(lane_numbers() + splat(int32(x)))
        place = smaller(larger(col - load(disparity, row, x), zero), last)
        whole = floor(place)
        pair = gather_short_pairs(right, row, to_int(whole) + splat(int32(PAD)))
        here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
        store(out, row, x + uint64(PAD), to_int(floor(here + (place - whole) * (there - here) + half)))
    repeat_border(out, row, width)


@inner
def warp_seen_row(usable, disparity, row, width, out):
    """1 where the pixels that ``warp_row`` took, for a pixel and its right neighbour, could be used."""
    for x in range(width):
        good = True
        for col in (x, min(x + 1, width - 1)):
            place = min(max(float32(col) - disparity[row, col], float32(0)), float32(width - 1))
            good = good and usable[row, PAD + int64(place)] != 0
        out[row, PAD + x] = 1 if good else 0
    repeat_border(out, row, width)


@kernel(void(SHORTS, BYTES, boolean, SURFACE, int64, SHORTS, BYTES, FLOATS, boolean, ADDRESSES, int64, int64, int64))
def warp(
    right, usable, has_hidden, surface, width, out_right, out_usable, out_density, keep_density,
    barrier, bands, begin, end,
):  # fmt: skip
    """Rows ``begin`` to ``end - 1`` of the right image (padded int16) as seen along the surface, and (``keep_density``)
    the surface's density.

    ``usable``: where the right image can be interpolated; ``out_usable`` likewise, if ``has_hidden``.
    """
    disparity = surface.disparity
    if keep_density:
        copy_rows(surface.density, out_density, width, begin, end)
    for y in range(uint64(begin), uint64(end)):
        warp_row(right, disparity, y, width, out_right)
        if has_hidden:
            warp_seen_row(usable, disparity, y, width, out_usable)
    meet(barrier, bands)
