"""Means over windows of the small copies of a pair."""

import numpy as np

from ..common.arrays import Array

RADIUS = 2  # px of the small copies, of the windows that are compared
NOISE = 1.0  # grey levels^2, so that flat windows match nothing


def window_means(image: Array) -> Array:
    """Means over the windows around all pixels of (h, w) or (h, w, n); the border is repeated.

    Examples
    --------
    >>> window_means(np.arange(25.0).reshape(5, 5))[2, 2].item()
    12.0
    """
    side = 2 * RADIUS + 1
    for axis in (0, 1):
        around = [(RADIUS + 1, RADIUS) if each == axis else (0, 0) for each in range(image.ndim)]
        sums = np.cumsum(np.pad(image, around, mode="edge"), axis, dtype=np.float64)
        image = (np.take(sums, range(side, sums.shape[axis]), axis)
                 - np.take(sums, range(sums.shape[axis] - side), axis)) / side  # fmt: skip
    return image


def correlation(first: Array, second: Array) -> Array:
    """Correlation (h, w) of the windows around the same pixels of two images."""
    means = window_means(first), window_means(second)
    variances = [window_means(image * image) - mean**2 for image, mean in zip((first, second), means)]
    covariance = window_means(first * second) - means[0] * means[1]
    return np.asarray(covariance / np.sqrt(np.maximum(variances[0] * variances[1], NOISE)))
