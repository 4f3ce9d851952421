"""The error model behind ``variance`` and ``probability``, and where its numbers come from.

The variance of a pixel of the surface, in px^2 of the finest level, is

    FLOOR + SPREAD * spread + SLOPE * slope^2 + HOLE * ((1 - density) / density)^2

with ``spread`` the mean squared distance of the disparities around from the surface, ``density`` the share of them that
is there and agrees (0 to 1), and ``slope`` the surface's.  Each term is a way of being wrong: noise, steep walls that a
patch cannot follow, and guessing across a hole.

The weights were fitted to 17 rendered scenes so that 95 % of the pixels of an average scene lie within 1.96 sigma
(the scale was checked on 17 others); nothing was fitted to images of cameras or to the authors' virtual colon.  The
probability that a disparity is off by less than 1 px of the image is then, on all of them, close to

    1 / (1 + ODDS_PER_PX2 * variance in px^2 of the image)

Where no surface is wanted (``smoothing=0``) it is fitted only to measure: on the level above, which takes a quarter of
the time, and once, without re-weighting outliers.  That has weights of its own, and one more term: the squared distance
of the disparity itself from the surface, ``REST``.
"""

import numpy as np
from numpy.typing import NDArray

SURFACE = {"floor": 3.6e-4, "spread": 0.94, "slope": 0.34, "hole": 1.17, "rest": 0.0}
MEASURED = {"floor": 9e-4, "spread": 0.77, "slope": 0.32, "hole": 0.81, "rest": 2.9}
ODDS_PER_PX2 = 0.15
LARGEST_HOLE = 0.2  # of the picture's width: a guess across a hole is off by no more


def model(weights: dict[str, float], width: int, level: int) -> NDArray[np.float32]:
    """Weights as `kernels.judge` takes them, for a level ``level`` that is ``width`` px wide.

    Examples
    --------
    >>> model(SURFACE, 320, 1).shape
    (1, 7)
    """
    odds = ODDS_PER_PX2 * 4.0**level
    return np.array([[*weights.values(), LARGEST_HOLE * width, odds]], np.float32)
