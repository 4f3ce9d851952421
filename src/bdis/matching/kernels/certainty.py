"""How sure is a pixel of the surface: its variance and its probability of being right.

The variance adds up what tells of errors (see ``bdis/certainty.py`` for the numbers and where they come from): how
far the disparities around lie from the surface, how few there are, and how steep it is.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, uint64, void

from ...vector.array_types import ADDRESSES, BYTES, FLOATS
from ...vector.barrier import meet
from ...vector.cache import inner, kernel
from ...vector.simd import (
    LANES,
    absolute,
    gather_pairs,
    lane_numbers,
    larger,
    load,
    select,
    slide,
    smaller,
    splat,
    store,
    to_float,
)
from .layout import PAD, SURFACE
from .surface import TINY

# Columns of `model`, in px of the level: weights of the variance's terms, the largest (1 - density) / density that
# counts, and what a px^2 of variance adds to the odds of being wrong.
FLOOR, SPREAD, SLOPE, HOLE, REST, LARGEST_HOLE, ODDS = (uint64(k) for k in range(7))
SWING = 0.5  # px of the level beyond the limits that are cut off; more is unknown
FAINT = 1e-3  # density at which a wide surface counts as much, where every pixel is filled


@inner
def slope_squared(disparity, y, x, height, width):
    """Squared slope of sixteen pixels from ``x`` on, by central differences; one-sided at the border."""
    half = splat(float32(0.5))
    here = load(disparity, y, x)
    left = slide(here, here, 15) if x == uint64(0) else load(disparity, y, x - uint64(1))
    first, last = splat(int32(0)), splat(int32(width - 1))
    col = lane_numbers() + splat(int32(x))
    left = select(col == first, here, left)
    right = select(col == last, here, load(disparity, y, x + uint64(1)))
    above = load(disparity, y - uint64(1) if y > uint64(0) else y, x)
    below = load(disparity, y + uint64(1) if y + uint64(1) < uint64(height) else y, x)
    across, down = (right - left) * half, (below - above) * half
    return across * across + down * down


@kernel(
    void(
        SURFACE, FLOATS, boolean, FLOATS, boolean, FLOATS, boolean, BYTES, boolean, int64, FLOATS, float64, float64,
        float64, float64,
        FLOATS, FLOATS, FLOATS, ADDRESSES, int64, int64, int64,
    )
)  # fmt: skip
def judge(
    surface, density_before, has_before, found, keep_found, wide, dense, usable, has_usable, width, model,
    min_probability, lowest, highest, scale,
    out_disparity, out_probability, out_variance, barrier, bands, begin, end,
):  # fmt: skip
    """Disparity, probability and ``scale`` * variance (px^2 of the level) of rows ``begin`` to ``end - 1``.

    ``keep_found``: the disparities are those ``found`` (NaN = unknown), not the surface's.  ``has_before``: an earlier
    surface was less dense in ``density_before``.  Unless ``dense``, pixels under ``min_probability``, outside the right
    image, not seen there (``usable``, if ``has_usable``) or beyond the disparities ``lowest`` to ``highest`` (px of the
    level) are unknown; if so, holes are filled from the surface ``wide``.
    """
    height, row = found.shape[0], uint64(0)
    zero, one, unknown = splat(float32(0)), splat(float32(1)), splat(float32(np.nan))
    floor, spread, steep = splat(model[row, FLOOR]), splat(model[row, SPREAD]), splat(model[row, SLOPE])
    lonely, apart, furthest = splat(model[row, HOLE]), splat(model[row, REST]), splat(model[row, LARGEST_HOLE])
    odds, faint = splat(model[row, ODDS]), splat(float32(FAINT))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(width)
        while x < stop:
            disparity, density = load(surface.disparity, y, x), load(surface.density, y, x)
            if has_before:
                density = smaller(density, load(density_before, y, x))
            hole = smaller(larger(one / larger(density, faint * faint) - one, zero), furthest)
            variance = floor + spread * load(surface.spread, y, x) + lonely * hole * hole
            variance = variance + steep * slope_squared(surface.disparity, y, x, height, width)
            if keep_found:
                raw = load(found, y, x)
                variance = variance + apart * (raw - disparity) * (raw - disparity)
                disparity = raw
            if dense:
                # What was not found is left to the surfaces; where even the wide one is NaN nothing is known at all.
                disparity = select(disparity == disparity, disparity, load(surface.disparity, y, x))
                disparity = (disparity * density + load(wide, y, x) * faint) / (density + faint)
                variance = select(variance == variance, variance, floor + lonely * hole * hole)
            probability = one / (one + odds * variance)
            known = disparity == disparity
            if not dense:
                place = to_float(lane_numbers() + splat(int32(x))) - disparity
                half = splat(float32(0.5))  # a pixel reaches half a px beyond its centre
                known = known & (place >= zero - half) & (place <= splat(float32(width - 1)) + half)
                if has_usable:
                    known = known & (load(usable, y, x + uint64(PAD)) > splat(int32(0)))
                known = known & (probability >= splat(float32(min_probability)))
                # A surface may swing a little beyond what the search is allowed.
                within = smaller(larger(disparity, splat(float32(lowest))), splat(float32(highest)))
                known = known & (absolute(disparity - within) <= splat(float32(SWING)))
                disparity = select(known, within, disparity)
            store(out_disparity, y, x, select(known, disparity, unknown))
            store(out_probability, y, x, select(known, probability, zero))
            store(out_variance, y, x, select(known, variance * splat(float32(scale)), unknown))
            x += uint64(LANES)
    meet(barrier, bands)


@kernel(void(FLOATS, FLOATS, FLOATS, int64, float64, ADDRESSES, int64, int64, int64))
def judge_scatter(disparity, variance, probability, width, odds, barrier, bands, begin, end):
    """Probability of rows ``begin`` to ``end - 1`` from a variance that was measured; ``odds`` for one of its units.

    Where there is no disparity there is no variance.
    """
    zero, one, unknown = splat(float32(0)), splat(float32(1)), splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            value, known = load(variance, y, x), load(disparity, y, x)
            known = known == known
            store(variance, y, x, select(known, value, unknown))
            store(probability, y, x, select(known, one / (one + value * splat(float32(odds))), zero))
    meet(barrier, bands)


@kernel(void(FLOATS, FLOATS, int64, ADDRESSES, int64, int64, int64))
def thin(disparity, out, out_width, barrier, bands, begin, end):
    """Disparities of the level above, rows ``begin`` to ``end - 1``: half the mean of the known ones of 2x2."""
    last = disparity.shape[0] - 1
    zero, one, unknown = splat(float32(0)), splat(float32(1)), splat(float32(np.nan))
    for y in range(begin, end):
        for x in range(uint64(0), uint64(out_width), uint64(LANES)):
            total = count = zero
            for row in (2 * y, min(2 * y + 1, last)):
                for value in gather_pairs(disparity, uint64(row), lane_numbers() + splat(int32(x))):
                    known = value == value
                    total += select(known, value, zero)
                    count += select(known, one, zero)
            store(out, uint64(y), x, select(count > zero, total / larger(count + count, one), unknown))
    meet(barrier, bands)


@kernel(void(SURFACE, int64, FLOATS, ADDRESSES, int64, int64, int64))
def keep_wide(surface, width, out, barrier, bands, begin, end):
    """Keep a surface in ``out``; NaN where it knows nothing."""
    unknown, tiny = splat(float32(np.nan)), splat(float32(TINY))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            known = load(surface.density, y, x) > tiny
            store(out, y, x, select(known, load(surface.disparity, y, x), unknown))
    meet(barrier, bands)
