"""Disparity maps of any origin: what is not in px is refused."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, as_numbers
from ..common.atomic import Place

FARTHEST = 1e5  # px, as far as a disparity may lie from 0
_KITTI_STEPS = 256  # per px
_SMALLEST_IMAGE = 32  # px: what has fewer rows or columns is a part of a map, whose width says nothing


def as_disparity_px(
    given: Any,
    name: str = "disparity",
    *,
    unknown: float | None = None,
    file: Place | None = None,
    may_exceed_width: bool = False,
) -> NDArray[np.float32]:
    """Disparities in px as float32, NaN where unknown.

    Parameters
    ----------
    given : array_like
        px, of any shape; NaN, infinite or masked = unknown.
    name : str
        What the caller's parameter is called, for messages.
    unknown : float, optional
        A further value that means unknown.
    file : str or path-like, optional
        Where it was read from, for messages.
    may_exceed_width : bool, optional
        Whether a map is taken even if most of its disparities exceed its width, as one that is to be judged.

    Returns
    -------
    ndarray of float32, shape of ``given``

    Raises
    ------
    TypeError
        It holds no real numbers.
    ValueError
        It counts parts of a px: it is int16, as OpenCV's matchers give it, uint16 beyond the width of the map, as KITTI
        stores it, or a map whose disparities mostly exceed its width.

    Examples
    --------
    >>> as_disparity_px([[25, -1]], unknown=-1).tolist()
    [[25.0, nan]]
    >>> as_disparity_px(np.int16([[400]]))
    Traceback (most recent call last):
    ValueError: disparity is int16, which OpenCV uses for 16ths of a px; give px: disparity.astype(np.float32) / 16
    >>> as_disparity_px(np.int16([[400]]), file="sgbm.tiff")
    Traceback (most recent call last):
    ValueError: sgbm.tiff is int16, which OpenCV uses for 16ths of a px; save disparity.astype(np.float32) / 16, \
with NaN where it is unknown, as floats
    """
    stored = np.asanyarray(given)  # with its mask
    subject = name if file is None else str(file)
    array = as_numbers(stored, subject)
    if is_int16(stored):
        raise ValueError(f"{subject} is int16, which OpenCV uses for 16ths of a px; {_advice(name, 16, file)}")
    is_uint16 = stored.dtype.kind == "u" and stored.dtype.itemsize == 2
    with np.errstate(over="ignore"):
        px = array.astype(np.float32)
        is_known = np.isfinite(px)
        if unknown is not None:
            is_known &= px != np.float32(unknown)
    widest = max(array.shape[-1] if array.ndim else 0, _KITTI_STEPS)
    if is_uint16 and (largest := int(array[is_known].max(initial=0))) > widest:
        raise ValueError(
            f"{subject} is uint16 and reaches {largest}, which is more than its width; if these are 256ths of a px, "
            f"as KITTI's PNG files have them, {_advice(name, _KITTI_STEPS, file)}"
        )
    if not may_exceed_width and px.ndim == 2 and min(px.shape) >= _SMALLEST_IMAGE:
        is_too_far = is_known & (px > widest)
        if 2 * np.count_nonzero(is_too_far) > np.count_nonzero(is_known):
            middle = float(np.median(px[is_too_far]))
            raise ValueError(
                f"{subject} is no map in px: more than half of the disparities exceed {widest} px, and its width is "
                f"{px.shape[1]}; if these are 256ths of a px, as KITTI's PNG files have them, "
                f"{_advice(name, _KITTI_STEPS, file)}; if {middle:.9g} means unknown, make it NaN"
            )
    return np.where(is_known, px, np.float32(np.nan))


def is_int16(array: Array) -> bool:
    """Whether numbers have the type in which OpenCV gives 16ths of a px, in any byte order."""
    return array.dtype.kind == "i" and array.dtype.itemsize == 2


def _advice(name: str, steps: int, file: Place | None) -> str:
    """How to make px of parts of a px."""
    if file is None:
        unknown = ", with NaN where it is 0" if steps == _KITTI_STEPS else ""
        return f"give px: {name}.astype(np.float32) / {steps}{unknown}"
    as_png = "keep them in a 16-bit PNG, or " if steps == _KITTI_STEPS else ""
    return f"{as_png}save {name}.astype(np.float32) / {steps}, with NaN where it is unknown, as floats"
