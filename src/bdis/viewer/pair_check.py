"""Checks now and then whether the pictures can be a pair, so that the page warns of what the matcher cannot see."""

from __future__ import annotations

import threading
import time

from ..cameras.checks import check_rectification
from ..video.stream.depth_stream import DepthFrame, DepthStream

CHECK_S = 2.0  # between two checks while frames come
LARGEST_SHARE = 0.1  # of the time; a check that takes longer comes less often
_LOOK_S = 0.1  # how soon a new frame is noticed


class PairCheck:
    """Checks the newest frame in a thread of its own: finding features takes longer than matching.

    Parameters
    ----------
    stream : DepthStream
        Where the frames come from; while it is paused, a new one is checked at once.

    Attributes
    ----------
    newest : DepthFrame or None
        What is to be checked; assign the frame that is displayed.
    """

    def __init__(self, stream: DepthStream):
        self._stream = stream
        self.newest: DepthFrame | None = None
        self._found: tuple[str, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bdis-viewer-check", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the latest check has found."""
        return self._found

    def _run(self) -> None:
        checked: DepthFrame | None = None
        due_s = 0.0
        while not self._stop.wait(_LOOK_S):
            frame, now = self.newest, time.monotonic()
            if frame is None or frame is checked or not (now >= due_s or self._stream.is_paused):
                continue
            self._found, checked = pair_warnings(frame), frame
            due_s = now + max(CHECK_S, (time.monotonic() - now) / LARGEST_SHARE)


def pair_warnings(frame: DepthFrame) -> tuple[str, ...]:
    """What the result and features of both pictures show: swapped, not rectified, the same twice, or not a pair.

    Parameters
    ----------
    frame : DepthFrame
        A matched pair.

    Returns
    -------
    tuple of str
    """
    try:
        return check_rectification(frame.left, frame.right, frame.result).warnings
    except Exception as error:  # the view goes on without the check, but not in silence
        return (f"whether the pictures are a rectified pair could not be checked: {error}",)
