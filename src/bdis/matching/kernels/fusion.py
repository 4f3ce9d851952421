"""From patches to pixels: spatial mixture of overlapping patches [III-C, Eq. 9-10, 13], DIS fusion [Eq. 2], upsampling.

The spatial Gaussian is separable, so patches are first spread along their row (one pass over patches), then
rows of patches are blended down the columns (one pass over pixels).
"""

import numpy as np
from numba import boolean, float32, int32, int64, uint64, void

from ...vector.array_types import ADDRESSES, FLOATS
from ...vector.barrier import meet
from ...vector.cache import inner, kernel
from ...vector.simd import (
    LANES,
    any_lane,
    every_lane,
    interleave,
    lane_numbers,
    larger,
    load,
    select,
    slide,
    smaller,
    splat,
    store,
    store_streaming,
    sum_lanes,
    to_float,
)
from .layout import PAD


@inner
def spread_row(level, weights, i):
    """Spread the patches of row ``i`` along x into three rows of ``level.spread``.

    ``weights`` (1, 16): the spatial weight across a patch, 0 beyond it.  The rows hold sum w p u, sum w p and sum w
    over the accepted patches.
    """
    patches = level.cols.shape[1] - LANES
    w = load(weights, uint64(0), uint64(0))
    zero = splat(float32(0))
    a, b, c = uint64(3 * i), uint64(3 * i + 1), uint64(3 * i + 2)
    for x in range(uint64(0), uint64(level.spread.shape[1]), uint64(LANES)):
        store(level.spread, a, x, zero)
        store(level.spread, b, x, zero)
        store(level.spread, c, x, zero)
    # Neighbouring patches overlap; taking every eighth in turn keeps a load from waiting for the last store.
    for start in range(8):
        for j in range(start, patches, 8):
            p = level.patch_probability[i, j]
            if p > 0:
                x = uint64(level.cols[0, j])
                wp = w * splat(p)
                store(level.spread, a, x, load(level.spread, a, x) + wp * splat(level.patch_disparity[i, j]))
                store(level.spread, b, x, load(level.spread, b, x) + wp)
                store(level.spread, c, x, load(level.spread, c, x) + w)


@inner
def fuse_rows(level, min_support, min_probability, begin, end):
    """Pixel rows ``begin`` to ``end - 1`` of ``level.disparity`` and ``level.probability`` (Eq. 13).

    A pixel is known if accepted patches hold ``min_support`` of the spatial weight that all patches over it would have,
    and its probability is ``min_probability`` or more.
    """
    covering, row_weights = level.covering, level.row_weights
    unknown = splat(float32(np.nan))
    zero, one, tiny = splat(float32(0)), splat(float32(1)), splat(float32(1e-30))
    threshold = splat(float32(min_probability))
    three = uint64(3)
    for y in range(uint64(begin), uint64(end)):
        first, count = uint64(covering[y, 0]), uint64(covering[y, 1] - covering[y, 0])
        full = float32(0)
        for k in range(count):
            full += row_weights[y, k]
        needed = splat(full * float32(min_support))
        for x in range(uint64(0), uint64(level.disparity.shape[1] - LANES), uint64(LANES)):
            wpu = wp = w = zero
            for k in range(count):
                w += splat(row_weights[y, k]) * load(level.spread, three * (first + k) + uint64(2), x)
            if not any_lane(w > zero):
                store(level.disparity, y, x, unknown)
                store(level.probability, y, x, zero)
                continue
            for k in range(count):
                g = splat(row_weights[y, k])
                wpu += g * load(level.spread, three * (first + k), x)
                wp += g * load(level.spread, three * (first + k) + uint64(1), x)
            over = one / larger(w * wp, tiny)  # one division serves both ratios
            probability = smaller(wp * wp * over, one)
            known = (w >= needed * load(level.full_weight, uint64(0), x)) & (probability >= threshold) & (w * wp > tiny)
            store(level.disparity, y, x, select(known, wpu * w * over, unknown))
            store(level.probability, y, x, select(known, probability, zero))


@inner
def spread_variance_rows(level, weights, begin, end):
    """Spread w^2 p^2 sigma^2 of the patch rows ``begin`` to ``end - 1`` along x, in place of their w p u (Eq. 19)."""
    w = load(weights, uint64(0), uint64(0))
    for i in range(begin, end):
        a = uint64(3 * i)
        for x in range(uint64(0), uint64(level.spread.shape[1]), uint64(LANES)):
            store(level.spread, a, x, splat(float32(0)))
        for j in range(level.cols.shape[1] - LANES):
            p = level.patch_probability[i, j]
            if p > 0:
                x = uint64(level.cols[0, j])
                share = w * w * splat(p * p * level.patch_variance[i, j])
                store(level.spread, a, x, load(level.spread, a, x) + share)


@inner
def fuse_variance_rows(level, settings, scale, out, begin, end):
    """Pixel rows ``begin`` to ``end - 1`` of ``out``: variance of the mean over the patches (Eq. 19); NaN = unknown.

    Where a disparity was filled in, without a patch, sigma is half a patch.
    """
    zero, largest = splat(float32(0)), splat(float32(settings.patch_size * settings.patch_size) * float32(0.25))
    three, unknown, factor = uint64(3), splat(float32(np.nan)), splat(float32(scale))
    for y in range(uint64(begin), uint64(end)):
        first, count = uint64(level.covering[y, 0]), uint64(level.covering[y, 1] - level.covering[y, 0])
        for x in range(uint64(0), uint64(settings.width), uint64(LANES)):
            total = wp = splat(float32(0))
            for k in range(count):
                g = splat(level.row_weights[y, k])
                total += g * g * load(level.spread, three * (first + k), x)
                wp += g * load(level.spread, three * (first + k) + uint64(1), x)
            disparity = load(level.disparity, y, x)
            variance = select(wp > zero, total / larger(wp * wp, splat(float32(1e-30))), largest)
            store(out, y, x, select(disparity == disparity, factor * variance, unknown))


@inner
def _right_at(level, row, col, whole, a):
    """Sixteen pixels of the right image from ``col + whole + a`` on, linearly interpolated."""
    at = uint64(PAD + col + whole)
    here, there = to_float(load(level.right, row, at)), to_float(load(level.right, row, at + uint64(1)))
    return here + splat(a) * (there - here)


@inner
def fuse_rows_by_residual(level, size, grey, begin, end):
    """DIS fusion (Eq. 2) of pixel rows ``begin`` to ``end - 1``: weight 1 / max(1, squared residual in grey levels).

    ``grey``: one grey level in the integer scale of the images.  Patches are mean-normalised.
    """
    zero, one = splat(float32(0)), splat(float32(1))
    inside = lane_numbers() < splat(int32(size))
    to_grey = splat(float32(1) / float32(grey))
    for y in range(uint64(begin), uint64(end)):  # the outputs hold the two sums meanwhile
        for x in range(uint64(0), uint64(level.disparity.shape[1] - LANES), uint64(LANES)):
            store(level.disparity, y, x, zero)
            store(level.probability, y, x, zero)
    for i in range(level.rows.shape[1]):
        top, bottom = level.rows[0, i], level.rows[0, i] + size
        if bottom <= begin or top >= end:
            continue
        for j in range(level.cols.shape[1] - LANES):
            if level.patch_probability[i, j] <= 0:
                continue
            col, u = level.cols[0, j], level.patch_disparity[i, j]
            whole = int64(np.floor(-u))
            a = float32(-u - whole)
            difference = zero
            for y in range(uint64(top), uint64(bottom)):
                left = to_float(load(level.left, y, uint64(PAD + col)))
                difference += select(inside, _right_at(level, y, col, whole, a) - left, zero)
            offset = splat(sum_lanes(difference) / float32(size * size))
            for y in range(uint64(max(top, begin)), uint64(min(bottom, end))):
                left = to_float(load(level.left, y, uint64(PAD + col)))
                residual = (_right_at(level, y, col, whole, a) - left - offset) * to_grey
                weight = select(inside, one / larger(one, residual * residual), zero)
                x = uint64(col)
                store(level.disparity, y, x, load(level.disparity, y, x) + weight * splat(u))
                store(level.probability, y, x, load(level.probability, y, x) + weight)
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(level.disparity.shape[1] - LANES), uint64(LANES)):
            total = load(level.probability, y, x)
            known = total > zero
            mean = load(level.disparity, y, x) / larger(total, splat(float32(1e-30)))
            store(level.disparity, y, x, select(known, mean, splat(float32(np.nan))))
            store(level.probability, y, x, select(known, one, zero))


@inner
def _three_columns(image, row, x):
    """Sixteen pixels from ``x`` on, and their left and right neighbours (the first pixel is its own left neighbour)."""
    here = load(image, row, x)
    left = slide(splat(image[row, uint64(0)]), here, 15) if x == uint64(0) else load(image, row, x - uint64(1))
    return left, here, load(image, row, x + uint64(1))


@inner
def _spread_columns(three):
    """Twice as many columns: even ones a quarter pixel to the left of the old, odd ones to the right."""
    left, here, right = three
    quarter = splat(float32(0.25))
    mid = splat(float32(0.75)) * here
    return mid + quarter * left, mid + quarter * right


@inner
def _known_columns(three):
    """The values with unknown ones as 0, and 1 where known, else 0."""
    left, here, right = three
    zero, one = splat(float32(0)), splat(float32(1))
    l, h, r = left == left, here == here, right == right  # noqa: E741
    values = select(l, left, zero), select(h, here, zero), select(r, right, zero)
    return values, (select(l, one, zero), select(h, one, zero), select(r, one, zero))


@inner
def _near_and_far(near, far):
    """Three quarters of one row and a quarter of the other, even and odd columns."""
    three_quarters, quarter = splat(float32(0.75)), splat(float32(0.25))
    return three_quarters * near[0] + quarter * far[0], three_quarters * near[1] + quarter * far[1]


@inner
def _store_row(out, row, x, columns, streaming):
    """Even and odd columns side by side into ``out[row, 2 x:]``."""
    first, second = interleave(columns[0], columns[1])
    col = uint64(2) * x
    if streaming:
        store_streaming(out, row, col, first)
        store_streaming(out, row, col + uint64(LANES), second)
    else:
        store(out, row, col, first)
        store(out, row, col + uint64(LANES), second)


@inner
def _some_known(three):
    """Lanes with a known pixel among the three."""
    left, here, right = three
    return (left == left) | (here == here) | (right == right)


@inner
def _unknown_among(three_upper, three_lower, probability, upper, lower, x):
    """Both new rows between two old ones where some pixels are unknown: the mean over the known ones."""
    tiny = splat(float32(1e-6))
    d_upper, w_upper = _known_columns(three_upper)
    d_lower, w_lower = _known_columns(three_lower)
    d_u, d_l = _spread_columns(d_upper), _spread_columns(d_lower)
    w_u, w_l = _spread_columns(w_upper), _spread_columns(w_lower)
    p_u = _spread_columns(_three_columns(probability, upper, x))
    p_l = _spread_columns(_three_columns(probability, lower, x))
    w_a, w_b = _near_and_far(w_u, w_l), _near_and_far(w_l, w_u)
    d_a, d_b = _near_and_far(d_u, d_l), _near_and_far(d_l, d_u)
    p_a, p_b = _near_and_far(p_u, p_l), _near_and_far(p_l, p_u)
    # 0 / 0 is NaN, which is what an unknown disparity is.
    return (
        (d_a[0] / w_a[0], d_a[1] / w_a[1]),
        (d_b[0] / w_b[0], d_b[1] / w_b[1]),
        (p_a[0] / larger(w_a[0], tiny), p_a[1] / larger(w_a[1], tiny)),
        (p_b[0] / larger(w_b[0], tiny), p_b[1] / larger(w_b[1], tiny)),
    )


@inner
def _last_column(disparity, probability, near, far, width):
    """Disparity and probability of an odd last column, from the last two columns of two rows."""
    d = w = p = float32(0)
    for row, row_weight in ((near, float32(0.75)), (far, float32(0.25))):
        for col, col_weight in ((width - 1, float32(0.75)), (max(width - 2, 0), float32(0.25))):
            value = disparity[row, col]
            if value == value:
                weight = row_weight * col_weight
                d += weight * value
                w += weight
                p += weight * probability[row, col]
    return float32(2) * d / w, p / max(w, float32(1e-6))


@kernel(void(FLOATS, FLOATS, int64, FLOATS, FLOATS, int64, boolean, ADDRESSES, int64, int64, int64))
def upsample_rows(
    disparity, probability, width, out_disparity, out_probability, out_width, streaming, barrier, bands, begin, end
):
    """Rows ``begin`` to ``end - 1`` at twice the size: bilinear over the known pixels, disparity doubled.

    ``disparity`` (h, plain stride), NaN = unknown; column ``width`` of the inputs is overwritten.  ``streaming``:
    past the caches, for results larger than these; rows of the output must then start on a cache line.
    """
    height = disparity.shape[0]
    whole = out_width // 2
    unknown, zero = splat(float32(np.nan)), splat(float32(0))
    # Two new rows lie between two old ones: one nearer to the upper, one nearer to the lower.
    for j in range((begin + 1) // 2, end // 2 + 1):
        row_a, row_b = 2 * j - 1, 2 * j
        want_a, want_b = begin <= row_a < end, begin <= row_b < end
        upper, lower = uint64(max(j - 1, 0)), uint64(min(j, height - 1))
        for row in (upper, lower):
            disparity[row, width] = disparity[row, width - 1]
            probability[row, width] = probability[row, width - 1]
        x = 0
        while x < whole:
            # The last sixteen overlap: rows of the image have no padding.  Narrower levels do, and start at 0.
            x = max(min(x, whole - LANES), 0)
            col = uint64(x)
            three_upper, three_lower = _three_columns(disparity, upper, col), _three_columns(disparity, lower, col)
            d_u, d_l = _spread_columns(three_upper), _spread_columns(three_lower)
            d_a, d_b = _near_and_far(d_u, d_l), _near_and_far(d_l, d_u)
            total = d_a[0] + d_a[1]
            if every_lane(total == total):  # an unknown pixel would make both rows NaN
                p_u = _spread_columns(_three_columns(probability, upper, col))
                p_l = _spread_columns(_three_columns(probability, lower, col))
                p_a, p_b = _near_and_far(p_u, p_l), _near_and_far(p_l, p_u)
            elif any_lane(_some_known(three_upper) | _some_known(three_lower)):
                d_a, d_b, p_a, p_b = _unknown_among(three_upper, three_lower, probability, upper, lower, col)
            else:
                d_a = d_b = unknown, unknown
                p_a = p_b = zero, zero
            if want_a:
                _store_row(out_disparity, uint64(row_a), col, (d_a[0] + d_a[0], d_a[1] + d_a[1]), streaming)
                _store_row(out_probability, uint64(row_a), col, p_a, streaming)
            if want_b:
                _store_row(out_disparity, uint64(row_b), col, (d_b[0] + d_b[0], d_b[1] + d_b[1]), streaming)
                _store_row(out_probability, uint64(row_b), col, p_b, streaming)
            x += LANES
        if out_width % 2:
            last = out_width - 1
            if want_a:
                found = _last_column(disparity, probability, upper, lower, width)
                out_disparity[row_a, last], out_probability[row_a, last] = found
            if want_b:
                found = _last_column(disparity, probability, lower, upper, width)
                out_disparity[row_b, last], out_probability[row_b, last] = found
    meet(barrier, bands)  # the next doubling reads rows of other bands
