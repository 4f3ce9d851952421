"""Where every pixel gets a disparity: on which side of an edge what was not matched lies, and how sure that is.

In a row, pixels that only the left camera sees lie at the left of something nearer, which hides as many of them as its
disparity is larger by.  A guess between both sides is wrong on either; so these pixels lie with what is farther.

A guess is the worse the farther away the next known pixel is, and the more the disparities of the picture change per
px; and where those beside it differ much, it may be on the wrong side.  At the left border of the picture the right
camera does not see what the left one sees, as long as the disparity is larger than the column.  If a guess there is
smaller, the right camera would have seen that pixel, and it would be known, likely: so there is something nearer in its
place, of which nothing tells how near.  The variance of a guess is

    floor + slope * (change per px * distance)^2 + range * range^2 + cut * (distance, if something nearer is there)^2

with the distance to the next known pixel in the row, or to the next block of 8x8 pixels with known ones in any
direction; and the range of the disparities that are known within 7x7 blocks around that one.
"""

import math

from numba import float32, float64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Record, kernel
from ...vector.simd import LANES, any_lane, larger, load, select, smaller, splat, store
from .detail import BLOCK
from .law import probability_of
from .layout import PAD, Map, Maps
from .pyramid import Seen

MORE = 1.25  # times the step, hidden pixels reach from a nearer surface to its left; 1: median errors +0 to +5 %
BEYOND = 3.0  # px, and so much farther: its edge is not known to the pixel
LEAST = 1.5  # px, smaller steps hide hardly anything
# Of the step: a pixel this near to the nearer side was matched, or looks like it; 0.35: median errors +0 to +13 %.
DRAWN_NEAR = 0.2
APART = 4  # blocks between those that tell how disparities change
STEEP = 0.1  # px per px, they change by so much if there are no two such blocks
AROUND = 3  # blocks to all sides, whose range of disparities counts; 2, 4, 6: the same log score
STRAIGHT, ACROSS = 5, 7  # distance to the blocks beside and diagonal, in fifths of a block
PATCH = 8.0  # px, beside a border so much is not matched anyway
FADE = 16.0  # px, over which something nearer becomes certain
FAR = 1e9


class KnownBlocks(Record):
    """What is known of the picture in blocks of 8x8 pixels, shape (blocks down, blocks across).

    Attributes
    ----------
    low, high : ndarray of float32
        px, smallest and largest known disparity.
    low_around, high_around : ndarray of float32
        Those of the blocks beside, in the row.
    range : ndarray of float32
        px, how much the disparities around the next block with known pixels differ.
    steps : ndarray of float32
        Fifths of a block to that one.
    slope : ndarray of float32, shape (1, 1)
        px per px, how disparities change.
    """

    low: Floats
    high: Floats
    low_around: Floats
    high_around: Floats
    range: Floats
    steps: Floats
    slope: Floats


class FillRules(Record):
    """How unknown pixels are filled.

    Attributes
    ----------
    floor, slope, range, cut : float
        Weights of the variance, see above.
    largest_variance : float
        px^2, where nothing is known of a disparity.
    judges_variance : bool
        The variance of the result is the one that is judged here, or there is none: another one stays.
    """

    floor: float
    slope: float
    range: float
    cut: float
    largest_variance: float
    judges_variance: bool


class FillLine(Record):
    """Room for one thread.

    Attributes
    ----------
    values : ndarray of float32, shape (2, map stride + 16)
        Smallest and largest disparity of the columns of a row of blocks; then the variance of the filled pixels of a
        row, 0 where it was known.
    """

    values: Floats


@inner
def forget_unseen(seen, probability, y):
    """Nothing is known of what the left camera did not see."""
    for x in range(seen.width):
        if seen.mask[y, PAD + x] == 0:
            probability[y, x] = 0


@inner
def survey_row(result, down, line, blocks):
    """Smallest and largest known disparity of the blocks in row ``down``, alone and with those beside them."""
    width, height, zero = result.width, result.disparity.shape[0], splat(float32(0))
    least, most, first, second = splat(float32(FAR)), splat(float32(-FAR)), uint64(0), uint64(1)
    x = 0
    while x < width:
        x = min(x, width - LANES)  # the last sixteen overlap
        low, high, at = least, most, uint64(x)
        for y in range(uint64(down * BLOCK), uint64(min(down * BLOCK + BLOCK, height))):
            value, known = load(result.disparity, y, at), load(result.probability, y, at) > zero
            low, high = smaller(low, select(known, value, least)), larger(high, select(known, value, most))
        store(line, first, at, low)
        store(line, second, at, high)
        x += LANES
    count = blocks.low.shape[1]
    for k in range(count):
        low, high = float32(FAR), float32(-FAR)
        for x in range(uint64(k * BLOCK), uint64(min(k * BLOCK + BLOCK, width))):
            low, high = min(low, line[first, x]), max(high, line[second, x])
        blocks.low[down, k], blocks.high[down, k] = low, high
    for k in range(count):
        low, high = float32(FAR), float32(-FAR)
        for other in range(uint64(max(k - AROUND, 0)), uint64(min(k + AROUND + 1, count))):
            low, high = min(low, blocks.low[down, other]), max(high, blocks.high[down, other])
        blocks.low_around[down, k], blocks.high_around[down, k] = low, high


@inner
def measure_slope(blocks):
    """By how much disparities change per px, from blocks that are a little apart; steep places count little."""
    down, across = blocks.low.shape
    total, count = float64(0), 0
    for y in range(down):
        for x in range(across):
            if blocks.low[y, x] > blocks.high[y, x]:
                continue
            here = blocks.low[y, x] + blocks.high[y, x]
            for j, i in ((y, x + APART), (y + APART, x)):
                if j < down and i < across and blocks.low[j, i] <= blocks.high[j, i]:
                    total += math.sqrt(abs(blocks.low[j, i] + blocks.high[j, i] - here))
                    count += 1
    if count == 0:
        return float32(STEEP)
    mean = total / count
    return float32(mean * mean / (2 * APART * BLOCK))  # of sums of two


@inner
def take_nearer(blocks, y, x, j, i, cost):
    """What block (y, x) gets from block (j, i) beside it if that is nearer to known ones."""
    if j < 0 or i < 0 or i >= blocks.steps.shape[1] or j >= blocks.steps.shape[0]:
        return
    steps = blocks.steps[j, i] + float32(cost)
    if steps < blocks.steps[y, x]:
        blocks.steps[y, x], blocks.range[y, x] = steps, blocks.range[j, i]
    elif steps == blocks.steps[y, x]:
        blocks.range[y, x] = max(blocks.range[y, x], blocks.range[j, i])


@inner
def spread(blocks):
    """Distance to the next block with known pixels and range of the disparities around it; the largest of several."""
    down, across = blocks.low.shape
    for y in range(down):
        for x in range(across):
            known = blocks.low[y, x] <= blocks.high[y, x]
            low, high = float32(FAR), float32(-FAR)
            for j in range(max(y - AROUND, 0), min(y + AROUND + 1, down)):
                low, high = min(low, blocks.low_around[j, x]), max(high, blocks.high_around[j, x])
            blocks.steps[y, x] = float32(0) if known else float32(FAR)
            blocks.range[y, x] = high - low if known else float32(0)
    for y in range(down):
        for x in range(across):
            take_nearer(blocks, y, x, y, x - 1, STRAIGHT)
            take_nearer(blocks, y, x, y - 1, x - 1, ACROSS)
            take_nearer(blocks, y, x, y - 1, x, STRAIGHT)
            take_nearer(blocks, y, x, y - 1, x + 1, ACROSS)
    for k in range(down):
        y = down - 1 - k
        for m in range(across):
            x = across - 1 - m
            take_nearer(blocks, y, x, y, x + 1, STRAIGHT)
            take_nearer(blocks, y, x, y + 1, x + 1, ACROSS)
            take_nearer(blocks, y, x, y + 1, x, STRAIGHT)
            take_nearer(blocks, y, x, y + 1, x - 1, ACROSS)


@inner
def fill_run(disparity, row, start, stop, width, blocks, rules, variance):
    """Disparity and variance of the unknown pixels ``start`` to ``stop - 1`` of a row."""
    has_left, has_right, down = start > 0, stop < width, row // uint64(BLOCK)
    left = disparity[row, uint64(start - 1)] if has_left else float32(0)
    right = disparity[row, uint64(stop)] if has_right else float32(0)
    step = right - left if has_left and has_right else float32(0)
    hidden = float32(MORE) * step + float32(BEYOND) if step > float32(LEAST) else float32(0)
    near, change = right - float32(DRAWN_NEAR) * step, blocks.slope[uint64(0), uint64(0)]
    for x in range(uint64(start), uint64(stop)):
        value = disparity[row, x]
        after = float32(stop) - float32(x)
        if after <= hidden and value > left and value < near:
            value = left
            disparity[row, x] = value
        block = x // uint64(BLOCK)
        distance = float32(BLOCK / STRAIGHT) * blocks.steps[down, block] + float32(BLOCK / 2)
        cut = float32(0)
        if has_left:
            distance = min(distance, float32(x) - float32(start) + float32(1))
        else:
            cut = min(max((float32(stop) - value - float32(PATCH)) / float32(FADE), float32(0)), float32(1))
        if has_right:
            distance = min(distance, after)
        cut, steep, span = cut * distance, change * distance, blocks.range[down, block]
        guess = float32(rules.slope) * steep * steep + float32(rules.range) * span * span
        guess += float32(rules.cut) * cut * cut + float32(rules.floor)
        variance[uint64(0), x] = min(guess, float32(rules.largest_variance))


@inner
def fill_row(result, y, blocks, rules, variance):
    """Fill the unknown pixels of a row.  Returns whether there are any."""
    row, width, x, found = uint64(y), result.width, 0, False
    while x < width:
        at = uint64(x)
        if result.probability[row, at] > 0:
            variance[uint64(0), at] = float32(0)
            x += 1
            continue
        start, found = x, True
        while x < width and result.probability[row, uint64(x)] == 0:
            x += 1
        fill_run(result.disparity, row, start, x, width, blocks, rules, variance)
    return found


@inner
def write_guesses(result, y, variance, rules, guesses):
    """Probability and variance of the filled pixels of a row."""
    row, zero, x = uint64(y), splat(float32(0)), 0
    while x < result.width:
        x = min(x, result.width - LANES)  # the last sixteen overlap: rows of the result follow each other
        at = uint64(x)
        x += LANES
        guess, disparity = load(guesses, uint64(0), at), load(result.disparity, row, at)
        filled = (guess > zero) & (disparity == disparity)
        if not any_lane(filled):
            continue
        probability = select(filled, probability_of(guess), load(result.probability, row, at))
        store(result.probability, row, at, probability)
        if rules.judges_variance:
            store(variance, row, at, select(filled, guess, load(variance, row, at)))


@kernel
def fill_unknown(
    result: Maps, variance: Map, seen: Seen, blocks: KnownBlocks, rules: FillRules, line: FillLine, has_hidden: bool,
    crew: Crew,
) -> None:  # fmt: skip
    """Which side unknown pixels lie on, and how sure they are.

    They are those of probability 0; those that have not even a guess stay as they are.
    """
    height = result.disparity.shape[0]
    begin, end = share(crew, height, BLOCK)
    for y in range(begin, end):
        if has_hidden:
            forget_unseen(seen, result.probability, y)
    for y in range(begin, end, BLOCK):
        survey_row(result, y // BLOCK, line.values, blocks)
    if not meet(crew):
        return
    if crew.member == 0:
        spread(blocks)
        blocks.slope[uint64(0), uint64(0)] = measure_slope(blocks)
    if not meet(crew):
        return
    for y in range(begin, end):
        if fill_row(result, y, blocks, rules, line.values):
            write_guesses(result, y, variance.values, rules, line.values)
    meet(crew)
