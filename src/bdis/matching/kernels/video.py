"""Video: what the frame before says about this one."""

import numpy as np
from numba import float32, float64, int32, int64, uint64, void

from ...vector.array_types import ADDRESSES, FLOATS
from ...vector.barrier import meet
from ...vector.cache import kernel
from ...vector.simd import (
    LANES,
    absolute,
    gather,
    lane_numbers,
    load,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)
from .layout import SURFACE

TRUST = 0.5  # how far the surface goes toward that of the frame before
NEAR = 0.2  # px of the level: from this far away it goes a quarter as far
AGREE = 0.5  # px of the coarser level between this frame and the one before


@kernel(float64(FLOATS, FLOATS, int64))
def agreement(disparity, before, width):
    """Share of the pixels known in both that agree; 0 if there are none."""
    agree = count = 0
    for y in range(disparity.shape[0]):
        for x in range(width):
            gap = abs(disparity[y, x] - before[y, x])
            if not np.isnan(gap):
                count += 1
                agree += gap <= AGREE
    return agree / max(count, 1)


@kernel(void(FLOATS, FLOATS, FLOATS, int64, SURFACE, int64, ADDRESSES, int64, int64, int64))
def recall(coarse, coarse_before, before, coarse_width, surface, width, barrier, bands, begin, end):
    """A surface to search along, rows ``begin`` to ``end - 1``: that of the frame before where this one's coarser level
    agrees or is silent, else twice the coarser level.
    """
    agree, zero = splat(float32(AGREE)), splat(float32(0))
    last, one = splat(float32(coarse_width - 1)), splat(int32(1))
    for y in range(begin, end):
        parent = uint64(min(y // 2, coarse.shape[0] - 1))
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            col = to_int(smaller(to_float((lane_numbers() + splat(int32(x))) >> one), last))
            now, then = gather(coarse, parent, col), gather(coarse_before, parent, col)
            # Where this frame's coarser level is silent it agrees.
            gap = select(now == now, absolute(now - then), zero)
            fresh = select(now == now, now + now, zero)
            store(surface.disparity, uint64(y), x, select(gap <= agree, load(before, uint64(y), x), fresh))
    meet(barrier, bands)


@kernel(void(SURFACE, FLOATS, int64, ADDRESSES, int64, int64, int64))
def settle(surface, before, width, barrier, bands, begin, end):
    """Draw the surface toward that of the frame before where they are close: less flicker, and motion goes through."""
    one, trust, per_px = splat(float32(1)), splat(float32(TRUST)), splat(float32(1 / NEAR))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            here = load(surface.disparity, y, x)
            gap = load(before, y, x) - here
            far = one + gap * gap * per_px * per_px
            store(surface.disparity, y, x, here + trust * gap / (far * far))
    meet(barrier, bands)
