"""Video: what the previous frame says about this one."""

import numpy as np
from numba import float32, int32, uint64

from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import LANES, absolute, gather, lane_numbers, load, select, smaller, splat, store, to_float, to_int
from .layout import ROWS, Map
from .surface import Surface

# What halving and doubling each of these does was measured: docs/constants.md.
TRUST = 0.5  # how far the surface is drawn toward that of the previous frame; 0.25 and 1 flicker as much
NEAR = 0.2  # px of the level: at this distance it is drawn a quarter as far; 0.1 flickers more, 0.4 lags behind
AGREE = 0.5  # px of the coarser level within which two frames are alike; 0.25 loses half of what video mode gains


@kernel
def share_alike(coarse: Map, previous: Map) -> float:
    """Share of the pixels known in both frames whose disparity is the same; 0 if there are none."""
    alike = count = 0
    for y in range(coarse.values.shape[0]):
        for x in range(coarse.width):
            gap = abs(coarse.values[y, x] - previous.values[y, x])
            if not np.isnan(gap):
                count += 1
                alike += gap <= AGREE
    return alike / max(count, 1)


@kernel
def lay_previous_surface(coarse: Map, coarse_previous: Map, previous: Map, surface: Surface, crew: Crew) -> None:
    """A surface to search along.

    That of the previous frame where this frame's coarser level agrees with it or is unknown; else twice the coarser
    level.
    """
    begin, end = share(crew, surface.height, ROWS)
    agree, zero = splat(float32(AGREE)), splat(float32(0))
    last, one = splat(float32(coarse.width - 1)), splat(int32(1))
    for y in range(begin, end):
        row = uint64(min(y // 2, coarse.values.shape[0] - 1))
        for x in range(uint64(0), uint64(surface.width), uint64(LANES)):
            col = to_int(smaller(to_float((lane_numbers() + splat(int32(x))) >> one), last))
            now, then = gather(coarse.values, row, col), gather(coarse_previous.values, row, col)
            # Where this frame's coarser level is unknown, the previous frame is believed.
            gap = select(now == now, absolute(now - then), zero)
            fresh = select(now == now, now + now, zero)
            store(surface.disparity, uint64(y), x, select(gap <= agree, load(previous.values, uint64(y), x), fresh))
    meet(crew)


@kernel
def draw_to_previous(surface: Surface, previous: Map, crew: Crew) -> None:
    """Draw the surface toward that of the previous frame where they are close: less flicker; motion is not affected."""
    begin, end = share(crew, surface.height, ROWS)
    one, trust, per_px = splat(float32(1)), splat(float32(TRUST)), splat(float32(1 / NEAR))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(surface.width), uint64(LANES)):
            here = load(surface.disparity, y, x)
            gap = load(previous.values, y, x) - here
            far = one + gap * gap * per_px * per_px
            store(surface.disparity, y, x, here + trust * gap / (far * far))
    meet(crew)
