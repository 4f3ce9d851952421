"""The oracle of the labels: sixteen disparities at every pixel, between which neighbours agree.  Plain NumPy.

Nothing here is shared with the kernels.  Images are whole numbers (grey value x scale), maps (height, width) of one
level; unknown is NaN.  Label k of a pixel is the disparity ``top - k``.  Costs are whole numbers and agree exactly; the
few roundings of fractions are those of float32, as in the kernels.

`solve` at the end of the file puts the steps together.
"""

from typing import NamedTuple

import numpy as np

LABELS = 16
ABOVE = 7  # labels above the centre of those that are offered
NEAR = 2  # px of the coarser level around a pixel
WIDEST = 12  # px, the largest range of what is found there that labels are centred on
LEAST_EVIDENCE = 0.02
BIT_COSTS = 4  # where evidence is full
OUTSIDE_BITS = 36
FORBIDDEN = 4000
STEP, JUMP = 192, 960
JUMP_EDGE = 8  # grey levels
AGREEMENT = 1  # px


def shifted(image, down, right):
    """``image[y + down, x + right]``; the border repeats."""
    height, width = image.shape[:2]
    rows, columns = np.clip(np.arange(height) + down, 0, height - 1), np.clip(np.arange(width) + right, 0, width - 1)
    return image[rows][:, columns]


# --- What the images say --------------------------------------------------------------------------------------------


def codes(image):
    """Which of sixteen neighbours are brighter, 1 and 2 px away: bool, (height, width, 16), row by row."""
    places = [(radius * j, radius * i) for radius in (1, 2) for j in (-1, 0, 1) for i in (-1, 0, 1) if (i, j) != (0, 0)]
    return np.stack([shifted(image, *place) > image for place in places], -1)


def evidence(left, seen_left, scale, noise):
    """128ths: texture along x, over 5x5 pixels, over itself and noise; 0 where the camera saw nothing."""
    squares = (shifted(left, 0, 1) - shifted(left, 0, -1)) ** 2
    total = sum(shifted(squares, j, i) for j in range(-2, 3) for i in range(-2, 3)).astype(np.float32)
    with np.errstate(invalid="ignore"):
        part = np.nan_to_num(total / (total + np.float32(25 * (2 * scale * noise) ** 2)))
    return np.where(seen_left, np.floor(128 * np.maximum(part, np.float32(LEAST_EVIDENCE)) + 0.5), 0).astype(int)


def jumps(left, scale):
    """Cost of a jump between a pixel and its neighbour on the right, and below: half where the image has an edge."""
    edge = round(JUMP_EDGE * scale)
    both = (np.abs(shifted(left, *place) - left) for place in ((0, 1), (1, 0)))
    return [np.maximum(JUMP * edge // (edge + step), STEP + STEP // 8) for step in both]


# --- Which disparities are tried ------------------------------------------------------------------------------------


def fill_from_background(disparity):
    """The smaller of the nearest known disparities to the left and right; rows without any take the next one above,
    else below; 0 if nothing is known at all.
    """
    filled = np.array(disparity, np.float32)
    for y, x in zip(*np.nonzero(np.isnan(disparity))):
        before, after = (side[~np.isnan(side)] for side in (disparity[y, :x], disparity[y, x + 1 :]))
        beside = [*before[-1:], *after[:1]]
        filled[y, x] = min(beside) if beside else np.nan
    known = [y for y, row in enumerate(filled) if not np.isnan(row).any()]
    for y in range(len(filled)):
        if known and y not in known:
            filled[y] = filled[max((k for k in known if k < y), default=known[0])]
    return filled if known else np.zeros_like(filled)


def offered(filled, smallest, largest):
    """Largest label that each pixel of the coarser level offers to those below it, px of the finer level."""
    near = [shifted(filled, j, i) for j in range(-NEAR, NEAR + 1) for i in range(-NEAR, NEAR + 1)]
    low, high = np.min(near, 0), np.max(near, 0)
    centre = np.where(2 * (high - low) <= WIDEST, low + high, 2 * filled)
    return np.clip(np.floor(centre + np.float32(0.5)).astype(int) + ABOVE, smallest, largest + LABELS - 1)


def tops_of(offers, shape):
    """Largest label of each pixel; some label lies in the right image."""
    (height, width), x = shape, np.arange(shape[1])
    tops = offers[np.arange(height) // 2][:, x // 2]
    return np.clip(tops, x - width + 1, x + LABELS - 1)


# --- Costs and messages ---------------------------------------------------------------------------------------------


def differing_bits(codes_left, codes_right, tops):
    """Differing bits over 3x3 pixels, (height, width, 16)."""
    height, width = tops.shape
    rows, columns = np.arange(height)[:, None], np.arange(width)
    bits = np.zeros((height, width, LABELS), int)
    for k in range(LABELS):
        for j in (-1, 0, 1):
            for i in (-1, 0, 1):
                beside = np.clip(rows + j, 0, height - 1)
                here, there = (np.clip(x + i, 0, width - 1) for x in (columns, columns - tops + k))
                bits[..., k] += (codes_left[beside, here] != codes_right[beside, there]).sum(-1)
    return bits


def costs_of(bits, weight, tops, seen_right, smallest, largest):
    """What each label costs by itself; one beyond the limits may win."""
    height, width = tops.shape
    disparity = tops[..., None] - np.arange(LABELS)
    match = np.arange(width)[:, None] - disparity
    inside = (match >= 0) & (match < width)
    inside &= seen_right[np.arange(height)[:, None, None], np.clip(match, 0, width - 1)]
    cost = np.where(inside, bits, OUTSIDE_BITS) * weight[..., None] * BIT_COSTS // 128
    return np.where((disparity >= smallest - 1) & (disparity <= largest + 1), cost, FORBIDDEN)


def label_costs(path, index):
    """``path[..., index]``; infinite beyond the labels."""
    inside = (index >= 0) & (index < LABELS)
    return np.where(inside, np.take_along_axis(path, np.clip(index, 0, LABELS - 1), -1), np.inf)


def along_rows(costs, tops, jump):
    """Cost of the cheapest path from the left to each label; ``jump``: between a pixel and the next."""
    paths = costs.astype(float)
    for x in range(1, costs.shape[1]):
        before = paths[:, x - 1] - paths[:, x - 1].min(-1, keepdims=True)
        same = np.arange(LABELS) + (tops[:, x - 1] - tops[:, x])[:, None]  # the label of the same disparity
        beside = np.minimum(label_costs(before, same - 1), label_costs(before, same + 1)) + STEP
        paths[:, x] += np.minimum(np.minimum(label_costs(before, same), beside), jump[:, x - 1, None])
    return paths


def messages(costs, tops, jump_right, jump_down):
    """What labels cost along the paths to the right, to the left, down and up."""
    rightward = along_rows(costs, tops, jump_right)
    leftward = along_rows(costs[:, ::-1], tops[:, ::-1], jump_right[:, -2::-1])[:, ::-1]
    across, turned, jump = costs.swapaxes(0, 1), tops.T, jump_down.T
    downward = along_rows(across, turned, jump).swapaxes(0, 1)
    upward = along_rows(across[:, ::-1], turned[:, ::-1], jump[:, -2::-1])[:, ::-1].swapaxes(0, 1)
    return [each.astype(int) for each in (rightward, leftward, downward, upward)]


def pass_messages(costs, tops, jump_right, jump_down):
    """Sum of the paths from all four sides."""
    return sum(messages(costs, tops, jump_right, jump_down))


# --- Choice ---------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """The cheapest label of every pixel."""

    label: np.ndarray  # px
    least: np.ndarray  # its cost
    disparity: np.ndarray  # px, with a fraction


def choose(totals, tops):
    """The cheapest label, the first of equals, and its place by a parabola; no fraction at the end of the labels."""
    best = totals.argmin(-1)
    before, least, after = (label_costs(totals, best[..., None] + k)[..., 0] for k in (-1, 0, 1))
    bend = before + after - 2 * least
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where((bend > 0) & np.isfinite(bend), (before - after) / 2 / bend, 0).astype(np.float32)
    return Choice(tops - best, least.astype(int), (tops - best).astype(np.float32) - fraction)


def median(disparity):
    """Of 3x3 pixels; the border repeats."""
    return np.median([shifted(disparity, j, i) for j in (-1, 0, 1) for i in (-1, 0, 1)], 0)


def seen_by_both(choice, seen_left, seen_right, smallest, largest):
    """Is the match of a pixel in the right image, allowed, seen, and not better matched by another disparity?"""
    height, width = choice.label.shape
    known = np.zeros((height, width), bool)
    for y in range(height):
        matches = np.arange(width) - choice.label[y]
        allowed = (choice.label[y] >= smallest) & (choice.label[y] <= largest)
        valid = np.flatnonzero((matches >= 0) & (matches < width) & allowed)
        claims = {}
        for x in valid:
            claims.setdefault(matches[x], []).append((choice.least[y, x], choice.label[y, x]))
        for x in valid:
            _, winner = min(claims[matches[x]])
            known[y, x] = abs(winner - choice.label[y, x]) <= AGREEMENT
            known[y, x] &= seen_left[y, x] and seen_right[y, matches[x]]
    return known


# --- Everything -----------------------------------------------------------------------------------------------------


def limits_of(settings, number, width):
    """Smallest and largest disparity of a level, px of the level."""
    px = 2**number
    largest = width if settings.max_disparity is None else np.ceil(settings.max_disparity / px)
    furthest = width + LABELS  # beyond there is no image
    return [int(np.clip(limit, -furthest, furthest)) for limit in (np.floor(settings.min_disparity / px), largest)]


def solve(left, right, seen_left, seen_right, coarser, smallest, largest, scale, noise):
    """Disparity of a level, px of the level; NaN where only one camera sees."""
    left, right = (np.asarray(image).astype(int) for image in (left, right))
    tops = tops_of(offered(fill_from_background(coarser), smallest, largest), left.shape)
    bits = differing_bits(codes(left), codes(right), tops)
    costs = costs_of(bits, evidence(left, seen_left, scale, noise), tops, seen_right, smallest, largest)
    choice = choose(pass_messages(costs, tops, *jumps(left, scale)), tops)
    known = seen_by_both(choice, seen_left, seen_right, smallest, largest)
    return np.where(known, np.clip(median(choice.disparity), smallest, largest), np.nan)
