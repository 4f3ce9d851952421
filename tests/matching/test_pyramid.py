"""Halving, gradients and validity against the oracle, at sizes that are no multiple of anything."""

import numpy as np
import pytest

from bdis.matching import kernels
from bdis.matching.kernels.layout import PAD, row_stride
from bdis.matching.kernels.pyramid import gradient as compute_gradient
from bdis.matching.kernels.pyramid import halve_shorts
from tests import naive

SIZES = [(32, 32), (33, 32), (32, 33), (47, 61), (64, 130), (101, 97)]


def padded(height, width, dtype=np.int16):
    return np.zeros((height, row_stride(width)), dtype)


def random_image(height, width, channels, rng, black=False):
    shape = (height, width) if channels == 1 else (height, width, channels)
    image = rng.integers(1, 256, shape, dtype=np.uint8)
    if black:
        image[rng.integers(height), rng.integers(width)] = 0
    return image


def assert_border_repeats(level, width):
    np.testing.assert_array_equal(level[:, :PAD], np.repeat(level[:, PAD : PAD + 1], PAD, 1))
    right = level[:, PAD + width :]
    np.testing.assert_array_equal(right, np.repeat(level[:, PAD + width - 1 : PAD + width], right.shape[1], 1))


@pytest.mark.parametrize("black", [False, True])
@pytest.mark.parametrize("scale", [16, 8])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("channels", "halve"), [(1, kernels.halve_grey), (3, kernels.halve_rgb), (4, kernels.halve_rgba)]
)
def test_first_halving(channels, halve, size, scale, black):
    image = random_image(*size, channels, np.random.default_rng(0), black)
    (reference,) = naive.pyramid(image, 1, scale)
    out = padded(*reference.shape)
    is_black = halve(image.reshape(size[0], -1), {16: 6, 8: 7}[scale], out, 0, len(out))
    np.testing.assert_array_equal(out[:, PAD : PAD + reference.shape[1]], reference)
    assert is_black == (naive.brightness(image) == 0).any() == black
    assert_border_repeats(out, reference.shape[1])


def test_black_is_found_in_every_place():
    """The vectors overlap at the row's end and the last column is scalar: each must report a black pixel."""
    for width in (32, 33, 48, 63):
        for x in range(width):
            image = np.full((33, width, 3), 7, np.uint8)
            image[x % 33, x] = 0
            assert kernels.halve_rgb(image.reshape(33, -1), 6, padded(17, (width + 1) // 2), 0, 17)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_first_halving_of_floats(size):
    image = np.random.default_rng(1).random(size, dtype=np.float32) + np.float32(0.01)
    reference = np.floor(naive.four_parents(image).astype(float).sum(0) * 1000 / 4 + 0.5)
    out = padded(*reference.shape)
    assert not kernels.halve_floats(image, 1000.0, 4080, out, 0, len(out))
    assert np.abs(out[:, PAD : PAD + reference.shape[1]] - reference).max() <= 1  # a tie may round either way
    assert_border_repeats(out, reference.shape[1])
    image[-1, -1] = 0
    assert kernels.halve_floats(image, 1000.0, 4080, out, 0, len(out))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_further_halvings_and_gradient(size):
    image = random_image(*size, 1, np.random.default_rng(2))
    finer, reference = naive.pyramid(image, 2, 16)
    level = padded(*finer.shape)
    kernels.halve_grey(image, 6, level, 0, len(level))
    out = padded(*reference.shape)
    halve_shorts(level, finer.shape[1], out, 0, len(out))
    np.testing.assert_array_equal(out[:, PAD : PAD + reference.shape[1]], reference)
    assert_border_repeats(out, reference.shape[1])

    gradient = np.zeros_like(level)
    compute_gradient(level, gradient, 0, len(level))
    pair = naive.Pair.of(finer, finer)
    inside = slice(pair.pad, pair.pad + finer.shape[1])
    np.testing.assert_array_equal(gradient[:, PAD : PAD + finer.shape[1]], 2 * pair.gradient[:, inside])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("channels", "mark"), [(1, kernels.mark_seen_grey), (3, kernels.mark_seen_rgb), (4, kernels.mark_seen_rgba)]
)
def test_seen_pixels(size, channels, mark):
    rng = np.random.default_rng(3)
    image = random_image(*size, channels, rng)
    image[rng.random(size) < 0.02] = 0
    mask = rng.random(size) < 0.98
    seen = mask.astype(np.uint8)
    mark(image.reshape(size[0], -1), seen)
    np.testing.assert_array_equal(seen, mask & (naive.brightness(image) > 0))

    floats = naive.brightness(image).astype(np.float32)
    from_floats = mask.astype(np.uint8)
    kernels.mark_seen_floats(floats, from_floats)
    np.testing.assert_array_equal(from_floats, seen)

    first, second = naive.seen_pyramid(seen.astype(bool), 2)
    level, coarser = padded(*first.shape, np.uint8), padded(*second.shape, np.uint8)
    kernels.halve_seen(seen, 0, size[1], level)
    kernels.halve_seen(level, PAD, first.shape[1], coarser)
    np.testing.assert_array_equal(level[:, PAD : PAD + first.shape[1]], first)
    np.testing.assert_array_equal(coarser[:, PAD : PAD + second.shape[1]], second)

    pair = naive.Pair.of(first.astype(float), first.astype(float), first, first)
    inside = slice(pair.pad, pair.pad + first.shape[1])
    for both_sides, reference in ((True, pair.usable_left), (False, pair.usable_right)):
        out = np.zeros_like(level)
        kernels.usable(level, both_sides, out)
        np.testing.assert_array_equal(out[:, PAD : PAD + first.shape[1]], reference[:, inside])
