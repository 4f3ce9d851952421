"""The texts of the page, as HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

import numpy as np

from ..common.arrays import Array
from ..display.colors import UNKNOWN_ON_DARK
from ..video.stream.statistics import StreamStatistics
from .display_options import Range
from .frame_maps import FrameMaps, palette

MUTED = "opacity:0.65"
_BOX = "padding:0 0.75em 0.5em 0.75em;font-size:0.82em;line-height:1.5;font-variant-numeric:tabular-nums"


def box(content: str) -> str:
    """HTML in the small font of all texts between the controls."""
    return f"<div style='{_BOX}'>{content}</div>"


def notice(text: str, kind: str) -> str:
    """A highlighted message.

    Parameters
    ----------
    text : str
        Plain text; line breaks are kept.
    kind : {"error", "done", "busy"}
        Red, green or yellow.

    Returns
    -------
    str
        HTML.
    """
    color = {"error": "#e5484d", "done": "#30a46c", "busy": "#d9a400"}[kind]
    shown = html.escape(text).replace("\n", "<br>")
    return (
        f"<div style='margin:0 0.6em 0.5em 0.6em;padding:0.4em 0.7em;border-left:4px solid {color};"
        f"background:{color}22;font-size:0.85em;line-height:1.4;overflow-wrap:anywhere'>{shown}</div>"
    )


def warnings_text(warnings: Sequence[str]) -> str:
    """What is wrong with the frame that is displayed, so that nobody overlooks it.

    Parameters
    ----------
    warnings : sequence of str
        Plain sentences, without capital and full stop.

    Returns
    -------
    str
        HTML; empty if there is nothing to say.

    Examples
    --------
    >>> warnings_text([])
    ''
    >>> "Rows &lt; columns.</li>" in warnings_text(["rows < columns"])
    True
    """
    if not warnings:
        return ""
    lines = "".join(f"<li>{html.escape(text[:1].upper() + text[1:].rstrip('.'))}.</li>" for text in warnings)
    return (
        "<div role='alert' style='margin:0 0.6em 0.6em 0.6em;padding:0.6em 0.8em;background:#b3261e;color:#fff;"
        "border-radius:4px;font-size:0.95em;line-height:1.4;overflow-wrap:anywhere'>"
        f"<b>Check before you trust this depth</b><ul style='margin:0.3em 0 0 0;padding-left:1.2em'>{lines}</ul></div>"
    )


def tab_title(title: str) -> str:
    """An invisible image that sets the title of the browser tab when it loads; viser has no call for it."""
    script = html.escape(f"document.title={json.dumps(title)}", quote=True)
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    return f'<img src="{pixel}" style="display:none" onload="{script}">'


def color_bar(title: str, name: str, unit: str, value_range: Range, has_unknown: bool = True) -> str:
    """A colour bar with numbers below it.

    Parameters
    ----------
    title : str
        Above the bar.
    name : str
        Of the map.
    unit : str
        After the title; may be empty.
    value_range : (float, float)
        Values of the first and the last colour.
    has_unknown : bool
        Also show the colour of unknown pixels.

    Returns
    -------
    str
        HTML.
    """
    colors = palette(name)
    stops = ",".join("rgb({},{},{})".format(*colors[place]) for place in np.linspace(1, 255, 24).astype(int))
    numbers = "".join(f"<span>{value:.3g}</span>" for value in np.linspace(*value_range, 5))
    grey = "rgb({},{},{})".format(*UNKNOWN_ON_DARK)
    unknown = (
        f"<span style='float:right;{MUTED}'><span style='display:inline-block;width:0.8em;height:0.8em;"
        f"border:1px solid #888;background:{grey}'></span> unknown</span>"
    )
    return box(
        f"<div>{html.escape(title)}{f', {unit}' if unit else ''}{unknown if has_unknown else ''}"
        f"</div><div style='height:0.8em;background:linear-gradient(to right,{stops})'></div>"
        f"<div style='display:flex;justify-content:space-between'>{numbers}</div>"
    )


def pixel_text(maps: FrameMaps, pixel: tuple[int, int] | None) -> tuple[str, str]:
    """The values of a pixel.

    Parameters
    ----------
    maps : FrameMaps
        Of the frame that is displayed.
    pixel : (int, int) or None
        Column and row; None: no pixel was clicked.

    Returns
    -------
    text : str
        HTML for the panel.
    label : str
        A few characters for the marker in the 3-D view.
    """
    if pixel is None:
        target = "a point of the cloud" if maps.rig else "the picture"
        return f"<span style='{MUTED}'>Click {target} to read its depth here.</span>", ""
    x, y = pixel

    def value(values: Array) -> float:
        return float(values[y, x])

    position = f"<div style='{MUTED}'>Pixel x {x}, y {y} of frame {maps.frame.index}</div>"
    values, name, unit = (maps.disparity, "disparity", "px") if maps.rig is None else (maps.depth, "depth", "mm")
    if np.isnan(value(values)):
        return f"{position}<b style='font-size:1.3em'>{name} unknown</b>", "unknown"
    sigma = value(maps.sigma)
    label = f"{value(values):.2f}" + ("" if np.isnan(sigma) else f" ± {sigma:.2f}") + f" {unit}"
    more = f"probability {value(maps.probability):.3f}"
    if maps.rig is not None:
        more += f" &nbsp;·&nbsp; disparity {value(maps.disparity):.2f} px"
    return f"{position}<b style='font-size:1.3em'>{name} {label}</b><div>{more}</div>", label


def statistics_text(statistics: StreamStatistics, maps: FrameMaps | None, is_video: bool) -> str:
    """A table with the statistics of the frame that is displayed and of the stream.

    Parameters
    ----------
    statistics : StreamStatistics
        Of the stream.
    maps : FrameMaps or None
        Of the frame that is displayed; None before the first.
    is_video : bool
        There is more than one frame.

    Returns
    -------
    str
        HTML.
    """
    rows = []
    if maps is not None:
        frame, latency = maps.frame, statistics.latency_ms
        height, width = maps.result.disparity.shape
        rows = [
            ("Frame", f"{frame.index} &nbsp;·&nbsp; {frame.time_s:.2f} s &nbsp;·&nbsp; {width} x {height} px"),
            ("Coverage", f"{100 * maps.coverage:.1f} % of the pixels"),
            ("This frame", _step_times(maps)),
        ]
        if maps.result.largest_row_offset > 0 and maps.coverage > 0:
            where = "lower" if maps.result.row_offset > 0 else "higher"
            rows.append(("Rows", f"right image {abs(maps.result.row_offset):.2f} px {where}, corrected"))
        if is_video:
            rows += [
                ("Rate", f"{statistics.recent_fps:.1f} frames/s" if statistics.recent_fps > 0 else "-"),
                ("Latency", f"{latency.p50:.0f} ms median, {latency.p95:.0f} ms p95"),
                ("Lost", f"{statistics.dropped} dropped, {statistics.damaged} damaged, {statistics.suspect} suspect"),
            ]
    cells = "".join(f"<tr><td style='padding-right:1em;{MUTED}'>{name}</td><td>{text}</td></tr>" for name, text in rows)
    return box(f"<table style='border-spacing:0'>{cells}</table>")


def _step_times(maps: FrameMaps) -> str:
    frame = maps.frame
    steps = {"read": frame.read_s, "rectify": frame.rectify_s, "match": frame.match_s}
    return ", ".join(f"{name} {1e3 * took:.1f}" for name, took in steps.items() if took) + " ms"
