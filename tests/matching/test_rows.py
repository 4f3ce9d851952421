"""Rows that differ: the kernels against their oracle, and what they are for."""

import numpy as np
import pytest

import bdis
from bdis.matching import kernels
from bdis.matching.kernels.layout import PAD, image_stride, map_stride
from bdis.matching.kernels.pyramid import Image
from bdis.matching.kernels.rows import RowShift, RowSums, SeenAround
from bdis.synthetic.renderer import render
from bdis.vector.crew import Threads
from tests import naive, naive_rows
from tests.matching.oracle import assert_equals_the_oracle
from tests.matching.records import alone, level_image, level_seen, map_of
from tests.scenes import warped_pair

SIZES = [(96, 128), (97, 131), (64, 150), (33, 47), (50, 200)]
WHITE = 4080


def level_of(values):
    """An image of a level, its padding repeated."""
    image = level_image(*values.shape)
    width = values.shape[1]
    image.pixels[:] = np.pad(values, ((0, 0), (PAD, image_stride(width) - PAD - width)), "edge")
    return image


def seen_of(mask):
    seen = level_seen(*mask.shape)
    width = mask.shape[1]
    seen.mask[:] = np.pad(mask, ((0, 0), (PAD, image_stride(width) - PAD - width)), "edge")
    return seen


def inside(image):
    """The pixels without their padding."""
    return (image.pixels if isinstance(image, Image) else image.mask)[:, PAD : PAD + image.width]


def blotches(height, width, seed=0, smoothness=2):
    """Texture over a few px, 0 to WHITE."""
    values = np.random.default_rng(seed).normal(size=(height, width))
    for _ in range(smoothness):
        for axis in (0, 1):
            values = (np.roll(values, 1, axis) + 2 * values + np.roll(values, -1, axis)) / 4
    return np.rint(np.clip(2000 + 1500 * values / np.abs(values).max(), 0, WHITE)).astype(np.int16)


def shift_of(offset, tilt, width):
    return RowShift(offset=offset, tilt=tilt, centre=width / 2 - 0.5, white=WHITE)


def columns(shift, width):
    """The shift of each column."""
    return shift.offset + shift.tilt * (np.arange(width) - shift.centre)


SHIFTS = [(0.0, 0.0), (1.0, 0.0), (-3.0, 0.0), (0.37, 0.0), (-1.6, 0.004), (0.2, -0.05), (60.0, 0.01), (-500.0, 0.0)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("offset", "tilt"), SHIFTS)
def test_shifted_rows(size, offset, tilt):
    values = blotches(*size)
    shift, target = shift_of(offset, tilt, size[1]), level_image(*size)
    kernels.shift_rows(level_of(values), target, shift, alone())
    reference = naive_rows.shift_rows(values.astype(float), columns(shift, size[1]))
    reference = np.clip(np.floor(reference + 0.5), 0, WHITE)
    error = np.abs(inside(target) - reference)
    assert error.max() <= 1  # float32 against float64, where a value lies at a half
    assert (error > 0).mean() < 0.01
    assert (target.pixels[:, :PAD] == target.pixels[:, PAD : PAD + 1]).all()
    last = PAD + size[1] - 1
    assert (target.pixels[:, last:] == target.pixels[:, last : last + 1]).all()


def test_whole_rows_are_copied():
    values = blotches(40, 50)
    target = level_image(40, 50)
    kernels.shift_rows(level_of(values), target, shift_of(2.0, 0.0, 50), alone())
    np.testing.assert_array_equal(inside(target)[:-2], values[2:])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("offset", "tilt"), SHIFTS)
def test_shifted_mask(size, offset, tilt):
    mask = (np.random.default_rng(1).random(size) < 0.9).astype(np.uint8)
    # Beside the columns where a shift is a whole number, which float32 and float64 place differently.
    shift, target = shift_of(offset + 1e-3, tilt, size[1]), level_seen(*size)
    kernels.shift_seen(seen_of(mask), target, shift, alone())
    reference = naive_rows.shift_seen(mask > 0, columns(shift, size[1]))
    np.testing.assert_array_equal(inside(target) > 0, reference)


def random_disparity(size, seed=2):
    """Steps, noise and holes; some lead outside."""
    rng = np.random.default_rng(seed)
    disparity = rng.uniform(-2, 6, size) + 4 * (np.arange(size[1]) > size[1] / 2)
    disparity[rng.random(size) < 0.3] = np.nan
    return disparity.astype(np.float32).astype(float)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_unseen_pixels_are_left_out(size):
    rng = np.random.default_rng(4)
    masks = [(rng.random(size) < 0.99).astype(np.uint8) for _ in range(2)]
    disparity = random_disparity(size)
    around = SeenAround(
        found=np.full((size[0], map_stride(size[1])), 7, np.float32), left=level_seen(*size).mask,
        right=level_seen(*size).mask,
    )  # fmt: skip
    kernels.leave_out_unseen(map_of(disparity), *map(seen_of, masks), around, alone())
    reference = naive_rows.leave_out_unseen(disparity, *(mask > 0 for mask in masks))
    assert 0.05 < np.isfinite(reference).mean() < 0.7
    np.testing.assert_array_equal(around.found[:, : size[1]], reference)


def test_a_slope_of_brightness_does_not_move_rows():
    """Smoke that moves otherwise than the wall leaves one in every window."""
    height, width = 96, 128
    left = blotches(height, width)
    slope = np.add.outer(40 * (np.arange(height) % 4), 25 * (np.arange(width) % 8)).astype(np.int16)
    found = map_of(np.zeros((height, width)))
    missing = []
    for is_levelled in (0, 1):
        rows = row_sums(height, 0.04, is_levelled)
        kernels.measure_rows(level_of(left), level_of(left - slope), found, 0, 1, rows, alone())
        weight, _, _, weighted = rows.sums[:, :4].sum(0)
        missing.append(abs(weighted / weight))
    assert missing[1] < 0.2 * missing[0]


def row_sums(height, spread, is_levelled=1):
    return RowSums(
        sums=np.full((-(-height // 4), 8), np.nan, np.float32), spread=spread, grey=16.0, is_levelled=is_levelled
    )


@pytest.mark.parametrize("is_levelled", [0, 1])
@pytest.mark.parametrize(("halvings", "every"), [(0, 1), (1, 1), (1, 2)])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_measured_rows(size, halvings, every, is_levelled):
    height, width = size
    left, right = blotches(height, width + 9)[:, 9:], blotches(height, width + 9)[:, :width]
    noise = np.random.default_rng(5).normal(0, 30, (2, *size))
    left, right = (np.rint(image + more).astype(np.int16) for image, more in zip((left, right), noise))
    coarse = random_disparity((-(-height // 2**halvings), -(-width // 2**halvings)))
    coarse = np.where(np.isnan(coarse), np.nan, 0.1 * coarse - 9 / 2**halvings).astype(np.float32).astype(float)
    rows = row_sums(height, 0.04, is_levelled)
    kernels.measure_rows(level_of(left), level_of(right), map_of(coarse), halvings, every, rows, alone())
    disparity = 2**halvings * coarse.repeat(2**halvings, 0).repeat(2**halvings, 1)[:height, :width]
    reference = naive_rows.normal_equations(
        left.astype(float), right.astype(float), disparity, 16.0, 0.04, every, is_levelled=bool(is_levelled)
    )
    assert reference[0] > 10
    assert size[1] < 60 or reference[5] > 0
    np.testing.assert_allclose(rows.sums[:, :7].sum(0), reference, rtol=1e-3, atol=1e-3 * reference[0])


def test_the_sums_do_not_depend_on_the_threads():
    left, right = level_of(blotches(61, 90)), level_of(blotches(61, 90, seed=1))
    found, sums, images = map_of(random_disparity((61, 90))), [], []
    for count in (1, 3):
        rows, target = row_sums(61, 0.01), level_image(61, 90)

        def work(crew, rows=rows, target=target):
            kernels.shift_rows(right, target, shift_of(0.7, 0.01, 90), crew)
            kernels.measure_rows(left, target, found, 0, 1, rows, crew)

        Threads(count).run(work)
        sums.append(rows.sums[:, :7])
        images.append(target.pixels)
    np.testing.assert_array_equal(*sums)
    np.testing.assert_array_equal(*images)


# --- In a match -------------------------------------------------------------------------------------------------------

SCENES = [
    ("tissue", {"seed": 21, "noise": 1.5, "disparity_px": 30}),
    ("colon", {"seed": 22, "noise": 1.5, "disparity_px": 30}),
    ("instruments", {"seed": 23, "noise": 1.5, "disparity_px": 40}),
]


def lowered(image, offset, tilt=0.0):
    """A uint8 image whose content lies ``offset`` px lower at the centre; smooth, unlike what the matcher does."""
    height, width = image.shape[:2]
    pad = 16
    shift = offset + tilt * (np.arange(width) - (width - 1) / 2)
    padded = np.pad(image.astype(float), ((pad, pad), (0, 0), (0, 0)), "edge")
    waves = np.fft.rfftfreq(height + 2 * pad)[:, None]
    spectrum = np.fft.rfft(padded, axis=0) * np.exp(-2j * np.pi * waves * shift)[:, :, None]
    moved = np.fft.irfft(spectrum, height + 2 * pad, axis=0)[pad:-pad]
    return np.clip(np.rint(moved), 1, 255).astype(np.uint8)


def median_error(result, pair):
    return float(np.nanmedian(np.abs(result.disparity - pair.disparity)))


@pytest.fixture(scope="module", params=SCENES, ids=[scene for scene, _ in SCENES])
def scene(request):
    """A rendered pair, and the median error of its match without a correction."""
    name, options = request.param
    pair = render(name, 480, 640, **options)
    plain = bdis.StereoMatcher(align_rows="off").match(pair.left, pair.right)
    return pair, plain


def test_rows_that_agree_are_left_alone(scene):
    pair, plain = scene
    result = bdis.StereoMatcher().match(pair.left, pair.right)
    assert (result.row_offset, result.row_tilt) == (0.0, 0.0)
    np.testing.assert_array_equal(result.disparity, plain.disparity)


def test_rows_that_agree_were_said_to_change_no_bit():
    """How uneven they are is part of variance and probability."""
    pair = render("colon", 240, 320, seed=2, disparity_px=30, noise=1.5)
    result, plain = (
        bdis.StereoMatcher(variance=True, align_rows=rows).match(pair.left, pair.right) for rows in ("auto", "off")
    )
    assert (result.row_offset, result.row_tilt) == (0.0, 0.0)
    both = result.known & plain.known
    np.testing.assert_array_equal(result.disparity[both], plain.disparity[both])
    assert np.nanmean(result.variance) > np.nanmean(plain.variance)


@pytest.mark.parametrize(
    ("offset", "tilt", "most"),
    [(1.0, 0.0, 1.1), (-1.0, 0.0, 1.1), (2.0, 0.0, 1.2), (-2.0, 0.0, 1.2), (0.5, 0.004, 1.2)],
)
def test_rows_that_differ_hardly_cost_accuracy(scene, offset, tilt, most):
    pair, plain = scene
    right = lowered(pair.right, offset, tilt)
    result = bdis.StereoMatcher().match(pair.left, right)
    assert abs(result.row_offset - offset) < 0.08
    assert abs(result.row_tilt - tilt) < 4e-4
    error = median_error(result, pair)
    assert error < most * median_error(plain, pair)
    uncorrected = bdis.StereoMatcher(align_rows="off").match(pair.left, right)
    assert (uncorrected.row_offset, uncorrected.row_tilt) == (0.0, 0.0)
    assert error < 0.6 * median_error(uncorrected, pair)
    assert result.coverage > plain.coverage - 0.01


@pytest.mark.parametrize("offset", [3.0, -3.0])
def test_rows_that_are_far_off_cost_no_pixels_for_good(offset):
    """Coarse levels that were searched with such rows had lost 4 % of this one, which finer ones did not find again."""
    name, options = SCENES[2]
    pair = render(name, 480, 640, **options)
    rights = pair.right, lowered(pair.right, offset)
    plain, result = (bdis.StereoMatcher().match(pair.left, right) for right in rights)
    assert abs(result.row_offset - offset) < 0.05
    assert result.coverage > plain.coverage - 0.003
    assert median_error(result, pair) < 1.1 * median_error(plain, pair)


@pytest.mark.parametrize(("seed", "smoke"), [(881, 0.3), (882, 0.3), (885, 0.3), (886, 0.1)])
def test_smoke_does_not_look_like_rows_that_differ(seed, smoke):
    """Its slopes are not where the wall is; rows seemed to be 0.3 px lower, and 0.7 px at a border."""
    pair = render("colon", seed=seed, disparity_px=30, smoke=smoke)
    result = bdis.StereoMatcher().match(pair.left, pair.right)
    assert (result.row_offset, result.row_tilt) == (0.0, 0.0)
    moved = bdis.StereoMatcher().match(pair.left, lowered(pair.right, 0.5))
    assert abs(moved.row_offset - 0.5) < 0.12


def test_a_known_offset_is_corrected_without_an_estimate(scene):
    pair, plain = scene
    right = lowered(pair.right, -2.0)
    for preset in ("balanced", "fast"):
        matcher = bdis.StereoMatcher(preset, align_rows="off", row_offset=-2.0)
        result = matcher.match(pair.left, right)
        assert (result.row_offset, result.row_tilt) == (-2.0, 0.0)
        aligned = plain if preset == "balanced" else bdis.StereoMatcher(preset).match(pair.left, pair.right)
        assert median_error(result, pair) < 1.05 * median_error(aligned, pair)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_black_border_does_not_hold_the_rows(threads):
    """It lies where the camera puts it, and is by far the strongest edge in the picture."""
    pair = render("tissue", 240, 320, seed=24, noise=1.0, disparity_px=20)
    left, right = pair.left.copy(), lowered(pair.right, 1.5)
    y, x = np.indices((240, 320))
    outside = (y - 119.5) ** 2 + (0.8 * (x - 159.5)) ** 2 > 112**2
    left[outside], right[outside] = 0, 0
    result = bdis.StereoMatcher(threads=threads).match(left, right)
    assert abs(result.row_offset - 1.5) < 0.1
    whole = bdis.StereoMatcher(align_rows="off").match(pair.left, pair.right)
    assert median_error(result, pair) < 1.3 * median_error(whole, pair)


def test_nothing_is_found_where_there_is_nothing():
    flat = np.full((120, 160), 100, np.uint8)
    noise = np.random.default_rng(0).integers(1, 255, (2, 120, 160), dtype=np.uint8)
    for pair in ((flat, flat), noise, (flat, noise[0])):
        assert bdis.StereoMatcher().match(*pair).row_offset == 0


def test_a_video_keeps_the_offset_and_smooths_it():
    pair = render("tissue", 240, 320, seed=25, disparity_px=20)
    frames = [pair.with_noise(3.0, noise_seed=k) for k in range(12)]
    frames = [(frame.left, lowered(frame.right, 0.8)) for frame in frames]
    matcher, result, found = bdis.StereoMatcher(), None, []
    for frame in frames:
        result = matcher.match(*frame, previous=result)
        found.append(result.row_offset)
    alone_found = [matcher.match(*frame).row_offset for frame in frames]
    assert abs(np.mean(found[4:]) - 0.8) < 0.08
    assert np.std(np.diff(found[2:])) < 0.5 * np.std(np.diff(alone_found[2:]))
    back = matcher.match(pair.left, pair.right, previous=result)  # the rig was calibrated anew
    assert back.row_offset == 0


def test_the_next_frame_depends_on_the_result_given_and_nothing_else():
    pair = render("tissue", 240, 320, seed=26, noise=1.0, disparity_px=20)
    right = lowered(pair.right, 1.0, 0.002)
    first = bdis.StereoMatcher().match(pair.left, right)
    results = []
    for threads in (1, 3):
        matcher = bdis.StereoMatcher(threads=threads)
        matcher.match(pair.right, pair.left)
        results.append(matcher.match(pair.left, right, previous=first))
    np.testing.assert_array_equal(results[0].disparity, results[1].disparity)
    assert results[0].row_offset == results[1].row_offset != 0


@pytest.mark.parametrize(
    "changes", [{}, {"finest_level": 2, "patch_size": 6}, {"finest_level": 0}, {"start": "zero"}, {"row_offset": 0.7}]
)
@pytest.mark.parametrize("black", [False, True], ids=["seen", "borders"])
def test_a_match_with_rows_that_differ_equals_the_oracle(changes, black):
    left, right, _ = warped_pair(146, 190, seed=27)
    right = lowered(right[..., None], 1.2, 0.004)[..., 0]
    if black:
        left, right = left.copy(), right.copy()
        left[:, :11] = 0
        right[8:20, 30:40] = 0
    matcher = bdis.StereoMatcher("balanced", **{"label_level": None, **changes})
    result = matcher.match(left, right)
    assert result.row_offset > 0.9
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings), matcher.settings)
    after = matcher.match(left, right, previous=result)
    assert_equals_the_oracle(after, naive.match(left, right, matcher.settings, result), matcher.settings)
