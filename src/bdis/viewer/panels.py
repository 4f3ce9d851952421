"""The pictures beside the 3-D view: left image, a map with its colour bar, the reading of a pixel, live figures."""

from __future__ import annotations

import html
import json
from typing import Any

import numpy as np

from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from ..common.arrays import Array
from ..files.colors import UNKNOWN_ON_DARK
from ..video.stream.statistics import Figures
from .maps import Look, Maps, Range, colored, palette, unit_of

WIDEST_PICTURE = 640  # px; larger pictures are thinned out
_QUALITY = 85
_MUTED = "opacity:0.65"
_BOX = "padding:0 0.75em 0.5em 0.75em;font-size:0.82em;line-height:1.5;font-variant-numeric:tabular-nums"


class Pictures:
    """A panel of its own at the left edge."""

    def __init__(self, server: Any, rig: Rig | None, names: tuple[str, ...]):
        gui = server.gui
        self._rig = rig
        panel = gui.add_panel()
        self.tab = panel.add_tab("Pictures")
        with self.tab:
            blank = np.full((30, 40, 3), UNKNOWN_ON_DARK, np.uint8)
            self._left = gui.add_image(blank, label="Left image, rectified", format="jpeg", jpeg_quality=_QUALITY)
            self.choice = gui.add_dropdown("Map", names, initial_value=names[0])
            self._map = gui.add_image(blank, format="jpeg", jpeg_quality=_QUALITY)
            self._bars = gui.add_html("")
            self._reading = gui.add_html("")
        panel.dock_left()
        panel.set_width(330)

    def show(self, maps: Maps, look: Look) -> None:
        step = max(1, -(-maps.frame.left.shape[1] // WIDEST_PICTURE))
        self._left.image = as_rgb_bytes(maps.frame.left[::step, ::step])
        self._map.image = colored(look.shown, maps[look.shown][::step, ::step], look.range_of(look.shown))
        bars = [color_bar(f"Map: {look.shown}", look.shown, unit_of(look.shown, self._rig), look.range_of(look.shown))]
        if look.cloud_color not in ("image", look.shown) and self._rig is not None:
            unit = unit_of(look.cloud_color, self._rig)
            name = look.cloud_color
            bars.append(color_bar(f"Cloud: {name}", name, unit, look.range_of(name), has_unknown=False))
        self._bars.content = "".join(bars)

    def read_out(self, text: str) -> None:
        """The words about the pixel that was clicked, as HTML."""
        self._reading.content = f"<div style='{_BOX}'>{text}</div>"


def color_bar(title: str, name: str, unit: str, span: Range, has_unknown: bool = True) -> str:
    """HTML of the colours of a map, with numbers below."""
    colors = palette(name)
    stops = ",".join("rgb({},{},{})".format(*colors[place]) for place in np.linspace(1, 255, 24).astype(int))
    numbers = "".join(f"<span>{value:.3g}</span>" for value in np.linspace(*span, 5))
    grey = "rgb({},{},{})".format(*UNKNOWN_ON_DARK)
    unknown = (
        f"<span style='float:right;{_MUTED}'><span style='display:inline-block;width:0.8em;height:0.8em;"
        f"border:1px solid #888;background:{grey}'></span> unknown</span>"
    )
    return (
        f"<div style='{_BOX}'><div>{html.escape(title)}{f', {unit}' if unit else ''}{unknown if has_unknown else ''}"
        f"</div><div style='height:0.8em;background:linear-gradient(to right,{stops})'></div>"
        f"<div style='display:flex;justify-content:space-between'>{numbers}</div></div>"
    )


def tab_title(title: str) -> str:
    """HTML that names the browser's tab, which viser has no call for."""
    script = html.escape(f"document.title={json.dumps(title)}", quote=True)
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    return f'<img src="{pixel}" style="display:none" onload="{script}">'


def reading_in_words(maps: Maps, pixel: tuple[int, int] | None) -> tuple[str, str]:
    """What is known of a pixel (x, y): HTML for the page, and a short text for its mark in the scene."""
    if pixel is None:
        what = "a point of the cloud" if maps.rig else "the picture"
        return f"<span style='{_MUTED}'>Click {what} to read its depth here.</span>", ""
    x, y = pixel

    def value(values: Array) -> float:
        return float(values[y, x])

    where = f"<div style='{_MUTED}'>Pixel x {x}, y {y} of frame {maps.frame.index}</div>"
    main, name, unit = (maps.disparity, "disparity", "px") if maps.rig is None else (maps.depth, "depth", "mm")
    if np.isnan(value(main)):
        return f"{where}<b style='font-size:1.3em'>{name} unknown</b>", "unknown"
    sigma = value(maps.sigma)
    short = f"{value(main):.2f}" + ("" if np.isnan(sigma) else f" ± {sigma:.2f}") + f" {unit}"
    more = f"probability {value(maps.probability):.3f}"
    if maps.rig is not None:
        more += f" &nbsp;·&nbsp; disparity {value(maps.disparity):.2f} px"
    return f"{where}<b style='font-size:1.3em'>{name} {short}</b><div>{more}</div>", short


def figures_in_words(figures: Figures, maps: Maps | None, is_video: bool) -> str:
    """HTML of the live figures."""
    rows = []
    if maps is not None:
        frame, latency = maps.frame, figures.latency_ms
        height, width = maps.result.disparity.shape
        rows = [
            ("Frame", f"{frame.index} &nbsp;·&nbsp; {frame.time_s:.2f} s &nbsp;·&nbsp; {width} x {height} px"),
            ("Coverage", f"{100 * maps.coverage:.1f} % of the pixels"),
            ("This frame", _steps_in_words(maps)),
        ]
        if is_video:
            rows += [
                ("Rate", f"{figures.recent_fps:.1f} frames/s" if figures.recent_fps > 0 else "-"),
                ("Latency", f"{latency.p50:.0f} ms median, {latency.p95:.0f} ms p95"),
                ("Lost", f"{figures.dropped} dropped, {figures.damaged} damaged, {figures.suspect} suspect"),
            ]
    cells = "".join(
        f"<tr><td style='padding-right:1em;{_MUTED}'>{name}</td><td>{text}</td></tr>" for name, text in rows
    )
    return f"<div style='{_BOX}'><table style='border-spacing:0'>{cells}</table></div>"


def _steps_in_words(maps: Maps) -> str:
    frame = maps.frame
    steps = {"read": frame.read_s, "rectify": frame.rectify_s, "match": frame.match_s}
    return ", ".join(f"{name} {1e3 * took:.1f}" for name, took in steps.items() if took) + " ms"


def notice(text: str, kind: str) -> str:
    """HTML of a message; of kind "error", "done" or "busy"."""
    color = {"error": "#e5484d", "done": "#30a46c", "busy": "#d9a400"}[kind]
    shown = html.escape(text).replace("\n", "<br>")
    return (
        f"<div style='margin:0 0.6em 0.5em 0.6em;padding:0.4em 0.7em;border-left:4px solid {color};"
        f"background:{color}22;font-size:0.85em;line-height:1.4;overflow-wrap:anywhere'>{shown}</div>"
    )
