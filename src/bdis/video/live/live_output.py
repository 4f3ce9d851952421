"""The interface of everything that gets depth frames while they are matched."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import Self

from ..stream.depth_stream import DepthFrame

STOP_S = 5.0  # a peer that takes longer is abandoned: nothing waits for it

logger = logging.getLogger(__name__)


class NobodyListens(Exception):
    """Raised by ``_send`` if no program is connected."""


class LiveOutput(ABC):
    """Sends frames to another program, from a thread of its own: the matching never waits for it.

    Only the newest frame waits to be sent.  One that is replaced before its turn came is dropped and counted, as is one
    that could not be sent.

    A new kind is a file in this folder with a subclass that defines ``_send``, and ``_close`` if it holds a connection.

    Attributes
    ----------
    name : str
        For messages.
    sent : int
        Frames that were sent.
    dropped : int
        Frames that were not.
    unheard : int
        Frames that came while no program was connected.
    risk : str
        Who can read what is sent although nobody asked for it, as a warning; empty if nobody can.

    Examples
    --------
    >>> class Printed(LiveOutput):
    ...     name = "the terminal"
    ...
    ...     def _send(self, frame):
    ...         print(frame)
    >>> with Printed() as output:
    ...     output.offer("a frame")
    a frame
    >>> output.sent, output.dropped
    (1, 0)
    """

    name: str
    risk = ""

    def __init__(self) -> None:
        self.sent = self.dropped = self.unheard = 0
        self._newest: DepthFrame | None = None
        self._is_closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"bdis {type(self).__name__}", daemon=True)
        self._thread.start()

    @abstractmethod
    def _send(self, frame: DepthFrame) -> None:
        """Send a frame; OSError or ValueError if that fails, and the next one is tried again.

        NobodyListens if there is no program to send it to.
        """

    def _close(self) -> None:
        """Release what was opened; called once, from the thread that sends."""
        return None

    def offer(self, frame: DepthFrame) -> None:
        """Hand over a frame; returns at once.

        Parameters
        ----------
        frame : DepthFrame
            It must not be changed afterwards.
        """
        with self._changed:
            if self._is_closing:
                return
            if self._newest is not None:
                self.dropped += 1
            self._newest = frame
            self._changed.notify()

    def close(self) -> None:
        """Send the frame that waits, and end; returns after ``STOP_S`` even if the other program hangs."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(STOP_S)
        if self._thread.is_alive():
            logger.warning("%s does not take its last frame; it is left behind", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> None:
        is_failing = False
        try:
            while (frame := self._take()) is not None:
                try:
                    self._send(frame)
                    self.sent += 1
                    is_failing = False
                except NobodyListens:
                    self.unheard += 1
                except (OSError, ValueError) as error:
                    self.dropped += 1
                    if not is_failing:  # said once, not with every frame
                        logger.warning("%s: a frame was not sent: %s", self.name, error)
                    is_failing = True
        finally:
            self._close()

    def _take(self) -> DepthFrame | None:
        """Wait for a frame; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is not None or self._is_closing)
            frame, self._newest = self._newest, None
            return frame
