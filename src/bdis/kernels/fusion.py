"""From patches to pixels: spatial mixture of overlapping patches [III-C, Eq. 9-10, 13], DIS fusion [Eq. 2], upsampling.

The spatial Gaussian is separable, so patches are first spread along their row (one pass over patches), then
rows of patches are blended down the columns (one pass over pixels).
"""

import numpy as np
from numba import float32, int32, int64, uint64, void

from .barrier import meet
from .cache import inner, kernel
from .layout import ADDRESSES, FLOATS, PAD
from .simd import (
    LANES,
    any_lane,
    every_lane,
    interleave,
    lane_numbers,
    larger,
    load,
    select,
    smaller,
    splat,
    store,
    sum_lanes,
    to_float,
)


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
def _blend_rows(disparity, probability, near, far, width, blended):
    """3/4 of row ``near`` and 1/4 of row ``far``: sums of w d, w, w p over known pixels, one column in, ends
    repeated.
    """
    zero = splat(float32(0))
    w_near, w_far = splat(float32(0.75)), splat(float32(0.25))
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        a, b = load(disparity, near, x), load(disparity, far, x)
        a_known, b_known = a == a, b == b
        w_a, w_b = select(a_known, w_near, zero), select(b_known, w_far, zero)
        store(blended, uint64(0), x + uint64(1), w_a * select(a_known, a, zero) + w_b * select(b_known, b, zero))
        store(blended, uint64(1), x + uint64(1), w_a + w_b)
        store(
            blended,
            uint64(2),
            x + uint64(1),
            w_a * load(probability, near, x) + w_b * load(probability, far, x),
        )
    for k in range(3):
        blended[k, 0] = blended[k, 1]
        blended[k, width + 1] = blended[k, width]


@kernel(void(FLOATS, FLOATS, int64, FLOATS, FLOATS, int64, FLOATS, ADDRESSES, int64, int64, int64))
def upsample_rows(
    disparity, probability, width, out_disparity, out_probability, out_width, blended, barrier, bands, begin, end
):
    """Rows ``begin`` to ``end - 1`` at twice the size: bilinear over the known pixels, disparity doubled.

    ``disparity`` (h, >= width rounded up to 16), NaN = unknown; ``blended``: float32 (3, row stride), scratch of one
    thread.
    """
    height = disparity.shape[0]
    whole = out_width // 2
    one, three_quarters, quarter = splat(float32(1)), splat(float32(0.75)), splat(float32(0.25))
    tiny = splat(float32(1e-6))
    for row in range(begin, end):
        near = row // 2
        far = min(max(near + (1 if row % 2 else -1), 0), height - 1)
        _blend_rows(disparity, probability, uint64(near), uint64(far), width, blended)
        x = 0
        while x < whole:
            # The last sixteen overlap: rows of the image have no padding.  Narrower levels do, and start at 0.
            x = max(min(x, whole - LANES), 0)
            left, mid, right = uint64(x), uint64(x + 1), uint64(x + 2)
            w_mid = three_quarters * load(blended, uint64(1), mid)
            w_even = w_mid + quarter * load(blended, uint64(1), left)
            w_odd = w_mid + quarter * load(blended, uint64(1), right)
            d_mid = three_quarters * load(blended, uint64(0), mid)
            d_even = d_mid + quarter * load(blended, uint64(0), left)
            d_odd = d_mid + quarter * load(blended, uint64(0), right)
            p_mid = three_quarters * load(blended, uint64(2), mid)
            p_even = p_mid + quarter * load(blended, uint64(2), left)
            p_odd = p_mid + quarter * load(blended, uint64(2), right)
            if not every_lane((w_even == one) & (w_odd == one)):
                # 0 / 0 is NaN, which is what an unknown disparity is.
                d_even, d_odd = d_even / w_even, d_odd / w_odd
                p_even, p_odd = p_even / larger(w_even, tiny), p_odd / larger(w_odd, tiny)
            first, second = interleave(d_even + d_even, d_odd + d_odd)
            store(out_disparity, uint64(row), uint64(2 * x), first)
            store(out_disparity, uint64(row), uint64(2 * x + LANES), second)
            first, second = interleave(p_even, p_odd)
            store(out_probability, uint64(row), uint64(2 * x), first)
            store(out_probability, uint64(row), uint64(2 * x + LANES), second)
            x += LANES
        if out_width % 2:
            weight = float32(0.75) * blended[1, whole + 1] + float32(0.25) * blended[1, whole]
            value = float32(0.75) * blended[0, whole + 1] + float32(0.25) * blended[0, whole]
            chance = float32(0.75) * blended[2, whole + 1] + float32(0.25) * blended[2, whole]
            out_disparity[row, out_width - 1] = float32(2) * value / weight
            out_probability[row, out_width - 1] = chance / max(weight, float32(1e-6))
    meet(barrier, bands)  # the next doubling reads rows of other bands
