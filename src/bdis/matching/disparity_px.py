"""Disparity maps of any origin: what is not in px is refused."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, without_mask

FARTHEST = 1e5  # px, as far as a disparity may lie from 0
_KITTI_STEPS = 256  # per px


def as_disparity_px(given: Any, name: str = "disparity", *, unknown: float | None = None) -> NDArray[np.float32]:
    """Disparities in px as float32, NaN where unknown.

    Parameters
    ----------
    given : array_like
        px, of any shape; NaN, infinite or masked = unknown.
    name : str
        What the caller's parameter is called, for messages.
    unknown : float, optional
        A further value that means unknown.

    Returns
    -------
    ndarray of float32, shape of ``given``

    Raises
    ------
    TypeError
        It holds no real numbers.
    ValueError
        It is int16, as OpenCV's matchers give it, or uint16 beyond the width of the map, as KITTI stores it: these
        count parts of a px.

    Examples
    --------
    >>> as_disparity_px([[25, -1]], unknown=-1).tolist()
    [[25.0, nan]]
    >>> as_disparity_px(np.int16([[400]]))
    Traceback (most recent call last):
    ValueError: disparity is int16, which OpenCV uses for 16ths of a px; give px: disparity.astype(np.float32) / 16
    """
    array = np.asanyarray(given)  # with its mask
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be an array of numbers, but it holds {array.dtype}")
    if is_int16(array):
        raise ValueError(
            f"{name} is int16, which OpenCV uses for 16ths of a px; give px: {name}.astype(np.float32) / 16"
        )
    is_uint16 = array.dtype.kind == "u" and array.dtype.itemsize == 2
    array = without_mask(array)
    with np.errstate(over="ignore"):
        px = array.astype(np.float32)
        is_known = np.isfinite(px)
        if unknown is not None:
            is_known &= px != np.float32(unknown)
    if is_uint16:
        largest, width = int(array[is_known].max(initial=0)), array.shape[-1] if array.ndim else 0
        if largest > max(width, _KITTI_STEPS):
            raise ValueError(
                f"{name} is uint16 and reaches {largest}, which is more than its width; if these are 256ths of a px, "
                f"as KITTI's PNG files have them, give px: {name}.astype(np.float32) / 256, with NaN where it is 0"
            )
    return np.where(is_known, px, np.float32(np.nan))


def is_int16(array: Array) -> bool:
    """Whether numbers have the type in which OpenCV gives 16ths of a px, in any byte order."""
    return array.dtype.kind == "i" and array.dtype.itemsize == 2
