"""Shift tables: all that a search needs of the right image, without resampling it.

For a patch with template T, gradient G = dT/dx and N pixels, everything the search and the posterior need of
the right image R are five sums for each integer shift s:

    S1 = sum R(x+s)   S2 = sum R(x+s)^2   E2 = sum (R(x+s+1) - R(x+s))^2   ST = sum T R(x+s)   SG = sum G R(x+s)

The first three do not know T: they are box sums of the right image, shared by all patches of a row.  The last two
are filled for 16 shifts at once by integer dot products.  Images are integers, so all sums are exact and the patch
mean can be removed afterwards without cancellation (int32 wraps around, the centred result fits).  Because linear
interpolation commutes with sums, a step of the search or a sample of the window at any sub-pixel place
is then a look-up:

    step(s + a) = (1-a) B[s] + a B[s+1]              B[s] = (SG - mean(R) sum G - sum G T) / sum G^2
    SSD(s + a)  = (1-a) D[s] + a D[s+1] - a(1-a) V[s]

with D the SSD of the mean-normalised patches at integer shifts and V[s] that of R against R shifted by one.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.simd import (
    LANES,
    dot_halves,
    dot_shifts,
    gather,
    interleave,
    larger,
    load,
    load_pair,
    load_two_rows,
    slide,
    sort_shifts,
    splat,
    store,
    subtract_halves,
    to_float,
    to_int,
)
from .patches import BEND, SHIFTS, SSD, STEP

# Rows of scratch.sums.  Sums over a patch whose first column is the index: left T, T^2, G^2, right R, R^2,
# (R[x+1] - R[x])^2, unusable pixels of either image; then two sums down one column only.
SUM_T, SUM_TT, SUM_GG, SUM_R, SUM_RR, SUM_DD, HIDDEN_LEFT, HIDDEN_RIGHT, COLUMN_T, COLUMN_TT = range(10)
# Rows of scratch.whole and scratch.real: one number for each of the current sixteen patches.
COL, FIRST, MEAN, T_SUM, G_SUM = range(5)
T_CENTRED, T_ENERGY, GT, GAIN, START, LOWEST, HIGHEST, DISPARITY, PROBABILITY, VARIANCE = range(10)


@inner
def add_neighbours(a, b, size):
    """Lane k: sum of ``size`` (even, 4 to 16) neighbours from lane k on, of the 32 lanes a, b; by doubling."""
    a_2, b_2 = a + slide(a, b, 1), b + slide(b, b, 1)
    a_4, b_4 = a_2 + slide(a_2, b_2, 2), b_2 + slide(b_2, b_2, 2)
    if size == 4:
        return a_4
    if size == 6:
        return a_4 + slide(a_2, b_2, 4)
    a_8 = a_4 + slide(a_4, b_4, 4)
    if size == 8:
        return a_8
    if size == 10:
        return a_8 + slide(a_2, b_2, 8)
    if size == 12:
        return a_8 + slide(a_4, b_4, 8)
    if size == 14:
        return a_8 + slide(a_4, b_4, 8) + slide(a_2, b_2, 12)
    return a_8 + slide(a_8, b_4 + slide(b_4, b_4, 4), 8)


@inner
def add_columns(sums, first, last, col, size):
    """Turn column sums into patch sums in the sixteen columns before ``col``, in rows ``first`` to ``last - 1``."""
    before = col - uint64(LANES)
    for k in range(uint64(first), uint64(last)):
        store(sums, k, before, add_neighbours(load(sums, k, before), load(sums, k, col), size))


@inner
def box_sums(views, top, size, sums):
    """Fill ``sums`` for patches whose first row is ``top``: one pass down the rows, sixteen columns at a time."""
    one, ones = uint64(1), splat(int32(0x00010001))
    for col in range(uint64(0), uint64(views.left.shape[1] - LANES), uint64(LANES)):
        t_1 = t_2 = g_2 = tt = r_1 = r_2 = d_2 = splat(int32(0))
        for row in range(uint64(top), uint64(top + size), uint64(2)):
            t, g = load_two_rows(views.left, row, col), load_two_rows(views.gradient, row, col)
            r = load_two_rows(views.right, row, col)
            d = subtract_halves(load_two_rows(views.right, row, col + one), r)
            t_1, t_2, g_2 = dot_halves(t_1, t, ones), dot_halves(t_2, t, t), dot_halves(g_2, g, g)
            tt = dot_halves(tt, t, load_two_rows(views.left, row, col + one))
            r_1, r_2, d_2 = dot_halves(r_1, r, ones), dot_halves(r_2, r, r), dot_halves(d_2, d, d)
        store(sums, uint64(COLUMN_T), col, t_1)
        store(sums, uint64(COLUMN_TT), col, tt)
        store(sums, uint64(SUM_T), col, t_1)
        store(sums, uint64(SUM_TT), col, t_2)
        store(sums, uint64(SUM_GG), col, g_2)
        store(sums, uint64(SUM_R), col, r_1)
        store(sums, uint64(SUM_RR), col, r_2)
        store(sums, uint64(SUM_DD), col, d_2)
        if col > uint64(0):
            add_columns(sums, SUM_T, HIDDEN_LEFT, col, size)


@inner
def hidden_sums(views, top, size, sums):
    """Unusable pixels of either image under patches whose first row is ``top``."""
    one = splat(int32(1))
    for col in range(uint64(0), uint64(views.left.shape[1] - LANES), uint64(LANES)):
        left = right = splat(int32(0))
        for row in range(uint64(top), uint64(top + size)):
            left += one - load(views.usable_left, row, col)
            right += one - load(views.usable_right, row, col)
        store(sums, uint64(HIDDEN_LEFT), col, left)
        store(sums, uint64(HIDDEN_RIGHT), col, right)
        if col > uint64(0):
            add_columns(sums, HIDDEN_LEFT, COLUMN_T, col, size)


@inner
def template_products(views, row, col, first, size):
    """ST and SG of one patch: products of template and gradient with 16 shifts of the right image."""
    st_even = st_odd = sg_even = sg_odd = splat(int32(0))
    for y in range(uint64(row), uint64(row + size), uint64(2)):
        below = y + uint64(1)
        for x in range(uint64(0), uint64(size), uint64(2)):
            st_even = dot_shifts(st_even, views.right, y, first + x, load_pair(views.left, y, col + x))
            sg_even = dot_shifts(sg_even, views.right, y, first + x, load_pair(views.gradient, y, col + x))
            st_odd = dot_shifts(st_odd, views.right, below, first + x, load_pair(views.left, below, col + x))
            sg_odd = dot_shifts(sg_odd, views.right, below, first + x, load_pair(views.gradient, below, col + x))
    return sort_shifts(st_even + st_odd), sort_shifts(sg_even + sg_odd)


@inner
def store_pairs(tables, row, k, first, second):
    """Both numbers of each of patch ``k``'s shifts side by side; the last shift has no neighbour, its second is
    unused.
    """
    left, right = interleave(first, second)
    at = uint64(2 * k * SHIFTS)
    store(tables, uint64(row), at, left)
    store(tables, uint64(row), at + uint64(LANES), right)


@inner
def fill_tables(views, row, k, size, scratch):
    """B, D and V (module docstring) of the patch in lane ``k``, for its 16 shifts."""
    sums, whole, real = scratch.sums, scratch.whole, scratch.real
    count = int32(size * size)
    per_pixel = splat(float32(1) / float32(count))
    mean, first = splat(whole[MEAN, k]), uint64(whole[FIRST, k])
    st, sg = template_products(views, row, uint64(whole[COL, k]), first, size)
    g_sum = splat(whole[G_SUM, k])
    r_sum = load(sums, uint64(SUM_R), first)
    r_centred = r_sum - mean * splat(count)
    st -= mean * (r_centred + splat(whole[T_SUM, k]))
    sg -= mean * g_sum
    rr = load(sums, uint64(SUM_RR), first) - mean * (r_sum + r_centred)
    change = to_float(load(sums, uint64(SUM_R), first + uint64(1)) - r_sum)

    r_mean = to_float(r_centred) * per_pixel
    covariance = to_float(st) - r_mean * splat(real[T_CENTRED, k])
    ssd = to_float(rr) - r_mean * to_float(r_centred) - (covariance + covariance) + splat(real[T_ENERGY, k])
    bend = to_float(load(sums, uint64(SUM_DD), first)) - change * change * per_pixel
    step = (to_float(sg) - r_mean * to_float(g_sum) - splat(real[GT, k])) * splat(real[GAIN, k])
    ssd = larger(ssd, splat(float32(0)))
    store_pairs(scratch.tables, STEP, k, step, slide(step, step, 1) - step)
    store_pairs(scratch.tables, SSD, k, ssd, slide(ssd, ssd, 1) - ssd - bend)
    store(scratch.tables, uint64(BEND), uint64(k * SHIFTS), bend)


@inner
def template_sums(cols, size, scratch):
    """Sums of sixteen templates, centred on their (whole) mean; returns the lanes that have a gradient at all.

    With G[x] = T[x+1] - T[x-1] the sums of G and of G T telescope to their ends, so they need no pass of their own.
    """
    sums, whole, real = scratch.sums, scratch.whole, scratch.real
    count, one, last = int32(size * size), splat(int32(1)), splat(int32(size - 1))
    t = gather(sums, uint64(SUM_T), cols)
    column = uint64(COLUMN_T)
    g = gather(sums, column, cols + last + one) + gather(sums, column, cols + last)
    g = g - gather(sums, column, cols) - gather(sums, column, cols - one)
    gt = gather(sums, uint64(COLUMN_TT), cols + last) - gather(sums, uint64(COLUMN_TT), cols - one)
    gg = to_float(gather(sums, uint64(SUM_GG), cols))
    mean = to_int(to_float(t) * splat(float32(1) / float32(count)))
    t_centred = t - mean * splat(count)
    tt = to_float(gather(sums, uint64(SUM_TT), cols) - mean * (t + t_centred))
    offset = to_float(t_centred) * splat(float32(1) / float32(count))
    store(whole, uint64(COL), uint64(0), cols)
    store(whole, uint64(MEAN), uint64(0), mean)
    store(whole, uint64(T_SUM), uint64(0), t)
    store(whole, uint64(G_SUM), uint64(0), g)
    store(real, uint64(T_CENTRED), uint64(0), to_float(t_centred))
    store(real, uint64(T_ENERGY), uint64(0), tt - offset * to_float(t_centred))
    store(real, uint64(GT), uint64(0), to_float(gt - mean * g) - offset * to_float(g))
    # The stored gradient is twice dT/dx, hence the 2.
    store(real, uint64(GAIN), uint64(0), splat(float32(2)) / larger(gg, splat(float32(1))))
    return gg > splat(float32(0))
