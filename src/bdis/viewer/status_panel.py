"""The top of the page: warnings, messages, state of the stream, statistics; on a phone also the values of a pixel."""

from __future__ import annotations

from ..video.sources import RenderedSource
from .frame_maps import FrameMaps
from .html_text import notice, page_script, pixel_text, reading, statistics_text, warnings_text
from .page import Page, Panel

_NO_DEPTH = (
    "No calibration, so no depth: give --calib FILE, or --focal PX and --baseline MM.  The disparity is shown instead."
)


class StatusPanel(Panel):
    """Warnings, messages of the other panels, what the stream is doing, and statistics."""

    def __init__(self, page: Page):
        super().__init__(page)
        page.gui.add_html(page_script(page.title))
        self._messages = page.gui.add_html("")
        self._values = page.gui.add_html("")
        self.status = page.gui.add_html("")
        self._statistics = page.gui.add_html("")

    def show_frame(self, maps: FrameMaps) -> None:
        self._values.content = reading(pixel_text(maps, *self._page.newest_and_before)[0], is_for_phones=True)

    def refresh(self) -> None:
        page = self._page
        is_video = page.stream.source.length != 1
        self._statistics.content = statistics_text(page.stream.statistics(), page.shown, is_video)
        self._messages.content = warnings_text(page.warnings) + page.messages()
        status = page.receiver.status()
        source = page.stream.source
        if status is None and page.rig is None:
            status = _NO_DEPTH, "busy"
        elif status is None and isinstance(source, RenderedSource) and source.missing:
            status = f"Rendering the scene, {source.missing} frames to go; until then it runs to and fro.", "busy"
        self.status.content = "" if status is None else notice(*status)
