"""Rows that differ although they were aligned: another zoom, an image that is turned, or too far off to be found.

The alignment of rows (`rows.py`) moves and tilts the right image, by a few px.  What it cannot correct makes wrong
disparities that look right.  It shows in the small copies of the pair: their windows are compared where the disparity
and the alignment say that they match, and some rows above and below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from .window_means import RADIUS, correlation

if TYPE_CHECKING:
    from .pictures import SmallPair
    from .result import StereoResult

REACH = 3  # px of the small copies, rows above and below that are tried
ALIKE = 0.8  # correlation of windows that match
CURVED = 0.02  # by how much more the best row must match than the mean of its neighbours
SPREADS = 2.0, 1.0, 0.5, 0.3, 0.3, 0.3  # px of the small copies, how much windows may differ in each round of the fit
FEWEST = 100  # windows that must say something
# px of the small copies.  120 rendered pairs with noise, blur, smoke or rows that were aligned, and 41 real ones, have
# at most 0.23, the median 0.02; the right image 1 % larger 0.2, 2 % 0.3 to 0.45, where the median depth is 6 % off.
LARGEST = 0.25
LARGEST_PX = 1.5  # px of the image, for small ones: what only some presets correct, and what smoke looks like
LARGEST_ERRORS = 4.0  # standard errors


def uncorrected_rows(result: StereoResult) -> str:
    """A warning if rows differ in a way that was not corrected; empty if they do not, or if nothing tells.

    Parameters
    ----------
    result : StereoResult
        Of a matcher.

    Returns
    -------
    str

    Examples
    --------
    >>> import bdis
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> larger = pair.right[np.arange(240) * 24 // 25 + 5][:, np.arange(320) * 24 // 25 + 6]
    >>> uncorrected_rows(bdis.StereoMatcher().match(pair.left, larger)).split(":")[0]
    'rows differ by about 5 px at the upper and lower borders, which is not corrected'
    """
    small = result.pictures
    if small is None:
        return ""
    found, errors = _difference(result, small)
    least = max(LARGEST, LARGEST_PX / small.px)
    is_large = (np.abs(found) > least) & (np.abs(found) > LARGEST_ERRORS * errors)
    if not is_large.any():
        return ""
    most = int(np.argmax(np.where(is_large, np.abs(found), 0)))
    where, why = (
        ("", ""),
        (" at the left and right borders", "; is one image turned?"),
        (" at the upper and lower borders", "; have both images the same zoom?"),
    )[most]
    return (
        f"rows differ by about {abs(found[most]) * small.px:.0f} px{where}, which is not corrected: "
        f"this pair does not look rectified{why}"
    )


def _difference(result: StereoResult, small: SmallPair) -> tuple[Array, Array]:
    """How much lower the right image lies at its centre, and what is added at the right and at the lower border.

    Both this and its standard errors are px of the small copies, shape (3,).
    """
    lower, is_found = _rows_of_windows(result, small)
    height, width = lower.shape
    rows, columns = np.nonzero(is_found)
    if len(rows) < FEWEST:
        return np.zeros(3), np.full(3, np.inf)
    ones = np.ones(len(rows))
    terms = np.stack([ones, (2 * columns + 1) / width - 1, (2 * rows + 1) / height - 1], 1)
    values = lower[is_found]
    found = np.array([np.median(values), 0, 0])
    for spread in SPREADS:
        weights = (1 + ((values - terms @ found) / spread) ** 2) ** -2
        normal = (terms.T * weights) @ terms + 1e-6 * np.eye(3)
        found = np.linalg.solve(normal, (terms.T * weights) @ values)
    # Windows overlap: one in as many as a window has pixels says something of its own.
    scatter = np.average((values - terms @ found) ** 2, weights=weights) * (2 * RADIUS + 1) ** 2
    return found, np.sqrt(scatter * np.diag(np.linalg.inv(normal)))


def _rows_of_windows(result: StereoResult, small: SmallPair) -> tuple[Array, Array]:
    """How much lower each window of the left image is found in the right one than it should be, and where it is.

    Both have the shape of the small copies; px of these.
    """
    left, right = (image.astype(np.float32) / small.grey for image in (small.left, small.right))
    height, width = left.shape
    at = [np.minimum(np.arange(n) * small.px + small.px // 2, most - 1)
          for n, most in zip(left.shape, result.disparity.shape)]  # fmt: skip
    disparity = result.disparity[np.ix_(*at)] / small.px
    is_inside = np.isfinite(disparity) & (small.left > 0)
    x = np.arange(width) - np.where(is_inside, disparity, 0)
    is_inside &= (x >= 0) & (x <= width - 1)
    x = np.clip(x, 0, width - 1)
    # What the alignment found, without that by which the copy is moved already.
    offset, tilt = result.row_offset - small.moved[0], result.row_tilt - small.moved[1]
    y = np.arange(height)[:, None] + offset / small.px + tilt * (x - (width - 1) / 2)
    tried = np.stack([
        np.where(is_inside & is_seen, correlation(left, image), -1)
        for image, is_seen in (_sampled(right, x, y + rows) for rows in range(-REACH, REACH + 1))
    ])  # fmt: skip
    best = np.clip(tried.argmax(0), 1, 2 * REACH - 1)
    above, here, below = (np.take_along_axis(tried, best[None] + step, 0)[0] for step in (-1, 0, 1))
    curve = 2 * here - above - below
    is_found = (here > ALIKE) & (here >= above) & (here >= below) & (np.minimum(above, below) > -1) & (curve > CURVED)
    return best - REACH + (below - above) / (2 * np.maximum(curve, CURVED)), is_found


def _sampled(image: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """The image at places (h, w), and which of them lie inside of what was seen."""
    height, width = image.shape
    left, top = np.clip(x.astype(int), 0, width - 2), np.clip(np.floor(y).astype(int), 0, height - 2)
    across, down = (x - left).astype(np.float32), np.clip(y - top, 0, 1).astype(np.float32)
    corners = [image[top + i, left + j] for i in (0, 1) for j in (0, 1)]
    is_seen = (y >= 0) & (y <= height - 1) & (np.minimum.reduce(corners) > 0)
    upper, lower = (corners[i] * (1 - across) + corners[i + 1] * across for i in (0, 2))
    return upper * (1 - down) + lower * down, is_seen
