"""Variational refinement of a disparity map: every pixel moves to where both images agree best, held by its neighbours.

It lowers, from a map that is already close, with r(x) = left(x) - right(x - d(x)),

    sum over pixels      delta / 2 log(NOISE + r^2) + gamma / 2 log(NOISE + |gradient of r|^2)
  + sum over neighbours  strength edge |d - d_neighbour - slope|    (a parabola near 0)

in a few rounds; slope is that of the map it starts from (slopes.py).  Each round turns this into least squares: a
precision A and a wish B for every pixel (their slopes are those of the left image, as in the inverse search) and a bond
for every pair of neighbours.  It improves them by a few sweeps of over-relaxation, each over the pixels with x + y even
and then over the others.

A round goes down the picture once, and the sweeps follow a few rows behind (relaxation.py), so that all that lies
between the map and the refined map stays in the cache.  Rows on that way are *split*: pixels with even x first, then
those with odd x, since a half sweep works on either of them and the neighbours of the one are the other.

Threads each do their rows and `HALF_SWEEPS` rows above and below, from a copy of what these were: what is wrong at the
border of that part moves inward by one row in a half sweep.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Ints, Record, kernel
from ...vector.simd import (
    LANES,
    absolute,
    as_float_bits,
    as_int_bits,
    deinterleave,
    floor,
    gather,
    gather_near_short_pairs,
    interleave,
    lane_numbers,
    larger,
    load,
    load_short_pairs,
    mask_bits,
    select,
    slide,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)
from .doubt import AROUND, BESIDE
from .layout import PAD, ROWS, Map, whole_vectors
from .pyramid import Image, Seen
from .relaxation import BEYOND, BLOCK, DOWN, GOAL, HALF_SWEEPS, ODD, RIGHT, SHARE, SLOTS, VALUE, relax_rows
from .slopes import BLOCK as SLOPE_BLOCK
from .slopes import clear_slopes, find_slopes
from .spans import columns_near

# The weights of the brightness of a pixel (delta) and of its gradient (gamma) are 4 and 8; only their ratio to each
# other and to the strength of the bonds matters.  What halving and doubling does to the error on tissue, on Middlebury,
# and to the number of errors at the edges of instruments; two rounds:
NOISE = 0.5  # grey levels^2, a residual that leaves half of these weights; 0.25 as it is, 1: 0, +0.5, +1 %
EDGE = 22.0  # grey levels, such a step leaves a quarter of a bond; half: +0.7, +0.5, -5 %, double: -0.5, -0.5, +4 %
SMALL_JUMP = 0.017  # px, smaller differences of disparity are hardly jumps; half: +0.4, 0, -3 %, double: -0.4, 0, +5 %
TINY = 1e-12  # the least precision: a pixel that nothing holds stays where it is
FARTHEST = 1e6  # px, disparities beyond are treated as unknown
UNKNOWN = 1e30  # px, takes the place of an unknown disparity: no bond is left across such a jump

MARGIN = max(AROUND, BESIDE)  # px, so far around what matters the refined map is read
FEW = 4  # rows to keep of what only the row above and the row below need
BEFORE = LANES  # numbers before the even pixels of a split row, and before its odd ones


def split_stride(width: int) -> int:
    """Numbers to allocate for a split row of ``width`` px: sixteen spare ones before, between and behind."""
    return 3 * BEFORE + 2 * whole_vectors((width + 1) // 2)


class RefinementLines(Record):
    """The rows that a thread has in work; row y of the picture is in row y % (number of rows) of each array.

    Attributes
    ----------
    work : ndarray of float32, shape (SLOTS, work stride)
        What the sweeps need, see relaxation.py.
    given : ndarray of float32, shape (FEW, split stride)
        px of the level, disparity at the begin of the round.
    residual : ndarray of float32, shape (FEW, split stride)
        Grey value x intensity scale, left - right image; NaN = cannot be compared.
    grey : ndarray of float32, shape (FEW, split stride)
        Grey value x intensity scale of the left image.
    seen : ndarray of int32, shape (2, width / 32)
        One bit per pixel of a row: the left pixel was seen; the right one and its right neighbour were.
    border : ndarray of float32, shape (2 HALF_SWEEPS, map stride)
        px of the level, the rows of other threads above and below, at the begin of the round.
    """

    work: Floats
    given: Floats
    residual: Floats
    grey: Floats
    seen: Ints
    border: Floats


class RefinementSettings(Record):
    """How a map is refined, and at which slopes.

    Attributes
    ----------
    rounds : int
        How often.
    root : float
        1 / the square root of the strength of a bond between pixels of the same brightness whose disparities differ
        by 1 px.
    grey : float
        One grey level as stored.
    follows_slopes : bool
        Neighbours hold each other at the slope of the map, not level.
    across, down : ndarray of float32, shape `slopes_shape(h, width)`
        Slopes along x and y of the map as it was.
    spans : ndarray of int32, shape (h / 16, 2)
        Columns that matter, see spans.py; others, and rows, are refined only as far as these need it.
    """

    rounds: int
    root: float
    grey: float
    follows_slopes: bool
    across: Floats
    down: Floats
    spans: Ints


@inner
def first_odd(lines):
    """Column of the first odd pixel in a split row."""
    return (lines.given.shape[1] + BEFORE) // 2


@inner
def low_half(pair):
    """Even pixels of 32 in pairs."""
    return to_float((pair << splat(int32(16))) >> splat(int32(16)))


@inner
def high_half(pair):
    """Odd pixels of 32 in pairs."""
    return to_float(pair >> splat(int32(16)))


@inner
def fill_row(array, row, value):
    """``value`` in every column of a row."""
    vector = splat(float32(value))
    for col in range(uint64(0), uint64(array.shape[1]), uint64(LANES)):
        store(array, uint64(row), col, vector)


@inner
def pack_seen(mask, pad, row, width, words, out):
    """One bit for each pixel of row ``row`` of a mask; 1 beyond its end."""
    zero = splat(int32(0))
    for k in range((width + 31) // 32):
        if 32 * k + 32 <= width:
            at = uint64(pad + 32 * k)
            low, high = load(mask, row, at) > zero, load(mask, row, at + uint64(LANES)) > zero
            bits = mask_bits(low) | (mask_bits(high) << 16)
        else:
            bits = int64(0xFFFFFFFF)
            for x in range(32 * k, width):
                if mask[row, uint64(pad + x)] == 0:
                    bits ^= int64(1) << (x - 32 * k)
        words[out, uint64(k)] = int32(bits)


@inner
def need_right_neighbour(words, width):
    """Clear the bit of each pixel of the right image whose right neighbour was not seen."""
    last = (width + 31) // 32 - 1
    for k in range(last + 1):
        bits = int64(words[1, uint64(k)]) & int64(0xFFFFFFFF)
        after = int64(words[1, uint64(k + 1)]) & 1 if k < last else int64(1)
        words[1, uint64(k)] = int32(bits & ((bits >> 1) | (after << 31)))


@inner
def compare(image, right, row, col, disparity, width):
    """Residual of sixteen pixels of the left image against the right one along their disparity; and where that is."""
    place = to_float(col) - disparity
    last = splat(float32(width - 1))
    inside = (place >= splat(float32(0))) & (place <= last)  # not if NaN
    place = smaller(larger(place, splat(float32(0))), last)
    whole = floor(place)
    at = to_int(whole)
    pair = gather_near_short_pairs(right, row, at + splat(int32(PAD)))
    here = low_half(pair)
    rest = image - here - (place - whole) * (high_half(pair) - here)
    return select(inside, rest, splat(float32(np.nan))), at


@inner
def read_row(left, right, source, source_row, y, lines, has_hidden, begin, stop):
    """Begin with row ``y``: disparities, residuals and grey values of columns ``begin`` to ``stop - 1``."""
    width = left.width
    row, slot, few = uint64(y), uint64(y % SLOTS), uint64(y % FEW)
    even, odd = uint64(BEFORE), uint64(first_odd(lines))
    zero, one = splat(float32(0)), splat(int32(1))
    nothing, unknown = splat(float32(np.nan)), splat(float32(UNKNOWN))
    farthest, end = splat(float32(FARTHEST)), splat(int32(width))
    twice = lane_numbers() + lane_numbers()
    for x in range(begin, stop, 2 * LANES):
        half, block = uint64(x // 2), uint64(BLOCK * (2 + x // (2 * LANES)))
        pixels = load_short_pairs(left.pixels, row, uint64(PAD + x))
        l_even, l_odd = low_half(pixels), high_half(pixels)
        store(lines.grey, few, even + half, l_even)
        store(lines.grey, few, odd + half, l_odd)
        first, second = load(source, source_row, uint64(x)), load(source, source_row, uint64(x + LANES))
        d_even, d_odd = deinterleave(first, second)
        x_even = splat(int32(x)) + twice
        x_odd = x_even + one
        known_even = (absolute(d_even) < farthest) & (x_even < end)
        known_odd = (absolute(d_odd) < farthest) & (x_odd < end)
        store(lines.work, slot, block + uint64(VALUE), select(known_even, d_even, zero))
        store(lines.work, slot, block + uint64(ODD + VALUE), select(known_odd, d_odd, zero))
        d_even, d_odd = select(known_even, d_even, unknown), select(known_odd, d_odd, unknown)
        store(lines.given, few, even + half, d_even)
        store(lines.given, few, odd + half, d_odd)
        r_even, at_even = compare(l_even, right.pixels, row, x_even, d_even, width)
        r_odd, at_odd = compare(l_odd, right.pixels, row, x_odd, d_odd, width)
        if has_hidden:
            seen_left = splat(lines.seen[0, uint64(x // 32)])
            five, low_bits = splat(int32(5)), splat(int32(31))
            seen_right = gather(lines.seen, uint64(1), at_even >> five) >> (at_even & low_bits)
            r_even = select(((seen_left >> twice) & seen_right & one) == one, r_even, nothing)
            seen_right = gather(lines.seen, uint64(1), at_odd >> five) >> (at_odd & low_bits)
            r_odd = select(((seen_left >> (twice + one)) & seen_right & one) == one, r_odd, nothing)
        store(lines.residual, few, even + half, r_even)
        store(lines.residual, few, odd + half, r_odd)
    # Grey values and residuals repeat at the border; but nothing is known of a pixel beyond it.
    store(lines.given, few, odd - uint64(BEFORE), unknown)
    store(lines.residual, few, odd - uint64(BEFORE), nothing)
    grey, residual, half = lines.grey, lines.residual, uint64(width // 2)
    grey[few, even - uint64(1)] = grey[few, odd - uint64(1)] = left.pixels[row, uint64(PAD)]
    grey[few, odd - uint64(BEFORE)] = left.pixels[row, uint64(PAD + width - 1)]
    grey[few, uint64(grey.shape[1] - BEFORE)] = left.pixels[row, uint64(PAD + width - 1)]
    residual[few, odd - uint64(1)] = residual[few, even]
    if width % 2:
        residual[few, odd + half] = residual[few, even + half]
    else:
        residual[few, even + half] = residual[few, odd + half - uint64(1)]


@inner
def inverse(a):
    """1 / a to 0.13 %: a guess from the bits of a, and a step of Newton's method that makes the most of it."""
    guess = as_float_bits(splat(int32(0x7EF33400)) - as_int_bits(a))
    return guess * (splat(float32(2.00128)) - a * guess)


@inner
def data_term(rest, rest_x, rest_y, slope, slope_x, slope_y, noise):
    """Precision A and half the wish B of sixteen pixels, from residuals and slopes of the left image.

    Differences are not halved: ``slope`` and both of ``rest`` are twice, and ``slope_x`` and ``slope_y`` four times the
    slopes.  With the weights 4 and 8 that leaves a factor of 2 for the gradient.
    """
    by_brightness = inverse(noise + rest * rest)
    by_gradient = inverse(splat(float32(4)) * noise + rest_x * rest_x + rest_y * rest_y)
    by_gradient = by_gradient + by_gradient
    weighted = by_brightness * slope
    precision = weighted * slope + by_gradient * (slope_x * slope_x + slope_y * slope_y)
    wish = weighted * rest + by_gradient * (slope_x * rest_x + slope_y * rest_y)
    return larger(precision, splat(float32(TINY))), select(wish == wish, wish, splat(float32(0)))


@inner
def bond(image_step, jump, root, sharpness):
    """strength / ((1 + image step / EDGE)^2 (|jump| + SMALL_JUMP)) of sixteen pairs; ``root``: 1 / root of strength."""
    edge = root + absolute(image_step) * sharpness
    return inverse((absolute(jump) + splat(float32(SMALL_JUMP))) * (edge * edge))


@inner
def weigh_row(y, top, bottom, columns, lines, settings):
    """What pulls the pixels of row ``y``, between rows ``top`` and ``bottom``."""
    even, odd = uint64(BEFORE), uint64(first_odd(lines))
    slot, slot_above = uint64(y % SLOTS), uint64((y - 1) % SLOTS)
    here, after = uint64(y % FEW), uint64((y + 1) % FEW)
    above, below = uint64(max(y - 1, top) % FEW), uint64(min(y + 1, bottom) % FEW)
    one, beyond = uint64(1), splat(float32(BEYOND))
    noise = splat(float32(NOISE * settings.grey * settings.grey))
    root = splat(float32(settings.root))
    sharpness = splat(float32(settings.root / (EDGE * settings.grey)))
    given, residual, grey, work = lines.given, lines.residual, lines.grey, lines.work
    block, block_above = uint64(y // SLOPE_BLOCK), uint64(max(y - 1, 0) // SLOPE_BLOCK)
    right_before = rise_before = splat(float32(0))
    for x in range(columns[0], columns[1], 2 * LANES):
        i, j = even + uint64(x // 2), odd + uint64(x // 2)
        at = uint64(BLOCK * (2 + x // (2 * LANES)))
        l_even, l_odd, l_next = load(grey, here, i), load(grey, here, j), load(grey, here, i + one)
        below_even, below_odd = load(grey, below, i), load(grey, below, j)
        slope_even, slope_odd = l_odd - load(grey, here, j - one), l_next - l_even
        r_even, r_odd = load(residual, here, i), load(residual, here, j)
        a_even, b_even = data_term(
            r_even,
            r_odd - load(residual, here, j - one),
            load(residual, below, i) - load(residual, above, i),
            slope_even,
            slope_odd - (l_even - load(grey, here, i - one)),
            (below_odd - load(grey, below, j - one)) - (load(grey, above, j) - load(grey, above, j - one)),
            noise,
        )
        a_odd, b_odd = data_term(
            r_odd,
            load(residual, here, i + one) - r_even,
            load(residual, below, j) - load(residual, above, j),
            slope_odd,
            (load(grey, here, j + one) - l_odd) - slope_even,
            (load(grey, below, i + one) - below_even) - (load(grey, above, i + one) - load(grey, above, i)),
            noise,
        )

        slope, slope_down = load(settings.across, block, uint64(x // 2)), load(settings.down, block, uint64(x // 2))
        slope_above = load(settings.down, block_above, uint64(x // 2))
        d_even, d_odd = load(given, here, i), load(given, here, j)
        right_even = bond(l_odd - l_even, d_odd - d_even - slope, root, sharpness)
        right_odd = bond(l_next - l_odd, load(given, here, i + one) - d_odd - slope, root, sharpness)
        down_even = bond(below_even - l_even, load(given, after, i) - d_even - slope_down, root, sharpness)
        down_odd = bond(below_odd - l_odd, load(given, after, j) - d_odd - slope_down, root, sharpness)
        store(work, slot, at + uint64(RIGHT), right_even)
        store(work, slot, at + uint64(ODD + RIGHT), right_odd)
        store(work, slot, at + uint64(DOWN), down_even)
        store(work, slot, at + uint64(ODD + DOWN), down_odd)

        up_even, up_odd = load(work, slot_above, at + uint64(DOWN)), load(work, slot_above, at + uint64(ODD + DOWN))
        rise_even, rise_odd = slope * right_even, slope * right_odd  # where a neighbour is expected, times its bond
        goal = a_even * load(work, slot, at + uint64(VALUE)) - (b_even + b_even)
        goal = goal + (slide(rise_before, rise_odd, 15) - rise_even) + (slope_above * up_even - slope_down * down_even)
        store(work, slot, at + uint64(GOAL), goal)
        goal = a_odd * load(work, slot, at + uint64(ODD + VALUE)) - (b_odd + b_odd)
        goal = goal + (rise_even - rise_odd) + (slope_above * up_odd - slope_down * down_odd)
        store(work, slot, at + uint64(ODD + GOAL), goal)
        total = a_even + slide(right_before, right_odd, 15) + right_even + down_even + up_even
        store(work, slot, at + uint64(SHARE), beyond / total)
        total = a_odd + right_even + right_odd + down_odd + up_odd
        store(work, slot, at + uint64(ODD + SHARE), beyond / total)
        right_before, rise_before = right_odd, rise_odd


@inner
def write_row(work, y, columns, out):
    """Row ``y`` of the refined map; what was unknown stays as it was."""
    row, slot = uint64(y), uint64(y % SLOTS)
    farthest = splat(float32(FARTHEST))
    for x in range(columns[0], columns[1], 2 * LANES):
        at = uint64(BLOCK * (2 + x // (2 * LANES)))
        pair = interleave(load(work, slot, at + uint64(VALUE)), load(work, slot, at + uint64(ODD + VALUE)))
        for value, col in ((pair[0], uint64(x)), (pair[1], uint64(x + LANES))):
            before = load(out, row, col)
            store(out, row, col, select(absolute(before) < farthest, value, before))


@inner
def copy_row(source, row, target, target_row, width):
    """``target[target_row, :width] = source[row, :width]``, in whole vectors."""
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        store(target, uint64(target_row), x, load(source, uint64(row), x))


@kernel
def refine_disparity(
    left: Image,
    right: Image,
    seen_left: Seen,
    seen_right: Seen,
    disparity: Map,
    lines: RefinementLines,
    settings: RefinementSettings,
    has_hidden: bool,
    crew: Crew,
) -> None:
    """Refine ``disparity`` in place."""
    height, width, out, spans = left.pixels.shape[0], left.width, disparity.values, settings.spans
    begin, end = share(crew, height, ROWS)
    top, bottom = max(begin - HALF_SWEEPS, 0), min(end + HALF_SWEEPS, height) - 1
    if settings.follows_slopes:
        find_slopes(out, height, width, begin, end, settings.across, settings.down)
    else:
        clear_slopes(begin, end, settings.across, settings.down)
    for number in range(settings.rounds):  # threads meet before they use the slopes
        # What is read one px further off than this does not reach what matters.
        near = MARGIN + (settings.rounds - number) * (HALF_SWEEPS + 2)
        if crew.count > 1:
            for y in range(top, begin):
                copy_row(out, y, lines.border, y - top, width)
            for y in range(end, bottom + 1):
                copy_row(out, y, lines.border, HALF_SWEEPS + y - end, width)
            if not meet(crew):
                return
        for slot in range(SLOTS):
            fill_row(lines.work, slot, 0)
        for y in range(top, bottom + 2 + HALF_SWEEPS if begin < end else top):
            if y <= bottom:
                if has_hidden:
                    pack_seen(seen_left.mask, PAD, uint64(y), width, lines.seen, uint64(0))
                    pack_seen(seen_right.mask, PAD, uint64(y), width, lines.seen, uint64(1))
                    need_right_neighbour(lines.seen, width)
                source, source_row = out, y
                if y < begin:
                    source, source_row = lines.border, y - top
                elif y >= end:
                    source, source_row = lines.border, HALF_SWEEPS + y - end
                first, last = columns_near(spans, y - near, y + near, near, width)
                read_row(left, right, source, uint64(source_row), y, lines, has_hidden, first, last)
            else:
                fill_row(lines.work, y % SLOTS, 0)
                fill_row(lines.given, y % FEW, UNKNOWN)
            if top < y <= bottom + 1:
                columns = columns_near(spans, y - 1 - near, y - 1 + near, near, width)
                weigh_row(y - 1, top, bottom, columns, lines, settings)
            if y % 2:
                first, last = columns_near(spans, y - HALF_SWEEPS - 2 - near, y + near, near, width)
                relax_rows(lines.work, y - 1, first, last)
                for ready in (y - HALF_SWEEPS - 1, y - HALF_SWEEPS):
                    if begin <= ready < end:
                        write_row(lines.work, ready, columns_near(spans, ready - near, ready + near, near, width), out)
        if not meet(crew):
            return
