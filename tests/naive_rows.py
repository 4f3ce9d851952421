"""The oracle of rows that differ: plain NumPy, independent of the kernels.

Arrays are float64 (height, width) of one level; unknown is NaN.
"""

import numpy as np

from tests.naive_steps import four_parents, halve, level_0, pyramid, seen_pyramid

WINDOW = 4, 8  # rows and columns, px of the level
MIN_KNOWN = 24  # px of a window
NOISE = 0.1  # grey levels^2
STIFFNESS = 0.25  # (grey levels / px)^2 per px
NEAR = 3  # rows
ROUNDS = 0.4, 0.2, 0.1  # px of the level, spread of the windows in each round
MOST_ROUNDS = 12  # with the last of these
STAYS = 0.01  # px, an estimate that changes less
AGAIN = 0.75  # px at a border, above which coarser levels are searched again
FIRST = 0.1, 4.0  # px and standard errors above which the first estimate counts
REST = 0.02, 2.0  # the same of the second
MAX_TILT = 0.06  # px per px
FOLLOW = 0.2  # in a video, what the next frame makes up for


def cubic(distance):
    """Weight of a row at a distance: Keys' cubic convolution with a = -1/2."""
    d = np.abs(distance)
    near, far = 1.5 * d**3 - 2.5 * d**2 + 1, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
    return np.where(d < 1, near, np.where(d < 2, far, 0))


def taps(shape, shift):
    """For each of the four rows that a column is taken from: their numbers (height, width) and weights (width,)."""
    height = shape[0]
    whole = np.floor(shift).astype(int)
    rows = np.arange(height)[:, None]
    for k in (-1, 0, 1, 2):
        yield np.clip(rows + whole + k, 0, height - 1), cubic(whole + k - shift)


def shift_rows(image, shift):
    """``image`` at (x, y + shift[x])."""
    columns = np.arange(image.shape[1])
    return sum(weight * image[rows, columns] for rows, weight in taps(image.shape, shift))


def shift_seen(seen, shift):
    """Seen if all four rows were."""
    columns = np.arange(seen.shape[1])
    return np.all([seen[rows, columns] for rows, _ in taps(seen.shape, shift)], axis=0)


def seen_near(seen):
    """Where all rows within NEAR of a pixel were seen."""
    height = len(seen)
    return np.array([seen[max(y - NEAR, 0) : min(y + NEAR, height - 1) + 1].all(0) for y in range(height)])


def leave_out_unseen(disparity, seen_left, seen_right):
    """Disparities whose surroundings were seen by both cameras."""
    height, width = disparity.shape
    left, right = seen_near(seen_left), seen_near(seen_right)
    out = np.full(disparity.shape, np.nan)
    for y in range(height):
        for x in range(width):
            place = x - disparity[y, x]
            if 0 <= place <= width - 1:
                beside = left[y, max(x - 1, 0)] and left[y, x] and left[y, min(x + 1, width - 1)]
                if beside and right[y, int(place)] and right[y, min(int(place) + 1, width - 1)]:
                    out[y, x] = disparity[y, x]
    return out


def windows(left, right, disparity, grey, every, is_levelled):
    """Per window with enough pixels: its first row and middle column, what v lacks, and the information about it.

    Only one in ``every`` rows of windows is looked at.

    Least squares of ``left - right = gradient_x e + gradient_y v + brightness``, e and the brightness eliminated.  If
    ``is_levelled`` the brightness is a plane over the window, else a constant.
    """
    height, width = left.shape
    found = []
    for top in range(0, height, every * WINDOW[0]):
        for first in range(0, width, WINDOW[1]):
            pixels = []
            for y in range(max(top, 1), min(top + WINDOW[0], height - 1)):
                for x in range(first, min(first + WINDOW[1], width)):
                    place = x - disparity[y, x]
                    if 0 <= place <= width - 1:
                        value = np.interp(place, np.arange(width), right[y])
                        along = (left[y, min(x + 1, width - 1)] - left[y, max(x - 1, 0)]) / 2
                        down = (left[y + 1, x] - left[y - 1, x]) / 2
                        pixels.append((left[y, x] - value, along, down, 1, x, y))
            n = len(pixels)
            if n >= MIN_KNOWN:
                values, places = np.array(pixels)[:, :3], np.array(pixels)[:, 3 : 6 if is_levelled else 4]
                r, gx, gy = (values - places @ np.linalg.lstsq(places, values)[0]).T
                xx = gx @ gx + n * STIFFNESS * grey**2
                texture, match = gy @ gy - (gx @ gy) ** 2 / xx, gy @ r - (gx @ gy) * (gx @ r) / xx
                missing = match / (texture + 1e-3 * grey**2)
                rest = max(r @ r - (gx @ r) ** 2 / xx - match * missing, 0)
                noise = rest / (n - 2 - places.shape[1]) + NOISE * grey**2
                found.append((top, first + (WINDOW[1] - 1) / 2, missing, texture / noise))
    return np.array(found).reshape(-1, 4).T


def normal_equations(left, right, disparity, grey, spread, every=1, *, is_levelled=True):
    """Sums over all windows of the weight w, w x, w x^2, w v, w x v; x from -1 to 1 across the level.  And over two
    windows of a row that are two or four windows apart, of the product of their w, and of their w v.
    """
    top, column, missing, information = windows(left, right, disparity, grey, every, is_levelled)
    x = (column + 0.5) * 2 / left.shape[1] - 1
    weight = information / (1 + spread * information)
    weight = weight / (1 + missing**2 * weight / 8) ** 2
    places = {place: k for k, place in enumerate(zip(top, column))}
    apart = [(k, places.get((y, at + n * WINDOW[1]))) for (y, at), k in places.items() for n in (2, 4)]
    products = [sum(part[k] * part[other] for k, other in apart if other) for part in (weight, weight * missing)]
    return np.array([*(np.sum(weight * part) for part in (1, x, x * x, missing, x * missing)), *products])


# --- The whole: what is found after each level, and the right image moved by it ---------------------------------------


NOTHING = 0.0, 0.0, np.inf, np.inf


def line(sums, spread, px, known, tilted):
    """Offset, tilt at the border and their standard errors, px of the image."""
    if sums[0] * spread <= 16:
        return NOTHING
    if tilted and sums[2] / sums[0] - (sums[1] / sums[0]) ** 2 > 0.1**2:
        inverse = np.linalg.inv([[sums[0], sums[1]], [sums[1], sums[2]]])
        offset, border = np.array(known[:2]) + px * (inverse @ sums[3:5])
        errors = px * np.sqrt(np.diag(inverse))
    else:
        offset, border = known[0] + (px * sums[3] + sums[1] * known[1]) / sums[0], 0.0
        errors = px / np.sqrt(sums[0]), 0.0
    return (offset, border, *errors) if abs(offset) + abs(border) < 4 else NOTHING


def unevenness(sums, spread, px):
    """px^2 of the image: what windows near each other have in common; 0 if they are too few."""
    return px**2 * max(sums[6] / sums[5], 0) if sums[5] * spread**2 > 4 else 0.0


def above(value, error, limits):
    """Is it more than so many px and standard errors?"""
    return abs(value) > limits[0] and abs(value) > limits[1] * error


def has_labels(settings):
    """Does every pixel choose by itself?  That is for a surface, and needs the image itself."""
    return settings.label_level is not None and settings.smoothing > 0


class Rows:
    """The levels of a uint8 pair, the right image moved by what was found so far.

    Parameters
    ----------
    images, seen : tuple of ndarray
        Left and right, and which of their pixels were seen.
    searched : int
        Coarsest level that is searched; all disparities may be tried on a coarser one.
    settings : bdis.Settings
    previous : Result or None
        Of the frame before.
    """

    def __init__(self, images, seen, searched, settings, previous):
        scale = settings.intensity_scale
        self.left, self.right = ([level_0(image, scale), *pyramid(image, 11, scale)] for image in images)
        self.seen_left, self.seen = ([mask, *seen_pyramid(mask, 11)] for mask in seen)
        self.finest = 0 if settings.finest_level == 0 or has_labels(settings) else 1  # what is moved
        self.unmoved, self.unmoved_seen = self.right[self.finest], self.seen[self.finest]
        self.has_hidden = not (seen[0].all() and seen[1].all())
        self.first = min(max(settings.finest_level + 1, 2), searched)
        self.width, self.settings = images[0].shape[1], settings
        self.estimates, self.is_next = settings.align_rows == "auto", previous is not None
        self.was_wrong, self.was_far = False, False
        self.offset, self.tilt, self.uneven = 0.0, 0.0, 0.0
        start = settings.row_offset, settings.row_tilt
        if self.is_next and self.estimates:
            start = previous.row_offset, previous.row_tilt
        if start != (0.0, 0.0):
            self.move(*start)

    def columns(self, number, offset, tilt):
        """The shift of every column of a level, px of the level."""
        middle = (np.arange(self.left[number].shape[1]) + 0.5) * 2**number
        return (offset + tilt * (middle - self.width / 2)) / 2**number

    def move(self, offset, tilt):
        """Make all levels of the right image anew."""
        self.offset, self.tilt = offset, tilt
        white = 255 * self.settings.intensity_scale
        shift = self.columns(self.finest, offset, tilt)
        self.right[self.finest] = np.clip(np.floor(shift_rows(self.unmoved, shift) + 0.5), 0, white)
        self.seen[self.finest] = shift_seen(self.unmoved_seen, shift)
        for n in range(self.finest + 1, len(self.right)):
            self.right[n] = halve(self.right[n - 1])
            self.seen[n] = four_parents(self.seen[n - 1]).all(0)

    def measure(self, number, level, disparity, spread, known, *, is_levelled=True):
        """The sums of a level, with the disparities of level ``number`` and the right image moved by what is known."""
        left, right = self.left[level], self.right[level]
        right = shift_rows(right, self.columns(level, known[0], 2 * known[1] / self.width))
        right = np.clip(np.floor(right + 0.5), 0, 255 * self.settings.intensity_scale)
        times = 2 ** (number - level)
        fine = times * disparity.repeat(times, 0).repeat(times, 1)[: left.shape[0], : left.shape[1]]
        every = 1 if level == self.first or self.was_wrong else 2
        return normal_equations(
            left, right, fine, self.settings.intensity_scale, spread, every, is_levelled=is_levelled
        )

    def estimate(self, number, disparity, limits):
        """What is missing, with the disparities of level ``number``."""
        finer = number - 1 if number == self.first and number > self.finest else number
        rounds = [(number, ROUNDS[0]), (number, ROUNDS[1]), *[(finer, ROUNDS[2])] * MOST_ROUNDS]
        estimate = NOTHING
        for level, spread in rounds[1:] if self.was_wrong else rounds:
            known = estimate
            sums = self.measure(number, level, disparity, spread**2, known)
            estimate = line(sums, spread**2, 2**level, known, tilted=True)
            estimate = estimate if abs(2 * estimate[1] / self.width) < MAX_TILT else NOTHING
            steps = abs(estimate[0] - known[0]), abs(estimate[1] - known[1])
            is_little = abs(estimate[0]) < limits[0][0] / 2 and abs(estimate[1]) < limits[1][0] / 2
            if level == finer and (is_little or max(steps) < STAYS):
                break
        if not above(estimate[1], estimate[3], limits[1]):
            estimate = line(sums, spread**2, 2**level, known, tilted=False)
        return estimate

    def look(self, number, disparity):
        """After level ``number`` was searched: measure, and move what is wrong.

        True if this and the coarser levels shall be searched again.
        """
        last = self.first - 1 if self.first - 1 >= max(self.settings.finest_level, self.finest) else self.first
        if not self.estimates or number not in (self.first, last):
            return False
        if self.has_hidden:
            disparity = leave_out_unseen(disparity, self.seen_left[number], self.seen[number])
        if (number == self.first or self.was_wrong) and self.correct(number, disparity):
            return True
        if number == last:
            finest = max(self.first - 1, self.finest)  # that is measured, though it may not be searched
            sums = self.measure(number, finest, disparity, ROUNDS[-1] ** 2, NOTHING, is_levelled=False)
            self.uneven = unevenness(sums, ROUNDS[-1] ** 2, 2**finest)
        return False

    def correct(self, number, disparity):
        """Move what is wrong; true if it was so much that coarser levels shall be searched again."""
        limits = [REST if self.was_wrong and value else FIRST for value in (self.offset, self.tilt)]
        offset, border, *errors = self.estimate(number, disparity, limits)
        tilt = 2 * border / self.width
        if above(offset, errors[0], limits[0]) or above(border, errors[1], limits[1]):
            is_far = number == self.first and abs(offset) + abs(border) > AGAIN and not self.was_far
            self.move(*self.without_traces(self.offset + offset, self.tilt + tilt))
            self.was_wrong, self.was_far = True, self.was_far or is_far
            return is_far
        if number == self.first and not self.was_wrong and self.is_next and np.isfinite(errors[0]):
            offset = self.offset + FOLLOW * offset if self.offset else 0.0
            tilt = self.tilt + FOLLOW * tilt if self.tilt else 0.0
            self.offset, self.tilt = self.without_traces(offset, tilt)
        return False

    def without_traces(self, offset, tilt):
        """0 where less than half of what counts."""
        tilt = np.clip(tilt, -MAX_TILT, MAX_TILT)
        return offset * (abs(offset) > FIRST[0] / 2), tilt * (abs(tilt) * self.width / 2 > FIRST[0] / 2)
