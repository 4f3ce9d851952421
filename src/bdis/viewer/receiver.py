"""Takes the frames from a stream, so that no browser can slow it down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..matching.matcher import StereoMatcher
from ..video.stream.depth_stream import DepthFrame, DepthStream

QUIET_S = 1.5  # without a frame, before the page says what it may be waiting for
_PREPARING = "Preparing the matcher for these settings; the first time on a machine this takes some seconds."
_WAITING = "Waiting for a frame.  The first match on a machine takes some seconds longer."


class FrameReceiver:
    """Takes every frame of a stream in a thread of its own and keeps the newest.

    Parameters
    ----------
    stream : DepthStream
        Not started yet.
    on_frame : callable, optional
        Called with every frame; must return at once.

    Attributes
    ----------
    newest : DepthFrame or None
        The newest frame; None before the first.
    error : BaseException or None
        The exception that ended the stream.
    is_over : bool
        The stream has ended.
    """

    def __init__(self, stream: DepthStream, on_frame: Callable[[DepthFrame], None] | None = None):
        self.stream, self._on_frame = stream, on_frame
        self.newest: DepthFrame | None = None
        self.error: BaseException | None = None
        self.is_over = False
        self._has_frame = threading.Event()
        self._is_frame_due = True  # a frame must come even if the stream is paused
        self._last_frame_s = self._trial_began_s = 0.0
        self._is_trying = False
        self._thread = threading.Thread(target=self._receive, name="bdis-viewer-receive", daemon=True)

    def start(self) -> None:
        """Start the stream."""
        self._last_frame_s = time.monotonic()
        self._thread.start()

    def close(self) -> None:
        """End the stream and the thread."""
        self.stream.close()
        if self._thread.is_alive():
            self._thread.join()

    def wait_for_frame(self, timeout_s: float) -> bool:
        """Wait for the first frame; True if there is one."""
        return self._has_frame.wait(timeout_s)

    def use(self, matcher: StereoMatcher) -> None:
        """Use another matcher for the stream, after it has matched the newest frame.

        The trial shows whether the settings suit the size of the images, and compiles what they need, without holding
        up the stream.

        Raises
        ------
        ValueError
            The matcher cannot be used for these images.
        """
        frame = self.newest
        if frame is not None:
            self._trial_began_s, self._is_trying = time.monotonic(), True
            try:
                matcher.match(frame.left, frame.right)
            finally:
                self._is_trying = False
        self._is_frame_due, self._last_frame_s = True, time.monotonic()
        self.stream.use(matcher)

    def status(self) -> tuple[str, str] | None:
        """Message about the state of the stream and its kind ("error" or "busy"); None if all is well."""
        now = time.monotonic()
        if self.error is not None:
            return f"The stream has ended: {self.error}", "error"
        if self.is_over:
            return "The stream has ended.", "busy"
        if self._is_trying and now - self._trial_began_s > QUIET_S:
            return _PREPARING, "busy"
        if (self._is_frame_due or not self.stream.is_paused) and now - self._last_frame_s > QUIET_S:
            return _WAITING, "busy"
        return None

    def _receive(self) -> None:
        try:
            for frame in self.stream:
                self.newest, self._is_frame_due = frame, False
                self._last_frame_s = time.monotonic()
                self._has_frame.set()
                if self._on_frame is not None:
                    self._on_frame(frame)
        except BaseException as error:
            self.error = error
        self.is_over = True
