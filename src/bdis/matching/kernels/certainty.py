"""How sure is a pixel: its variance and its probability of being right.

The variance adds up what tells of errors (see ``bdis/matching/certainty.py`` for the numbers and where they come from):
how far the disparities around lie from the surface, how few there are, and how steep it is.
"""

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Record, kernel
from ...vector.simd import (
    LANES,
    absolute,
    lane_numbers,
    larger,
    load,
    rounded_product,
    select,
    slide,
    smaller,
    splat,
    store,
    to_float,
)
from .law import probability_of
from .layout import PAD, ROWS, Map, Maps
from .pyramid import Views
from .surface import Surface

SWING = 0.5  # px of the level: a surface may exceed the limits by so much and is cut back; further out it is unknown
FAINT = 1e-3  # density at which a wide surface counts as much, where every pixel is filled; half and double: 2 %


class ErrorModel(Record):
    """Weights of the variance's terms, in px of the level.

    Attributes
    ----------
    floor : float
        px^2, added everywhere.
    spread, slope, hole : float
        Of the scatter around the surface, of its squared slope, and of ((1 - density) / density)^2.
    rest : float
        Of the squared distance of a disparity itself from the surface.
    largest_hole : float
        The largest (1 - density) / density that counts.
    image_px2 : float
        px^2 of the image per px^2 of the level.
    """

    floor: float
    spread: float
    slope: float
    hole: float
    rest: float
    largest_hole: float
    image_px2: float


class Limits(Record):
    """Which pixels of a surface are known.

    Attributes
    ----------
    min_probability : float
        Pixels below are unknown.
    lowest, highest : float
        px of the level; a surface may swing a little beyond what the search is allowed.
    """

    min_probability: float
    lowest: float
    highest: float


@inner
def slope_squared(surface, y, x):
    """Squared slope of sixteen pixels from ``x`` on, by central differences; one-sided at the border."""
    disparity, height, width = surface.disparity, surface.height, surface.width
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
def hole_at(density, model):
    """(1 - density) / density of sixteen pixels, within its limits."""
    zero, one, faint = splat(float32(0)), splat(float32(1)), splat(float32(FAINT))
    largest = splat(float32(model.largest_hole))
    return smaller(larger(one / larger(density, faint * faint) - one, zero), largest)


@inner
def variance_at(surface, y, x, hole, model):
    """Variance of the surface at sixteen pixels."""
    variance = splat(float32(model.floor)) + splat(float32(model.spread)) * load(surface.spread, y, x)
    # Rounded, so that all kernels that score pixels agree to the last bit.
    variance = variance + rounded_product(splat(float32(model.hole)) * hole, hole)
    return variance + splat(float32(model.slope)) * slope_squared(surface, y, x)


@inner
def probability_at(variance, model):
    """Probability that a disparity is off by less than 1 px of the image."""
    return probability_of(splat(float32(model.image_px2)) * variance)


@inner
def inside_right_image(disparity, x, width):
    """Do sixteen pixels match a pixel of the right image?  A pixel reaches half a px beyond its centre."""
    zero, half = splat(float32(0)), splat(float32(0.5))
    place = to_float(lane_numbers() + splat(int32(x))) - disparity
    return (place >= zero - half) & (place <= splat(float32(width - 1)) + half)


@kernel
def score_surface(
    surface: Surface, first_density: Map, views: Views, model: ErrorModel, limits: Limits,
    out: Maps, variance_out: Map, check_usable: bool, crew: Crew,
) -> None:  # fmt: skip
    """Disparity, probability and variance (px^2 of the level) of a surface.

    ``first_density``: of the surface before the second search, which was perhaps less dense.  Pixels under
    ``min_probability``, outside the right image, not usable there (``check_usable``) or beyond the limits are unknown.
    """
    begin, end = share(crew, surface.height, ROWS)
    zero, unknown, width = splat(float32(0)), splat(float32(np.nan)), surface.width
    lowest, highest = splat(float32(limits.lowest)), splat(float32(limits.highest))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(width)
        while x < stop:
            disparity = load(surface.disparity, y, x)
            density = smaller(load(surface.density, y, x), load(first_density.values, y, x))
            variance = variance_at(surface, y, x, hole_at(density, model), model)
            probability = probability_at(variance, model)
            known = (disparity == disparity) & inside_right_image(disparity, x, width)
            if check_usable:
                known = known & (load(views.usable_right, y, x + uint64(PAD)) > splat(int32(0)))
            known = known & (probability >= splat(float32(limits.min_probability)))
            within = smaller(larger(disparity, lowest), highest)
            known = known & (absolute(disparity - within) <= splat(float32(SWING)))
            store(out.disparity, y, x, select(known, within, unknown))
            store(out.probability, y, x, select(known, probability, zero))
            store(variance_out.values, y, x, select(known, variance, unknown))
            x += uint64(LANES)
    meet(crew)


@kernel
def score_dense(
    surface: Surface, first_density: Map, wide: Map, model: ErrorModel, out: Maps, variance_out: Map, keep_found: bool,
    crew: Crew,
) -> None:  # fmt: skip
    """Likewise where every pixel gets a disparity: holes are filled from a ``wide`` surface that reaches across them.

    ``keep_found``: the disparities are those in ``out`` already, where known, not the surface's.
    """
    begin, end = share(crew, surface.height, ROWS)
    zero, unknown, faint = splat(float32(0)), splat(float32(np.nan)), splat(float32(FAINT))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(surface.width)
        while x < stop:
            disparity = load(surface.disparity, y, x)
            density = smaller(load(surface.density, y, x), load(first_density.values, y, x))
            hole = hole_at(density, model)
            variance = variance_at(surface, y, x, hole, model)
            if keep_found:
                raw = load(out.disparity, y, x)
                variance = variance + splat(float32(model.rest)) * (raw - disparity) * (raw - disparity)
                disparity = select(raw == raw, raw, disparity)
            disparity = (disparity * density + load(wide.values, y, x) * faint) / (density + faint)
            guessed = splat(float32(model.floor)) + rounded_product(splat(float32(model.hole)) * hole, hole)
            variance = select(variance == variance, variance, guessed)
            known = disparity == disparity  # where even the wide surface is NaN nothing is known at all
            store(out.disparity, y, x, select(known, disparity, unknown))
            store(out.probability, y, x, select(known, probability_at(variance, model), zero))
            store(variance_out.values, y, x, select(known, variance, unknown))
            x += uint64(LANES)
    meet(crew)


@kernel
def score_scatter(surface: Surface, found: Map, model: ErrorModel, variance_out: Map, crew: Crew) -> None:
    """Variance of the disparities ``found``, from how they scatter about a surface through them."""
    begin, end = share(crew, surface.height, ROWS)
    unknown = splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(surface.width)
        while x < stop:
            disparity, raw = load(surface.disparity, y, x), load(found.values, y, x)
            variance = variance_at(surface, y, x, hole_at(load(surface.density, y, x), model), model)
            variance = variance + splat(float32(model.rest)) * (raw - disparity) * (raw - disparity)
            known = (raw == raw) & inside_right_image(raw, x, surface.width)
            store(variance_out.values, y, x, select(known, variance, unknown))
            x += uint64(LANES)
    meet(crew)


@kernel
def score_by_variance(maps: Maps, variance: Map, model: ErrorModel, crew: Crew) -> None:
    """Probability from a variance.  Where there is no disparity there is no variance."""
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    zero, unknown = splat(float32(0)), splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(maps.width), uint64(LANES)):
            value, disparity = load(variance.values, y, x), load(maps.disparity, y, x)
            known = disparity == disparity
            store(variance.values, y, x, select(known, value, unknown))
            store(maps.probability, y, x, select(known, probability_at(value, model), zero))
    meet(crew)
