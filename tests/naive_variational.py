"""The oracle of the variational refinement, in plain NumPy.

Nothing here is shared with the kernels.  Arrays are float64 (height, width) of one level; unknown is NaN.
"""

import numpy as np

SWEEPS = 5
BEYOND = 1.9  # how far each correction goes, 1 = to the minimum


def slopes(image):
    """Central differences along x and y, grey levels per px; the border repeats."""
    along_x, along_y = np.pad(image, ((0, 0), (1, 1)), "edge"), np.pad(image, ((1, 1), (0, 0)), "edge")
    return (along_x[:, 2:] - along_x[:, :-2]) / 2, (along_y[2:] - along_y[:-2]) / 2


def residual(left, right, disparity, seen_left, seen_right):
    """Left image - right image along the disparity; NaN where that is outside the picture or a pixel was not seen."""
    height, width = left.shape
    place = np.arange(width) - disparity
    inside = (place >= 0) & (place <= width - 1)  # False if NaN
    place = np.where(inside, place, 0)
    whole = np.floor(place).astype(int)
    rows, beside = np.arange(height)[:, None], np.minimum(whole + 1, width - 1)
    here, there = right[rows, whole], right[rows, beside]
    known = inside & seen_left & seen_right[rows, whole] & seen_right[rows, beside]
    return np.where(known, left - here - (place - whole) * (there - here), np.nan)


def data_term(left, rest):
    """Precision A of each pixel and A x its wished step: robust constancy of brightness and of gradient."""
    beyond = np.pad(left, ((0, 0), (2, 2)), "edge")
    slope, _ = slopes(beyond)
    slope_x, slope_y = (values[:, 2:-2] for values in slopes(slope))
    slope = slope[:, 2:-2]
    rest_x, rest_y = slopes(rest)
    by_brightness = 4 / (0.5 + rest**2)
    by_gradient = 8 / (0.5 + rest_x**2 + rest_y**2)
    precision = by_brightness * slope**2 + by_gradient * (slope_x**2 + slope_y**2)
    wish = by_brightness * slope * rest + by_gradient * (slope_x * rest_x + slope_y * rest_y)
    known = ~np.isnan(wish)  # a pixel beside one without residual has none either
    return np.where(known, precision, 0), np.where(known, wish, 0)


def slope_between(before, here, after):
    """px per px, of what lies 32 px apart; None is beyond the border."""
    found = [here - before] if before is not None else []
    found += [after - here] if after is not None else []
    if not found or np.isnan(found).any() or len({np.sign(each) for each in found}) > 1:
        return 0
    return np.clip(min(found, key=abs) / 32, -0.5, 0.5)


def slopes_of_map(disparity):
    """Along x and along y, of the blocks of 8x8 in which the pixels are."""
    height, width = disparity.shape
    across, down = np.zeros((2, height, width))

    def near(y, x):
        inside = 0 <= y < height and 0 <= x < width
        return disparity[y, np.clip(x + np.array([-3, -1, 1, 3]), 0, width - 1)].mean() if inside else None

    for top in range(0, height, 8):
        for first in range(0, width, 8):
            y, x = min(top + 4, height - 1), min(first + 4, width - 1)
            block = slice(top, top + 8), slice(first, first + 8)
            across[block] = slope_between(near(y, x - 32), near(y, x), near(y, x + 32))
            down[block] = slope_between(near(y - 32, x), near(y, x), near(y + 32, x))
    return across, down


def bonds(left, disparity, strength, rises):
    """To the right (height, width - 1) and downward (height - 1, width) neighbours; none to an unknown pixel."""
    both = []
    for axis, rise in zip((1, 0), rises):
        by_image = 1 / (1 + np.abs(np.diff(left, axis=axis)) / 22) ** 2
        bond = strength * by_image / (np.abs(np.diff(disparity, axis=axis) - rise) + 0.017)
        both.append(np.where(np.isnan(bond), 0, bond))
    return both


def relax(disparity, precision, wish, bond_x, bond_y, rise_x, rise_y):
    """Sweeps of over-relaxation, each over the pixels with x + y even and then over the others.

    ``rise_x`` and ``rise_y``: by how much more the neighbours on the right and below are expected to be.
    """
    height, width = disparity.shape
    y, x = np.mgrid[:height, :width]
    precision = np.maximum(precision, 1e-12)  # a pixel that nothing holds stays where it is
    target = precision * disparity - wish
    target[:, :-1] -= bond_x * rise_x
    target[:, 1:] += bond_x * rise_x
    target[:-1] -= bond_y * rise_y
    target[1:] += bond_y * rise_y
    value = disparity.copy()
    left, up = np.pad(bond_x, ((0, 0), (1, 0))), np.pad(bond_y, ((1, 0), (0, 0)))
    right, down = np.pad(bond_x, ((0, 0), (0, 1))), np.pad(bond_y, ((0, 1), (0, 0)))
    for half_sweep in range(2 * SWEEPS):
        padded = np.pad(value, 1)
        total = target + left * padded[1:-1, :-2] + right * padded[1:-1, 2:]
        total += up * padded[:-2, 1:-1] + down * padded[2:, 1:-1]
        best = total / (precision + left + right + up + down)
        value = np.where((x + y) % 2 == half_sweep % 2, value + BEYOND * (best - value), value)
    return value


def refine(left, right, seen_left, seen_right, disparity, rounds, strength, follows_slopes=True):
    """Disparity after ``rounds`` rounds; images in grey levels."""
    known = ~np.isnan(disparity)
    value = disparity
    across, down = slopes_of_map(value) if follows_slopes else np.zeros((2, *value.shape))
    rises = across[:, :-1], down[:-1]
    for _ in range(rounds):
        precision, wish = data_term(left, residual(left, right, value, seen_left, seen_right))
        value = relax(np.where(known, value, 0), precision, wish, *bonds(left, value, strength, rises), *rises)
        value = np.where(known, value, np.nan)
    return value
