"""Maps at twice the size, bilinear over those of the four nearest pixels that are known; as they are; and at half."""

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import (
    LANES,
    any_lane,
    every_lane,
    gather_pairs,
    interleave,
    lane_numbers,
    larger,
    load,
    prefetch,
    select,
    slide,
    splat,
    store,
    store_streaming,
)
from .layout import PAD, ROWS, Map, Maps
from .pyramid import Seen


@inner
def three_columns(image, row, x):
    """Sixteen pixels from ``x`` on, and their left and right neighbours (the first pixel is its own left neighbour)."""
    here = load(image, row, x)
    left = slide(splat(image[row, uint64(0)]), here, 15) if x == uint64(0) else load(image, row, x - uint64(1))
    return left, here, load(image, row, x + uint64(1))


@inner
def spread_columns(three):
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
def _prefetch_rows(out, row, x):
    """What `_store_row` will write from ``out[row, 2 x]`` on, and in the row below: results come from cold memory."""
    for below in range(uint64(2)):
        for part in range(uint64(2)):
            prefetch(out, row + below, uint64(2) * x + part * uint64(LANES))


@inner
def _some_known(three):
    """Lanes with a known pixel among the three."""
    left, here, right = three
    return (left == left) | (here == here) | (right == right)


@inner
def _rows_between(values, upper, lower, x):
    """Both new rows between two old ones, NaN where one of the pixels is unknown; and the old pixels."""
    above, below = three_columns(values, upper, x), three_columns(values, lower, x)
    u, l = spread_columns(above), spread_columns(below)  # noqa: E741
    return above, below, _near_and_far(u, l), _near_and_far(l, u)


@inner
def _known_rows_between(above, below):
    """The same over the known pixels alone: weighted sums and weights of both rows."""
    d_upper, w_upper = _known_columns(above)
    d_lower, w_lower = _known_columns(below)
    d_u, d_l = spread_columns(d_upper), spread_columns(d_lower)
    w_u, w_l = spread_columns(w_upper), spread_columns(w_lower)
    return _near_and_far(d_u, d_l), _near_and_far(d_l, d_u), _near_and_far(w_u, w_l), _near_and_far(w_l, w_u)


@inner
def _over(sums, weights):
    """0 / 0 is NaN, which is what an unknown value is."""
    return sums[0] / weights[0], sums[1] / weights[1]


@inner
def _over_known(sums, weights):
    """The same for probabilities, which are 0 where unknown."""
    tiny = splat(float32(1e-6))
    return sums[0] / larger(weights[0], tiny), sums[1] / larger(weights[1], tiny)


@inner
def _times(columns, factor):
    return columns[0] * factor, columns[1] * factor


@inner
def _last_value(values, near, far, width):
    """Sum and weight of an odd last column over the known ones of the last two columns of two rows."""
    total = weights = float32(0)
    for row, row_weight in ((near, float32(0.75)), (far, float32(0.25))):
        for col, col_weight in ((width - 1, float32(0.75)), (max(width - 2, 0), float32(0.25))):
            value = values[row, col]
            if value == value:
                total += row_weight * col_weight * value
                weights += row_weight * col_weight
    return total, weights


@inner
def _last_probability(maps, near, far):
    """Probability of an odd last column, over the pixels whose disparity is known."""
    total = weights = float32(0)
    for row, row_weight in ((near, float32(0.75)), (far, float32(0.25))):
        for col, col_weight in ((maps.width - 1, float32(0.75)), (max(maps.width - 2, 0), float32(0.25))):
            if maps.disparity[row, col] == maps.disparity[row, col]:
                total += row_weight * col_weight * maps.probability[row, col]
                weights += row_weight * col_weight
    return total / max(weights, float32(1e-6))


@inner
def _rows_around(j, height):
    """The two old rows above and below the new rows 2 j - 1 and 2 j."""
    return uint64(max(j - 1, 0)), uint64(min(j, height - 1))


@inner
def _first_columns(x, whole):
    """Where the next sixteen columns begin: the last ones overlap, since rows of an image have no padding."""
    return max(min(x, whole - LANES), 0)


@kernel
def enlarge_maps(source: Maps, target: Maps, streaming: bool, crew: Crew) -> None:
    """Disparity (which doubles) and probability at twice the size.

    Overwrites the column behind the last one of ``source``.  ``streaming``: write past the caches, for results that are
    larger than these; rows of the target must then start on a cache line.
    """
    disparity, probability, width = source.disparity, source.probability, source.width
    out_disparity, out_probability, out_width = target.disparity, target.probability, target.width
    height, whole = disparity.shape[0], out_width // 2
    begin, end = share(crew, out_disparity.shape[0], ROWS)
    unknown, zero, two = splat(float32(np.nan)), splat(float32(0)), splat(float32(2))
    for j in range((begin + 1) // 2, end // 2 + 1):
        row_a, row_b = 2 * j - 1, 2 * j  # one nearer to the upper old row, one nearer to the lower
        want_a, want_b = begin <= row_a < end, begin <= row_b < end
        upper, lower = _rows_around(j, height)
        for row in (upper, lower):
            disparity[row, width] = disparity[row, width - 1]
            probability[row, width] = probability[row, width - 1]
        x = 0
        while x < whole:
            x = _first_columns(x, whole)
            col = uint64(x)
            if not streaming:
                _prefetch_rows(out_disparity, uint64(row_b + 1), col)
                _prefetch_rows(out_probability, uint64(row_b + 1), col)
            above, below, d_a, d_b = _rows_between(disparity, upper, lower, col)
            total = d_a[0] + d_a[1]
            if every_lane(total == total):  # an unknown pixel would make both rows NaN
                _p, _q, p_a, p_b = _rows_between(probability, upper, lower, col)
            elif any_lane(_some_known(above) | _some_known(below)):
                d_a, d_b, w_a, w_b = _known_rows_between(above, below)
                _p, _q, p_a, p_b = _rows_between(probability, upper, lower, col)
                d_a, d_b = _over(d_a, w_a), _over(d_b, w_b)
                p_a, p_b = _over_known(p_a, w_a), _over_known(p_b, w_b)
            else:
                d_a = d_b = unknown, unknown
                p_a = p_b = zero, zero
            if want_a:
                _store_row(out_disparity, uint64(row_a), col, _times(d_a, two), streaming)
                _store_row(out_probability, uint64(row_a), col, p_a, streaming)
            if want_b:
                _store_row(out_disparity, uint64(row_b), col, _times(d_b, two), streaming)
                _store_row(out_probability, uint64(row_b), col, p_b, streaming)
            x += LANES
        if out_width % 2:
            for row, near, far, wanted in ((row_a, upper, lower, want_a), (row_b, lower, upper, want_b)):
                if wanted:
                    total, weights = _last_value(disparity, near, far, width)
                    out_disparity[row, out_width - 1] = float32(2) * total / weights
                    out_probability[row, out_width - 1] = _last_probability(source, near, far)
    meet(crew)


@kernel
def enlarge_map(source: Map, target: Map, factor: int, streaming: bool, crew: Crew) -> None:
    """One map at twice the size: a disparity has twice as many px (``factor``), a variance four times as many px^2.

    The rest as `enlarge_maps`.
    """
    values, width, out, out_width = source.values, source.width, target.values, target.width
    height, whole = values.shape[0], out_width // 2
    begin, end = share(crew, out.shape[0], ROWS)
    unknown, times = splat(float32(np.nan)), splat(float32(factor))
    for j in range((begin + 1) // 2, end // 2 + 1):
        row_a, row_b = 2 * j - 1, 2 * j
        want_a, want_b = begin <= row_a < end, begin <= row_b < end
        upper, lower = _rows_around(j, height)
        for row in (upper, lower):
            values[row, width] = values[row, width - 1]
        x = 0
        while x < whole:
            x = _first_columns(x, whole)
            col = uint64(x)
            if not streaming:
                _prefetch_rows(out, uint64(row_b + 1), col)
            above, below, v_a, v_b = _rows_between(values, upper, lower, col)
            total = v_a[0] + v_a[1]
            if not every_lane(total == total):
                v_a = v_b = unknown, unknown
                if any_lane(_some_known(above) | _some_known(below)):
                    v_a, v_b, w_a, w_b = _known_rows_between(above, below)
                    v_a, v_b = _over(v_a, w_a), _over(v_b, w_b)
            if want_a:
                _store_row(out, uint64(row_a), col, _times(v_a, times), streaming)
            if want_b:
                _store_row(out, uint64(row_b), col, _times(v_b, times), streaming)
            x += LANES
        if out_width % 2:
            for row, near, far, wanted in ((row_a, upper, lower, want_a), (row_b, lower, upper, want_b)):
                if wanted:
                    total, weights = _last_value(values, near, far, width)
                    out[row, out_width - 1] = float32(factor) * total / weights
    meet(crew)


@inner
def _copy_row(source, target, y, width, streaming):
    """Row ``y`` of a map that has padding to one that has none."""
    x = 0
    while x < width:
        x = min(x, width - LANES)  # the last sixteen overlap
        if streaming:
            store_streaming(target, y, uint64(x), load(source, y, uint64(x)))
        else:
            store(target, y, uint64(x), load(source, y, uint64(x)))
        x += LANES


@kernel
def copy_maps(source: Maps, target: Maps, streaming: bool, crew: Crew) -> None:
    """Disparity and probability as they are, where level 0 was searched; ``streaming`` as in `enlarge_maps`."""
    begin, end = share(crew, target.disparity.shape[0], ROWS)
    for y in range(uint64(begin), uint64(end)):
        _copy_row(source.disparity, target.disparity, y, target.width, streaming)
        _copy_row(source.probability, target.probability, y, target.width, streaming)
    meet(crew)


@kernel
def copy_map(source: Map, target: Map, factor: int, streaming: bool, crew: Crew) -> None:
    """One map as it is; takes what `enlarge_map` takes."""
    begin, end = share(crew, target.values.shape[0], ROWS)
    for y in range(uint64(begin), uint64(end)):
        _copy_row(source.values, target.values, y, target.width, streaming)
    meet(crew)


@kernel
def hide_unseen(seen: Seen, maps: Maps, crew: Crew) -> None:
    """Nothing is known of a pixel that the left camera did not see."""
    begin, end = share(crew, maps.disparity.shape[0], ROWS)
    for y in range(begin, end):
        for x in range(maps.width):
            if seen.mask[y, PAD + x] == 0:
                maps.disparity[y, x] = np.nan
                maps.probability[y, x] = 0
    meet(crew)


@kernel
def hide_unseen_variance(seen: Seen, variance: Map, crew: Crew) -> None:
    """Likewise."""
    begin, end = share(crew, variance.values.shape[0], ROWS)
    for y in range(begin, end):
        for x in range(variance.width):
            if seen.mask[y, PAD + x] == 0:
                variance.values[y, x] = np.nan
    meet(crew)


@kernel
def halve_disparity(finer: Map, coarser: Map, crew: Crew) -> None:
    """Disparities of the coarser level: half the mean of the known ones of 2x2."""
    begin, end = share(crew, coarser.values.shape[0], ROWS)
    last = finer.values.shape[0] - 1
    zero, one, unknown = splat(float32(0)), splat(float32(1)), splat(float32(np.nan))
    for y in range(begin, end):
        for x in range(uint64(0), uint64(coarser.width), uint64(LANES)):
            total = count = zero
            for row in (2 * y, min(2 * y + 1, last)):
                for value in gather_pairs(finer.values, uint64(row), lane_numbers() + splat(int32(x))):
                    known = value == value
                    total += select(known, value, zero)
                    count += select(known, one, zero)
            store(coarser.values, uint64(y), x, select(count > zero, total / larger(count + count, one), unknown))
    meet(crew)
