"""A pair as networks take it: RGB floats, whatever the images were."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.arrays import Array
from ...matching.images import check_pair
from ..baselines.pair import GreyPair, grey_pair, white_of

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)


class RgbPair(NamedTuple):
    """A checked pair.

    Attributes
    ----------
    left, right : ndarray of float32, shape (h, w, 3)
        RGB, 0 to 1.
    grey : GreyPair
        The same for matchers that know no colours; it tells which pixels were seen.
    """

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    grey: GreyPair


def rgb_pair(left: Any, right: Any) -> RgbPair:
    """Check a pair as :meth:`bdis.StereoMatcher.match` does and make it RGB.

    Parameters
    ----------
    left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The images, at least 32x32.

    Returns
    -------
    RgbPair

    Raises
    ------
    ValueError, TypeError
        Not a rectified pair; the message says why.

    Examples
    --------
    >>> pair = rgb_pair(np.full((32, 40), 51, np.uint8), np.full((32, 40, 4), 255, np.uint8))
    >>> pair.left.shape, round(float(pair.left[0, 0, 0]), 3), float(pair.right.max())
    ((32, 40, 3), 0.2, 1.0)
    """
    grey = grey_pair(left, right)
    images = check_pair(left, right)
    white = max(white_of(image, name) for image, name in zip(images, ("left", "right")))
    return RgbPair(_rgb(images[0], white), _rgb(images[1], white), grey)


def _rgb(image: Array, white: float) -> NDArray[np.float32]:
    channels = image[..., None] if image.ndim == 2 else image
    scaled = channels[..., :3].astype(np.float32) / np.float32(white)
    return scaled if scaled.shape[2] == 3 else np.repeat(scaled, 3, 2)


def imagenet(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """An RGB image of 0 to 1 with the mean and the deviation of ImageNet's images taken out."""
    return (image - IMAGENET_MEAN) / IMAGENET_STD


def next_multiple(size: int, step: int) -> int:
    """The smallest multiple of ``step`` that is not below ``size``.

    >>> next_multiple(480, 16), next_multiple(481, 16)
    (480, 496)
    """
    return -(-size // step) * step
