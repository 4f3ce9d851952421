"""Sharp depth edges: which side of an edge does a pixel belong to?

A patch over a depth edge mixes both sides, and a smooth surface runs across it.  So every pixel near a jump of the
surface is offered the disparities found a little to its left and right, above and below, and takes the one under which
the gradients of both images agree best in a small window around it; its own unless another is clearly better.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    absolute,
    floor,
    gather,
    lane_numbers,
    larger,
    load,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)
from ...vector.tiles import gather_short_pairs
from .layout import PAD, ROWS
from .pyramid import Views, gradient
from .surface import Surface, copy_rows

# What halving and doubling each of these does was measured: docs/constants.md.  Error at depth edges, 1.11 mm as is:
REACH = 8  # px of the level to the disparities that are offered; 4: 1.45 mm, 16: 1.11 mm
RADIUS = 2  # px, windows are 5x5; 1: 1.05 mm but more errors elsewhere, 4: 1.25 mm
MIN_JUMP = 1.0  # px of the level between the offers, else there is no edge; half and double make no difference
LARGEST_DIFFERENCE = 4.0  # grey levels per px, a pixel's gradients differ by no more; 2: 1.21 mm, 8: 1.34 mm
CLEARLY = 0.24  # grey levels per px, mean difference by which another offer must be better; 0.12: 1.09 mm but more
# errors elsewhere, 0.48: 1.23 mm


class EdgeCosts(Record):
    """Room to sharpen edges; nothing in it outlives a call.

    Attributes
    ----------
    own, left, right, above, below : ndarray of float32, shape (h, map stride)
        How far the gradients of both images differ under each of the five offers.
    chosen : ndarray of float32, shape (h, map stride)
        px of the level, the surface of the next round.
    right_gradient : ndarray of int16, shape (h, image stride)
        Twice the central difference of the right image.
    grey : float
        One grey level as stored.
    """

    own: Floats
    left: Floats
    right: Floats
    above: Floats
    below: Floats
    chosen: Floats
    right_gradient: Shorts
    grey: float


class EdgeLine(Record):
    """Room for one thread to sum over windows.

    Attributes
    ----------
    sums : ndarray of float32, shape (5, 16 + map stride + 16)
        Sums over the rows of the windows of one row, under each offer.
    """

    sums: Floats


@inner
def beside(disparity, y, x, right, width):
    """Disparities ``right`` columns right of sixteen pixels from ``x`` on; the border repeats."""
    if x + right >= 0 and x + right + LANES <= width:
        return load(disparity, y, uint64(x + right))
    col = to_float(lane_numbers() + splat(int32(x + right)))
    col = smaller(larger(col, splat(float32(0))), splat(float32(width - 1)))
    return gather(disparity, y, to_int(col))


@inner
def offers(surface, y, x):
    """The five disparities between which sixteen pixels choose, their own first."""
    disparity, height, width = surface.disparity, surface.height, surface.width
    row, col = uint64(y), uint64(x)
    return (
        load(disparity, row, col),
        beside(disparity, row, x, -REACH, width),
        beside(disparity, row, x, REACH, width),
        load(disparity, uint64(max(y - REACH, 0)), col),
        load(disparity, uint64(min(y + REACH, height - 1)), col),
    )


@inner
def difference(left, right, y, x, disparity, width, largest):
    """How far the gradients of both images differ under ``disparity``, at most ``largest``, for sixteen pixels."""
    zero, sixteen = splat(float32(0)), splat(int32(16))
    place = to_float(lane_numbers() + splat(int32(x))) - disparity
    place = smaller(larger(place, zero), splat(float32(width - 1)))
    whole = floor(place)
    pair = gather_short_pairs(right, y, to_int(whole) + splat(int32(PAD)))
    here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
    step = to_float(load(left, y, uint64(x + PAD))) - here - (place - whole) * (there - here)
    return smaller(absolute(step), largest)


@inner
def fill_differences(views, surface, costs, largest, begin, end):
    """Differences under each offer."""
    left, right, width = views.gradient, costs.right_gradient, surface.width
    limit = splat(float32(largest))
    for row in range(begin, end):
        y = uint64(row)
        for x in range(0, width, LANES):
            own, a, b, c, d = offers(surface, row, x)
            store(costs.own, y, uint64(x), difference(left, right, y, x, own, width, limit))
            store(costs.left, y, uint64(x), difference(left, right, y, x, a, width, limit))
            store(costs.right, y, uint64(x), difference(left, right, y, x, b, width, limit))
            store(costs.above, y, uint64(x), difference(left, right, y, x, c, width, limit))
            store(costs.below, y, uint64(x), difference(left, right, y, x, d, width, limit))


@inner
def add_rows(plane, y, height, width, sums, offer):
    """Sums over the rows of the windows around row ``y``, to row ``offer`` of ``sums``, from column 16 on."""
    top, bottom = uint64(max(y - RADIUS, 0)), uint64(min(y + RADIUS, height - 1) + 1)
    first = uint64(LANES)
    x, stop = uint64(0), uint64(width)
    while x < stop:
        total = splat(float32(0))
        for k in range(top, bottom):
            total += load(plane, k, x)
        store(sums, offer, first + x, total)
        x += uint64(LANES)
    edge = splat(float32(0))  # nothing counts outside the picture
    store(sums, offer, uint64(0), edge)
    store(sums, offer, first + stop, edge)


@inner
def add_columns(sums, offer, x):
    """Sums over the windows around sixteen pixels from ``x`` on."""
    at = uint64(LANES) + uint64(x) - uint64(RADIUS)
    total = load(sums, offer, at)
    for k in range(uint64(1), uint64(2 * RADIUS + 1)):
        total += load(sums, offer, at + k)
    return total


@inner
def choose(surface, costs, y, margin, sums):
    """Row ``y`` of ``costs.chosen``: for each pixel near a jump the offer with the smallest difference."""
    height, width = surface.height, surface.width
    add_rows(costs.own, y, height, width, sums, uint64(0))
    add_rows(costs.left, y, height, width, sums, uint64(1))
    add_rows(costs.right, y, height, width, sums, uint64(2))
    add_rows(costs.above, y, height, width, sums, uint64(3))
    add_rows(costs.below, y, height, width, sums, uint64(4))
    clearly, jump = splat(float32(margin)), splat(float32(MIN_JUMP))
    for x in range(0, width, LANES):
        own, a, b, c, d = offers(surface, y, x)
        lowest = smaller(smaller(smaller(own, a), smaller(b, c)), d)
        highest = larger(larger(larger(own, a), larger(b, c)), d)
        best, least = own, add_columns(sums, uint64(0), x) - clearly
        for k, other in ((1, a), (2, b), (3, c), (4, d)):
            total = add_columns(sums, uint64(k), x)
            best = select(total < least, other, best)
            least = smaller(total, least)
        store(costs.chosen, uint64(y), uint64(x), select(highest - lowest > jump, best, own))


@kernel
def sharpen(views: Views, surface: Surface, costs: EdgeCosts, line: EdgeLine, rounds: int, crew: Crew) -> None:
    """Sharpen the jumps of ``surface.disparity`` in ``rounds`` rounds."""
    begin, end = share(crew, surface.height, ROWS)
    twice = 2 * costs.grey  # stored gradients are twice the central difference
    window = (2 * RADIUS + 1) * (2 * RADIUS + 1)
    gradient(views.right, costs.right_gradient, begin, end)
    for _ in range(rounds):
        fill_differences(views, surface, costs, LARGEST_DIFFERENCE * twice, begin, end)
        if not meet(crew):
            return
        for y in range(begin, end):
            choose(surface, costs, y, CLEARLY * twice * window, line.sums)
        if not meet(crew):
            return
        copy_rows(costs.chosen, surface.disparity, surface.width, begin, end)
        if not meet(crew):
            return
