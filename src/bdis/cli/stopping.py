"""Ctrl-C and SIGTERM that let the work at hand be finished."""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GentleStop:
    """While it is entered, the first signal calls ``stop`` from another thread; the second one ends at once.

    Parameters
    ----------
    stop : asks the work to end; it may wait for it

    Attributes
    ----------
    signal : number of the signal that came, or None
    """

    def __init__(self, stop: Callable[[], None]):
        self.signal: int | None = None
        self._stop = stop
        self._wake = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="bdis_stop", daemon=True)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._watcher.start()
        if threading.current_thread() is threading.main_thread():  # no other may handle signals
            self._before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._wake.set()
        self._watcher.join()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            sys.exit(128 + number)
        self.signal = number
        self._wake.set()

    def _watch(self) -> None:
        self._wake.wait()
        if self.signal is not None:
            self._stop()
