"""The oracle of highlights: patches that hold them do not count, and they lie on the surface around them.

Plain NumPy; nothing here is shared with the kernels.  Images are (height, width) in steps of 1 / scale grey levels,
maps float64; unknown is NaN.
"""

from typing import NamedTuple

import numpy as np

from tests.naive_detail import BLOCK, blocks_of, of_neighbours
from tests.naive_labels import shifted

SATURATED = 250.0  # grey levels
BRIM = 2  # px of the level
AREA = 16  # px of the level
OVEREXPOSED = 0.1  # of 3x3 areas
RING = 6  # px
SURROUNDINGS = 4  # blocks to all sides
SAME_THING = 3.0  # px
FEWEST = 600  # pixels of every second row
HALF_A_SAY = 4.0  # blocks^2
FLAT = 1.0  # px^2
UNSURE, MOVED = 10.0, 0.3
SCATTER = 6.0


def leave_out_highlights(patches, left, right, size, scale):
    """Patches that hold saturated pixels get the probability 0, unless a large part of what is around is saturated."""
    height, width = left.shape
    bright = left >= SATURATED * scale, right >= SATURATED * scale
    down, across = -(-height // AREA), -(-width // AREA)
    padded = np.pad(bright[0], ((0, down * AREA - height), (0, across * AREA - width)))
    areas = padded.reshape(down, AREA, across, AREA).sum((1, 3))
    kept = []
    for y, x, disparity, probability in patches:
        rows, place = slice(max(y - BRIM, 0), y + size + BRIM), int(np.floor(x - disparity))
        in_left = bright[0][rows, max(x - BRIM, 0) : x + size + BRIM].any()
        in_right = bright[1][rows, max(place - BRIM, 0) : max(place + 1 + size + BRIM, 0)].any()
        row, column = (y + size // 2) // AREA, (x + size // 2) // AREA
        share = areas[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2].mean() / AREA**2
        kept.append((y, x, disparity, 0.0 if (in_left or in_right) and share <= OVEREXPOSED else probability))
    return kept


class Settled(NamedTuple):
    """A map whose highlights lie on the surface around them."""

    disparity: np.ndarray
    known: np.ndarray  # bool
    surface_variance: np.ndarray  # px^2
    is_blank: np.ndarray  # bool, what the images show there does not tell where the surface is


def settle_highlights(left, disparity, known, surface_variance, seen, scale):
    """Pixels near saturated ones go to a plane through the blocks around them that have none near them.

    Least squares with weights that fall with the distance of a block; its slopes are held a little by 0.
    """
    out, saturated = disparity.copy(), left >= SATURATED * scale
    out_known, out_variance, is_blank = known.copy(), surface_variance.copy(), np.zeros(left.shape, bool)
    height, width = left.shape
    near = np.any([shifted(saturated, j, i) for j in range(-RING, RING + 1) for i in range(-RING, RING + 1)], axis=0)
    bright = blocks_of(saturated.astype(float))
    touched = of_neighbours(np.nansum(bright, 2) > 0, np.any)
    sampled = known & (np.arange(height) % 2 == 0)[:, None]
    count = np.nansum(blocks_of(sampled.astype(float)), 2) * ~touched
    total = np.nansum(blocks_of(np.where(sampled, disparity, 0.0)), 2) * ~touched
    for row, column in zip(*np.nonzero(touched)):
        y, x = np.mgrid[row * BLOCK : min((row + 1) * BLOCK, height), column * BLOCK : min((column + 1) * BLOCK, width)]
        y, x = (each[near[y, x]] for each in (y, x))
        if not len(y):
            continue
        mean = disparity[y, x].mean()
        rows, columns = np.nonzero(count)
        around = np.maximum(np.abs(rows - row), np.abs(columns - column)) <= SURROUNDINGS
        rows, columns = rows[around], columns[around]
        values, weights = total[rows, columns] / count[rows, columns], count[rows, columns]
        alike = np.abs(values - mean) <= SAME_THING
        if weights[alike].sum() < FEWEST:
            continue
        place = np.stack([columns - column, rows - row])[:, alike].astype(float)
        values, weights = values[alike], weights[alike] / (1 + (place**2).sum(0) / HALF_A_SAY)
        weights /= weights.sum()
        centre, middle = place @ weights, values @ weights
        offsets, rest = place - centre[:, None], values - middle
        slopes = np.linalg.solve((offsets * weights) @ offsets.T + 1e-3 * np.eye(2), (offsets * weights) @ rest)
        scatter = max(weights @ rest**2 - slopes @ ((offsets * weights) @ rest), 0)
        pixels = np.stack([(x + 0.5) / BLOCK - 0.5 - column, (y + 0.5) / BLOCK - 0.5 - row])
        target = middle + slopes @ (pixels - centre[:, None])
        apart = disparity[y, x] - target
        moves = (np.abs(apart) <= SAME_THING) & (known[y, x] | (seen[y, x] & (scatter <= FLAT) & (x >= target)))
        y, x, target, apart = y[moves], x[moves], target[moves], apart[moves]
        out[y, x] = target + apart / (1 + apart**2 / (SCATTER * scatter + 1e-9))
        own = np.where(known[y, x], surface_variance[y, x], 0)
        out_variance[y, x] = own + UNSURE * scatter + MOVED * apart**2
        out_known[y, x] = is_blank[y, x] = True
    return Settled(out, out_known, out_variance, is_blank)
