"""Full resolution: every pixel takes the surface, or the label of its own where that explains the images better.

The surface has wide support: it is precise where tissue is smooth, and wrong at depth edges.  Labels have narrow
support: they keep edges, but jitter where there is little texture.  Both disparities are tried at every pixel, and the
label wins only if under it the gradients of both images agree clearly better in a small window.  Where there is no
texture both explain the images alike, and the surface stays.  Near depth edges the surface is not to be trusted: where
labels jump and the image has texture, the better one of both wins, and sides.py looks at the result once more.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Floats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    absolute,
    floor,
    gather,
    interleave,
    lane_numbers,
    larger,
    load,
    mask_bits,
    prefetch,
    select,
    smaller,
    splat,
    store,
    to_float,
    to_int,
)
from ...vector.tiles import gather_near_short_pairs
from .enlarge import spread_columns, three_columns
from .labels import PaddedMap
from .layout import PAD, Map
from .pyramid import Image, gradient
from .windows import add_columns, add_rows

RADIUS = 2  # px, windows are 5x5
LARGEST_DIFFERENCE = 4.0  # grey levels per px, the gradients of a pixel differ by no more
BLOCK = 8  # px, edges are looked for in blocks of 8x8 and those around
JUMP = 3.0  # px, labels that differ by more within them are a depth edge
TEXTURE = 4.0  # grey levels per px, root mean square of the gradient, at which their edge is believed
WINDOW = (2 * RADIUS + 1) * (2 * RADIUS + 1)
NEAR = 0.5  # px, a label this near to the surface is not compared with it; 0: the same errors, and 0.2 ms more
CLEARLY = 0.4  # grey levels per px, mean difference by which a label must be better than the surface


class Candidates(Record):
    """The two disparities of every pixel, and how well they explain the images.

    Attributes
    ----------
    surface, labels : ndarray of float32, shape (h, map stride)
        px, disparity of the surface and of the labels.
    gain : ndarray of float32, shape (h, map stride)
        How much less the gradients of both images differ under the label than under the surface.
    votes : ndarray of float32, shape (h, image stride)
        px, the label where both cameras see it, else NaN; once disparities are chosen, with which a pixel stands for
        one side of a depth edge: the chosen one, or the label (background) of what only one camera sees.  Pixel (y, x)
        is ``votes[y, PAD + x]``.
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
    gain: Floats
    votes: Floats
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


class DetailLine(Record):
    """Room for one thread.

    Attributes
    ----------
    sums : ndarray of float32, shape (4, 16 + map stride + 16)
        A row of the surface, and three rows to survey blocks; of which then the first has sums over the rows of
        windows, and the last by how much a label must be better.  Later ``sides`` keeps the middles of blocks in row
        2, and ``highlights`` sums and counts of columns in rows 1 and 2.
    """

    sums: Floats


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
    if candidates.surface_px == 2:  # as most are
        line[zero, uint64(level_width)] = line[zero, uint64(level_width - 1)]
        for x in range(zero, uint64(level_width), uint64(LANES)):
            even, odd = spread_columns(three_columns(line, zero, x))
            first, second = interleave(scale * even, scale * odd)
            store(candidates.surface, uint64(y), x + x, first)
            store(candidates.surface, uint64(y), x + x + uint64(LANES), second)
        return
    last = splat(float32(level_width - 1))
    for x in range(zero, uint64(width), uint64(LANES)):
        col = (to_float(lane_numbers() + splat(int32(x))) + half) * inverse - half
        col = smaller(larger(col, splat(float32(0))), last)
        whole = floor(col)
        left, right = gather(line, zero, to_int(whole)), gather(line, zero, to_int(smaller(whole + half + half, last)))
        store(candidates.surface, uint64(y), x, scale * (left + (col - whole) * (right - left)))


@inner
def store_labels(candidates, y, x, filled, found):
    """Sixteen labels, px of their level, and those of them that both cameras see."""
    px = splat(float32(candidates.labels_px))
    store(candidates.labels, uint64(y), x, px * filled)
    store(candidates.votes, uint64(y), uint64(PAD) + x, px * found)


@inner
def enlarge_labels_row(filled, found, level_width, y, candidates):
    """Row ``y`` of the labels at the size of the image, as they are: edges stay sharp."""
    px, width, zero = candidates.labels_px, candidates.width, uint64(0)
    row, pad = uint64(y // px), uint64(PAD)
    if px == 1:
        for x in range(zero, uint64(width), uint64(LANES)):
            store_labels(candidates, y, x, load(filled, row, x + pad), load(found, row, x))
        return
    if px == 2:
        for x in range(zero, uint64(level_width), uint64(LANES)):
            label, value = load(filled, row, x + pad), load(found, row, x)
            first, second = interleave(label, label)
            first_found, second_found = interleave(value, value)
            store_labels(candidates, y, x + x, first, first_found)
            store_labels(candidates, y, x + x + uint64(LANES), second, second_found)
        return
    inverse, last = splat(float32(1) / float32(px)), splat(float32(level_width - 1))
    for x in range(zero, uint64(width), uint64(LANES)):
        col = floor(to_float(lane_numbers() + splat(int32(x))) * inverse)
        col = to_int(smaller(col, last))
        store_labels(candidates, y, x, gather(filled, row, col + splat(int32(PAD))), gather(found, row, col))


@inner
def difference(candidates, disparity, y, x, largest):
    """How far the gradients of both images differ under ``disparity``, at most ``largest``, for sixteen pixels."""
    width, sixteen, zero = candidates.width, splat(int32(16)), splat(float32(0))
    place = to_float(lane_numbers() + splat(int32(x))) - disparity
    place = smaller(larger(place, zero), splat(float32(width - 1)))
    whole = floor(place)
    pair = gather_near_short_pairs(candidates.gradient_right, y, to_int(whole) + splat(int32(PAD)))
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
        gradient(left.pixels, candidates.gradient_left, y, y + 1)
        gradient(right.pixels, candidates.gradient_right, y, y + 1)
        row = uint64(y)
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            below = row + uint64(1)  # whose memory is not in the caches yet
            prefetch(candidates.surface, below, x)
            prefetch(candidates.labels, below, x)
            prefetch(candidates.gain, below, x)
            prefetch(candidates.votes, below, uint64(PAD) + x)
            of_surface, of_label = load(candidates.surface, row, x), load(candidates.labels, row, x)
            differs = absolute(of_surface - of_label) > splat(float32(NEAR))
            gain = splat(float32(0))
            if mask_bits(differs) != 0:
                gain = difference(candidates, of_surface, row, x, largest)
                gain = select(differs, gain - difference(candidates, of_label, row, x, largest), splat(float32(0)))
            store(candidates.gain, row, x, gain)
        survey_row(candidates, y, line.sums, y % BLOCK == 0)
        if y % BLOCK == BLOCK - 1 or y == end - 1:
            survey_blocks(line.sums, width, y // BLOCK, y % BLOCK + 1, blocks)
    meet(crew)


@inner
def around_block(blocks, block_row, block, grey):
    """Smallest and largest label of a block and those around it, and whether they are a depth edge to be believed."""
    down, across = blocks.low.shape
    low = high = blocks.low[block_row, block]
    texture = float32(0)
    for row in range(max(block_row - 1, 0), min(block_row + 2, down)):
        for col in range(max(block - 1, 0), min(block + 2, across)):
            low, high = min(low, blocks.low[row, col]), max(high, blocks.high[row, col])
            texture = max(texture, blocks.texture[row, col])
    least = float32(0.5 * TEXTURE * TEXTURE * 4 * grey * grey)  # squared; x alone, stored twice
    return low, high, high - low > float32(JUMP) and texture > least


@inner
def fill_margins(blocks, block_row, width, grey, sums):
    """By how much a label must be better than the surface, for the columns of a row of blocks: 0 near depth edges."""
    for block in range(blocks.low.shape[1]):
        _low, _high, is_edge = around_block(blocks, block_row, block, grey)
        margin = float32(0) if is_edge else float32(CLEARLY * 2 * grey * WINDOW)
        for x in range(block * BLOCK, min(block * BLOCK + BLOCK, width)):
            sums[3, x] = margin


@kernel
def choose_candidates(candidates: Candidates, blocks: Blocks, out: Map, line: DetailLine, crew: Crew) -> None:
    """The disparity of each pixel: the surface's, or the label's where it explains the images (clearly) better."""
    height, width, sums = out.values.shape[0], candidates.width, line.sums
    begin, end = share(crew, height, BLOCK)
    none, unknown, pad = splat(float32(0)), splat(float32(np.nan)), uint64(PAD)
    for y in range(begin, end):
        if y % BLOCK == 0:
            fill_margins(blocks, y // BLOCK, width, candidates.grey, sums)
        add_rows(candidates.gain, y, height, width, RADIUS, 1, sums, uint64(1), (0, width))
        row = uint64(y)
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            below = row + uint64(1)  # as above
            prefetch(out.values, below, x)
            prefetch(candidates.surface, below, x)
            prefetch(candidates.labels, below, x)
            margin, label = load(sums, uint64(3), x), load(candidates.labels, row, x)
            seen = load(candidates.votes, row, pad + x)  # NaN if only one camera sees the label
            better = add_columns(sums, uint64(1), x, RADIUS, 1) > margin
            better = better & ((seen == seen) | (margin == none))
            chosen = select(better, label, load(candidates.surface, row, x))
            store(out.values, row, x, chosen)
            store(candidates.votes, row, pad + x, select(seen == seen, chosen, label))
        store(candidates.votes, row, uint64(0), unknown)  # nobody votes from beyond the border
        store(candidates.votes, row, uint64(PAD + width), unknown)
        store(candidates.votes, row, uint64(PAD + width + LANES), unknown)
    meet(crew)
