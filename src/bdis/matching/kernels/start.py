"""Where to start: a search over all disparities on a coarse level, with neighbours that agree.

The LK search goes downhill from where it starts, so large disparities are lost if it starts at 0.  On a level of some
forty by thirty pixels all disparities can be tried: the cost of each is 1 - the correlation of small windows, and four
passes of message passing (semi-global matching: left to right, right to left, down, up) add the neighbours' opinion.

Shifts are counted from the largest disparity down, so that they run along the right image: label j is disparity
``largest - j``.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet
from ...vector.records import Bytes, Floats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    lane_numbers,
    larger,
    load,
    mask_bits,
    select,
    smaller,
    splat,
    square_root,
    store,
    trailing_zeros,
)
from ...vector.tiles import smallest_lane
from .layout import PAD, Maps

# What halving and doubling each of these does was measured: docs/constants.md.
RADIUS = 2  # px, windows are 5x5; 9x9 raise the error by 5 to 7 %
MIN_WINDOW = 15  # pixels of a window that both cameras must have seen; 7 makes no difference
UNSEEN_COST = 0.6  # of a window that cannot be compared; a winner that costs more is unknown; 0.3: +5 % error
SMALL_STEP, LARGE_STEP = 0.1, 0.4  # cost of a change by one label, and by more; half and double change 2 % at most
NEVER, NO_LABEL = 1e9, 1e3  # cost beyond the labels, and of a label that only fills the last sixteen
# Rows of `sums` for each column: over the window's rows, of the pixels both cameras saw.
COUNT, L, LL, R, RR, LR = (uint64(k) for k in range(6))


class GlobalStart(Record):
    """The level where all disparities are tried: its images, the labels and room to work in.

    Attributes
    ----------
    left, right : ndarray of int16, shape (h, image stride)
        Images of the level.
    seen_left, seen_right : ndarray of uint8, shape (h, image stride)
        Which of their pixels were seen; only read if some were not.
    width : int
        px.
    largest : int
        px of the level, disparity of label 0.
    count : int
        How many labels there are.
    noise : float
        Variance of the grey values as stored; flatter windows do not correlate.
    probability : float
        What a start counts for.
    wide : ndarray of float32, shape (2 h, width and all labels)
        Scratch: the right image, and where it was seen.
    sums : ndarray of float32, shape (6 width, labels)
        Scratch: sums over the rows of the windows of one row.
    costs : ndarray of float32, shape (h * width, labels with a wall on both sides)
        Scratch: cost of every label at every pixel.
    path : ndarray of float32, shape (2 width, likewise)
        Scratch: cost along a path, of the pixels before.
    totals : ndarray of float32, shape (h * width, likewise)
        Scratch: sum of the costs along all paths.
    from_right : ndarray of float32, shape (1, width)
        Scratch: the cheapest label of each pixel of a row of the right image.
    """

    left: Shorts
    right: Shorts
    seen_left: Bytes
    seen_right: Bytes
    width: int
    largest: int
    count: int
    noise: float
    probability: float
    wide: Floats
    sums: Floats
    costs: Floats
    path: Floats
    totals: Floats
    from_right: Floats


@inner
def whole_sixteens(count):
    """``count`` rounded up to a multiple of sixteen."""
    return (count + LANES - 1) // LANES * LANES


@inner
def spread_right(level, has_hidden, pad):
    """Right image as float from column ``pad`` of ``wide`` on: row 2y the grey values, row 2y + 1 what was seen."""
    right, seen, wide = level.right, level.seen_right, level.wide
    for y in range(right.shape[0]):
        for x in range(wide.shape[1]):
            wide[2 * y, x] = 0
            wide[2 * y + 1, x] = 0
        for x in range(level.width):
            if not has_hidden or seen[y, PAD + x]:
                wide[2 * y, pad + x] = right[y, PAD + x]
                wide[2 * y + 1, pad + x] = 1


@inner
def column_sums(level, has_hidden, y, x, origin, labels, middle):
    """Sums down column ``x`` of the windows of row ``y``, for all labels, of grey values less ``middle``.

    ``origin``: column of label 0 in ``wide``.
    """
    left, seen, wide, sums = level.left, level.seen_left, level.wide, level.sums
    zero = splat(float32(0))
    top, bottom = max(y - RADIUS, 0), min(y + RADIUS + 1, left.shape[0])
    first = uint64(6) * uint64(x)
    for j in range(uint64(0), uint64(labels), uint64(LANES)):
        n = l_1 = l_2 = r_1 = r_2 = lr = zero
        for row in range(top, bottom):
            if has_hidden and not seen[row, PAD + x]:
                continue
            grey = splat(float32(left[row, PAD + x]) - middle)
            at = uint64(origin) + j
            m = load(wide, uint64(2 * row + 1), at)
            r = load(wide, uint64(2 * row), at) - m * splat(middle)
            n, l_1, l_2 = n + m, l_1 + grey * m, l_2 + grey * grey * m
            r_1, r_2, lr = r_1 + r, r_2 + r * r, lr + grey * r
        store(sums, first + COUNT, j, n)
        store(sums, first + L, j, l_1)
        store(sums, first + LL, j, l_2)
        store(sums, first + R, j, r_1)
        store(sums, first + RR, j, r_2)
        store(sums, first + LR, j, lr)


@inner
def window_cost(sums, x, width, j, noise):
    """1 - correlation of both windows around column ``x`` for sixteen labels from ``j`` on; ``noise``: grey^2."""
    n = l_1 = l_2 = r_1 = r_2 = lr = splat(float32(0))
    for col in range(max(x - RADIUS, 0), min(x + RADIUS + 1, width)):
        first = uint64(6) * uint64(col)
        n += load(sums, first + COUNT, j)
        l_1 += load(sums, first + L, j)
        l_2 += load(sums, first + LL, j)
        r_1 += load(sums, first + R, j)
        r_2 += load(sums, first + RR, j)
        lr += load(sums, first + LR, j)
    one = splat(float32(1))
    per_pixel = one / larger(n, one)
    floor = splat(float32(noise)) * n
    l_2 = larger(l_2 - l_1 * l_1 * per_pixel, splat(float32(0))) + floor
    r_2 = larger(r_2 - r_1 * r_1 * per_pixel, splat(float32(0))) + floor
    return n, (lr - l_1 * r_1 * per_pixel), l_2 * r_2


@inner
def fill_costs(level, has_hidden, first):
    """Cost of every label at every pixel.  ``first``: column of ``wide`` where label 0 of left column 0 is."""
    left, wide, sums, costs, width, count = level.left, level.wide, level.sums, level.costs, level.width, level.count
    lanes = uint64(LANES)
    labels = whole_sixteens(count)
    enough, unseen = splat(float32(MIN_WINDOW)), splat(float32(UNSEEN_COST))
    one = splat(float32(1))
    for y in range(left.shape[0]):
        middle = float32(0)  # near zero the sums of squares keep their digits
        for x in range(width):
            middle += float32(left[y, PAD + x])
        middle /= float32(width)
        for x in range(width):
            column_sums(level, has_hidden, y, x, first + x, labels, middle)
        for x in range(width):
            pixel = uint64(y * width + x)
            here = uint64(first + x)
            for j in range(uint64(0), uint64(labels), lanes):
                n, covariance, product = window_cost(sums, x, width, j, level.noise)
                cost = one - covariance * inverse_root(product)
                centre = load(wide, uint64(2 * y + 1), here + j)  # the pixel itself must be in the right image
                good = (n >= enough) & (centre > splat(float32(0)))
                cost = select(good, cost, unseen)
                exists = lane_numbers() < splat(int32(count - int64(j)))
                store(costs, pixel, lanes + j, select(exists, cost, splat(float32(NO_LABEL))))


@inner
def inverse_root(a):
    """1 / sqrt of positive lanes; what is 0 gives 0."""
    return select(a > splat(float32(0)), splat(float32(1)) / square_root(larger(a, splat(float32(1e-20)))), a)


@inner
def pass_message(costs, pixel, before, labels, path, slot, other, totals):
    """Cost of the labels at ``pixel`` along a path, from those in row ``other`` of ``path`` (none if ``before`` is
    False) into row ``slot``; added to ``totals``.
    """
    lanes = uint64(LANES)
    small, large = splat(float32(SMALL_STEP)), splat(float32(LARGE_STEP))
    lowest = splat(float32(NEVER))
    if before:
        for j in range(lanes, lanes + uint64(labels), lanes):
            lowest = smaller(lowest, load(path, other, j))
        lowest = smallest_lane(lowest)
    for j in range(lanes, lanes + uint64(labels), lanes):
        value = load(costs, pixel, j)
        if before:
            step = smaller(load(path, other, j - uint64(1)), load(path, other, j + uint64(1))) + small
            value = value + smaller(smaller(load(path, other, j), step), lowest + large) - lowest
        store(path, slot, j, value)
        store(totals, pixel, j, load(totals, pixel, j) + value)


@inner
def pass_messages(costs, width, height, labels, path, totals):
    """Four passes over the picture; ``path`` (2 w, as costs) holds the pixels before, with a wall on both sides."""
    wall = splat(float32(NEVER))
    for k in range(uint64(path.shape[0])):
        store(path, k, uint64(0), wall)
        store(path, k, uint64(LANES + labels), wall)
    a, b = uint64(0), uint64(1)
    for y in range(height):
        for x in range(width):
            pass_message(costs, uint64(y * width + x), x > 0, labels, path, a, b, totals)
            a, b = b, a
        for k in range(width):
            x = width - 1 - k
            pass_message(costs, uint64(y * width + x), k > 0, labels, path, a, b, totals)
            a, b = b, a
    for k in range(height):
        now, before = uint64(k % 2 * width), uint64((k + 1) % 2 * width)
        for x in range(width):
            here = uint64(x)
            pass_message(costs, uint64(k * width + x), k > 0, labels, path, now + here, before + here, totals)
    for k in range(height):
        now, before = uint64(k % 2 * width), uint64((k + 1) % 2 * width)
        for x in range(width):
            here, pixel = uint64(x), uint64((height - 1 - k) * width + x)
            pass_message(costs, pixel, k > 0, labels, path, now + here, before + here, totals)


@inner
def best_label(totals, pixel, labels):
    """The cheapest label (the first of equals), as its column."""
    lanes = uint64(LANES)
    lowest = splat(float32(NEVER))
    for j in range(lanes, lanes + uint64(labels), lanes):
        lowest = smaller(lowest, load(totals, pixel, j))
    lowest = smallest_lane(lowest)
    for j in range(lanes, lanes + uint64(labels), lanes):
        found = mask_bits(load(totals, pixel, j) <= lowest)
        if found:
            return j + uint64(trailing_zeros(found))
    return lanes


@inner
def between_labels(totals, pixel, best, count):
    """Lowest point of the parabola through the best label and its neighbours, -0.5 to 0.5."""
    if best == uint64(LANES) or best == uint64(LANES + count - 1):
        return float32(0)
    a, b, c = totals[pixel, best - uint64(1)], totals[pixel, best], totals[pixel, best + uint64(1)]
    bend = a - b - b + c
    if bend <= float32(1e-6):
        return float32(0)
    return min(max(float32(0.5) * (a - c) / bend, float32(-0.5)), float32(0.5))


@inner
def right_labels(level, y):
    """The cheapest label of each pixel in row ``y`` of the right image, by the same costs; -1 if there is none."""
    width, totals = level.width, level.totals
    for x in range(width):
        best, least = -1, float32(NEVER)
        for k in range(level.count):
            left = x + level.largest - k
            if 0 <= left < width:
                cost = totals[y * width + left, LANES + k]
                if cost < least:
                    best, least = k, cost
        level.from_right[0, x] = best


@kernel
def global_start(level: GlobalStart, maps: Maps, has_hidden: bool, crew: Crew) -> None:
    """Disparity of a coarse level among ``largest``, ``largest - 1`` ..., ``count`` of them.

    Unknown also where the right image would match elsewhere.  One thread does it, the others wait.
    """
    if crew.member > 0:
        meet(crew)
        return
    height, width, labels = level.left.shape[0], level.width, whole_sixteens(level.count)
    pad = max(level.largest, 0)
    spread_right(level, has_hidden, pad)
    fill_costs(level, has_hidden, pad - level.largest)
    zero, totals = splat(float32(0)), level.totals
    for pixel in range(uint64(height * width)):
        for j in range(uint64(0), uint64(totals.shape[1]), uint64(LANES)):
            store(totals, pixel, j, zero)
    pass_messages(level.costs, width, height, labels, level.path, totals)
    for y in range(height):
        right_labels(level, y)
        for x in range(width):
            pixel = uint64(y * width + x)
            best = best_label(totals, pixel, labels)
            known = level.costs[pixel, best] < float32(UNSEEN_COST) and (not has_hidden or level.seen_left[y, PAD + x])
            label = int64(best - uint64(LANES))
            match = x - level.largest + label  # column in the right image, which must agree
            if 0 <= match < width:
                known = known and abs(level.from_right[0, match] - label) <= 1
            place = float32(level.largest - label) - between_labels(totals, pixel, best, level.count)
            maps.disparity[y, x] = place if known else np.nan
            maps.probability[y, x] = level.probability if known else 0
    meet(crew)
