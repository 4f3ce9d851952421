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
