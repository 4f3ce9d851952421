"""The type of an array of any shape and pixel type, arrays of numbers, and how an image size is written in messages."""

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


def holds_numbers(values: Array) -> bool:
    """Whether an array holds real numbers, and not truth values, complex numbers, text, dates or objects.

    Parameters
    ----------
    values : ndarray

    Returns
    -------
    bool

    Examples
    --------
    >>> holds_numbers(np.array([1, 60])), holds_numbers(np.array([True, False]))
    (True, False)
    """
    return values.dtype.kind in "fiu"


def as_numbers(values: Any, name: str) -> Array:
    """An array of real numbers; of a masked one as :func:`without_mask` returns it.

    Parameters
    ----------
    values : array_like
    name : str
        What the caller's parameter is called, for messages.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        It holds no real numbers.

    Examples
    --------
    >>> as_numbers([True], "depth_mm")
    Traceback (most recent call last):
    TypeError: depth_mm must be an array of numbers, but it holds bool
    """
    array = np.asanyarray(values)  # with its mask
    if not holds_numbers(array):
        raise TypeError(f"{name} must be an array of numbers, but it holds {array.dtype}")
    return without_mask(array)
