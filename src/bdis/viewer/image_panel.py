"""The images beside the 3-D view: left image, a map with its colour bar, and the values of a pixel."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np

from ..cameras.measure import Pixel
from ..cameras.rectifier import Rectifier
from ..cameras.rgb import as_rgb_bytes
from ..display.colors import UNKNOWN_ON_DARK
from .frame_maps import FrameMaps, colored, unit_of
from .html_text import PIXEL_LABEL, color_bar, pixel_text, reading, size_mark, warnings_text
from .page import Page, Panel

MAX_WIDTH = 640  # px; of larger images only every so many pixels are sent
PANEL_WIDTH = 300  # px; with both pictures, their reading and the bar of colours a window needs a height of 700 px
_JPEG_QUALITY = 85
_PIXEL = re.compile(r"(\d{1,5})\s*[, ]\s*(\d{1,5})\s*px", re.ASCII)
_STEPS = {"depth": 0.1, "disparity": 0.1, "sigma": 0.01}  # as many digits can be typed


class ImagePanel(Panel):
    """A panel of its own at the left edge, with the ranges of the colours below the images."""

    def __init__(self, page: Page):
        super().__init__(page)
        gui = page.gui
        self._has_ranges = False
        self._field_pixel: Pixel | None = None  # the pixel that the field names
        self._is_fit_requested = threading.Event()
        self._panel = panel = gui.add_panel()
        with panel.add_tab("Pictures"):
            self._warnings = gui.add_html("")  # above the depth, where the user looks
            blank = np.full((30, 40, 3), UNKNOWN_ON_DARK, np.uint8)
            # Images that come without raw cameras are said to be rectified; whether they are, nobody has made sure.
            caption = "Left image, as rectified" if isinstance(page.stream.camera, Rectifier) else "Left image"
            self._left = gui.add_image(blank, label=caption, format="jpeg", jpeg_quality=_JPEG_QUALITY)
            self._values = gui.add_html("")  # between the pictures, where even a low window shows it
            choice = gui.add_dropdown("Map", page.map_names, initial_value=page.map_names[0])
            page.on_change(choice, lambda event: page.change_display(shown_map=choice.value))
            self._map = gui.add_image(blank, format="jpeg", jpeg_quality=_JPEG_QUALITY)
            self._bars = gui.add_html("")
            self._pixel = gui.add_text(
                PIXEL_LABEL, "", hint='Click a picture, or type column and row: "120, 80 px".  Empty: none.'
            )
            page.on_change(self._pixel, self._take_pixel)
            with gui.add_folder("Colour ranges"):
                self._ranges = {
                    name: gui.add_vector2(
                        f"{name.capitalize()}, {unit_of(name, page.rig)}", (0.0, 1.0), step=_STEPS[name]
                    )
                    for name in page.map_names
                    if name != "probability"
                }
                fit = gui.add_button("Fit to this frame", hint="Sets the ranges to the values of the current frame.")
        for control in self._ranges.values():
            page.on_change(control, lambda event: self._take_ranges())
        fit.on_click(page.answering(fit.label, lambda event: self._request_fit()))
        panel.dock_left()
        panel.set_width(PANEL_WIDTH)

    def show_frame(self, maps: FrameMaps) -> None:
        self._fit(maps)
        display = self._page.display
        name = display.shown_map
        step = max(1, -(-maps.frame.left.shape[1] // MAX_WIDTH))
        self._left.image = as_rgb_bytes(maps.frame.left[::step, ::step])
        self._map.image = colored(name, maps[name][::step, ::step], display.range_of(name))
        bars = [self._bar("Map", name)]
        if display.cloud_color not in ("image", name) and self._page.rig is not None:
            bars.append(self._bar("Cloud", display.cloud_color, has_unknown=False))
        self._bars.content = "".join(bars)
        self._values.content = reading(pixel_text(maps, *self._page.newest_and_before)[0]) + size_mark(maps)
        if self._page.pixel != self._field_pixel:  # a point of the cloud was clicked
            self._field_pixel = self._page.pixel
            self._pixel.value = "" if self._page.pixel is None else "{}, {} px".format(*self._page.pixel)

    def refresh(self) -> None:
        text = warnings_text(self._page.warnings)
        if text and not self._warnings.content:
            self._panel.expand()  # a user may have minimised it
        self._warnings.content = text

    def _take_pixel(self, event: Any) -> None:
        """Select the pixel that was clicked or typed: only what ends with px is complete."""
        text = self._pixel.value.strip()
        if event.client is None or (text and not text.endswith("px")):
            return
        pixel = None
        if text:
            found, shown = _PIXEL.fullmatch(text), self._page.shown
            if found is None:
                raise ValueError(f"{text!r} is no pixel; expected column and row, such as 120, 80 px")
            pixel = int(found[1]), int(found[2])
            height, width = (0, 0) if shown is None else shown.result.disparity.shape
            if pixel[0] >= width or pixel[1] >= height:
                raise ValueError(f"{text} is outside the picture of {width}x{height} px")
        self._field_pixel = pixel
        self._page.select(pixel)

    def _bar(self, what: str, name: str, has_unknown: bool = True) -> str:
        unit, value_range = unit_of(name, self._page.rig), self._page.display.range_of(name)
        return color_bar(f"{what}: {name}", name, unit, value_range, has_unknown)

    def _fit(self, maps: FrameMaps) -> None:
        """Set the ranges from the first frame with any known pixel, and again when the button was pressed."""
        if self._has_ranges and not self._is_fit_requested.is_set():
            return
        self._is_fit_requested.clear()
        if not maps.result.known.any():
            return
        self._has_ranges = True
        ranges = {name: maps.fitted_range(name) for name in self._ranges}
        self._page.change_display(ranges=ranges)
        for name, control in self._ranges.items():
            control.value = ranges[name]
            self._page.show_message(control.label, None)

    def _request_fit(self) -> None:
        self._is_fit_requested.set()
        self._page.needs_redraw = True

    def _take_ranges(self) -> None:
        ranges = {name: control.value for name, control in self._ranges.items()}
        if ranges != self._page.display.ranges:
            self._page.change_display(ranges=ranges)
