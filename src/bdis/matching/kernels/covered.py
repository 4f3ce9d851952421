"""What lands in the result: disparities within the limits, how sure they are, and nothing that one camera alone sees.

A pixel whose disparity is as far as the search was allowed to go may lie beyond, and counts as one that does not match.
A pixel is not seen by the right camera if the images do not match there at all, or if another one lies in the same
place of the right image: the nearer of the two covers the other, unless the images match clearly worse there, which
tells that it is background drawn too near.  Where a depth edge is drawn as a ramp none lies behind another; but the
right camera sees a surface that rises to the right the narrower the steeper it is, so that the images must match the
better there.
"""

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Ints, Record, kernel
from ...vector.simd import (
    LANES,
    any_lane,
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
from ...vector.tiles import largest_lane, smallest_lane
from .beside_unknown import UNKNOWN, Differences, end_row
from .doubt import WINDOW, Cues, DoubtLine, DoubtWeights, compare_gradients, doubt_row
from .law import probability_of
from .layout import PAD, ROWS, Map, Maps

COVERED_PX = 1.0  # px, a pixel that is nearer by so much covers another one
CLEARLY = 0.1  # mismatch by which the nearer one must be worse to be the wrong one
UNMATCHED = 0.5  # mismatch of pixels that the right camera does not see
# Mismatch times slope along x of such pixels; 0.2 or none at all: error on tissue +3, +4 %, on Middlebury +1, +2 %, the
# share of pixels there that only one camera sees and that get a disparity +8, +21 %, coverage +0.2, +0.5 %.
STEEP = 0.12

SEEN, PERHAPS, COVERED, ALONE = 0, 1, 2, 3  # by both cameras; not yet settled; behind another pixel; nothing matches


class DetailRules(Record):
    """What may be in the result.

    Attributes
    ----------
    smallest, largest : float
        px, limits of disparity.
    reached_below, reached_above : float
        px, disparities outside of these have reached the limits.
    largest_variance : float
        px^2, where nothing is known of a disparity.
    min_probability : float
        Less probable pixels are unknown.
    min_surface_probability : float
        Where every pixel keeps a disparity, also those where the surface is less probable.
    is_dense : bool
        Every pixel keeps a disparity, and unknown ones have the probability 0 until they are filled; what is covered in
        the right image lies with the background.
    is_given : bool
        Every disparity stays as it is: what the right camera does not see is only less sure.
    has_variance, judges_variance : bool
        There is a variance; it is the one that is judged here, not another one that stays.
    unfitted : float
        px^2, that other variance of pixels which have none.
    """

    smallest: float
    largest: float
    reached_below: float
    reached_above: float
    largest_variance: float
    min_probability: float
    min_surface_probability: float
    is_dense: bool
    is_given: bool
    has_variance: bool
    judges_variance: bool
    unfitted: float


class CoveredLine(Record):
    """Room for one thread.

    Attributes
    ----------
    claims : ndarray of int32, shape (1, map stride + 16)
        Pixel of the left image with the largest disparity that leads to each pixel of a row of the right image; -1 if
        there is none.
    is_covered : ndarray of uint8, shape (1, map stride)
        Which pixels of a row the right camera does not see: one of SEEN, PERHAPS, COVERED and ALONE.
    """

    claims: Ints
    is_covered: Bytes


@inner
def mark_behind(disparity, y, width, is_marked):
    """Mark the pixels of a row that have one on their right which lies further left in the right image."""
    row, none, one, nowhere = uint64(y), splat(int32(SEEN)), splat(int32(PERHAPS)), splat(float32(1e9))
    leftmost = nowhere  # place of all pixels further right
    x = width
    while x > 0:
        done, x = splat(int32(x)), max(x - LANES, 0)  # the last sixteen overlap: rows of the result follow each other
        column, value = lane_numbers() + splat(int32(x)), load(disparity, row, uint64(x))
        place = select(value == value, to_float(column) - value, nowhere)
        after = slide(place, nowhere, 1)  # the leftmost of the sixteen after each lane
        after = smaller(after, slide(after, nowhere, 1))
        after = smaller(after, slide(after, nowhere, 2))
        after = smaller(after, slide(after, nowhere, 4))
        after = smaller(after, slide(after, nowhere, 8))
        found = (smaller(after, leftmost) < place) & (value == value)
        before = select(column < done, none, load(is_marked, uint64(0), uint64(x)))
        store(is_marked, uint64(0), uint64(x), select(found & (column < done), one, before))
        leftmost = smaller(leftmost, smallest_lane(place))


@inner
def claim_places(disparity, y, width, claims):
    """Which pixel of a row is the nearest one that leads to each pixel of the right image.

    Only those count that lie further left there than one on their left: the others cover nothing.
    """
    row, nothing, nobody, nowhere = uint64(y), uint64(0), splat(int32(-1)), splat(float32(-1e9))
    for x in range(nothing, uint64(width + 1), uint64(LANES)):
        store(claims, nothing, x, nobody)
    rightmost = nowhere  # place of all pixels further left
    first = 0
    while first < width:
        done, first = splat(int32(first)), min(first, width - LANES)  # the last sixteen overlap
        column, value = lane_numbers() + splat(int32(first)), load(disparity, row, uint64(first))
        place = select(value == value, to_float(column) - value, nowhere)
        before = slide(nowhere, place, 15)  # the rightmost of the sixteen before each lane
        before = larger(before, slide(nowhere, before, 15))
        before = larger(before, slide(nowhere, before, 14))
        before = larger(before, slide(nowhere, before, 12))
        before = larger(before, slide(nowhere, before, 8))
        bits = mask_bits((larger(before, rightmost) > place) & (value == value) & (column >= done))
        rightmost = larger(rightmost, largest_lane(place))
        while bits:
            x = uint64(first + trailing_zeros(bits))
            bits &= bits - 1
            claim(disparity, row, x, width, claims)
        first += LANES


@inner
def claim(disparity, row, x, width, claims):
    """Pixel ``x`` claims the two pixels of the right image between which it lies, if it is nearer than who did."""
    place = float32(x) - disparity[row, x]
    if place >= float32(0) and place < float32(width):
        for at in (uint64(place), uint64(place) + uint64(1)):
            other = claims[uint64(0), at]
            if other < 0 or disparity[row, x] > disparity[row, uint64(other)]:
                claims[uint64(0), at] = int32(x)


@inner
def settle_claims(disparity, mismatch, y, width, claims, is_covered):
    """Of two pixels of a row that lie in the same place of the right image one is not seen there.

    Those that may lie behind another one are marked.
    """
    row, nothing = uint64(y), uint64(0)
    for first in range(nothing, uint64(width), uint64(LANES)):
        inside = lane_numbers() + splat(int32(first)) < splat(int32(width))
        bits = mask_bits((load(is_covered, nothing, first) == splat(int32(PERHAPS))) & inside)
        while bits:
            x = first + uint64(trailing_zeros(bits))
            bits &= bits - 1
            if is_covered[nothing, x] != PERHAPS:  # it has lost against another one
                continue
            is_covered[nothing, x] = SEEN
            place = float32(x) - disparity[row, x] + float32(0.5)
            if not (place >= float32(0) and place < float32(width)):  # nor if it is NaN
                continue
            nearer = claims[nothing, uint64(place)]
            if nearer < 0 or disparity[row, uint64(nearer)] <= disparity[row, x] + float32(COVERED_PX):
                continue
            is_nearer_wrong = mismatch[nothing, uint64(nearer)] > mismatch[nothing, x] + float32(CLEARLY)
            is_covered[nothing, uint64(nearer) if is_nearer_wrong else x] = COVERED


@inner
def has_steps(detail, y, width):
    """Is a pixel of the row nearer than the one on its left by more than a pixel?  Else none is out of order."""
    row, one, steps = uint64(y), splat(float32(1)), False
    for x in range(uint64(0), uint64(width), uint64(LANES)):
        is_last = lane_numbers() + splat(int32(x)) >= splat(int32(width - 1))
        step = load(detail, row, x + uint64(1)) - load(detail, row, x)
        steps = steps or mask_bits(select(is_last, one, step) > one) != 0
    return steps


@inner
def rise_at(detail, row, x, width, before):
    """By how much the disparity of sixteen pixels grows along four px, and the disparities; 0 at the border.

    ``before`` are the disparities of the sixteen pixels on their left.
    """
    column, here = lane_numbers() + splat(int32(x)), load(detail, row, x)
    rise = slide(here, load(detail, row, x + uint64(LANES)), 2) - slide(before, here, 14)
    inside = (column >= splat(int32(2))) & (column < splat(int32(width - 2)))
    return select(inside, rise, splat(float32(0))), here


@inner
def mark_covered(detail, disparity, mismatch, y, width, claims, is_covered, rules):
    """Which pixels of a row the right camera does not see, or have no match.  Returns whether there are any.

    ``disparity`` is what ``detail`` is where known, within the limits.  What is given may be steep: others draw whole
    px.
    """
    nothing, has_marks = uint64(0), has_steps(detail, y, width)
    if has_marks:
        mark_behind(disparity, y, width, is_covered)
        claim_places(disparity, y, width, claims)
        settle_claims(disparity, mismatch, y, width, claims, is_covered)
    seen, alone, unmatched = splat(int32(SEEN)), splat(int32(ALONE)), splat(float32(UNMATCHED))
    steep, before = splat(float32(1e30 if rules.is_given else 4 * STEEP)), splat(float32(0))
    low, high = splat(float32(rules.reached_below)), splat(float32(rules.reached_above))
    any_covered = False
    for x in range(nothing, uint64(width), uint64(LANES)):
        covered, differs = load(is_covered, nothing, x) if has_marks else seen, load(mismatch, nothing, x)
        rise, before = rise_at(detail, uint64(y), x, width, before)
        is_alone = (differs > unmatched) | (differs * rise > steep) | (before < low) | (before > high)
        covered = select(is_alone & (covered == seen), alone, covered)
        covered = select(lane_numbers() + splat(int32(x)) < splat(int32(width)), covered, seen)
        store(is_covered, nothing, x, covered)
        any_covered = any_covered or mask_bits(covered > seen) != 0
    return any_covered


@inner
def fill_covered(values, y, width, is_covered):
    """Covered pixels take the background beside them."""
    row, nothing = uint64(y), uint64(0)
    last = float32(np.nan)
    for x in range(nothing, uint64(width)):  # from the left
        if is_covered[nothing, x] == COVERED:
            values[row, x] = last
        else:
            last = values[row, x]
    last = float32(np.nan)
    for k in range(width):  # and from the right, where the foreground is
        x = uint64(width - 1 - k)
        if is_covered[nothing, x] != COVERED:
            last = values[row, x]
        elif last < values[row, x] or np.isnan(values[row, x]):
            values[row, x] = last


@inner
def doubt_unseen(is_covered, width, rules, weights, disparity, y, variance):
    """What the right camera does not see is unknown, or less sure if it keeps a disparity."""
    row, nothing, seen = uint64(y), uint64(0), splat(int32(SEEN))
    if rules.is_given:
        more, none = splat(float32(weights.unseen)), splat(float32(0))
        for x in range(nothing, uint64(width), uint64(LANES)):
            unseen = load(is_covered, nothing, x) > seen
            store(variance, nothing, x, load(variance, nothing, x) + select(unseen, more, none))
        return
    unknown, x = splat(float32(np.nan)), 0
    while x < width:
        x = min(x, width - LANES)  # the last sixteen overlap: rows of the result follow each other
        unseen = load(is_covered, nothing, uint64(x)) > seen
        store(disparity, row, uint64(x), select(unseen, unknown, load(disparity, row, uint64(x))))
        x += LANES


@inner
def write_disparities(detail, y, width, smallest, largest, result):
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


@inner
def mark_guessed(surface_variance, disparity, y, width, is_covered, rules):
    """Mark also what was not matched in a row: where the surface crosses a hole, or leaves the right image."""
    row, nothing, half, x = uint64(y), uint64(0), splat(float32(0.5)), 0
    seen, alone, least = splat(int32(SEEN)), splat(int32(ALONE)), splat(float32(rules.min_surface_probability))
    while x < width:
        x = min(x, width - LANES)
        at = uint64(x)
        place = to_float(lane_numbers() + splat(int32(x))) - load(disparity, row, at) + half
        is_guess = (place < splat(float32(0))) | (place > splat(float32(width)))
        is_guess = is_guess | (probability_of(load(surface_variance, row, at)) < least)
        before = load(is_covered, nothing, at)
        store(is_covered, nothing, at, select(is_guess & (before == seen), alone, before))
        x += LANES


@inner
def write_law(line, result, y, variance, rules, is_covered, sizes):
    """Probability and, if asked for, variance of a row, where the result has a disparity that is probable enough; and
    by how much the images differ there.  Guesses that stay have the probability 0.
    """
    row, width, zero, unknown = uint64(y), result.width, splat(float32(0)), splat(float32(np.nan))
    largest, least = splat(float32(rules.largest_variance)), splat(float32(rules.min_probability))
    nothing, no_size, seen, x = uint64(0), splat(float32(UNKNOWN)), splat(int32(SEEN)), 0
    while x < width:
        x = min(x, width - LANES)
        at = uint64(x)
        x += LANES
        value, disparity = smaller(load(line.variance, nothing, at), largest), load(result.disparity, row, at)
        if not any_lane(disparity == disparity):
            store(result.probability, row, at, zero)
            store(sizes, row, uint64(PAD) + at, no_size)
            if rules.has_variance:
                store(variance, row, at, unknown)
            continue
        probability = probability_of(value)
        known = kept = (disparity == disparity) & (probability >= least)
        if rules.is_dense:
            known, kept = known & (load(is_covered, nothing, at) == seen), disparity == disparity
        store(result.disparity, row, at, select(kept, disparity, unknown))
        store(result.probability, row, at, select(known, probability, zero))
        store(sizes, row, uint64(PAD) + at, select(known, load(line.size, nothing, at), no_size))
        if rules.has_variance:
            if not rules.judges_variance:
                value = load(variance, row, at)
                value = select(value == value, value, splat(float32(rules.unfitted)))
            store(variance, row, at, select(kept, value, unknown))
    end_row(sizes, row, width)


@kernel
def write_detail(
    detail: Map, cues: Cues, weights: DoubtWeights, rules: DetailRules, result: Maps, variance: Map,
    differences: Differences, line: CoveredLine, doubt: DoubtLine, crew: Crew,
) -> None:  # fmt: skip
    """Disparities of the result where it has any, how sure they are, and by how much the images differ there.

    What the right camera does not see is unknown, or a guess.  In place of its probability ``result`` has the
    variance of the surface, px^2.
    """
    width, disparity = detail.width, result.disparity
    height = detail.values.shape[0]
    begin, end = share(crew, height, ROWS)
    for y in range(max(begin - WINDOW, 0), min(begin + WINDOW, height)):
        compare_gradients(detail, cues, y, doubt)
    for y in range(begin, end):
        if y + WINDOW < height:
            compare_gradients(detail, cues, y + WINDOW, doubt)
        doubt_row(detail, result.probability, cues, weights, y, doubt)
        write_disparities(detail.values, y, width, rules.smallest, rules.largest, disparity)
        if mark_covered(detail.values, disparity, doubt.mismatch, y, width, line.claims, line.is_covered, rules):
            if rules.is_dense:
                fill_covered(disparity, y, width, line.is_covered)
            else:
                doubt_unseen(line.is_covered, width, rules, weights, disparity, y, doubt.variance)
        if rules.is_dense:
            mark_guessed(result.probability, disparity, y, width, line.is_covered, rules)
        write_law(doubt, result, y, variance.values, rules, line.is_covered, differences.sizes)
    meet(crew)
