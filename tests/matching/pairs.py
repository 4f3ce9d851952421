"""Pairs with holes and frames, and what holds for every result: for the tests of what a user may hand in."""

import numpy as np

HEIGHT, WIDTH = 96, 128
TOLERANT = ["balanced", "fast"]  # the presets that match patches of which only a quarter was seen, others want 3/4


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


def holes():
    """A mask with a block, a line and a single pixel hidden."""
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[30:60, 40:90] = mask[70] = mask[10, 10] = False
    return mask


def framed(images, margin):
    """The images with a black frame, as rectification leaves it."""
    images = [image.copy() for image in images]
    for image in images:
        image[:margin] = image[-margin:] = image[:, :margin] = image[:, -margin:] = 0
    return images
