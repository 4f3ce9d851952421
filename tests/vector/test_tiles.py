"""Tiles and whole-vector operations against NumPy."""

import numpy as np
import pytest
from numba import njit

from bdis.vector.simd import LANES, load, store
from bdis.vector.tiles import smallest_lane, transpose_tile


@njit
def transpose(source, row, col, target, target_row, target_col):
    transpose_tile(source, row, col, target, target_row, target_col)


@pytest.mark.parametrize(("row", "col"), [(0, 0), (1, 3), (5, 9)])
def test_transpose_moves_every_number_and_nothing_else(row, col):
    source = np.arange(24 * 31, dtype=np.float32).reshape(24, 31)
    source[row, col], source[row + 15, col] = np.nan, -0.0
    target = np.full((20, 19), 7, np.float32)
    expected = target.copy()
    expected[2 : 2 + LANES, 1 : 1 + LANES] = source[row : row + LANES, col : col + LANES].T
    transpose(source, row, col, target, 2, 1)
    np.testing.assert_array_equal(target, expected)


@njit
def smallest(a, out):
    store(out, 0, 0, smallest_lane(load(a, 0, 0)))


@pytest.mark.parametrize("place", range(LANES))
def test_smallest_lane_is_found_anywhere(place):
    values = np.linspace(1, 2, LANES, dtype=np.float32)[None].copy()
    values[0, place] = -3.5
    out = np.zeros((1, LANES), np.float32)
    smallest(values, out)
    np.testing.assert_array_equal(out, np.float32(-3.5))


def test_smallest_of_infinities():
    out = np.zeros((1, LANES), np.float32)
    smallest(np.full((1, LANES), np.inf, np.float32), out)
    assert (out == np.inf).all()
