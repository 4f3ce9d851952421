"""The factor on sigma: by hand on made-up errors, and on rendered scenes."""

import math
from dataclasses import replace

import numpy as np
import pytest

import bdis
from bdis.common.law import sigmas
from bdis.evaluation import certainty_fit
from bdis.evaluation.certainty_fit import (
    LARGEST_RATIO,
    MIN_FRAMES,
    SHARES,
    fit_certainty,
    fit_errors,
    reliability_curves,
)
from bdis.evaluation.datasets import Dataset, Entry, Frame, open_dataset
from bdis.evaluation.frame_errors import FrameErrors, frame_errors

FAST = bdis.PRESETS["fast"]
RIG = bdis.Rig(500, 320, 240, 5)


def errors_of(factor, name="a", pixels=5000, seed=0, rig=RIG):
    """Errors that follow the law with a sigma of ``factor`` px, claimed to be 1 px."""
    noise = np.random.default_rng(seed).standard_t(3, pixels) / math.sqrt(3)  # a variance of 1
    return FrameErrors(name, np.abs(factor * noise).astype(np.float32), np.ones(pixels, np.float32), rig)


def scenes(seeds, scene="tissue"):
    """One frame of each of several rendered scenes, as a data set."""
    members = [open_dataset(f"render:{scene},frames=1,height=120,width=160,seed={seed}")[0] for seed in seeds]
    return Dataset(scene, "render", members)


@pytest.fixture(scope="module")
def fitted():
    return frame_errors(scenes(range(6)), FAST)


# --- The number -------------------------------------------------------------------------------------------------------


def test_factor_of_errors_that_follow_the_law_is_that_of_their_sigma():
    fit = fit_errors([errors_of(1.5, seed=seed) for seed in range(8)])
    assert fit.factor == pytest.approx(1.5, rel=0.05)
    assert fit.low < 1.5 < fit.high
    assert fit.sigma_scale == pytest.approx(fit.factor, rel=1e-3)
    low, high = (fit.sigma_scale * end / fit.factor for end in (fit.low, fit.high))
    assert fit.rig == replace(RIG, sigma_scale=fit.sigma_scale, sigma_scale_range=(low, high))
    assert fit.warnings == []
    assert [frame.pixels for frame in fit.frames] == [5000] * 8


@pytest.mark.parametrize("seed", range(20))
def test_frames_that_need_the_same_factor_are_fitted(seed):
    """The ends of the interval are the factor then, but for rounding, and the rig refused an interval without it."""
    same = errors_of(np.random.default_rng(seed).uniform(0.5, 2), pixels=2000, seed=seed)
    low, high = fit_errors([same, same]).rig.sigma_scale_range
    assert low == pytest.approx(high)


def test_the_preset_is_noted_only_if_its_settings_are_its_own():
    frames = [errors_of(1.5, seed=seed) for seed in range(3)]
    assert fit_errors(frames, replace(FAST, variance=True, threads=2)).rig.sigma_preset == "fast"
    assert fit_errors(frames, replace(FAST, patch_size=6)).rig.sigma_preset is None
    assert fit_errors(frames).rig.sigma_preset is None


def test_exactly_the_next_share_of_the_errors_is_inside():
    """Of 1999 errors the conformal quantile is the 1900th: 95 % of 2000."""
    errors = np.arange(1, 2000, dtype=np.float32) / 1000
    frames = [FrameErrors(name, errors, np.full(1999, 1 / sigmas(0.95), np.float32)) for name in "abc"]
    assert fit_errors(frames).frames[0].factor == pytest.approx(1.9)


def test_every_frame_counts_the_same_whatever_its_pixels():
    many, few = errors_of(1.0, pixels=90_000), errors_of(1.9, pixels=2000, seed=1)
    equal = [errors_of(1.0, pixels=90_000), errors_of(1.9, pixels=90_000, seed=1)]
    assert fit_errors([many, few]).factor == pytest.approx(fit_errors(equal).factor, rel=0.1)
    fit = fit_errors([many, few])
    inside = np.mean([frame.share_inside(0.95, fit.factor) for frame in (many, few)])
    assert inside == pytest.approx(0.95, abs=0.001)


def test_confidence_interval_by_hand():
    """Two frames, one degree of freedom: 12.706 standard errors of the logarithms."""
    fit = fit_errors([errors_of(1.0), errors_of(1.2)])  # the same errors, times 1.2
    half = 12.706 * (math.log(1.2) / math.sqrt(2)) / math.sqrt(2)
    assert fit.high / fit.factor == pytest.approx(math.exp(half), rel=1e-4)
    assert fit.factor / fit.low == pytest.approx(math.exp(half), rel=1e-4)


def test_quantiles_of_students_t():
    stats = pytest.importorskip("scipy.stats")
    table = certainty_fit._T_QUANTILES
    np.testing.assert_allclose(table, [stats.t.ppf(0.975, n + 1) for n in range(len(table))], atol=6e-4)
    beyond = np.arange(len(table) + 1, 200)
    np.testing.assert_allclose(1.96 + 2.4 / beyond, stats.t.ppf(0.975, beyond), atol=7e-3)


def test_matcher_that_claims_half_of_sigma_gets_twice_the_factor():
    whole = fit_certainty(scenes(range(3)), FAST)
    half = fit_certainty(scenes(range(3)), replace(FAST, sigma_scale=0.5))
    assert half.factor == pytest.approx(2 * whole.factor, rel=1e-3)
    assert half.sigma_scale == pytest.approx(whole.sigma_scale, rel=1e-3)


def test_fitted_factor_holds_on_other_frames(fitted):
    fit = fit_errors(fitted)
    assert fit.warnings == []
    others = frame_errors(scenes(range(6, 12)), replace(FAST, sigma_scale=fit.sigma_scale))
    assert np.mean([frame.share_inside(0.95) for frame in others]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("preset", ["fast", "balanced", "paper"])
def test_factor_is_what_the_setting_does(preset):
    """A matcher with another factor knows the same pixels, and has the sigma that the fit counts on."""
    settings = bdis.PRESETS[preset]
    (before,), (after,) = (frame_errors(scenes([0]), replace(settings, sigma_scale=scale)) for scale in (1, 1.7))
    np.testing.assert_array_equal(after.error_px, before.error_px)
    np.testing.assert_allclose(after.sigma_px, 1.7 * before.sigma_px, rtol=1e-4)


# --- What speaks against it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, MIN_FRAMES))
def test_too_few_frames_are_told(count):
    fit = fit_errors([errors_of(1.0, seed=seed) for seed in range(count)])
    assert any("too few; take 3 or more" in text for text in fit.warnings)
    assert math.isnan(fit.low) == (count == 1)


def test_unlike_frames_are_told_by_name():
    alike = [errors_of(1.0, "a"), errors_of(1.1, "b"), errors_of(0.95 * LARGEST_RATIO, "c")]
    assert fit_errors(alike).warnings == []
    (text,) = fit_errors([*alike, errors_of(1.05 * LARGEST_RATIO, "d")]).warnings
    assert "unlike each other: a needs a factor of 0.99" in text
    assert "d one of 2.08, more than 2 times as much" in text


def test_frames_of_several_rigs_have_none_in_common():
    frames = [errors_of(1.0, seed=seed, rig=replace(RIG, baseline_mm=5 + seed)) for seed in range(3)]
    fit = fit_errors(frames)
    assert fit.rig is None
    assert "3 different rigs" in fit.warnings[0]
    assert fit_errors([errors_of(1.0, seed=seed, rig=None) for seed in range(3)]).warnings == []


def test_frames_that_cannot_be_used_are_left_out_and_told(fitted):
    image = np.full((64, 96, 3), 9, np.uint8)
    without = Entry("made up", "1", lambda: Frame("made up", "1", image, image))
    few = open_dataset("render:plane,frames=1,height=32,width=32")[0]
    bad = frame_errors(Dataset("made up", "folder", [without, few, few]), FAST)
    fit = fit_errors([*fitted, *bad])
    assert len(fit.frames) == len(fitted)
    assert fit.factor == fit_errors(fitted).factor
    assert fit.warnings[0] == "made up/1: no reference; left out"
    assert "too few pixels with a disparity and a reference" in fit.warnings[1]
    assert fit.warnings[1].endswith("of the 1000 needed; left out, like 1 more")
    with pytest.raises(ValueError, match="nothing to fit the certainty to: made up/1: no reference"):
        fit_errors(bad)


def test_factors_no_setting_can_have_are_refused():
    for factor in (0, 500):
        with pytest.raises(ValueError, match="sigma_scale must be above 0 and at most 100.*in the right unit"):
            fit_errors([errors_of(factor, seed=seed) for seed in range(3)])


@pytest.mark.parametrize(("factor", "is_likely"), [(0.1, False), (0.25, True), (4.5, True), (58.7, False)])
def test_a_factor_that_no_camera_needs_speaks_against_the_reference(factor, is_likely):
    """As that of a reference which is off by 5 px; relative to the shipped sigma and not to that of the settings."""
    frames = [errors_of(factor, seed=seed) for seed in range(3)]
    for fit in (
        fit_errors(frames),
        fit_errors([errors_of(1.0, seed=seed) for seed in range(3)], bdis.Settings(sigma_scale=factor)),
    ):
        found = [text for text in fit.warnings if "the reference or the rig does not fit these images" in text]
        assert len(found) == (0 if is_likely else 1)


def test_variance_of_the_paper_is_refused():
    with pytest.raises(ValueError, match="leave it out"):
        fit_certainty(scenes([0]), replace(FAST, variance="paper"))


# --- The diagram ------------------------------------------------------------------------------------------------------


def test_curves_of_errors_that_follow_the_law_are_the_diagonal():
    frames = [errors_of(1.5, seed=seed, pixels=20_000) for seed in range(4)]
    before, after = reliability_curves(frames), reliability_curves(frames, 1.5)
    np.testing.assert_allclose(after.inside, SHARES, atol=0.01)
    assert before.inside[24] < SHARES[24] - 0.1
    (place,) = np.flatnonzero(after.probability["count"])
    assert after.probability["within"][place] == pytest.approx(after.probability["probability"][place], abs=0.01)
