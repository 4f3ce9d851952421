"""What lands in the result: disparities within the limits, without pixels that only the left camera sees.

A pixel is covered in the right image if another one, nearer by more than a pixel, lies in the same place there.
"""

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, Record, kernel
from ...vector.simd import (
    LANES,
    lane_numbers,
    larger,
    load,
    mask_bits,
    select,
    slide,
    smaller,
    splat,
    store,
    to_float,
    trailing_zeros,
)
from ...vector.tiles import smallest_lane
from .layout import ROWS, Map, Maps

COVERED_PX = 1.0  # px, a pixel that is nearer by so much covers another one


class DetailRules(Record):
    """What may be in the result.

    Attributes
    ----------
    smallest, largest : float
        px, limits of disparity.
    is_dense : bool
        Every pixel keeps a disparity: what is covered in the right image lies with the background.
    odds : float
        Of being wrong per px^2 of variance.
    """

    smallest: float
    largest: float
    is_dense: bool
    odds: float


class CoveredLine(Record):
    """Room for one thread.

    Attributes
    ----------
    nearest : ndarray of float32, shape (1, map stride + 16)
        px, the largest disparity that leads to each pixel of a row of the right image.
    is_covered : ndarray of uint8, shape (1, map stride)
        1 where another pixel covers the same place in the right image.
    """

    nearest: Floats
    is_covered: Bytes


@inner
def mark_out_of_order(disparity, y, width, is_marked):
    """Mark the pixels of a row that have one on their right which lies further left in the right image.

    Only these can be covered.  Returns the first and last + 1 of those that may be marked; the first is not below the
    last if there are none.
    """
    row, none, one, nowhere = uint64(y), splat(int32(0)), splat(int32(1)), splat(float32(1e9))
    first, stop = width, 0
    leftmost = nowhere  # place of all pixels further right
    x = width
    while x > 0:
        done, x = splat(int32(x)), max(x - LANES, 0)  # the last sixteen overlap: rows of the result follow each other
        column, value = lane_numbers() + splat(int32(x)), load(disparity, row, uint64(x))
        place = select(value == value, to_float(column) - value, nowhere)
        after = slide(place, leftmost, 1)  # the leftmost of those after each lane
        after = smaller(after, slide(after, leftmost, 1))
        after = smaller(after, slide(after, leftmost, 2))
        after = smaller(after, slide(after, leftmost, 4))
        after = smaller(after, slide(after, leftmost, 8))
        found = (after < place) & (value == value)
        before = select(column < done, none, load(is_marked, uint64(0), uint64(x)))
        store(is_marked, uint64(0), uint64(x), select(found & (column < done), one, before))
        bits = mask_bits(found)
        if bits:
            first, stop = x + trailing_zeros(bits), max(stop, x + LANES)
        leftmost = smallest_lane(smaller(after, place))
    return first, stop


@inner
def mark_covered(disparity, y, width, nearest, is_covered):
    """Which pixels of a row are covered in the right image: one on their right, nearer by a pixel, lies in the same
    place.

    Returns the first and last + 1 of those that may be.  ``nearest`` is a row to work in: the largest disparity that
    leads to each right pixel.
    """
    first, stop = mark_out_of_order(disparity, y, width, is_covered)
    if first >= stop:
        return first, stop
    row = uint64(y)
    for x in range(uint64(0), uint64(width + 1), uint64(LANES)):
        store(nearest, uint64(0), x, splat(float32(-1e9)))
    for x in range(uint64(first), uint64(width)):  # what covers a pixel lies on its right
        value = disparity[row, x]
        place = float32(x) - value
        if place >= float32(0) and place < float32(width):
            at = uint64(place)
            nearest[0, at] = max(nearest[0, at], value)
            nearest[0, at + uint64(1)] = max(nearest[0, at + uint64(1)], value)
    for x in range(uint64(first), uint64(stop)):
        if is_covered[0, x]:
            value = disparity[row, x]
            place = float32(x) - value + float32(0.5)
            covered = False
            if place >= float32(0) and place < float32(width):
                covered = nearest[0, uint64(place)] > value + float32(COVERED_PX)
            is_covered[0, x] = covered
    return first, stop


@inner
def fill_covered(result, variance, has_variance, y, first, stop, is_covered, odds):
    """Covered pixels take the background beside them, and may be wrong by half the step to the foreground."""
    values, probability, width = result.disparity, result.probability, result.width
    row = uint64(y)
    last = values[row, uint64(first - 1)] if first > 0 else float32(np.nan)
    for x in range(uint64(first), uint64(stop)):  # from the left
        if is_covered[0, x]:
            values[row, x] = last
        else:
            last = values[row, x]
    last = values[row, uint64(stop)] if stop < width else float32(np.nan)
    for k in range(stop - first):  # and from the right, where the foreground is
        x = uint64(stop - 1 - k)
        if not is_covered[0, x]:
            last = values[row, x]
            continue
        before = values[row, x]
        step = last - before if last == last and before == before else float32(0)
        if before != before or last < before:
            values[row, x] = last
        doubt = float32(0.25) * step * step
        if has_variance:
            variance[row, x] += doubt
        probability[row, x] = probability[row, x] / (float32(1) + probability[row, x] * float32(odds) * doubt)


@inner
def write_row(detail, y, width, smallest, largest, result):
    """Disparities of a row, within the limits, where the result has any."""
    row, unknown = uint64(y), splat(float32(np.nan))
    low, high = splat(float32(smallest)), splat(float32(largest))
    x = 0
    while x < width:
        x = min(x, width - LANES)  # the last sixteen overlap: rows of the result follow each other
        known, value = load(result, row, uint64(x)), load(detail, row, uint64(x))
        value = smaller(larger(value, low), high)
        store(result, row, uint64(x), select(known == known, value, unknown))
        x += LANES


@kernel
def write_detail(
    detail: Map, rules: DetailRules, result: Maps, variance: Map, has_variance: bool, line: CoveredLine, crew: Crew
) -> None:
    """Disparities of the result where it has any; what is covered in the right image is unknown, or background."""
    values, width, disparity, probability = detail.values, detail.width, result.disparity, result.probability
    begin, end = share(crew, values.shape[0], ROWS)
    for y in range(begin, end):
        write_row(values, y, width, rules.smallest, rules.largest, disparity)
        first, stop = mark_covered(disparity, y, width, line.nearest, line.is_covered)
        if rules.is_dense:
            if first < stop:
                fill_covered(result, variance.values, has_variance, y, first, stop, line.is_covered, rules.odds)
            continue
        for x in range(uint64(first), uint64(max(first, stop))):
            if line.is_covered[0, x]:
                disparity[uint64(y), x], probability[uint64(y), x] = np.nan, 0
                if has_variance:
                    variance.values[uint64(y), x] = np.nan
    meet(crew)
