"""Colours of maps: colour maps, the greys of unknown pixels, and the range of values that is shown."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array

Rgb = tuple[int, int, int]
Range = tuple[float, float]

LARGEST_OF_RANGE = 1e9  # mm or px, of its ends
LEAST_RANGE = 1e-6  # of the larger end, by which both differ at least
COLORMAPS = {"disparity": "turbo", "depth": "turbo_r"}  # near is red in both
UNKNOWN_ON_LIGHT: Rgb = (0xC9, 0xCD, 0xD2)  # grey of unknown pixels on a white page; no colour map has it
MARK_COLOR: Rgb = (0x00, 0xE6, 0xFF)  # of outlines and markers: it occurs in no map, tissue, blood or highlight
UNKNOWN_ON_DARK: Rgb = (0x3A, 0x3E, 0x44)  # the same on a dark page

# Seventeen colours of each of Matplotlib's colour maps of that name: in between they are straight to 8 of 255 grey
# levels, which nobody sees, and a thumbnail or a viewer does without Matplotlib.
_STOPS = {
    "gray": "000000 ffffff",
    "turbo": "30123b 4040a2 466be3 4294ff 28bceb 18ddc2 32f298 6dfe62 a4fc3c "
    "cdec34 eecf3a fdac34 fb7e21 eb500e d02f05 a91601 7a0403",
    "viridis": "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c "
    "1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725",
    "magma": "000004 0a0822 1d1147 36106b 51127c 6a1c81 832681 9c2e7f b73779 "
    "d0416f e75263 f56b5c fc8961 fea772 fec488 fde2a3 fcfdbf",
    "plasma": "0d0887 310597 4c02a1 6600a7 7e03a8 9511a1 aa2395 bc3587 cc4778 "
    "da5a6a e66c5c f0804e f89540 fdac33 fdc527 f8df25 f0f921",
}


def color_table(colormap: str, unknown: Rgb) -> NDArray[np.uint8]:
    """Colours of the steps that :func:`color_steps` returns.

    Parameters
    ----------
    colormap : str
        "turbo", "viridis", "magma" or "plasma", with "_r" at the end from its last colour to the first; or "gray".
    unknown : tuple of int
        RGB colour of unknown pixels.

    Returns
    -------
    ndarray of uint8, shape (256, 3)
        RGB; ``unknown`` first, then the colours from the start to the end of the range.

    Raises
    ------
    KeyError
        There is no colour map of that name.

    Examples
    --------
    >>> color_table("turbo", (60, 60, 60))[0].tolist()
    [60, 60, 60]
    """
    stops = _stops(colormap.removesuffix("_r"))
    stops = stops[::-1] if colormap.endswith("_r") else stops
    places = np.linspace(0, len(stops) - 1, 255)
    colors = np.stack([np.interp(places, np.arange(len(stops)), channel) for channel in stops.T], -1)
    return np.vstack([np.asarray(unknown), np.rint(colors)]).astype(np.uint8)


@cache
def _stops(colormap: str) -> NDArray[np.uint8]:
    """The colours that a colour map is made of, shape (n, 3)."""
    return np.array([list(bytes.fromhex(color)) for color in _STOPS[colormap].split()], np.uint8)


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


def is_range(near: float, far: float) -> bool:
    """Can a colour scale reach from one number to another one?

    Examples
    --------
    >>> is_range(30, 120), is_range(30, 30.00001), is_range(30, float("inf"))
    (True, False, False)
    """
    return max(abs(near), abs(far)) <= LARGEST_OF_RANGE and far - near > LEAST_RANGE * max(abs(near), abs(far))


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
    most = LARGEST_OF_RANGE / 4  # so that it remains a range with margins
    low, high = (min(max(float(value), -most), most) for value in np.nanpercentile(values, [2, 98]))
    margin = max(0.25 * (high - low), 0.05 * abs(high), 1e-3)
    low, high, is_positive = low - margin, high + margin, low >= 0
    rough = (high - low) / 8
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= rough)
    near = float(np.floor(low / step) * step)
    return max(near, 0.0) if is_positive else near, float(np.ceil(high / step) * step)


def bulk_range(values: Array) -> Range:
    """Range of 98 % of the known values, with a margin, so that a few outliers do not compress the colours.

    Parameters
    ----------
    values : ndarray
        Values of a map, of any shape; NaN or infinite where unknown.

    Returns
    -------
    low, high : float
        Ends of the range, low below high; 0 and 1 if nothing is known.

    Examples
    --------
    >>> low, high = bulk_range(np.append(np.linspace(40, 60, 1000), [1e6, np.nan]))
    >>> 39 < low < 41 and 59 < high < 62
    True
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(known, [1, 99]))
    margin = 0.05 * (high - low) + 1e-6 * max(1.0, abs(low), abs(high))
    return low - margin, high + margin


def range_from_zero(values: Array) -> Range:
    """Range from 0 that contains 97 % of the known values: of errors and deviations.

    Parameters
    ----------
    values : ndarray
        As for :func:`bulk_range`, not negative.

    Returns
    -------
    low, high : float
        0, and above 0; 0 and 1 if nothing is known.

    Examples
    --------
    >>> range_from_zero(np.array([np.nan, np.inf]))
    (0.0, 1.0)
    """
    known = values[np.isfinite(values)]
    return 0.0, float(max(np.percentile(known, 97), 1e-6)) if known.size else 1.0


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
