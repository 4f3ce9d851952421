"""Depth of a pixel and distance between two: right, and as sure as they say."""

import math

import numpy as np
import pytest

import bdis
from bdis.cameras.measure import Measure, depth_at, distance_between, in_words

RIG = bdis.Rig(500, 60, 40, 5, cx_right=65, size=(120, 80))


def result_of(disparity, variance=0.04):
    disparity = np.broadcast_to(np.float32(disparity), (80, 120)).copy()
    return bdis.StereoResult(
        disparity, np.ones_like(disparity), None if variance is None else np.full_like(disparity, variance)
    )


def test_depth_and_its_interval_are_those_of_the_rig():
    rng = np.random.default_rng(0)
    result = result_of(rng.uniform(15, 40, (80, 120)), 0.09)
    depth, sigma = RIG.depth(result), RIG.depth_sigma(result)
    nearest, farthest = RIG.depth_interval(result)
    for x, y in ((0, 0), (119, 79), (37, 61)):
        found = depth_at(RIG, result, (x, y))
        assert found.mm == depth[y, x]
        assert found.sigma_mm == sigma[y, x]
        assert found.within_mm == max(depth[y, x] - nearest[y, x], farthest[y, x] - depth[y, x])


def test_distance_is_that_of_the_points():
    result = result_of(np.random.default_rng(1).uniform(15, 40, (80, 120)), None)
    points = RIG.points(result)
    for first, second in (((0, 0), (119, 79)), ((60, 40), (61, 40)), ((10, 70), (100, 5))):
        found = distance_between(RIG, result, first, second)
        apart = np.linalg.norm(points[first[1], first[0]].astype(float) - points[second[1], second[0]])
        assert found.mm == pytest.approx(apart, rel=1e-5)
        assert math.isnan(found.sigma_mm)
        assert "within" not in found.words()


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("first", "second"), [((10, 40), (110, 40)), ((55, 20), (58, 60)), ((5, 5), (40, 30))])
def test_sigma_of_a_distance_is_never_too_small(first, second, alike):
    """Whether errors of both points are independent or alike; half the interval must hold 95 % of a Student's t."""
    rng = np.random.default_rng(2)
    disparity = np.full((80, 120), 30.0, np.float32)
    disparity[:, :50] = 24.0
    result = result_of(disparity, 0.01)
    found = distance_between(RIG, result, first, second)
    draws = 20000
    shared, own = rng.standard_t(3, (1, draws)), rng.standard_t(3, (2, draws))
    errors = 0.1 / math.sqrt(3) * (shared if alike == 1 else math.sqrt(alike) * shared + math.sqrt(1 - alike) * own)
    errors = np.broadcast_to(errors, (2, draws))
    ends = []
    for (x, y), error in zip((first, second), errors):
        z = RIG.focal_px * RIG.baseline_mm / (disparity[y, x] + error + RIG.doffs)
        ends.append(np.stack([(x - RIG.cx) / RIG.focal_px * z, (y - RIG.cy) / RIG.focal_px * z, z]))
    apart = np.linalg.norm(ends[0] - ends[1], axis=0)
    assert np.mean(np.abs(apart - found.mm) <= found.within_mm) > 0.948


def test_what_is_unknown_or_infinite_is_said():
    result = result_of(25.0)
    result.disparity[40, 60] = np.nan
    assert depth_at(RIG, result, (60, 40)) is None
    assert distance_between(RIG, result, (60, 40), (0, 0)) is None
    assert distance_between(RIG, result, (1, 1), (1, 1)) is None
    vague = result_of(25.0, 400.0)
    assert depth_at(RIG, vague, (1, 1)).words() == "83.3 mm, and may be infinite"
    assert distance_between(RIG, vague, (1, 1), (90, 1)).words().endswith("and may be infinite")
    assert Measure(5.0).words() == "5.0 mm"
    assert in_words(68.12, 0.71, "mm") == "68.1 mm, 95 % within 0.7"
    assert in_words(68.123, 0.05, "mm") == "68.12 mm, 95 % within 0.05"
