"""Full resolution against its oracle, and what must hold of it for any picture."""

from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import bdis
from bdis.matching import kernels
from bdis.matching.detail import covered_line, doubt_line
from bdis.matching.kernels.beside_unknown import APART, UNKNOWN, Differences
from bdis.matching.kernels.covered import DetailRules
from bdis.matching.kernels.doubt import BLANK, Cues, DoubtWeights
from bdis.matching.kernels.layout import PAD, Map, Maps, image_stride
from bdis.matching.labels import Labels
from bdis.matching.memory import Arena
from bdis.synthetic.renderer import render
from bdis.vector.array_types import LANES
from bdis.vector.crew import Threads
from tests import naive_detail, naive_highlights, naive_labels, naive_surface
from tests.matching.records import alone, found_spans, map_of
from tests.scenes import smooth_noise, warped_pair

SIZES = [(96, 128), (97, 131), (33, 32), (64, 150), (33, 47), (50, 200)]
LEVELS = [{"label_level": 1}, {"label_level": 0}, {"finest_level": 2, "label_level": 0, "patch_size": 6},
          {"finest_level": 2, "label_level": 3, "patch_size": 6}, {"finest_level": 0}]  # fmt: skip


def solved(size, hidden=False, **settings: Any):
    """A pair after a match, and the stages of its matcher."""
    left, right, _ = warped_pair(*size, seed=3)
    if hidden:
        left[:, :7] = 0
        right[8:20, 20:26] = 0
    matcher = bdis.StereoMatcher("balanced", **settings)
    result = matcher.match(left, right)
    return left, right, matcher._stages, result


def padded(values):
    """As an image lies in memory, 0 beyond its border."""
    width = values.shape[1]
    return np.pad(values, ((0, 0), (PAD, image_stride(width) - PAD - width)))


def pixels(image):
    return image.pixels[:, PAD : PAD + image.width].astype(float)


def disturb(stages, rng):
    """A surface with an edge, and labels with others and with holes; as they are for the oracle."""
    surface, found = stages.surface.fit.surface, stages.detail._found
    height, width = surface.height, surface.width
    y, x = np.mgrid[:height, :width]
    surface.disparity[:height, :width] = 3 + y / 20 + 4 / (1 + np.exp((width / 2 - x + y / 3) / 2))
    labels = rng.uniform(-2, 12, (len(found.values), found.width))
    labels[rng.random(labels.shape) < 0.3] = np.nan
    labels[:2] = np.nan
    found.values[:, : found.width] = labels
    return surface.disparity[:height, :width].astype(float), found.values[:, : found.width].astype(float)


@pytest.mark.parametrize("levels", LEVELS, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_pixel_takes_the_surface_or_its_label(size, levels):
    _left, _right, stages, _result = solved(size, **levels)
    detail, scale = stages.detail, stages._settings.intensity_scale
    candidates, images = detail._candidates, detail._images
    left, right = (pixels(image) for image in images)
    surface, found = disturb(stages, np.random.default_rng(0))

    kernels.fill_from_background(detail._found, detail._filled, alone())
    kernels.compare_candidates(
        detail._surface, detail._filled, detail._found, *images, candidates, detail._blocks, detail._lines,
        alone(),
    )  # fmt: skip
    seen_labels = candidates.votes[:, PAD : PAD + size[1]].copy()
    kernels.choose_candidates(candidates, detail._blocks, detail._disparity, detail._lines, alone())

    width, surface_px, found_px = size[1], candidates.surface_px, candidates.labels_px
    wide = naive_detail.enlarged(surface, surface_px, size)
    labels = naive_detail.repeated(found_px * naive_labels.fill_from_background(found), found_px, size).astype(float)
    np.testing.assert_allclose(candidates.surface[:, :width], wide, atol=1e-4)
    np.testing.assert_allclose(candidates.labels[:, :width], labels, atol=1e-5)
    known = ~np.isnan(naive_detail.repeated(found, found_px, size))
    gain = naive_detail.gain(left, right, wide, labels, scale)
    # Under a disparity that is off by 1e-6 px in float32 a gradient of thousands moves by as many thousandths.
    np.testing.assert_allclose(candidates.gain[:, :width], gain, atol=0.1)

    np.testing.assert_allclose(seen_labels, np.where(known, labels, np.nan), atol=1e-5)

    reference, votes, _ = naive_detail.choose(left, right, surface, found, surface_px, found_px, scale)
    margin = np.abs(naive_detail.advantage(left, right, wide, labels, scale) - naive_detail.CLEARLY)
    sure = margin > 1e-3
    assert sure.mean() > 0.99
    chosen = detail._disparity.values[:, :width]
    np.testing.assert_allclose(chosen[sure], reference[sure], atol=1e-4)
    np.testing.assert_allclose(candidates.votes[:, PAD : PAD + width][sure], votes[sure], atol=1e-4)
    from_labels = known & (np.abs(chosen - labels) < 1e-4)
    assert 0.002 < from_labels.mean() < 0.5  # both happen


@pytest.mark.parametrize("levels", LEVELS, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_pixels_take_the_side_of_those_that_look_like_them(size, levels):
    _left, _right, stages, _result = solved(size, **levels)
    detail, scale, width = stages.detail, stages._settings.intensity_scale, size[1]
    candidates, rng = detail._candidates, np.random.default_rng(2)
    disturb(stages, rng)
    kernels.fill_from_background(detail._found, detail._filled, alone())
    kernels.compare_candidates(
        detail._surface, detail._filled, detail._found, *detail._images, candidates, detail._blocks, detail._lines,
        alone(),
    )  # fmt: skip
    kernels.choose_candidates(candidates, detail._blocks, detail._disparity, detail._lines, alone())
    chosen, labels = detail._disparity.values[:, :width].astype(float), candidates.labels[:, :width].astype(float)
    votes = candidates.votes[:, PAD : PAD + width].astype(float)
    kernels.take_sides(candidates, detail._blocks, detail._images[0], detail._disparity, detail._lines, alone())

    reference, excess = naive_detail.take_sides(pixels(detail._images[0]), chosen, votes, labels, scale)
    found, sure = detail._disparity.values[:, :width], np.abs(excess) > 1e-3
    assert sure.mean() > 0.99
    np.testing.assert_allclose(found[sure], reference[sure], atol=1e-3)
    assert 0.001 < (reference != chosen).mean() < 0.6  # some move


@pytest.mark.parametrize("size", [(96, 128), (97, 131), (64, 150), (133, 200)], ids=str)
def test_highlights_go_to_the_plane_around_them(size):
    _left, _right, stages, _result = solved(size)
    detail, scale, rng = stages.detail, stages._settings.intensity_scale, np.random.default_rng(4)
    (height, width), left = size, detail._images[0]
    y, x = np.mgrid[:height, :width]
    image = rng.uniform(20, 200, size)
    for _ in range(6):  # in corners and across borders as well
        image[np.hypot(y - rng.integers(height), x - rng.integers(width)) < rng.uniform(0, 5)] = 255
    image[0, 0] = image[-1, -1] = 255
    shown = np.clip(np.arange(left.pixels.shape[1]) - PAD, 0, width - 1)
    left.pixels[:] = np.rint(scale * image)[:, shown].astype(np.int16)
    disparity = 10 + 0.02 * x - 0.01 * y + rng.normal(0, 0.1, size) + np.where(image == 255, rng.uniform(-4, 4), 0)
    disparity[:, width // 2 :] += np.where(rng.random() < 0.5, 0, 6)  # another thing
    known, seen = rng.random(size) < 0.9, rng.random(size) < 0.8
    variance = rng.uniform(0, 1, size).astype(np.float32)
    detail._disparity.values[:, :width] = disparity
    detail._seen.mask[:, PAD : PAD + width] = seen
    result = Maps(disparity=np.where(known, 1, np.nan).astype(np.float32), probability=variance.copy(), width=width)
    gradient = detail._highlights.gradient
    gradient[:] = 0

    kernels.settle_highlights(
        left, detail._seen, True, result, detail._disparity, detail._highlights, detail._lines, detail._rings, alone()
    )
    reference = naive_highlights.settle_highlights(
        pixels(left), disparity.astype(np.float32).astype(float), known, variance.astype(float), seen, scale
    )
    np.testing.assert_allclose(detail._disparity.values[:, :width], reference.disparity, atol=1e-3)
    np.testing.assert_array_equal(~np.isnan(result.disparity), reference.known)
    np.testing.assert_allclose(result.probability, reference.surface_variance, rtol=2e-3, atol=1e-3)
    np.testing.assert_array_equal(gradient[:, PAD : PAD + width] == BLANK, reference.is_blank)
    assert 0.002 < (np.abs(reference.disparity - disparity) > 0.01).mean() < 0.5  # some move, most stay
    assert (reference.known & ~known).any()


@pytest.mark.parametrize("size", [(60, 83), (75, 96)], ids=str)
def test_patches_that_hold_highlights_do_not_count(size):
    _left, _right, stages, _result = solved((2 * size[0], 2 * size[1]))
    search, scale, rng = stages.levels[-1].search, stages._settings.intensity_scale, np.random.default_rng(5)
    views, patches, width = search._views, search.patches, size[1]
    y, x = np.mgrid[: size[0], : size[1]]
    images = [rng.uniform(20, 200, size) for _ in range(2)]
    for image in images:
        for _ in range(4):
            image[np.hypot(y - rng.integers(size[0]), x - rng.integers(width)) < rng.uniform(0, 3)] = 255
    images[0][: size[0] // 4, width // 2 :] = 255  # overexposed
    shown = np.clip(np.arange(views.left.shape[1]) - PAD, 0, width - 1)
    for target, image in zip((views.left, views.right), images):
        target[:] = np.rint(scale * image)[:, shown].astype(np.int16)
    patches.disparity[:] = rng.uniform(-20, 20, patches.disparity.shape)
    patches.probability[:] = rng.random(patches.probability.shape)
    rows, cols = patches.rows[0], patches.cols[0, :-LANES]
    before = [
        (row, col, float(patches.disparity[i, j]), float(patches.probability[i, j]))
        for i, row in enumerate(rows)
        for j, col in enumerate(cols)
    ]
    kernels.leave_out_highlights(views, patches, search._bright_areas, search._bright_columns, alone())
    reference = naive_highlights.leave_out_highlights(
        before, *(scale * image for image in images), stages._settings.patch_size, scale
    )
    expected = np.array([patch[3] for patch in reference]).reshape(len(rows), len(cols))
    np.testing.assert_allclose(patches.probability[:, : len(cols)], expected)
    assert 0.05 < (expected == 0).mean() < 0.9


def test_a_highlight_that_moves_with_the_cameras_does_not_dent_the_surface():
    """Half of the pixels on such highlights were off by more than 1 px, most of them with a high probability."""
    pair = render("tissue", 240, 320, seed=701, highlights=2.0, noise=1.0, disparity_px=30)
    off = {}
    for settles in (False, True):
        result = bdis.StereoMatcher(highlights=settles).match(pair.left, pair.right)
        shown = (pair.left.min(axis=2) >= 250) & result.known & ~np.isnan(pair.disparity)
        off[settles] = (np.abs(result.disparity - pair.disparity)[shown] > 1).mean()
    assert off[True] < 0.4 * off[False], off


def test_the_surface_beside_a_highlight_is_as_good_as_elsewhere():
    """Patches that held a part of it dented the surface 30 px around: its errors there were three times as large."""
    errors = {}
    for seed in (721, 722, 723):
        pair = render("tissue", 240, 320, seed=seed, highlights=1.0, noise=1.0, disparity_px=25)
        distance = scipy.ndimage.distance_transform_edt(pair.left.min(axis=2) < 250)
        for leaves_out in (False, True):
            result = bdis.StereoMatcher(highlights=leaves_out).match(pair.left, pair.right)
            beside = (distance > 7) & (distance < 25) & result.known & ~np.isnan(pair.disparity)
            errors.setdefault(leaves_out, []).append(np.abs(result.disparity - pair.disparity)[beside].mean())
    assert np.mean(errors[True]) < 0.8 * np.mean(errors[False]), errors


def test_a_foreground_drawn_too_wide_gives_way_to_what_looks_like_background():
    """A dark bar before a bright wall, both with a faint texture: its outline is that of the picture."""
    rng = np.random.default_rng(0)
    wall, bar = (base + 0.15 * smooth_noise(96, width, rng) for base, width in ((120, 168), (40, 20)))
    left, right = wall[:, :160].copy(), wall[:, 8:168].copy()  # 8 px
    left[:, 80:100], right[:, 60:80] = bar, bar  # 20 px
    left, right = (np.rint(image).astype(np.uint8) for image in (left, right))
    only_left = slice(68, 80)  # columns of the wall that the bar covers in the right image
    wrong = {
        sides: (bdis.StereoMatcher("balanced", sides=sides).match(left, right).disparity[:, only_left] > 14).mean()
        for sides in (False, True)
    }
    assert wrong[True] <= 0.5 * wrong[False], wrong


@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize(
    "levels", [{"label_level": 0}, {"finest_level": 2, "label_level": 0, "patch_size": 6}], ids=str
)
def test_finer_labels(levels, hidden):
    """Level by level from those of the finest level that is searched."""
    size = (97, 131)
    _left, _right, stages, _result = solved(size, hidden, **levels)
    settings = stages._settings
    coarser = [level.found for level in stages.levels if isinstance(level, Labels)][-1]
    for number, stage in zip(range(settings.finest_level - 1, -1, -1), stages.detail.finer_labels, strict=True):
        images = [pixels(side[number]) for side in stages.pyramid.images]
        seen = [side[number].mask[:, PAD : PAD + images[0].shape[1]] > 0 for side in stages.pyramid.seen]
        seen = seen if hidden else [np.ones(images[0].shape, bool)] * 2
        limits = naive_labels.limits_of(settings, number, images[0].shape[1])
        reference = naive_labels.solve(
            *images, *seen, coarser.values[:, : coarser.width], *limits, settings.intensity_scale,
            settings.label_noise,
        )  # fmt: skip
        np.testing.assert_array_equal(stage.found.values[:, : stage.found.width], reference)
        coarser = stage.found


@pytest.mark.parametrize("is_dense", [False, True], ids=["holes", "dense"])
@pytest.mark.parametrize("size", [(20, 33), (7, 64), (12, 16), (30, 47), (9, 100)], ids=str)
@pytest.mark.parametrize("kind", ["noise", "steps"])
def test_what_is_covered_in_the_right_image(kind, size, is_dense):
    """Unknown stays unknown, limits hold, and a pixel behind a nearer one is unknown, or lies with the background."""
    rng = np.random.default_rng(1)
    before, detail = rng.uniform(0, 9, size), rng.uniform(-5, 20, size)
    if kind == "steps":  # slopes, some steep, and few depth edges
        steps = np.where(rng.random(size) < 0.05, rng.uniform(-9, 9, size), rng.uniform(-0.9, 0.9, size))
        detail = np.clip(5 + np.cumsum(steps, 1), -1, 12)
    if not is_dense:
        before[rng.random(size) < 0.3] = np.nan
    images = [rng.normal(0, 60, size) for _ in range(2)]
    for image in images:  # one part has no texture, and matches
        image[:, size[1] // 3 :] *= 0.05
    of_surface = np.where(rng.random(size) < 0.2, 9.0, 1.0).astype(np.float32)
    disparity, probability, variance = before.astype(np.float32), of_surface.copy(), np.empty(size, np.float32)
    result = Maps(disparity=disparity, probability=probability, width=size[1])
    rules = DetailRules(
        smallest=-1.0, largest=12.0, reached_below=-0.75, reached_above=11.75, largest_variance=1e6,
        min_probability=0.1, min_surface_probability=0.3, is_dense=is_dense,
        is_given=False, has_variance=True, judges_variance=True, unfitted=9.0,
    )  # fmt: skip
    surface, labels = (rng.uniform(0, 9, size) for _ in range(2))
    weights = {"surface": 0.5, "joint": 0.4, "jump": 20.0, "bend": 6.0, "move": 2.0, "label": 0.7, "hole": 0.3,
               "near": 0.02, "rows": 5.0, "coherent": 0.7, "noise": 0.03, "unseen": 0.0,
               "largest_surface": 1e6}  # fmt: skip
    gradients = [np.ascontiguousarray(padded(naive_detail.gradient(np.rint(image))), np.int16) for image in images]
    is_blank = rng.random(size) < 0.1
    gradients[0][:, PAD : PAD + size[1]][is_blank] = BLANK
    cues = Cues(
        surface=map_of(surface).values, labels=map_of(labels).values, gradient_left=gradients[0],
        gradient_right=gradients[1], grey=1.0, spans=found_spans(result).columns, uneven_rows=0.04,
    )  # fmt: skip
    found = Differences(sizes=np.full_like(padded(detail), np.nan, np.float32), largest=2.0)
    kernels.write_detail(
        map_of(detail), cues, DoubtWeights(**weights), rules, result, Map(values=variance, width=size[1]),
        found, covered_line(size[1], Arena(0)), doubt_line(size[1], Arena(0)), alone(),
    )  # fmt: skip

    expected = np.where(np.isnan(before), np.nan, np.clip(detail, -1, 12)).astype(np.float32)
    grey = [np.rint(image) for image in images]
    differences, strengths = naive_detail.gradient_differences(*grey, detail, is_blank)
    mismatch, precision = naive_detail.mismatch(differences, strengths, 1.0), naive_detail.precision(strengths, 1.0)
    coherence = naive_detail.coherence(differences, strengths, 1.0)
    by_texture = naive_detail.noise_over_texture(differences, strengths, 1.0)
    in_order = list(weights.values())[:11]
    doubt = naive_detail.variance(
        detail, surface, labels, precision, of_surface, mismatch, coherence, by_texture, 0.04, in_order
    )
    is_covered, is_unmatched = naive_detail.covered(expected, mismatch), naive_detail.unmatched(detail, mismatch)
    is_unmatched |= naive_detail.reaches_limits(detail, -1.0, 12.0)
    assert is_covered.any()
    assert size[1] < 20 or (is_unmatched & (mismatch < naive_detail.UNMATCHED)).any()  # steep
    assert (is_unmatched & ~is_covered).any()
    assert size[1] < 20 or not is_unmatched.all()
    if is_dense:
        expected = naive_detail.fill_covered(expected, is_covered)
        is_unmatched = is_unmatched | naive_detail.unmatched_by_surface(expected, of_surface, 0.3)
    probable = naive_surface.probability_of(doubt) >= 0.1
    assert not probable.all()
    known = ~np.isnan(expected) & probable & ~is_covered & ~is_unmatched
    kept = np.ones(size, bool) if is_dense else known  # guesses have the probability 0
    np.testing.assert_allclose(disparity, np.where(kept, expected, np.nan), atol=1e-6)
    np.testing.assert_allclose(variance, np.where(kept, doubt, np.nan), rtol=1e-4)
    np.testing.assert_allclose(probability, np.where(known, naive_surface.probability_of(doubt), 0), atol=2e-5)
    sizes = np.where(known, naive_detail.sizes(differences, 1.0), UNKNOWN)
    np.testing.assert_allclose(found.sizes[:, PAD : PAD + size[1]], sizes, rtol=1e-4, atol=1e-4)
    assert not found.sizes[:, PAD - APART : PAD].any()
    assert not found.sizes[:, PAD + size[1] : PAD + size[1] + APART].any()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_dense", [False, True], ids=["holes", "dense"])
@pytest.mark.parametrize("has_variance", [False, True], ids=["disparity", "variance"])
@pytest.mark.parametrize("size", [(20, 33), (2, 64), (1, 16), (30, 47), (9, 100)], ids=str)
def test_pixels_that_differ_beside_unknown_ones_are_unknown(size, has_variance, is_dense, threads):
    rng = np.random.default_rng(2)
    disparity = np.where(rng.random(size) < 0.4, np.nan, rng.uniform(0, 9, size)).astype(np.float32)
    sizes = rng.uniform(0, 12, size)
    expected = naive_detail.is_beside_unknown(disparity, sizes, 2.0)
    assert 0 < expected.mean() < 0.9
    probability, variance = rng.random((2, *size)).astype(np.float32)
    before = disparity.copy(), probability.copy(), variance.copy()
    sizes = padded(np.where(np.isnan(disparity), UNKNOWN, sizes)).astype(np.float32)
    differences = Differences(sizes=sizes, largest=2.0)
    result, of = Maps(disparity=disparity, probability=probability, width=size[1]), Map(values=variance, width=size[1])
    Threads(threads).run(
        lambda crew: kernels.leave_out_beside_unknown(differences, result, of, has_variance, is_dense, crew)
    )
    np.testing.assert_array_equal(disparity, np.where(expected & (not is_dense), np.nan, before[0]))
    np.testing.assert_array_equal(probability, np.where(expected, 0, before[1]))
    np.testing.assert_array_equal(variance, np.where(expected & has_variance & (not is_dense), np.nan, before[2]))


@pytest.mark.parametrize("color", [False, True], ids=["grey", "RGB"])
@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "black"])
@pytest.mark.parametrize("settings", [*LEVELS, {"label_level": 0, "refinement_rounds": 3}], ids=str)
def test_result_does_not_depend_on_the_number_of_threads(settings, hidden, color):
    left, right, _stages, alone = solved((97, 131), hidden, **settings)
    if color:
        left, right = (np.repeat(image[..., None], 3, 2) for image in (left, right))
        alone = bdis.StereoMatcher("balanced", **settings).match(left, right)
    several = bdis.StereoMatcher("balanced", threads=3, **settings).match(left, right)
    np.testing.assert_array_equal(several.disparity, alone.disparity)
    np.testing.assert_array_equal(several.probability, alone.probability)


@pytest.mark.parametrize("changes", [{}, {"label_level": 0, "refinement_rounds": 2}], ids=str)
@pytest.mark.parametrize("limits", [(7.0, 8.5), (-9.0, 8.5), (-40.0, -20.0)], ids=str)
def test_no_disparity_beyond_the_limits(limits, changes):
    left, right, _ = warped_pair(96, 128, seed=3)  # disparities from 6 to 11 px
    smallest, largest = limits
    matcher = bdis.StereoMatcher("balanced", min_disparity=smallest, max_disparity=largest, **changes)
    result = matcher.match(left, right)
    known = result.disparity[result.known]
    assert known.size > 0 or largest < 0
    assert ((known >= smallest) & (known <= largest)).all()


def test_an_edge_is_sharper_than_without_labels():
    left, right, truth = near_square()
    wrong = {}
    for label_level in (None, 1, 0):
        result = bdis.StereoMatcher("balanced", label_level=label_level).match(left, right)
        wrong[label_level] = np.mean(~(np.abs(result.disparity - truth) <= 2)[result.known])
    assert wrong[1] < 0.8 * wrong[None]
    assert wrong[0] < 0.8 * wrong[None]


def near_square():
    """A textured square 18 px before a textured wall, and the disparity of the left image."""
    far, near = (smooth_noise(160, 240, np.random.default_rng(seed)) for seed in (6, 7))
    left, right = far.copy(), np.roll(far, -6, 1)
    truth = np.full(far.shape, 6.0)
    square = np.s_[50:110, 100:160]
    left[square], truth[square] = near[square], 24
    right[50:110, 76:136] = near[square]
    return left, right, truth


def test_noise_does_not_look_like_what_one_camera_alone_sees():
    """Two thirds of the known pixels of this pair were gone: noise differs, and beside unknown pixels are more."""
    pair = render("tissue", 240, 320, seed=4, disparity_px=20, noise=15)
    known, at_most = (
        bdis.StereoMatcher(max_difference=largest).match(pair.left, pair.right).coverage for largest in (0.6, 1000.0)
    )
    assert known > 0.85 * at_most > 0.1
