"""Highlights lie on the surface around them.

Wet tissue mirrors the lamp.  Both cameras see the mirror image sharply, and it matches well, but at a distance of its
own, before or behind the tissue.  So patches that hold saturated pixels do not count: the surface, which is drawn
through the others, is not dented by them.  Where large parts of the picture are saturated it is overexposed, and that
is no highlight.

At full resolution, how far a highlight lies from its surroundings tells: a plane is fitted to the blocks of 8x8 pixels
around, at a similar disparity, that have no saturated pixel near them.  Pixels near a saturated one go to this plane,
the more the further they lie from it compared with how far the surroundings scatter about it.  What lies far off stays:
that is another thing, such as an instrument.  Where patches were left out and nothing is known, the plane is.
"""

import math

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, Ints, Record, Shorts, kernel
from ...vector.simd import LANES, lane_numbers, load, mask_bits, select, splat, store, sum_lanes
from .detail import BLOCK, DetailLine
from .doubt import BLANK
from .layout import PAD, ROWS, Map, Maps
from .patches import Patches
from .pyramid import Image, Seen, Views

# What changing these does to the mean error on some glossy rendered scenes, on real tissue and on Motorcycle, whose
# white things are no highlights; without this step: +16, +1.7, -2.1 %.  Figures of the plane are of before patches were
# left out.
SATURATED = 250.0  # grey levels; 253: 0, 0, 0 %
AREA = 16  # px of the level, side of the squares whose saturated pixels are counted
# Share of saturated pixels in 3x3 such squares from which on they are no highlights; 0.05: +1, 0, 0 %, 0.25: 0, 0, 0 %
# and 0.3 % fewer pixels of set 31, parts of which are overexposed.
OVEREXPOSED = 0.1
BRIM = 2  # px of the level, how near to a patch saturated pixels may not be; 1: +3, +0.2, +0.2 %
RING = 6  # px, pixels this near to a saturated one belong to the highlight, 4 to 7; 5: 0, 0, -0.4 %, 7: 0, 0, +0.4 %
EVERY = 2  # of the rows of a block that are averaged
REACH = 4  # blocks to all sides that are the surroundings; 6: 0, +0.2, 0 %
NEAR = 3.0  # px, what lies further from the highlight is another thing; 1.5: +4, +0.2, 0 %
FEWEST = 600  # pixels that surroundings must have, in every second row; 75: 0, +0.1, +0.1 %, 1200: +4, +0.5, 0 %
HALF = 4.0  # square of the distance in blocks at which surroundings have half a say; 16: 0, +0.1, 0 %
# px^2, variance of the surroundings up to which a highlight of which nothing is known lies on the plane; 0.25: 0, +0.1,
# 0 % and 0.5 % fewer pixels of real tissue.
FLAT = 1.0
# How unsure pixels on the plane are: times the variance of the surroundings, and the square of how far they moved; 3
# and 0.1: 0.2 % fewer of the errors of glossy scenes in their interval of 95 %.
UNSURE = 10.0
MOVED = 0.3
SCATTER = 6.0  # variances of the surroundings, as far from the plane a pixel goes half of the way; 3: 0, +0.2, +0.2 %


class BrightAreas(Record):
    """Where an image is saturated.

    Attributes
    ----------
    counts : ndarray of int32, shape (h / 16, w / 16)
        How many pixels of 16x16 of the left image are.
    patch_size : int
        px of the level.
    threshold : int
        Grey value of saturated pixels as stored.
    """

    counts: Ints
    patch_size: int
    threshold: int


class BrightColumns(Record):
    """Room for one thread.

    Attributes
    ----------
    counts : ndarray of int32, shape (2, map stride)
        How many of the columns before each hold saturated pixels, in the rows of a patch; left and right image.
    """

    counts: Ints


class Highlights(Record):
    """Blocks of 8x8 pixels, shape (blocks down, blocks across).

    Attributes
    ----------
    is_bright : ndarray of uint8
        1 = has saturated pixels.
    count : ndarray of float32
        Known pixels that were averaged; 0 near saturated ones.
    total : ndarray of float32
        px, sum of their disparities.
    gradient : ndarray of int16, shape (h, image stride)
        That of the left image; what goes to the plane becomes ``BLANK``, as it does not tell where the surface is.
    threshold : int
        Grey value of saturated pixels as stored.
    """

    is_bright: Bytes
    count: Floats
    total: Floats
    gradient: Shorts
    threshold: int


class HighlightLine(Record):
    """Room for one thread.

    Attributes
    ----------
    rows : ndarray of int32, shape (1, 32)
        A bit for each column of a block that has a saturated pixel near it in the same row; of the rows of the block,
        ``RING`` above and ``RING`` below.
    """

    rows: Ints


@inner
def count_bright_columns(image, first, stop, width, threshold, counts, which):
    """Count the columns with saturated pixels in rows ``first`` to ``stop - 1``; returns how many there are."""
    bright, side, total = splat(int32(threshold)), uint64(which), 0
    for x in range(0, width, LANES):
        is_inside = lane_numbers() + splat(int32(x)) < splat(int32(width))
        bits = int64(0)
        for y in range(uint64(first), uint64(stop)):
            bits |= int64(mask_bits((load(image, y, uint64(PAD + x)) >= bright) & is_inside))
        for k in range(LANES):
            counts[side, uint64(x + k)] = total
            total += bits >> k & 1
    counts[side, uint64(width)] = total
    return total


@inner
def has_bright_columns(counts, which, first, stop, width):
    """Are there saturated pixels in columns ``first`` to ``stop - 1``?"""
    first, stop = min(max(first, 0), width), min(max(stop, 0), width)
    return counts[uint64(which), uint64(stop)] > counts[uint64(which), uint64(first)]


@inner
def count_bright_areas(image, counts, row, width, threshold):
    """Count the saturated pixels of one row of squares."""
    bright, height = splat(int32(threshold)), image.shape[0]
    for k in range(counts.shape[1]):
        is_inside = lane_numbers() + splat(int32(k * AREA)) < splat(int32(width))
        count = splat(float32(0))
        for y in range(uint64(row * AREA), uint64(min(row * AREA + AREA, height))):
            is_bright = (load(image, y, uint64(PAD + k * AREA)) >= bright) & is_inside
            count += select(is_bright, splat(float32(1)), splat(float32(0)))
        counts[uint64(row), uint64(k)] = int32(sum_lanes(count))


@inner
def is_overexposed(counts, y, x):
    """Are large parts of the surroundings of a pixel saturated?"""
    total = squares = 0
    for row in range(max(y // AREA - 1, 0), min(y // AREA + 2, counts.shape[0])):
        for col in range(max(x // AREA - 1, 0), min(x // AREA + 2, counts.shape[1])):
            total, squares = total + counts[uint64(row), uint64(col)], squares + 1
    return total > OVEREXPOSED * AREA * AREA * squares


@kernel
def leave_out_highlights(
    views: Views, patches: Patches, areas: BrightAreas, columns: BrightColumns, crew: Crew
) -> None:
    """Reject the patches that hold saturated pixels, in the left image or where they were found in the right one."""
    height, width, size, counts = views.left.shape[0], views.width, areas.patch_size, columns.counts
    begin, end = share(crew, areas.counts.shape[0], 1)
    for k in range(begin, end):
        count_bright_areas(views.left, areas.counts, k, width, areas.threshold)
    if not meet(crew):
        return
    begin, end = share(crew, patches.rows.shape[1], ROWS)
    for i in range(begin, end):
        row, top = uint64(i), int64(patches.rows[0, uint64(i)])
        first, stop = max(top - BRIM, 0), min(top + size + BRIM, height)
        found = count_bright_columns(views.left, first, stop, width, areas.threshold, counts, 0)
        found += count_bright_columns(views.right, first, stop, width, areas.threshold, counts, 1)
        if found == 0:
            continue
        for j in range(uint64(patches.cols.shape[1] - LANES)):
            if patches.probability[row, j] == 0:
                continue
            left = int64(patches.cols[0, j])
            right = int64(math.floor(left - patches.disparity[row, j]))
            is_bright = has_bright_columns(counts, 0, left - BRIM, left + size + BRIM, width)
            is_bright |= has_bright_columns(counts, 1, right - BRIM, right + 1 + size + BRIM, width)
            if is_bright and not is_overexposed(areas.counts, top + size // 2, left + size // 2):
                patches.probability[row, j] = 0
    meet(crew)


@inner
def mark_bright(pixels, highlights, top, bottom, width):
    """Which blocks of one row of blocks have saturated pixels."""
    is_bright, threshold = highlights.is_bright, splat(int32(highlights.threshold))
    block_row, across = uint64(top // BLOCK), int64(is_bright.shape[1])
    for x in range(0, width, LANES):
        inside = lane_numbers() + splat(int32(x)) < splat(int32(width))
        bits = int64(0)
        for y in range(uint64(top), uint64(bottom)):
            bits |= int64(mask_bits((load(pixels, y, uint64(PAD + x)) >= threshold) & inside))
        block = x // BLOCK
        is_bright[block_row, uint64(block)] = bits & 255 != 0
        if block + 1 < across:
            is_bright[block_row, uint64(block + 1)] = bits >> 8 & 255 != 0


@inner
def has_bright(is_bright, block_row, block, reach):
    """Has a block, or one of those around it, saturated pixels?"""
    down, across = is_bright.shape
    for row in range(max(block_row - reach, 0), min(block_row + reach + 1, down)):
        for col in range(max(block - reach, 0), min(block + reach + 1, across)):
            if is_bright[uint64(row), uint64(col)]:
                return True
    return False


@inner
def rows_have_bright(is_bright, block_row, reach):
    """Has a row of blocks, or one of those around it, saturated pixels?"""
    down, across = is_bright.shape
    for row in range(max(block_row - reach, 0), min(block_row + reach + 1, down)):
        for col in range(uint64(across)):
            if is_bright[uint64(row), col]:
                return True
    return False


@inner
def average_blocks(known, disparity, highlights, top, bottom, width, sums):
    """Disparities of the blocks of one row of blocks, but of those near saturated pixels."""
    zero, one, block_row, x = splat(float32(0)), splat(float32(1)), top // BLOCK, 0
    while x < width:
        x = min(x, width - LANES)  # the last sixteen overlap: rows of the result follow each other
        total = count = zero
        for y in range(uint64(top), uint64(bottom), uint64(EVERY)):
            value, found = load(disparity, y, uint64(x)), load(known, y, uint64(x))
            total, count = total + select(found == found, value, zero), count + select(found == found, one, zero)
        store(sums, uint64(1), uint64(x), total)
        store(sums, uint64(2), uint64(x), count)
        x += LANES
    for first in range(0, width, BLOCK):
        block = first // BLOCK
        of_block = number = float32(0)
        if not has_bright(highlights.is_bright, block_row, block, 1):
            for column in range(uint64(first), uint64(min(first + BLOCK, width))):
                of_block, number = of_block + sums[uint64(1), column], number + sums[uint64(2), column]
        highlights.total[block_row, block], highlights.count[block_row, block] = of_block, number


@inner
def find_ring(pixels, threshold, top, left, height, rows):
    """For the rows around a block, a bit for each of its columns that has a saturated pixel near it in that row."""
    for k in range(BLOCK + 2 * RING):
        y = top - RING + k
        near = int64(0)
        if 0 <= y < height:
            at, row = uint64(PAD + left - RING), uint64(y)
            first = load(pixels, row, at) >= splat(int32(threshold))
            second = load(pixels, row, at + uint64(LANES)) >= splat(int32(threshold))
            near = int64(mask_bits(first)) | int64(mask_bits(second)) << 16
            near |= near >> 1  # of two columns, of four, of eight, and of 2 RING + 1
            near |= near >> 2
            near |= near >> 4
            near |= near >> (2 * RING - 7)
        rows[uint64(0), uint64(k)] = near & 255


@inner
def ring_of_row(rows, k):
    """A bit for each column of a block that belongs to a highlight in its row ``k``."""
    found = int64(0)
    for j in range(2 * RING + 1):
        found |= int64(rows[uint64(0), uint64(k + j)])
    return found


@inner
def mean_of_highlight(disparity, top, left, bottom, right, rows):
    """Mean disparity of the pixels of a block that belong to a highlight, and their number."""
    total, count = 0.0, 0
    for y in range(top, bottom):
        ring = ring_of_row(rows, y - top)
        for x in range(left, right):
            if ring >> (x - left) & 1:
                total, count = total + disparity[uint64(y), uint64(x)], count + 1
    return total / max(count, 1), count


@inner
def fit_plane(highlights, block_row, block, mean):
    """Plane through the surroundings of a block that lie near ``mean``.

    Its value in the middle of the block, its slopes per block along x and y, and the mean square of what it leaves; and
    how many pixels there were.
    """
    down, across = highlights.count.shape
    weights = sum_x = sum_y = sum_v = xx = xy = yy = xv = yv = vv = number = 0.0
    for row in range(max(block_row - REACH, 0), min(block_row + REACH + 1, down)):
        for col in range(max(block - REACH, 0), min(block + REACH + 1, across)):
            count = float(highlights.count[uint64(row), uint64(col)])
            if count == 0.0:
                continue
            value = highlights.total[uint64(row), uint64(col)] / count - mean
            if abs(value) > NEAR:
                continue
            x, y = float(col - block), float(row - block_row)
            weight = count / (1.0 + (x * x + y * y) / HALF)
            weights, number = weights + weight, number + count
            sum_x, sum_y, sum_v = sum_x + weight * x, sum_y + weight * y, sum_v + weight * value
            xx, xy, yy = xx + weight * x * x, xy + weight * x * y, yy + weight * y * y
            xv, yv, vv = xv + weight * x * value, yv + weight * y * value, vv + weight * value * value
    if number < FEWEST:
        return 0.0, 0.0, 0.0, 0.0, number
    mid_x, mid_y, mid_v = sum_x / weights, sum_y / weights, sum_v / weights
    xx, xy, yy = xx / weights - mid_x * mid_x, xy / weights - mid_x * mid_y, yy / weights - mid_y * mid_y
    xv, yv, vv = xv / weights - mid_x * mid_v, yv / weights - mid_y * mid_v, vv / weights - mid_v * mid_v
    xx, yy = xx + 1e-3, yy + 1e-3  # blocks in one row fix no slope down
    determinant = xx * yy - xy * xy
    slope_x, slope_y = (yy * xv - xy * yv) / determinant, (xx * yv - xy * xv) / determinant
    rest = max(vv - slope_x * xv - slope_y * yv, 0.0)
    return mean + mid_v - slope_x * mid_x - slope_y * mid_y, slope_x, slope_y, rest, number


@inner
def settle_block(known, disparity, seen, has_hidden, gradient, top, left, bottom, right, rows, plane):
    """Move the pixels of a block that belong to a highlight towards the plane.

    Unknown ones are known from then on if the surroundings are flat and both cameras may see them.
    """
    middle, slope_x, slope_y, rest, _number = plane
    for y in range(top, bottom):
        ring = ring_of_row(rows, y - top)
        for x in range(left, right):
            if not ring >> (x - left) & 1:
                continue
            row, column = uint64(y), uint64(x)
            is_known = known.disparity[row, column] == known.disparity[row, column]
            if not is_known and (rest > FLAT or (has_hidden and not seen[row, PAD + column])):
                continue
            place_x, place_y = (x - left + 0.5) / BLOCK - 0.5, (y - top + 0.5) / BLOCK - 0.5
            target = middle + slope_x * place_x + slope_y * place_y
            apart = disparity[row, column] - target
            if not abs(apart) <= NEAR or (not is_known and x < target):
                continue
            stays = 1.0 / (1.0 + apart * apart / (SCATTER * rest + 1e-9))
            disparity[row, column] = float32(target + stays * apart)
            gradient[row, PAD + column] = BLANK
            # Until it is judged, the probability is the variance of the surface.
            own = known.probability[row, column] if is_known else float32(0)
            known.probability[row, column] = own + float32(UNSURE * rest + MOVED * apart * apart)
            known.disparity[row, column] = disparity[row, column]


@kernel
def settle_highlights(
    left: Image, seen: Seen, has_hidden: bool, known: Maps, out: Map, highlights: Highlights, line: DetailLine,
    ring: HighlightLine, crew: Crew,
) -> None:  # fmt: skip
    """Highlights of ``out`` go to the surface around them.

    The surroundings are pixels that ``known`` knows.  In place of its probability it has the variance of the surface,
    px^2.
    """
    height, width, is_bright = out.values.shape[0], out.width, highlights.is_bright
    begin, end = share(crew, height, BLOCK)
    for top in range(begin, end, BLOCK):
        mark_bright(left.pixels, highlights, top, min(top + BLOCK, height), width)
    if not meet(crew):
        return
    for top in range(begin, end, BLOCK):
        if rows_have_bright(is_bright, top // BLOCK, REACH + 1):
            average_blocks(known.disparity, out.values, highlights, top, min(top + BLOCK, height), width, line.sums)
    if not meet(crew):
        return
    for top in range(begin, end, BLOCK):
        block_row, bottom = top // BLOCK, min(top + BLOCK, height)
        if not rows_have_bright(is_bright, block_row, 1):
            continue
        for block in range(is_bright.shape[1]):
            if not has_bright(is_bright, block_row, block, 1):
                continue
            first, last = block * BLOCK, min(block * BLOCK + BLOCK, width)
            find_ring(left.pixels, highlights.threshold, top, first, height, ring.rows)
            mean, count = mean_of_highlight(out.values, top, first, bottom, last, ring.rows)
            if count > 0:
                plane = fit_plane(highlights, block_row, block, mean)
                if plane[4] >= FEWEST:
                    settle_block(
                        known, out.values, seen.mask, has_hidden, highlights.gradient, top, first, bottom, last,
                        ring.rows, plane,
                    )  # fmt: skip
    meet(crew)
