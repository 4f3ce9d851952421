"""A smooth surface through noisy disparities: robust, edge-aware least squares along rows and columns.

Pixels are joined to their neighbours by bonds that are weak across edges of the left image.  One sweep replaces a
field u by the minimum of

    sum (v - u)^2 + sum bond (v - v_neighbour)^2

along every row, then along every column (Min et al. 2014, "fast global image smoothing"): two tridiagonal systems, a
forward and a backward recursion each.  A weighted mean is a sweep of weight * value over a sweep of the weight.

Sweeping flattens slopes and folds.  So what a first sweep left of the disparities is swept again and added ("twicing"),
which follows them to the third order, and disparities far from that surface lose their weight for the next round.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, uint64, void

from .barrier import meet
from .cache import inner, kernel
from .layout import ADDRESSES, FLOATS, PAD, SHORTS, SURFACE
from .posterior import exp
from .simd import LANES, absolute, lane_numbers, larger, load, select, smaller, splat, store, to_float
from .tiles import transpose_tile

TINY = 1e-20  # a density below says nothing
LARGEST_SPREAD = 25.0  # px^2 of the level, a single disparity counts for no more


@inner
def rows_of(count, band, bands):
    """First and last + 1 of ``count`` rows for one band; whole tiles of sixteen."""
    tiles = (count + LANES - 1) // LANES
    return min(tiles * band // bands * LANES, count), min(tiles * (band + 1) // bands * LANES, count)


@inner
def bond_rows(left, width, strength, sharpness, out, begin, end):
    """Bonds to the right neighbour, rows ``begin`` to ``end - 1`` of ``out``; 0 from the last column on."""
    factor = splat(float32(-sharpness))
    zero, last = splat(float32(0)), splat(int32(width - 1))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(out.shape[1]), uint64(LANES)):
            if int64(x) >= width:
                store(out, y, x, zero)
                continue
            step = to_float(load(left, y, x + uint64(PAD + 1)) - load(left, y, x + uint64(PAD)))
            bond = splat(float32(strength)) * exp(absolute(step) * factor)
            store(out, y, x, select(lane_numbers() + splat(int32(x)) < last, bond, zero))


@inner
def bond_columns(left, width, strength, sharpness, out, begin, end):
    """Bonds to the neighbour below, rows ``begin`` to ``end - 1`` of ``out``; 0 in the last row."""
    factor = splat(float32(-sharpness))
    last = left.shape[0] - 1
    for y in range(begin, end):
        row, below = uint64(y), uint64(min(y + 1, last))
        scale = splat(float32(strength if y < last else 0))
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            step = to_float(load(left, below, x + uint64(PAD)) - load(left, row, x + uint64(PAD)))
            store(out, row, x, scale * exp(absolute(step) * factor))


@inner
def shares_along_rows(surface, width, begin, end):
    """Turn bonds into what the recursions along rows need, tile by tile: bond and 1 / pivot, sixteen rows abreast."""
    one = splat(float32(1))
    bonds, shares, stride = surface.bond_x, surface.share_x, surface.total.shape[1]
    for top in range(begin, end, LANES):
        base = uint64(top // LANES * stride)
        for x in range(uint64(0), uint64(stride), uint64(LANES)):
            transpose_tile(surface.total, uint64(top), x, bonds, base + x, uint64(0))
        bond_before = carry = splat(float32(0))
        for x in range(uint64(width)):
            bond = load(bonds, base + x, uint64(0))
            share = one / (one + bond_before + bond - bond_before * carry)
            store(shares, base + x, uint64(0), share)
            bond_before, carry = bond, bond * share


@inner
def shares_along_columns(surface, height, begin, end):
    """1 / pivot of the recursions down the columns ``begin`` to ``end - 1``."""
    one = splat(float32(1))
    bonds, shares = surface.bond_y, surface.share_y
    for y in range(uint64(height)):
        for x in range(uint64(begin), uint64(end), uint64(LANES)):
            pivot = one + load(bonds, y, x)
            if y > uint64(0):
                before = load(bonds, y - uint64(1), x)
                pivot = pivot + before - before * before * load(shares, y - uint64(1), x)
            store(shares, y, x, one / pivot)


@kernel(void(SHORTS, SURFACE, int64, float64, float64, ADDRESSES, int64, int64))
def bind(left, surface, width, strength, sharpness, barrier, band, bands):
    """Bonds between the pixels of the left image: ``strength * exp(-sharpness * |step|)``, step as stored.

    Writes ``surface.bond_x``, ``share_x``, ``bond_y``, ``share_y``.
    """
    height = left.shape[0]
    begin, end = rows_of(height, band, bands)
    zero = splat(float32(0))
    bond_rows(left, width, strength, sharpness, surface.total, begin, end)
    if end == height:  # rows that only fill the last tile
        for y in range(uint64(height), uint64(surface.total.shape[0])):
            for x in range(uint64(0), uint64(surface.total.shape[1]), uint64(LANES)):
                store(surface.total, y, x, zero)
    shares_along_rows(surface, width, begin, end)
    bond_columns(left, width, strength, sharpness, surface.bond_y, begin, end)
    if not meet(barrier, bands):
        return
    begin, end = rows_of(width, band, bands)
    shares_along_columns(surface, height, begin, end)
    meet(barrier, bands)


@inner
def sweep_rows(surface, field, line, width, begin, end):
    """Solve along the rows ``begin`` to ``end - 1`` of ``field``, sixteen rows abreast in ``line`` (stride, 16)."""
    bonds, shares, stride = surface.bond_x, surface.share_x, surface.total.shape[1]
    one, zero = uint64(1), uint64(0)
    for top in range(begin, end, LANES):
        base = uint64(top // LANES * stride)
        for x in range(zero, uint64(width), uint64(LANES)):
            transpose_tile(field, uint64(top), x, line, x, zero)
        value = bond_before = splat(float32(0))
        for x in range(uint64(width)):
            share = load(shares, base + x, zero)
            value = share * load(line, x, zero) + (share * bond_before) * value
            bond_before = load(bonds, base + x, zero)
            store(line, x, zero, value)
        x = uint64(width - 1)
        while x > zero:
            x -= one
            back = load(bonds, base + x, zero) * load(shares, base + x, zero)
            value = load(line, x, zero) + back * value
            store(line, x, zero, value)
        for x in range(zero, uint64(width), uint64(LANES)):
            transpose_tile(line, x, zero, field, uint64(top), x)


@inner
def sweep_columns(surface, field, height, begin, end):
    """Solve down the columns ``begin`` to ``end - 1`` of ``field``, in whole tiles."""
    bonds, shares = surface.bond_y, surface.share_y
    one = uint64(1)
    for y in range(uint64(height)):
        for x in range(uint64(begin), uint64(end), uint64(LANES)):
            share = load(shares, y, x)
            value = share * load(field, y, x)
            if y > uint64(0):
                value = value + (share * load(bonds, y - one, x)) * load(field, y - one, x)
            store(field, y, x, value)
    y = uint64(height - 1)
    while y > uint64(0):
        y -= one
        for x in range(uint64(begin), uint64(end), uint64(LANES)):
            back = load(bonds, y, x) * load(shares, y, x)
            store(field, y, x, load(field, y, x) + back * load(field, y + one, x))


@inner
def sweep(surface, both, line, width, height, barrier, band, bands):
    """One sweep of ``surface.total``, and of ``surface.density`` if ``both``."""
    begin, end = rows_of(height, band, bands)
    sweep_rows(surface, surface.total, line, width, begin, end)
    if both:
        sweep_rows(surface, surface.density, line, width, begin, end)
    if not meet(barrier, bands):
        return False
    begin, end = rows_of(width, band, bands)
    sweep_columns(surface, surface.total, height, begin, end)
    if both:
        sweep_columns(surface, surface.density, height, begin, end)
    return meet(barrier, bands)


@inner
def weigh(surface, tolerance, width, begin, end):
    """Weights of the disparities: 0 unknown, else 1, falling to 0 with the distance from the surface.

    ``tolerance`` <= 0: all known ones count the same.  Writes ``weight`` and the fields of the next sweep.
    """
    zero, one = splat(float32(0)), splat(float32(1))
    per_px = splat(float32(1 / tolerance if tolerance > 0 else 0))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            target = load(surface.target, y, x)
            known = target == target
            far = (target - load(surface.disparity, y, x)) * per_px
            keep = one + far * far
            weight = select(known, one / (keep * keep), zero)
            store(surface.weight, y, x, weight)
            store(surface.density, y, x, weight)
            store(surface.total, y, x, select(known, weight * target, zero))


@inner
def take_mean(surface, add, width, begin, end):
    """Surface height from the swept fields, or (``add``) what is added to it; then what is left, weighted, to sweep."""
    zero, tiny = splat(float32(0)), splat(float32(TINY))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            density = load(surface.density, y, x)
            mean = select(density > tiny, load(surface.total, y, x) / larger(density, tiny), zero)
            if add:
                mean = mean + load(surface.disparity, y, x)
            store(surface.disparity, y, x, mean)
            target = load(surface.target, y, x)
            rest = load(surface.weight, y, x) * (target - mean)
            store(surface.total, y, x, select(target == target, rest, zero))


@inner
def square_rest(surface, width, begin, end):
    """Squared distance of all known disparities from the surface, to sweep."""
    zero, largest = splat(float32(0)), splat(float32(LARGEST_SPREAD))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            target = load(surface.target, y, x)
            rest = target - load(surface.disparity, y, x)
            store(surface.total, y, x, select(target == target, smaller(rest * rest, largest), zero))


@inner
def take_spread(surface, width, begin, end):
    """Mean squared distance from the surface, over all known disparities."""
    tiny, largest = splat(float32(TINY)), splat(float32(LARGEST_SPREAD))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            support = load(surface.support, y, x)
            mean = load(surface.total, y, x) / larger(support, tiny)
            store(surface.spread, y, x, select(support > tiny, smaller(mean, largest), largest))


@inner
def copy_rows(source, target, width, begin, end):
    """``target[begin:end, :width] = source[begin:end, :width]``, in whole tiles."""
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            store(target, y, x, load(source, y, x))


@inner
def set_target(surface, found, onto_surface, width, begin, end):
    """What the surface is to follow: the disparities ``found``, or (``onto_surface``) these on the present surface."""
    outside = splat(int32(width))
    unknown = splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            value = load(found, y, x)
            if onto_surface:
                value = value + load(surface.disparity, y, x)
            store(surface.target, y, x, select(lane_numbers() + splat(int32(x)) < outside, value, unknown))


@kernel(boolean(FLOATS, boolean, SURFACE, FLOATS, int64, int64, float64, ADDRESSES, int64, int64))
def smooth(found, onto_surface, surface, line, width, rounds, tolerance, barrier, band, bands):
    """Robust surface through the disparities ``found`` (h, plain stride; NaN = unknown) in ``rounds`` rounds of re-weighting.

    ``onto_surface``: the disparities are what is still missing on the present surface.  ``tolerance``: px of the level, a
    disparity this far from the surface keeps a quarter of its weight.  Needs `bind`.  Writes ``surface.disparity``,
    ``density`` (share of weight around a pixel, 0 to 1), ``support`` (the same before re-weighting) and ``spread``
    (px^2).  False if another band failed.
    """
    height = found.shape[0]
    begin, end = rows_of(height, band, bands)
    set_target(surface, found, onto_surface, width, begin, end)
    weigh(surface, 0.0, width, begin, end)
    for round_ in range(rounds + 1):
        if not sweep(surface, True, line, width, height, barrier, band, bands):
            return False
        if round_ == 0:
            copy_rows(surface.density, surface.support, width, begin, end)
        take_mean(surface, False, width, begin, end)
        if not sweep(surface, False, line, width, height, barrier, band, bands):
            return False
        take_mean(surface, True, width, begin, end)
        if round_ < rounds:
            weigh(surface, tolerance, width, begin, end)
    square_rest(surface, width, begin, end)
    if not sweep(surface, False, line, width, height, barrier, band, bands):
        return False
    take_spread(surface, width, begin, end)
    return meet(barrier, bands)
