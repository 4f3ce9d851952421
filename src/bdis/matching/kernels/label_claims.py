"""What labels leave: disparities without single outliers, and unknown where only one camera sees.

A pixel of the right image belongs to the pixel of the left one whose label leads there at the least cost; others that
lead there are hidden behind it.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import LANES, gather, lane_numbers, larger, load, select, smaller, splat, store
from .label_images import LabelImages
from .labels import LabelCosts, repeat_columns
from .layout import PAD, ROWS, Maps

AGREEMENT_PX = 1  # px of the level, as far as the match of a right pixel may lie from that of the left one


@inner
def sort_three(a, b, c):
    """Smallest, middle and largest of three vectors."""
    low, high = smaller(a, b), larger(a, b)
    middle = larger(low, smaller(high, c))
    return smaller(low, c), middle, larger(high, c)


@inner
def median(chosen, y, x, height):
    """Median of 3x3 pixels around sixteen; the border repeats."""
    above, here, below = uint64(max(y - 1, 0)), uint64(y), uint64(min(y + 1, height - 1))
    at, one = uint64(PAD) + x, uint64(1)
    low_1, mid_1, high_1 = sort_three(
        load(chosen, above, at - one), load(chosen, here, at - one), load(chosen, below, at - one)
    )
    low_2, mid_2, high_2 = sort_three(load(chosen, above, at), load(chosen, here, at), load(chosen, below, at))
    low_3, mid_3, high_3 = sort_three(
        load(chosen, above, at + one), load(chosen, here, at + one), load(chosen, below, at + one)
    )
    _, _, low = sort_three(low_1, low_2, low_3)
    _, middle, _ = sort_three(mid_1, mid_2, mid_3)
    high, _, _ = sort_three(high_1, high_2, high_3)
    _, result, _ = sort_three(low, middle, high)
    return result


@inner
def claim_matches(costs, y, width, lines, member):
    """Who has the cheapest label that leads to each pixel of a row of the right image: its cost and its label."""
    claims, matches, offers = uint64(3 * member), uint64(3 * member + 1), uint64(3 * member + 2)
    row, nobody = uint64(y), splat(int32(2147483647))
    nowhere = splat(int32(width))  # a column behind the row, which nobody reads
    zero, sixteen, half = splat(int32(0)), splat(int32(16)), splat(int32(32768))
    smallest, largest = splat(int32(costs.smallest)), splat(int32(costs.largest))
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        column, label = lane_numbers() + splat(int32(x)), load(costs.label, row, x)
        match = column - label
        inside = (match >= zero) & (match < nowhere) & (label >= smallest) & (label <= largest)
        store(lines, matches, x, select(inside, match, nowhere))
        store(lines, offers, x, (load(costs.least, row, x) << sixteen) + label + half)
        store(lines, claims, x, nobody)
    for x in range(uint64(width)):
        match = uint64(lines[matches, x])
        lines[claims, match] = min(lines[claims, match], lines[offers, x])


@inner
def drop_hidden(images, costs, found, probability, y, member, has_hidden):
    """Unknown in row ``y`` of ``found``: pixels whose match in the right image is better matched by another one."""
    width, label, row = images.width, costs.label, uint64(y)
    claim_matches(costs, y, width, costs.claims, member)
    zero, far, agreement = splat(int32(0)), splat(int32(width)), splat(int32(AGREEMENT_PX))
    smallest, largest = splat(int32(costs.smallest)), splat(int32(costs.largest))
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        own = load(label, row, x)
        match = lane_numbers() + splat(int32(x)) - own
        inside = (match >= zero) & (match < far) & (own >= smallest) & (own <= largest)
        claim = gather(costs.claims, uint64(3 * member), select(inside, match, zero))
        winner = (claim & splat(int32(65535))) - splat(int32(32768))
        known = inside & (winner - own <= agreement) & (own - winner <= agreement)
        store(found, row, x, select(known, load(found, row, x), splat(float32(np.nan))))
        store(probability, row, x, select(known, load(probability, row, x), splat(float32(0))))
    if not has_hidden:
        return
    for x in range(width):
        match = min(max(x - int64(label[y, x]), 0), width - 1)
        if images.seen_left[y, PAD + x] == 0 or images.seen_right[y, PAD + match] == 0:
            found[y, x], probability[y, x] = np.nan, 0


@kernel
def keep_what_both_see(images: LabelImages, costs: LabelCosts, maps: Maps, has_hidden: bool, crew: Crew) -> None:
    """The chosen disparities, within the limits and without single outliers (median); unknown where only one camera
    sees.
    """
    chosen, height, width = costs.chosen, images.left.shape[0], images.width
    begin, end = share(crew, height, ROWS)
    lowest, highest = splat(float32(costs.smallest)), splat(float32(costs.largest))
    for y in range(begin, end):
        repeat_columns(chosen, y, width)
    if not meet(crew):
        return
    for y in range(begin, end):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            store(maps.disparity, uint64(y), x, smaller(larger(median(chosen, y, x, height), lowest), highest))
            store(maps.probability, uint64(y), x, splat(float32(costs.probability)))
        drop_hidden(images, costs, maps.disparity, maps.probability, y, crew.member, has_hidden)
    meet(crew)
