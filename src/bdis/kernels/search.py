"""Fast LK inverse search on shift tables [III-A, Eq. 1] and the window posterior [III-B, Eq. 4-6].

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

from numba import boolean, float32, int32, int64, uint64, void

from .cache import inner, kernel
from .layout import BELOW_START, FLOATS, LEVEL, PAD, SCRATCH, SEARCH, SHIFTS
from .posterior import window_posterior, window_samples
from .simd import (
    LANES,
    absolute,
    any_lane,
    dot_pairs,
    floor,
    gather,
    lane_numbers,
    larger,
    load,
    load_pair,
    mask_bits,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)

# Rows of scratch.sums: box sums over a patch at each column, for the current row of patches; then the same
# before the horizontal pass.
SUM_T, SUM_TT, SUM_G, SUM_GG, SUM_GT, SUM_R, SUM_RR, SUM_DD, HIDDEN_LEFT, HIDDEN_RIGHT = range(10)
COLUMNS = 10
# Rows of scratch.whole and scratch.real: one number for each of the current sixteen patches.
COL, FIRST, MEAN, T_SUM, G_SUM = range(5)
T_CENTRED, T_ENERGY, GT, GAIN = range(4)
# Rows of scratch.tables: 16 shifts for each of the current sixteen patches.
STEP, SSD, BEND = range(3)


@inner
def column_sums(level, top, size, sums):
    """Sums down ``size`` rows from ``top``, at every column."""
    width = uint64(level.left.shape[1])
    for col in range(uint64(0), width, uint64(LANES)):
        t_1 = t_2 = g_1 = g_2 = gt = r_1 = r_2 = d_2 = splat(int32(0))
        for row in range(uint64(top), uint64(top + size)):
            t, g = load(level.left, row, col), load(level.gradient, row, col)
            pair = load(level.pairs, row, col)
            r = (pair << splat(int32(16))) >> splat(int32(16))
            d = (pair >> splat(int32(16))) - r
            t_1, t_2 = t_1 + t, t_2 + t * t
            g_1, g_2, gt = g_1 + g, g_2 + g * g, gt + g * t
            r_1, r_2, d_2 = r_1 + r, r_2 + r * r, d_2 + d * d
        store(sums, uint64(COLUMNS + SUM_T), col, t_1)
        store(sums, uint64(COLUMNS + SUM_TT), col, t_2)
        store(sums, uint64(COLUMNS + SUM_G), col, g_1)
        store(sums, uint64(COLUMNS + SUM_GG), col, g_2)
        store(sums, uint64(COLUMNS + SUM_GT), col, gt)
        store(sums, uint64(COLUMNS + SUM_R), col, r_1)
        store(sums, uint64(COLUMNS + SUM_RR), col, r_2)
        store(sums, uint64(COLUMNS + SUM_DD), col, d_2)


@inner
def hidden_columns(level, top, size, sums):
    """Unusable pixels down ``size`` rows from ``top``, at every column of both images."""
    one = splat(int32(1))
    for col in range(uint64(0), uint64(level.left.shape[1]), uint64(LANES)):
        left = right = splat(int32(0))
        for row in range(uint64(top), uint64(top + size)):
            left += one - load(level.usable_left, row, col)
            right += one - load(level.usable_right, row, col)
        store(sums, uint64(COLUMNS + HIDDEN_LEFT), col, left)
        store(sums, uint64(COLUMNS + HIDDEN_RIGHT), col, right)


@inner
def box_sums(first, last, size, sums):
    """Sums of ``size`` neighbouring columns, at every column, for rows ``first`` to ``last - 1`` of the sums."""
    width = uint64(sums.shape[1] - LANES)
    for k in range(uint64(first), uint64(last)):
        for col in range(uint64(0), width, uint64(LANES)):
            total = splat(int32(0))
            for x in range(uint64(size)):
                total += load(sums, uint64(COLUMNS) + k, col + x)
            store(sums, k, col, total)


@inner
def template_products(level, row, col, first, size):
    """ST and SG of one patch: products of template and gradient with 16 shifts of the right image."""
    st_even = st_odd = sg_even = sg_odd = splat(int32(0))
    for y in range(uint64(row), uint64(row + size), uint64(2)):
        below = y + uint64(1)
        for x in range(uint64(0), uint64(size), uint64(2)):
            upper, lower = load(level.pairs, y, first + x), load(level.pairs, below, first + x)
            st_even = dot_pairs(st_even, upper, load_pair(level.left, y, col + x))
            sg_even = dot_pairs(sg_even, upper, load_pair(level.gradient, y, col + x))
            st_odd = dot_pairs(st_odd, lower, load_pair(level.left, below, col + x))
            sg_odd = dot_pairs(sg_odd, lower, load_pair(level.gradient, below, col + x))
    return st_even + st_odd, sg_even + sg_odd


@inner
def fill_tables(level, row, k, size, scratch):
    """B, D and V (module docstring) of the patch in lane ``k``, for its 16 shifts."""
    sums, whole, real = scratch.sums, scratch.whole, scratch.real
    count = int32(size * size)
    per_pixel = splat(float32(1) / float32(count))
    mean, first = splat(whole[MEAN, k]), uint64(whole[FIRST, k])
    st, sg = template_products(level, row, uint64(whole[COL, k]), first, size)
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
    at = uint64(k * SHIFTS)
    store(scratch.tables, uint64(STEP), at, step)
    store(scratch.tables, uint64(SSD), at, larger(ssd, splat(float32(0))))
    store(scratch.tables, uint64(BEND), at, bend)


@inner
def template_sums(cols, size, scratch):
    """Sums of sixteen templates, centred on their (whole) mean; returns the lanes that have a gradient at all."""
    sums, whole, real = scratch.sums, scratch.whole, scratch.real
    count = int32(size * size)
    t = gather(sums, uint64(SUM_T), cols)
    g = gather(sums, uint64(SUM_G), cols)
    gg = to_float(gather(sums, uint64(SUM_GG), cols))
    mean = to_int(to_float(t) * splat(float32(1) / float32(count)))
    t_centred = t - mean * splat(count)
    tt = to_float(gather(sums, uint64(SUM_TT), cols) - mean * (t + t_centred))
    gt = to_float(gather(sums, uint64(SUM_GT), cols) - mean * g)
    offset = to_float(t_centred) * splat(float32(1) / float32(count))
    store(whole, uint64(COL), uint64(0), cols)
    store(whole, uint64(MEAN), uint64(0), mean)
    store(whole, uint64(T_SUM), uint64(0), t)
    store(whole, uint64(G_SUM), uint64(0), g)
    store(real, uint64(T_CENTRED), uint64(0), to_float(t_centred))
    store(real, uint64(T_ENERGY), uint64(0), tt - offset * to_float(t_centred))
    store(real, uint64(GT), uint64(0), gt - offset * to_float(g))
    # The stored gradient is twice dT/dx, hence the 2.
    store(real, uint64(GAIN), uint64(0), splat(float32(2)) / larger(gg, splat(float32(1))))
    return gg > splat(float32(0))


@inner
def descend(tables, start, lowest, highest, active, settings):
    """LK iterations (Eq. 1) of sixteen patches on their tables; a search that leaves its range goes back to start."""
    radius, stop = splat(float32(settings.radius)), splat(float32(settings.stop))
    base = lane_numbers() * splat(int32(SHIFTS))
    place = start
    for _ in range(settings.max_iterations):
        whole = to_int(place)
        index = whole + base
        here = gather(tables, uint64(STEP), index)
        there = gather(tables, uint64(STEP), index + splat(int32(1)))
        step = here + (there - here) * (place - to_float(whole))
        moved = place - step
        # Written so that a NaN counts as "left its range".
        inside = (absolute(moved - start) <= radius) & (moved >= lowest) & (moved <= highest)
        place = select(active, select(inside, moved, start), place)
        active = active & inside & (absolute(step) >= stop)
        if not any_lane(active):
            break
    return place


@kernel(void(LEVEL, FLOATS, FLOATS, int64, int64, boolean, boolean, SEARCH, SCRATCH, int64, int64))
def search_rows(
    level, coarser, coarser_probability, coarser_width, width, is_coarsest, has_hidden, settings, scratch, begin, end
):
    """Disparity and probability of the patches in rows ``begin`` to ``end - 1``: Eq. 1, 4-6, 11-12.

    Reads ``coarser`` (float32, px of the coarser level, NaN = unknown) and ``coarser_probability`` unless
    ``is_coarsest``; writes ``level.patch_disparity`` and ``level.patch_probability`` (0 = rejected).
    """
    size = settings.patch_size
    patches = level.cols.shape[1] - LANES
    zero = splat(float32(0))
    for i in range(begin, end):
        top = level.rows[i]
        column_sums(level, top, size, scratch.sums)
        box_sums(0, HIDDEN_LEFT, size, scratch.sums)
        if has_hidden:
            hidden_columns(level, top, size, scratch.sums)
            box_sums(HIDDEN_LEFT, COLUMNS, size, scratch.sums)
        parent_row = uint64(min((top + size // 2) // 2, coarser.shape[0] - 1))
        for j in range(0, patches, LANES):
            x_int = load(level.cols, uint64(0), uint64(j))
            cols = x_int + splat(int32(PAD))
            x = to_float(x_int)
            textured = template_sums(cols, size, scratch)

            lowest = larger(x - splat(float32(width - size)), splat(float32(settings.min_disparity)))
            highest = smaller(x, splat(float32(settings.max_disparity)))
            inherited = zero
            if is_coarsest:
                start = smaller(larger(zero, lowest), highest)
                active = textured & (lowest <= highest)
            else:
                parent_col = (x_int + splat(int32(size // 2))) >> splat(int32(1))
                parent_col = to_int(smaller(to_float(parent_col), splat(float32(coarser_width - 1))))
                start = gather(coarser, parent_row, parent_col)
                start = start + start
                if settings.propagate:
                    inherited = gather(coarser_probability, parent_row, parent_col)
                active = textured & (start >= lowest) & (start <= highest)
            active = active & (lane_numbers() < splat(int32(patches - j)))

            right_x = select(active, x - start, x)
            floor_x = floor(right_x)
            store(scratch.whole, uint64(FIRST), uint64(0), to_int(floor_x) - splat(int32(BELOW_START - PAD)))
            origin = floor_x - splat(float32(BELOW_START))
            place = right_x - origin

            bits = mask_bits(active)
            for k in range(LANES):
                if (bits >> k) & 1:
                    fill_tables(level, top, k, size, scratch)
            found = descend(scratch.tables, place, x - highest - origin, x - lowest - origin, active, settings)
            ssd = window_samples(scratch.tables, found, settings.window_step)
            posterior, is_minimum = window_posterior(ssd, settings)
            if settings.posterior:
                accepted = active & is_minimum
                probability = posterior * splat(float32(settings.level_weight)) + inherited
            else:
                accepted = active
                probability = splat(float32(1))
            store(level.patch_disparity, uint64(i), uint64(j), x - origin - found)
            store(level.patch_probability, uint64(i), uint64(j), select(accepted, probability, zero))
