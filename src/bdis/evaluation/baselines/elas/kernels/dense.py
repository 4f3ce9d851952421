"""ELAS: the disparity of every pixel, given the prior of the support points.

A prior has two parts.  ``plane``: float32 (h, w), the disparity of the pixel's triangle, NaN outside all triangles and
infinite where its triangle is too steep to be believed.  ``listed``: int32 (cells, n), for each cell of the image the
number of its likely disparities, then the disparities, ascending.
"""

import math

import numpy as np
from numba import int64, uint64, void

from .....vector.array_types import BYTES, FLOATS, INTS, NUMBERS
from .....vector.cache import inner, kernel
from .descriptors import MARGIN, SIZE, distance_of_one


@inner
def _crossing(xa, ya, xb, yb, y):
    """Where the edge from a to b crosses row ``y``; it does cross it."""
    return xa + (xb - xa) * (y - ya) / (yb - ya)


@kernel(void(NUMBERS, NUMBERS, FLOATS))
def elas_draw_planes(corners, planes, out_plane):
    """Write each triangle's disparity into the pixels it covers, its edges included.

    ``corners``: (n, 6), x and y of three corners.  ``planes``: (n, 3), disparity = a x + b y + c; a NaN: too steep.
    """
    height, width = out_plane.shape
    out_plane[:] = np.nan
    for k in range(corners.shape[0]):
        a, b, c = planes[k, 0], planes[k, 1], planes[k, 2]
        top = min(corners[k, 1], corners[k, 3], corners[k, 5])
        bottom = max(corners[k, 1], corners[k, 3], corners[k, 5])
        for y in range(max(0, math.ceil(top)), min(height - 1, math.floor(bottom)) + 1):
            low, high = np.inf, -np.inf
            for corner in range(3):
                xa, ya = corners[k, 2 * corner], corners[k, 2 * corner + 1]
                xb, yb = corners[k, (2 * corner + 2) % 6], corners[k, (2 * corner + 3) % 6]
                if min(ya, yb) <= y <= max(ya, yb):
                    ends = (xa, xb) if ya == yb else (_crossing(xa, ya, xb, yb, y), _crossing(xa, ya, xb, yb, y))
                    low, high = min(low, min(ends)), max(high, max(ends))
            for x in range(max(0, math.ceil(low)), min(width - 1, math.floor(high)) + 1):
                out_plane[y, x] = np.inf if np.isnan(a) else a * x + b * y + c


@kernel(void(INTS, int64, int64, BYTES, INTS))
def elas_list_disparities(points, cell_px, columns, marks, out_listed):
    """Collect for each cell the disparities of the support points in it and its eight neighbours, widened by 1.

    ``points``: (n, 3), x, y, disparity.  ``marks``: scratch, uint8 (cells, n), zeros on entry.
    """
    rows, count = marks.shape[0] // columns, marks.shape[1]
    for k in range(points.shape[0]):
        i, j, d = points[k, 0] // cell_px, points[k, 1] // cell_px, points[k, 2]
        for v in range(max(0, j - 1), min(rows, j + 2)):
            for u in range(max(0, i - 1), min(columns, i + 2)):
                for near in range(max(0, d - 1), min(count, d + 2)):
                    marks[v * columns + u, near] = 1
    for cell in range(marks.shape[0]):
        listed = 0
        for d in range(count):
            if marks[cell, d]:
                listed += 1
                out_listed[cell, listed] = d
        out_listed[cell, 0] = listed


@inner
def _most_likely(ours, other, y, x, towards, largest, plane, radius, listed, cell, prior):
    """Disparity of least energy among the plane's neighbourhood and the cell's list; -1 if there is none."""
    place = x * uint64(SIZE)
    best, best_energy = int64(-1), np.float32(np.inf)
    centre = int64(-100_000)  # no plane: every disparity is as far from it as the table goes
    furthest = int64(prior.shape[1]) - 1
    if plane < np.inf:
        centre = int64(math.floor(plane + np.float32(0.5)))
        for d in range(max(0, centre - radius), min(largest, centre + radius) + 1):
            there = uint64(int64(x) + towards * d) * uint64(SIZE)
            energy = prior[0, uint64(abs(d - centre))]
            energy += prior[1, 0] * np.float32(distance_of_one(ours, y, place, other, y, there))
            if energy < best_energy:
                best, best_energy = d, energy
    for k in range(uint64(1), uint64(listed[cell, 0] + 1)):
        d = int64(listed[cell, k])
        if d > largest:
            break
        if abs(d - centre) > radius:
            there = uint64(int64(x) + towards * d) * uint64(SIZE)
            energy = prior[0, uint64(min(abs(d - centre), furthest))]
            energy += prior[1, 0] * np.float32(distance_of_one(ours, y, place, other, y, there))
            if energy < best_energy:
                best, best_energy = d, energy
    return best


@kernel(void(BYTES, BYTES, int64, FLOATS, INTS, FLOATS, int64, int64, int64, int64, int64, BYTES, FLOATS))
def elas_match_pixels(
    ours, other, towards, plane, listed, prior, radius, cell_px, step, max_disparity, min_texture, flat, out_disparity
):
    """The most likely disparity of every ``step``-th pixel and row, NaN where there is none.

    energy = beta |f - f'| - ln(gamma + exp(-(d - mu)^2 / (2 sigma^2)))

    ``towards``: -1 if ``other`` is the right image, 1 if it is the left one.  ``prior``: float32 (2, n), the logarithm
    at |d - mu| = 0, 1, ... px, then beta.  ``flat``: uint8 (1, 16), the descriptor of a uniform surface.
    ``out_disparity``: float32, at least (ceil(h / step), ceil(w / step)).
    """
    height, width = plane.shape
    columns = (width + cell_px - 1) // cell_px
    out_disparity[:] = np.nan
    first = (MARGIN + step - 1) // step
    for j in range(first, (height - MARGIN + step - 1) // step):
        y = j * step
        for i in range(first, (width - MARGIN + step - 1) // step):
            x = i * step
            mu = plane[uint64(y), uint64(x)]
            if np.isnan(mu):
                continue
            texture = distance_of_one(ours, uint64(y), uint64(x) * uint64(SIZE), flat, uint64(0), uint64(0))
            if texture < min_texture:
                continue
            largest = min(max_disparity, x - MARGIN if towards < 0 else width - 1 - MARGIN - x)
            cell = uint64(y // cell_px * columns + x // cell_px)
            d = _most_likely(ours, other, uint64(y), uint64(x), towards, largest, mu, radius, listed, cell, prior)
            if d >= 0:
                out_disparity[uint64(j), uint64(i)] = d
