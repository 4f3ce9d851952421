"""A probability and a variance for disparities from anywhere, and several results made one."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import bdis
from bdis.common.law import sigmas
from bdis.evaluation.baselines import METHODS
from bdis.matching.combine import AROUND, _lowest_around, combine
from bdis.synthetic import render
from tests import naive_surface
from tests.scenes import warped_pair


@cache
def scene(seed=3, kind="instruments"):
    return render(kind, 240, 320, seed=seed, disparity_px=30, noise=1.5)


@cache
def sgbm():
    pair = scene()
    return METHODS["sgbm"].make(64.0).match(pair.left, pair.right).disparity


def relative_ause(error, variance):
    """Area between the errors left by our order and by the ideal one, over that of no order at all."""
    kept = np.arange(1, len(error) + 1)
    ideal = np.cumsum(np.sort(error)) / kept
    ours = np.cumsum(error[np.argsort(variance, kind="stable")]) / kept
    return (ours - ideal).mean() / (error.mean() - ideal).mean()


def test_the_disparity_stays_as_it_is_and_all_of_it_is_judged():
    pair, given = scene(), sgbm()
    result = bdis.assess(pair.left, pair.right, given)
    np.testing.assert_array_equal(result.disparity, given)
    np.testing.assert_array_equal(np.isfinite(result.variance), ~np.isnan(given))
    np.testing.assert_array_equal(result.probability > 0, ~np.isnan(given))
    law = naive_surface.probability_of(result.variance[result.known].astype(float))
    np.testing.assert_allclose(result.probability[result.known], law, atol=2e-5)


@pytest.mark.parametrize("method", ["sgbm", "bm", "elas", "dis-flow"])
def test_it_sorts_the_errors_of_other_matchers_and_says_how_large_they_are(method):
    pair = scene()
    given = METHODS[method].make(64.0).match(pair.left, pair.right).disparity
    result = bdis.assess(pair.left, pair.right, given)
    known = result.known & ~np.isnan(pair.disparity)
    error = np.abs(given - pair.disparity)[known]
    assert relative_ause(error, result.variance[known]) < 0.5
    within = np.mean(error < sigmas(0.95) * np.sqrt(result.variance[known]))
    assert 0.9 <= within <= 1


def test_noise_in_the_map_makes_it_less_sure():
    pair = scene()
    noise = np.random.default_rng(0).normal(0, 1, pair.disparity.shape)
    means = [
        np.nanmean(bdis.assess(pair.left, pair.right, pair.full_disparity + size * noise).interval())
        for size in (0.0, 0.5, 2.0)
    ]
    assert means[0] < means[1] < means[2]


def test_a_map_of_another_pair_is_not_believed():
    pair, other = scene(), scene(4, "tissue")
    right = bdis.assess(pair.left, pair.right, pair.full_disparity)
    wrong = bdis.assess(pair.left, pair.right, other.full_disparity + 20)
    assert np.mean(wrong.probability > 0.5) < 0.05 < np.mean(right.probability > 0.5)


@pytest.mark.parametrize("kind", ["instruments", "tissue", "colon"])
def test_a_swapped_pair_and_a_scaled_map_are_told(kind):
    pair = scene(kind=kind)
    given = pair.disparity
    assert bdis.assess(pair.left, pair.right, given).warnings == ()
    assert "swapped" in " ".join(bdis.assess(pair.right, pair.left, given).warnings)
    for wrong in (2 * given, given / 16, given + 10, -given, pair.depth_mm):
        *of_values, text = bdis.assess(pair.left, pair.right, wrong).warnings
        assert "of the disparities fit the images" in text
        assert len(of_values) == (np.nanmax(wrong) < 0)
        assert all("are negative" in each for each in of_values)


def test_threads_scale_and_order_of_calls_do_not_matter():
    pair, given = scene(), sgbm()
    alone = bdis.assess(pair.left, pair.right, given)
    small = warped_pair(96, 128, seed=3)
    bdis.assess(small[0], small[1], np.full((96, 128), 8.0))  # another size in between
    several = bdis.assess(pair.left, pair.right, given, threads=3)
    np.testing.assert_array_equal(several.variance, alone.variance)
    twice = bdis.assess(pair.left, pair.right, given, sigma_scale=2.0)
    small_ones = alone.variance < 500  # px^2; there is a largest one
    np.testing.assert_allclose(twice.variance[small_ones], 4 * alone.variance[small_ones], rtol=1e-4)


def test_unknown_values():
    left, right, _ = warped_pair(96, 128, seed=3)
    given = np.full((96, 128), 8.0)
    given[:10], given[10:20], given[20:30] = np.nan, np.inf, -1
    result = bdis.assess(left, right, given, unknown=-1)
    assert not result.known[:30].any()
    assert result.known[30:].all()
    masked = np.ma.masked_array(np.full((96, 128), 8.0), mask=given != 8)
    np.testing.assert_array_equal(bdis.assess(left, right, masked).known, result.known)
    nothing = bdis.assess(left, right, np.full((96, 128), np.nan))
    assert nothing.coverage == 0
    assert not nothing.probability.any()


def test_only_the_command_said_that_nothing_is_known():
    left, right, _ = warped_pair(96, 128, seed=3)
    (text,) = bdis.assess(left, right, np.full((96, 128), -1.0), unknown=-1).warnings
    assert text.startswith("no pixel has a disparity")


@pytest.mark.parametrize("mark", [-1.0, 0.0, 255.0, 65535 / 256, 64.1])
def test_only_the_command_said_that_a_value_looks_like_a_mark(mark):
    """Its advice can be followed to the letter."""
    pair = scene(2, "tissue")
    is_marked = np.random.default_rng(0).random(pair.disparity.shape) < 0.06
    given = np.where(is_marked, mark, np.nan_to_num(pair.disparity, nan=mark).astype(np.float64))
    result = bdis.assess(pair.left, pair.right, given)
    (text,) = result.warnings
    assert "the smallest" in text if mark <= 0 else "the largest, and do not fit the images" in text
    advice = float(text.split("unknown=")[1].split()[0])
    assert f"--unknown {advice:.9g}" in text
    told = bdis.assess(pair.left, pair.right, given, unknown=advice)
    assert not told.warnings
    assert not told.known[is_marked].any()


def test_a_mark_between_the_disparities_of_verged_cameras_was_not_told():
    pair = scene(2, "colon")
    shifted, given = np.roll(pair.right, 25, 1), pair.disparity - 25
    given[:, :50] = np.nan
    is_marked = np.random.default_rng(0).random(given.shape) < 0.08
    assert not bdis.assess(pair.left, shifted, given).warnings
    (text,) = bdis.assess(pair.left, shifted, np.where(is_marked, 0, given)).warnings
    assert "exactly 0 px, more than have any other, and do not fit the images" in text


def test_the_largest_of_whole_disparities_is_no_mark():
    pair = scene(2, "tissue")
    given = np.minimum(np.rint(pair.disparity), np.nanpercentile(pair.disparity, 75))
    assert np.mean(given == np.nanmax(given)) > 0.1
    assert not bdis.assess(pair.left, pair.right, given).warnings


def test_a_mark_far_below_0_was_told_without_its_sign():
    left, right, _ = warped_pair(96, 128, seed=3)
    with pytest.raises(ValueError, match="reaches -1000000 px; if that means unknown, pass unknown=-1000000"):
        bdis.assess(left, right, np.full((96, 128), -1e6))


def test_disparities_outside_the_right_image_are_not_believed():
    left, right, _ = warped_pair(96, 128, seed=3)
    for value in (-500.0, 500.0):
        result = bdis.assess(left, right, np.full((96, 128), value))
        assert result.known.all()
        assert result.probability.max() < 0.3


@pytest.mark.parametrize(
    ("disparity", "message"),
    [
        (np.zeros((95, 128)), r"disparity has the shape \(95, 128\), but the images are 128x96"),
        (np.zeros((96, 128, 1)), "disparity has the shape"),
        (np.zeros((96, 128), np.int16), "OpenCV uses for 16ths of a px"),
        (np.full((96, 128), 1e6), "reaches 1000000 px; if that means unknown"),
    ],
)
def test_what_cannot_be_a_disparity_map(disparity, message):
    left, right, _ = warped_pair(96, 128, seed=3)
    with pytest.raises(ValueError, match=message):
        bdis.assess(left, right, disparity)


def test_what_holds_no_numbers():
    left, right, _ = warped_pair(96, 128, seed=3)
    with pytest.raises(TypeError, match="array of numbers"):
        bdis.assess(left, right, np.zeros((96, 128), complex))


def result_of(disparity, variance):
    shape = np.broadcast_shapes(np.shape(disparity), np.shape(variance), (1, 1))
    disparity, variance = (np.broadcast_to(np.float32(values), shape).copy() for values in (disparity, variance))
    variance[np.isnan(disparity)] = np.nan
    return bdis.StereoResult(disparity, np.ones(shape, np.float32), variance)


def test_one_result_combined_is_itself():
    only = result_of([[20.0, np.nan]], 0.04)
    combined = combine(each for each in [only])  # whatever can be iterated
    np.testing.assert_allclose(combined.disparity, only.disparity)
    np.testing.assert_allclose(combined.variance, only.variance, rtol=1e-6)


def test_agreement_averages_and_disagreement_shows_in_the_variance():
    sure = result_of(20.0, 0.01)
    near = combine([sure, result_of(20.05, 0.01)])
    assert 20 < near.disparity[0, 0] < 20.05
    assert near.variance[0, 0] < 0.015
    far = combine([sure, result_of(30.0, 0.04)])
    assert abs(far.disparity[0, 0] - 20) < 0.2
    assert far.variance[0, 0] > near.variance[0, 0]


def test_a_result_that_is_clearly_surer_leads_though_it_is_not_the_first():
    shape = (20, 20)
    vague, sure = result_of(np.full(shape, 30.0), 1.0), result_of(np.full(shape, 20.0), 0.25)
    np.testing.assert_allclose(combine([vague, sure]).disparity, 20, atol=0.05)
    nearly = result_of(np.full(shape, 20.0), 0.9)
    np.testing.assert_allclose(combine([vague, nearly]).disparity, 30, atol=0.05)


def test_what_the_leader_does_not_know_is_doubted():
    others, leading = result_of(np.full((20, 20), 20.0), 1.0), np.full((20, 20), 20.0)
    leading[0, 0] = np.nan
    together = combine([result_of(leading, 0.25), others])
    assert together.disparity[0, 0] == 20
    assert together.variance[0, 0] > 4 * others.variance[0, 0]
    assert together.variance[0, 0] > 4 * together.variance[0, 1]


def test_what_only_some_know_is_known_and_less_sure():
    both = combine([result_of(20.0, 0.01), result_of(20.0, 0.01)])
    one = combine([result_of(20.0, 0.01), result_of(np.nan, 0.01)])
    assert one.known.all()
    assert one.variance[0, 0] > both.variance[0, 0]
    none = combine([result_of(np.nan, 0.01), result_of(np.nan, 0.01)])
    assert not none.known.any()
    assert none.probability[0, 0] == 0


def test_a_rare_disagreement_shows_in_full_and_a_usual_one_less():
    ours, theirs = np.full((20, 20), 20.0), np.full((20, 20), 20.1)
    theirs[0, :3] = 21, 25, 60
    theirs[1, :] = np.nan
    variance = combine([result_of(ours, 0.25), result_of(theirs, 1.0)]).variance
    assert variance[0, 0] < variance[0, 1] < variance[0, 2]
    assert variance[0, 2] > 0.25 * 40**2  # it may be the leader that is wrong
    noisy = np.random.default_rng(0).normal(20, 10, (20, 20))
    noisy[0, 2] = 60
    assert combine([result_of(ours, 0.25), result_of(noisy, 1.0)]).variance[0, 2] < 0.01 * variance[0, 2]


def test_a_leader_is_moved_where_it_is_unsure_of_an_area_but_not_at_an_edge():
    theirs, ours = np.full((60, 60), 20.0), np.full((60, 60), 20.0)
    unsure = np.full((60, 60), 0.01, np.float32)
    ours[10:40, 10:40] = 24
    unsure[10:40, 10:40] = 9
    ours[50:54], unsure[50:54] = 24, 9
    leading = replace(result_of(ours, 9.0), variance=unsure)
    together = combine([leading, result_of(theirs, 100.0)])
    assert 21 < together.disparity[25, 25] < 23.5
    assert together.disparity[52, 25] > 23.9


def test_the_lowest_value_around_a_pixel():
    values = np.random.default_rng(0).random((30, 20)).astype(np.float32)
    reach = sum(AROUND)
    for size in (30, 20), (5, 20), (1, 1):
        part = values[: size[0], : size[1]]
        expected = [
            [part[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1].min() for x in range(size[1])]
            for y in range(size[0])
        ]
        np.testing.assert_array_equal(_lowest_around(part), np.array(expected))


def test_together_they_are_no_worse_than_the_best():
    pair = scene()
    ours = bdis.StereoMatcher(variance=True).match(pair.left, pair.right)
    theirs = bdis.assess(pair.left, pair.right, sgbm())
    together = combine([ours, theirs])

    def error_of_the_surest(result, count):
        error = np.abs(result.disparity - pair.disparity)
        order = np.argsort(np.where(np.isnan(error), np.inf, result.variance), axis=None, kind="stable")
        return error.ravel()[order[:count]].mean()

    count = int(0.9 * min(np.sum(r.known & ~np.isnan(pair.disparity)) for r in (ours, theirs)))
    best = min(error_of_the_surest(result, count) for result in (ours, theirs))
    assert error_of_the_surest(together, count) < 1.02 * best
    assert together.coverage >= max(ours.coverage, theirs.coverage)


def test_results_of_different_pairs_were_combined_without_a_word():
    pair, other = scene(), scene(4, "tissue")
    matcher = bdis.StereoMatcher("fast", variance=True)
    ours, theirs = (matcher.match(each.left, each.right) for each in (pair, other))
    with pytest.raises(ValueError, match=r"results\[2\] is of another left image than results\[0\]"):
        combine([ours, ours, theirs])
    assert combine([ours, replace(theirs, pictures=None)]).known.any()  # nothing tells


def test_a_combined_result_knows_its_pair_and_keeps_the_warnings(tmp_path):
    """Combined once, results of another pair were taken, and a swapped pair looked like a good one."""
    pair, other = scene(), scene(4, "tissue")
    matcher = bdis.StereoMatcher("fast", variance=True)
    ours, theirs = (matcher.match(each.left, each.right) for each in (pair, other))
    together = combine([ours, ours])
    assert (together.bits, together.warnings) == (ours.bits, ())
    with pytest.raises(ValueError, match="of another left image"):
        combine([together, theirs])
    bdis.write_result(tmp_path / "a.npz", together)
    with pytest.raises(ValueError, match="of another left image"):
        combine([combine([bdis.read_result(tmp_path / "a.npz")]), theirs])
    swapped = matcher.match(pair.right, pair.left)
    assert swapped.warnings
    assert combine([swapped, replace(ours, pictures=None)]).warnings == swapped.warnings


def test_results_of_different_pairs_were_combined_if_they_came_from_files(tmp_path):
    matcher = bdis.StereoMatcher("fast", variance=True)
    for name, pair in (("a", scene()), ("b", scene(4, "tissue"))):
        result = matcher.match(pair.left, pair.right)
        bdis.write_result(tmp_path / f"{name}.npz", result)
        bdis.write_result(tmp_path / f"{name}-again.npz", bdis.read_result(tmp_path / f"{name}.npz"))
    ours, again, theirs = (bdis.read_result(tmp_path / name) for name in ("a.npz", "a-again.npz", "b-again.npz"))
    for mixed in ([ours, theirs], [again, result], [result, again]):
        with pytest.raises(ValueError, match="of another left image"):
            combine(mixed)
    assert combine([ours, again]).known.any()
    assert combine([result, theirs]).known.any()


def test_results_of_one_pair_are_combined_whatever_was_done_to_its_images():
    pair = scene()
    ours = bdis.StereoMatcher(variance=True).match(pair.left, pair.right)
    grey = [image.mean(2) for image in (pair.left, pair.right)]
    dark = [np.maximum(image // 16, 1) for image in (pair.left, pair.right)]
    mask = np.arange(320) > np.full((240, 1), 100)
    for preset in ("accurate", "fast", "paper"):
        matcher = bdis.StereoMatcher(preset, variance=True)
        matches = matcher.match(*grey), matcher.match(*dark), matcher.match(pair.left, pair.right, left_mask=mask)
        for theirs in (*matches, bdis.assess(pair.left, pair.right, sgbm())):
            assert combine([ours, theirs]).coverage >= ours.coverage


def test_a_disparity_beyond_any_image_made_all_variances_nan():
    sure, far = result_of([[20.0, 30.0]], 0.01), result_of([[20.0, -1e18]], 0.01)
    with pytest.raises(ValueError, match=r"results\[1\] has disparities of up to 1e\+18 px; unknown is NaN"):
        combine([sure, far])
    assert combine([sure, result_of([[20.0, np.inf]], 0.01)]).known.all()


@pytest.mark.parametrize("given", [result_of(20.0, 0.01), None, 3])
def test_a_result_outside_of_a_list_was_told_in_words_of_python(given):
    with pytest.raises(TypeError, match=rf"takes a list of results, but got {type(given).__name__}: combine\(\[first"):
        combine(given)


def test_what_cannot_be_combined():
    with pytest.raises(ValueError, match="no results"):
        combine([])
    with pytest.raises(ValueError, match="different sizes"):
        combine([result_of(20.0, 0.01), result_of([[20.0, 20.0]], 0.01)])
    with pytest.raises(ValueError, match="variance=True"):
        combine([bdis.StereoResult(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))])
    sure = result_of(20.0, 0.01)
    with pytest.raises(TypeError, match=r"results\[1\] must be a StereoResult, but it is ndarray"):
        combine([sure, np.ones((1, 1))])
    with pytest.raises(ValueError, match=r"results\[1\] has negative variances, down to -0.5"):
        combine([sure, result_of(20.0, -0.5)])
    with pytest.raises(ValueError, match=r"results\[1\] has variances of 0, as if its disparities were exact"):
        combine([sure, result_of(20.0, 0.0)])
    with pytest.raises(ValueError, match=r"shape \(1, 1\) and float32 of shape \(1, 2\)"):
        combine([replace(sure, variance=np.ones((1, 2), np.float32))])
