"""What all other matchers need: 8-bit grey images in, a StereoResult out, with the checks of ``StereoMatcher``."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...matching.images import Image, PixelReader, check_pair
from ...matching.result import StereoResult


class GreyPair(NamedTuple):
    """A pair as these matchers take it."""

    left: NDArray[np.uint8]  # (h, w)
    right: NDArray[np.uint8]  # (h, w)
    seen: NDArray[np.bool_]  # (h, w), False where the left image is exactly black: never seen by the camera


def grey_pair(left: Any, right: Any) -> GreyPair:
    """Check a pair as :meth:`bdis.StereoMatcher.match` does and make it 8-bit grey.

    Parameters
    ----------
    left, right : (h, w), (h, w, 3) RGB or (h, w, 4) RGBA; uint8, uint16, float32 or float64, at least 32x32

    Raises
    ------
    ValueError, TypeError
        Not a rectified pair; the message says why.

    Examples
    --------
    >>> pair = grey_pair(np.full((32, 40, 3), 65535, np.uint16), np.zeros((32, 40), np.uint16))
    >>> int(pair.left[0, 0]), pair.left.dtype.name, pair.right.shape, bool(pair.seen.all())
    (255, 'uint8', (32, 40), True)
    """
    left, right = check_pair(left, right)
    grey = _grey(left, "left")
    seen = left != 0 if left.ndim == 2 else grey != 0
    if left.ndim == 3 and not seen.all():  # dark is not black: look at the channels where the rounded grey is 0
        seen[~seen] = left[..., :3][~seen].any(-1)
    return GreyPair(grey, _grey(right, "right"), seen)


def _grey(image: Image, name: str) -> NDArray[np.uint8]:
    if image.dtype.char == "B":
        if image.ndim == 2:
            return np.ascontiguousarray(image)
        total = image[..., 0] * np.uint16(77)
        total += image[..., 1] * np.uint16(150)
        total += image[..., 2] * np.uint16(29)
        total += np.uint16(128)
        return (total >> 8).astype(np.uint8)
    given = PixelReader().read(image, name)
    scaled = given.values * np.float32(255 / given.white)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def finished(disparity: NDArray[Any], pair: GreyPair, max_disparity: float) -> StereoResult:
    """The result of a matcher that has no confidence of its own: probability 1 where there is a disparity.

    Unknown is what lies outside of 0 (infinitely far) to ``max_disparity`` px, what would match a pixel left of the
    right image, and what the left camera never saw.

    Examples
    --------
    >>> pair = GreyPair(*(np.ones((1, 4), np.uint8),) * 2, np.array([[True, True, True, False]]))
    >>> finished(np.array([[1.0, 1.0, 9.0, 1.0]]), pair, 8).disparity
    array([[nan,  1., nan, nan]], dtype=float32)
    """
    out = disparity.astype(np.float32)
    x = np.arange(out.shape[1], dtype=np.float32)
    with np.errstate(invalid="ignore"):
        known = (out > 0) & (out <= np.minimum(x, np.float32(max_disparity))) & pair.seen
    out[~known] = np.nan
    return StereoResult(out, known.astype(np.float32))


def check_max_disparity(given: float | None) -> float | None:
    """``given`` if a matcher can be asked for it.

    Raises
    ------
    TypeError
        Not a number.
    ValueError
        Not above 0 and below 1e5 px.

    Examples
    --------
    >>> check_max_disparity(64)
    64.0
    """
    if given is None:
        return None
    if not isinstance(given, numbers.Real) or isinstance(given, bool):
        raise TypeError(f"max_disparity must be a number or None, but it is {given!r}")
    if not 0 < given < 1e5:
        raise ValueError(f"max_disparity must be None or above 0 and below 1e5 px, but it is {given:g}")
    return float(given)
