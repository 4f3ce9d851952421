"""The edge: one picture in many forms, settings at their limits, and pictures with nothing in them."""

import numpy as np
import pytest

import bdis
from tests.matching.pairs import HEIGHT, WIDTH, assert_close, assert_normal, assert_same, framed, holes, rounding
from tests.scenes import smooth_noise

BAYESIAN = ["balanced", "fast", "paper", "paper-2021"]  # the presets that throw patches away; `dis` keeps all


# --- Settings at their limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patch_size", (4, 16)),
        ("overlap", (0, 0.95)),
        ("finest_level", (0, 3)),
        ("coarsest_level", (1, 10, None)),
        ("max_iterations", (1, 100)),
        ("stop_step", (0, 1)),
        ("min_disparity", (-99_999, 99_999)),
        ("max_disparity", (0.001, 99_999, None)),
        ("window_step", (0.1, 2)),
        ("sigma_r", (0.001, 1000, None)),
        ("sigma_spatial", (0.1, 1000, None)),
        ("min_valid", (0, 1)),
        ("min_support", (0, 1)),
        ("min_probability", (0, 1)),
        ("threads", (1, 9)),
    ],
)
def test_limits_are_within_range_and_work(grey, name, values):
    for value in values:
        assert_normal(bdis.StereoMatcher(**{name: value}).match(*grey), (HEIGHT, WIDTH))


# --- One picture, many forms ----------------------------------------------------------------------------------------


def every_other_column(image):
    wide = np.full((image.shape[0], 2 * image.shape[1], *image.shape[2:]), 77, image.dtype)
    wide[:, ::2] = image
    return wide[:, ::2]


def every_third_row(image):
    tall = np.full((3 * image.shape[0], *image.shape[1:]), 77, image.dtype)
    tall[::3] = image
    return tall[::3]


def cut_out(image):
    """From a larger picture: rows apart, and no pixel at an address divisible by more than its size."""
    large = np.full((image.shape[0] + 5, image.shape[1] + 13, *image.shape[2:]), 77, image.dtype)
    large[2:-3, 5:-8] = image
    return large[2:-3, 5:-8]


def read_only(image):
    image = image.copy()
    image.flags.writeable = False
    return image


FORMS = {
    "columns apart": every_other_column,
    "rows apart": every_third_row,
    "cut out": cut_out,
    "upside down": lambda image: image[::-1].copy()[::-1],
    "mirrored": lambda image: image[:, ::-1].copy()[:, ::-1],
    "turned round": lambda image: image[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda image: image.swapaxes(0, 1).copy().swapaxes(0, 1),
    "Fortran order": np.asfortranarray,
    "planes": lambda image: np.moveaxis(np.moveaxis(image, -1, 0).copy(), 0, -1),
    "channels backwards": lambda image: image[..., ::-1].copy()[..., ::-1],
    "read-only": read_only,
    "a subclass": lambda image: image.view(type("Frame", (np.ndarray,), {})),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64], ids=str)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_memory_layout_does_not_matter(matcher, colour, channels, dtype, form):
    images = [np.dstack([image, image[..., :1]]).astype(dtype) for image in colour]
    images = [image[..., 0].copy() if channels == 1 else image[..., :channels].copy() for image in images]
    others = [FORMS[form](image) for image in images]
    for image, other in zip(images, others):
        np.testing.assert_array_equal(other, image)
    expected = matcher.match(*images)
    assert expected.coverage > 0.5
    assert_same(matcher.match(*others), expected)
    assert_same(matcher.match(images[0], others[1]), expected)


def test_one_row_repeated_by_a_stride_of_zero(matcher, grey):
    left, right = (np.broadcast_to(image[40], image.shape) for image in grey)
    assert_same(matcher.match(left, right), matcher.match(left.copy(), right.copy()))


@pytest.mark.parametrize("kind", ["u2", "f4", "f8"])
@pytest.mark.parametrize("channels", [1, 3])
def test_byte_order_does_not_matter(matcher, colour, kind, channels):
    images = [image[..., 0] if channels == 1 else image for image in colour]
    little, big = ([image.astype(order + kind) for image in images] for order in "<>")
    expected = matcher.match(*little)
    assert expected.coverage > 0.5
    assert_same(matcher.match(*big), expected)
    assert_same(matcher.match(little[0], big[1]), expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32], ids=str)
def test_alpha_is_ignored(matcher, colour, dtype):
    images = [image.astype(dtype) for image in colour]
    expected = matcher.match(*images)
    rng = np.random.default_rng(4)
    for alpha in (np.zeros((HEIGHT, WIDTH)), rng.integers(0, 256, (HEIGHT, WIDTH))):
        assert_same(matcher.match(*(np.dstack([image, alpha.astype(dtype)]) for image in images)), expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64], ids=str)
def test_one_channel_is_grey(matcher, grey, dtype):
    images = [image.astype(dtype) for image in grey]
    expected = matcher.match(*images)
    assert_same(matcher.match(*(image[..., None] for image in images)), expected)
    assert_same(matcher.match(images[0][..., None], images[1]), expected)


def test_three_equal_channels_are_grey(matcher, grey):
    """Also one side in colour, the other not."""
    expected = matcher.match(*grey)
    left, right = (image[..., None].repeat(3, 2) for image in grey)
    assert_same(matcher.match(left, right), expected)
    assert_same(matcher.match(left, grey[1]), expected)
    assert_same(matcher.match(grey[0], right), expected)


SCALES = {
    "float32 0..1": lambda image: (image / 255).astype(np.float32),
    "float64 0..1": lambda image: image / 255,
    "float32 0..255": lambda image: image.astype(np.float32),
    "float64 0..255": lambda image: image.astype(np.float64),
    "uint16": lambda image: image.astype(np.uint16) * np.uint16(257),
    "float32 0..65535": lambda image: image.astype(np.float32) * 257,
    "list 0..1": lambda image: (image / 255).tolist(),
    "list 0..255": lambda image: image.astype(float).tolist(),
}


@pytest.mark.parametrize("scale", SCALES)
def test_number_type_and_scale_do_not_matter(matcher, grey, scale):
    """Grey values of a pyramid are whole sixteenths: only a sum just at a half may round the other way."""
    expected = matcher.match(*grey)
    assert_close(matcher.match(*map(SCALES[scale], grey)), expected, disparity_px=1e-3, probability=1e-3)


@pytest.mark.parametrize("scale", SCALES)
def test_number_type_and_scale_do_not_matter_in_colour(matcher, colour, scale):
    """Bytes are weighted by 77, 150 and 29 / 256, everything else by 0.299, 0.587 and 0.114."""
    expected = matcher.match(*colour)
    assert_close(matcher.match(*map(SCALES[scale], colour)), expected, **rounding(matcher))


@pytest.mark.parametrize("white", [1, 255, 65535])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
def test_white_is_within_its_scale(matcher, colour, dtype, white):
    """The weights of red, green and blue add up to 1 and not, by rounding, to the next larger scale."""
    images = [image.astype(dtype) * dtype(white / 255) for image in colour]
    for image in images:
        image[:2, :2] = white
    bytes_ = [image.copy() for image in colour]
    for image in bytes_:
        image[:2, :2] = 255
    assert_close(matcher.match(*images), matcher.match(*bytes_), **rounding(matcher))


@pytest.mark.parametrize("dark_side", [0, 1], ids=["left dark", "right dark"])
def test_the_brighter_image_tells_the_scale_of_both(grey, dark_side):
    """A picture within 0..1 is not white but nearly black if the other one goes up to 255: as in uint16."""
    shorts = [image.astype(np.uint16) * np.uint16(257) for image in grey]
    shorts[dark_side] //= 255  # up to 257, one grey level
    matcher = bdis.StereoMatcher("dis")  # keeps what it finds, so there is something to compare
    expected = matcher.match(*shorts)
    assert expected.coverage > 0.9
    assert_close(matcher.match(*(image / 257 for image in shorts)), expected, disparity_px=1e-3, probability=1e-3)


@pytest.mark.parametrize("dtype", [np.uint8, ">u2", np.float32, np.float64], ids=str)
@pytest.mark.parametrize("form", ["cut out", "mirrored", "read-only"])
def test_input_is_never_written_to(matcher, grey, dtype, form):
    """Images with hidden pixels and masks: the most that a matcher does with them."""
    images = [FORMS[form](image.astype(dtype)) for image in framed(grey, 5)]
    masks = [FORMS[form](holes()), FORMS[form](holes().astype(np.int16))]
    before = [array.tobytes() for array in (*images, *masks)]
    result = matcher.match(*images, left_mask=masks[0], right_mask=masks[1])
    assert [array.tobytes() for array in (*images, *masks)] == before
    for array in (result.disparity, result.probability):
        assert array.flags.writeable
        assert not any(np.shares_memory(array, given) for given in (*images, *masks))


# --- Pictures with nothing in them ----------------------------------------------------------------------------------


def flat(value):
    return np.full((HEIGHT, WIDTH), value, np.uint8)


def ramp(axis):
    """Grey growing evenly along one side."""
    values = np.linspace(1, 255, (HEIGHT, WIDTH)[axis]).astype(np.uint8)
    return np.broadcast_to(values[:, None] if axis == 0 else values, (HEIGHT, WIDTH))


TEXTURE = smooth_noise(HEIGHT, WIDTH, np.random.default_rng(7))
NOTHING = {
    "black": (flat(0), flat(0)),
    "nearly black": (flat(1), flat(1)),
    "grey": (flat(100), flat(100)),
    "two greys": (flat(100), flat(130)),
    "saturated": (flat(255), flat(255)),
    "left black": (flat(0), TEXTURE),
    "right black": (TEXTURE, flat(0)),
    "left flat": (flat(100), TEXTURE),
    "rows": (ramp(0), ramp(0)),
}


@pytest.mark.parametrize("case", NOTHING)
@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_nothing_is_known_without_texture(preset, case):
    """Not one patch has a horizontal gradient that both images show."""
    result = bdis.StereoMatcher(preset).match(*NOTHING[case])
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.coverage == 0


@pytest.mark.parametrize("case", ["black", "grey", "saturated", "left black"])
@pytest.mark.parametrize("scale", ["uint16", "float32 0..1"])
def test_nothing_is_known_without_texture_in_other_types(matcher, scale, case):
    result = matcher.match(*map(SCALES[scale], NOTHING[case]))
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.coverage == 0


@pytest.mark.parametrize("preset", BAYESIAN)
@pytest.mark.parametrize(
    "pair",
    [(ramp(1), ramp(1)), (ramp(1), ramp(0)), (ramp(0), ramp(1)), (ramp(1), ramp(1)[:, ::-1]), (TEXTURE, flat(100))],
    ids=["columns", "columns and rows", "rows and columns", "opposite columns", "right flat"],
)
def test_gradients_match_everywhere_and_so_nowhere(preset, pair):
    """Patches on a ramp fit equally well at any shift: none is the best."""
    result = bdis.StereoMatcher(preset).match(*pair)
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.coverage < 0.05


@pytest.mark.parametrize("preset", ["balanced", "fast", "paper"])
@pytest.mark.parametrize("kind", ["smooth", "noise"])
def test_unrelated_images_give_little_and_distrust_it(preset, kind):
    """By chance some patches fit.  0.17 to 0.30 of the pixels did (paper: under 0.1), at probabilities up to 0.29;
    pixels of a true pair have 0.9 and more.  A surface leaves 0.12 to 0.18, but is sure of 0.02 to 0.07: along the left
    border, where only small disparities are possible, patches agree by necessity.
    """
    matcher = bdis.StereoMatcher(preset)
    coverage, sure = [], [0.0]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        if kind == "smooth":
            pair = smooth_noise(HEIGHT, WIDTH, rng), smooth_noise(HEIGHT, WIDTH, rng)
        else:
            pair = rng.integers(1, 256, (2, HEIGHT, WIDTH), dtype=np.uint8)
        result = matcher.match(*pair)
        assert_normal(result, (HEIGHT, WIDTH))
        if preset == "balanced":
            sure.append((result.probability > 0.9).mean())
        else:
            assert result.probability.max() < 0.4
        coverage.append(result.coverage)
    assert np.mean(coverage) < 0.35
    assert np.mean(sure) < 0.1


def test_black_and_white_noise_is_mostly_hidden(matcher):
    """Every other pixel is black, that is unseen; hardly a pixel of level 1 has four seen parents."""
    rng = np.random.default_rng(0)
    result = matcher.match(*(rng.integers(0, 2, (2, HEIGHT, WIDTH), dtype=np.uint8) * np.uint8(255)))
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.coverage < 0.05


# --- compute(), as OpenCV has it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("min_disparity", [0, -8, 5, -3.5])
def test_compute_is_match_in_sixteenths(grey, min_disparity):
    matcher = bdis.StereoMatcher(min_disparity=min_disparity)
    left = grey[0].copy()
    left[20:40, 20:40] = 0
    result, fixed = matcher.match(left, grey[1]), matcher.compute(left, grey[1])
    unknown = (int(np.floor(min_disparity)) - 1) * 16
    assert fixed.dtype == np.int16
    assert fixed.shape == (HEIGHT, WIDTH)
    assert 0.5 < result.coverage < 1
    assert (fixed[~result.known] == unknown).all()
    assert (fixed[result.known] > unknown).all()
    assert np.abs(fixed[result.known] / 16 - result.disparity[result.known]).max() <= 1 / 32 + 1e-6


def test_compute_finds_negative_disparity():
    """A known negative disparity is not mistaken for the mark of an unknown one."""
    texture = smooth_noise(HEIGHT, WIDTH + 4, np.random.default_rng(3))
    fixed = bdis.StereoMatcher(min_disparity=-16).compute(texture[:, 4:], texture[:, :-4])
    known = fixed > -17 * 16
    assert known.mean() > 0.7
    assert abs(np.median(fixed[known]) + 4 * 16) <= 3


@pytest.mark.parametrize("min_disparity", [0, -8, 5])
def test_compute_speaks_the_language_of_opencv(grey, min_disparity):
    """Type, sign, scale and the value for unknown are those of cv2's own matchers."""
    cv2 = pytest.importorskip("cv2")
    blocks = cv2.StereoBM_create(numDisparities=32, blockSize=15)
    blocks.setMinDisparity(min_disparity)
    matcher = bdis.StereoMatcher(min_disparity=min_disparity)
    np.testing.assert_array_equal(matcher.compute(flat(90), flat(90)), blocks.compute(flat(90), flat(90)))
    theirs, ours = blocks.compute(*grey), matcher.compute(*grey)
    assert ours.dtype == theirs.dtype
    both = (theirs > (min_disparity - 1) * 16) & (ours > (min_disparity - 1) * 16)
    assert both.mean() > 0.3
    assert np.median(np.abs(ours[both] - theirs[both])) <= 4  # a quarter of a px
