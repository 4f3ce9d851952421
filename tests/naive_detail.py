"""The oracle of full resolution: every pixel takes the surface, or its label where that explains the images better.

Plain NumPy; nothing here is shared with the kernels.  Images are (height, width) in steps of 1 / scale grey levels,
maps float64; unknown is NaN.
"""

import numpy as np

from tests import naive_surface
from tests.naive_labels import fill_from_background, shifted

RADIUS = 2  # px, windows are 5x5
LARGEST_DIFFERENCE = 4.0  # grey levels per px
CLEARLY = 0.4  # grey levels per px
NEAR = 0.5  # px
BLOCK = 8  # px
JUMP = 3.0  # px
TEXTURE = 4.0  # grey levels per px
VOTERS = range(-8, 9, 4)  # px, rows and columns around a pixel
ALIKE = 20.0  # grey levels
MORE = 1.2  # times as many votes
COVERED = 1.0  # px
WORSE = 0.1  # mismatch
AT_LIMIT = 0.25  # px
UNMATCHED = 0.5  # mismatch
STEEP = 0.12  # mismatch times px per px
FAINT = 3.0  # grey levels per px
NOISE = 0.456  # grey levels
FARTHEST = 16.0  # px
GUESS = 30.0  # px^2
FARTHEST_LABEL = 2.0  # px
EVEN = 0.0012  # px^2
FLAT = 0.3  # (grey levels per px)^2
BESIDE = 8  # px, columns to both sides, every second one
HARDLY = 0.2  # (grey levels per px)^2
USUAL = 0.6
OF_TEXTURE = 0.4
APART = 3  # px


def enlarged(surface, px, shape):
    """A surface at the size of the image, bilinear; the border repeats.  A pixel of it is ``px`` wide."""
    rows, columns = (np.clip((np.arange(length) + 0.5) / px - 0.5, 0, n - 1) for length, n in zip(shape, surface.shape))
    y, x = rows.astype(int), columns.astype(int)
    below, right = np.minimum(y + 1, surface.shape[0] - 1), np.minimum(x + 1, surface.shape[1] - 1)
    part_y, part_x = (rows - y)[:, None], columns - x
    upper, lower = ((1 - part_x) * surface[row][:, x] + part_x * surface[row][:, right] for row in (y, below))
    return px * ((1 - part_y) * upper + part_y * lower)


def repeated(values, px, shape):
    """Every pixel ``px`` times along both sides."""
    rows, columns = (np.arange(length) // px for length in shape)
    return values[rows][:, columns]


def gradient(image):
    """Twice the central difference along x."""
    return shifted(image, 0, 1) - shifted(image, 0, -1)


def difference(left, right, disparity, scale):
    """How far the gradients of both images differ under a disparity, as stored."""
    height, width = left.shape
    place = np.clip(np.arange(width) - disparity, 0, width - 1)
    whole = np.floor(place).astype(int)
    rows, slope = np.arange(height)[:, None], gradient(right)
    here, there = slope[rows, whole], slope[rows, np.minimum(whole + 1, width - 1)]
    step = gradient(left) - here - (place - whole) * (there - here)
    return np.minimum(np.abs(step), LARGEST_DIFFERENCE * 2 * scale)


def window_sums(values):
    """Over 5x5 pixels; the border repeats."""
    around = range(-RADIUS, RADIUS + 1)
    return sum(shifted(values, j, i) for j in around for i in around)


def gain(left, right, surface, labels, scale):
    """How much less gradients differ under the label than under the surface, as stored; 0 where both lie together."""
    by_surface, by_labels = (difference(left, right, values, scale) for values in (surface, labels))
    return np.where(np.abs(surface - labels) > NEAR, by_surface - by_labels, 0)


def advantage(left, right, surface, labels, scale):
    """By how much a label explains the images better than the surface, grey levels per px."""
    return window_sums(gain(left, right, surface, labels, scale)) / (2 * scale * (2 * RADIUS + 1) ** 2)


def blocks_of(values):
    """(blocks down, blocks across, pixels) of 8x8 pixels; those at the border may be smaller, filled with NaN."""
    height, width = values.shape
    padded = np.pad(values, ((0, -height % BLOCK), (0, -width % BLOCK)), constant_values=np.nan)
    down, across = padded.shape[0] // BLOCK, padded.shape[1] // BLOCK
    return padded.reshape(down, BLOCK, across, BLOCK).swapaxes(1, 2).reshape(down, across, -1)


def of_neighbours(values, function):
    """``function`` of each block and those around it."""
    return function([shifted(values, j, i) for j in (-1, 0, 1) for i in (-1, 0, 1)], axis=0)


def edges(left, labels, scale):
    """Where labels jump and the image has texture, in whole blocks; and the disparity between both sides."""
    labels_in, squares_in = blocks_of(labels), blocks_of((gradient(left) / (2 * scale)) ** 2)
    high, low = of_neighbours(np.nanmax(labels_in, 2), np.max), of_neighbours(np.nanmin(labels_in, 2), np.min)
    texture = of_neighbours(np.nanmean(squares_in, 2), np.max)
    is_edge = (high - low > JUMP) & (2 * texture > TEXTURE**2)  # the gradient along y is not measured: as large
    height, width = left.shape
    return [each.repeat(BLOCK, 0).repeat(BLOCK, 1)[:height, :width] for each in (is_edge, (low + high) / 2)]


def choose(left, right, surface, found, surface_px, found_px, scale):
    """px of the image for each of its pixels, from the surface of a level and the labels ``found`` on another.

    Returns also with which disparity each pixel votes on the sides of its neighbours, and the labels.
    """
    wide = enlarged(surface, surface_px, left.shape)
    labels = found_px * repeated(fill_from_background(found), found_px, left.shape).astype(float)
    known = ~np.isnan(repeated(found, found_px, left.shape))
    near, _ = edges(left, labels, scale)
    better = advantage(left, right, wide, labels, scale) > np.where(near, 0, CLEARLY)
    chosen = np.where((known | near) & better, labels, wide)
    return chosen, np.where(known, chosen, labels), labels


def take_sides(left, chosen, votes, labels, scale):
    """Near depth edges pixels vote, the more alike the more: px of each pixel, and by how much they disagree."""
    near, middle = edges(left, labels, scale)
    height, width = left.shape
    beyond = np.pad(votes, 8, mode="edge")  # rows repeat
    beyond[:, :8] = beyond[:, -8:] = np.nan
    grey = np.pad(left, 8, mode="edge")
    count, total = np.zeros((2, height, width)), np.zeros((2, height, width))
    for j in VOTERS:
        for i in VOTERS:
            part = slice(8 + j, 8 + j + height), slice(8 + i, 8 + i + width)
            weight = np.maximum(ALIKE - np.abs(grey[part] - left) / scale, 0)
            for side, is_there in enumerate((beyond[part] < middle, beyond[part] >= middle)):
                count[side] += np.where(is_there, weight, 0)
                total[side] += np.where(is_there, weight * beyond[part], 0)
    is_far = chosen < middle
    own, other = np.where(is_far, count, count[::-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_far, total[1], total[0]) / other
    excess = np.where(near, other - MORE * own, -np.inf)
    return np.where(excess > 0, mean, chosen), excess


def covered(disparity, mismatch):
    """Pixels that the right camera does not see because another one lies in the same place of its image.

    Of two pixels in one place the nearer one, by more than a px, is seen, unless the images match clearly worse there.
    A pixel may be covered if one on its right lies further left in the right image, and may cover if one on its left
    lies further right: else there is a steep slope, and nothing behind something.
    """
    height, width = disparity.shape
    out = np.zeros((height, width), bool)
    for y in range(height):
        places, claims = np.arange(width) - disparity[y], np.full(width + 1, -1)
        for x, place in enumerate(places):
            if 0 <= place < width and (places[:x] > place).any():
                for at in (int(place), int(place) + 1):
                    if claims[at] < 0 or disparity[y, x] > disparity[y, claims[at]]:
                        claims[at] = x
        for x, place in enumerate(places):
            if out[y, x] or not 0 <= place + 0.5 < width or not (places[x + 1 :] < place).any():
                continue
            nearer = claims[int(place + 0.5)]
            if nearer >= 0 and disparity[y, nearer] > disparity[y, x] + COVERED:
                out[y, nearer if mismatch[y, nearer] > mismatch[y, x] + WORSE else x] = True
    return out


def unmatched(disparity, mismatch):
    """Pixels where the images do not match at all, or match badly where the disparity rises steeply to the right."""
    slope = np.zeros(disparity.shape)
    slope[:, 2:-2] = (disparity[:, 4:] - disparity[:, :-4]) / 4
    return (mismatch > UNMATCHED) | (mismatch * slope > STEEP)


def reaches_limits(disparity, smallest, largest):
    """Pixels that may lie beyond the limits that were set, as their disparity lies at one; 0 and None: none was."""
    is_low = smallest != 0 and disparity < smallest + AT_LIMIT
    is_high = largest is not None and disparity > largest - AT_LIMIT
    return is_low | is_high


def is_beside_unknown(disparity, sizes, largest):
    """Pixels whose ``sizes`` of differences, times the share of unknown ones among the eight 3 px off, are too large.

    The upper and lower border repeat; beyond the others nothing is unknown.
    """
    is_unknown = np.pad(np.isnan(disparity), ((APART, APART), (0, 0)), mode="edge")
    is_unknown = np.pad(is_unknown, ((0, 0), (APART, APART)))
    height, width = disparity.shape
    places = [(j, i) for j in (0, APART, 2 * APART) for i in (0, APART, 2 * APART)]
    count = sum(is_unknown[j : j + height, i : i + width].astype(int) for j, i in places)
    return ~np.isnan(disparity) & (sizes * count / 8 > largest)


def fill_covered(disparity, is_covered):
    """Background beside covered pixels in their place."""
    filled = disparity.copy()
    for y, x in zip(*np.nonzero(is_covered)):
        (left,) = np.nonzero(~is_covered[y, :x])
        (right,) = np.nonzero(~is_covered[y, x:])
        beside = [disparity[y, at] for at in [*left[-1:], *(x + right[:1])]]
        filled[y, x] = min(beside)
    return filled


def unmatched_by_surface(disparity, surface_variance, min_probability):
    """Guesses: the surface is not probable enough, or leads outside the right image."""
    width = disparity.shape[1]
    place = np.arange(width) - disparity
    is_outside = (place < -0.5) | (place > width - 0.5)
    return is_outside | (naive_surface.probability_of(surface_variance) < min_probability)


# --- How sure is a pixel --------------------------------------------------------------------------------------------


def around(values, radius):
    """All values of the windows around each pixel; the border repeats."""
    offsets = range(-radius, radius + 1)
    return np.stack([shifted(values, j, i) for j in offsets for i in offsets])


def gradient_differences(left, right, disparity, is_blank):
    """How far the gradients of both images differ under a disparity, and their sum; nothing of blank pixels."""
    height, width = left.shape
    place = np.clip(np.arange(width) - disparity, 0, width - 1)
    whole = np.floor(place).astype(int)
    rows, slope = np.arange(height)[:, None], gradient(right)
    here, there = slope[rows, whole], slope[rows, np.minimum(whole + 1, width - 1)]
    there = here + (place - whole) * (there - here)
    differences, strengths = gradient(left) - there, np.abs(gradient(left)) + np.abs(there)
    return np.where(is_blank, 0, differences), np.where(is_blank, 0, strengths)


def sizes(differences, scale):
    """Grey levels per px, how far the gradients of both images differ in windows of 5x5, beyond the mean of noise."""
    _, noise = alike_and_noise(differences, scale)
    return np.maximum(around(np.abs(differences), 2).mean(0) / (2 * scale) - np.sqrt(2 / np.pi * noise), 0)


def mismatch(differences, strengths, scale):
    """How far the gradients of both images differ in windows of 5x5, over how strong they are."""
    return around(np.abs(differences), 2).mean(0) / (around(strengths, 2).mean(0) + FAINT * 2 * scale)


def precision(strengths, scale):
    """1 / px^2, how sharply the texture of both images fixes a disparity."""
    return (around(strengths, 2).mean(0) / (4 * scale) / NOISE) ** 2  # of two images, twice central differences


def coherence(differences, strengths, scale):
    """How alike neighbouring rows differ, in 5 rows and every second of 17 columns, beside differences and texture.

    What they do not have in common is noise, whose mean size is sqrt(2 / pi) of its standard deviation.  Where
    gradients are no stronger than that it hides what else there is, and counts as well.
    """
    alike, noise = alike_and_noise(differences, scale)
    texture = (around(strengths, 2).mean(0) / 2 / (2 * scale)) ** 2  # of one image
    hidden = np.minimum(noise / 2 / (np.pi / 2 * texture + 5e-7), 1) ** 2  # noise of the gradients of one image
    return (alike + hidden * noise + USUAL * HARDLY) / (alike + noise + HARDLY + OF_TEXTURE * texture)


def alike_and_noise(differences, scale):
    """Mean products of the differences of neighbouring rows in these windows, and what their squares have more."""
    height, width = differences.shape
    columns = [np.clip(np.arange(width) + k, 0, width - 1) for k in range(-BESIDE, BESIDE + 1, 2)]
    upper, lower = differences[:-1] / (2 * scale), differences[1:] / (2 * scale)
    sums = [sum(each[:, at] for at in columns) for each in (upper * lower, (upper**2 + lower**2) / 2)]
    pairs = [slice(max(y - 2, 0), y + 2) for y in range(height)]  # four of rows
    products, squares = (np.array([each[at].sum(0) for at in pairs]) / (4 * len(columns)) for each in sums)
    alike = np.maximum(products, 0)
    return alike, squares - alike


def noise_over_texture(differences, strengths, scale):
    """px^2, what the noise of the images moves a disparity by where texture is as strong as there."""
    _, noise = alike_and_noise(differences, scale)
    return noise / ((around(strengths, 2).mean(0) / 2 / (2 * scale)) ** 2 + FLAT)


def variance(
    disparity, surface, labels, precision, surface_variance, mismatch, coherence, by_texture, uneven_rows, weights
):
    """px^2, from what tells of errors; ``by_texture`` is the noise over the texture."""
    near = around(disparity, 1)
    jump = np.minimum(near.max(0) - near.min(0), FARTHEST) * mismatch
    every_second = [shifted(disparity, j, i) for j in range(-4, 5, 2) for i in range(-4, 5, 2)]
    bend = np.minimum(np.abs(disparity - np.mean(every_second, 0)), FARTHEST)
    move = np.minimum(np.abs(disparity - surface), FARTHEST)
    apart = np.minimum(np.abs(disparity - labels), FARTHEST_LABEL)
    by_surface, by_joint, by_jump, by_bend, by_move, by_label, by_hole, by_near, by_rows = weights[:9]
    coherent, by_noise = weights[9:]
    guessed = surface_variance**2 / (surface_variance**2 + GUESS**2)
    seen = by_joint / (1 / surface_variance + precision) + by_jump * jump**2
    seen = seen + (by_label * apart + by_near * np.abs(disparity)) * surface_variance
    unseen = by_noise * by_texture + by_rows * max(uneven_rows - EVEN, 0)
    unseen = unseen + (by_surface + by_hole * guessed) * surface_variance
    seen = seen * (1 - coherent + coherent * coherence)
    return seen + unseen + by_bend * bend**2 + by_move * move**2
