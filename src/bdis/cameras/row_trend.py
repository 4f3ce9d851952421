"""Images of another zoom, or one that is turned: told from how the rows of features differ across the picture."""

import numpy as np

from ..common.arrays import Array
from ..matching.pictures import INEXACT_ROWS_PX

# Of 41 real pairs and 350 rendered ones with noise, blur and smoke, trends that are as large as these lie at most 6.4
# standard errors from 0, but for a quarter of one real picture, whose rows do differ by 1 px; of the same pairs with
# the right image 1 % larger nearly all that have enough features 17 to 380.
LEAST_ERRORS = 10
LEAST_ZOOM = 0.006  # by this share; a smaller one, of .0045 and 11 standard errors, was found where there is none
FEWEST = 40  # features
FARTHEST_PX = 8.0  # by which rows of features may differ from their median to be looked at
SPREADS_PX = 3.0, 2.0, 1.0, 0.6, 0.4, 0.4, 0.4, 0.4  # how much rows may differ from the trend in each round of the fit


def zoomed_or_turned(before: Array, after: Array, shape: tuple[int, ...]) -> str:
    """A warning if one image looks larger than the other, or turned; empty if neither does, or too little tells.

    Parameters
    ----------
    before, after : ndarray, shape (n, 2)
        Column and row of features in the left and in the right image.
    shape : tuple of int
        Height and width of the images, px.

    Returns
    -------
    str

    Examples
    --------
    >>> before = np.random.default_rng(0).uniform((0, 0), (640, 480), (200, 2))
    >>> after = np.array([320, 240]) + 1.01 * (before - [320, 240])
    >>> zoomed_or_turned(before, after, (480, 640)).split(":")[0]
    'the right image looks 1.0 % larger than the left one'
    >>> zoomed_or_turned(before, before, (480, 640))
    ''
    """
    if len(before) < FEWEST:
        return ""
    found, errors = _trend(before, after[:, 1] - before[:, 1], shape)
    is_sure = np.abs(found) > LEAST_ERRORS * errors
    _, across, down = (float(value) for value in found)
    zoom = down / (shape[0] / 2)
    if is_sure[2] and abs(zoom) > LEAST_ZOOM and abs(down) > INEXACT_ROWS_PX:
        return (
            f"the right image looks {100 * abs(zoom):.1f} % {'larger' if zoom > 0 else 'smaller'} than the left one: "
            f"rows differ by {abs(down):.1f} px at the upper and lower borders, and columns, which become depth, "
            "probably as well; have both images the same zoom, also in the calibration?"
        )
    if is_sure[1] and abs(across) > INEXACT_ROWS_PX:
        return (
            f"one image looks turned: rows differ by {abs(across):.1f} px at the left and right borders, and columns, "
            "which become depth, probably as well"
        )
    return ""


def _trend(places: Array, lower_px: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """How much lower features lie in the right image: at its centre, and added at the right and at the lower border.

    Both this and its standard errors are px, shape (3,).
    """
    height, width = shape[:2]
    terms = np.stack([np.ones(len(places)), 2 * places[:, 0] / width - 1, 2 * places[:, 1] / height - 1], 1)
    found = np.array([np.median(lower_px), 0, 0])
    is_near = np.abs(lower_px - found[0]) < FARTHEST_PX
    for spread in SPREADS_PX:
        weights = is_near * (1 + ((lower_px - terms @ found) / spread) ** 2) ** -2
        normal = (terms.T * weights) @ terms + 1e-6 * np.eye(3)
        found = np.linalg.solve(normal, (terms.T * weights) @ lower_px)
    scatter = np.average((lower_px - terms @ found) ** 2, weights=weights)
    return found, np.sqrt(scatter * np.diag(np.linalg.inv(normal)))
