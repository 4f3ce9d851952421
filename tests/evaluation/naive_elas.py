"""The oracle of the ELAS baseline: slow, plain NumPy, to be read beside the paper.

Nothing here is shared with the kernels.  Descriptors are int64 (h, w, 16); disparity maps float (h, w), NaN = unknown;
support grids int64 with -1 for none.
"""

from itertools import pairwise

import numpy as np

PLACES_X = [(0, -2), (-2, -1), (0, -1), (2, -1), (-1, 0), (0, 0), (0, 0), (1, 0), (-2, 1), (0, 1), (2, 1), (0, 2)]
PLACES_Y = [(0, -1), (-1, 0), (1, 0), (0, 1)]
MARGIN, BORDER = 3, 5


def gradients(image):
    """Sobel responses across and down, in 8 bit around 128."""
    image = image.astype(np.int64)
    out = []
    for weights in (np.outer([1, 2, 1], [-1, 0, 1]), np.outer([-1, 0, 1], [1, 2, 1])):
        response = np.full(image.shape, 128)
        for y in range(1, image.shape[0] - 1):
            for x in range(1, image.shape[1] - 1):
                total = (weights * image[y - 1 : y + 2, x - 1 : x + 2]).sum()
                response[y, x] = np.clip(np.floor(total / 4) + 128, 0, 255)
        out.append(response)
    return out


def describe(image):
    across, down = gradients(image)
    height, width = image.shape
    out = np.full((height, width, 16), 128)
    for y in range(MARGIN, height - MARGIN):
        for x in range(MARGIN, width - MARGIN):
            out[y, x] = [across[y + dy, x + dx] for dx, dy in PLACES_X] + [down[y + dy, x + dx] for dx, dy in PLACES_Y]
    return out


def texture(descriptor):
    return np.abs(descriptor - 128).sum()


# --- Support points -------------------------------------------------------------------------------------------------


def support_cost(ours, other, y, x, there):
    """Sum of the distances at the four corners."""
    corners = [(-2, -2), (-2, 2), (2, -2), (2, 2)]
    return sum(np.abs(ours[y + dy, x + dx] - other[y + dy, there + dx]).sum() for dy, dx in corners)


def unique_disparity(ours, other, y, x, sign, max_disparity, max_ratio):
    """The best disparity, None if another one further than 1 px away is almost as good."""
    width = ours.shape[1]
    costs = {
        d: support_cost(ours, other, y, x, x + sign * d)
        for d in range(max_disparity + 1)
        if BORDER <= x + sign * d < width - BORDER
    }
    best = min(costs, key=costs.get)
    others = [cost for d, cost in costs.items() if abs(d - best) > 1]
    return best if not others or costs[best] < max_ratio * min(others) else None


def match_support(left, right, step, max_disparity, min_texture, max_ratio, max_difference):
    height, width = left.shape[:2]
    grid = np.full((-(-height // step), -(-width // step)), -1)
    for j, y in enumerate(range(0, height, step)):
        for i, x in enumerate(range(0, width, step)):
            inside = BORDER <= y < height - BORDER and BORDER <= x < width - BORDER
            if not inside or texture(left[y, x]) < min_texture:
                continue
            d = unique_disparity(left, right, y, x, -1, max_disparity, max_ratio)
            if d is None or texture(right[y, x - d]) < min_texture:
                continue
            back = unique_disparity(right, left, y, x - d, 1, max_disparity, max_ratio)
            if back is not None and abs(back - d) <= max_difference:
                grid[j, i] = d
    return grid


def drop_unsupported(grid, window, tolerance, min_others):
    out = np.full(grid.shape, -1)
    for j, i in np.argwhere(grid >= 0):
        near = grid[max(0, j - window) : j + window + 1, max(0, i - window) : i + window + 1]
        if (np.abs(near[near >= 0] - grid[j, i]) <= tolerance).sum() - 1 >= min_others:
            out[j, i] = grid[j, i]
    return out


def drop_redundant(grid, reach, tolerance, vertical):
    """One after the other: a dropped point does not count for the next."""
    out = grid.T.copy() if vertical else grid.copy()
    order = np.argwhere(grid >= 0)
    for j, i in order[:, ::-1] if vertical else order:
        before, after = out[j, max(0, i - reach) : i], out[j, i + 1 : i + reach + 1]
        if all((np.abs(side[side >= 0] - out[j, i]) <= tolerance).any() for side in (before, after)):
            out[j, i] = -1
    return out.T if vertical else out


# --- Prior ----------------------------------------------------------------------------------------------------------


def draw_planes(corners, planes, height, width):
    """Disparity of the last triangle that covers each pixel, edges included; inf if its first coefficient is NaN."""
    out = np.full((height, width), np.nan)
    for (xa, ya, xb, yb, xc, yc), (a, b, c) in zip(corners, planes):
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        for y in range(height):
            for x in range(width):
                u = ((xb - x) * (yc - y) - (xc - x) * (yb - y)) / area
                v = ((xc - x) * (ya - y) - (xa - x) * (yc - y)) / area
                if min(u, v, 1 - u - v) >= -1e-12:
                    out[y, x] = np.inf if np.isnan(a) else a * x + b * y + c
    return out


def list_disparities(points, cell_px, height, width, max_disparity):
    """For each cell the sorted disparities of the points in it and its neighbours, widened by 1."""
    rows, columns = -(-height // cell_px), -(-width // cell_px)
    out = [set() for _ in range(rows * columns)]
    for cell, near in enumerate(out):
        for x, y, d in points:
            if abs(y // cell_px - cell // columns) <= 1 and abs(x // cell_px - cell % columns) <= 1:
                near.update(e for e in (d - 1, d, d + 1) if 0 <= e <= max_disparity)
    return [sorted(near) for near in out]


# --- Every pixel ----------------------------------------------------------------------------------------------------


def energy(distance, away, beta, gamma, sigma):
    """beta |f - f'| - ln(gamma + exp(-(d - mu)^2 / (2 sigma^2))), in the precision of the kernel."""
    prior = np.float32(-np.log(gamma + np.exp(-(away**2) / (2 * sigma**2))))
    return prior + np.float32(beta) * np.float32(distance)


def match_pixels(ours, other, sign, plane, listed, cell_px, step, max_disparity, radius, beta, gamma, sigma):
    height, width = plane.shape
    columns = -(-width // cell_px)
    out = np.full((-(-height // step), -(-width // step)), np.nan)
    for y in range(0, height, step):
        for x in range(0, width, step):
            inside = MARGIN <= y < height - MARGIN and MARGIN <= x < width - MARGIN
            if not inside or np.isnan(plane[y, x]) or texture(ours[y, x]) < 1:
                continue
            mu = np.floor(plane[y, x] + 0.5)
            near = [] if np.isinf(mu) else list(range(int(mu) - radius, int(mu) + radius + 1))
            tried = near + [d for d in listed[y // cell_px * columns + x // cell_px] if d not in near]
            energies = {
                d: energy(np.abs(ours[y, x] - other[y, x + sign * d]).sum(), abs(d - mu), beta, gamma, sigma)
                for d in tried
                if 0 <= d <= max_disparity and MARGIN <= x + sign * d < width - MARGIN
            }
            if energies:
                out[y // step, x // step] = min(energies, key=energies.get)
    return out


# --- Afterwards -----------------------------------------------------------------------------------------------------


def check_left_right(left, right, step, max_difference):
    out = np.full(left.shape, np.nan)
    for y, x in np.argwhere(~np.isnan(left)):
        there = x - int(left[y, x] / step + 0.5)
        if there >= 0 and abs(right[y, there] - left[y, x]) <= max_difference:
            out[y, x] = left[y, x]
    return out


def fill_line(line, longest, tolerance):
    known = np.flatnonzero(~np.isnan(line))
    for begin, end in pairwise(known):
        if 1 < end - begin <= longest + 1 and abs(line[end] - line[begin]) <= tolerance:
            line[begin : end + 1] = np.linspace(line[begin], line[end], end - begin + 1)


def fill_gaps(disparity, longest, tolerance):
    out = disparity.copy()
    for line in [*out, *out.T]:  # rows, then columns
        fill_line(line, longest, tolerance)
    return out


def mean(disparity, before, after, reach, vertical):
    lines = disparity.T if vertical else disparity
    out = np.full(lines.shape, np.nan)
    for y, x in np.argwhere(~np.isnan(lines)):
        near = lines[y, max(0, x - before) : x + after + 1]
        near = near[~np.isnan(near)]
        weights = np.maximum(0, 1 - np.abs(near - lines[y, x]) / reach)
        out[y, x] = (weights * near).sum() / weights.sum()
    return out.T if vertical else out
