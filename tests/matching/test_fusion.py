"""Fusion, the segment filter and enlarging against the oracle, on random patches and maps."""

import numpy as np
import pytest

import bdis
from bdis.matching import kernels
from bdis.matching.kernels.layout import PAD, Map, Maps
from bdis.matching.memory import Arena
from bdis.matching.segments import SegmentFilter, room_for_segments
from bdis.matching.stages import Stages
from bdis.vector.crew import Threads
from tests import naive
from tests.matching.records import alone, level_seen, map_of, maps_of
from tests.scenes import warped_pair


def remove_small_segments(maps, min_size, threads):
    room = room_for_segments(len(maps.disparity), maps.width, Arena(0))
    Threads(threads).run(SegmentFilter(maps, min_size, room).run)


def random_map(height, width, rng, unknown=0.3):
    """Plateaus a little apart, with steps and holes: segments of many sizes and shapes."""
    blocks = rng.integers(0, 4, (height // 5 + 1, width // 7 + 1)).repeat(5, 0).repeat(7, 1)[:height, :width]
    disparity = blocks * 1.3 + rng.normal(0, 0.3, (height, width))
    disparity[rng.random((height, width)) < unknown] = np.nan
    return disparity.astype(np.float32)


@pytest.mark.parametrize("size", [(7, 5), (16, 16), (33, 47), (40, 64), (21, 100)], ids=str)
@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("min_size", [2, 9, 60])
@pytest.mark.parametrize("threads", [1, 3])
def test_small_segments(size, unknown, min_size, threads):
    height, width = size
    disparity = random_map(height, width, np.random.default_rng(height * width + min_size), unknown)
    reference = naive.remove_small_segments(disparity, min_size)
    maps = maps_of(disparity, np.where(np.isnan(disparity), 0, 0.5))
    remove_small_segments(maps, min_size, threads)
    np.testing.assert_array_equal(maps.disparity[:, :width], reference)
    np.testing.assert_array_equal(maps.probability[:, :width] == 0, np.isnan(reference))


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
    maps = maps_of(spiral, np.ones((31, 31)))
    remove_small_segments(maps, 200, threads=3)
    np.testing.assert_array_equal(maps.disparity[:, :31], reference)


@pytest.mark.parametrize("size", [(32, 32), (33, 45), (61, 34), (50, 129)], ids=str)
@pytest.mark.parametrize("unknown", [0.0, 0.4, 1.0])
def test_enlarging(size, unknown):
    height, width = size
    rng = np.random.default_rng(width)
    half = (height + 1) // 2, (width + 1) // 2
    disparity = random_map(*half, rng, unknown)
    probability = np.where(np.isnan(disparity), 0, rng.random(half)).astype(np.float32)
    reference = naive.upsample(disparity, probability, height, width)
    out = Maps(disparity=np.empty(size, np.float32), probability=np.empty(size, np.float32), width=width)
    kernels.enlarge_maps(maps_of(disparity, probability), out, False, alone())
    np.testing.assert_allclose(out.disparity, reference[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out.probability, reference[1], rtol=1e-5, atol=1e-6)

    variance = Map(values=np.empty(size, np.float32), width=width)
    kernels.enlarge_map(map_of(disparity), variance, 4, False, alone())
    np.testing.assert_allclose(variance.values, 2 * reference[0], rtol=1e-5, atol=1e-5)  # fourfold, not double


@pytest.mark.parametrize("changes", [{}, {"sigma_spatial": None}, {"patch_size": 6, "overlap": 0.9}], ids=str)
@pytest.mark.parametrize("min_support", [0.0, 0.3, 0.9])
def test_spatial_mixture(changes, min_support):
    """The patches a search leaves behind, fused again by the oracle."""
    left, right, _ = warped_pair(77, 93, seed=8)
    matcher = bdis.StereoMatcher(
        "paper", coarsest_level=1, segment_filter=False, min_support=min_support, min_probability=0.3, **changes
    )
    matcher.match(left, right)
    (level,) = matcher._stages.levels
    maps, found = level.maps, level.search.patches
    patches = [
        (y, x, float(found.disparity[i, j]), float(found.probability[i, j]))
        for i, y in enumerate(found.rows[0])
        for j, x in enumerate(found.cols[0, :-16])
    ]
    disparity, probability = naive.fuse(patches, (len(maps.disparity), maps.width), matcher.settings, 0.3)
    np.testing.assert_allclose(maps.disparity[:, : maps.width], disparity, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(maps.probability[:, : maps.width], probability, rtol=1e-5, atol=1e-6)


def test_every_pixel_is_covered_by_a_patch():
    """Full width to the right edge and full height to the bottom, whatever the remainder."""
    for height, width in ((32, 32), (97, 131), (48, 75)):
        for level in Stages(height, width, bdis.PRESETS["paper"]).levels:
            mixture = level.fusion.mixture
            assert (mixture.covering[:, 1] > mixture.covering[:, 0]).all()
            assert (mixture.full_weight[0, : level.maps.width] > 0).all()


def test_hide_unseen():
    maps = Maps(disparity=np.ones((3, 5), np.float32), probability=np.ones((3, 5), np.float32), width=5)
    variance = Map(values=np.ones((3, 5), np.float32), width=5)
    seen = level_seen(3, 5)
    seen.mask.fill(1)
    seen.mask[1, PAD + 2] = 0
    kernels.hide_unseen(seen, maps, alone())
    kernels.hide_unseen_variance(seen, variance, alone())
    for values in (maps.disparity, variance.values):
        assert np.isnan(values[1, 2])
        assert np.isnan(values).sum() == 1
    assert maps.probability[1, 2] == 0
    assert maps.probability.sum() == 14
