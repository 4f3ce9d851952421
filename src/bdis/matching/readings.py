"""Other ways to read a pair that hardly matches as it is: swapped, mirrored, turned, raised, or out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from .window_means import NOISE, window_means

if TYPE_CHECKING:  # which imports this
    from .pictures import SmallPair

# Where the result doubts nothing, as that of `dis`: by how much more of the left image must match than of the same with
# the right one mirrored or turned. It is 0.09 and more in 163 real and rendered pairs, at most 0.055 in 868 unrelated
# ones; of 240 rendered at random four fall short, three small and all in dense smoke.
CHANCE = 0.06
# How much better another reading of the pair must match.  Of 38 real and rendered pairs the right reading is better
# than any other by a factor of 1.2 to 3, and than the swapped one by 1.5 to 4.
CLEARLY_BETTER = 1.4
ALIKE = 0.6  # correlation of windows that match


def other_reading(small: SmallPair) -> str:
    """In which way the images would match clearly better; empty if in none.

    Examples
    --------
    >>> import bdis
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> other_reading(bdis.StereoMatcher().match(pair.left, pair.right[::-1]).pictures)
    'one of the images looks upside down'
    """
    left, right, lowest, highest = _searched(small)
    half = left.shape[1] // 2
    as_given = _matching_share(left, right, lowest, highest)
    readings = {
        "the scene looks farther than it may be: min_disparity (far_mm, --far) leaves out what is there":
            (right, 0, lowest),
        "the scene looks nearer than it may be: max_disparity (near_mm, --near) leaves out what is there":
            (right, highest, half),
        "left and right look swapped (or the cameras are turned towards each other: then set min_disparity below 0)":
            (right, -half, min(lowest, 0)),
        "one of the images looks mirrored": (right[:, ::-1], -half // 2, half // 2),
        "one of the images looks upside down": (right[::-1], -half // 2, half // 2),
        "one of the images looks turned by 180 degrees": (right[::-1, ::-1], -half // 2, half // 2),
        **{
            f"the right image looks about {abs(rows) * small.px} px {'lower' if rows > 0 else 'higher'} than the left "
            "one: this pair does not look rectified": (_raised(right, rows), lowest, highest)
            for rows in (-4, -3, -2, 2, 3, 4)
        },
    }  # fmt: skip
    for text, (image, low, high) in readings.items():
        if high > low and _matching_share(left, image, low, high) > CLEARLY_BETTER * as_given:
            return text
    return ""


def matches_by_chance(small: SmallPair) -> bool:
    """Whether hardly more of the left image has a match than if the right one is mirrored or turned.

    Examples
    --------
    >>> import bdis
    >>> from bdis.synthetic.renderer import render
    >>> pair, other = render("tissue", 240, 320), render("tissue", 240, 320, seed=9)
    >>> [matches_by_chance(bdis.StereoMatcher("dis").match(pair.left, each.right).pictures) for each in (pair, other)]
    [False, True]
    """
    left, right, lowest, highest = _searched(small)
    others = (right[:, ::-1], right[::-1], right[::-1, ::-1])
    by_chance = float(np.mean([_matching_share(left, other, lowest, highest) for other in others]))
    return _matching_share(left, right, lowest, highest) < by_chance + CHANCE


def _searched(small: SmallPair) -> tuple[Array, Array, int, int]:
    """Both small copies in grey levels, and the lowest and highest disparity that is tried in them."""
    left, right = (image.astype(np.float32) / small.grey for image in (small.left, small.right))
    half = left.shape[1] // 2
    lowest = int(np.clip(np.floor(small.smallest / small.px), -half, half - 1))
    highest = int(np.clip(np.ceil(min(small.largest / small.px, half)), lowest + 1, half))
    return left, right, lowest, highest


def _raised(image: Array, rows: int) -> Array:
    """The image moved up by ``rows``; what is missing repeats the border."""
    return image[np.clip(np.arange(len(image)) + rows, 0, len(image) - 1)]


def _matching_share(left: Array, right: Array, low: int, high: int) -> float:
    """Share of the left pixels that have a match: each other's best by correlation, and so has a neighbour."""
    correlation = _correlations(left, right, low, high)
    width, shifts = left.shape[1], np.arange(low, high + 1)
    best = correlation.argmax(2)
    from_right = np.arange(width)[:, None] + shifts  # the left column of each right column and shift
    other = correlation[:, np.clip(from_right, 0, width - 1), np.arange(len(shifts))]
    other[:, (from_right < 0) | (from_right >= width)] = -1
    there = np.clip(np.arange(width) - shifts[best], 0, width - 1)
    back = np.take_along_axis(other.argmax(2), there, 1)
    is_mutual = (np.abs(back - best) <= 1) & (correlation.max(2) > ALIKE)
    agrees = (np.abs(np.diff(best, axis=1)) <= 1) & is_mutual[:, 1:] & is_mutual[:, :-1]
    has_neighbour = np.zeros_like(is_mutual)
    has_neighbour[:, 1:] |= agrees
    has_neighbour[:, :-1] |= agrees
    return float(has_neighbour.mean())


def _correlations(left: Array, right: Array, low: int, high: int) -> Array:
    """Correlation (h, w, shifts) of windows around left column x and right column x - shift; -1 beyond the border."""
    columns = np.arange(left.shape[1])[:, None] - np.arange(low, high + 1)
    inside = (columns >= 0) & (columns < left.shape[1])
    columns = np.clip(columns, 0, left.shape[1] - 1)
    left_mean, right_mean = window_means(left), window_means(right)
    left_variance = window_means(left * left) - left_mean**2
    right_variance = window_means(right * right) - right_mean**2
    covariance = window_means(left[..., None] * right[:, columns]) - left_mean[..., None] * right_mean[:, columns]
    found = covariance / np.sqrt(np.maximum(left_variance[..., None] * right_variance[:, columns], NOISE))
    found[:, ~inside] = -1
    return np.asarray(found)
