"""The type of an array of any shape and pixel type, and how an image size is written in messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def size_text(shape: Sequence[int]) -> str:
    """Size of an image as text, width first.

    Parameters
    ----------
    shape : sequence of int
        Shape of an array, (height, width) or (height, width, channels).

    Returns
    -------
    str
        ``"WIDTHxHEIGHT"``.

    Examples
    --------
    >>> size_text((480, 640, 3))
    '640x480'
    """
    return f"{shape[1]}x{shape[0]}"


def without_mask(values: Any) -> Array:
    """An array as it is, or a masked one as floats with NaN where it is masked: ``np.asarray`` drops masks silently.

    Parameters
    ----------
    values : array_like

    Returns
    -------
    ndarray
        As floats if ``values`` is a masked array.

    Examples
    --------
    >>> without_mask(np.ma.masked_greater([1, 60], 50)).tolist(), without_mask([1, 60]).tolist()
    ([1.0, nan], [1, 60])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    numbers = values if values.dtype.kind == "f" else values.astype(float)
    return np.asarray(np.ma.filled(numbers, np.nan))
