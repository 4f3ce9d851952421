"""Sharp depth edges: which side of an edge does a pixel belong to?

A patch over a depth edge mixes both sides, and a smooth surface runs across it.  So every pixel near a jump of the
surface is offered the disparities found a little to its left and right, above and below, and takes the one under which
the gradients of both images agree best in a small window around it; its own unless another is clearly better.
"""

from numba import float32, float64, int32, int64, uint64, void

from ...vector.array_types import ADDRESSES, FLOATS, SHORTS
from ...vector.barrier import meet
from ...vector.cache import inner, kernel
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
from .layout import PAD, SURFACE
from .pyramid import gradient

REACH = 8  # px of the level to the disparities that are offered
RADIUS = 2  # px, windows are 5x5
MIN_JUMP = 1.0  # px of the level between the offers, else there is no edge
LARGEST_DIFFERENCE = 4.0  # grey levels per px, a pixel's gradients differ by no more
CLEARLY = 0.24  # grey levels per px, mean difference by which another offer must be better


@inner
def beside(disparity, y, x, right, width):
    """Disparities ``right`` columns right of sixteen pixels from ``x`` on; the border repeats."""
    if x + right >= 0 and x + right + LANES <= width:
        return load(disparity, y, uint64(x + right))
    col = to_float(lane_numbers() + splat(int32(x + right)))
    col = smaller(larger(col, splat(float32(0))), splat(float32(width - 1)))
    return gather(disparity, y, to_int(col))


@inner
def offers(disparity, y, x, height, width):
    """The five disparities between which sixteen pixels choose, their own first."""
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
def fill_differences(surface, left, right, width, largest, begin, end):
    """Differences under each offer, into five arrays of the surface that are free between two sweeps."""
    limit, height = splat(float32(largest)), left.shape[0]
    for row in range(begin, end):
        y = uint64(row)
        for x in range(0, width, LANES):
            own, a, b, c, d = offers(surface.disparity, row, x, height, width)
            store(surface.weight, y, uint64(x), difference(left, right, y, x, own, width, limit))
            store(surface.rest, y, uint64(x), difference(left, right, y, x, a, width, limit))
            store(surface.inverse, y, uint64(x), difference(left, right, y, x, b, width, limit))
            store(surface.support_inverse, y, uint64(x), difference(left, right, y, x, c, width, limit))
            store(surface.spread, y, uint64(x), difference(left, right, y, x, d, width, limit))


@inner
def add_rows(plane, y, height, width, line, first):
    """Sums over the rows of the windows around row ``y``, to ``line`` (seen as one row) from ``first`` on."""
    top, bottom = uint64(max(y - RADIUS, 0)), uint64(min(y + RADIUS, height - 1) + 1)
    row = uint64(0)
    x, stop = uint64(0), uint64(width)
    while x < stop:
        total = splat(float32(0))
        for k in range(top, bottom):
            total += load(plane, k, x)
        store(line, row, first + x, total)
        x += uint64(LANES)
    edge = splat(float32(0))  # nothing counts outside the picture
    store(line, row, first - uint64(LANES), edge)
    store(line, row, first + stop, edge)


@inner
def add_columns(line, first, x):
    """Sums over the windows around sixteen pixels from ``x`` on."""
    row, at = uint64(0), first + uint64(x) - uint64(RADIUS)
    total = load(line, row, at)
    for k in range(uint64(1), uint64(2 * RADIUS + 1)):
        total += load(line, row, at + k)
    return total


@inner
def choose(surface, y, height, width, margin, line, out):
    """Row ``y`` of ``out``: for each pixel near a jump the offer with the smallest difference."""
    stride = uint64(surface.disparity.shape[1] + 2 * LANES)
    first = uint64(LANES)
    add_rows(surface.weight, y, height, width, line, first)
    add_rows(surface.rest, y, height, width, line, first + stride)
    add_rows(surface.inverse, y, height, width, line, first + uint64(2) * stride)
    add_rows(surface.support_inverse, y, height, width, line, first + uint64(3) * stride)
    add_rows(surface.spread, y, height, width, line, first + uint64(4) * stride)
    clearly, jump = splat(float32(margin)), splat(float32(MIN_JUMP))
    for x in range(0, width, LANES):
        own, a, b, c, d = offers(surface.disparity, y, x, height, width)
        lowest = smaller(smaller(smaller(own, a), smaller(b, c)), d)
        highest = larger(larger(larger(own, a), larger(b, c)), d)
        best, least = own, add_columns(line, first, x) - clearly
        for k, other in ((1, a), (2, b), (3, c), (4, d)):
            total = add_columns(line, first + uint64(k) * stride, x)
            best = select(total < least, other, best)
            least = smaller(total, least)
        store(out, uint64(y), uint64(x), select(highest - lowest > jump, best, own))


@kernel(void(SHORTS, SHORTS, SHORTS, SURFACE, FLOATS, int64, float64, int64, ADDRESSES, int64, int64, int64))
def sharpen(left_gradient, right, right_gradient, surface, line, width, grey, rounds, barrier, bands, begin, end):
    """Sharpen the jumps of ``surface.disparity`` in ``rounds`` rounds, rows ``begin`` to ``end - 1``.

    ``left_gradient`` and ``right`` (padded int16) as in ``Level``; ``right_gradient`` is filled here.  ``grey``: one
    grey level as stored.  ``line``: at least five rows.
    """
    height = left_gradient.shape[0]
    twice = 2 * grey  # stored gradients are twice the central difference
    window = (2 * RADIUS + 1) * (2 * RADIUS + 1)
    gradient(right, right_gradient, begin, end)
    for _ in range(rounds):
        fill_differences(surface, left_gradient, right_gradient, width, LARGEST_DIFFERENCE * twice, begin, end)
        if not meet(barrier, bands):
            return
        for y in range(begin, end):
            choose(surface, y, height, width, CLEARLY * twice * window, line, surface.target)
        if not meet(barrier, bands):
            return
        for y in range(uint64(begin), uint64(end)):
            for x in range(uint64(0), uint64(width), uint64(LANES)):
                store(surface.disparity, y, x, load(surface.target, y, x))
        if not meet(barrier, bands):
            return
