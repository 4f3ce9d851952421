"""Sixteen disparities at every pixel, between which neighbours agree.

A patch over a depth edge mixes both sides.  Here every pixel of a level chooses by itself: sixteen whole disparities
around that of the coarser level are its labels.  What a label costs is the number of differing bits of two codes, each
of which says which of sixteen neighbours are brighter than a pixel (census), summed over 3x3 pixels.  It counts by the
pixel's evidence: where the image has hardly any texture, the neighbours decide.  Their opinion comes in four passes of
message passing (semi-global matching: Hirschmueller 2008), along rows and columns: a step to the next disparity costs
little, a jump much, but less where the image has an edge.

Label k of a pixel is the disparity ``top - k``, so that labels run along the right image.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Ints, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    any_lane,
    count_bits,
    every_lane,
    floor,
    lane_numbers,
    larger,
    load,
    load_shorts,
    mask_bits,
    prefetch,
    select,
    slide,
    smaller,
    splat,
    splat_short,
    store,
    to_int,
    to_shorts,
    trailing_zeros,
)
from .layout import PAD, ROWS, Map

COST_SHIFT = 5  # evidence is in 128ths: a differing bit costs 4 where it is full
OUTSIDE_BITS = 36  # differing bits (of 144) that count for a label outside the right image: a quarter
FORBIDDEN = 4000  # cost of a label beyond the limits of disparity and the next to them
REACH = 2  # px of the coarser level around a pixel whose disparities are to be among its labels
SPREAD = 12  # px, labels are centred on that range if it is no larger, else on the pixel's own disparity
FIRST = 7  # labels above the centre
# Rows that go together along x: a step waits for the one before, but not for the other rows'.  More would not stay in
# the cache until the messages go down.
ABREAST = 4
WALL = 18  # labels to both sides of a path that are never the cheapest: paths of neighbours are offset
SLOT = 64  # numbers from one path to the next
NEVER = 16000  # cost beyond the labels


class LabelCosts(Record):
    """What labels cost, and what was chosen.

    Attributes
    ----------
    tops : ndarray of int32, shape (coarser h, map stride of the coarser level)
        px of the level, the largest of the labels that pixels of the coarser level offer to those below them.
    top : ndarray of int16, shape (h, map stride)
        px of the level, the largest of the labels of a pixel.
    costs, totals : ndarray of int16, shape (h * width, 16)
        Cost of a label by itself, and of all paths to it but those up.
    sums : ndarray of int16, shape (2 width, 16)
        Scratch: cost of all paths to the labels of two rows.
    row_paths : ndarray of int16, shape (4 per thread, SLOT)
        Scratch: a path along each of four rows.
    column_paths : ndarray of int16, shape (width, SLOT)
        Scratch: a path along each column.
    smallest, largest : int
        px of the level, limits of disparity.
    probability : float
        What a label counts for.
    chosen : ndarray of float32, shape (h, image stride)
        px of the level, disparity of the cheapest label.
    label : ndarray of int16, shape (h, map stride)
        px of the level, the same without fraction.
    least : ndarray of int16, shape (h, map stride)
        Its total cost.
    claims : ndarray of int32, shape (3 per thread, map stride)
        Scratch: the cheapest match of each pixel in a row of the right image; where each pixel of the left one leads,
        and what it costs.
    """

    tops: Ints
    top: Shorts
    costs: Shorts
    totals: Shorts
    sums: Shorts
    row_paths: Shorts
    column_paths: Shorts
    smallest: int
    largest: int
    probability: float
    chosen: Floats
    label: Shorts
    least: Shorts
    claims: Ints


class PaddedMap(Record):
    """A disparity for every pixel of a level.

    Attributes
    ----------
    values : ndarray of float32, shape (h, image stride)
        px of the level; pixel (y, x) is ``values[y, PAD + x]``, and two columns on both sides repeat the border.
    width : int
        px.
    """

    values: Floats
    width: int


# --- Which disparities are tried ------------------------------------------------------------------------------------


@inner
def fill_to_the_right(value, last):
    """Unknown lanes take the nearest known one on their left, else ``last``; by doubling."""
    unknown = splat(float32(np.nan))
    value = select(value == value, value, slide(unknown, value, 15))
    value = select(value == value, value, slide(unknown, value, 14))
    value = select(value == value, value, slide(unknown, value, 12))
    value = select(value == value, value, slide(unknown, value, 8))
    return select(value == value, value, last)


@inner
def fill_to_the_left(value, last):
    """Unknown lanes take the nearest known one on their right, else ``last``."""
    unknown = splat(float32(np.nan))
    value = select(value == value, value, slide(value, unknown, 1))
    value = select(value == value, value, slide(value, unknown, 2))
    value = select(value == value, value, slide(value, unknown, 4))
    value = select(value == value, value, slide(value, unknown, 8))
    return select(value == value, value, last)


@inner
def fill_row_from_background(found, filled, y, width):
    """What is unknown takes the smaller of the known disparities to its left and right: occlusions are background."""
    row, pad, whole = uint64(y), uint64(PAD), width // LANES * LANES
    last = float32(np.nan)
    for first in range(0, width, LANES):
        value = load(found, row, uint64(first))
        known = value == value
        if first < whole and every_lane(known):
            store(filled, row, pad + uint64(first), value)
            last = found[row, uint64(first + LANES - 1)]
        elif first < whole and not any_lane(known):
            store(filled, row, pad + uint64(first), splat(last))
        elif first < whole:
            store(filled, row, pad + uint64(first), fill_to_the_right(value, splat(last)))
            last = filled[row, pad + uint64(first + LANES - 1)]
        else:
            for x in range(uint64(first), uint64(min(first + LANES, width))):
                last = found[row, x] if found[row, x] == found[row, x] else last
                filled[row, pad + x] = last
    last = float32(np.nan)
    for k in range(0, width, LANES):
        first = (width - 1 - k) // LANES * LANES
        value = load(found, row, uint64(first))
        known = value == value
        if first < whole and every_lane(known):
            last = found[row, uint64(first)]
        elif first < whole and not any_lane(known):
            if last == last:
                before, here = load(filled, row, pad + uint64(first)), splat(last)
                store(filled, row, pad + uint64(first), select(before < here, before, here))  # not if NaN
        elif first < whole:
            before, here = load(filled, row, pad + uint64(first)), fill_to_the_left(value, splat(last))
            # What is known stays, since it is its own nearest; so does what is not larger, but nothing that is NaN.
            here = select(before == before, select(here < before, here, before), here)
            store(filled, row, pad + uint64(first), here)
            last = found[row, uint64(first + trailing_zeros(mask_bits(known)))]
        else:
            for i in range(min(LANES, width - first)):
                x = uint64(min(first + LANES, width) - 1 - i)
                last = found[row, x] if found[row, x] == found[row, x] else last
                before = filled[row, pad + x]
                if np.isnan(found[row, x]) and (np.isnan(before) or last < before):
                    filled[row, pad + x] = last


@inner
def fill_unknown_rows(filled, width, height):
    """Rows of which nothing is known take the nearest row above of which something is, else below; else 0."""
    for step in (1, -1):
        known = -1
        for k in range(height):
            y = k if step > 0 else height - 1 - k
            if filled[y, PAD] == filled[y, PAD]:
                known = y
            elif known >= 0 or step < 0:
                for x in range(width):
                    filled[y, PAD + x] = filled[known, PAD + x] if known >= 0 else float32(0)


@inner
def repeat_columns(values, y, width):
    """``REACH`` more columns on both sides repeat the border."""
    for k in range(1, REACH + 1):
        values[y, PAD - k], values[y, PAD + width - 1 + k] = values[y, PAD], values[y, PAD + width - 1]


@kernel
def fill_from_background(found: Map, filled: PaddedMap, crew: Crew) -> None:
    """A disparity for every pixel: what is unknown lies with the background beside it."""
    height, width = found.values.shape[0], found.width
    begin, end = share(crew, height, ROWS)
    for y in range(begin, end):
        fill_row_from_background(found.values, filled.values, y, width)
    if not meet(crew):
        return
    if crew.member == 0:
        fill_unknown_rows(filled.values, width, height)
    if not meet(crew):
        return
    for y in range(begin, end):
        repeat_columns(filled.values, y, width)
    meet(crew)


@kernel
def offer_labels(coarser: PaddedMap, costs: LabelCosts, crew: Crew) -> None:
    """The labels that each pixel of the coarser level offers: around twice its disparity, or around all those near it
    if they fit; some label lies within the limits.
    """
    filled, height, width = coarser.values, coarser.values.shape[0], coarser.width
    begin, end = share(crew, height, ROWS)
    two, half, first = splat(float32(2)), splat(float32(0.5)), splat(int32(FIRST))
    widest = splat(float32(SPREAD))
    lowest_top, highest_top = splat(int32(costs.smallest)), splat(int32(costs.largest + LANES - 1))
    for y in range(begin, end):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            own = load(filled, uint64(y), uint64(PAD) + x)
            low = high = own
            for row in range(uint64(max(y - REACH, 0)), uint64(min(y + REACH + 1, height))):
                for k in range(uint64(2 * REACH + 1)):
                    other = load(filled, row, uint64(PAD - REACH) + x + k)
                    low, high = smaller(low, other), larger(high, other)
            centre = select(two * (high - low) <= widest, low + high, two * own)
            top = to_int(floor(centre + half)) + first
            store(costs.tops, uint64(y), x, smaller(larger(top, lowest_top), highest_top))
    meet(crew)


# --- What they cost -------------------------------------------------------------------------------------------------


@inner
def differing_bits(images, rows, here, at):
    """Bits that differ between the codes of left pixels in column ``here`` and of those under each label.

    Sums over the first three and over the last three of four ``rows``.
    """
    left, right = images.codes_left, images.codes_right
    first, second, third, fourth = rows
    middle = count_bits(load_shorts(right, second, at) ^ splat_short(left[second, here]))
    middle += count_bits(load_shorts(right, third, at) ^ splat_short(left[third, here]))
    upper = count_bits(load_shorts(right, first, at) ^ splat_short(left[first, here]))
    lower = count_bits(load_shorts(right, fourth, at) ^ splat_short(left[fourth, here]))
    return middle + upper, middle + lower


@inner
def store_costs(images, costs, row, x, top, bits, has_hidden):
    """What each label of a pixel costs by itself; ``bits`` differ in the window around it."""
    width, zero = images.width, splat_short(0)
    at = row * uint64(width) + uint64(x)
    costs.top[row, uint64(x)] = top
    evidence = splat_short(images.evidence[row, uint64(x)])
    # One label beyond the limits may win, and is unknown then: a parabola needs both neighbours of the last one.
    smallest, largest = costs.smallest - 1, costs.largest + 1
    all_inside = top <= x and x - top + LANES <= width and not has_hidden
    if all_inside and top <= largest and top - LANES + 1 >= smallest:
        store(costs.costs, at, uint64(0), (bits * evidence) >> splat_short(COST_SHIFT))
        return
    lanes = to_shorts(lane_numbers())
    place = splat_short(x - top) + lanes
    inside = (place >= zero) & (place < splat_short(width))
    if has_hidden:
        inside = inside & (load(images.seen_right, row, uint64(PAD + x - top)) > splat(int32(0)))
    bits = select(inside, bits, splat_short(OUTSIDE_BITS))
    cost = (bits * evidence) >> splat_short(COST_SHIFT)
    disparity = splat_short(top) - lanes
    allowed = (disparity >= splat_short(smallest)) & (disparity <= splat_short(largest))
    store(costs.costs, at, uint64(0), select(allowed, cost, splat_short(FORBIDDEN)))


@inner
def fill_costs(images, costs, y, has_hidden):
    """Labels of the pixels of rows ``y`` (even) and ``y + 1``, if there is one, and what each costs by itself.

    The four pixels below one of the coarser level have the same labels: their windows share rows and columns.
    """
    height, width, one, two = images.left.shape[0], images.width, uint64(1), uint64(2)
    rows = uint64(max(y - 1, 0)), uint64(y), uint64(min(y + 1, height - 1)), uint64(min(y + 2, height - 1))
    upper, lower, has_lower = uint64(y), uint64(y + 1), y + 1 < height
    for x in range(0, width, 2):
        offered = int64(costs.tops[uint64(y // 2), uint64(x // 2)])
        ahead = uint64((y + ABREAST) * width + x)  # in rows that come soon: their memory is not in the caches yet
        prefetch(costs.costs, ahead, uint64(0))
        prefetch(costs.costs, ahead + uint64(width), uint64(0))
        prefetch(costs.totals, ahead, uint64(0))
        prefetch(costs.totals, ahead + uint64(width), uint64(0))
        top = min(max(offered, x - width + 1), x + LANES - 1)  # some label lies in the right image
        here, at = uint64(PAD - 1 + x), uint64(PAD - 1 + x - top)
        second_above, second_below = differing_bits(images, rows, here + one, at + one)
        third_above, third_below = differing_bits(images, rows, here + two, at + two)
        above, below = differing_bits(images, rows, here, at)
        store_costs(images, costs, upper, x, top, above + second_above + third_above, has_hidden)
        if has_lower:
            store_costs(images, costs, lower, x, top, below + second_below + third_below, has_hidden)
        if x + 1 == width:
            return
        next_top = min(max(offered, x - width + 2), x + LANES)
        here, at = here + one, uint64(PAD + x - next_top)
        if next_top != top:  # at the border
            second_above, second_below = differing_bits(images, rows, here, at)
            third_above, third_below = differing_bits(images, rows, here + one, at + one)
        above, below = differing_bits(images, rows, here + two, at + two)
        store_costs(images, costs, upper, x + 1, next_top, second_above + third_above + above, has_hidden)
        if has_lower:
            store_costs(images, costs, lower, x + 1, next_top, second_below + third_below + below, has_hidden)
