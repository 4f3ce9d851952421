"""Metrics checked by hand on a few pixels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import bdis
from bdis.common.law import log_density, share_within
from bdis.evaluation.confidence import (
    CURVE,
    at_equal_coverage,
    ause,
    error_coverage,
    reliability,
    reliability_error,
)
from bdis.evaluation.datasets import Frame
from bdis.evaluation.errors import Comparison, compare
from bdis.evaluation.metrics import Score, mean_score, score, time_summary
from bdis.evaluation.paper.calibration import within_196_sigma

NAN = np.nan
RIG = bdis.Rig(focal_px=100, cx=0, cy=0, baseline_mm=10)  # depth 1000 / disparity


def frame(depth=None, disparity=None, rig=RIG, **more):
    size = np.shape(depth if depth is not None else disparity)
    image = np.full(size, 9, np.uint8)
    depth, disparity = (None if a is None else np.array(a, np.float32) for a in (depth, disparity))
    return Frame("made up", "1", image, image, rig, depth, disparity, **more)


def result(disparity, probability=1.0, variance=None):
    disparity = np.array(disparity, np.float32)
    variance = None if variance is None else np.array(np.broadcast_to(variance, disparity.shape), np.float32)
    probability = np.array(np.broadcast_to(probability, disparity.shape), np.float32)
    return bdis.StereoResult(disparity, probability, variance)


def comparison(error, probability=None, sigma=None, references=None):
    error = np.array(error, float)
    probability = np.ones(len(error)) if probability is None else np.array(probability, float)
    sigma = None if sigma is None else np.array(sigma, float)
    return Comparison(error, error, probability, sigma, sigma, references or len(error))


def test_errors_by_hand():
    """Depth 100, 50, 20 against 1000/10, 1000/25, 1000/40: errors 0, -10, 5; disparities 10, 20, 50."""
    found = score(compare(result([[10, 25, 40, NAN, 10]]), frame([[100, 50, 20, 30, NAN]])))
    assert found.mean_mm == pytest.approx(5)
    assert found.median_mm == pytest.approx(5)
    assert found.rmse_mm == pytest.approx(math.sqrt((0 + 100 + 25) / 3))
    assert found.std_mm == pytest.approx(np.std([0, 10, 5]))
    assert found.epe_px == pytest.approx((0 + 5 + 10) / 3)
    assert (found.valid, found.coverage) == (3, 0.75)  # four pixels have a reference


def test_bad_pixels_by_hand():
    disparity = np.array([[10.0, 10.4, 10.6, 11.5, 12.5, 14]])
    found = score(compare(result(disparity), frame(disparity=np.full((1, 6), 10), rig=None)))
    assert [found.bad_05px, found.bad_1px, found.bad_2px, found.bad_3px] == pytest.approx([4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert math.isnan(found.mean_mm)  # no rig, no mm
    assert found.epe_px == pytest.approx((0 + 0.4 + 0.6 + 1.5 + 2.5 + 4) / 6)


def test_the_papers_protocol():
    """An estimate beyond the limit, or behind the cameras, is no prediction; an unknown reference does not count."""
    found = compare(result([[10, 50, -3, 50]]), frame([[20, 20, 20, NAN]], max_depth_mm=30))
    assert found.error_mm.tolist() == [0]
    assert found.references == 3


def test_occluded_pixels_do_not_count_when_left_out():
    hidden = np.array([[True, False]])
    whole = frame([[100, 100]], occluded=hidden)
    assert compare(result([[5, 10]]), whole).references == 2
    cut = compare(result([[5, 10]]), whole.without_occluded())
    assert (cut.references, cut.error_mm.tolist()) == (1, [0])


def test_nothing_predicted():
    found = score(compare(result([[NAN, NAN]]), frame([[10, 10]])))
    assert (found.valid, found.coverage) == (0, 0)
    assert math.isnan(found.mean_mm)


def test_a_frame_without_any_estimate_does_not_turn_millimetres_of_a_method_into_pixels():
    """In a sweep, 0.6 px of one method were taken for less than 3 mm of the others."""
    nothing = compare(result([[np.nan, np.nan]]), frame(depth=[[100, 100]]))
    assert not nothing.in_px


def test_what_cannot_be_compared():
    image = np.full((1, 2), 9, np.uint8)
    with pytest.raises(ValueError, match="made up/1 has no reference disparity"):
        compare(result([[1, 2]]), Frame("made up", "1", image, image, RIG))
    with pytest.raises(ValueError, match="the result is"):
        compare(result([[1, 2, 3]]), frame([[10, 10]]))


def test_averages_are_of_frames_not_of_pixels():
    """As in the paper: a frame with few pixels weighs as much; one without any lowers only the coverage."""
    found = mean_score([Score(mean_mm=1, valid=100, coverage=1), Score(mean_mm=3, valid=2, coverage=0.5), Score()])
    assert (found.mean_mm, found.valid, found.coverage) == (2, 34, 0.5)
    assert math.isnan(found.rmse_mm)


def drawn_from_the_law(count, seed=0):
    """Errors and their standard deviations, 0.05 to 5 px, float64 (count,)."""
    rng = np.random.default_rng(seed)
    sigma = np.exp(rng.uniform(math.log(0.05), math.log(5), count))
    return rng.standard_t(3, count) * sigma / math.sqrt(3), sigma  # a t of three degrees has a variance of 3


def test_the_papers_sigma_coverage_is_of_depth():
    """sigma_mm = f b / d^2 * sigma_px = 1000 / 100 * 0.1 = 1 mm at 10 px; errors 0, 0.5, 1.5, 2.5 mm."""
    errors = np.array([0, 0.5, 1.5, 2.5])
    found = compare(result(np.full((1, 4), 10), variance=0.01), frame([100 - errors]))
    assert within_196_sigma(found) == 0.75
    assert within_196_sigma(comparison([0, 1, 3, 1], sigma=[1, 1, 1, NAN])) == pytest.approx(2 / 3)
    assert math.isnan(within_196_sigma(comparison([0, 1])))
    assert math.isnan(within_196_sigma(comparison([1], sigma=[NAN])))


def test_intervals_by_hand():
    """sigma 0.1 px: 68 % within 0.069 px, 95 % within 0.184 px."""
    found = score(comparison([0, -0.05, 0.1, 0.18, -0.19], sigma=np.full(5, 0.1)))
    assert (found.within_68, found.within_95) == (0.4, 0.8)
    assert found.interval_95 == pytest.approx(0.1837, abs=1e-4)


def test_log_score_by_hand():
    """sigma 0.5 px: the density is 2 / (pi 0.5) = 4 / pi per px at 0, and (1 + 2^2)^2 = 25 times smaller at 1 px."""
    assert score(comparison([0], sigma=[0.5])).log_score == pytest.approx(-math.log(4 / math.pi))
    assert score(comparison([0, 1], sigma=[0.5, 0.5])).log_score == pytest.approx(
        -math.log(4 / math.pi) + math.log(25) / 2
    )


def test_the_density_of_the_law_is_the_slope_of_its_share():
    for sigma in (0.2, 1.0, 7.0):
        edges = np.linspace(0, 4 * sigma, 4001)
        middles = (edges[1:] + edges[:-1]) / 2
        summed = np.cumsum(2 * np.exp(log_density(middles, sigma**2)) * np.diff(edges))  # both signs of the error
        np.testing.assert_allclose(summed, share_within(edges[1:], sigma**2), atol=1e-5)


def test_errors_of_the_law_lie_inside_its_intervals():
    error, sigma = drawn_from_the_law(100_000)
    found = score(comparison(error, sigma=sigma))
    for share, wanted in ((found.within_68, 0.68), (found.within_95, 0.95)):
        assert share == pytest.approx(wanted, abs=4 * math.sqrt(wanted * (1 - wanted) / len(error)))
    assert found.interval_95 == pytest.approx(1.837 * sigma.mean(), rel=1e-3)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 2])
def test_the_true_law_has_the_best_log_score(factor):
    error, sigma = drawn_from_the_law(100_000)
    claimed, true = (score(comparison(error, sigma=f * sigma)).log_score for f in (factor, 1))
    assert true < claimed


@settings(deadline=None, derandomize=True, database=None)
@given(arrays(np.float64, 20, elements=st.floats(-1e4, 1e4)), arrays(np.float64, 20, elements=st.floats(1e-3, 1e3)))
def test_intervals_nest(error, sigma):
    """Whatever errors and claims are: what lies inside the interval of 68 % lies inside that of 95 %."""
    found = score(comparison(error, sigma=sigma))
    assert 0 <= found.within_68 <= found.within_95 <= 1
    claimed = result(error, variance=sigma**2)
    assert (claimed.interval(0.68) < claimed.interval(0.95)).all()


@pytest.mark.parametrize("rig", [RIG, bdis.Rig(100, 0, 0, 10, cx_right=4)], ids=["parallel", "verged"])
def test_shares_are_those_of_the_interval_of_depth(rig):
    """Also where points may be at infinity, and the far half of the interval of depth is endless."""
    rng = np.random.default_rng(1)
    disparity = rng.uniform(1, 30, (40, 50))
    variance = rng.uniform(0.1, 5, disparity.shape) ** 2
    errors = rng.standard_t(3, disparity.shape) * np.sqrt(variance / 3)
    made, true_depth = result(disparity, variance=variance), rig.depth(np.float32(disparity - errors))
    found = score(compare(made, frame(true_depth, rig=rig)))
    for share, measured in ((0.68, found.within_68), (0.95, found.within_95)):
        nearest, farthest = rig.depth_interval(made, share)
        known = np.isfinite(true_depth)
        assert measured == pytest.approx(((nearest <= true_depth) & (true_depth <= farthest))[known].mean(), abs=1e-3)
    assert np.isinf(farthest).any()  # of the interval of 95 %


def test_unknown_variance_is_least_sure_and_not_counted():
    found = comparison([1, 2, 3], sigma=[1.5, NAN, 4])
    assert found.confidence.tolist() == [-1.5, -np.inf, -4]
    assert score(found).within_68 == 0.5  # 1 is within 0.69 x 1.5, 3 is not within 0.69 x 4
    assert math.isnan(score(comparison([1, 2], sigma=[NAN, NAN])).within_95)
    assert math.isnan(score(comparison([1, 2])).log_score)


def test_ause_by_hand():
    """Errors 1 and 3: all kept 2; surest half 3 instead of 1.  Of 100 steps, those that keep one pixel differ by 2."""
    error = np.array([1.0, 3.0])
    assert ause(error, -error) == 0
    kept = np.maximum(np.rint(np.linspace(1, 0.01, 100) * 2), 1)
    assert ause(error, error) == pytest.approx(2 * (kept == 1).mean())


def test_ause_needs_a_confidence():
    assert math.isnan(score(comparison([1, 2])).ause)
    assert math.isnan(score(comparison([1, 2])).reliability_error)
    assert score(comparison([1, 2], probability=[0.9, 0.1])).ause == 0


def test_error_coverage_by_hand():
    """Ten references, four predicted with errors 4, 3, 2, 1 and growing confidence: 1, 1.5, 2, 2.5 at 10 ... 40 %."""
    curve = error_coverage(comparison([4, 3, 2, 1], probability=[0.1, 0.2, 0.3, 0.4], references=10))
    at = {round(float(c), 2): e for c, e in zip(CURVE, curve)}
    assert [at[0.1], at[0.2], at[0.3], at[0.4]] == [1, 1.5, 2, 2.5]
    assert math.isnan(at[0.6])
    assert np.isnan(error_coverage(comparison([1, 2]))).all()  # no confidence


def test_a_method_that_knows_no_pixel_of_the_reference_does_not_end_the_benchmark():
    """Its curve is unknown, and so are all averages; "index -1 is out of bounds" ended the whole run."""
    nothing = comparison([], sigma=[], references=10)
    assert np.isnan(error_coverage(nothing)).all()
    assert score(nothing).valid == 0
    assert at_equal_coverage({"nothing": nothing, "some": comparison([1, 2], sigma=[1, 2], references=10)})
    assert sum(reliability(nothing)["count"]) == 0


def test_equal_coverage_cuts_by_variance_first():
    sure = comparison([1, 5, 9], probability=[0.1, 0.2, 0.9], sigma=[0.1, 0.2, 0.3], references=4)
    probable = comparison([1, 5, 9], probability=[0.1, 0.2, 0.9], references=4)
    plain = comparison([2, 4, 6], references=4)
    smallest = comparison([3, 3], references=4)
    empty = comparison([], references=4)
    cut = at_equal_coverage({"sure": sure, "probable": probable, "plain": plain, "smallest": smallest, "none": empty})
    assert {name: each.mean for name, each in cut.items()} == {"sure": 3, "probable": 7, "plain": 4, "smallest": 3}
    assert {name for name, each in cut.items() if each.is_cut} == {"sure", "probable"}
    assert [cut[name].coverage for name in ("sure", "plain")] == [0.5, 0.75]


def test_reliability_by_hand():
    found = comparison([0.5, 1.5, 0.2, 0.9], probability=[0.82, 0.88, 0.15, 1.0])
    table = reliability(found)
    assert table["count"] == [0, 1, 0, 0, 0, 0, 0, 0, 2, 1]
    assert (table["probability"][8], table["within"][8]) == (pytest.approx(0.85), 0.5)
    assert math.isnan(table["within"][0])
    assert reliability_error(table) == pytest.approx((0.85 * 1 + 2 * 0.35 + 0) / 4)
    assert math.isnan(reliability_error(reliability(comparison([]))))


def test_time_summary():
    assert time_summary([4, 1, 3]) == {"min_ms": 1, "median_ms": 3, "p99_ms": pytest.approx(3.98)}
