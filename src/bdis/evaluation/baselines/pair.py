"""Input and output of the other matchers: 8-bit grey images in, a StereoResult out, with ``StereoMatcher``'s checks."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.arrays import Array
from ...matching.images import PixelReader, check_pair
from ...matching.result import StereoResult


class GreyPair(NamedTuple):
    """A pair as these matchers take it.

    Attributes
    ----------
    left, right : ndarray of uint8, shape (h, w)
        Grey images.
    seen : ndarray of bool, shape (h, w)
        False where the left image is exactly black: the camera did not see these pixels.
    """

    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    seen: NDArray[np.bool_]


def grey_pair(left: Any, right: Any) -> GreyPair:
    """Check a pair as :meth:`bdis.StereoMatcher.match` does and make it 8-bit grey.

    Parameters
    ----------
    left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The images, at least 32x32.

    Returns
    -------
    GreyPair

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
    # One white for both: told from each alone, the darker of two 16-bit images could be taken for one of fewer bits.
    white = max(white_of(left, "left"), white_of(right, "right"))
    grey = _grey(left, white)
    seen = left != 0 if left.ndim == 2 else grey != 0
    if left.ndim == 3 and not seen.all():  # a dark colour may round to grey 0: only all channels 0 is black
        seen[~seen] = left[..., :3][~seen].any(-1)
    return GreyPair(grey, _grey(right, white), seen)


def white_of(image: Array, name: str) -> float:
    """Brightness of white in an image, as :meth:`bdis.StereoMatcher.match` takes it.

    Raises
    ------
    ValueError
        Values that are no brightness; the message says why.

    Examples
    --------
    >>> white_of(np.full((32, 40), 4000, np.uint16), "left")
    4095.0
    """
    return PixelReader().read(image, name).white


def _grey(image: Array, white: float) -> NDArray[np.uint8]:
    if image.dtype.char == "B":
        if image.ndim == 2:
            return np.ascontiguousarray(image)
        # With the type named: NumPy 1 would compute uint8 times a small number in uint8.
        total = np.multiply(image[..., 0], 77, dtype=np.uint16)
        total += np.multiply(image[..., 1], 150, dtype=np.uint16)
        total += np.multiply(image[..., 2], 29, dtype=np.uint16)
        total += np.uint16(128)
        return (total >> 8).astype(np.uint8)
    scaled = PixelReader().read(image, "image").values * np.float32(255 / white)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def finished(disparity: NDArray[Any], pair: GreyPair, max_disparity: float) -> StereoResult:
    """The result of a matcher that reports no confidence: probability 1 where there is a disparity.

    Parameters
    ----------
    disparity : ndarray of float, shape (h, w)
        px; NaN where unknown.
    pair : GreyPair
        The pair it was computed from.
    max_disparity : float
        px.

    Returns
    -------
    StereoResult
        Unknown where the disparity is not above 0 px, exceeds ``max_disparity``, points beyond the left border of the
        right image, or where the left camera saw nothing.

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
    """Check a largest disparity in px, or None.

    Returns
    -------
    float or None

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
