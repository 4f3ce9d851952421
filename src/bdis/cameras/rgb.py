"""Conversion of images to 8-bit RGB, for colours of points and for display."""

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from ..matching.images import as_rgb_order, full_scale

HIGHLIGHT = 220  # of 255, in all channels: its core and the rim that it outshines


def as_rgb_bytes(image: Array, *, bgr: bool = False) -> NDArray[np.uint8]:
    """Convert an image to 8-bit RGB.

    Parameters
    ----------
    image : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA image.  White is 2^8, 2^10, 2^12, 2^14 or 2^16 minus 1 for uint16, and also 1 for floats,
        whichever is the smallest that fits the brightest pixel.
    bgr : bool, optional
        The channels are in the order blue, green, red, as ``cv2.imread`` returns them.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
        RGB; transparency is dropped.

    Raises
    ------
    TypeError
        Pixels of another type.
    ValueError
        Floats above 65535.

    Examples
    --------
    >>> as_rgb_bytes(np.array([[0, 1023]], np.uint16)).tolist()  # 10 bits
    [[[0, 0, 0], [255, 255, 255]]]
    """
    image = np.asarray(image)
    if image.dtype == np.uint16 or image.dtype.kind == "f":
        is_float = image.dtype.kind == "f"
        white = full_scale(float(image.max(initial=0)), "colors", is_float=is_float)
        image = np.clip(np.rint(image * np.float32(255 / white)), 0, 255).astype(np.uint8)
    elif image.dtype != np.uint8:
        raise TypeError(f"colors has pixels of type {image.dtype}; expected uint8, uint16 or floats")
    if image.ndim == 2:
        image = image[..., None]
    if image.shape[2] == 1:
        image = image.repeat(3, 2)
    return as_rgb_order(image) if bgr else image[..., :3]


def highlights(image: Array, *, bgr: bool = False) -> NDArray[np.bool_]:
    """Where light is reflected as by a mirror: there the image shows the lamp instead of the tissue.

    Parameters
    ----------
    image, bgr
        As for :func:`as_rgb_bytes`.

    Returns
    -------
    ndarray of bool, shape (h, w)
        True where all channels are within 14 % of white.

    Examples
    --------
    >>> highlights(np.array([[90, 250]], np.uint8)).tolist()
    [[False, True]]
    """
    return np.asarray(as_rgb_bytes(image, bgr=bgr).min(2) >= HIGHLIGHT)
