"""Messages of neighbours about their labels: along rows and columns, and which label is the cheapest then.

A path goes from pixel to pixel; what a label costs along it is its own cost and the least of what it takes to come from
a label of the pixel before.  The pixels below one of the coarser level have the same labels, two by two: from the first
to the second of them a path stays in a register.
"""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import kernel
from ...vector.simd import (
    LANES,
    gather_short_pairs,
    lane_numbers,
    larger,
    load,
    load_shorts,
    mask_bits,
    select,
    slide,
    smaller,
    smallest_short,
    splat,
    splat_short,
    store,
    to_float,
    trailing_zeros,
)
from .label_images import LabelImages
from .labels import ABREAST, NEVER, SLOT, WALL, LabelCosts, fill_costs
from .layout import PAD


@inner
def come_from(paths, slot, offset, step, jump):
    """What it costs to come to the labels of a pixel, which lie ``offset`` below those of the pixel before."""
    at, one = uint64(min(max(offset, -WALL + 1), WALL - 1) + WALL), uint64(1)
    beside = smaller(load_shorts(paths, slot, at - one), load_shorts(paths, slot, at + one)) + step
    return smaller(smaller(load_shorts(paths, slot, at), beside), splat_short(jump))


@inner
def come_from_alike(path, step, jump):
    """The same from a pixel with the same labels."""
    wall = splat_short(NEVER)
    beside = smaller(slide(wall, path, 15), slide(path, wall, 1)) + step
    return smaller(smaller(path, beside), splat_short(jump))


@inner
def less_smallest(value):
    """A path as the next pixel needs it."""
    return value - smallest_short(value)


@inner
def clear_paths(paths, begin, end):
    """Paths that have not begun: any label may be the first, and beyond them there is none."""
    wall = splat_short(NEVER)
    for slot in range(uint64(begin), uint64(end)):
        for k in range(uint64(0), uint64(SLOT), uint64(LANES)):
            store(paths, slot, k, wall)
        store(paths, slot, uint64(WALL), splat_short(0))


@inner
def go_on(costs, slot, pixel, own_top, top_before, step, jump, is_first):
    """One step of a path along a row, through memory; adds what it costs to the totals."""
    zero = uint64(0)
    value = load_shorts(costs.costs, pixel, zero)
    value = value + come_from(costs.row_paths, slot, int64(top_before) - int64(own_top), step, jump)
    store(costs.row_paths, slot, uint64(WALL), less_smallest(value))
    store(costs.totals, pixel, zero, value if is_first else load_shorts(costs.totals, pixel, zero) + value)


@inner
def go_on_twice(costs, slot, pixel, next_pixel, own_top, top_before, step, jump, next_jump, is_first):
    """Two steps, to pixels with the same labels."""
    zero = uint64(0)
    value = load_shorts(costs.costs, pixel, zero)
    value = value + come_from(costs.row_paths, slot, int64(top_before) - int64(own_top), step, jump)
    store(costs.totals, pixel, zero, value if is_first else load_shorts(costs.totals, pixel, zero) + value)
    value = load_shorts(costs.costs, next_pixel, zero) + come_from_alike(less_smallest(value), step, next_jump)
    store(costs.row_paths, slot, uint64(WALL), less_smallest(value))
    store(costs.totals, next_pixel, zero, value if is_first else load_shorts(costs.totals, next_pixel, zero) + value)


@inner
def pass_to_the_right(images, costs, head, rows, base):
    """Messages to the right along ``rows`` rows from ``head`` on, abreast."""
    jumps, top, step = images.jump_right, costs.top, splat_short(images.step)
    one, columns = uint64(1), uint64(images.width)
    clear_paths(costs.row_paths, base, base + rows)
    for x in range(uint64(0), columns, uint64(2)):
        before = x - one if x > uint64(0) else x
        for k in range(rows):
            y, slot = head + k, base + k
            pixel, own_top = y * columns + x, top[y, x]
            if x + one < columns and top[y, x + one] == own_top:
                go_on_twice(
                    costs, slot, pixel, pixel + one, own_top, top[y, before], step, jumps[y, before], jumps[y, x], True
                )
                continue
            go_on(costs, slot, pixel, own_top, top[y, before], step, jumps[y, before], True)
            if x + one < columns:
                go_on(costs, slot, pixel + one, top[y, x + one], own_top, step, jumps[y, x], True)


@inner
def pass_to_the_left(images, costs, head, rows, base):
    """Messages to the left along ``rows`` rows from ``head`` on, abreast."""
    jumps, top, step = images.jump_right, costs.top, splat_short(images.step)
    one, columns = uint64(1), uint64(images.width)
    clear_paths(costs.row_paths, base, base + rows)
    after = (columns + one) // uint64(2) * uint64(2)
    while after > uint64(0):
        after -= uint64(2)
        x = after
        before = min(x + uint64(2), columns - one)
        for k in range(rows):
            y, slot = head + k, base + k
            pixel, top_before = y * columns + x, top[y, before]
            if x + one < columns and top[y, x + one] == top[y, x]:
                go_on_twice(
                    costs, slot, pixel + one, pixel, top[y, x], top_before, step, jumps[y, x + one], jumps[y, x], False
                )
                continue
            if x + one < columns:
                go_on(costs, slot, pixel + one, top[y, x + one], top_before, step, jumps[y, x + one], False)
                top_before = top[y, x + one]
            go_on(costs, slot, pixel, top[y, x], top_before, step, jumps[y, x], False)


@inner
def pass_down(images, costs, top_row, bottom, begin, end):
    """Messages down columns ``begin`` to ``end - 1`` of rows ``top_row`` (even) to ``bottom - 1``."""
    jumps, top, paths, zero, one = images.jump_down, costs.top, costs.column_paths, uint64(0), uint64(1)
    step, columns, volume, totals = splat_short(images.step), uint64(images.width), costs.costs, costs.totals
    for y in range(uint64(top_row), uint64(bottom), uint64(2)):
        before, has_lower = y - one if y > zero else zero, y + one < uint64(bottom)
        for x in range(uint64(begin), uint64(end)):
            pixel = y * columns + x
            offset = int64(top[before, x]) - int64(top[y, x])
            value = load_shorts(volume, pixel, zero) + come_from(paths, x, offset, step, jumps[before, x])
            store(totals, pixel, zero, load_shorts(totals, pixel, zero) + value)
            if has_lower:
                pixel += columns
                value = less_smallest(value)
                value = load_shorts(volume, pixel, zero) + come_from_alike(value, step, jumps[y, x])
                store(totals, pixel, zero, load_shorts(totals, pixel, zero) + value)
            store(paths, x, uint64(WALL), less_smallest(value))


@kernel
def pass_along_rows(images: LabelImages, costs: LabelCosts, has_hidden: bool, crew: Crew) -> None:
    """Costs of all labels, and messages to the right and to the left; by a single thread also those down."""
    height, width = images.left.shape[0], images.width
    begin, end = share(crew, height, ABREAST)
    base = uint64(crew.member * ABREAST)
    if crew.count == 1:
        clear_paths(costs.column_paths, 0, width)
    for first in range(begin, end, ABREAST):
        last = min(first + ABREAST, end)
        for y in range(first, last, 2):
            fill_costs(images, costs, y, has_hidden)
        pass_to_the_right(images, costs, uint64(first), uint64(last - first), base)
        pass_to_the_left(images, costs, uint64(first), uint64(last - first), base)
        if crew.count == 1:  # while these rows are in the cache
            pass_down(images, costs, first, last, 0, width)
    meet(crew)


@inner
def place_labels(costs, y, begin, end, slot):
    """The labels that were chosen in columns ``begin`` to ``end`` of row ``y``: their cost, and their place by the
    parabola through their neighbours'.  What all labels of the row cost begins in row ``slot`` of ``costs.sums``.
    """
    row, first, last, sixteen = uint64(y), splat(int32(0)), splat(int32(LANES - 1)), splat(int32(16))
    one, half, none = splat(int32(1)), splat(float32(0.5)), splat(float32(0))
    for x in range(uint64(begin), uint64(end), uint64(LANES)):
        label = load(costs.label, row, x)
        best = load(costs.top, row, x) - label
        inner_best = smaller(larger(best, one), last - one)  # so that it has two neighbours
        lane = smaller(lane_numbers(), splat(int32(end - 1 - int64(x))))  # the last sixteen may be fewer
        at = lane * sixteen + inner_best
        before = gather_short_pairs(costs.sums, slot + x, at - one)
        after = gather_short_pairs(costs.sums, slot + x, at)
        least = select(best == last, after >> sixteen, (after << sixteen) >> sixteen)
        least = select(best == first, (before << sixteen) >> sixteen, least)
        a, c = (before << sixteen) >> sixteen, after >> sixteen
        bend = to_float(a + c - least - least)
        is_parabola = (best > first) & (best < last) & (bend > none)
        fraction = select(is_parabola, half * to_float(a - c) / bend, none)
        store(costs.least, row, x, least)
        store(costs.chosen, row, uint64(PAD) + x, to_float(label) - fraction)


@inner
def choose_label(costs, y, x, slot, value):
    """The cheapest label of a pixel, once the last message is there."""
    zero = uint64(0)
    total = load_shorts(costs.totals, y * uint64(costs.column_paths.shape[0]) + x, zero) + value
    store(costs.sums, slot + x, zero, total)
    best = trailing_zeros(mask_bits(total <= smallest_short(total)))  # the first of equals
    costs.label[y, x] = int64(costs.top[y, x]) - best


@kernel
def pass_along_columns(images: LabelImages, costs: LabelCosts, crew: Crew) -> None:
    """Messages down, if they are missing, and up, and the cheapest label of every pixel."""
    width, rows, jumps, top = images.width, uint64(images.left.shape[0]), images.jump_down, costs.top
    begin, end = share(crew, width, LANES)
    volume, paths = costs.costs, costs.column_paths
    zero, one, step, columns = uint64(0), uint64(1), splat_short(images.step), uint64(width)
    if crew.count > 1:
        clear_paths(paths, begin, end)
        pass_down(images, costs, 0, images.left.shape[0], begin, end)
    clear_paths(paths, begin, end)
    after = (rows + one) // uint64(2) * uint64(2)
    while after > zero:
        after -= uint64(2)
        y, has_lower = after, after + one < rows
        lower = y + one if has_lower else y
        before = min(lower + one, rows - one)
        for x in range(uint64(begin), uint64(end)):
            offset = int64(top[before, x]) - int64(top[lower, x])
            value = load_shorts(volume, lower * columns + x, zero)
            value = value + come_from(paths, x, offset, step, jumps[lower, x])
            choose_label(costs, lower, x, columns, value)
            if has_lower:
                value = load_shorts(volume, y * columns + x, zero) + come_from_alike(
                    less_smallest(value), step, jumps[y, x]
                )
                choose_label(costs, y, x, zero, value)
            store(paths, x, uint64(WALL), less_smallest(value))
        place_labels(costs, lower, begin, end, columns)
        if has_lower:
            place_labels(costs, y, begin, end, zero)
    meet(crew)
