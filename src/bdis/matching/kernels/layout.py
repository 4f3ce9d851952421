"""The arrays a kernel works on, named.

Every image of a level is stored with ``PAD`` columns on the left and at least ``3 PAD`` on the right that repeat
its border, so that a 16-lane load near the border stays inside the array.  Pixel (y, x) is
``array[y, PAD + x]``.  Results have no padding on the left: pixel (y, x) is ``array[y, x]``.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba.core import types

from ...vector.array_types import FLOATS, INTS

PAD = 16  # columns left of the image; the shift table reaches 7 px to the left of a patch
SHIFTS = 16  # integer shifts in a patch's table: 7 below its start, 8 above
BELOW_START = 7

# Rows of Scratch.tables, 16 shifts for each of sixteen patches: B with its slope to the next shift, D with
# D[s+1] - D[s] - V[s], and V (see search.py).
STEP, SSD, BEND = range(3)


def row_stride(width: int) -> int:
    """Columns to allocate for an image row of ``width`` pixels, padding included.

    The last sums over a patch are read 25 px beyond the image and their sixteen columns need sixteen more behind them.
    """
    return PAD + -(-width // 16) * 16 + 3 * PAD


def plain_stride(width: int) -> int:
    """Columns of an array without padding on the left; the 16 on the right take what a patch's lanes spill."""
    return -(-width // 16) * 16 + 16


class Level(NamedTuple):
    """One pyramid level of a pair, and what was found on it.  Shapes: image (h, row_stride(w))."""

    left: np.ndarray  # int16, grey value x intensity scale
    gradient: np.ndarray  # int16, left[x + 1] - left[x - 1]: twice the central difference
    right: np.ndarray  # int16
    usable_left: np.ndarray  # uint8, 1 where the pixel and both horizontal neighbours were seen
    usable_right: np.ndarray  # uint8, 1 where the pixel and its right neighbour were seen
    rows: np.ndarray  # int32 (1, n), first image row of each row of patches
    cols: np.ndarray  # int32 (1, m + 16), first image column of each patch, the last one repeated
    patch_disparity: np.ndarray  # float32 (n, m + 16), px of this level
    patch_probability: np.ndarray  # float32 (n, m + 16), 0 = rejected
    patch_variance: np.ndarray  # float32 (n, m + 16), px^2 of this level, Eq. 16-18; if asked for
    spread: np.ndarray  # float32 (3 n, plain stride), patches spread along the row
    disparity: np.ndarray  # float32 (h, plain stride), px of this level, NaN = unknown
    probability: np.ndarray  # float32 (h, plain stride), 0 = unknown
    full_weight: np.ndarray  # float32 (1, plain stride), spatial weight along x if every patch were accepted
    covering: np.ndarray  # int32 (h, 2), first and last + 1 patch row over each pixel row
    row_weights: np.ndarray  # float32 (h, most patch rows over a pixel row), their spatial weights there


class LevelSettings(NamedTuple):
    """Settings of one level, in its pixels and in the grey levels of the integer images."""

    width: int  # px
    patch_size: int  # px, even
    starts_at_zero: bool  # no coarser level to start from
    max_iterations: int
    newton: bool  # divide LK steps by their slope
    stop: float  # px, a smaller step ends the search
    radius: float  # px, a search further from its start goes back
    window_step: float  # px between the five samples of the posterior's window
    fixed_variance: float  # sigma_r^2 in scaled grey^2, 0 = dynamic
    min_variance: float  # floor of the dynamic sigma_r^2, scaled grey^2
    min_valid: float  # share of a patch's pixels that must be seen by both cameras
    level_weight: float  # Gamma of this level, Eq. 12
    min_disparity: float  # px of this level
    max_disparity: float  # px of this level
    propagate: bool  # add the coarser level's probability
    posterior: bool  # False: deterministic, every converged patch counts as 1 and is fused by its residual
    min_support: float  # share of a pixel's spatial weight that accepted patches must hold
    min_probability: float  # pixels below are unknown
    min_segment: int  # px, smaller segments are removed
    grey: float  # one grey level in the integer scale of the images
    variance: bool  # fit the patches' variance


class Scratch(NamedTuple):
    """What one thread needs while it searches; nothing in it outlives a row of patches."""

    sums: np.ndarray  # int32 (10, row stride), see search.py
    whole: np.ndarray  # int32 (5, 16), whole numbers of sixteen patches
    real: np.ndarray  # float32 (10, 16), real numbers of sixteen patches
    tables: np.ndarray  # float32 (3, 2 * 16 * 17), shift tables of sixteen patches
    window: np.ndarray  # float32 (7, 16), results of patches with unseen pixels, see masked.py
    listed: np.ndarray  # int32 (1, patches in a row + 16), the patches of a row that have a start
    start: np.ndarray  # float32, likewise: where they start, px


class Surface(NamedTuple):
    """A smooth surface over the finest level and what it is made of.  All float32 (h in whole tiles of 16, plain
    stride), but for bonds and shares along x: (h / 16 * plain stride, 16), sixteen rows abreast.
    """

    bond_x: np.ndarray  # strength of the bond to the right neighbour
    share_x: np.ndarray  # 1 / pivot of the recursion along the row
    bond_y: np.ndarray  # strength of the bond to the neighbour below
    share_y: np.ndarray  # 1 / pivot of the recursion down the column
    target: np.ndarray  # px of the level, disparities to follow, NaN = unknown
    weight: np.ndarray  # 0 to 1, how far a disparity is trusted
    total: np.ndarray  # what is swept
    rest: np.ndarray  # what the next sweep begins with
    density: np.ndarray  # the weights, swept
    inverse: np.ndarray  # 1 / density
    support_inverse: np.ndarray  # 1 / density if all known disparities count alike
    disparity: np.ndarray  # px of the level, the surface
    spread: np.ndarray  # px^2 of the level, mean squared distance of the known disparities from the surface


SCRATCH = types.NamedTuple([INTS, INTS, FLOATS, FLOATS, FLOATS, INTS, FLOATS], Scratch)
SURFACE = types.NamedUniTuple(FLOATS, len(Surface._fields), Surface)


def addresses(arrays: Iterable[np.ndarray]) -> list[int]:
    """Where 2-D arrays are and their shapes: three numbers each, as ``levels.py`` reads them."""
    return [number for array in arrays for number in (array.ctypes.data, *array.shape)]
