"""The law that errors follow: Student's t with three degrees of freedom, of a given variance.

Its tails are as heavy as those of real errors, and with u = x / sigma the share of errors smaller than x is

    2 / pi (u / (1 + u^2) + arctan u).
"""

import math

import numpy as np
from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Record, kernel
from ...vector.simd import LANES, lane_numbers, load, select, smaller, splat, square_root, store
from .layout import ROWS, Map, Maps

# arctan x is about x times this polynomial in x^2, to 1e-5 for x from 0 to 1 (Abramowitz and Stegun, 4.4.49).
ARCTAN = (0.9998660, -0.3302995, 0.1801410, -0.0851330, 0.0208351)
LARGEST_VARIANCE = 1e12  # px^2, about which nothing more can be said


@inner
def probability_of(variance):
    """Probability that sixteen disparities with this variance, px^2, are off by less than 1 px."""
    one, quarter_turn = splat(float32(1)), splat(float32(math.pi / 2))
    variance = smaller(variance, splat(float32(LARGEST_VARIANCE)))
    sigma = square_root(variance)
    inverse = one / sigma
    x = smaller(sigma, inverse)
    square = x * x
    series = splat(float32(ARCTAN[4]))
    series = series * square + splat(float32(ARCTAN[3]))
    series = series * square + splat(float32(ARCTAN[2]))
    series = series * square + splat(float32(ARCTAN[1]))
    series = series * square + splat(float32(ARCTAN[0]))
    angle = select(sigma < one, quarter_turn - x * series, x * series)
    return smaller((sigma / (one + variance) + angle) * splat(float32(2 / math.pi)), one)


class Law(Record):
    """What becomes of a variance.

    Attributes
    ----------
    scale : float
        Factor on it.
    min_probability : float
        Less probable pixels are unknown.
    has_variance : bool
        It is part of the result, beside the probability.
    """

    scale: float
    min_probability: float
    has_variance: bool


@kernel
def apply_law(result: Maps, variance: Map, law: Law, crew: Crew) -> None:
    """Probability and, if asked for, variance of a result that has the unscaled variance in place of its probability.

    The probability is 0 where nothing is known.
    """
    begin, end = share(crew, result.disparity.shape[0], ROWS)
    zero, unknown, scale = splat(float32(0)), splat(float32(np.nan)), splat(float32(law.scale))
    least, probability = splat(float32(law.min_probability)), result.probability
    for y in range(uint64(begin), uint64(end)):
        x = 0
        while x < result.width:
            done, x = splat(int32(x)), min(x, result.width - LANES)  # the last sixteen overlap, and are done once
            at, is_done = uint64(x), lane_numbers() + splat(int32(x)) < done
            given, disparity = load(probability, y, at), load(result.disparity, y, at)
            value = given * scale
            found = probability_of(value)
            known = (value == value) & (found >= least)
            store(probability, y, at, select(is_done, given, select(known, found, zero)))
            store(result.disparity, y, at, select(is_done | known, disparity, unknown))
            if law.has_variance:
                value = select(known, value, unknown)
                store(variance.values, y, at, select(is_done, load(variance.values, y, at), value))
            x += LANES
    meet(crew)
