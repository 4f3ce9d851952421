"""What must hold for any picture: known shifts are found, results mean what they say and depend on nothing else.

Numbers beside a tolerance are the worst seen over 400 random pictures.
"""

import contextlib
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bdis
from bdis.synthetic import render

GREY_LOW, GREY_HIGH = 45, 210  # of `texture`: room for a change of brightness

few = settings(deadline=None, max_examples=20, derandomize=True, database=None)
sides = st.integers(64, 160)
seeds = st.integers(0, 2**32 - 1)
shifts = st.integers(1, 8)


def texture(height, width, seed):
    """Sum of three smooth random fields, uint8 from GREY_LOW to GREY_HIGH: something to match on every level."""
    rng = np.random.default_rng(seed)
    frequency2 = np.fft.fftfreq(height)[:, None] ** 2 + np.fft.rfftfreq(width) ** 2
    total = np.zeros((height, width))
    for sigma in (1.0, 2.5, 6.0):
        spectrum = np.fft.rfft2(rng.standard_normal((height, width)))
        field = np.fft.irfft2(spectrum * np.exp(-2 * (np.pi * sigma) ** 2 * frequency2), s=(height, width))
        total += field / field.std()
    total -= total.min()
    return np.rint(GREY_LOW + (GREY_HIGH - GREY_LOW) * total / total.max()).astype(np.uint8)


def shifted_pair(height, width, shift, seed):
    """Two views of one texture whose disparity is ``shift`` (either sign) everywhere."""
    wide = texture(height, width + abs(shift), seed)
    views = wide[:, :width], wide[:, abs(shift) :]
    return views if shift >= 0 else views[::-1]


def with_holes(pair, seed):
    """The pair with black borders and blocks, as after rectification."""
    rng = np.random.default_rng(seed)
    pair = [image.copy() for image in pair]
    for image in pair:
        image[:, : rng.integers(1, 9)] = 0
        for _ in range(rng.integers(1, 4)):
            y, x = (rng.integers(0, side) for side in image.shape)
            image[y : y + rng.integers(1, 25), x : x + rng.integers(1, 25)] = 0
    return pair


def assert_same(result, expected):
    """The same bits, unknown pixels included."""
    np.testing.assert_array_equal(result.disparity, expected.disparity)
    np.testing.assert_array_equal(result.probability, expected.probability)


# --- Known shifts ---------------------------------------------------------------------------------------------------


@few
@given(height=sides, width=sides, seed=seeds, preset=st.sampled_from(list(bdis.PRESETS)))
def test_equal_images_have_no_disparity(height, width, seed, preset):
    """Exactly 0 at every pixel: the search starts there and finds nothing to improve."""
    image = texture(height, width, seed)
    result = bdis.StereoMatcher(preset).match(image, image)
    assert result.coverage > 0.99
    assert np.nanmax(np.abs(result.disparity)) < 1e-3


@few
@given(height=sides, width=sides, shift=shifts, seed=seeds, preset=st.sampled_from(["balanced", "fast", "paper"]))
@example(height=89, width=67, shift=2, seed=195, preset="balanced")  # half a pixel of the coarsest level
@example(height=98, width=108, shift=4, seed=221, preset="balanced")
def test_a_shift_is_found(height, width, shift, seed, preset):
    result = bdis.StereoMatcher(preset).match(*shifted_pair(height, width, shift, seed))
    assert result.coverage > 0.75  # 0.85
    error = np.abs(result.disparity[result.known] - shift)
    assert np.median(error) < 0.05  # 0.02
    assert np.mean(error < 0.25) > 0.7  # 0.81; wrong are pixels the right camera did not see


@few
@given(height=sides, width=sides, shift=shifts, seed=seeds)
def test_a_negative_shift_is_found_if_allowed(height, width, shift, seed):
    pair = shifted_pair(height, width, -shift, seed)
    result = bdis.StereoMatcher(min_disparity=-12, max_disparity=4).match(*pair)
    assert result.coverage > 0.65  # 0.79
    error = np.abs(result.disparity[result.known] + shift)
    assert np.median(error) < 0.05  # 0.03
    assert np.mean(error < 0.25) > 0.75  # 0.87
    blind = bdis.StereoMatcher().match(*pair)
    assert not (blind.disparity < 0).any()


@few
@given(height=sides, width=sides, shift=st.integers(1, 5), seed=seeds)
@example(height=89, width=67, shift=2, seed=195)
@example(height=98, width=108, shift=4, seed=221)
@example(height=90, width=153, shift=4, seed=328)
def test_newton_loses_no_pixels(height, width, shift, seed):
    """Dividing a step by its slope goes to the places of many plain steps, and not round and round."""
    pair = shifted_pair(height, width, shift, seed)
    plain = bdis.StereoMatcher(newton=False, max_iterations=24).match(*pair)
    newton = bdis.StereoMatcher(newton=True).match(*pair)
    assert newton.coverage > plain.coverage - 0.05
    both = plain.known & newton.known
    assert np.median(np.abs(plain.disparity - newton.disparity)[both]) < 0.01


@few
@given(
    height=sides, width=sides, shift=st.integers(0, 8), seed=seeds, offset=st.integers(-44, 45), on_left=st.booleans()
)
def test_brightness_of_one_image_does_not_matter(height, width, shift, seed, offset, on_left):
    """Patches are compared without their means.  Worst: 5e-6 px, 1e-6 in probability, the same pixels.

    The refinement also compares grey values, and loses that where they differ: it is left out.
    """
    pair = shifted_pair(height, width, shift, seed)
    brighter = [image + np.uint8(offset % 256) if side != on_left else image for side, image in enumerate(pair)]
    matcher = bdis.StereoMatcher(refinement_rounds=0)
    expected, result = matcher.match(*pair), matcher.match(*brighter)
    np.testing.assert_array_equal(result.known, expected.known)
    np.testing.assert_allclose(result.disparity, expected.disparity, rtol=0, atol=1e-4)
    np.testing.assert_allclose(result.probability, expected.probability, rtol=0, atol=1e-4)


@few
@given(height=st.integers(96, 160), width=st.integers(96, 160), shift=st.integers(0, 5), seed=seeds)
def test_upside_down_is_the_same_upside_down(height, width, shift, seed):
    """But for the grid of patches, which begins at the top, and an odd last row."""
    pair = shifted_pair(height, width, shift, seed)
    matcher = bdis.StereoMatcher()
    upright, flipped = matcher.match(*pair), matcher.match(*(image[::-1] for image in pair))
    known = flipped.known[::-1]
    assert np.mean(known != upright.known) < 0.1  # 0.04
    difference = np.abs(flipped.disparity[::-1] - upright.disparity)[known & upright.known]
    assert np.median(difference) < 0.01  # 0.004
    assert np.mean(difference > 0.25) < 0.06  # 0.03


# --- What a result means --------------------------------------------------------------------------------------------

any_settings = st.fixed_dictionaries(
    {},
    optional={
        "patch_size": st.sampled_from([4, 6, 8, 10, 12, 14, 16]),
        "overlap": st.sampled_from([0, 0.4, 0.55, 0.75, 0.95]),
        "slanted_overlap": st.sampled_from([0, 0.6, 0.95]),
        "sides": st.booleans(),
        "refinement_slopes": st.booleans(),
        "highlights": st.booleans(),
        "finest_level": st.sampled_from([0, 1, 2]),
        "coarsest_level": st.sampled_from([None, 2, 3, 10]),
        "max_iterations": st.sampled_from([1, 6, 100]),
        "newton": st.booleans(),
        "stop_step": st.sampled_from([0, 0.01, 1]),
        "fusion": st.sampled_from(["bayes", "residual"]),
        "window_step": st.sampled_from([0.1, 0.5, 1, 1.3, 2]),
        "sigma_r": st.sampled_from([None, 0.001, 8, 1000]),
        "sigma_spatial": st.sampled_from([None, 0.1, 1, 1.25, 4, 1000]),
        "propagate": st.booleans(),
        "level_weights": st.sampled_from(["1/n", "2^n", "equal"]),
        "min_valid": st.sampled_from([0, 0.25, 0.75, 1]),
        "min_support": st.sampled_from([0, 0.22, 1]),
        "min_probability": st.sampled_from([0, 0.05, 0.9]),
        "segment_filter": st.booleans(),
    },
)
pictures = st.sampled_from(["shifted", "equal", "unrelated", "noise"])


def picture_pair(kind, height, width, seed):
    if kind == "noise":
        return list(np.random.default_rng(seed).integers(1, 256, (2, height, width), dtype=np.uint8))
    if kind == "unrelated":
        return [texture(height, width, seed), texture(height, width, seed + 1)]
    return shifted_pair(height, width, 0 if kind == "equal" else 6, seed)


@settings(few, max_examples=100)
@given(
    height=sides,
    width=sides,
    seed=seeds,
    kind=pictures,
    holes=st.booleans(),
    lowest=st.sampled_from([0, -8.5, -20, 3]),
    extent=st.sampled_from([None, 0.5, 12, 40]),
    changes=any_settings,
)
def test_results_mean_what_they_say(height, width, seed, kind, holes, lowest, extent, changes):
    """Probability from 0 to 1 and 0 just where unknown; disparity within its limits; nothing where nothing was seen."""
    left, right = picture_pair(kind, height, width, seed)
    if holes:
        left, right = with_holes((left, right), seed)
    highest = None if extent is None else lowest + extent
    matcher = bdis.StereoMatcher(min_disparity=lowest, max_disparity=highest, **changes)
    result = matcher.match(left, right)
    for array in (result.disparity, result.probability):
        assert array.dtype == np.float32
        assert array.shape == (height, width)
    assert result.probability.min() >= 0  # False for NaN
    assert result.probability.max() <= 1
    np.testing.assert_array_equal(result.probability == 0, np.isnan(result.disparity))
    np.testing.assert_array_equal(result.known, ~np.isnan(result.disparity))
    assert not result.known[left == 0].any()
    found = result.disparity[result.known]
    assert (found >= lowest - 1e-3).all()
    assert (found <= (width if highest is None else highest) + 1e-3).all()
    if matcher.settings.fusion == "bayes":
        assert (result.probability[result.known] >= 0.99 * matcher.settings.min_probability).all()


@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_a_perfect_match_is_not_more_than_certain(preset):
    """Rounding of weighted means must not carry a probability beyond 1."""
    matcher = bdis.StereoMatcher(preset)
    for seed in range(10):
        image = texture(96, 128, seed)
        assert matcher.match(image, image).probability.max() <= 1


@pytest.mark.parametrize("sigma_spatial", [0.75, 1, 1.25, 1.5])
def test_a_narrow_spatial_weight_leaves_a_weighted_mean(sigma_spatial):
    """Far from a patch's centre its weight is 1e-16 and its square no float32; the mean of disparities still is one."""
    changes = {"patch_size": 16, "sigma_spatial": sigma_spatial, "overlap": 0, "min_probability": 0, "min_support": 0}
    matcher = bdis.StereoMatcher(min_disparity=3, **changes)
    for seed in range(5):
        result = matcher.match(*shifted_pair(96, 128, 8, seed))
        np.testing.assert_array_equal(result.probability == 0, np.isnan(result.disparity))
        assert (result.disparity[result.known] > 3 - 1e-3).all()
        assert result.known.any()


@settings(few, max_examples=60)
@given(height=st.integers(32, 110), width=st.integers(32, 110), preset=st.sampled_from(list(bdis.PRESETS)))
@example(height=32, width=32, preset="balanced")
@example(height=33, width=47, preset="paper")
@example(height=101, width=37, preset="fast")
@example(height=32, width=401, preset="balanced")
@example(height=401, width=32, preset="dis")
def test_any_size_works(height, width, preset):
    """Odd, prime, just large enough: every pixel gets its 0."""
    image = texture(height, width, seed=1000 * height + width)
    result = bdis.StereoMatcher(preset).match(image, image)
    assert result.disparity.shape == result.probability.shape == (height, width)
    assert (np.abs(result.disparity) < 1e-3).all()
    unrelated = bdis.StereoMatcher(preset).match(image, texture(height, width, seed=0))
    assert unrelated.disparity.shape == unrelated.probability.shape == (height, width)


@few
@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20), elements=st.sampled_from([1.5, np.nan])
    )
)
def test_known_and_coverage_count_the_numbers(disparity):
    result = bdis.StereoResult(disparity, np.zeros_like(disparity))
    assert result.known.dtype == bool
    assert result.known.shape == disparity.shape
    np.testing.assert_array_equal(result.known, disparity == 1.5)
    assert isinstance(result.coverage, float)
    assert result.coverage == np.count_nonzero(disparity == 1.5) / disparity.size


def test_a_result_holds_what_it_was_given():
    disparity = np.array([[0, -3, np.nan], [1e-30, np.nan, 7]], np.float32)  # 0 and negative are known as well
    probability = np.array([[0.5, 1, 0], [0.1, 0, 0.2]], np.float32)
    result = bdis.StereoResult(disparity, probability)
    assert result.disparity is disparity
    assert result.probability is probability
    assert result.variance is None
    assert result.known.tolist() == [[True, True, False], [True, False, True]]
    assert result.coverage == pytest.approx(4 / 6)
    assert bdis.StereoResult(disparity[:, 2:], probability[:, 2:]).coverage == 0.5
    with pytest.raises(FrozenInstanceError):
        result.disparity = probability


# --- On what a result depends ---------------------------------------------------------------------------------------

designs = st.sampled_from(
    [
        {"preset": "balanced"},
        {"preset": "fast"},
        {"preset": "paper"},
        {"preset": "dis"},
        {"preset": "fast", "patch_size": 4, "overlap": 0.5, "window_step": 2.0},
        {"preset": "fast", "patch_size": 16, "overlap": 0.5},
        {"preset": "balanced", "finest_level": 2, "min_disparity": -8.0},
        {"preset": "fast", "finest_level": 0},
        {"preset": "accurate", "finest_level": 0},
    ]
)
# Levels whose width is a multiple of 16 have no spare columns between the image and the end of its vectors.
widths = st.one_of(sides, st.sampled_from([64, 128]))


def random_pair(height, width, seed, holes):
    pair = shifted_pair(height, width, seed % 6, seed)
    return with_holes(pair, seed) if holes else pair


def hole_low_in_the_right_image():
    """A pair whose widths are multiples of 16 on every level, with a hole that the last rows of patches see."""
    left, right = shifted_pair(128, 128, 1, seed=0)
    right = right.copy()
    right[-20:, 30:50] = 0
    return left, right


@settings(few, max_examples=40)
@given(height=sides, width=widths, seed=seeds, holes=st.booleans(), design=designs)
def test_repeated_calls_give_the_same_bits(height, width, seed, holes, design):
    """Also after another pair of the same size: nothing of an earlier frame is left to be read."""
    pair = random_pair(height, width, seed, holes)
    matcher = bdis.StereoMatcher(**design)
    first = matcher.match(*pair)
    assert_same(matcher.match(*pair), first)
    matcher.match(*with_holes(random_pair(height, width, seed + 1, True), seed + 2))
    assert_same(matcher.match(*pair), first)
    matcher.match(*pair, left_mask=pair[0] > 120, right_mask=pair[1] > 120)
    assert_same(matcher.match(*pair), first)


@pytest.mark.parametrize("patch_size", [4, 6, 8, 10, 16])
def test_the_second_frame_equals_the_first(patch_size):
    matcher = bdis.StereoMatcher("fast", patch_size=patch_size)
    pair = hole_low_in_the_right_image()
    first = matcher.match(*pair)
    assert_same(matcher.match(*pair), first)


@few
@given(height=sides, width=widths, seed=seeds, holes=st.booleans(), design=designs)
def test_threads_do_not_matter(height, width, seed, holes, design):
    pair = random_pair(height, width, seed, holes)
    expected = bdis.StereoMatcher(**design).match(*pair)
    for threads in (1, 2, 3):
        matcher = bdis.StereoMatcher(**design, threads=threads)
        for _ in range(2):
            assert_same(matcher.match(*pair), expected)


def test_certainty_at_the_end_of_a_span_does_not_depend_on_the_threads():
    """It is read 8 px beyond what is known, and the map was refined 4 px beyond: there were left-overs of a thread."""
    scene = render("tissue", 65, 129, seed=2)
    one, two = (
        bdis.StereoMatcher(start="zero", patch_size=4, overlap=0.0, threads=threads).match(scene.left, scene.right)
        for threads in (1, 2)
    )
    assert_same(one, two)


def test_more_threads_than_rows_do_not_matter():
    pair = shifted_pair(40, 90, 2, seed=5)
    assert_same(bdis.StereoMatcher(threads=64).match(*pair), bdis.StereoMatcher().match(*pair))


@few
@given(height=sides, width=widths, seed=seeds, holes=st.booleans(), design=designs)
def test_sizes_matched_before_do_not_matter(height, width, seed, holes, design):
    pair = random_pair(height, width, seed, holes)
    expected = bdis.StereoMatcher(**design).match(*pair)
    matcher = bdis.StereoMatcher(**design)
    for other_height, other_width in ((200, 230), (64, 64), (width, height), (height + 1, width)):
        matcher.match(*random_pair(other_height, other_width, seed + 1, True))
        assert_same(matcher.match(*pair), expected)


@few
@given(height=sides, width=sides, seed=seeds, holes=st.booleans())
def test_kinds_of_image_matched_before_do_not_matter(height, width, seed, holes):
    """Buffers for one kind of pixel are not read for another."""
    pair = random_pair(height, width, seed, holes)
    other = random_pair(height, width, seed + 1, not holes)
    matcher = bdis.StereoMatcher()
    expected = matcher.match(*pair)
    for kind in (np.uint16, np.float32, np.float64):
        matcher.match(*(image[..., None].repeat(3, 2).astype(kind) for image in other))
        matcher.match(*(image[:, ::-1].astype(kind) for image in other))
        assert_same(matcher.match(*pair), expected)


def test_two_matchers_at_once_do_not_disturb_each_other():
    """In Python threads that really run at the same time: kernels release the GIL."""
    pairs = [random_pair(150, 128 + 33 * k, seed=k + 1, holes=bool(k)) for k in range(2)]
    expected = [bdis.StereoMatcher().match(*pair) for pair in pairs]
    together = threading.Barrier(2)

    def match_often(k):
        matcher = bdis.StereoMatcher(threads=1 + k)
        results = []
        for _ in range(40):
            together.wait(timeout=60)
            results.append(matcher.match(*pairs[k]))
        return results

    with ThreadPoolExecutor(2) as pool:
        for k, results in enumerate(pool.map(match_often, range(2))):
            for result in results:
                assert_same(result, expected[k])


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda matcher: pickle.loads(pickle.dumps(matcher))], ids=["deepcopy", "pickle"]
)
def test_a_copy_works_on_its_own_memory(duplicate):
    """Kernels get addresses; those of another matcher's arrays would be wrong, and dangling once it is gone.

    Refusing to be copied (TypeError) is as good.
    """
    matcher = bdis.StereoMatcher()  # stays alive: what goes wrong here shall not crash the tests
    first, second = shifted_pair(96, 128, 3, seed=1), shifted_pair(96, 128, 6, seed=2)
    expected = matcher.match(*first), bdis.StereoMatcher().match(*second)
    with contextlib.suppress(TypeError):
        assert_same(duplicate(matcher).match(*second), expected[1])
    assert_same(matcher.match(*first), expected[0])


@few
@given(height=sides, width=sides, seed=seeds, threads=st.sampled_from([1, 2]))
def test_a_result_is_not_overwritten_by_the_next_call(height, width, seed, threads):
    matcher = bdis.StereoMatcher(threads=threads)
    first = matcher.match(*random_pair(height, width, seed, False))
    kept = bdis.StereoResult(first.disparity.copy(), first.probability.copy())
    second = matcher.match(*random_pair(height, width, seed + 1, True))
    matcher.compute(*random_pair(height, width, seed + 2, False))
    assert_same(first, kept)
    for array in (second.disparity, second.probability):
        assert not np.shares_memory(array, first.disparity)
        assert not np.shares_memory(array, first.probability)
    assert not np.shares_memory(first.disparity, first.probability)


@few
@given(height=sides, width=sides, seed=seeds)
def test_writing_to_a_result_does_not_harm_the_matcher(height, width, seed):
    """A result belongs to its user."""
    pair = random_pair(height, width, seed, False)
    matcher = bdis.StereoMatcher()
    first = matcher.match(*pair)
    expected = bdis.StereoResult(first.disparity.copy(), first.probability.copy())
    first.disparity.fill(-1)
    first.probability.fill(np.nan)
    assert_same(matcher.match(*pair), expected)
