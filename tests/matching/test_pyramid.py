"""Halving, gradients and validity against the oracle, at sizes that are no multiple of anything."""

import numpy as np
import pytest

import bdis
from bdis.matching import kernels
from bdis.matching.kernels.layout import PAD
from bdis.matching.kernels.pyramid import Views
from bdis.matching.memory import Arena
from bdis.matching.pyramid import Pyramid
from tests import naive
from tests.matching.records import alone, given, level_image, level_seen, padded, seen_of

SIZES = [(32, 32), (33, 32), (32, 33), (47, 61), (64, 130), (101, 97)]


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
    target = level_image(*reference.shape)
    is_black = halve(given(image), target, {16: 6, 8: 7}[scale], alone())
    out = target.pixels
    np.testing.assert_array_equal(out[:, PAD : PAD + reference.shape[1]], reference)
    assert is_black == (naive.brightness(image) == 0).any() == black
    assert_border_repeats(out, reference.shape[1])


def test_black_is_found_in_every_place():
    """The vectors overlap at the row's end and the last column is scalar: each must report a black pixel."""
    for width in (32, 33, 48, 63):
        for x in range(width):
            image = np.full((33, width, 3), 7, np.uint8)
            image[x % 33, x] = 0
            assert kernels.halve_rgb(given(image), level_image(17, (width + 1) // 2), 6, alone())


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_first_halving_of_floats(size):
    image = np.random.default_rng(1).random(size, dtype=np.float32) + np.float32(0.01)
    reference = np.floor(naive.four_parents(image).astype(float).sum(0) * 1000 / 4 + 0.5)
    target = level_image(*reference.shape)
    out = target.pixels
    assert not kernels.halve_floats(given(image), target, alone())
    assert np.abs(out[:, PAD : PAD + reference.shape[1]] - reference).max() <= 1  # a tie may round either way
    assert_border_repeats(out, reference.shape[1])
    image[-1, -1] = 0
    assert kernels.halve_floats(given(image), target, alone())


@pytest.mark.parametrize("scale", [16, 8])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("channels", "copy"), [(1, kernels.copy_grey), (3, kernels.copy_rgb), (4, kernels.copy_rgba)])
def test_level_0(channels, copy, size, scale):
    image = random_image(*size, channels, np.random.default_rng(4), black=True)
    target = level_image(*size)
    copy(given(image), target, {16: 4, 8: 5}[scale], alone())
    np.testing.assert_array_equal(target.pixels[:, PAD : PAD + size[1]], naive.level_0(image, scale))
    assert_border_repeats(target.pixels, size[1])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_level_0_of_floats(size):
    image = np.random.default_rng(5).random(size, dtype=np.float32) * np.float32(4.5)  # a tenth is brighter than white
    reference = np.minimum(np.floor(image.astype(float) * 1000 + 0.5), 4080)
    target = level_image(*size)
    kernels.copy_floats(given(image), target, alone())
    assert np.abs(target.pixels[:, PAD : PAD + size[1]] - reference).max() <= 1  # a tie may round either way
    assert target.pixels.max() == 4080
    assert_border_repeats(target.pixels, size[1])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_further_halvings_and_gradient(size):
    image = random_image(*size, 1, np.random.default_rng(2))
    finer, reference = naive.pyramid(image, 2, 16)
    level, upside_down = level_image(*finer.shape), level_image(*finer.shape)
    kernels.halve_grey(given(image), level, 6, alone())
    upside_down.pixels[...] = level.pixels[::-1]
    out = [level_image(*reference.shape) for _ in range(2)]
    kernels.halve_pair(level, upside_down, *out, alone())
    np.testing.assert_array_equal(out[0].pixels[:, PAD : PAD + reference.shape[1]], reference)
    assert_border_repeats(out[0].pixels, reference.shape[1])
    if finer.shape[0] % 2 == 0:
        np.testing.assert_array_equal(out[1].pixels[::-1], out[0].pixels)

    gradient, unused = np.zeros_like(level.pixels), padded(*finer.shape, np.uint8)
    views = Views(
        left=level.pixels,
        gradient=gradient,
        right=level.pixels,
        usable_left=unused,
        usable_right=unused,
        width=level.width,
    )
    kernels.take_gradient(views, alone())
    coarser = Views(
        left=padded(*reference.shape),
        gradient=padded(*reference.shape),
        right=padded(*reference.shape),
        usable_left=unused,
        usable_right=unused,
        width=reference.shape[1],
    )
    kernels.halve_views(level, upside_down, coarser, alone())
    np.testing.assert_array_equal(coarser.left, out[0].pixels)
    np.testing.assert_array_equal(coarser.right, out[1].pixels)
    padded_twice = np.pad(reference, ((0, 0), (1, 1)), "edge")
    twice = padded_twice[:, 2:] - padded_twice[:, :-2]
    np.testing.assert_array_equal(coarser.gradient[:, PAD : PAD + reference.shape[1]], twice)
    pair = naive.Pair.of(finer, finer)
    inside = slice(pair.pad, pair.pad + finer.shape[1])
    np.testing.assert_array_equal(gradient[:, PAD : PAD + finer.shape[1]], 2 * pair.gradient[:, inside])


@pytest.mark.parametrize("kind", ["grey", "RGB", "float32"])
@pytest.mark.parametrize("size", SIZES[3:], ids=str)
@pytest.mark.parametrize("finest", [0, 1, 2])
def test_levels_by_number(size, finest, kind):
    """Level 0 is there if it is asked for, although it is not searched; the other levels do not depend on it."""
    rng = np.random.default_rng(6)
    bytes_ = [random_image(*size, 3 if kind == "RGB" else 1, rng) for _ in range(2)]
    given_pair = tuple(image.astype(np.float32) for image in bytes_) if kind == "float32" else tuple(bytes_)
    levels = Pyramid(*size, finest, 3, range(1, 3), bdis.Settings(), Arena(0))
    mask = rng.random(size) < 0.98
    levels.read(given_pair, (mask, None))
    assert levels.run(alone())
    for side, image in enumerate(bytes_):
        expected = dict(enumerate([naive.level_0(image, 16), *naive.pyramid(image, 3, 16)]))
        assert list(levels.images[side]) == ([0] if finest == 0 else []) + [1, 2, 3]
        for number, level in levels.images[side].items():
            np.testing.assert_array_equal(level.pixels[:, PAD : PAD + level.width], expected[number])
            assert_border_repeats(level.pixels, level.width)
    for seen, reference in zip(levels.seen[0], [mask, *naive.seen_pyramid(mask, 3)], strict=True):
        np.testing.assert_array_equal(seen.mask[:, PAD : PAD + seen.width], reference)
        assert_border_repeats(seen.mask, seen.width)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("channels", "mark"), [(1, kernels.mark_seen_grey), (3, kernels.mark_seen_rgb), (4, kernels.mark_seen_rgba)]
)
def test_seen_pixels(size, channels, mark):
    rng = np.random.default_rng(3)
    image = random_image(*size, channels, rng)
    image[rng.random(size) < 0.02] = 0
    mask = rng.random(size) < 0.98
    reference = mask & (naive.brightness(image) > 0)
    seen = seen_of(mask)
    mark(given(image), seen)
    np.testing.assert_array_equal(seen.mask[:, PAD : PAD + size[1]], reference)
    assert_border_repeats(seen.mask, size[1])

    from_floats = seen_of(mask)
    kernels.mark_seen_floats(given(naive.brightness(image).astype(np.float32)), from_floats)
    np.testing.assert_array_equal(from_floats.mask, seen.mask)

    first, second = naive.seen_pyramid(reference, 2)
    level, coarser = level_seen(*first.shape), level_seen(*second.shape)
    kernels.halve_seen(seen, level)
    kernels.halve_seen(level, coarser)
    np.testing.assert_array_equal(level.mask[:, PAD : PAD + first.shape[1]], first)
    np.testing.assert_array_equal(coarser.mask[:, PAD : PAD + second.shape[1]], second)

    pair = naive.Pair.of(first.astype(float), first.astype(float), first, first)
    inside = slice(pair.pad, pair.pad + first.shape[1])
    unused = padded(*first.shape)
    views = Views(
        left=unused,
        gradient=unused,
        right=unused,
        usable_left=np.zeros_like(level.mask),
        usable_right=np.zeros_like(level.mask),
        width=level.width,
    )
    kernels.mark_usable(level, level, views)
    for out, reference in ((views.usable_left, pair.usable_left), (views.usable_right, pair.usable_right)):
        np.testing.assert_array_equal(out[:, PAD : PAD + first.shape[1]], reference[:, inside])
