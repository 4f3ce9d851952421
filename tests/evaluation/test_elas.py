"""ELAS kernels against the oracle."""

import numpy as np
import pytest

from bdis.evaluation.baselines.elas.kernels import cleanup as elas_after
from bdis.evaluation.baselines.elas.kernels import dense as elas_dense
from bdis.evaluation.baselines.elas.kernels import support as elas_support
from bdis.evaluation.baselines.elas.matcher import describe
from bdis.matching.kernels.layout import map_stride
from tests import naive
from tests.evaluation import naive_elas
from tests.scenes import warped_pair

SIZES = [(33, 47), (40, 64), (51, 38)]


def pair_of(height, width, seed=0):
    left, right, _ = warped_pair(height, width, seed, slope=0.1, offset=3.0)
    left[height // 2 :, : width // 3] = 90  # no texture there
    return left, right


def planar(descriptors):
    """(h, w, 16) as the kernels have it."""
    return descriptors.astype(np.uint8).reshape(len(descriptors), -1)


def padded(disparity):
    """A map as the kernels have it; what lies behind a row is garbage to them."""
    out = np.full((len(disparity), map_stride(disparity.shape[1])), 7.0, np.float32)
    out[:, : disparity.shape[1]] = disparity
    return out


def random_map(rng, height, width):
    """Two surfaces and noise with holes of all lengths."""
    smooth = np.linspace(5, 9, width)[None] + np.linspace(0, 2, height)[:, None]
    smooth[:, width // 2 :] += 6
    out = np.rint(smooth + rng.normal(0, 0.5, (height, width)))
    out[rng.random((height, width)) < 0.3] = np.nan
    out[height // 3 : height // 3 + 5] = np.nan
    return out


@pytest.mark.parametrize("size", SIZES)
def test_descriptors(size):
    rng = np.random.default_rng(1)
    for image in (pair_of(*size)[0], rng.integers(0, 256, size, dtype=np.uint8)):  # the second one saturates
        np.testing.assert_array_equal(describe(image), planar(naive_elas.describe(image)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("max_disparity", "max_ratio"), [(20, 0.85), (7, 0.95), (1, 0.85)])
def test_support_points(size, max_disparity, max_ratio):
    width = size[1]
    left, right = (naive_elas.describe(image) for image in pair_of(*size))
    reference = naive_elas.match_support(left, right, 5, max_disparity, 10, max_ratio, 2)
    computed = np.empty(reference.shape, np.int32)
    fours = np.empty((2, 1, 64 * width), np.uint8)
    scratch = np.empty((1, max_disparity + 1), np.int32)
    elas_support.elas_match_support(
        planar(left), planar(right), 5, max_disparity, 10, max_ratio, 2, *fours, scratch, computed
    )
    np.testing.assert_array_equal(computed, reference)
    assert (computed >= 0).any()
    assert (computed < 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_points_are_dropped(seed):
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((17, 23)) < 0.6, rng.integers(3, 12, (17, 23)), -1).astype(np.int32)
    computed = np.empty_like(grid)
    elas_support.elas_drop_unsupported(grid, 2, 2, 5, computed)
    np.testing.assert_array_equal(computed, naive_elas.drop_unsupported(grid, 2, 2, 5))
    assert (computed != grid).any()
    for vertical in (False, True):
        thinned = grid.copy()
        elas_support.elas_drop_redundant(thinned, 3, 1, vertical)
        np.testing.assert_array_equal(thinned, naive_elas.drop_redundant(grid, 3, 1, vertical))
        assert (thinned != grid).any()


def test_planes_are_drawn():
    corners = np.array([[-4, 3, 20, -6, 13, 25], [20, -6, 13, 25, 50, 8], [5, 5, 9, 5, 9, 12]], float)
    planes = np.array([[0.1, 0.2, 3], [-0.3, 0.1, 12], [np.nan, 0, 0]])
    computed = np.empty((22, 31), np.float32)
    elas_dense.elas_draw_planes(corners, planes, computed)
    reference = naive_elas.draw_planes(corners, planes, *computed.shape)
    np.testing.assert_allclose(computed, reference, rtol=1e-6)
    assert np.isnan(computed).any()
    assert np.isinf(computed).any()


def prior_of(size, max_disparity, seed=2):
    rng = np.random.default_rng(seed)
    points = np.stack([rng.integers(-9, size[1], 30), rng.integers(0, size[0], 30), rng.integers(0, 18, 30)], 1)
    lists = naive_elas.list_disparities(points, 20, *size, max_disparity)
    marks = np.zeros((len(lists), max_disparity + 1), np.uint8)
    listed = np.empty((len(lists), max_disparity + 2), np.int32)
    elas_dense.elas_list_disparities(points.astype(np.int32), 20, -(-size[1] // 20), marks, listed)
    return lists, listed


@pytest.mark.parametrize("size", SIZES)
def test_cells_list_their_disparities(size):
    lists, listed = prior_of(size, 18)
    assert [list(row[1 : row[0] + 1]) for row in listed] == lists


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("step", "radius", "gamma", "max_disparity"), [(1, 2, 3.0, 18), (2, 3, 5.0, 18), (1, 2, 3.0, 1)]
)
def test_every_pixel(size, side, step, radius, gamma, max_disparity):
    height, width = size
    descriptors = [naive_elas.describe(image) for image in pair_of(*size)]
    lists, listed = prior_of(size, max_disparity)
    plane = (3 + 0.1 * np.arange(height)[:, None] + np.zeros(width)).astype(np.float32)
    plane = np.minimum(plane, max_disparity)  # support points, and so what lies between them, are within the range
    plane[5:12, 8:16] = np.inf
    plane[20:24, 12:30] = np.nan
    away = np.arange(max(max_disparity, radius) + 1)
    prior = np.stack([-np.log(gamma + np.exp(-(away**2) / 2)), np.full(len(away), 0.02)]).astype(np.float32)
    computed = np.empty((-(-height // step), map_stride(-(-width // step))), np.float32)
    ours, other = descriptors[side], descriptors[1 - side]
    sign = 1 if side else -1
    elas_dense.elas_match_pixels(
        planar(ours), planar(other), sign, plane, listed, prior, radius, 20, step, max_disparity, 1,
        np.full((1, 16), 128, np.uint8), computed,
    )  # fmt: skip
    reference = naive_elas.match_pixels(
        ours, other, sign, plane, lists, 20, step, max_disparity, radius, 0.02, gamma, 1.0
    )
    np.testing.assert_array_equal(computed[:, : reference.shape[1]], reference)
    assert np.isfinite(reference).any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", [1, 2])
def test_left_right_check(seed, step):
    rng = np.random.default_rng(seed)
    left, right = random_map(rng, 21, 45), random_map(rng, 21, 45)
    computed = padded(left)
    elas_after.elas_check_left_right(computed, padded(right), 45, step, 2.0)
    reference = naive_elas.check_left_right(left, right, step, 2.0)
    np.testing.assert_array_equal(computed[:, :45], reference)
    assert np.isfinite(reference).any()


@pytest.mark.parametrize("size", SIZES)
def test_small_segments(size):
    height, width = size
    disparity = random_map(np.random.default_rng(4), *size)
    computed = padded(disparity)
    runs, rows = np.empty((height * (width + 1), 4), np.int32), np.empty((height, 2), np.int32)
    elas_after.elas_remove_small_segments(computed, np.empty_like(computed), width, 1.0, 40, runs, rows)
    reference = naive.remove_small_segments(disparity, 40, 1.0)
    np.testing.assert_array_equal(computed[:, :width], reference)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("longest", [0, 1, 3, 5000])
def test_gaps(size, longest):
    disparity = random_map(np.random.default_rng(5), *size)
    computed = padded(disparity)
    elas_after.elas_fill_gaps(computed, size[1], longest, 3.0)
    reference = naive_elas.fill_gaps(disparity, longest, 3.0)
    np.testing.assert_allclose(computed[:, : size[1]], reference, rtol=1e-6)
    if longest > 3:
        assert np.isnan(reference).mean() < 0.2 * np.isnan(disparity).mean()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("vertical", [False, True])
@pytest.mark.parametrize(("before", "after"), [(4, 4), (3, 0)])
def test_adaptive_mean(size, vertical, before, after):
    disparity = random_map(np.random.default_rng(6), *size)
    given = padded(disparity)
    computed, sums = np.empty_like(given), np.empty((2, given.shape[1]), np.float32)
    elas_after.elas_mean(given, size[1], before, after, 4.0, vertical, sums, computed)
    reference = naive_elas.mean(disparity, before, after, 4.0, vertical)
    np.testing.assert_allclose(computed[:, : size[1]], reference, rtol=1e-6)
