"""The oracle of `dense`: which side pixels lie on that nobody has matched, and how sure they are.

Plain NumPy; nothing here is shared with the kernels.  Maps are float64 (height, width); unknown is NaN.
"""

import numpy as np

BLOCK = 8  # px
APART = 4  # blocks
AROUND = 3  # blocks
STEEP = 0.1  # px per px, if nothing tells
MORE, BEYOND, LEAST, DRAWN_NEAR = 1.25, 3.0, 1.5, 0.2
PATCH, FADE = 8.0, 16.0  # px
FLOOR, SLOPE, RANGE, CUT = 0.02, 24.0, 0.27, 8.0  # weights of the variance


def fill(disparity, known):
    """Disparities with the hidden ones on the far side, and the variance of all as if they were unknown, px^2.

    ``disparity`` has guesses where it is not ``known``.
    """
    filled = disparity.copy()
    distance = np.full(disparity.shape, 1e9)
    cut = np.zeros(disparity.shape)
    for y, row in enumerate(known):
        (columns,) = np.nonzero(row)
        for x in np.flatnonzero(~row):
            before, after = columns[columns < x], columns[columns > x]
            end = after[0] if after.size else len(row)
            distance[y, x] = min([x - at for at in before[-1:]] + [at - x for at in after[:1]], default=1e9)
            if before.size and after.size:
                left, right = disparity[y, before[-1]], disparity[y, end]
                step, value = right - left, disparity[y, x]
                is_hidden = step > LEAST and end - x <= MORE * step + BEYOND
                if is_hidden and left < value < right - DRAWN_NEAR * step:
                    filled[y, x] = left
            if not before.size:
                cut[y, x] = np.clip((end - filled[y, x] - PATCH) / FADE, 0, 1)
    steps, span, slope = around_blocks(disparity, known)
    height, width = disparity.shape
    in_blocks = [each.repeat(BLOCK, 0).repeat(BLOCK, 1)[:height, :width] for each in (steps, span)]
    distance = np.minimum(distance, BLOCK * in_blocks[0] + BLOCK / 2)
    variance = FLOOR + SLOPE * (slope * distance) ** 2 + RANGE * in_blocks[1] ** 2 + CUT * (cut * distance) ** 2
    return filled, variance


def around_blocks(disparity, known):
    """Of each block of 8x8 pixels: blocks to the next one with known pixels, and px, the range of disparities around
    that; and px per px, how disparities change.
    """
    height, width = disparity.shape
    pad = (0, -height % BLOCK), (0, -width % BLOCK)
    tiles = np.pad(np.where(known, disparity, np.nan), pad, constant_values=np.nan)
    tiles = tiles.reshape(tiles.shape[0] // BLOCK, BLOCK, tiles.shape[1] // BLOCK, BLOCK)
    is_known = ~np.isnan(tiles).all((1, 3))
    low = np.where(np.isnan(tiles), np.inf, tiles).min((1, 3))
    high = np.where(np.isnan(tiles), -np.inf, tiles).max((1, 3))

    middle = np.full(low.shape, np.nan)
    middle[is_known] = (low[is_known] + high[is_known]) / 2
    changes = [middle[:, APART:] - middle[:, :-APART], middle[APART:] - middle[:-APART]]
    roots = np.sqrt(np.abs(np.concatenate([change.ravel() for change in changes])))
    roots = roots[~np.isnan(roots)]
    slope = roots.mean() ** 2 / (APART * BLOCK) if roots.size else STEEP

    places = np.argwhere(is_known)
    ranges = [
        high[window].max() - low[window].min()
        for window in ((slice(max(y - AROUND, 0), y + AROUND + 1), slice(max(x - AROUND, 0), x + AROUND + 1))
                       for y, x in places)
    ]  # fmt: skip
    steps, span = np.full(is_known.shape, 1e9), np.zeros(is_known.shape)
    for y, x in np.ndindex(is_known.shape):
        if len(places):
            off = np.abs(places - (y, x))
            cost = 5 * (off.max(1) - off.min(1)) + 7 * off.min(1)  # fifths of a block, diagonal ones are 1.4
            steps[y, x] = cost.min() / 5
            span[y, x] = max(np.array(ranges)[cost == cost.min()])
    return steps, span, slope
