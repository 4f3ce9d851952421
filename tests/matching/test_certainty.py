"""Does the uncertainty mean what it says?  On rendered scenes other than those the error model was fitted to."""

from functools import cache

import numpy as np
import pytest

import bdis
from bdis.common.law import sigmas
from bdis.evaluation.baselines.opencv import OpenCVStereo
from bdis.evaluation.datasets import open_dataset
from bdis.evaluation.errors import compare
from bdis.evaluation.paper.calibration import within_196_sigma
from bdis.evaluation.paper.printed import COVERAGE_SYNTHETIC
from bdis.synthetic.renderer import render
from benchmarks.data import AUTHORS_SET, authors_frames
from benchmarks.uncertainty import bent

# Shapes, textures, disparities, noise and lighting; seeds not used in fitting (those were 101 to 118).
SCENES = (
    ("tissue", {"seed": 501, "disparity_px": 40, "noise": 1.5}),
    ("tissue", {"seed": 502, "disparity_px": 10, "noise": 2.0, "texture": 0.6}),
    ("tissue", {"seed": 504, "disparity_px": 60, "noise": 3.0, "texture": 0.4, "gain_difference": 0.1}),
    ("colon", {"seed": 508, "disparity_px": 30, "noise": 1.5}),
    ("colon", {"seed": 510, "frame": 50, "disparity_px": 60, "noise": 2.0}),
    ("instruments", {"seed": 513, "disparity_px": 40, "noise": 1.5}),
)


@cache
def rendered():
    return [render(scene, **options) for scene, options in SCENES]


def errors(result, pair, occluded=False):
    """|error| and sigma in px, and probability, of the predicted pixels with a reference."""
    known = result.known & (occluded | ~np.isnan(pair.disparity))
    error = np.abs(result.disparity - pair.full_disparity)[known]
    return error, np.sqrt(result.variance[known]), result.probability[known]


def within(result, pair, share=0.95):
    """Share of the errors within the interval that shall hold a share of them."""
    error, sigma, _ = errors(result, pair)
    return float((error < sigmas(share) * sigma).mean())


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("balanced", {}),
        ("accurate", {}),
        ("paper", {}),
        ("fast", {}),
        ("balanced", {"dense": True}),
        ("balanced", {"finest_level": 0}),
    ],
    ids=str,
)
def test_95_percent_lie_within_the_interval_of_95_percent(preset, changes):
    """More on rendered scenes, with labels: their weights are for real pairs as well, where errors are larger."""
    matcher = bdis.StereoMatcher(preset, variance=True, **changes)
    shares = [within(matcher.match(pair.left, pair.right), pair) for pair in rendered()]
    assert 0.93 <= np.mean(shares) <= 0.99, shares
    assert min(shares) >= 0.88, shares


@pytest.mark.parametrize("sigma_px", [0.15, 0.3])
def test_lenses_that_bend_the_picture_are_in_the_intervals(sigma_px):
    """What columns are off by nobody can see, but rows show it: without their help the intervals are far too narrow."""
    pairs = [(pair, bent(pair.right, sigma_px, seed)) for seed, pair in enumerate(rendered())]
    shares = {}
    for align_rows in ("auto", "off"):
        matcher = bdis.StereoMatcher(variance=True, align_rows=align_rows)
        shares[align_rows] = [within(matcher.match(pair.left, right), pair) for pair, right in pairs]
    assert min(shares["auto"]) > 0.88, shares
    assert np.mean(shares["off"]) < np.mean(shares["auto"]) - 0.05, shares


@pytest.mark.parametrize("preset", ["balanced", "accurate"])
def test_probability_is_the_share_within_1_px(preset):
    matcher = bdis.StereoMatcher(preset, variance=True)
    found = [errors(matcher.match(pair.left, pair.right), pair) for pair in rendered()]
    right, probability = np.concatenate([e < 1 for e, _, _ in found]), np.concatenate([p for _, _, p in found])
    bins = np.minimum((probability * 10).astype(int), 9)
    gap = sum(abs(probability[bins == k].mean() - right[bins == k].mean()) * (bins == k).mean() for k in set(bins))
    assert gap < 0.04


def negative_log_likelihood(error, sigma):
    return float(np.mean(0.5 * (error / sigma) ** 2 + np.log(sigma) + 0.919))


def sparsification_error(error, sigma):
    """Mean error left when the least certain pixels go first, above that of the ideal order; relative."""
    kept = np.arange(1, len(error) + 1)
    ours, ideal = np.cumsum(error[np.argsort(sigma)]) / kept, np.cumsum(np.sort(error)) / kept
    return float((ours - ideal).mean() / error.mean())


@pytest.mark.parametrize("preset", ["balanced", "paper"])
def test_ours_is_better_than_the_papers_variance(preset):
    ours, papers = (bdis.StereoMatcher(preset, variance=kind) for kind in (True, "paper"))
    for score in (negative_log_likelihood, sparsification_error):
        a, b = (
            np.mean([score(*errors(m.match(pair.left, pair.right), pair)[:2]) for pair in rendered()])
            for m in (ours, papers)
        )
        assert a < b, score.__name__


@pytest.mark.skipif(not (AUTHORS_SET / "31").is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
@pytest.mark.parametrize("name", ["30", "31"])
def test_on_the_virtual_colon(name):
    """95 +- 2 % on average, and 88 to 99.5 % of every frame."""
    matcher = bdis.StereoMatcher(variance=True)
    shares = []
    for frame in authors_frames(name):
        found = compare(matcher.match(frame.left, frame.right), frame)
        shares.append(float((np.abs(found.error_px) < sigmas(0.95) * found.sigma_px).mean()))
    assert 0.93 <= np.mean(shares) <= 0.97, shares
    assert min(shares) >= 0.88, shares
    assert max(shares) <= 0.995, shares


@pytest.mark.skipif(not (AUTHORS_SET / "31").is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
@pytest.mark.parametrize(("name", "letter"), [("30", "A"), ("31", "a")])
def test_the_papers_variance_holds_as_many_errors_as_its_table_prints(name, letter):
    """Table VI, frame by frame, with the depth decoding that it was made with.  A residual of the fit that is taken as
    a mean square instead of its root lets through windows that are no Gaussian: 65 and 71 % instead of 85.
    """
    matcher = bdis.StereoMatcher("paper", variance="paper")
    entries = open_dataset(AUTHORS_SET, "authors", sets=name, decoding="published")
    printed, found = [], []
    for frame in entries.frames():
        if f"{letter}{frame.name}" in COVERAGE_SYNTHETIC:
            printed.append(COVERAGE_SYNTHETIC[f"{letter}{frame.name}"])
            found.append(100 * within_196_sigma(compare(matcher.match(frame.left, frame.right), frame)))
    assert np.mean(found) == pytest.approx(np.mean(printed), abs=4)
    assert np.corrcoef(found, printed)[0, 1] > 0.95


@pytest.mark.parametrize("preset", ["balanced", "accurate", "paper", "fast"])
@pytest.mark.parametrize("kind", [True, "paper"])
@pytest.mark.parametrize("dense", [False, True])
def test_variance_is_there_where_the_disparity_is(preset, kind, dense):
    pair = render("instruments", 120, 160, seed=3)
    left = pair.left.copy()
    left[:, :13] = 0
    result = bdis.StereoMatcher(preset, variance=kind, dense=dense).match(left, pair.right)
    np.testing.assert_array_equal(np.isnan(result.variance), np.isnan(result.disparity))
    assert (result.variance[result.known] > 0).all()
    assert bdis.StereoMatcher(preset).match(left, pair.right).variance is None
    assert result.known.all() if dense else not result.known[:, :13].any()


def test_dense_fills_every_pixel_and_says_how_uncertain_it_is():
    pair = render("tissue", 240, 320, seed=4, highlights=2.0)
    sparse = bdis.StereoMatcher(variance=True).match(pair.left, pair.right)
    dense = bdis.StereoMatcher(variance=True, dense=True).match(pair.left, pair.right)
    assert dense.known.all()
    filled = ~sparse.known
    assert filled.any()
    assert np.median(dense.variance[filled]) > 10 * np.median(dense.variance[~filled])


@pytest.mark.skipif(not (AUTHORS_SET / "31").is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
@pytest.mark.parametrize("set_name", ["30", "31"])
def test_95_percent_of_the_filled_pixels_lie_within_their_intervals(set_name):
    """Of set 31 only 88 % did, and of its worst frame 55 %: half the picture was guessed, by up to 200 px."""
    found = []
    for frame in authors_frames(set_name):
        is_filled = ~bdis.StereoMatcher().match(frame.left, frame.right).known
        dense = bdis.StereoMatcher(variance=True, dense=True).match(frame.left, frame.right)
        error = np.abs(dense.disparity - frame.disparity)[is_filled]
        inside = error <= dense.interval(0.95)[is_filled]
        found.append(inside[np.isfinite(error)].mean())
    assert 0.93 < np.mean(found) < 0.97
    assert min(found) > 0.7


def test_dense_without_anything_to_see_is_unknown():
    grey = np.full((64, 64), 90, np.uint8)
    assert not bdis.StereoMatcher(dense=True).match(grey, grey).known.any()


def test_dense_was_said_to_give_every_pixel_a_disparity_also_where_nothing_is_found():
    image, other = np.random.default_rng(0).integers(1, 255, (2, 240, 320), dtype=np.uint8)
    masked = bdis.StereoMatcher(dense=True).match(image, image, left_mask=np.zeros((240, 320), bool))
    assert not masked.known.any()
    assert not bdis.StereoMatcher("paper", dense=True).match(image, other).known.any()


@pytest.mark.parametrize("disparity_px", [5, 40, 120, 250])
def test_large_and_small_disparities(disparity_px):
    """The paper's start at 0 loses what lies far away; here all disparities are tried first."""
    pair = render("tissue", seed=60, disparity_px=disparity_px, noise=1.0)
    result = bdis.StereoMatcher().match(pair.left, pair.right)
    visible = ~np.isnan(pair.disparity)
    assert result.known[visible].mean() > (0.85 if disparity_px < 200 else 0.6)  # little of the width is left there
    assert np.nanmedian(np.abs(result.disparity - pair.disparity)) < 0.3


def test_fewer_errors_at_depth_edges_than_sgbm_at_equal_coverage():
    cv2 = pytest.importorskip("cv2")
    matcher = bdis.StereoMatcher("accurate", variance=True)
    ours_bad = sgbm_bad = 0
    for seed, disparity_px in ((513, 40), (514, 20), (516, 30)):
        pair = render("instruments", seed=seed, disparity_px=disparity_px, noise=1.0)
        truth = pair.full_disparity
        jump = np.maximum(
            np.abs(np.diff(truth, axis=1, prepend=truth[:, :1])), np.abs(np.diff(truth, axis=0, prepend=truth[:1]))
        )
        near = cv2.dilate((jump > 2).astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (21, 21))) > 0
        near &= ~np.isnan(pair.disparity)
        # Without padding, as OpenCV is usually called: the left margin, which it leaves out, counts for neither.
        sgbm = OpenCVStereo("sgbm", float(truth.max()) + 16, whole_width=False).match(pair.left, pair.right).disparity
        predicted = ~np.isnan(sgbm)
        result = matcher.match(pair.left, pair.right)
        variance = np.where(result.known, result.variance, np.inf)
        kept = result.known & (variance <= np.quantile(variance, predicted.mean()))
        sgbm_bad += (predicted & near & (np.abs(sgbm - truth) > 1)).sum()
        ours_bad += (kept & near & (np.abs(result.disparity - truth) > 1)).sum()
    assert ours_bad < 0.8 * sgbm_bad
