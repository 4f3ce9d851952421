"""The controls of a video: play, pause, step, seek, speed and loop."""

from __future__ import annotations

import time
from typing import Any

from ..video.stream.depth_stream import DepthFrame, DepthStream

HOLD_S = 1.0  # after someone moved the slider it is left alone for so long


class Playback:
    """A folder of the page; of a live source it only holds and goes on."""

    def __init__(self, gui: Any, stream: DepthStream):
        self._stream = stream
        self._is_at_end = False
        source = stream.source
        self._is_single = source.length == 1
        self._duration_s = (source.length - 1) / source.fps if source.length and source.fps else 0.0
        if self._is_single:
            return
        buttons = ("Play", "Pause") if source.is_live else ("Play", "Pause", "Step", "Restart")
        self._place: Any = None
        self._moved_s = 0.0
        with gui.add_folder("Playback"):
            gui.add_button_group("Video", buttons).on_click(lambda event: self._press(event.target.value))
            if source.is_live:
                return
            if self._duration_s > 0:
                self._place = gui.add_slider(
                    "Time, s", min=0.0, max=round(self._duration_s, 3), step=round(1 / (source.fps or 25), 4),
                    initial_value=min(max(stream.reader.start_s, 0.0), round(self._duration_s, 3)),
                )  # fmt: skip
                self._place.on_update(self._seek)
            self._paced = gui.add_checkbox(
                "Own speed", stream.reader.paced, hint="Off: as fast as the depth is computed."
            )
            self._paced.on_update(self._set_pace)
            self._loop = gui.add_checkbox("Loop", stream.reader.at_end == "loop", hint="Off: hold at the end.")
            self._loop.on_update(self._set_loop)

    def show(self, frame: DepthFrame) -> None:
        """Move the slider to the frame that is shown."""
        length = self._stream.source.length
        self._is_at_end = length is not None and frame.index >= length - 1
        if self._is_single or self._place is None or time.monotonic() - self._moved_s < HOLD_S:
            return
        self._place.value = min(round(frame.time_s, 3), self._place.max)

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
        if event.client is not None:  # else it was moved by `show`
            self._moved_s = time.monotonic()
            self._stream.seek(float(self._place.value))

    def _set_pace(self, event: Any) -> None:
        self._stream.reader.paced = self._paced.value

    def _set_loop(self, event: Any) -> None:
        self._stream.reader.at_end = "loop" if self._loop.value else "wait"
