"""Black bars that were added to a picture of both views: then it is cut in the wrong place, and all depth is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..common.arrays import Array

# Shares of the brightest pixel: what is not brighter may belong to a bar. Compression spills light into bars, but a
# higher limit alone takes dark parts of the scene for them.
DARK = (8 / 255, 16 / 255, 24 / 255)
STUDIO_BLACK = 16 / 255  # the brightest a bar may be: black of a video that was not stretched to the whole range
TOLERANCE_PX = 1  # compression moves the edges of bars by so much
# Share of the lines across a bar in which it is as wide as in the others: 1 where bars were added, but for dark parts
# of the scene beside them. What rectification and the masks of endoscopes leave black is curved: at most 0.53 in 43
# real and virtual pairs, which have bars of up to 214 px.
STRAIGHT = 0.7
FEWEST_LIT = 0.25  # share of these lines that must show something
LINES = 128  # that are looked at, or more: a frame must not take long

_BORDERS: dict[str, Callable[[Array], Array]] = {  # the view turned so that this border is the left one
    "left": lambda view: view,
    "right": lambda view: view[:, ::-1],
    "upper": lambda view: view.swapaxes(0, 1),
    "lower": lambda view: view[::-1].swapaxes(0, 1),
}


class Bar(NamedTuple):
    """What is dark at one border of a view, all along it.

    Attributes
    ----------
    width_px : int
        How far it reaches into the view.
    is_straight : bool
        It reaches equally far everywhere.
    """

    width_px: int
    is_straight: bool


def unlike_bars(left: Array, right: Array) -> str:
    """A warning if one view has a straight black bar that the other one has not; empty if none has.

    Parameters
    ----------
    left, right : ndarray, shape (h, w) or (h, w, channels)
        Views that were cut from one picture.

    Returns
    -------
    str

    Examples
    --------
    >>> left, right = np.full((2, 48, 64), 100, np.uint8)
    >>> unlike_bars(left, right)
    ''
    >>> left[:, :16] = right[:, -16:] = 0
    >>> unlike_bars(left, right).split(":")[0]
    'black bars of 16 px in the left and 0 px in the right view, at their left borders'
    """
    white = max(float(view[::4, ::4].max()) for view in (left, right))
    for border, turned in _BORDERS.items():
        views = [turned(view) for view in (left, right)]
        views = [view[:: max(1, len(view) // LINES)] for view in views]
        columns = [_brightest(view[:, TOLERANCE_PX : TOLERANCE_PX + 1]) for view in views]
        limit = (STUDIO_BLACK + DARK[-1]) * white
        if all(np.mean(column <= limit) < STRAIGHT for column in columns):  # the usual case, told in no time
            continue
        views = [_brightest(view) for view in views]
        for dark in DARK:
            first, second = _bars(views, dark * white, STUDIO_BLACK * white)
            if abs(first.width_px - second.width_px) > TOLERANCE_PX and max(first, second).is_straight:
                return (
                    f"black bars of {first.width_px} px in the left and {second.width_px} px in the right view, at "
                    f"their {border} borders: if a recorder or player added them, the picture is cut in the wrong "
                    "place and all depth is wrong: remove the bars first, such as with ffmpeg -vf crop"
                )
    return ""


def _brightest(pixels: Array) -> Array:
    """The brightest channel of each pixel (h, w) or (h, w, channels)."""
    return pixels if pixels.ndim == 2 else np.maximum(np.maximum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])


def _bars(views: list[Array], dark: float, studio_black: float) -> list[Bar]:
    """The bars at the left borders of both views."""
    bars = []
    for lines in views:
        is_dark = lines <= min(float(np.median(lines[:, 0])), studio_black) + dark
        is_lit = ~is_dark.all(1)
        if is_lit.mean() < FEWEST_LIT:  # nothing to see: another frame will tell
            return [Bar(0, False)] * 2
        widths = is_dark[is_lit].argmin(1)
        width = int(np.percentile(widths, 2))  # some pixels of a bar may be noise
        bars.append(Bar(width, bool(np.mean(np.abs(widths - width) <= TOLERANCE_PX) >= STRAIGHT)))
    return bars
