"""Fusion, filters and upsampling against the oracle, on random patches and maps."""

from itertools import pairwise

import numpy as np
import pytest
from bdis.matching.kernels.filters import find_runs, join_rows, remove_small_runs
from bdis.matching.workspace import Workspace

import bdis
from bdis.matching import kernels
from bdis.matching.kernels.layout import plain_stride
from tests import naive
from tests.scenes import warped_pair


def plain(image):
    """A map as the kernels keep it: float32 with spare columns on the right (filled with junk)."""
    height, width = image.shape
    out = np.full((height, plain_stride(width)), 1e9, np.float32)
    out[:, :width] = image
    return out


def remove_small_segments(disparity, probability, width, min_size, bands):
    """What ``levels.filter_level`` does, one band after the other."""
    height = len(disparity)
    runs, rows = np.zeros((height * (width + 1), 4), np.int32), np.zeros((height, 2), np.int32)
    seams = [height * band // bands for band in range(bands + 1)]
    for begin, end in pairwise(seams):
        find_runs(disparity, width, 1.0, runs, rows, begin, end)
    for seam in seams[1:-1]:
        join_rows(disparity, seam, 1.0, runs, rows)
    for begin, end in pairwise(seams):
        remove_small_runs(disparity, probability, min_size, runs, rows, begin, end)


def random_map(height, width, rng, unknown=0.3):
    """Plateaus a little apart, with steps and holes: segments of many sizes and shapes."""
    blocks = rng.integers(0, 4, (height // 5 + 1, width // 7 + 1)).repeat(5, 0).repeat(7, 1)[:height, :width]
    disparity = blocks * 1.3 + rng.normal(0, 0.3, (height, width))
    disparity[rng.random((height, width)) < unknown] = np.nan
    return disparity.astype(np.float32)


@pytest.mark.parametrize("size", [(7, 5), (16, 16), (33, 47), (40, 64), (21, 100)], ids=str)
@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("min_size", [2, 9, 60])
@pytest.mark.parametrize("bands", [1, 3])
def test_small_segments(size, unknown, min_size, bands):
    height, width = size
    disparity = random_map(height, width, np.random.default_rng(height * width + min_size), unknown)
    reference = naive.remove_small_segments(disparity, min_size)
    d, p = plain(disparity), plain(np.where(np.isnan(disparity), 0, 0.5))
    remove_small_segments(d, p, width, min_size, bands)
    np.testing.assert_array_equal(d[:, :width], reference)
    np.testing.assert_array_equal(p[:, :width] == 0, np.isnan(reference))


def test_a_spiral_is_one_segment():
    """Its arms meet only at the very end, after many unions."""
    spiral = np.full((31, 31), np.nan, np.float32)
    y, x, dy, dx, length = 15, 15, 0, 1, 2
    while 0 <= y < 31 and 0 <= x < 31:
        for _ in range(2):
            for _ in range(length):
                if 0 <= y < 31 and 0 <= x < 31:
                    spiral[y, x] = 1
                y, x = y + dy, x + dx
            dy, dx = dx, -dy
        length += 2
    reference = naive.remove_small_segments(spiral, 200)
    d, p = plain(spiral), plain(np.ones((31, 31)))
    remove_small_segments(d, p, 31, 200, bands=3)
    np.testing.assert_array_equal(d[:, :31], reference)


@pytest.mark.parametrize("size", [(32, 32), (33, 45), (61, 34), (50, 129)], ids=str)
@pytest.mark.parametrize("unknown", [0.0, 0.4, 1.0])
def test_upsampling(size, unknown):
    height, width = size
    rng = np.random.default_rng(width)
    half = (height + 1) // 2, (width + 1) // 2
    disparity = random_map(*half, rng, unknown)
    probability = np.where(np.isnan(disparity), 0, rng.random(half)).astype(np.float32)
    reference = naive.upsample(disparity, probability, height, width)
    out = np.empty(size, np.float32), np.empty(size, np.float32)
    barrier = np.zeros((4, 8), np.int64)
    kernels.upsample_rows(plain(disparity), plain(probability), half[1], *out, width, False, barrier, 1, 0, height)
    np.testing.assert_allclose(out[0], reference[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out[1], reference[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changes", [{}, {"sigma_spatial": None}, {"patch_size": 6, "overlap": 0.9}], ids=str)
@pytest.mark.parametrize("min_support", [0.0, 0.3, 0.9])
def test_spatial_mixture(changes, min_support):
    """The patches a search leaves behind, fused again by the oracle."""
    left, right, _ = warped_pair(77, 93, seed=8)
    matcher = bdis.StereoMatcher(
        "paper", coarsest_level=1, segment_filter=False, min_support=min_support, min_probability=0.3, **changes
    )
    matcher.match(left, right)
    (level,) = matcher._workspace.levels
    arrays = level.arrays
    patches = [
        (y, x, float(arrays.patch_disparity[i, j]), float(arrays.patch_probability[i, j]))
        for i, y in enumerate(arrays.rows[0])
        for j, x in enumerate(arrays.cols[0, :-16])
    ]
    disparity, probability = naive.fuse(patches, (len(arrays.disparity), level.settings.width), matcher.settings, 0.3)
    np.testing.assert_allclose(arrays.disparity[:, : level.settings.width], disparity, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(arrays.probability[:, : level.settings.width], probability, rtol=1e-5, atol=1e-6)


def test_every_pixel_is_covered_by_a_patch():
    """Full width to the right edge and full height to the bottom, whatever the remainder."""
    for height, width in ((32, 32), (97, 131), (48, 75)):
        for level in Workspace(height, width, bdis.PRESETS["paper"]).levels:
            assert (level.arrays.covering[:, 1] > level.arrays.covering[:, 0]).all()
            assert (level.arrays.full_weight[0, : level.settings.width] > 0).all()


def test_hide_unseen():
    disparity, probability = np.ones((3, 5), np.float32), np.ones((3, 5), np.float32)
    seen = np.ones((3, 5), np.uint8)
    seen[1, 2] = 0
    kernels.hide_unseen(seen, disparity, probability)
    assert np.isnan(disparity[1, 2])
    assert probability[1, 2] == 0
    assert np.isnan(disparity).sum() == 1
