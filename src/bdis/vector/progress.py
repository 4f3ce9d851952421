"""Tell the user what a first call is doing: compiling kernels takes seconds, once per machine.

By default one line on the terminal; a program with a display of its own (the ``bdis`` command) installs another
reporter with :func:`reporting_with`.
"""

import contextlib
import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TextIO

log = logging.getLogger("bdis")

Report = Callable[[int, int, str], None]  # how many kernels are done, of how many, and which are being compiled
Reporter = Callable[[], AbstractContextManager[Report]]  # entered when compiling begins, left when it ends

DELAY_S = 1.0  # nothing is shown of what takes less
_START_OF_LINE_AND_ERASE = "\r\x1b[K"


class Progress:
    """Counts kernels that are compiled, and reports it.

    Parameters
    ----------
    total : int
        Kernels to compile.
    report : callable
        Called as ``report(done, total, names)`` whenever a kernel begins or ends, one call at a time.
    is_unwanted : Event
        Nothing is reported once it is set.
    """

    def __init__(self, total: int, report: Report, is_unwanted: threading.Event):
        self._total, self._report, self._is_unwanted = total, report, is_unwanted
        self._done = 0
        self._names: list[str] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one(self, name: str) -> Iterator[None]:
        """While one kernel is compiled; it does not count as done if an exception leaves this block."""
        begin = time.perf_counter()
        self._change(0, name, self._names.append)
        done = 0
        try:
            yield
            done = 1
            seconds = time.perf_counter() - begin
            log.info("compiled kernel %s in %.1f s, %d of %d", name, seconds, self._done + 1, self._total)
        finally:
            self._change(done, name, self._names.remove)

    def _change(self, done: int, name: str, change: Callable[[str], None]) -> None:
        with self._lock:
            self._done += done
            change(name)
            if not self._is_unwanted.is_set():
                self._report(self._done, self._total, ", ".join(self._names))


class _Line:
    """One line of a terminal, shown after :data:`DELAY_S` seconds, changed in place, erased at the end."""

    def __init__(self, stream: TextIO):
        self._stream, self._text = stream, ""
        self._lock = threading.Lock()
        self._is_shown = self._is_closed = False
        self._timer = threading.Timer(DELAY_S, self._show)
        self._timer.daemon = True
        self._timer.start()

    def report(self, done: int, total: int, names: str) -> None:
        with self._lock:
            now = f" ({names} ...)" if names else ""
            self._text = f"bdis: compiling kernels for this machine (once): {done} of {total}{now}"
            self._draw()

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._text = ""
            self._draw()
            self._is_closed = True

    def _show(self) -> None:
        with self._lock:
            self._is_shown = True
            self._draw()

    def _draw(self) -> None:
        if self._is_shown and not self._is_closed:
            text = self._text[: shutil.get_terminal_size().columns - 1]  # a longer one could not be erased
            with contextlib.suppress(OSError, ValueError):  # a closed terminal must not stop the work
                self._stream.write(_START_OF_LINE_AND_ERASE + text)
                self._stream.flush()


@contextlib.contextmanager
def line_on_terminal() -> Iterator[Report]:
    """The reporter of the library: one line if stderr is a terminal and no logging handler shows the messages there."""
    stream = sys.stderr
    if stream is None or not stream.isatty() or _is_logged():
        yield lambda done, total, names: None
        return
    line = _Line(stream)
    try:
        yield line.report
    finally:
        line.close()


def _is_logged() -> bool:
    """Does a logging handler show this module's messages?"""
    logger: logging.Logger | None = log
    if not log.isEnabledFor(logging.INFO):
        return False
    while logger is not None:
        for handler in logger.handlers:
            is_shown = not isinstance(handler, logging.NullHandler | logging.FileHandler)
            if is_shown and handler.level <= logging.INFO:
                return True
        logger = logger.parent if logger.propagate else None
    return False


_reporter: Reporter = line_on_terminal


def current() -> AbstractContextManager[Report]:
    """The installed reporter, to be entered."""
    return _reporter()


@contextlib.contextmanager
def reporting_with(reporter: Reporter) -> Iterator[None]:
    """Install another reporter for as long as this block runs, in all threads.

    Parameters
    ----------
    reporter : callable
        Returns a context manager that is entered when compiling begins and gives the function to call as
        ``report(done, total, names)``; it is not called when all kernels are in the cache.
    """
    global _reporter
    before, _reporter = _reporter, reporter
    try:
        yield
    finally:
        _reporter = before
