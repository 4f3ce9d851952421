"""What the border of the known takes from a slope of the surface, given back.

A sweep makes of each pixel a weighted mean of those around it (surface.py).  At the border of the image, and of what is
known in a row, these lie on one side only, so that a slope ends level there: off by
slope * reach * exp(-distance / reach), with a reach of sqrt(strength of a bond).  Sweeping the rest again, which mends
folds, mends only half of that.

The slope is told by what is left of it in the last 16 px.  It counts at most twice as much as the slope of the 16 px
before, and nothing if that has another sign: then it is a depth edge or a fold.  Small slopes may be noise and count
less.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import meet, share
from ...vector.records import Floats, Record
from ...vector.simd import LANES, absolute, any_lane, lane_numbers, load, select, smaller, splat, store, to_float

STRIP = 2 * LANES  # px of the level, so far from the border slopes are straightened
LEFT_OVER = 0.58  # of a slope in the last 16 px, for a reach of 8 px; 0.35: the same errors
TRUSTED = 2.0  # times the slope further inside; 1: errors at the border of tissue +20 %, 3 and more: the same errors
KNOWN = 0.4  # density from which on a row is known; 0.25: error of sets 30 and 31 +2 %, 0.5: -2 %, coverage there -1 %
FLAT = 0.02  # px per px, a slope that counts half; 0: errors at the rim of round pictures of tissue +5 %
TINY = 1e-20  # where the density is smaller nothing is known at all


class Borders(Record):
    """How borders are straightened.

    Attributes
    ----------
    is_level : bool
        They are not.
    lost : ndarray of float32, shape (2, STRIP)
        px that a slope of 1 loses in columns from the left border on, and in those up to the right border.
    """

    is_level: bool
    lost: Floats


@inner
def border_slope(at_border, inside, further, density):
    """Slope toward the border, from the surface there, 16 px and 32 px inside, and the least density of the three."""
    none = splat(float32(0))
    slope = (at_border - inside) * splat(float32(1 / (LEFT_OVER * LANES)))
    most = (inside - further) * splat(float32(TRUSTED / LANES))
    counts = (slope * most > none) & (density > splat(float32(TINY)))
    slope = select(counts, select(absolute(slope) < absolute(most), slope, most), none)
    squared = slope * slope
    return slope * (squared / (squared + splat(float32(FLAT * FLAT))))


@inner
def border_of_known(density, y, side, last):
    """First column of row ``y`` that is known, from the left (``side`` 0) or right; -1 if too few lie behind it."""
    inward, border, known = 1 - 2 * side, side * last, splat(float32(KNOWN))
    while 0 <= border + inward * STRIP <= last:
        if not any_lane(load(density, y, uint64(border - side * (LANES - 1))) >= known):
            border += inward * LANES
        elif density[y, uint64(border)] >= float32(KNOWN):
            return border
        else:
            border += inward
    return -1


@inner
def straighten_rows(surface, lost, begin, end):
    """Left and right border of what is known in rows ``begin`` to ``end - 1``, and 16 px beyond."""
    disparity, density, last = surface.disparity, surface.density, surface.width - 1
    none, reach = splat(float32(0)), splat(lost[0, 0])
    for y in range(uint64(begin), uint64(end)):
        for side in range(2):
            inward, border = 1 - 2 * side, border_of_known(density, y, side, last)
            if border < 0:
                continue
            inside, further = uint64(border + inward * LANES), uint64(border + inward * STRIP)
            slope = border_slope(
                splat(disparity[y, uint64(border)]), splat(disparity[y, inside]), splat(disparity[y, further]),
                splat(min(density[y, inside], density[y, further])),
            )  # fmt: skip
            for k in range(0, STRIP, LANES):
                x = uint64(border + k - side * (STRIP - 1))
                store(disparity, y, x, load(disparity, y, x) + slope * load(lost, uint64(side), uint64(k)))
            first = max(border - LANES, 0) if side == 0 else min(border + 1, last + 1 - LANES)
            beyond = to_float((splat(int32(border)) - lane_numbers() - splat(int32(first))) * splat(int32(inward)))
            change = select(beyond > none, slope * (reach + beyond), none)
            store(disparity, y, uint64(first), load(disparity, y, uint64(first)) + change)


@inner
def straighten_columns(surface, lost, begin, end):
    """Upper and lower border of columns ``begin`` to ``end - 1``."""
    disparity, density, last = surface.disparity, surface.density, surface.height - 1
    for side in range(2):
        border = uint64(side * last)
        inside, further = uint64(abs(side * last - LANES)), uint64(abs(side * last - STRIP))
        for x in range(uint64(begin), uint64(end), uint64(LANES)):
            least = smaller(smaller(load(density, border, x), load(density, inside, x)), load(density, further, x))
            slope = border_slope(
                load(disparity, border, x), load(disparity, inside, x), load(disparity, further, x), least
            )
            for k in range(uint64(STRIP)):
                y = uint64(side * (last + 1 - STRIP)) + k
                store(disparity, y, x, load(disparity, y, x) + slope * splat(lost[uint64(side), k]))


@inner
def straighten_borders(surface, borders, crew):
    """Straighten the borders of the surface, if it is large enough to tell slopes; False if the crew shall stop."""
    begin, end = share(crew, surface.height, LANES)
    straighten_rows(surface, borders.lost, begin, end)
    if not meet(crew):
        return False
    begin, end = share(crew, surface.width, LANES)
    if surface.height > STRIP:
        straighten_columns(surface, borders.lost, begin, end)
    return meet(crew)
