"""Ctrl-C, SIGTERM and a closed terminal (SIGHUP) that let the current work be finished."""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self


def stopping_signals() -> list[signal.Signals]:
    """The signals that end a command, without those that are ignored, as SIGHUP is after ``nohup``."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    numbers = [signal.Signals[name] for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


class StopOnSignal:
    """Context manager: the first signal asks the work to stop, the second one ends the process at once.

    Parameters
    ----------
    stop : callable
        Asks the work to stop. It is called in another thread, so it may wait.

    Attributes
    ----------
    signal : int or None
        Number of the signal received.
    """

    def __init__(self, stop: Callable[[], None]):
        self.signal: int | None = None
        self._stop = stop
        self._wake = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="bdis_stop", daemon=True)
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._watcher.start()
        if threading.current_thread() is threading.main_thread():  # Python lets no other thread handle signals
            self._previous_handlers = {number: signal.signal(number, self._handle) for number in stopping_signals()}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._wake.set()
        self._watcher.join()

    def _handle(self, number: int, frame: FrameType | None) -> None:
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
