"""The top of the page: state of the stream, messages, statistics."""

from __future__ import annotations

from ..matching.pictures import differing_rows
from .html_text import notice, statistics_text, tab_title
from .page import Page, Panel

_NO_DEPTH = (
    "No calibration, so no depth: give --calib FILE, or --focal PX and --baseline MM.  The disparity is shown instead."
)


class StatusPanel(Panel):
    """What the stream is doing, messages of the other panels, and statistics."""

    def __init__(self, page: Page):
        super().__init__(page)
        page.gui.add_html(tab_title(page.title))
        self.status = page.gui.add_html("")
        self._messages = page.gui.add_html("")
        self._statistics = page.gui.add_html("")

    def refresh(self) -> None:
        page = self._page
        is_video = page.stream.source.length != 1
        self._statistics.content = statistics_text(page.stream.statistics(), page.shown, is_video)
        rows = "" if page.shown is None else differing_rows(page.shown.result)
        page.show_message("rows", None if not rows else f"{rows[0].upper()}{rows[1:]}.", "busy")
        self._messages.content = page.messages()
        status = page.receiver.status()
        if status is None and page.rig is None:
            status = _NO_DEPTH, "busy"
        self.status.content = "" if status is None else notice(*status)
