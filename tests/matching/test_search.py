"""Shift tables, search and posterior against resampling every patch."""

import numba
import numpy as np
import pytest
from numba import float32, uint64

import bdis
from bdis.matching.kernels import posterior
from bdis.matching.kernels.shift_tables import add_neighbours
from bdis.vector import simd
from tests import naive
from tests.scenes import warped_pair


@numba.njit
def exp_of(values, out):
    for x in range(uint64(0), uint64(values.shape[1]), uint64(16)):
        simd.store(out, uint64(0), x, posterior.exp(simd.load(values, uint64(0), x)))


def test_exponential_is_good_to_a_millionth():
    x = -np.concatenate([np.linspace(0, 87, 100_000), np.logspace(-30, 1.9, 60_000), [88, 1e3, 1e10, 1e38, 3e38, 0]])
    x = np.append(x, np.zeros(-len(x) % 16)).astype(np.float32)[None]
    out = np.empty_like(x)
    exp_of(x, out)
    reference = np.exp(x.astype(float))
    for lowest, bound in ((-8, 1e-6), (-87, 6e-6)):  # x log2(e) rounds in float32
        some = x > lowest
        assert np.abs(out[some] / reference[some] - 1).max() < bound
    assert ((out >= 0) & (out < 2e-38))[x < -88].all()


@numba.njit
def neighbour_sums(values, size, out):
    a = simd.load(values, uint64(0), uint64(0))
    b = simd.load(values, uint64(0), uint64(16))
    simd.store(out, uint64(0), uint64(0), add_neighbours(a, b, size))


@pytest.mark.parametrize("size", range(4, 17, 2))
def test_sums_of_neighbours(size):
    values = np.random.default_rng(size).integers(-1000, 1000, (1, 32)).astype(np.int32)
    out = np.zeros((1, 16), np.int32)
    neighbour_sums(values, size, out)
    np.testing.assert_array_equal(out[0], [values[0, k : k + size].sum() for k in range(16)])


def patches_of(level):
    """(y, x) -> (disparity, probability) of the accepted patches of a level."""
    patches = level.search.patches
    return {
        (int(y), int(x)): (patches.disparity[i, j], patches.probability[i, j])
        for i, y in enumerate(patches.rows[0])
        for j, x in enumerate(patches.cols[0, :-16])
        if patches.probability[i, j] > 0
    }


@pytest.mark.parametrize("size", range(4, 17, 2))
@pytest.mark.parametrize("newton", [False, True])
def test_patches_of_every_size(size, newton):
    """A single level from a start of 0: no fusion or propagation can hide a difference."""
    left, right, _ = warped_pair(90, 140, seed=size, slope=0.02, offset=3.0)
    matcher = bdis.StereoMatcher("paper", patch_size=size, coarsest_level=1, newton=newton)
    matcher.match(left, right)
    (level,) = matcher._stages.levels
    scale = matcher.settings.intensity_scale
    pair = naive.Pair.of(naive.pyramid(left, 1, scale)[0], naive.pyramid(right, 1, scale)[0])
    reference = {
        (y, x): (disparity, probability)
        for y, x, disparity, probability in naive.search_level(pair, None, pair.width, 1.0, scale, 1, matcher.settings)
        if probability > 0
    }
    computed = patches_of(level)
    assert computed.keys() == reference.keys()
    assert len(computed) > 40
    values = np.array([(*computed[k], *reference[k]) for k in computed])
    np.testing.assert_allclose(values[:, 0], values[:, 2], atol=1e-3)
    np.testing.assert_allclose(values[:, 1], values[:, 3], atol=1e-3)


def test_saturated_differences_do_not_overflow():
    """Black against white over the largest patch is the largest sum there is."""
    rng = np.random.default_rng(0)
    left = np.where(rng.random((64, 96)) < 0.5, 1, 255).astype(np.uint8)
    right = (256 - left.astype(int)).astype(np.uint8)
    for size in (10, 16):
        matcher = bdis.StereoMatcher("paper", patch_size=size, segment_filter=False, min_support=0.0)
        disparity, *_ = naive.match(left, right, matcher.settings)
        result = matcher.match(left, right)
        np.testing.assert_allclose(result.disparity, disparity, atol=1e-3)


def test_float32_names_are_float32():
    """A Python float would silently turn vector code into float64 scalars."""
    assert numba.typeof(posterior._LOG2_E) == float32
