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

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import (
    LANES,
    absolute,
    any_lane,
    dot_halves,
    dot_shifts,
    floor,
    gather,
    gather_pairs,
    interleave,
    lane_numbers,
    larger,
    load,
    load_pair,
    load_two_rows,
    mask_bits,
    select,
    slide,
    smaller,
    sort_shifts,
    splat,
    store,
    subtract_halves,
    to_float,
    to_int,
    trailing_zeros,
)
from .layout import PAD, ROWS, Maps
from .masked import CENTRE, FAR_LEFT, FAR_RIGHT, NEAR_LEFT, NEAR_RIGHT, PLACE, SCORED, search_masked
from .patches import BELOW_START, BEND, SHIFTS, SSD, STEP, Patches, Scratch, SearchSettings
from .posterior import window_posterior, window_samples, window_variance
from .pyramid import Views

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


@inner
def descend(tables, start, lowest, highest, active, settings):
    """LK iterations (Eq. 1) of sixteen patches on their tables; a search that leaves its range goes back to start.

    The table also knows how fast the LK step changes; dividing by that (``settings.newton``) goes to the same places in
    half the iterations.  Where the slope is gentle this lengthens the step, at most to its double, until the search
    first turns round: then it would jump to and fro over the root.
    """
    radius, stop = splat(float32(settings.radius)), splat(float32(settings.stop))
    base = lane_numbers() * splat(int32(SHIFTS))
    zero, one, two = splat(float32(0)), splat(float32(1)), splat(float32(2))
    gentlest, last_step = splat(float32(0.5)), zero
    place = start
    for _ in range(settings.max_iterations):
        whole = to_int(place)
        step, slope = gather_pairs(tables, uint64(STEP), whole + base)
        step = step + slope * (place - to_float(whole))
        if settings.newton:
            gentlest = select(step * last_step < zero, one, gentlest)
            last_step = step
            step = step / smaller(larger(slope, gentlest), two)
        moved = place - step
        # Written so that a NaN counts as "left its range".
        inside = (absolute(moved - start) <= radius) & (moved >= lowest) & (moved <= highest)
        place = select(active, select(inside, moved, start), place)
        active = active & inside & (absolute(step) >= stop)
        if not any_lane(active):
            break
    return place


@inner
def coarser_row(patches, i, coarser, size):
    """Row of the coarser level under the centres of the patches in row ``i``."""
    return uint64(min((patches.rows[0, i] + size // 2) // 2, coarser.disparity.shape[0] - 1))


@inner
def coarser_columns(cols, coarser, size):
    """Columns of the coarser level under the centres of sixteen patches."""
    col = to_float((cols + splat(int32(size // 2))) >> splat(int32(1)))
    return to_int(smaller(col, splat(float32(coarser.width - 1))))


@inner
def disparity_range(x, views, settings):
    """Lowest and highest disparity of sixteen patches with first column ``x``: as far as image and settings allow."""
    lowest = larger(x - splat(float32(views.width - settings.patch_size)), splat(float32(settings.min_disparity)))
    return lowest, smaller(x, splat(float32(settings.max_disparity)))


@inner
def list_patches(views, patches, i, coarser, settings, scratch):
    """List the patches of row ``i`` that have somewhere to start; returns how many.

    A patch starts from twice the coarser disparity at its centre, and is left out where that is unknown or leads out of
    the image; without a coarser level it starts from 0.  Writes ``scratch.listed`` and ``scratch.start``.
    """
    size, has_coarser = settings.patch_size, coarser.width > 0
    count_all = patches.cols.shape[1] - LANES
    count = 0
    for j in range(0, count_all, LANES):
        x_whole = load(patches.cols, uint64(0), uint64(j))
        lowest, highest = disparity_range(to_float(x_whole), views, settings)
        if has_coarser:
            col = coarser_columns(x_whole, coarser, size)
            start = gather(coarser.disparity, coarser_row(patches, i, coarser, size), col)
            start = start + start
        else:
            start = smaller(larger(splat(float32(0)), lowest), highest)
        good = (start >= lowest) & (start <= highest) & (lane_numbers() < splat(int32(count_all - j)))
        store(scratch.real, uint64(START), uint64(0), start)
        bits = mask_bits(good)
        while bits:
            k = uint64(trailing_zeros(bits))
            bits &= bits - 1
            scratch.listed[0, uint64(count)] = j + int64(k)
            scratch.start[0, uint64(count)] = scratch.real[START, k]
            count += 1
    for k in range(count, count + LANES):  # a full sixteen for the last load
        scratch.listed[0, uint64(k)] = scratch.listed[0, uint64(max(count - 1, 0))]
        scratch.start[0, uint64(k)] = scratch.start[0, uint64(max(count - 1, 0))]
    return count


@inner
def hidden_lanes(active, scratch):
    """Bits of the active lanes whose patch, or its sixteen shifts in the right image, hold unusable pixels."""
    bits = int64(0)
    zero = splat(int32(0))
    actives = mask_bits(active)
    for k in range(LANES):
        if (actives >> k) & 1:
            first, col = uint64(scratch.whole[FIRST, k]), uint64(scratch.whole[COL, k])
            right = any_lane(load(scratch.sums, uint64(HIDDEN_RIGHT), first) > zero)
            if right or scratch.sums[HIDDEN_LEFT, col] > 0:
                bits |= int64(1) << k
    return bits


@inner
def search_hidden(views, row, hidden, found, ssd, active, settings, scratch):
    """Search the patches of the ``hidden`` bits again, pixel by pixel, and put their results in place of those from
    the tables.
    """
    window, real = scratch.window, scratch.real
    centre, far_left, near_left, near_right, far_right = ssd
    store(window, uint64(CENTRE), uint64(0), centre)
    store(window, uint64(FAR_LEFT), uint64(0), far_left)
    store(window, uint64(NEAR_LEFT), uint64(0), near_left)
    store(window, uint64(NEAR_RIGHT), uint64(0), near_right)
    store(window, uint64(FAR_RIGHT), uint64(0), far_right)
    store(window, uint64(PLACE), uint64(0), found)
    store(window, uint64(SCORED), uint64(0), splat(float32(1)))
    for k in range(LANES):
        if (hidden >> k) & 1:
            limits = real[START, k], real[LOWEST, k], real[HIGHEST, k]
            search_masked(views, row, scratch.whole[COL, k] - PAD, limits, settings, window, k)
    ssd = (
        load(window, uint64(CENTRE), uint64(0)),
        load(window, uint64(FAR_LEFT), uint64(0)),
        load(window, uint64(NEAR_LEFT), uint64(0)),
        load(window, uint64(NEAR_RIGHT), uint64(0)),
        load(window, uint64(FAR_RIGHT), uint64(0)),
    )
    scored = load(window, uint64(SCORED), uint64(0)) > splat(float32(0))
    return load(window, uint64(PLACE), uint64(0)), ssd, active & scored


@inner
def search_sixteen(views, patches, i, coarser, has_hidden, settings, scratch, offset, count):
    """Search the listed patches ``offset`` to ``offset + 15``; returns disparity and probability (0 = rejected)."""
    size = settings.patch_size
    zero, top = splat(float32(0)), patches.rows[0, i]
    patch = load(scratch.listed, uint64(0), uint64(offset))
    start = load(scratch.start, uint64(0), uint64(offset))
    x_whole = gather(patches.cols, uint64(0), patch)
    x = to_float(x_whole)
    textured = template_sums(x_whole + splat(int32(PAD)), size, scratch)
    active = textured & (lane_numbers() < splat(int32(count - offset)))

    right_x = x - start
    floor_x = floor(right_x)
    origin = floor_x - splat(float32(BELOW_START))  # image column of the table's first shift
    store(scratch.whole, uint64(FIRST), uint64(0), to_int(floor_x) + splat(int32(PAD - BELOW_START)))
    bits = mask_bits(active)
    for k in range(LANES):
        if (bits >> k) & 1:
            fill_tables(views, top, k, size, scratch)

    lowest, highest = disparity_range(x, views, settings)
    found = descend(scratch.tables, right_x - origin, x - highest - origin, x - lowest - origin, active, settings)
    ssd = window_samples(scratch.tables, found, settings.window_step)
    found = origin + found
    if has_hidden:
        store(scratch.real, uint64(START), uint64(0), right_x)
        store(scratch.real, uint64(LOWEST), uint64(0), x - highest)
        store(scratch.real, uint64(HIGHEST), uint64(0), x - lowest)
        hidden = hidden_lanes(active, scratch)
        if hidden:
            found, ssd, active = search_hidden(views, top, hidden, found, ssd, active, settings, scratch)
    if settings.variance:
        store(scratch.real, uint64(VARIANCE), uint64(0), window_variance(ssd, settings))
    posterior, is_minimum = window_posterior(ssd, settings)
    probability = splat(float32(1))
    if settings.posterior:
        active = active & is_minimum
        probability = posterior * splat(float32(settings.level_weight))
        if settings.propagate and coarser.width > 0:
            col = coarser_columns(x_whole, coarser, size)
            probability = probability + gather(coarser.probability, coarser_row(patches, i, coarser, size), col)
    return x - found, select(active, probability, zero)


@kernel
def search_patches(
    views: Views,
    coarser: Maps,
    patches: Patches,
    settings: SearchSettings,
    scratch: Scratch,
    has_hidden: bool,
    crew: Crew,
) -> None:
    """Disparity and probability of all patches of a level: Eq. 1, 4-6, 11-12.

    Starts from the fused result of the coarser level; one of width 0 means that there is none.  Writes
    ``patches.disparity`` and ``patches.probability`` (0 = rejected).
    """
    begin, end = share(crew, patches.rows.shape[1], ROWS)
    zero, size = splat(float32(0)), settings.patch_size
    for i in range(begin, end):
        for j in range(uint64(0), uint64(patches.probability.shape[1] - LANES), uint64(LANES)):
            store(patches.probability, uint64(i), j, zero)
        count = list_patches(views, patches, i, coarser, settings, scratch)
        if count > 0:
            box_sums(views, patches.rows[0, i], size, scratch.sums)
            if has_hidden:
                hidden_sums(views, patches.rows[0, i], size, scratch.sums)
        for offset in range(0, count, LANES):
            disparity, probability = search_sixteen(
                views, patches, i, coarser, has_hidden, settings, scratch, offset, count
            )
            store(scratch.real, uint64(DISPARITY), uint64(0), disparity)
            store(scratch.real, uint64(PROBABILITY), uint64(0), probability)
            for k in range(min(LANES, count - offset)):
                j = uint64(scratch.listed[0, uint64(offset + k)])
                patches.disparity[uint64(i), j] = scratch.real[DISPARITY, uint64(k)]
                patches.probability[uint64(i), j] = scratch.real[PROBABILITY, uint64(k)]
                if settings.variance:
                    patches.variance[uint64(i), j] = scratch.real[VARIANCE, uint64(k)]
    meet(crew)
