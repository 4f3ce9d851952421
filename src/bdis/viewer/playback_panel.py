"""The controls of a video: play, pause, step, seek, speed, loop, and whether frames are averaged."""

from __future__ import annotations

import time
from typing import Any

from ..video.sources.source import DEFAULT_FPS
from .page import Page, Panel

HOLD_S = 1.0  # after a user has moved the time slider, it does not follow the video for this long


class PlaybackPanel(Panel):
    """The folder "Playback"; of a live source it has only Play, Pause and the average, of a single image nothing."""

    def __init__(self, page: Page):
        super().__init__(page)
        self._stream = stream = page.stream
        source = stream.source
        self._is_at_end = False
        self._slider: Any = None
        self._moved_s = 0.0
        if source.length == 1:
            return
        duration_s = (source.length - 1) / source.fps if source.length and source.fps else 0.0
        buttons = ("Play", "Pause") if source.is_live else ("Play", "Pause", "Step", "Restart")
        gui = page.gui
        with gui.add_folder("Playback"):
            page.on_press(gui.add_button_group("Video", buttons), lambda button, browser: self._press(button))
            self._average = gui.add_checkbox(
                "Average frames", stream.video, hint="Where the picture stands still.  Off: every frame by itself."
            )
            page.on_change(self._average, self._set_average)
            if source.is_live:
                return
            if duration_s > 0:
                self._slider = gui.add_slider(
                    "Time, s", min=0.0, max=round(duration_s, 3), step=round(1 / (source.fps or DEFAULT_FPS), 4),
                    initial_value=min(max(stream.reader.start_s, 0.0), round(duration_s, 3)),
                )  # fmt: skip
                page.on_change(self._slider, self._seek)
            self._paced = gui.add_checkbox(
                "Own speed", stream.reader.paced, hint="Off: as fast as the depth can be computed."
            )
            page.on_change(self._paced, self._set_paced)
            self._loop = gui.add_checkbox("Loop", stream.reader.at_end == "loop", hint="Off: pause at the end.")
            page.on_change(self._loop, self._set_loop)

    def refresh(self) -> None:
        """Move the slider to the newest frame."""
        frame, length = self._page.receiver.newest, self._stream.source.length
        if frame is None:
            return
        self._is_at_end = length is not None and frame.index >= length - 1
        if self._slider is not None and time.monotonic() - self._moved_s >= HOLD_S:
            self._slider.value = min(round(frame.time_s, 3), self._slider.max)

    def _press(self, button: str) -> None:
        if button == "Pause":
            self._stream.pause()
        elif button == "Step":
            self._stream.step()
        elif button == "Restart":
            self._stream.seek(self._stream.reader.start_s)
        else:
            if self._is_at_end and self._stream.is_paused:
                self._stream.seek(self._stream.reader.start_s)
            self._stream.play()

    def _seek(self, event: Any) -> None:
        if event.client is not None:  # else it was moved by `refresh`
            self._moved_s = time.monotonic()
            self._stream.seek(float(self._slider.value))

    def _set_average(self, event: Any) -> None:
        self._stream.video = self._average.value

    def _set_paced(self, event: Any) -> None:
        self._stream.reader.paced = self._paced.value

    def _set_loop(self, event: Any) -> None:
        self._stream.reader.at_end = "loop" if self._loop.value else "wait"
