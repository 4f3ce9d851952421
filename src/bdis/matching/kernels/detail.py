"""Full resolution: every pixel takes the surface, or the label of its own where that explains the images better.

The surface has wide support: it is precise where tissue is smooth, and wrong at depth edges.  Labels have narrow
support: they keep edges, but jitter where there is little texture.  Both disparities are tried at every pixel, and the
label wins only if under it the gradients of both images agree clearly better in a small window.  Where there is no
texture both explain the images alike, and the surface stays.  Near depth edges the surface is not to be trusted: where
labels jump and the image has texture, the better one of both wins.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    absolute,
    floor,
    gather,
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
    to_int,
    trailing_zeros,
)
from ...vector.tiles import gather_short_pairs, smallest_lane
from .labels import PaddedMap
from .layout import PAD, ROWS, Map, Maps
from .pyramid import Image

RADIUS = 2  # px, windows are 5x5
LARGEST_DIFFERENCE = 4.0  # grey levels per px, the gradients of a pixel differ by no more
BLOCK = 8  # px, edges are looked for in blocks of 8x8 and those around
JUMP = 3.0  # px, labels that differ by more within them are a depth edge
TEXTURE = 4.0  # grey levels per px, root mean square of the gradient, at which their edge is believed
WINDOW = (2 * RADIUS + 1) * (2 * RADIUS + 1)
COVERED_PX = 1.0  # px, a pixel that is nearer by so much covers another one
CLEARLY = 0.4  # grey levels per px, mean difference by which a label must be better than the surface


class Candidates(Record):
    """The two disparities of every pixel, and how well they explain the images.

    Attributes
    ----------
    surface, labels : ndarray of float32, shape (h, map stride)
        px, disparity of the surface and of the labels.
    surface_cost, labels_cost : ndarray of float32, shape (h, map stride)
        How far the gradients of both images differ under it.
    known : ndarray of float32, shape (h, map stride)
        1 where the label is seen by both cameras, else 0.
    gradient_left, gradient_right : ndarray of int16, shape (h, image stride)
        Twice the central difference.
    width : int
        px.
    surface_px, labels_px : int
        px of the image that a pixel of the surface's and of the labels' level is wide.
    grey : float
        One grey level as stored.
    """

    surface: Floats
    labels: Floats
    surface_cost: Floats
    labels_cost: Floats
    known: Floats
    gradient_left: Shorts
    gradient_right: Shorts
    width: int
    surface_px: int
    labels_px: int
    grey: float


class Blocks(Record):
    """The picture in blocks of 8x8 pixels, shape (blocks down, blocks across).

    Attributes
    ----------
    low, high : ndarray of float32
        px, smallest and largest disparity of the labels.
    texture : ndarray of float32
        Mean square of the gradient as stored.
    """

    low: Floats
    high: Floats
    texture: Floats


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


class DetailLine(Record):
    """Room for one thread.

    Attributes
    ----------
    sums : ndarray of float32, shape (4, 16 + map stride + 16)
        A row of the surface, sums over the rows of windows under both disparities, and by how much a label must be
        better; before that three rows to survey blocks.
    nearest : ndarray of float32, shape (1, map stride + 16)
        px, the largest disparity that leads to each pixel of a row of the right image.
    is_covered : ndarray of uint8, shape (1, map stride)
        1 where another pixel covers the same place in the right image.
    """

    sums: Floats
    nearest: Floats
    is_covered: Bytes


@inner
def enlarge_surface_row(disparity, level_width, level_height, y, candidates, line):
    """Row ``y`` of the surface at the size of the image, bilinear between pixels of its level; the border repeats."""
    px, width, zero = float32(candidates.surface_px), candidates.width, uint64(0)
    place = min(max((float32(y) + float32(0.5)) / px - float32(0.5), float32(0)), float32(level_height - 1))
    above = uint64(place)
    below, part = uint64(min(int64(above) + 1, level_height - 1)), splat(place - float32(above))
    for x in range(zero, uint64(level_width), uint64(LANES)):
        upper, lower = load(disparity, above, x), load(disparity, below, x)
        store(line, zero, x, upper + part * (lower - upper))
    half, scale, inverse = splat(float32(0.5)), splat(px), splat(float32(1) / px)
    last = splat(float32(level_width - 1))
    for x in range(zero, uint64(width), uint64(LANES)):
        col = (to_float(lane_numbers() + splat(int32(x))) + half) * inverse - half
        col = smaller(larger(col, splat(float32(0))), last)
        whole = floor(col)
        left, right = gather(line, zero, to_int(whole)), gather(line, zero, to_int(smaller(whole + half + half, last)))
        store(candidates.surface, uint64(y), x, scale * (left + (col - whole) * (right - left)))


@inner
def enlarge_labels_row(filled, found, level_width, y, candidates):
    """Row ``y`` of the labels at the size of the image, as they are: edges stay sharp."""
    px, width, zero = candidates.labels_px, candidates.width, uint64(0)
    row, scale = uint64(y // px), splat(float32(px))
    inverse, pad, last = splat(float32(1) / float32(px)), splat(int32(PAD)), splat(float32(level_width - 1))
    one, none = splat(float32(1)), splat(float32(0))
    for x in range(zero, uint64(width), uint64(LANES)):
        col = floor(to_float(lane_numbers() + splat(int32(x))) * inverse)
        col = to_int(smaller(col, last))
        value = gather(found, row, col)
        store(candidates.labels, uint64(y), x, scale * gather(filled, row, col + pad))
        store(candidates.known, uint64(y), x, select(value == value, one, none))


@inner
def gradient_row(image, out, y, width):
    """Twice the central difference of a row; 0 beyond the border."""
    row, one = uint64(y), uint64(1)
    for x in range(uint64(PAD), uint64(PAD + width + LANES), uint64(LANES)):
        store(out, row, x, load(image, row, x + one) - load(image, row, x - one))


@inner
def difference(candidates, disparity, y, x, largest):
    """How far the gradients of both images differ under ``disparity``, at most ``largest``, for sixteen pixels."""
    width, sixteen, zero = candidates.width, splat(int32(16)), splat(float32(0))
    place = to_float(lane_numbers() + splat(int32(x))) - disparity
    place = smaller(larger(place, zero), splat(float32(width - 1)))
    whole = floor(place)
    pair = gather_short_pairs(candidates.gradient_right, y, to_int(whole) + splat(int32(PAD)))
    here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
    step = to_float(load(candidates.gradient_left, y, x + uint64(PAD))) - here - (place - whole) * (there - here)
    return smaller(absolute(step), largest)


@inner
def survey_row(candidates, y, sums, is_first):
    """Add row ``y`` to the smallest and largest label and the sum of squared gradients of each column of a block."""
    row = uint64(y)
    for x in range(uint64(0), uint64(candidates.width), uint64(LANES)):
        label = load(candidates.labels, row, x)
        step = to_float(load(candidates.gradient_left, row, x + uint64(PAD)))
        low, high, texture = label, label, step * step
        if not is_first:
            low = smaller(low, load(sums, uint64(1), x))
            high = larger(high, load(sums, uint64(2), x))
            texture = texture + load(sums, uint64(3), x)
        store(sums, uint64(1), x, low)
        store(sums, uint64(2), x, high)
        store(sums, uint64(3), x, texture)


@inner
def survey_blocks(sums, width, block_row, rows, blocks):
    """Blocks of one row of blocks from the columns that were added up."""
    for first in range(0, width, BLOCK):
        low, high, texture = sums[1, first], sums[2, first], float32(0)
        last = min(first + BLOCK, width)
        for x in range(first, last):
            low, high, texture = min(low, sums[1, x]), max(high, sums[2, x]), texture + sums[3, x]
        block = first // BLOCK
        blocks.low[block_row, block], blocks.high[block_row, block] = low, high
        blocks.texture[block_row, block] = texture / float32(rows * (last - first))


@kernel
def compare_candidates(
    surface: Map, filled: PaddedMap, found: Map, left: Image, right: Image, candidates: Candidates,
    blocks: Blocks, line: DetailLine, crew: Crew,
) -> None:  # fmt: skip
    """Both disparities of every pixel, how far gradients of the images differ under them, and a survey of blocks."""
    height, width = left.pixels.shape[0], candidates.width
    begin, end = share(crew, height, BLOCK)
    surface_height = -(-height // candidates.surface_px)  # its array may have more rows
    largest = splat(float32(LARGEST_DIFFERENCE * 2 * candidates.grey))
    for y in range(begin, end):
        enlarge_surface_row(surface.values, surface.width, surface_height, y, candidates, line.sums)
        enlarge_labels_row(filled.values, found.values, filled.width, y, candidates)
        gradient_row(left.pixels, candidates.gradient_left, y, width)
        gradient_row(right.pixels, candidates.gradient_right, y, width)
        row = uint64(y)
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            of_surface = difference(candidates, load(candidates.surface, row, x), row, x, largest)
            of_labels = difference(candidates, load(candidates.labels, row, x), row, x, largest)
            store(candidates.surface_cost, row, x, of_surface)
            store(candidates.labels_cost, row, x, of_labels)
        survey_row(candidates, y, line.sums, y % BLOCK == 0)
        if y % BLOCK == BLOCK - 1 or y == end - 1:
            survey_blocks(line.sums, width, y // BLOCK, y % BLOCK + 1, blocks)
    meet(crew)


@inner
def fill_margins(blocks, block_row, width, grey, sums):
    """By how much a label must be better than the surface, for the columns of a row of blocks: 0 near depth edges."""
    down, across = blocks.low.shape
    least = float32(0.5 * TEXTURE * TEXTURE * 4 * grey * grey)  # squared; x alone, stored twice
    for block in range(across):
        low = high = blocks.low[block_row, block]
        texture = float32(0)
        for row in range(max(block_row - 1, 0), min(block_row + 2, down)):
            for col in range(max(block - 1, 0), min(block + 2, across)):
                low, high = min(low, blocks.low[row, col]), max(high, blocks.high[row, col])
                texture = max(texture, blocks.texture[row, col])
        is_edge = high - low > float32(JUMP) and texture > least
        margin = float32(0) if is_edge else float32(CLEARLY * 2 * grey * WINDOW)
        for x in range(block * BLOCK, min(block * BLOCK + BLOCK, width)):
            sums[3, x] = margin


@inner
def add_rows(plane, y, height, width, sums, which):
    """Sums over the rows of the windows around row ``y``, from column 16 of row ``which`` of ``sums`` on."""
    first, columns = uint64(LANES), uint64(width)
    for x in range(uint64(0), columns, uint64(LANES)):
        total = splat(float32(0))
        for k in range(-RADIUS, RADIUS + 1):
            total += load(plane, uint64(min(max(y + k, 0), height - 1)), x)
        store(sums, which, first + x, total)
    store(sums, which, uint64(0), splat(sums[which, first]))
    store(sums, which, first + columns, splat(sums[which, first + columns - uint64(1)]))


@inner
def add_columns(sums, which, x):
    """Sums over the windows around sixteen pixels from ``x`` on."""
    at = uint64(LANES - RADIUS) + x
    total = load(sums, which, at)
    for k in range(uint64(1), uint64(2 * RADIUS + 1)):
        total += load(sums, which, at + k)
    return total


@kernel
def choose_candidates(candidates: Candidates, blocks: Blocks, out: Map, line: DetailLine, crew: Crew) -> None:
    """The disparity of each pixel: the surface's, or the label's where it explains the images (clearly) better."""
    height, width, sums = out.values.shape[0], candidates.width, line.sums
    begin, end = share(crew, height, BLOCK)
    none = splat(float32(0))
    for y in range(begin, end):
        if y % BLOCK == 0:
            fill_margins(blocks, y // BLOCK, width, candidates.grey, sums)
        add_rows(candidates.surface_cost, y, height, width, sums, uint64(1))
        add_rows(candidates.labels_cost, y, height, width, sums, uint64(2))
        row = uint64(y)
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            margin = load(sums, uint64(3), x)
            better = add_columns(sums, uint64(2), x) + margin < add_columns(sums, uint64(1), x)
            better = better & ((load(candidates.known, row, x) > none) | (margin == none))
            store(out.values, row, x, select(better, load(candidates.labels, row, x), load(candidates.surface, row, x)))
    meet(crew)


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
    detail: Map, rules: DetailRules, result: Maps, variance: Map, has_variance: bool, line: DetailLine, crew: Crew
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
