"""What an object looks like in a notebook: a line of title, thumbnails with colour bars, a table, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from ..common.printable import printable
from .colors import UNKNOWN_ON_LIGHT, color_table, hex_color
from .map_picture import MapPicture
from .thumbnail import address, thumbnail

_SHOWN_PX = 240  # width of a thumbnail on the page
_CARD = "font:13px/1.45 system-ui,sans-serif;color:#22262b;background:#fff;padding:0.6em;max-width:60em"
_RIM = "outline:1px solid #c9cdd2"  # a white picture is seen on a white page
_ALERT = "margin:0.4em 0;padding:0.4em 0.7em;background:#b3261e;color:#fff;border-radius:4px"


def card(
    title: str,
    rows: Iterable[tuple[str, str]] = (),
    pictures: Sequence[MapPicture] = (),
    warnings: Sequence[str] = (),
    more: Iterable[tuple[str, str]] = (),
) -> str:
    """HTML that shows an object; all text is escaped.

    Parameters
    ----------
    title : str
        In bold, above everything.
    rows : iterable of (str, str)
        Names and values, one line each.
    pictures : sequence of MapPicture
        Shown side by side.
    warnings : sequence of str
        Shown in red, above the pictures.
    more : iterable of (str, str)
        As ``rows``, but folded away until somebody clicks "all".

    Returns
    -------
    str
        Without scripts, and without addresses of anything.

    Examples
    --------
    >>> "a &lt; b" in card("a < b")
    True
    """
    alerts = "".join(f"<div role='alert' style='{_ALERT}'>{_text(text)}</div>" for text in warnings)
    figures = "".join(map(_figure, pictures))
    shown = f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{figures}</div>" if figures else ""
    hidden = table(more)
    folded = f"<details><summary>all</summary>{hidden}</details>" if hidden else ""
    return f"<div style='{_CARD}'><b>{_text(title)}</b>{alerts}{shown}{table(rows)}{folded}</div>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table; empty without rows.

    Examples
    --------
    >>> table([])
    ''
    """
    cells = "".join(
        f"<tr><td style='text-align:left;padding:0 1em 0 0;color:#5b646e'>{_text(name)}</td>"
        f"<td style='text-align:left;padding:0'>{_text(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table style='border-collapse:collapse;margin:0.3em 0;font:inherit'>{cells}</table>" if cells else ""


def _text(text: str) -> str:
    """Text of anybody, as a page may contain it."""
    return escape(printable(text))


def _figure(picture: MapPicture) -> str:
    """A thumbnail, its title and its colour bar."""
    words = f"{picture.title}, {picture.unit}" if picture.unit else picture.title
    png = thumbnail(picture.values, picture.colormap, picture.span)
    image = f"<img alt='{_text(_alt(picture))}' src='{address(png)}' style='display:block;width:{_SHOWN_PX}px;{_RIM}'>"
    bar = _bar(picture) if picture.unit else ""
    caption = f"<figcaption>{_text(words)}</figcaption>"
    return f"<figure style='margin:0.4em 0;width:{_SHOWN_PX}px'>{caption}{image}{bar}</figure>"


def _alt(picture: MapPicture) -> str:
    """What somebody is told who does not see the picture: its values, not its colours."""
    if not picture.unit:
        return picture.title
    known = picture.values[np.isfinite(picture.values)]
    if not known.size:
        return f"{picture.title}: unknown everywhere"
    low, middle, high = np.percentile(known, [1, 50, 99])
    share = known.size / picture.values.size
    return (
        f"{picture.title}: known for {share:.0%} of the pixels, median {middle:.3g} {picture.unit}, "
        f"98 % of them from {low:.3g} to {high:.3g} {picture.unit}"
    )


def _bar(picture: MapPicture) -> str:
    """The colours from the start to the end of the range, numbers below, and the grey of unknown pixels."""
    colors = color_table(picture.colormap, UNKNOWN_ON_LIGHT)[np.linspace(1, 255, 12).astype(int)]
    stops = ",".join(hex_color(tuple(color)) for color in colors.tolist())
    low, high = picture.span
    grey = (
        f"<span><span style='display:inline-block;width:0.8em;height:0.8em;background:{hex_color(UNKNOWN_ON_LIGHT)}'>"
        "</span> unknown</span>"
    )
    return (
        f"<div style='height:0.6em;background:linear-gradient(to right,{stops})'></div>"
        f"<div style='display:flex;justify-content:space-between;font-size:0.85em'>"
        f"<span>{low:.3g}</span>{grey}<span>{high:.3g}</span></div>"
    )
