"""A smooth surface through noisy disparities: robust, edge-aware least squares along rows and columns.

Pixels are joined to their neighbours by bonds that are weak across edges of the left image.  One sweep replaces a
field u by the minimum of

    sum (v - u)^2 + sum bond (v - v_neighbour)^2

along every row, then along every column (Min et al. 2014, "fast global image smoothing"): two tridiagonal systems, a
forward and a backward recursion each.  A weighted mean is a sweep of weight * value over a sweep of the weight.

Sweeping flattens slopes and folds.  So what a first sweep left of the disparities is swept again and added ("twicing"),
which follows them to the third order, and disparities far from that surface lose their weight for the next round.
Before that, slopes get back what the border of the image took from them (borders.py).
"""

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Record, kernel
from ...vector.simd import LANES, lane_numbers, larger, load, select, smaller, splat, store
from ...vector.tiles import transpose_tile
from .borders import Borders, straighten_borders
from .layout import ROWS, Map

# ENDINGS, what the swept fields are turned into: the surface (of all known disparities alike, whose density is needed
# again), an addition to the surface, or its spread.
MEAN_OF_ALL, MEAN, ADD, TAKE_SPREAD = range(4)
# BEGINNINGS, what is swept: the disparities and their weights, which are the same or fall with the distance from the
# surface; or what the surface leaves of the disparities, with these weights, or squared.
ALL_ALIKE, BY_DISTANCE, REST, WEIGHTED_REST, SQUARED_REST = range(5)  # the first two are swept with their density
# What halving and doubling each of these does to error and coverage was measured: docs/constants.md.
TINY = 1e-20  # a smaller density is treated as 0; far below what float32 can divide by
LARGEST_SPREAD = 25.0  # px^2 of the level, a single disparity counts for no more; hardly matters


class Surface(Record):
    """A smooth surface over a level and what it is made of.

    Maps have the shape (h in whole tiles of 16, map stride).  Bonds and shares along x have the shape
    (h / 16 * map stride, 16): sixteen rows side by side.

    Attributes
    ----------
    width, height : int
        px.
    disparity : ndarray of float32
        px of the level, the surface.
    density : ndarray of float32
        Share of weight around a pixel, 0 to 1.
    spread : ndarray of float32
        px^2 of the level, mean squared distance of the known disparities from the surface.
    bond_x, bond_y : ndarray of float32
        Strength of the bond to the neighbour on the right, and below.
    share_x, share_y : ndarray of float32
        1 / pivot of the recursion along the row, and down the column.
    target : ndarray of float32
        Scratch: px of the level, disparities to follow, NaN = unknown.
    total : ndarray of float32
        Scratch: what is swept.
    weight : ndarray of float32
        Scratch: 0 to 1, how far a disparity is trusted.
    support_inverse : ndarray of float32
        Scratch: 1 / density if all known disparities count alike.
    """

    width: int
    height: int
    disparity: Floats
    density: Floats
    spread: Floats
    bond_x: Floats
    bond_y: Floats
    share_x: Floats
    share_y: Floats
    target: Floats
    total: Floats
    weight: Floats
    support_inverse: Floats


class FitSettings(Record):
    """How a surface treats outliers.

    Attributes
    ----------
    rounds : int
        Rounds in which they lose their weight.
    tolerance : float
        px of the level, a disparity this far from the surface keeps a quarter of its weight.
    """

    rounds: int
    tolerance: float


class SweepLines(Record):
    """Room for one thread to sweep sixteen rows.

    Attributes
    ----------
    lines : ndarray of float32, shape (2 map strides, 16)
        Two fields, sixteen rows abreast.
    """

    lines: Floats


@inner
def set_target(surface, found, onto_surface, begin, end):
    """What the surface is to follow: the disparities ``found``, or (``onto_surface``) these on the present surface."""
    width = surface.width
    outside = splat(int32(width))
    unknown = splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(width)
        while x < stop:
            value = load(found, y, x)
            if onto_surface:
                value = value + load(surface.disparity, y, x)
            store(surface.target, y, x, select(lane_numbers() + splat(int32(x)) < outside, value, unknown))
            x += uint64(LANES)


@inner
def begin_sweep(surface, beginning, tolerance, begin, end):
    """What is swept (see `BEGINNINGS`) of rows ``begin`` to ``end - 1``: ``total``, and with weights ``density``."""
    zero, one, width = splat(float32(0)), splat(float32(1)), surface.width
    per_px, largest = splat(float32(1 / tolerance)), splat(float32(LARGEST_SPREAD))
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(width)
        while x < stop:
            target = load(surface.target, y, x)
            known, value = target == target, target
            if beginning == ALL_ALIKE:
                store(surface.density, y, x, select(known, one, zero))
            else:
                rest = target - load(surface.disparity, y, x)
                if beginning == BY_DISTANCE:
                    far = rest * per_px
                    keep = one + far * far
                    weight = select(known, one / (keep * keep), zero)
                    store(surface.weight, y, x, weight)
                    store(surface.density, y, x, weight)
                    value = weight * target
                elif beginning == REST:
                    value = rest
                elif beginning == WEIGHTED_REST:
                    value = load(surface.weight, y, x) * rest
                else:
                    value = smaller(rest * rest, largest)
            store(surface.total, y, x, select(known, value, zero))
            x += uint64(LANES)


@inner
def sweep_rows(surface, both, line, top):
    """Solve along the sixteen rows from ``top`` on, abreast in ``line``."""
    bonds, shares, stride, width = surface.bond_x, surface.share_x, surface.total.shape[1], surface.width
    zero, one, second = uint64(0), uint64(1), uint64(stride)
    base, top = uint64(top // LANES * stride), uint64(top)
    x, stop = uint64(0), uint64(width)
    while x < stop:
        transpose_tile(surface.total, top, x, line, x, zero)
        if both:
            transpose_tile(surface.density, top, x, line, second + x, zero)
        x += uint64(LANES)
    # The two fields go together: each step of a recursion waits for the one before, but not for the other field's.
    value = other = bond_before = splat(float32(0))
    for x in range(uint64(width)):
        share = load(shares, base + x, zero)
        carry = share * bond_before
        bond_before = load(bonds, base + x, zero)
        value = share * load(line, x, zero) + carry * value
        store(line, x, zero, value)
        if both:
            other = share * load(line, second + x, zero) + carry * other
            store(line, second + x, zero, other)
    x = uint64(width - 1)
    while x > zero:
        x -= one
        carry = load(bonds, base + x, zero) * load(shares, base + x, zero)
        value = load(line, x, zero) + carry * value
        store(line, x, zero, value)
        if both:
            other = load(line, second + x, zero) + carry * other
            store(line, second + x, zero, other)
    x, stop = uint64(0), uint64(width)
    while x < stop:
        transpose_tile(line, x, zero, surface.total, top, x)
        if both:
            transpose_tile(line, second + x, zero, surface.density, top, x)
        x += uint64(LANES)


@inner
def sweep_columns_down(surface, both, top, bottom, begin, end):
    """Forward half of the recursion down the columns ``begin`` to ``end - 1``, in whole tiles; rows ``top`` to
    ``bottom - 1``.
    """
    bonds, shares, one = surface.bond_y, surface.share_y, uint64(1)
    for y in range(uint64(top), uint64(bottom)):
        above = y - one if y > uint64(0) else y
        x, stop = uint64(begin), uint64(end)
        while x < stop:
            share = load(shares, y, x)
            carry = splat(float32(0)) if y == uint64(0) else share * load(bonds, above, x)
            store(surface.total, y, x, share * load(surface.total, y, x) + carry * load(surface.total, above, x))
            if both:
                value = share * load(surface.density, y, x) + carry * load(surface.density, above, x)
                store(surface.density, y, x, value)
            x += uint64(LANES)


@inner
def sweep_columns_up(surface, both, ending, line, begin, end):
    """Backward half, and what becomes of the swept fields (see `ENDINGS`), row by row while they are in cache.

    The field itself is not needed any more: only its last row is kept, in ``line``.
    """
    total, density, disparity = surface.total, surface.density, surface.disparity
    zero, one, tiny = splat(float32(0)), splat(float32(1)), splat(float32(TINY))
    largest, height = splat(float32(LARGEST_SPREAD)), surface.height
    for x in range(uint64(begin), uint64(end), uint64(LANES)):  # the last row has no bond: what is below adds nothing
        store(line, x, uint64(0), zero)
    y = uint64(height)
    while y > uint64(0):
        y -= uint64(1)
        below = min(y + uint64(1), uint64(height - 1))
        x, stop = uint64(begin), uint64(end)
        while x < stop:
            carry = load(surface.bond_y, y, x) * load(surface.share_y, y, x)
            value = load(total, y, x) + carry * load(line, x, uint64(0))
            store(line, x, uint64(0), value)
            if ending == TAKE_SPREAD:
                inverse = load(surface.support_inverse, y, x)
                store(surface.spread, y, x, select(inverse > zero, smaller(value * inverse, largest), largest))
            else:
                weight = load(density, y, x)
                if both:
                    weight = weight + carry * load(density, below, x)
                    store(density, y, x, weight)
                inverse = select(weight > tiny, one / larger(weight, tiny), zero)
                if ending == MEAN_OF_ALL:
                    store(surface.support_inverse, y, x, inverse)
                value = value * inverse if both else value * inverse + load(disparity, y, x)
                store(disparity, y, x, value)
            x += uint64(LANES)


@inner
def sweep(surface, beginning, ending, tolerance, line, crew):
    """One sweep along rows and columns."""
    both = beginning <= BY_DISTANCE
    begin, end = share(crew, surface.height, LANES)
    for top in range(begin, end, LANES):
        bottom = min(top + LANES, end)
        begin_sweep(surface, beginning, tolerance, top, bottom)
        sweep_rows(surface, both, line, top)
        if crew.count == 1:  # while these rows are in the cache
            sweep_columns_down(surface, both, top, bottom, 0, surface.width)
    if not meet(crew):
        return False
    begin, end = share(crew, surface.width, LANES)
    if crew.count > 1:
        sweep_columns_down(surface, both, 0, surface.height, begin, end)
    sweep_columns_up(surface, both, ending, line, begin, end)
    return meet(crew)


@inner
def copy_rows(source, target, width, begin, end):
    """``target[begin:end, :width] = source[begin:end, :width]``, in whole tiles."""
    for y in range(uint64(begin), uint64(end)):
        x, stop = uint64(0), uint64(width)
        while x < stop:
            store(target, y, x, load(source, y, x))
            x += uint64(LANES)


@kernel
def smooth(
    found: Map,
    surface: Surface,
    room: SweepLines,
    settings: FitSettings,
    borders: Borders,
    onto_surface: bool,
    is_last: bool,
    crew: Crew,
) -> None:
    """Robust surface through the disparities ``found``; needs `bonds.bind`.

    ``onto_surface``: the disparities are relative to the present surface.  Writes ``surface.disparity``, ``density``
    and, if ``is_last``, ``spread``.
    """
    begin, end = share(crew, surface.height, LANES)
    set_target(surface, found.values, onto_surface, begin, end)
    # Two sweeps a round, a mean and what is added to it; one call, since every call is compiled in anew.
    last = 2 * settings.rounds + 1
    for k in range(last + 1 + is_last):
        if k > last:
            beginning, ending = SQUARED_REST, TAKE_SPREAD
        elif k % 2 == 1:
            beginning, ending = REST if k == 1 else WEIGHTED_REST, ADD
        else:
            beginning, ending = (ALL_ALIKE, MEAN_OF_ALL if is_last else MEAN) if k == 0 else (BY_DISTANCE, MEAN)
        if not sweep(surface, beginning, ending, settings.tolerance, room.lines, crew):
            return
        if ending <= MEAN and not borders.is_level and not straighten_borders(surface, borders, crew):
            return


@kernel
def keep_known(surface: Surface, out: Map, crew: Crew) -> None:
    """Copy the surface; NaN where it knows nothing."""
    begin, end = share(crew, surface.height, ROWS)
    unknown, tiny = splat(float32(np.nan)), splat(float32(TINY))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(surface.width), uint64(LANES)):
            known = load(surface.density, y, x) > tiny
            store(out.values, y, x, select(known, load(surface.disparity, y, x), unknown))
    meet(crew)


@kernel
def keep_density(surface: Surface, out: Map, crew: Crew) -> None:
    """Copy the surface's density."""
    begin, end = share(crew, surface.height, ROWS)
    copy_rows(surface.density, out.values, surface.width, begin, end)
    meet(crew)
