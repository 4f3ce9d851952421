"""How sure is a pixel of the surface: its variance and its probability of being right.

The variance adds up what tells of errors (see ``bdis/calibration.py`` for the numbers and where they come from): how
far the disparities around lie from the surface, how few there are, and how steep it is.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, uint64, void

from .barrier import meet
from .cache import inner, kernel
from .layout import ADDRESSES, FLOATS, SURFACE
from .simd import LANES, lane_numbers, larger, load, select, slide, smaller, splat, store, to_float

# Columns of `model`: the terms of the variance (px^2 of the level), then the two numbers of the probability.
FLOOR, SPREAD, HOLE, SLOPE, REST, HALF, TAIL = (uint64(k) for k in range(7))


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


@inner
def probability_of(variance, model):
    """Probability of an error below 1 px of the image, from the variance in px^2 of the level."""
    one = splat(float32(1))
    ratio = variance * splat(model[uint64(0), HALF])
    return one / (one + ratio * (one + ratio * splat(model[uint64(0), TAIL])))


@kernel(
    void(
        SURFACE, FLOATS, boolean, FLOATS, boolean, int64, FLOATS, float64, boolean, float64, FLOATS, FLOATS, FLOATS,
        ADDRESSES, int64, int64, int64,
    )
)  # fmt: skip
def judge(
    surface, density_before, has_before, found, keep_found, width, model, min_probability, dense, px_squared,
    out_disparity, out_probability, out_variance, barrier, bands, begin, end,
):  # fmt: skip
    """Disparity, probability and variance (px^2 of the image) of rows ``begin`` to ``end - 1``.

    ``keep_found``: the disparities are those ``found`` (NaN = unknown), not the surface's.  ``has_before``: an earlier
    surface was less dense in ``density_before``.  ``px_squared``: px^2 of the image in one of the level.  Unless
    ``dense``, pixels under ``min_probability`` and those outside the right image are unknown.
    """
    height = found.shape[0]
    zero, one, unknown = splat(float32(0)), splat(float32(1)), splat(float32(np.nan))
    scale = splat(float32(px_squared))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            disparity, density = load(surface.disparity, y, x), load(surface.density, y, x)
            if has_before:
                density = smaller(density, load(density_before, y, x))
            hole = larger(one - density, zero)
            variance = splat(model[uint64(0), FLOOR]) + splat(model[uint64(0), SPREAD]) * load(surface.spread, y, x)
            variance = variance + splat(model[uint64(0), HOLE]) * hole * hole
            slope = slope_squared(surface.disparity, y, x, height, width)
            variance = variance + splat(model[uint64(0), SLOPE]) * slope
            if keep_found:
                raw = load(found, y, x)
                variance = variance + splat(model[uint64(0), REST]) * (raw - disparity) * (raw - disparity)
                disparity = raw
            probability = probability_of(variance, model)
            place = to_float(lane_numbers() + splat(int32(x))) - disparity
            inside = (place >= zero) & (place <= splat(float32(width - 1)))
            known = disparity == disparity
            if not dense:
                known = known & inside & (probability >= splat(float32(min_probability)))
            store(out_disparity, y, x, select(known, disparity, unknown))
            store(out_probability, y, x, select(known, probability, zero))
            store(out_variance, y, x, select(known, variance * scale, zero))
    meet(barrier, bands)
