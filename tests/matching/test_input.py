"""The edge: what a user may hand in, what is refused and in which words, and pictures with nothing in them."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render
from tests.scenes import smooth_noise, warped_pair

HEIGHT, WIDTH = 96, 128
BAYESIAN = ["balanced", "fast", "paper", "paper-2021"]  # the presets that throw patches away; `dis` keeps all
TOLERANT = ["balanced", "fast"]  # the presets that match patches of which only a quarter was seen, others want 3/4


@pytest.fixture(scope="module", params=[1, 0], ids=["level 1", "level 0"])
def matcher(request):
    """The default, and one that searches the image itself, which is read by kernels of its own."""
    return bdis.StereoMatcher(finest_level=request.param)


@pytest.fixture(scope="module")
def grey():
    """A grey pair, uint8 and read-only: no test may change it for the next."""
    return sealed(*warped_pair(HEIGHT, WIDTH, seed=1)[:2])


@pytest.fixture(scope="module")
def colour():
    """An RGB pair whose channels differ."""
    channels = [warped_pair(HEIGHT, WIDTH, seed=seed)[:2] for seed in (1, 2, 3)]
    return sealed(*(np.stack(side, axis=2) for side in zip(*channels)))


def sealed(*images):
    for image in images:
        image.flags.writeable = False
    return images


def assert_same(result, expected):
    """The same bits, unknown pixels included."""
    np.testing.assert_array_equal(result.disparity, expected.disparity)
    np.testing.assert_array_equal(result.probability, expected.probability)


def assert_close(result, expected, disparity_px, probability, differing=0.0):
    """The same pixels known, up to a share of them, and their values within the tolerances."""
    assert np.mean(result.known != expected.known) <= differing
    both = result.known & expected.known
    np.testing.assert_allclose(result.disparity[both], expected.disparity[both], rtol=0, atol=disparity_px)
    np.testing.assert_allclose(result.probability[both], expected.probability[both], rtol=0, atol=probability)


def rounding(matcher):
    """What grey values that are rounded differently change."""
    if matcher.settings.label_level is None:
        return {"disparity_px": 0.02, "probability": 0.01}
    # Labels compare single pixels, and so does what judges them.
    return {"disparity_px": 0.3, "probability": 0.03, "differing": 2e-4}


def assert_normal(result, shape):
    """What holds for every result, however little there was to match."""
    for array in (result.disparity, result.probability):
        assert isinstance(array, np.ndarray)
        assert array.dtype == np.float32
        assert array.shape == shape
    assert not np.isinf(result.disparity).any()
    assert ((result.probability >= 0) & (result.probability <= 1)).all()  # False for NaN
    np.testing.assert_array_equal(result.probability == 0, np.isnan(result.disparity))


# --- Images that are refused ----------------------------------------------------------------------------------------


def zeros(*shape, dtype=np.uint8):
    return np.zeros(shape, dtype)


def test_a_failed_imread_gets_its_own_message(matcher):
    with pytest.raises(TypeError, match=r"^right is None; cv2.imread returns that for a file that is missing or no"):
        matcher.match(zeros(HEIGHT, WIDTH), None)


def test_masked_arrays_were_matched_with_what_was_masked(matcher):
    good = zeros(HEIGHT, WIDTH)
    with pytest.raises(TypeError, match=r"^left is a masked array; pass its data, and as left_mask"):
        matcher.match(np.ma.masked_equal(good, 3), good)
    with pytest.raises(TypeError, match=r"^right_mask is a masked array"):
        matcher.match(good, good, right_mask=np.ma.masked_equal(good, 3))


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("kind", [np.uint16, np.float32])
def test_10_and_12_bit_data_was_read_as_16_bit(bits, kind):
    """The same picture gives the same disparities in any number of bits; read as 16 bit they moved by 0.4 px."""
    pair = render("tissue", 96, 128, seed=1)
    matcher = bdis.StereoMatcher()
    expected = matcher.match(*(image.astype(np.float32) for image in (pair.left, pair.right)))
    scaled = [np.rint(image * (((1 << bits) - 1) / 255)).astype(kind) for image in (pair.left, pair.right)]
    scaled[1][5, 5] = (1 << bits) - 1  # a highlight
    result = matcher.match(*scaled)
    assert result.bits == bits
    difference = np.abs(result.disparity - expected.disparity)
    assert np.nanmedian(difference) < 0.002
    told = bdis.StereoMatcher(bits=16).match(*scaled)  # as before
    assert told.bits == 16
    if bits <= 12:
        assert np.nanmedian(np.abs(told.disparity - expected.disparity)) > np.nanmedian(difference)


def test_pixels_beyond_the_given_bits_are_refused(matcher):
    image = np.full((HEIGHT, WIDTH), 1024, np.uint16)
    with pytest.raises(ValueError, match=r"^left goes up to 1024; expected at most 1023, as bits=10"):
        bdis.StereoMatcher("fast", bits=10).match(image, image)
    assert matcher.match(image, image).bits == 12


@pytest.mark.parametrize("swapped", [False, True], ids=["left", "right"])
@pytest.mark.parametrize(
    ("image", "came"),
    [
        (zeros(WIDTH), r"\(128,\)"),
        (zeros(1, 1, HEIGHT, WIDTH), r"\(1, 1, 96, 128\)"),
        (zeros(HEIGHT, WIDTH, 2), r"\(96, 128, 2\)"),
        (zeros(HEIGHT, WIDTH, 5), r"\(96, 128, 5\)"),
        (zeros(HEIGHT, WIDTH, 0), r"\(96, 128, 0\)"),
        (zeros(3, HEIGHT, WIDTH), r"\(3, 96, 128\)"),  # channels first
        (zeros(0), r"\(0,\)"),
        (7, r"\(\)"),
        ("left.png", r"\(\)"),
    ],
    ids=["1d", "4d", "2 channels", "5 channels", "0 channels", "channels first", "empty 1d", "7", "a name"],
)
def test_wrong_shape_is_refused(matcher, image, came, swapped):
    good = zeros(HEIGHT, WIDTH)
    pair = (good, image) if swapped else (image, good)
    name = "right" if swapped else "left"
    with pytest.raises(
        ValueError, match=rf"^{name} has shape {came}; expected \(height, width\) or \(height, width, 3\)"
    ):
        matcher.match(*pair)


@pytest.mark.parametrize(
    ("shape", "came"),
    [((0, 0), "0x0"), ((0, 64), "64x0"), ((64, 0), "0x64"), ((31, 64), "64x31"), ((64, 31), "31x64"), ((1, 1), "1x1")],
)
@pytest.mark.parametrize("channels", [(), (1,), (3,)], ids=str)
def test_empty_or_too_small_is_refused(matcher, shape, came, channels):
    image = zeros(*shape, *channels)
    with pytest.raises(ValueError, match=f"^left is {came}; expected at least 32x32 pixels"):
        matcher.match(image, image)


@pytest.mark.parametrize(("shape", "came"), [((95, 128), "128x95"), ((96, 127), "127x96"), ((128, 96), "96x128")])
def test_different_sizes_are_refused(matcher, shape, came):
    with pytest.raises(ValueError, match=f"left is 128x96 but right is {came}; a rectified pair has one size"):
        matcher.match(zeros(HEIGHT, WIDTH), zeros(*shape, 3))


@pytest.mark.parametrize(
    ("dtype", "came"),
    [
        (bool, "bool"),
        (np.int8, "int8"),
        (np.int32, "int32"),
        (np.int64, "int64"),
        (np.uint32, "uint32"),
        (np.float16, "float16"),
        (np.longdouble, "float128|longdouble|float96"),
        (complex, "complex128"),
        (object, "object"),
        ("U4", "<U4"),
        ("S4", r"\|S4"),
        ("M8[s]", r"datetime64\[s\]"),
        ([("grey", "u1")], r"\[\('grey', 'u1'\)\]"),
    ],
    ids=str,
)
def test_other_kinds_of_pixel_are_refused(matcher, dtype, came):
    image = zeros(HEIGHT, WIDTH, dtype=dtype)
    with pytest.raises(
        TypeError, match=f"left has pixels of type ({came}); expected uint8, uint16, float32 or float64"
    ):
        matcher.match(image, image)


@pytest.mark.parametrize(
    ("left", "right"),
    [(np.uint8, np.uint16), (np.uint16, np.float32), (np.float32, np.float64), (np.float64, np.uint8)],
)
def test_left_and_right_of_different_kinds_are_refused(matcher, left, right):
    came = f"left is {np.dtype(left)} but right is {np.dtype(right)}; a pair has one kind of pixel"
    with pytest.raises(TypeError, match=came):
        matcher.match(zeros(HEIGHT, WIDTH, dtype=left), zeros(HEIGHT, WIDTH, dtype=right))


def test_a_list_of_whole_numbers_is_refused_by_what_numpy_makes_of_it(matcher, grey):
    with pytest.raises(TypeError, match="left has pixels of type int64; expected uint8"):
        matcher.match(grey[0].tolist(), grey[1].tolist())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"], ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "right holds NaN or infinite values; replace them by 0"),
        (np.inf, "right holds NaN or infinite values; replace them by 0"),
        (-np.inf, "right holds NaN or infinite values; replace them by 0"),
        (-0.25, r"right holds negative values \(down to -0.25\); expected brightness from 0 up"),
        (70000.0, r"right goes up to 70000; expected float images within 0..1, 0..255 or 0..65535"),
    ],
    ids=["NaN", "inf", "-inf", "negative", "too bright"],
)
def test_impossible_brightness_is_refused(matcher, value, message, dtype, channels):
    """One bad pixel is enough."""
    left = np.full((HEIGHT, WIDTH, channels), 0.5, dtype)
    right = left.copy()
    right[-1, -1] = value
    with pytest.raises(ValueError, match=message):
        matcher.match(left, right)


@pytest.mark.parametrize("value", [1e39, 1e300, -1e300])
def test_brightness_beyond_float32_is_refused(matcher, value):
    """With an error about the picture, not with NumPy's warning about a cast."""
    image = np.full((HEIGHT, WIDTH), 0.5)
    image[3, 4] = value
    with pytest.raises(ValueError, match=r"left (holds|goes up to).*(expected|replace)"):
        matcher.match(image, image)


@pytest.mark.parametrize(
    ("pixel", "message"),
    [
        ((-0.5, 1.0, 1.0), "left holds negative values"),
        ((0.0, 0.0, 70000.0), "left goes up to"),
        ((np.inf, -np.inf, 0.5), "left holds NaN or infinite values"),
        ((0.5, 0.5, np.nan), "left holds NaN or infinite values"),
    ],
    ids=["negative red", "blue too bright", "inf - inf", "NaN in blue"],
)
def test_impossible_channel_is_refused(matcher, pixel, message):
    """Also where the weighted sum of the channels would look harmless."""
    image = np.full((HEIGHT, WIDTH, 3), 0.5)
    image[3, 4] = pixel
    with pytest.raises(ValueError, match=message):
        matcher.match(image, image)


# --- Masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["left_mask", "right_mask"])
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones((3, 4), bool), ValueError, r"has shape \(3, 4\); expected that of its image, \(96, 128\)"),
        (np.ones((WIDTH, HEIGHT), bool), ValueError, r"has shape \(128, 96\); expected that of its image, \(96, 128\)"),
        (np.ones((HEIGHT, WIDTH, 1), bool), ValueError, r"has shape \(96, 128, 1\); expected that of its image"),
        (True, ValueError, r"has shape \(\); expected that of its image"),
        ("mask.png", ValueError, r"has shape \(\); expected that of its image"),
        (np.ones((HEIGHT, WIDTH)), TypeError, "is float64; expected bool or integers, nonzero = seen"),
        (np.ones((HEIGHT, WIDTH), complex), TypeError, "is complex128; expected bool or integers"),
        (np.ones((HEIGHT, WIDTH), object), TypeError, "is object; expected bool or integers"),
        (np.full((HEIGHT, WIDTH), "yes"), TypeError, "is <U3; expected bool or integers"),
    ],
    ids=["size", "transposed", "3d", "True", "a name", "float", "complex", "object", "text"],
)
def test_wrong_mask_is_refused(matcher, grey, name, mask, error, message):
    with pytest.raises(error, match=f"^{name} {message}"):
        matcher.match(*grey, **{name: mask})


def test_a_refused_pair_leaves_the_matcher_as_it_was(grey):
    matcher = bdis.StereoMatcher()
    expected = matcher.match(*grey)
    bad = np.full((HEIGHT, WIDTH), np.nan)
    for arguments, masks in [((bad, bad), {}), (grey, {"right_mask": bad}), ((grey[0], grey[1][1:]), {})]:
        with pytest.raises((ValueError, TypeError)):
            matcher.match(*arguments, **masks)
        assert_same(matcher.match(*grey), expected)


def test_masks_that_hide_nothing_change_nothing(matcher, grey):
    expected = matcher.match(*grey)
    everything = np.ones((HEIGHT, WIDTH), bool)
    assert_same(matcher.match(*grey, left_mask=everything), expected)
    assert_same(matcher.match(*grey, right_mask=everything.astype(np.int32)), expected)
    assert_same(matcher.match(*grey, left_mask=everything.tolist(), right_mask=everything), expected)


def holes():
    """A mask with a block, a line and a single pixel hidden."""
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[30:60, 40:90] = mask[70] = mask[10, 10] = False
    return mask


@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_nothing_is_predicted_where_the_left_mask_hides(preset, grey):
    mask = holes()
    result = bdis.StereoMatcher(preset).match(*grey, left_mask=mask)
    assert_normal(result, (HEIGHT, WIDTH))
    assert not result.known[~mask].any()
    if preset in TOLERANT:
        assert result.known[mask].mean() > 0.8


def test_masks_of_all_kinds_mean_the_same(matcher, grey):
    """Nonzero is seen, whatever the number, its type and the order of the bytes."""
    mask = holes()
    expected = matcher.match(*grey, left_mask=mask, right_mask=mask)
    for other in (
        mask.astype(np.uint8) * 255,
        -mask.astype(np.int64),
        mask.astype(">u2") * 256,  # a low byte of 0 is not "hidden"
        np.asfortranarray(mask),
        mask[::-1, ::-1].copy()[::-1, ::-1],
        mask.tolist(),
    ):
        assert_same(matcher.match(*grey, left_mask=other, right_mask=other), expected)


def test_pixels_hidden_in_the_right_image_are_not_matched(matcher, grey):
    """Of a pair of equal images, the half with nothing to match stays unknown, up to half a coarse patch."""
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[:, 64:] = False
    result = matcher.match(grey[0], grey[0], right_mask=mask)
    assert_normal(result, (HEIGHT, WIDTH))
    assert result.known[:, :56].mean() > 0.995  # a corner may be lost
    assert not result.known[:, 72:].any()


def framed(images, margin):
    """The images with a black frame, as rectification leaves it."""
    images = [image.copy() for image in images]
    for image in images:
        image[:margin] = image[-margin:] = image[:, :margin] = image[:, -margin:] = 0
    return images


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32], ids=str)
@pytest.mark.parametrize("preset", list(bdis.PRESETS))
def test_black_border_gets_nothing(preset, dtype, grey):
    left, right = (image.astype(dtype) for image in framed(grey, 9))
    result = bdis.StereoMatcher(preset).match(left, right)
    assert_normal(result, (HEIGHT, WIDTH))
    assert not result.known[left == 0].any()
    if preset in TOLERANT:
        assert result.known[left > 0].mean() > 0.8


def test_black_counts_as_masked(matcher, grey):
    left, right = framed(grey, 9)
    expected = matcher.match(left, right)
    assert_same(matcher.match(left, right, left_mask=left > 0, right_mask=right > 0), expected)


def test_a_colour_pixel_is_black_only_if_all_channels_are(matcher, colour):
    """Pure blue is dark, not hidden; alpha says nothing about it."""
    left = np.dstack([colour[0], np.zeros((HEIGHT, WIDTH), np.uint8)])
    left[40:44, 60:64] = (0, 0, 1, 0)
    left[40:44, 80:84] = (0, 0, 0, 255)
    right = left.copy()
    known = matcher.match(left, right).known
    assert known[40:44, 60:64].all()
    assert not known[40:44, 80:84].any()


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
