"""From patches to pixels: spatial mixture of overlapping patches [III-C, Eq. 9-10, 13], and DIS fusion [Eq. 2].

The spatial Gaussian is separable, so patches are first spread along their row (one pass over patches), then
rows of patches are blended down the columns (one pass over pixels).
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Ints, Record, kernel
from ...vector.simd import (
    LANES,
    any_lane,
    lane_numbers,
    larger,
    load,
    prefetch,
    rounded_product,
    select,
    smaller,
    splat,
    store,
    sum_lanes,
    to_float,
)
from .layout import PAD, ROWS, Maps
from .patches import Patches
from .pyramid import Views


class Mixture(Record):
    """The spatial mixture of one level: n rows of patches over h rows of pixels.

    Attributes
    ----------
    weights : ndarray of float32, shape (1, 16)
        Spatial weight across a patch, 0 beyond it (Eq. 9).
    spread : ndarray of float32, shape (3 n, map stride)
        Patches spread along their row: sum w p u, sum w p and sum w over the accepted ones.
    full_weight : ndarray of float32, shape (1, map stride)
        Spatial weight along x if every patch were accepted.
    covering : ndarray of int32, shape (h, 2)
        First and last + 1 patch row over each pixel row.
    row_weights : ndarray of float32, shape (h, most patch rows over a pixel row)
        Their spatial weights there.
    min_support : float
        Share of a pixel's spatial weight that accepted patches must hold.
    min_probability : float
        Pixels below are unknown.
    """

    weights: Floats
    spread: Floats
    full_weight: Floats
    covering: Ints
    row_weights: Floats
    min_support: float
    min_probability: float


class VarianceMixture(Record):
    """The paper's variance of one level.

    Attributes
    ----------
    spread : ndarray of float32, shape (n, map stride)
        sum w^2 p^2 sigma^2 of the patches of a row.
    variance : ndarray of float32, shape (h, map stride)
        px^2 of the level, NaN = unknown.
    unfitted : float
        px^2, where a disparity was filled in without a patch.
    """

    spread: Floats
    variance: Floats
    unfitted: float


class ResidualMixture(Record):
    """DIS fusion of one level.

    Attributes
    ----------
    weighted : ndarray of float32, shape (h, map stride)
        Sum of weight x disparity over the patches.
    weight : ndarray of float32, shape (h, map stride)
        Sum of their weights.
    patch_size : int
        px.
    grey : float
        One grey level in the integer scale of the images.
    """

    weighted: Floats
    weight: Floats
    patch_size: int
    grey: float


@inner
def spread_row(patches, mixture, i):
    """Spread the patches of row ``i`` along x into three rows of ``mixture.spread``."""
    spread = mixture.spread
    w = load(mixture.weights, uint64(0), uint64(0))
    zero = splat(float32(0))
    a, b, c = uint64(3 * i), uint64(3 * i + 1), uint64(3 * i + 2)
    for x in range(uint64(0), uint64(spread.shape[1]), uint64(LANES)):
        store(spread, a, x, zero)
        store(spread, b, x, zero)
        store(spread, c, x, zero)
    # Neighbouring patches overlap; taking every eighth in turn keeps a load from waiting for the last store.
    for start in range(8):
        for j in range(start, patches.cols.shape[1] - LANES, 8):
            p = patches.probability[i, j]
            if p > 0:
                x = uint64(patches.cols[0, j])
                wp = w * splat(p)
                store(spread, a, x, load(spread, a, x) + wp * splat(patches.disparity[i, j]))
                store(spread, b, x, load(spread, b, x) + wp)
                store(spread, c, x, load(spread, c, x) + w)


def _fuse_row_under(fixed_count):
    """Makes `fuse_row` for pixels under ``fixed_count`` rows of patches, which is faster; 0: under any number."""

    @inner
    def fuse_row(mixture, maps, y, any_count):
        """One row of pixels (Eq. 13).

        A pixel is known if accepted patches hold ``min_support`` of the spatial weight that all patches over it would
        have, and its probability is ``min_probability`` or more.
        """
        spread, row_weights = mixture.spread, mixture.row_weights
        first, count = uint64(3) * uint64(mixture.covering[y, 0]), uint64(fixed_count or any_count)
        unknown = splat(float32(np.nan))
        zero, one, tiny = splat(float32(0)), splat(float32(1)), splat(float32(1e-30))
        threshold, first_weight = splat(float32(mixture.min_probability)), splat(row_weights[y, uint64(0)])
        full = float32(0)
        for k in range(count):
            full += row_weights[y, k]
        needed = splat(full * float32(mixture.min_support))
        for x in range(uint64(0), uint64(maps.disparity.shape[1] - LANES), uint64(LANES)):
            prefetch(maps.disparity, y + uint64(2), x)  # rows to come: their memory is not in the caches yet
            prefetch(maps.probability, y + uint64(2), x)
            # The first products are rounded by themselves, so that sums are the same whatever the compiler unrolls.
            w = rounded_product(first_weight, load(spread, first + uint64(2), x))
            for k in range(uint64(1), count):
                w += splat(row_weights[y, k]) * load(spread, first + uint64(3) * k + uint64(2), x)
            if not any_lane(w > zero):
                store(maps.disparity, y, x, unknown)
                store(maps.probability, y, x, zero)
                continue
            wpu = rounded_product(first_weight, load(spread, first, x))
            wp = rounded_product(first_weight, load(spread, first + uint64(1), x))
            for k in range(uint64(1), count):
                g = splat(row_weights[y, k])
                wpu += g * load(spread, first + uint64(3) * k, x)
                wp += g * load(spread, first + uint64(3) * k + uint64(1), x)
            over = one / larger(w * wp, tiny)  # one division serves both ratios
            probability = smaller(wp * wp * over, one)
            known = (
                (w >= needed * load(mixture.full_weight, uint64(0), x)) & (probability >= threshold) & (w * wp > tiny)
            )
            store(maps.disparity, y, x, select(known, wpu * w * over, unknown))
            store(maps.probability, y, x, select(known, probability, zero))

    return fuse_row


_under_one, _under_two, _under_three, _under_any = (_fuse_row_under(count) for count in (1, 2, 3, 0))


@inner
def fuse_rows(mixture, maps, begin, end):
    """Pixel rows ``begin`` to ``end - 1`` of ``maps``."""
    for y in range(uint64(begin), uint64(end)):
        count = mixture.covering[y, 1] - mixture.covering[y, 0]
        if count == 1:
            _under_one(mixture, maps, y, count)
        elif count == 2:
            _under_two(mixture, maps, y, count)
        elif count == 3:
            _under_three(mixture, maps, y, count)
        else:
            _under_any(mixture, maps, y, count)


@kernel
def fuse(patches: Patches, mixture: Mixture, maps: Maps, crew: Crew) -> None:
    """Disparity and probability of the pixels from the patches over them."""
    begin, end = share(crew, patches.rows.shape[1], ROWS)
    for i in range(begin, end):
        spread_row(patches, mixture, i)
    if not meet(crew):
        return
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    fuse_rows(mixture, maps, begin, end)
    meet(crew)


@kernel
def fuse_variance(patches: Patches, mixture: Mixture, maps: Maps, out: VarianceMixture, crew: Crew) -> None:
    """The paper's variance (Eq. 18) of a level once it is fused."""
    begin, end = share(crew, patches.rows.shape[1], ROWS)
    spread_variance_rows(patches, mixture, out.spread, begin, end)
    if not meet(crew):
        return
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    fuse_variance_rows(mixture, maps, out, begin, end)
    meet(crew)


@kernel
def fill_variance(maps: Maps, out: VarianceMixture, crew: Crew) -> None:
    """The variance of a level whose patches have no posterior: ``out.unfitted`` wherever a disparity is known."""
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    unfitted, unknown = splat(float32(out.unfitted)), splat(float32(np.nan))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(maps.width), uint64(LANES)):
            disparity = load(maps.disparity, y, x)
            store(out.variance, y, x, select(disparity == disparity, unfitted, unknown))
    meet(crew)


@inner
def spread_variance_rows(patches, mixture, spread, begin, end):
    """Spread w^2 p^2 sigma^2 of the patch rows ``begin`` to ``end - 1`` along x (Eq. 18)."""
    w = load(mixture.weights, uint64(0), uint64(0))
    for i in range(begin, end):
        row = uint64(i)
        for x in range(uint64(0), uint64(spread.shape[1]), uint64(LANES)):
            store(spread, row, x, splat(float32(0)))
        for j in range(patches.cols.shape[1] - LANES):
            p = patches.probability[i, j]
            if p > 0:
                x = uint64(patches.cols[0, j])
                part = w * w * splat(p * p * patches.variance[i, j])
                store(spread, row, x, load(spread, row, x) + part)


@inner
def fuse_variance_rows(mixture, maps, out, begin, end):
    """Pixel rows ``begin`` to ``end - 1``: variance of the mean over the patches (Eq. 18); NaN = unknown."""
    zero, unfitted, unknown = splat(float32(0)), splat(float32(out.unfitted)), splat(float32(np.nan))
    covering, row_weights = mixture.covering, mixture.row_weights
    three, one = uint64(3), uint64(1)
    for y in range(uint64(begin), uint64(end)):
        first, count = uint64(covering[y, 0]), uint64(covering[y, 1] - covering[y, 0])
        for x in range(uint64(0), uint64(maps.width), uint64(LANES)):
            total = wp = splat(float32(0))
            for k in range(count):
                g = splat(row_weights[y, k])
                total += g * g * load(out.spread, first + k, x)
                wp += g * load(mixture.spread, three * (first + k) + one, x)
            disparity = load(maps.disparity, y, x)
            variance = select(wp > zero, total / larger(wp * wp, splat(float32(1e-30))), unfitted)
            store(out.variance, y, x, select(disparity == disparity, variance, unknown))


@inner
def _right_at(views, row, col, whole, a):
    """Sixteen pixels of the right image from ``col + whole + a`` on, linearly interpolated."""
    at = uint64(PAD + col + whole)
    here, there = to_float(load(views.right, row, at)), to_float(load(views.right, row, at + uint64(1)))
    return here + splat(a) * (there - here)


@kernel
def fuse_by_residual(views: Views, patches: Patches, sums: ResidualMixture, maps: Maps, crew: Crew) -> None:
    """DIS fusion (Eq. 2): weight 1 / max(1, squared residual in grey levels).  Patches are mean-normalised."""
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    add_weighted_patches(views, patches, sums, begin, end)
    zero, one = splat(float32(0)), splat(float32(1))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(maps.disparity.shape[1] - LANES), uint64(LANES)):
            total = load(sums.weight, y, x)
            known = total > zero
            mean = load(sums.weighted, y, x) / larger(total, splat(float32(1e-30)))
            store(maps.disparity, y, x, select(known, mean, splat(float32(np.nan))))
            store(maps.probability, y, x, select(known, one, zero))
    meet(crew)


@inner
def add_weighted_patches(views, patches, sums, begin, end):
    """Pixel rows ``begin`` to ``end - 1`` of ``sums.weighted`` and ``sums.weight``."""
    size = sums.patch_size
    zero, one = splat(float32(0)), splat(float32(1))
    inside = lane_numbers() < splat(int32(size))
    to_grey = splat(float32(1) / float32(sums.grey))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(sums.weight.shape[1] - LANES), uint64(LANES)):
            store(sums.weighted, y, x, zero)
            store(sums.weight, y, x, zero)
    for i in range(patches.rows.shape[1]):
        top, bottom = patches.rows[0, i], patches.rows[0, i] + size
        if bottom <= begin or top >= end:
            continue
        for j in range(patches.cols.shape[1] - LANES):
            if patches.probability[i, j] <= 0:
                continue
            col, u = patches.cols[0, j], patches.disparity[i, j]
            whole = int64(np.floor(-u))
            a = float32(-u - whole)
            difference = zero
            for y in range(uint64(top), uint64(bottom)):
                left = to_float(load(views.left, y, uint64(PAD + col)))
                difference += select(inside, _right_at(views, y, col, whole, a) - left, zero)
            offset = splat(sum_lanes(difference) / float32(size * size))
            for y in range(uint64(max(top, begin)), uint64(min(bottom, end))):
                left = to_float(load(views.left, y, uint64(PAD + col)))
                residual = (_right_at(views, y, col, whole, a) - left - offset) * to_grey
                weight = select(inside, one / larger(one, residual * residual), zero)
                x = uint64(col)
                store(sums.weighted, y, x, load(sums.weighted, y, x) + weight * splat(u))
                store(sums.weight, y, x, load(sums.weight, y, x) + weight)
