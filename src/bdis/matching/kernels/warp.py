"""Bring the right image under the left one along a surface, so that slanted patches match as flat ones."""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import (
    LANES,
    floor,
    gather,
    lane_numbers,
    larger,
    load,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)
from ...vector.tiles import gather_near_short_pairs
from .layout import PAD, ROWS
from .patches import Patches
from .pyramid import Views, repeat_border
from .surface import Surface

BEYOND = 4  # a patch counts no more if this part of it, a quarter, lies beyond the right image; a half: the same errors


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


@inner
def lie_beyond(surface, row, columns):
    """Do sixteen pixels of the surface lie outside the right image, which repeats its border there?"""
    place = to_float(columns) - gather(surface.disparity, row, columns)
    return (place < splat(float32(0))) | (place > splat(float32(surface.width - 1)))


@kernel
def leave_out_beyond(surface: Surface, patches: Patches, patch_size: int, crew: Crew) -> None:
    """Reject the patches of which a part lies outside the right image along the surface.

    What the border repeats there matches nothing, and where a search in it ends depends on rounding.
    """
    begin, end = share(crew, patches.rows.shape[1], ROWS)
    first, last = splat(int32(patch_size // BEYOND)), splat(int32(patch_size - 1 - patch_size // BEYOND))
    for i in range(uint64(begin), uint64(end)):
        row = uint64(patches.rows[0, i] + patch_size // 2)
        for j in range(uint64(0), uint64(patches.cols.shape[1] - LANES), uint64(LANES)):
            left, probability = load(patches.cols, uint64(0), j), load(patches.probability, i, j)
            is_beyond = lie_beyond(surface, row, left + first) | lie_beyond(surface, row, left + last)
            store(patches.probability, i, j, select(is_beyond, splat(float32(0)), probability))
    meet(crew)
