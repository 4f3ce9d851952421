"""The search for patches that touch pixels the camera never saw.

Which pixels count then changes with the shift, so there is no table; the patch is resampled at every step and every sum
runs over the pixels that both images show there.
"""

import numpy as np
from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.simd import lane_numbers, load, select, splat, sum_lanes, to_float
from .layout import PAD

# Rows of scratch.window, one number for each of the current sixteen patches: the SSD of the five samples, then where
# the search ended (px) and whether it could be scored (1) or not (0).
CENTRE, FAR_LEFT, NEAR_LEFT, NEAR_RIGHT, FAR_RIGHT, PLACE, SCORED = range(7)


@inner
def compare(views, row, col, right_x, settings):
    """Left patch at (row, col) against the right image from column ``right_x`` on, over the pixels seen by both.

    Returns the number of such pixels, their SSD after removing the mean difference, and the LK step there (px).
    """
    size = settings.patch_size
    whole = int64(np.floor(right_x))
    a = splat(float32(right_x - whole))
    at, left_at = uint64(PAD + whole), uint64(PAD + col)
    inside = lane_numbers() < splat(int32(size))
    n = d_1 = d_2 = g_1 = g_2 = gd = splat(float32(0))
    for y in range(uint64(row), uint64(row + size)):
        here, there = to_float(load(views.right, y, at)), to_float(load(views.right, y, at + uint64(1)))
        d = here + a * (there - here) - to_float(load(views.left, y, left_at))
        g = to_float(load(views.gradient, y, left_at))
        seen = load(views.usable_left, y, left_at) & load(views.usable_right, y, at)
        w = to_float(select(inside, seen, splat(int32(0))))
        n += w
        d_1, d_2 = d_1 + w * d, d_2 + w * d * d
        g_1, g_2, gd = g_1 + w * g, g_2 + w * g * g, gd + w * g * d
    count = sum_lanes(n)
    mean = sum_lanes(d_1) / max(count, float32(1))
    ssd = max(sum_lanes(d_2) - mean * sum_lanes(d_1), float32(0))
    # The stored gradient is twice dT/dx, hence the 2.
    step = float32(2) * (sum_lanes(gd) - mean * sum_lanes(g_1)) / max(sum_lanes(g_2), float32(1))
    return count, ssd, step


@inner
def search_masked(views, row, col, limits, settings, window, k):
    """As `descend` and `window_samples` in search.py, for one patch; writes column ``k`` of ``window``.

    ``limits``: column of the right image where the search starts, and the lowest and highest one it may reach.  Places
    where both cameras saw fewer than ``min_valid`` of the patch's pixels cannot be scored: the search returns to its
    start from there, and a patch with such a place in its window is rejected.
    """
    start_x, lowest_x, highest_x = limits
    area = float32(settings.patch_size * settings.patch_size)
    enough = float32(settings.min_valid) * area
    place = start_x
    # Without a table there is no slope to divide by (`newton`): plain steps, twice as many.
    for _ in range(settings.max_iterations * (2 if settings.newton else 1)):
        count, _ssd, step = compare(views, row, col, place, settings)
        moved = place - step
        if count < enough or not (abs(moved - start_x) <= settings.radius and lowest_x <= moved <= highest_x):
            place = start_x
            break
        place = moved
        if abs(step) < settings.stop:
            break
    window[PLACE, k] = place
    window[SCORED, k] = float32(1)
    for sample in range(5):
        offset = float32((0, -2, -1, 1, 2)[sample] * settings.window_step)
        count, ssd, _step = compare(views, row, col, place + offset, settings)
        window[sample, k] = ssd * area / max(count, float32(1))
        if count < enough or count == 0:
            window[SCORED, k] = float32(0)
