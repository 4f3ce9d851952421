"""The texts of the page, as HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from ..cameras.measure import Pixel, depth_at, distance_between, in_words
from ..common.law import sigmas
from ..display.colors import UNKNOWN_ON_DARK
from ..video.stream.statistics import StreamStatistics
from .display_options import Range
from .frame_maps import FrameMaps, palette

PIXEL_LABEL = "Pixel"  # of the field into which the script writes where a picture was clicked
PHONE_CLASS = "bdis-phone"  # of what is displayed only where viser has no room for two panels, see page_script.js
NARROW_PX = 1000  # of the window: below it the controls start folded away, else they leave no room for the view
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


def page_script(title: str) -> str:
    """An invisible image that runs our script when it loads; viser has no call for it.

    The script sets the title of the browser tab, lets the pictures be clicked, and makes room in a narrow window; it is
    in ``page_script.js``.

    Parameters
    ----------
    title : str
        Of the browser tab.

    Returns
    -------
    str
        HTML.
    """
    names = {"title": title, "pixel": PIXEL_LABEL, "narrow": NARROW_PX, "phone": PHONE_CLASS}
    code = files(__package__).joinpath("page_script.js").read_text("utf-8")
    script = html.escape(f"({code.strip()})({json.dumps(names)})", quote=True)
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    return f'<img src="{pixel}" style="display:none" onload="{script}">'


def size_mark(maps: FrameMaps) -> str:
    """An invisible element that tells the script how large the images are, px: what is displayed may be smaller."""
    height, width = maps.result.disparity.shape
    return f"<span hidden data-bdis-width='{width}' data-bdis-height='{height}'></span>"


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


def pixel_text(maps: FrameMaps, pixel: Pixel | None, before: Pixel | None = None) -> tuple[str, str]:
    """The values of a pixel, in plain words.

    Parameters
    ----------
    maps : FrameMaps
        Of the frame that is displayed.
    pixel : (int, int) or None
        Column and row; None: no pixel was clicked.
    before : (int, int), optional
        The pixel that was clicked before it: its distance is told.

    Returns
    -------
    text : str
        HTML for the panel.
    label : str
        A few characters for the marker in the 3-D view.
    """
    if pixel is None:
        words = "Click a picture to read its disparity here."
        if maps.rig is not None:
            words = "Click a picture or a point of the cloud to read its depth here, and a second one to measure."
        return f"<span style='{MUTED}'>{words}</span>", ""
    x, y = pixel
    found = _measured(maps, pixel)
    if found is None:
        name = "disparity" if maps.rig is None else "depth"
        return f"<b style='font-size:1.3em'>{name} unknown</b>{_details(f'Pixel {x}, {y}')}", "unknown"
    name, label = found
    details = [f"Pixel {x}, {y}", f"probability {float(maps.probability[y, x]):.2f}"]
    if maps.rig is not None:
        details.append(f"disparity {float(maps.disparity[y, x]):.2f} px")
    distance, from_where = _distance_texts(maps, pixel, before)
    # What was measured comes first: in a low window the end may be below the edge.
    return f"<b style='font-size:1.3em'>{name} {label}</b>{distance}{_details(*details)}{from_where}", label


def _details(*parts: str) -> str:
    return f"<div style='{MUTED}'>{' · '.join(parts)}</div>"


def _measured(maps: FrameMaps, pixel: Pixel) -> tuple[str, str] | None:
    """What was measured at a pixel, depth or disparity, and its value in words; None where it is unknown."""
    x, y = pixel
    if maps.rig is None:
        value = float(maps.disparity[y, x])
        within = sigmas(0.95) * float(maps.sigma[y, x])
        return None if np.isnan(value) else ("disparity", in_words(value, within, "px"))
    depth = None if np.isnan(maps.depth[y, x]) else depth_at(maps.rig, maps.result, pixel)
    return None if depth is None else ("depth", depth.words())


def _distance_texts(maps: FrameMaps, pixel: Pixel, before: Pixel | None) -> tuple[str, str]:
    """How far a pixel is from the one before it, and which that was; empty if that is not known."""
    if maps.rig is None or before is None or np.isnan(maps.depth[before[1], before[0]]):
        return "", ""
    distance = distance_between(maps.rig, maps.result, before, pixel)
    if distance is None:
        return "", ""
    details = [f"from pixel {before[0]}, {before[1]}"]
    if not np.isnan(distance.sigma_mm):
        details.append(f"sigma {distance.sigma_mm:.2f} mm")
    return f"<div><b style='font-size:1.15em'>distance {distance.words()}</b></div>", _details(*details)


def reading(text: str, is_for_phones: bool = False) -> str:
    """The values of a pixel in a box of a height that stays, so that no picture moves under the pointer.

    Parameters
    ----------
    text : str
        HTML of :func:`pixel_text`.
    is_for_phones : bool
        Display it only where there is no room for the pictures.

    Returns
    -------
    str
        HTML.
    """
    kind = f" class='{PHONE_CLASS}'" if is_for_phones else ""
    return f"<div{kind} style='{_BOX};min-height:6.6em'>{text}</div>"


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
