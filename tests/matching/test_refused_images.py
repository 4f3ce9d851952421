"""Images that are refused, and in which words; how many bits a pixel has."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render
from tests.matching.pairs import HEIGHT, WIDTH


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
