"""Check a user's images at the edge and hand the kernels something they can read."""

from typing import Any, NamedTuple

import numpy as np

from ..common.arrays import Array, size_text

MIN_SIDE_PX = 32

_BYTE = np.dtype(np.uint8)
TOLD_BITS = (8, 10, 12, 14, 16)  # of the pixels of 16-bit images
_SUPPORTED = "BHfd"  # NumPy's letters for uint8, uint16, float32 and float64, in any byte order
LUMA = (0.299, 0.587, 0.114)


class Pixels(NamedTuple):
    """An image the kernels can read: uint8 (h, w * channels), or float32 (h, w) with channels 0."""

    values: Array
    channels: int
    white: float  # brightness of white


class PixelReader:
    """Turns images of one size into :class:`Pixels` ones; keeps its buffers between frames."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def read(self, image: Array, name: str, bits: int | None = None) -> Pixels:
        """``image`` as checked by :func:`check_image`, with nothing allocated after the first frame.

        ``bits`` are those of 16-bit pixels, if they need not be told from the brightest one.
        """
        if image.dtype.char == "B":
            channels = 1 if image.ndim == 2 else image.shape[2]
            return Pixels(self._rows(image, name), channels, 255.0)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, in words
            grey, low, high = self._grey(image, name)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"{name} holds NaN or infinite values; replace them by 0 (= not seen) first")
        if low < 0:
            raise ValueError(f"{name} holds negative values (down to {low:g}); expected brightness from 0 up")
        return Pixels(grey, 0, full_scale(high, name, is_float=image.dtype.kind == "f", bits=bits))

    def _buffer(self, key: str, shape: tuple[int, ...], dtype: Any) -> Array:
        held = self._buffers.get(key)
        if held is None or held.shape != shape or held.dtype != dtype:
            held = self._buffers[key] = np.zeros(shape, dtype)
        return held

    def _rows(self, image: Array, name: str) -> Array:
        """A uint8 image as (h, w * channels) with contiguous rows, copied only if it must be."""
        if not image.flags.c_contiguous and not (image[0].flags.c_contiguous and image.strides[0] > 0):
            copy = self._buffer(f"{name} bytes", image.shape, np.uint8)
            np.copyto(copy, image)
            image = copy
        return image if image.ndim == 2 else image.reshape(len(image), -1)

    def _grey(self, image: Array, name: str) -> tuple[Array, float, float]:
        """Brightness as float32 (h, w), and the lowest and highest value in any channel."""
        grey = self._buffer(f"{name} grey", image.shape[:2], np.float32)
        if image.ndim == 2:
            np.copyto(grey, image, casting="unsafe")
            return grey, float(grey.min()), float(grey.max())
        part = self._buffer("channel", image.shape[:2], np.float32)
        grey.fill(0)
        lows, highs = [], []
        for channel, weight in enumerate(LUMA):
            np.copyto(part, image[..., channel], casting="unsafe")
            lows.append(part.min())
            highs.append(part.max())
            part *= np.float32(weight)
            grey += part
        return grey, float(np.min(lows)), float(np.max(highs))


def full_scale(high: float, name: str, *, is_float: bool, bits: int | None = None) -> float:
    """Brightness of white in an image of 16-bit integers or floats, told from its brightest pixel.

    Cameras with 10, 12 or 14 bits use the low bits of 16.  Floats may be within 0..1 or 0..255 as well; resampling
    overshoots a little, so up to half as bright again as white counts as white there.

    Parameters
    ----------
    high : float
        The brightest pixel, in any channel.
    name : str
        Of the image, for messages.
    is_float : bool
        Whether pixels are floats.
    bits : int, optional
        Bits in use, if they are known.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        A brighter pixel than these bits, or 16 of them, can hold.

    Examples
    --------
    >>> full_scale(4000.0, "left", is_float=False), full_scale(1.02, "left", is_float=True)
    (4095.0, 1.0)
    """
    if is_float and high <= 1.5:
        return 1.0
    if is_float and bits is None and high <= 382.5:
        return 255.0
    held = next((each for each in TOLD_BITS if high < 1 << each), None) if bits is None else bits
    if held is None or not high < 1 << held:
        expected = (
            "float images within 0..1, 0..255 or 0..65535"
            if bits is None
            else f"at most {(1 << bits) - 1}, as bits={bits}"
        )
        raise ValueError(f"{name} goes up to {high:g}; expected {expected}")
    return float((1 << held) - 1)


def check_pair(left: Any, right: Any, *, bgr: bool = False) -> tuple[Array, Array]:
    """The two images as arrays of one size, RGB if they have colours, or an error that says what is wrong with them."""
    if is_plain(left) and is_plain(right) and left.shape == right.shape:
        return left, right
    left, right = check_image(left, "left", bgr=bgr), check_image(right, "right", bgr=bgr)
    if left.shape[:2] != right.shape[:2]:
        raise ValueError(
            f"left is {size_text(left.shape)} but right is {size_text(right.shape)}; a rectified pair has one size"
        )
    if left.dtype.char != right.dtype.char:
        raise TypeError(f"left is {left.dtype} but right is {right.dtype}; a pair has one kind of pixel")
    return left, right


def is_plain(image: Any) -> bool:
    """Whether an image is grey and of uint8, and kernels can read it as it is.

    Most are, and with cold caches it takes 30 us to ask everything that may be otherwise, a twentieth of a match.

    Examples
    --------
    >>> both = np.zeros((48, 128), np.uint8)
    >>> is_plain(both[:, 64:]), is_plain(both[:, ::2])
    (True, False)
    """
    if type(image) is not np.ndarray or image.dtype is not _BYTE or image.ndim != 2:
        return False
    (height, width), (row_bytes, pixel_bytes) = image.shape, image.strides
    return height >= MIN_SIDE_PX and width >= MIN_SIDE_PX and row_bytes >= width and pixel_bytes == 1


def check_image(given: Any, name: str, *, bgr: bool = False) -> Array:
    """``given`` as an array (h, w), (h, w, 3) or (h, w, 4) of a supported kind, RGB if it is ``bgr``."""
    image: Array = given if type(given) is np.ndarray else as_image_array(given, name)
    shape = image.shape
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3, 4)):
        raise ValueError(
            f"{name} has shape {image.shape}; expected (height, width) or (height, width, 3) or (height, width, 4)"
        )
    if image.dtype.char not in _SUPPORTED:
        raise unsupported_pixels(image, name)
    if len(shape) == 3 and shape[2] == 1:
        image = image[..., 0]
    if shape[0] < MIN_SIDE_PX or shape[1] < MIN_SIDE_PX:
        raise ValueError(f"{name} is {size_text(image.shape)}; expected at least {MIN_SIDE_PX}x{MIN_SIDE_PX} pixels")
    return as_rgb_order(image) if bgr else image


def as_image_array(given: Any, name: str) -> Array:
    """``given`` as an array, or an error if it is None or has a mask, which ``np.asarray`` would drop.

    Raises
    ------
    TypeError
        The message has ``name`` and says what to pass instead.

    Examples
    --------
    >>> as_image_array(None, "left")
    Traceback (most recent call last):
    TypeError: left is None; cv2.imread returns that for a file that is missing or no image
    """
    if given is None:
        raise TypeError(f"{name} is None; cv2.imread returns that for a file that is missing or no image")
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array; pass its data, and as {name}_mask where it is not masked: "
            "image.data, ~image.mask"
        )
    return np.asarray(given)


def unsupported_pixels(image: Array, name: str) -> TypeError:
    """The error for an image whose pixels are of a type that no camera gives."""
    return TypeError(f"{name} has pixels of type {image.dtype}; expected uint8, uint16, float32 or float64")


def as_rgb_order(image: Array) -> Array:
    """A BGR image (h, w, 3) or BGRA (h, w, 4) as a view in RGB without transparency; a grey one as it is.

    Examples
    --------
    >>> as_rgb_order(np.array([[[1, 2, 3]]])).tolist()
    [[[3, 2, 1]]]
    """
    return image[..., 2::-1] if image.ndim == 3 and image.shape[2] in (3, 4) else image


def check_mask(given: Any, name: str, shape: tuple[int, ...]) -> Array:
    """``given`` as a bool or integer array (h, w): nonzero where the camera saw something."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; pass an array that is nonzero where the camera saw something")
    mask: Array = np.asarray(given)
    if mask.shape != shape:
        raise ValueError(f"{name} has shape {mask.shape}; expected that of its image, {shape}")
    if mask.dtype.kind not in "bui":
        raise TypeError(f"{name} is {mask.dtype}; expected bool or integers, nonzero = seen")
    return mask
