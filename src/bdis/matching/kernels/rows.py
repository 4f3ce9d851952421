"""Rows that differ: how much lower the right image lies than the left one, and the right image moved back.

If the right image lies v px lower and a disparity d is right, then ``left(x, y) = right(x - d, y + v)``.  With a
disparity that is known, what is left of the difference of both sides is, to first order, the gradient of the left image
down its columns times what v lacks.  A disparity that was found with wrong rows is wrong as well, exactly so that this
difference is small; and both images may be of different brightness.  So the picture is cut into small windows, and each
window gives its estimate of v with an error of its disparity and a difference of brightness of its own eliminated, and
its information: how much it knows of v then.  v is a straight line over x through the estimates of all windows; windows
that are far from the present one count less.

The difference of brightness is a plane over the window.  Smoke is smooth and moves otherwise than the wall behind it,
so that the difference of both images has its gradient along x in it, wherever the disparity is that of the wall; where
its streaks are oblique, a constant alone would leave a slope that looks as if rows were off, with the same sign
wherever the streaks run alike.

What v still lacks at a window is noise, unless others near it say the same: the products of two windows of a row, 16
or 32 px of the level apart, tell how uneven the rows are, which no straight line corrects.  Windows beside each other
would not tell, as they have errors of their disparities in common.
"""

import numpy as np
from numba import float32, float64, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, Record, kernel
from ...vector.simd import (
    LANES,
    absolute,
    floor,
    interleave,
    lane_numbers,
    larger,
    load,
    select,
    slide,
    smaller,
    splat,
    store,
    sum_lanes,
    to_float,
    to_int,
)
from ...vector.tiles import gather_near_short_pairs
from .layout import PAD, ROWS, Map
from .pyramid import Image, Seen, repeat_border

WINDOW_ROWS = 4  # px of the level
WINDOW_COLUMNS = 8  # px of the level, half a vector
NEAR = 3  # px of the level: nothing is measured so close above or below of what was not seen
# What halving and doubling each of these does was measured: docs/constants.md.
FARTHEST = 1e6  # px of the level: no image is moved so far
MIN_KNOWN = (
    24  # px of a window with a disparity, else it says nothing; 12: 10 % more error of the offset, 32: 20 % less,
)
# but nothing at all where disparities are sparse
NOISE = 0.1  # grey levels^2, least variance of the difference of both images; half and double make little difference
STIFFNESS = 0.25  # (grey levels / px)^2 per px, what a window without texture along x holds its disparity with;
# half and double make little difference
TAIL = (
    8.0  # squared distance in standard deviations where a window keeps a quarter of its weight; 4: 20 % more error of
)
# the offset, 16 makes no difference


class RowShift(Record):
    """How much lower the right image lies than the left one.

    Attributes
    ----------
    offset : float
        px of the level, at the centre.
    tilt : float
        What is added with every column, less than 1 / 16.
    centre : float
        Column of the level at the centre of the image.
    white : int
        Largest value of a pixel.
    """

    offset: float
    tilt: float
    centre: float
    white: int


class RowSums(Record):
    """What the windows say, and how they are weighted.

    Attributes
    ----------
    sums : ndarray of float32, shape (rows of windows, 8)
        Sums over a row of windows: weight w, w x, w x^2, w v, w x v; x is -1 to 1 from border to border of the level,
        v is what is missing, px of the level.  Then sums over two windows near each other: the product of their w,
        and that of their w v.
    spread : float
        px^2 of the level, variance that windows have beside what their information says.
    grey : float
        One grey level as stored.
    is_levelled : int
        1: the brightness of the two images may differ by a plane over each window; 0: by a constant.
    """

    sums: Floats
    spread: float
    grey: float
    is_levelled: int


@inner
def sum_halves(a):
    """Sums of lanes 0 to 7 in lane 0 and of lanes 8 to 15 in lane 8; the others are of no use."""
    a = a + slide(a, a, 4)
    a = a + slide(a, a, 2)
    return a + slide(a, a, 1)


@inner
def differences(left, right, disparity, y, x, width):
    """Of sixteen pixels: left minus right image, gradients of the left one, and 1 where they count, else 0."""
    sixteen, half, zero = splat(int32(16)), splat(float32(0.5)), splat(float32(0))
    row, at = uint64(y), uint64(PAD + x)
    column = lane_numbers() + splat(int32(x))
    last = splat(float32(width - 1))
    place = to_float(column) - disparity
    good = (place >= zero) & (place <= last) & (column < splat(int32(width)))
    place = smaller(larger(place, zero), last)
    whole = floor(place)
    pair = gather_near_short_pairs(right, row, to_int(whole) + splat(int32(PAD)))
    here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
    moved = here + (place - whole) * (there - here)
    count = select(good, splat(float32(1)), zero)
    difference = select(good, to_float(load(left, row, at)) - moved, zero)
    along = half * to_float(load(left, row, at + uint64(1)) - load(left, row, at - uint64(1)))
    down = half * to_float(load(left, row + uint64(1), at) - load(left, row - uint64(1), at))
    return difference, select(good, along, zero), select(good, down, zero), count


@inner
def without_slopes(sums, products, slopes):
    """The ``products`` of gx, gy and r about their means, without what is a slope along columns or rows of the window.

    ``sums`` are one over the number of pixels and the sums of gx, gy and r; ``slopes`` those of columns c and rows d,
    of their products with themselves, and with gx, gy and r, not yet summed over the window.
    """
    share_of_mean, sx, sy, sr = sums
    xx, xy, yy, xr, yr, rr = products
    c, d, cc, cd, dd, cx, cy, cr, dx, dy, dr = slopes
    one, tiny = splat(float32(1)), splat(float32(1e-3))
    c, d = sum_halves(c), sum_halves(d)
    mc, md = share_of_mean * c, share_of_mean * d
    cc, cd, dd = sum_halves(cc) - mc * c, sum_halves(cd) - mc * d, sum_halves(dd) - md * d
    cx, cy, cr = sum_halves(cx) - mc * sx, sum_halves(cy) - mc * sy, sum_halves(cr) - mc * sr
    dx, dy, dr = sum_halves(dx) - md * sx, sum_halves(dy) - md * sy, sum_halves(dr) - md * sr
    # Where pixels are missing the slope along rows is not independent of that along columns.
    per_cc = one / larger(cc, tiny)
    both = cd * per_cc
    dx, dy, dr = dx - both * cx, dy - both * cy, dr - both * cr
    per_dd = one / larger(dd - both * cd, tiny)
    return (
        xx - per_cc * cx * cx - per_dd * dx * dx,
        xy - per_cc * cx * cy - per_dd * dx * dy,
        yy - per_cc * cy * cy - per_dd * dy * dy,
        xr - per_cc * cx * cr - per_dd * dx * dr,
        yr - per_cc * cy * cr - per_dd * dy * dr,
        rr - per_cc * cr * cr - per_dd * dr * dr,
    )


@inner
def window_estimates(left, right, found, halvings, top, bottom, x, width, grey, is_levelled):
    """What is missing of v, and the information about it, of the windows in columns x and x + 8: lanes 0 and 8."""
    zero, one = splat(float32(0)), splat(float32(1))
    n = sx = sy = sr = xx = xy = yy = xr = yr = rr = zero
    c = d = cc = cd = dd = cx = cy = cr = dx = dy = dr = zero
    across = to_float(lane_numbers() & splat(int32(WINDOW_COLUMNS - 1))) - splat(float32((WINDOW_COLUMNS - 1) / 2))
    for y in range(top, bottom):
        disparity = load(found, uint64(y >> halvings), uint64(x >> halvings))
        if halvings:
            disparity, _ = interleave(disparity + disparity, disparity + disparity)
        r, gx, gy, count = differences(left, right, disparity, y, x, width)
        n, sx, sy, sr = n + count, sx + gx, sy + gy, sr + r
        xx, xy, yy = xx + gx * gx, xy + gx * gy, yy + gy * gy
        xr, yr, rr = xr + gx * r, yr + gy * r, rr + r * r
        if is_levelled:
            down, column = splat(float32(y - top)), count * across
            row = count * down
            c, d, cc, cd, dd = c + column, d + row, cc + column * across, cd + column * down, dd + row * down
            cx, cy, cr = cx + across * gx, cy + across * gy, cr + across * r
            dx, dy, dr = dx + down * gx, dy + down * gy, dr + down * r
    n, sx, sy, sr = sum_halves(n), sum_halves(sx), sum_halves(sy), sum_halves(sr)
    share_of_mean = one / larger(n, one)
    mx, my, mr = share_of_mean * sx, share_of_mean * sy, share_of_mean * sr
    # About their means: a difference of brightness is eliminated.
    xx = sum_halves(xx) - mx * sx + n * splat(float32(STIFFNESS * grey * grey))
    xy, yy = sum_halves(xy) - mx * sy, sum_halves(yy) - my * sy
    xr, yr, rr = sum_halves(xr) - mx * sr, sum_halves(yr) - my * sr, sum_halves(rr) - mr * sr
    if is_levelled:
        sums, products = (share_of_mean, sx, sy, sr), (xx, xy, yy, xr, yr, rr)
        xx, xy, yy, xr, yr, rr = without_slopes(sums, products, (c, d, cc, cd, dd, cx, cy, cr, dx, dy, dr))
    # And an error of the disparity.
    slope = xy / larger(xx, splat(float32(1e-9)))
    texture, match = larger(yy - slope * xy, zero), yr - slope * xr
    rest = rr - xr * xr / larger(xx, splat(float32(1e-9)))
    missing = match / (texture + splat(float32(1e-3 * grey * grey)))
    freedom = larger(n - splat(float32(3 + 2 * is_levelled)), one)
    noise = larger(rest - match * missing, zero) / freedom + splat(float32(NOISE * grey * grey))
    enough = n >= splat(float32(MIN_KNOWN))
    return missing, select(enough, texture / noise, zero)


@kernel
def measure_rows(left: Image, right: Image, found: Map, halvings: int, every: int, rows: RowSums, crew: Crew) -> None:
    """Fill ``rows.sums`` from one in ``every`` rows of windows.

    ``found`` has the disparities of this level (``halvings`` 0), or of the next coarser one (1).
    """
    width, height = left.width, left.pixels.shape[0]
    begin, end = share(crew, (height + WINDOW_ROWS - 1) // WINDOW_ROWS, 1)
    zero, one, tail = splat(float32(0)), splat(float32(1)), splat(float32(1 / TAIL))
    spread = splat(float32(rows.spread))
    per_column = float32(2 / float64(width))
    is_window = (lane_numbers() & splat(int32(WINDOW_COLUMNS - 1))) == splat(int32(0))
    for k in range(begin, end):
        # The first and the last row have no neighbour on one side.
        top, bottom = max(k * WINDOW_ROWS, 1), min((k + 1) * WINDOW_ROWS, height - 1)
        w0 = w1 = w2 = v0 = v1 = both = common = last_weight = last_weighted = older_weight = older_weighted = zero
        for x in range(0, width if k % every == 0 else 0, LANES):
            missing, information = window_estimates(
                left.pixels, right.pixels, found.values, halvings, top, bottom, x, width, rows.grey, rows.is_levelled
            )
            weight = select(is_window, information / (one + spread * information), zero)
            far = one + tail * missing * missing * weight
            weight = weight / (far * far)
            middle = to_float(lane_numbers() + splat(int32(x))) + splat(float32((WINDOW_COLUMNS - 1) / 2))
            place = middle * splat(per_column) + splat(float32(per_column * float32(0.5) - 1))
            w0, w1, w2 = w0 + weight, w1 + weight * place, w2 + weight * place * place
            v0, v1 = v0 + weight * missing, v1 + weight * place * missing
            weighted = weight * missing
            both = both + weight * (last_weight + older_weight)  # times those of the windows 16 and 32 px to the left
            common = common + weighted * (last_weighted + older_weighted)
            older_weight, older_weighted = last_weight, last_weighted
            last_weight, last_weighted = weight, weighted
        sums = rows.sums
        sums[k, 0], sums[k, 1], sums[k, 2] = sum_lanes(w0), sum_lanes(w1), sum_lanes(w2)
        sums[k, 3], sums[k, 4] = sum_lanes(v0), sum_lanes(v1)
        sums[k, 5], sums[k, 6] = sum_lanes(both), sum_lanes(common)
    meet(crew)


@inner
def cubic(distance):
    """Weight of a row at a distance of up to two rows: cubic convolution, which keeps straight lines and parabolas."""
    d = absolute(distance)
    near = ((splat(float32(1.5)) * d - splat(float32(2.5))) * d) * d + splat(float32(1))
    far = ((splat(float32(-0.5)) * d + splat(float32(2.5))) * d - splat(float32(4))) * d + splat(float32(2))
    return select(d < splat(float32(1)), near, select(d < splat(float32(2)), far, splat(float32(0))))


@inner
def whole_rows(shift, x):
    """Rows by which sixteen columns from ``x`` on are at least moved."""
    first = shift.offset + shift.tilt * (float64(x) - shift.centre)
    low = min(first, first + (LANES - 1) * shift.tilt)
    whole = int64(low) if abs(low) < FARTHEST else int64(0)  # nor if it is NaN
    return whole - 1 if low < float64(whole) else whole


@inner
def beyond_whole(shift, x, whole):
    """By how much more sixteen columns from ``x`` on are moved."""
    first = float32(shift.offset + shift.tilt * (float64(x) - shift.centre) - float64(whole))
    return splat(first) + splat(float32(shift.tilt)) * to_float(lane_numbers())


@inner
def within(row, height):
    """The row itself or the nearest that there is."""
    return uint64(min(max(row, 0), height - 1))


@kernel
def shift_rows(source: Image, target: Image, shift: RowShift, crew: Crew) -> None:
    """``target(x, y) = source(x, y + offset + tilt (x - centre))``, cubic along y; the border repeats."""
    pixels, out, width = source.pixels, target.pixels, source.width
    height = pixels.shape[0]
    begin, end = share(crew, height, ROWS)
    zero, half, white = splat(float32(0)), splat(float32(0.5)), splat(float32(shift.white))
    one = splat(float32(1))
    for x in range(0, width, LANES):
        whole, col = whole_rows(shift, x), uint64(PAD + x)
        place = beyond_whole(shift, x, whole)  # 0 to less than 2 rows
        wa, wb, wc = cubic(place + one), cubic(place), cubic(place - one)
        wd, we = cubic(place - one - one), cubic(place - one - one - one)
        first = begin + whole
        a = to_float(load(pixels, within(first - 1, height), col))
        b = to_float(load(pixels, within(first, height), col))
        c = to_float(load(pixels, within(first + 1, height), col))
        d = to_float(load(pixels, within(first + 2, height), col))
        for y in range(begin, end):
            e = to_float(load(pixels, within(y + whole + 3, height), col))
            value = wa * a + wb * b + wc * c + wd * d + we * e
            value = smaller(larger(floor(value + half), zero), white)
            store(out, uint64(y), col, to_int(value))
            a, b, c, d = b, c, d, e
    for y in range(begin, end):
        repeat_border(out, y, width)
    meet(crew)


@kernel
def shift_seen(source: Seen, target: Seen, shift: RowShift, crew: Crew) -> None:
    """The same of a mask of a level: seen if all four rows that `shift_rows` takes from were."""
    mask, out, width = source.mask, target.mask, source.width
    height = mask.shape[0]
    begin, end = share(crew, height, ROWS)
    one = splat(float32(1))
    for x in range(0, width, LANES):
        whole, col = whole_rows(shift, x), uint64(PAD + x)
        is_first = beyond_whole(shift, x, whole) < one
        for y in range(begin, end):
            row = y + whole
            outer = select(is_first, load(mask, within(row - 1, height), col), load(mask, within(row + 3, height), col))
            inner_rows = load(mask, within(row, height), col) & load(mask, within(row + 1, height), col)
            store(out, uint64(y), col, outer & inner_rows & load(mask, within(row + 2, height), col))
    for y in range(begin, end):
        repeat_border(out, y, width)
    meet(crew)


class SeenAround(Record):
    """Disparities of a level that are measured with if some pixels were not seen.

    Attributes
    ----------
    found : ndarray of float32, shape (h, map_stride(width))
        px of the level, NaN = unknown, or near something that was not seen.
    left, right : ndarray of uint8, shape (h, image_stride(width))
        1 where the pixel and all within NEAR rows, and in the left image the columns beside it, were seen.
    """

    found: Floats
    left: Bytes
    right: Bytes


@inner
def seen_near(mask, out, width, begin, end):
    """1 where all rows within NEAR of a pixel were seen."""
    height = mask.shape[0]
    for y in range(begin, end):
        for x in range(0, width, LANES):
            col = uint64(PAD + x)
            seen = load(mask, uint64(y), col)
            for k in range(1, NEAR + 1):
                seen = seen & load(mask, within(y - k, height), col) & load(mask, within(y + k, height), col)
            store(out, uint64(y), col, seen)
        repeat_border(out, y, width)


@kernel
def leave_out_unseen(found: Map, left: Seen, right: Seen, around: SeenAround, crew: Crew) -> None:
    """Fill ``around.found``: the disparities whose surroundings were seen by both cameras.

    The edge of something that was not seen is the strongest there is, and does not move with the scene.
    """
    width, height = found.width, left.mask.shape[0]
    begin, end = share(crew, height, ROWS)
    seen_near(left.mask, around.left, width, begin, end)
    seen_near(right.mask, around.right, width, begin, end)
    for y in range(begin, end):
        for x in range(width):
            value = found.values[y, x]
            place = float32(x) - value
            good = place >= 0 and place <= width - 1  # not if it is NaN
            if good:
                at = PAD + int64(place)
                good = around.right[y, at] != 0 and around.right[y, at + 1] != 0
            good = good and around.left[y, PAD + x - 1] != 0 and around.left[y, PAD + x] != 0
            good = good and around.left[y, PAD + x + 1] != 0
            around.found[y, x] = value if good else np.nan
    meet(crew)
