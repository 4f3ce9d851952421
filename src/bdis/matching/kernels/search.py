"""Fast LK inverse search on shift tables [III-A, Eq. 1] and the window posterior [III-B, Eq. 4-6].

`shift_tables.py` says what the tables hold and why a step of the search is a look-up there.
"""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import (
    LANES,
    absolute,
    any_lane,
    every_lane,
    floor,
    gather,
    gather_pairs,
    lane_numbers,
    larger,
    load,
    mask_bits,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
    trailing_zeros,
)
from .layout import PAD, ROWS, Maps
from .masked import CENTRE, FAR_LEFT, FAR_RIGHT, NEAR_LEFT, NEAR_RIGHT, PLACE, SCORED, search_masked
from .patches import BELOW_START, SHIFTS, STEP, Patches, Scratch, SearchSettings
from .posterior import window_posterior, window_samples, window_variance
from .pyramid import Views
from .shift_tables import (
    COL,
    DISPARITY,
    FIRST,
    HIDDEN_LEFT,
    HIDDEN_RIGHT,
    HIGHEST,
    LOWEST,
    PROBABILITY,
    START,
    VARIANCE,
    box_sums,
    fill_tables,
    hidden_sums,
    template_sums,
)


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
    place, whole = start, to_int(start)
    at_whole, slope = gather_pairs(tables, uint64(STEP), whole + base)
    for _ in range(settings.max_iterations):
        step = at_whole + slope * (place - to_float(whole))
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
        before = whole
        whole = to_int(place)
        if not every_lane(whole == before):  # most searches soon stay between two shifts, and a gather is slow
            at_whole, slope = gather_pairs(tables, uint64(STEP), whole + base)
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
