"""The oracle of the paper's steps: pyramid, search, posterior, fusion, filters, enlarging.  Plain NumPy.

Nothing here is shared with the kernels but the settings.  Images and maps are float64 arrays (height, width) of one
level; unknown is NaN.  ``naive.py`` puts the steps together.
"""

from dataclasses import dataclass

import numpy as np

from tests import naive_surface

# --- Pyramid --------------------------------------------------------------------------------------------------------


def brightness(image):
    """Grey value x 256 of a uint8 image, as whole numbers."""
    if image.ndim == 2:
        return 256 * image.astype(np.int64)
    red, green, blue = (image[..., channel].astype(np.int64) for channel in range(3))
    return 77 * red + 150 * green + 29 * blue


def four_parents(image):
    """The four pixels above each pixel of the next level; an odd last row or column counts twice."""
    height, width = image.shape
    padded = np.pad(image, ((0, height % 2), (0, width % 2)), "edge")
    return np.stack([padded[0::2, 0::2], padded[0::2, 1::2], padded[1::2, 0::2], padded[1::2, 1::2]])


def halve(image):
    """Rounded mean of 2x2 pixels."""
    return np.floor(four_parents(image).sum(0) / 4 + 0.5)


def level_0(image, scale):
    """The image itself in steps of 1 / scale grey levels."""
    return np.floor(brightness(image) * scale / 256 + 0.5)


def pyramid(image, coarsest, scale):
    """Levels 1 to ``coarsest`` in steps of 1 / scale grey levels, each the rounded 2x2 mean of the one before."""
    levels = [np.floor(four_parents(brightness(image)).sum(0) * scale / 1024 + 0.5)]
    while len(levels) < coarsest:
        levels.append(halve(levels[-1]))
    return levels


def seen_pyramid(seen, coarsest):
    """Levels 1 to ``coarsest`` of a bool mask: seen if all four parents were."""
    levels = [four_parents(seen).all(0)]
    while len(levels) < coarsest:
        levels.append(four_parents(levels[-1]).all(0))
    return levels


def patch_grid(length, size, stride):
    """First pixel of each patch; the last patch ends with the image."""
    starts = list(range(0, length - size + 1, stride))
    return starts if starts[-1] == length - size else [*starts, length - size]


# --- Search [III-A] and posterior [III-B] of one patch --------------------------------------------------------------


@dataclass
class Pair:
    """One level: both images with their borders repeated ``pad`` px outwards, and which pixels may be used."""

    left: np.ndarray
    gradient: np.ndarray  # dT/dx by central differences
    right: np.ndarray
    usable_left: np.ndarray  # the pixel and both neighbours along x were seen
    usable_right: np.ndarray  # the pixel and its right neighbour were seen
    width: int
    pad: int = 24

    @classmethod
    def of(cls, left, right, seen_left=None, seen_right=None):
        seen_left = np.ones(left.shape, bool) if seen_left is None else seen_left
        seen_right = np.ones(right.shape, bool) if seen_right is None else seen_right
        wide = ((0, 0), (cls.pad + 1, cls.pad + 1))
        left_wide, right_wide = np.pad(left, wide, "edge"), np.pad(right, wide, "edge")
        seen_l, seen_r = np.pad(seen_left, wide, "edge"), np.pad(seen_right, wide, "edge")
        return cls(
            left=left_wide[:, 1:-1],
            gradient=(left_wide[:, 2:] - left_wide[:, :-2]) / 2,
            right=right_wide[:, 1:],
            usable_left=seen_l[:, 1:-1] & seen_l[:, 2:] & seen_l[:, :-2],
            usable_right=seen_r[:, 1:-1] & seen_r[:, 2:],
            width=left.shape[1],
        )

    def compare(self, y, x, size, right_x):
        """Both patches' difference, the gradient and the pixels that count, at right column ``right_x``."""
        whole = int(np.floor(right_x))
        a = right_x - whole
        rows = slice(y, y + size)
        l_cols = slice(self.pad + x, self.pad + x + size)
        r_cols = slice(self.pad + whole, self.pad + whole + size)
        r_next = slice(r_cols.start + 1, r_cols.stop + 1)
        warped = (1 - a) * self.right[rows, r_cols] + a * self.right[rows, r_next]
        counts = self.usable_left[rows, l_cols] & self.usable_right[rows, r_cols]
        return warped - self.left[rows, l_cols], self.gradient[rows, l_cols], counts

    def all_usable(self, y, x, size, start_x):
        """No pixel hidden in the left patch, nor in the right one at any whole place from 7 px before to 8 px
        beyond.
        """
        rows, first = slice(y, y + size), self.pad + int(np.floor(start_x)) - 7
        left = self.usable_left[rows, self.pad + x : self.pad + x + size]
        return left.all() and self.usable_right[rows, first : first + 15 + size].all()

    def ssd(self, y, x, size, right_x, min_valid):
        """SSD of the mean-normalised patches, scaled to a full patch; None where too few pixels count."""
        difference, _, counts = self.compare(y, x, size, right_x)
        if counts.sum() < max(1, min_valid * size**2):
            return None
        d = difference[counts]
        return ((d - d.mean()) ** 2).mean() * size**2

    def lk_step(self, y, x, size, right_x, min_valid):
        """Eq. 1, inverse form: how far the right patch lies beyond the left one; None where too few pixels count."""
        difference, gradient, counts = self.compare(y, x, size, right_x)
        if counts.sum() < min_valid * size**2:
            return None
        d, g = difference[counts], gradient[counts]
        return (g * (d - d.mean())).sum() / max((g**2).sum(), 0.25)


def descend(pair, y, x, start_x, lowest_x, highest_x, settings):
    """Follow LK steps from ``start_x``; a search that leaves its range goes back to its start.

    Dividing a step by its slope (``newton``) needs the same pixels at every place; where some are hidden the plain
    step is taken, twice as often.
    """
    size, place = settings.patch_size, start_x
    newton = settings.newton and pair.all_usable(y, x, size, start_x)
    gentlest, last_step = 0.5, 0.0
    for _ in range(settings.max_iterations * (2 if settings.newton and not newton else 1)):
        step = pair.lk_step(y, x, size, place, settings.min_valid)
        if step is None:
            return start_x
        if newton:
            # The step is piecewise linear in the place, between whole pixels.
            whole = np.floor(place)
            ends = [pair.lk_step(y, x, size, end, settings.min_valid) for end in (whole, whole + 1)]
            # A gentle slope lengthens the step, until the search first turns round.
            gentlest = 1.0 if step * last_step < 0 else gentlest
            last_step = step
            step /= np.clip(ends[1] - ends[0], gentlest, 2)
        moved = place - step
        if not (abs(moved - start_x) <= settings.search_radius and lowest_x <= moved <= highest_x):
            return start_x
        place = moved
        if abs(step) < settings.stop_step:
            break
    return place


def s_squared(settings):
    """s^2 of Eq. 6: the pixels of a patch, or the square of the samples in the window."""
    return {"patch": settings.patch_size, "window": 5}[settings.likelihood_area] ** 2


def window_posterior(ssd, area, s_squared, sigma_r=None, min_variance=0.2):
    """Eq. 5 and 6: the centre's share of the window's probability; 0 if the centre is not its strict minimum."""
    centre, *others = ssd
    if any(other is None for other in ssd) or any(other <= centre for other in others):
        return 0.0
    variance = max(centre / area, min_variance) if sigma_r is None else sigma_r**2
    likelihood = np.exp((centre - np.array(ssd)) / (2 * variance * s_squared))  # relative to the centre: no underflow
    return likelihood[0] / likelihood.sum()


def search_level(pair, parent, width, level_weight, scale, number, settings):
    """All patches of a level: lists of (y, x, disparity, probability).  ``parent``: (disparity, probability) or
    None.
    """
    size = settings.patch_size
    found = []
    for y in patch_grid(pair.left.shape[0], size, settings.stride):
        for x in patch_grid(width, size, settings.stride):
            lowest = max(x - (width - size), settings.min_disparity / 2**number)
            highest = min(x, np.inf if settings.max_disparity is None else settings.max_disparity / 2**number)
            if parent is None:
                start, inherited = min(max(0.0, lowest), highest), 0.0
            else:
                at = tuple(min((c + size // 2) // 2, n - 1) for c, n in zip((y, x), parent[0].shape))
                start, inherited = 2 * parent[0][at], parent[1][at]
            cols = slice(pair.pad + x, pair.pad + x + size)
            if not lowest <= start <= highest or not pair.gradient[y : y + size, cols].any():
                continue
            place = descend(pair, y, x, x - start, x - highest, x - lowest, settings)
            samples = (place + k * settings.window_step for k in (0, -2, -1, 1, 2))
            ssd = [pair.ssd(y, x, size, sample, settings.min_valid) for sample in samples]
            if settings.fusion == "residual":
                probability = 0.0 if None in ssd else 1.0
            else:
                fixed = None if settings.sigma_r is None else settings.sigma_r * scale
                posterior = window_posterior(ssd, size**2, s_squared(settings), fixed)
                probability = posterior * level_weight + inherited * settings.propagate if posterior > 0 else 0.0
            found.append((y, x, x - place, probability))
    return found


# --- Fusion [III-C, III-D] and filters [III-F] ----------------------------------------------------------------------


def spatial_weight(settings):
    """Eq. 9: a Gaussian about the centre of a patch, or their sum over its pixels, (patch_size, patch_size)."""
    if settings.spatial_sum and settings.sigma_spatial is not None:
        total = np.zeros((settings.patch_size, settings.patch_size))
        y, x = np.indices(total.shape)
        for yi, xi in np.ndindex(total.shape):
            total += np.exp(-((x - xi) ** 2 + (y - yi) ** 2) / (2 * settings.sigma_spatial**2))
        return total
    offset = np.arange(settings.patch_size) - (settings.patch_size - 1) / 2
    sigma = np.inf if settings.sigma_spatial is None else settings.sigma_spatial
    along = np.exp(-(offset**2) / (2 * sigma**2))
    return np.outer(along, along)


def fuse(patches, shape, settings, min_probability):
    """Eq. 9-13: mean of the accepted patches over each pixel, weighted by probability and distance from their
    centre.
    """
    size = settings.patch_size
    weight = spatial_weight(settings)
    wpu, wp, w, full = (np.zeros(shape) for _ in range(4))
    for y in patch_grid(shape[0], size, settings.stride):
        for x in patch_grid(shape[1], size, settings.stride):
            full[y : y + size, x : x + size] += weight
    for y, x, disparity, probability in patches:
        if probability > 0:
            at = slice(y, y + size), slice(x, x + size)
            wpu[at] += weight * probability * disparity
            wp[at] += weight * probability
            w[at] += weight
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = np.where(w > 0, wp / w, 0)
        known = (w > 0) & (w >= settings.min_support * full) & (probability >= min_probability)
        return np.where(known, wpu / wp, np.nan), np.where(known, probability, 0)


def fuse_by_residual(patches, pair, settings, scale):
    """Eq. 2, DIS: mean of all patches over each pixel, weighted by the inverse of its squared grey residual."""
    size = settings.patch_size
    shape = pair.left.shape[0], pair.width
    total, weights = np.zeros(shape), np.zeros(shape)
    for y, x, disparity, probability in patches:
        if probability > 0:
            difference, _, _ = pair.compare(y, x, size, x - disparity)
            residual = (difference - difference.mean()) / scale
            weight = 1 / np.maximum(1, residual**2)
            at = slice(y, y + size), slice(x, x + size)
            total[at] += weight * disparity
            weights[at] += weight
    with np.errstate(invalid="ignore"):
        return total / weights, (weights > 0).astype(float)


def remove_small_segments(disparity, min_size, tolerance=1.0):
    """Flood fill over 4-neighbours within ``tolerance``; segments under ``min_size`` become NaN."""
    height, width = disparity.shape
    out, visited = disparity.copy(), np.isnan(disparity)
    for seed in zip(*np.nonzero(~visited)):
        if visited[seed]:
            continue
        visited[seed] = True
        segment = [seed]
        for y, x in segment:
            for neighbour in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                inside = 0 <= neighbour[0] < height and 0 <= neighbour[1] < width
                if inside and not visited[neighbour] and abs(disparity[neighbour] - disparity[y, x]) <= tolerance:
                    visited[neighbour] = True
                    segment.append(neighbour)
        if len(segment) < min_size:
            for pixel in segment:
                out[pixel] = np.nan
    return out


def fuse_patches(patches, pair, settings, scale, min_probability):
    """Disparity and probability of the pixels of a level."""
    if settings.fusion == "residual":
        return fuse_by_residual(patches, pair, settings, scale)
    return fuse(patches, (pair.left.shape[0], pair.width), settings, min_probability)


def patch_variance(patch, pair, settings, scale):
    """Eq. 15-17: variance of a Gaussian through the window's likelihoods, px^2 of the level."""
    y, x, disparity, _ = patch
    samples = (x - disparity + k * settings.window_step for k in (0, -2, -1, 1, 2))
    ssd = [pair.ssd(y, x, settings.patch_size, sample, settings.min_valid) for sample in samples]
    fixed = None if settings.sigma_r is None else settings.sigma_r * scale
    return naive_surface.window_variance(ssd, s_squared(settings), settings.window_step, settings.patch_size, fixed)


def fuse_variance(patches, pair, settings, scale):
    """Eq. 18: variance of the weighted mean of the patches over each pixel, px^2 of the level.

    Where no patch with a posterior lies over a pixel (filled by ``dense``, or fused by residuals) sigma is half a
    patch.
    """
    size, shape = settings.patch_size, (pair.left.shape[0], pair.width)
    weight = spatial_weight(settings)
    total, wp = np.zeros(shape), np.zeros(shape)
    for patch in patches if settings.fusion == "bayes" else ():
        y, x, _, probability = patch
        if probability > 0:
            at = slice(y, y + size), slice(x, x + size)
            total[at] += (weight * probability) ** 2 * patch_variance(patch, pair, settings, scale)
            wp[at] += weight * probability
    return np.where(wp > 0, total / np.maximum(wp, 1e-30) ** 2, size**2 / 4)


def upsample(disparity, probability, height, width):
    """Twice the size: bilinear over the known ones of the four nearest pixels; disparity doubles."""
    out_d, out_p = np.full((height, width), np.nan), np.zeros((height, width))
    for y in range(height):
        for x in range(width):
            total_w = total_d = total_p = 0.0
            for yy, wy in ((y // 2, 0.75), (y // 2 + (1 if y % 2 else -1), 0.25)):
                for xx, wx in ((x // 2, 0.75), (x // 2 + (1 if x % 2 else -1), 0.25)):
                    at = min(max(yy, 0), disparity.shape[0] - 1), min(max(xx, 0), disparity.shape[1] - 1)
                    if not np.isnan(disparity[at]):
                        total_w += wy * wx
                        total_d += wy * wx * disparity[at]
                        total_p += wy * wx * probability[at]
            if total_w > 0:
                out_d[y, x], out_p[y, x] = 2 * total_d / total_w, total_p / total_w
    return out_d, out_p
