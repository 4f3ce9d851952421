"""Colours of maps: colour maps, the greys of unknown pixels, and the range of values that is shown."""

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from ..common.optional import require

Rgb = tuple[int, int, int]

COLORMAPS = {"disparity": "turbo", "depth": "turbo_r"}  # near is red in both
UNKNOWN_ON_LIGHT: Rgb = (0xC9, 0xCD, 0xD2)  # grey of unknown pixels on a white page; no colour map has it
UNKNOWN_ON_DARK: Rgb = (0x3A, 0x3E, 0x44)  # the same on a dark page


def color_table(colormap: str, unknown: Rgb) -> NDArray[np.uint8]:
    """Colours of the steps that :func:`color_steps` returns.

    Parameters
    ----------
    colormap : str
        Name of a colour map of Matplotlib.
    unknown : tuple of int
        RGB colour of unknown pixels.

    Returns
    -------
    ndarray of uint8, shape (256, 3)
        RGB; ``unknown`` first, then the colours from the start to the end of the range.

    Raises
    ------
    ImportError
        Matplotlib is not installed.

    Examples
    --------
    >>> color_table("turbo", (60, 60, 60))[0].tolist()
    [60, 60, 60]
    """
    colors = require("matplotlib", "a picture").colormaps[colormap](np.linspace(0, 1, 255))[:, :3]
    return np.vstack([np.asarray(unknown), np.rint(255 * colors)]).astype(np.uint8)


def color_steps(values: Array, span: tuple[float, float]) -> NDArray[np.uint8]:
    """Position of values in a range, as indices of :func:`color_table`.

    Parameters
    ----------
    values : ndarray of float32
        Values of a map, of any shape; NaN where unknown.
    span : tuple of float
        Values of the first and the last colour.

    Returns
    -------
    ndarray of uint8, shape of ``values``
        1 to 255 from the start to the end of the range, the ends also for values beyond them; 0 where unknown.

    Examples
    --------
    >>> color_steps(np.float32([0, 50, 100, 500, np.nan]), (0, 100)).tolist()
    [1, 128, 255, 255, 0]
    """
    low, high = span
    steps = np.asarray((values - np.float32(low)) * np.float32(254 / (high - low)))
    steps += np.float32(1.5)
    np.clip(steps, 1, 255, out=steps)
    np.fmax(steps, 0, out=steps)  # NaN becomes 0
    return steps.astype(np.uint8)


def round_range(values: Array) -> tuple[float, float]:
    """Choose a range with round ends that contains most of the values, with a margin for the following frames.

    Parameters
    ----------
    values : ndarray
        Values of a map, of any shape; NaN where unknown.  At least one must be known.

    Returns
    -------
    low, high : float
        Ends of the range.

    Examples
    --------
    >>> round_range(np.linspace(42, 78, 1000))
    (30.0, 90.0)
    """
    low, high = (float(value) for value in np.nanpercentile(values, [2, 98]))
    margin = max(0.25 * (high - low), 0.05 * abs(high), 1e-3)
    low, high, is_positive = low - margin, high + margin, low >= 0
    rough = (high - low) / 8
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= rough)
    near = float(np.floor(low / step) * step)
    return max(near, 0.0) if is_positive else near, float(np.ceil(high / step) * step)


def hex_color(rgb: Rgb) -> str:
    """Colour as Matplotlib and HTML write it.

    Parameters
    ----------
    rgb : tuple of int
        Red, green and blue, 0 to 255.

    Returns
    -------
    str
        ``"#rrggbb"``.

    Examples
    --------
    >>> hex_color(UNKNOWN_ON_LIGHT)
    '#c9cdd2'
    """
    return "#{:02x}{:02x}{:02x}".format(*rgb)
