"""The oracle of what goes beyond the paper: global start, surface, sharp edges, uncertainty.  Plain NumPy.

Nothing here is shared with the kernels.  Arrays are float64 (height, width) of one level; unknown is NaN.
"""

import numpy as np
import scipy.stats

DEFAULT_STRENGTH = 60.0  # of the bonds, where settings ask for no surface but it is needed to measure or to fill

# Weights of the error model, px^2 of the level; and at full resolution of the surface alone, surface and
# texture together, jump, bend, move, label, hole, disparity, uneven rows, and px^2 of all pixels.
SURFACE_WEIGHTS = {"floor": 3.6e-4, "spread": 0.94, "slope": 0.34, "hole": 1.17}
MEASURED_WEIGHTS = {"floor": 1.2e-3, "spread": 1.0, "slope": 0.42, "hole": 1.05, "rest": 3.8}
DETAIL_WEIGHTS = 0.0, 1.0, 58.0, 7.0, 0.0, 0.3, 0.4, 0.0018, 26.0, 1.0, 0.0044


# --- Start: all disparities on a coarse level -----------------------------------------------------------------------


def window_costs(left, right, seen_left, seen_right, disparities, noise):
    """1 - correlation of 5x5 windows, (height, width, disparities); 0.6 where they cannot be compared."""
    height, width = left.shape
    costs = np.full((height, width, len(disparities)), 0.6)
    for y in range(height):
        for x in range(width):
            for k, d in enumerate(disparities):
                if not 0 <= x - d < width or not seen_right[y, x - d]:
                    continue
                pixels = [
                    (left[j, i], right[j, i - d])
                    for j in range(max(y - 2, 0), min(y + 3, height))
                    for i in range(max(x - 2, 0), min(x + 3, width))
                    if 0 <= i - d < width and seen_left[j, i] and seen_right[j, i - d]
                ]
                if len(pixels) >= 15:
                    a, b = np.array(pixels).T
                    a, b, n = a - a.mean(), b - b.mean(), len(a)
                    energy = ((a * a).sum() + noise * n) * ((b * b).sum() + noise * n)
                    costs[y, x, k] = 1 - (a * b).sum() / np.sqrt(energy)
    return costs


def pass_messages(costs, small=0.1, large=0.4):
    """Sum over four directions of the cheapest path to each pixel and label (semi-global matching)."""
    total = np.zeros_like(costs)
    for turned in (lambda a: a, lambda a: a[:, ::-1], lambda a: a.swapaxes(0, 1), lambda a: a.swapaxes(0, 1)[:, ::-1]):
        cost, out = turned(costs), turned(total)
        path = cost[:, 0]
        out[:, 0] += path
        for x in range(1, cost.shape[1]):
            lowest = path.min(1, keepdims=True)
            padded = np.pad(path, ((0, 0), (1, 1)), constant_values=np.inf)
            step = np.minimum(padded[:, :-2], padded[:, 2:]) + small
            path = cost[:, x] + np.minimum(np.minimum(path, step), lowest + large) - lowest
            out[:, x] += path
    return total


def global_start(left, right, seen_left, seen_right, largest, count, noise):
    """Disparity among ``largest``, ``largest - 1`` ..., to a fraction of a px."""
    disparities = [largest - k for k in range(count)]
    costs = window_costs(left, right, seen_left, seen_right, disparities, noise)
    totals = pass_messages(costs)
    out = np.full(left.shape, np.nan)
    width = left.shape[1]
    from_right = np.full(left.shape, -1)
    for y, x in np.ndindex(left.shape):
        found = [(totals[y, x + d, k], k) for k, d in enumerate(disparities) if 0 <= x + d < width]
        from_right[y, x] = min(found)[1] if found else -1
    for at in np.ndindex(left.shape):
        best = int(totals[at].argmin())
        match = at[1] - disparities[best]
        if 0 <= match < width and abs(from_right[at[0], match] - best) > 1:
            continue
        offset = 0.0
        if 0 < best < count - 1:
            a, b, c = totals[at][best - 1 : best + 2]
            if a - 2 * b + c > 1e-6:
                offset = np.clip((a - c) / (2 * (a - 2 * b + c)), -0.5, 0.5)
        if costs[at][best] < 0.6 and seen_left[at]:
            out[at] = disparities[best] - offset
    return out


# --- The surface ----------------------------------------------------------------------------------------------------


def bonds(guide, strength, sharpness):
    """To the right (height, width - 1) and downward (height - 1, width) neighbours."""
    steps = (np.abs(np.diff(guide, axis=axis)) for axis in (1, 0))
    return [strength * np.maximum(1 - step * sharpness / 8, 0.3) ** 8 for step in steps]


def sweep(field, bonds):
    """Least squares along every row, then along every column."""
    for bond, turned in ((bonds[0], False), (bonds[1].T, True)):
        field = field.T if turned else field
        solved = np.empty(field.shape)
        for k, (values, b) in enumerate(zip(field, bond)):
            matrix = np.eye(len(values))
            for i, strength in enumerate(b):
                matrix[i : i + 2, i : i + 2] += strength * np.array([[1, -1], [-1, 1]])
            solved[k] = np.linalg.solve(matrix, values)
        field = solved.T if turned else solved
    return field


def straighten_borders(surface, density, reach):
    """Give back what a sweep takes from slopes at a border: a mean of what lies on one side only."""
    for line, sure in zip(surface, density):
        for ends, sure_ends in ((line, sure), (line[::-1], sure[::-1])):
            known = np.flatnonzero(sure_ends[: max(len(line) - 32, 0)] >= 0.4)
            if len(known):
                straighten_end(ends, sure_ends, known[0], reach)
    for line, sure in zip(surface.T, density.T):
        if len(line) > 32:
            straighten_end(line, sure, 0, reach)
            straighten_end(line[::-1], sure[::-1], 0, reach)


def straighten_end(line, density, border, reach):
    """The begin of a line, whose pixels are known from ``border`` on, in place."""
    at = [border, border + 16, border + 32]
    slope, most = (line[at[0]] - line[at[1]]) / (0.58 * 16), 2 * (line[at[1]] - line[at[2]]) / 16
    if slope * most <= 0 or density[at].min() <= 1e-20:
        return
    slope = np.sign(slope) * min(abs(slope), abs(most))
    slope *= slope**2 / (slope**2 + 0.02**2)
    line[border : border + 32] += slope * reach * np.exp(-np.arange(32) / reach)
    beyond = np.arange(max(border - 16, 0), border)
    line[beyond] += slope * (reach + border - beyond)


def fit_surface(target, bonds, rounds, tolerance, reach=None):
    """Surface, density and spread through disparities (NaN = unknown); borders are straightened if there is a reach."""
    known = ~np.isnan(target)
    value = np.where(known, target, 0.0)
    weight = known.astype(float)
    support = sweep(weight, bonds)
    for k in range(rounds + 1):
        if k > 0:
            weight = known / (1 + ((value - surface) / tolerance) ** 2) ** 2  # noqa: F821
        density = sweep(weight, bonds)
        with np.errstate(invalid="ignore", divide="ignore"):
            surface = np.where(density > 1e-20, sweep(weight * value, bonds) / density, 0)
            if reach is not None:
                straighten_borders(surface, density, reach)
            surface = surface + np.where(density > 1e-20, sweep(weight * (value - surface), bonds) / density, 0)
    squares = np.where(known, np.minimum((value - surface) ** 2, 25), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.where(support > 1e-20, np.minimum(sweep(squares, bonds) / support, 25), 25)
    return surface, density, spread


def warp(right, surface):
    """``right[x - surface[x]]`` in whole grey steps; the border repeats."""
    height, width = right.shape
    place = np.clip(np.arange(width) - surface, 0, width - 1)
    whole = np.floor(place).astype(int)
    rows = np.arange(height)[:, None]
    here, there = right[rows, whole], right[rows, np.minimum(whole + 1, width - 1)]
    return np.floor(here + (place - whole) * (there - here) + 0.5)


def leave_out_beyond(patches, surface, size):
    """Patches that lie outside the right image along the surface, a quarter in from their left or right, get 0."""
    width, part = surface.shape[1], size // 4
    kept = []
    for y, x, disparity, probability in patches:
        place = np.arange(x, x + size) - surface[y + size // 2, x : x + size]
        is_beyond = (place < 0) | (place > width - 1)
        kept.append((y, x, disparity, 0.0 if is_beyond[part] or is_beyond[-1 - part] else probability))
    return kept


def warp_usable(usable, surface):
    """Where a warped pixel and its right neighbour come from usable pixels."""
    width = usable.shape[1]
    place = np.clip(np.arange(width) - surface, 0, width - 1)
    good = np.take_along_axis(usable, place.astype(int), 1)
    return good & np.pad(good, ((0, 0), (0, 1)), "edge")[:, 1:]


# --- Uncertainty ----------------------------------------------------------------------------------------------------


def slope_squared(surface):
    """By central differences; half a one-sided one at the border."""
    padded = np.pad(surface, 1, "edge")
    across, down = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
    return (across**2 + down**2) / 4


def hole_variance(density, weights):
    """What guessing across a hole adds to the variance, and its floor; at most a fifth of the width is guessed."""
    hole = np.minimum(np.maximum(1 / np.maximum(density, 1e-6) - 1, 0), 0.2 * density.shape[1])
    return weights["floor"] + weights["hole"] * hole**2


def surface_variance(surface, density, spread, weights):
    """px^2 of the level."""
    steep = weights["slope"] * slope_squared(surface)
    return hole_variance(density, weights) + weights["spread"] * spread + steep


def probability_of(variance):
    """That the error is below 1 px, for a variance in px^2 of the image."""
    scale = np.sqrt(variance / 3)  # of Student's t with three degrees of freedom
    return 2 * scipy.stats.t.cdf(1 / scale, 3) - 1


def thin(disparity):
    """Disparities of the level above: half the mean of the known ones of 2x2 pixels."""
    height, width = disparity.shape
    padded = np.pad(disparity, ((0, height % 2), (0, width % 2)), constant_values=np.nan)
    parents = np.stack([padded[0::2, 0::2], padded[0::2, 1::2], padded[1::2, 0::2], padded[1::2, 1::2]])
    known = ~np.isnan(parents)
    with np.errstate(invalid="ignore"):
        return np.where(known, parents, 0).sum(0) / known.sum(0) / 2


def window_variance(ssd, s_squared, step, patch_size, sigma_r=None, min_variance=0.2):
    """Eq. 15-17 by least squares: the variance of a Gaussian through the window's likelihoods, px^2."""
    variance = max(ssd[0] / patch_size**2, min_variance) if sigma_r is None else sigma_r**2
    log_p = -(np.array(ssd) - ssd[0]) / (2 * variance * s_squared)
    x_squared = (np.array([0, -2, -1, 1, 2]) * step) ** 2
    (slope, height), *_ = np.polyfit(x_squared, log_p, 1, full=True)
    miss = np.sqrt(np.mean((slope * x_squared + height - log_p) ** 2))
    largest = patch_size**2 / 4
    if -slope * step**2 <= 1e-12 or miss > 0.1:
        return largest
    return min(-1 / (2 * slope), largest)


# --- Every pixel gets a disparity (`dense`) -------------------------------------------------------------------------


def wide_surface(found):
    """A surface that reaches across holes, the same in all directions; NaN where nothing is known at all."""
    bonds = [np.full(np.diff(found, axis=axis).shape, 1e4) for axis in (1, 0)]
    surface, density, _ = fit_surface(found, bonds, 0, 1)
    return np.where(density > 1e-20, surface, np.nan)


def fill_holes(disparity, surface, density, wide):
    """What is unknown is left to the surfaces; at a density of 0.001 both count alike."""
    disparity = np.where(np.isnan(disparity), surface, disparity)
    return (disparity * density + wide * 1e-3) / (density + 1e-3)
