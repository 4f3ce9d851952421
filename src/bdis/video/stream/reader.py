"""Reads the frames of a stream: pause, seek, playback speed, retries."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..sources import BadFrame, Source, SourceLost, StereoFrame
from .clock import PlaybackClock
from .statistics import StatisticsCollector

FIRST_RETRY_S, LONGEST_RETRY_S = 0.5, 10.0
AtEnd = Literal["stop", "loop", "wait"]


@dataclass(frozen=True)
class QueuedFrame:
    """A frame on its way through a stream.

    Attributes
    ----------
    frame : StereoFrame
        As the source delivered it; its images are replaced by the rectified ones.
    read_s, rectify_s : float
        Time that each step took, seconds.
    arrived_s : float
        When the source had it, on the clock of ``time.perf_counter``.
    seek_count : int
        Number of seeks before it was read; frames from before the latest seek are discarded.
    is_repeated : bool
        It was matched before with other settings.
    lost_before : int
        Frames that were lost since the one before it.
    """

    frame: StereoFrame
    read_s: float
    arrived_s: float
    seek_count: int
    rectify_s: float = 0.0
    is_repeated: bool = False
    lost_before: int = 0


class Reader:
    """Reads frames from a source.  One thread calls :meth:`read`; other threads may call the other methods.

    Parameters
    ----------
    source : Source
        Where the frames come from.
    statistics : StatisticsCollector
        Counts damaged frames and retries.
    report : callable
        Called with a sentence for every lost frame and every retry, and with the warnings of the source.
    discard_queued : callable
        Called without arguments after a seek, to discard the frames that were read before it.
    start_s, start_index, stop_s, every, paced, at_end
        As in :class:`bdis.DepthStream`.

    Attributes
    ----------
    is_paused : bool
        Frames are let through only by :meth:`step` and :meth:`seek`.
    paced, at_end
        May be changed at any time.
    seek_count : int
        Number of seeks so far.

    Examples
    --------
    >>> from bdis.video.sources import open_source
    >>> source = open_source("render:plane,frames=5,height=32,width=48")
    >>> reader = Reader(source, StatisticsCollector(), print, lambda: None, start_s=0.04, every=2)
    >>> reader.read().frame.index, reader.read().frame.index, reader.read()
    (1, 3, None)
    """

    def __init__(
        self,
        source: Source,
        statistics: StatisticsCollector,
        report: Callable[[str], None],
        discard_queued: Callable[[], None],
        *,
        start_s: float = 0.0,
        start_index: int | None = None,
        stop_s: float | None = None,
        every: int = 1,
        paced: bool = False,
        at_end: AtEnd = "stop",
    ):
        _check_count("every", every)
        if at_end not in get_args(AtEnd):
            raise ValueError(f"at_end is {at_end!r}; expected one of {', '.join(map(repr, get_args(AtEnd)))}")
        _check_time("start_s", start_s, or_infinite=False)
        if stop_s is not None:
            _check_time("stop_s", stop_s, or_infinite=True)
        self.source, self.start_s, self.paced, self.at_end = source, start_s, paced, at_end
        self._start_index, self._stop_s, self._every = start_index, stop_s, every
        self._statistics, self._report, self._discard_queued = statistics, report, discard_queued
        self._changed = threading.Condition()
        self._clock = PlaybackClock()
        self._is_stopping = self.is_paused = False
        self._steps = 0  # frames to let through although paused
        # Time and index of the next seek.
        self._target: tuple[float, int | None] | None = (start_s, start_index) if start_s > 0 else None
        self._count = 0  # frames read since the last seek
        self._has_read = False  # any frame at all
        self._told: list[str] = []  # warnings of the source
        self._lost = 0  # frames since the last one that was let through
        self.seek_count = 0

    def read(self) -> QueuedFrame | None:
        """Read the next frame; blocks while paused, and until the frame is due if ``paced``.

        Returns
        -------
        QueuedFrame or None
            None at the end, or after :meth:`stop`.
        """
        while self._wait_until_allowed():
            begin = time.perf_counter()
            frame = self._next_frame()
            arrived = time.perf_counter()
            if frame is None or (self._stop_s is not None and frame.time_s >= self._stop_s):
                if not self._continues_after_end():
                    return None
                continue
            for text in self.source.warnings:  # some show only after a few frames
                if text not in self._told:
                    self._told.append(text)
                    self._report(text)
            self._count, self._has_read = self._count + 1, True
            if (self._count - 1) % self._every:
                continue
            with self._changed:
                self._steps = max(0, self._steps - 1)
            read_s = arrived - begin
            self._statistics.add_time("read", read_s)
            if self.paced and not self.source.is_live and not self.is_paused:
                self._sleep(self._clock.wait_s(frame.time_s))
                arrived = time.perf_counter()
            lost, self._lost = self._lost, 0
            return QueuedFrame(frame, read_s, arrived, self.seek_count, lost_before=lost)
        return None

    # ------------------------------------------------------------ control, from any thread

    def stop(self) -> None:
        """Make :meth:`read` return None as soon as possible."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    def pause(self) -> None:
        """Let no more frames through."""
        with self._changed:
            self.is_paused, self._steps = True, 0

    def play(self) -> None:
        """Continue after :meth:`pause`."""
        with self._changed:
            self.is_paused = False
            self._changed.notify_all()

    def step(self) -> None:
        """Pause, and let one more frame through."""
        with self._changed:
            self.is_paused = True
            self._steps += 1
            self._changed.notify_all()

    def seek(self, time_s: float) -> None:
        """Continue with the frame at ``time_s``, which is let through even while paused.

        Raises
        ------
        ValueError
            The source is live, or the time is not a number.
        """
        self.source.check_seekable()
        if not math.isfinite(time_s):  # the reading thread would end with it
            raise ValueError(f"cannot seek to {time_s} s; expected a number of seconds")
        with self._changed:
            self._target = (time_s, None)
            self._steps = 1 if self.is_paused else 0
            self._changed.notify_all()

    # ------------------------------------------------------------ inside

    def _next_frame(self) -> StereoFrame | None:
        """The next frame that can be read.  A lost live source is opened again, at growing intervals."""
        wait_s = FIRST_RETRY_S
        while not self._is_stopping:
            try:
                return self.source.read()
            except BadFrame as error:
                self._statistics.add_damaged(error.count)
                self._lost += error.count
                self._report(f"{self.source.name}: {error}{'; skipped' if error.count else ''}")
            except SourceLost as error:
                self._statistics.add_retry()
                self._report(f"{error}; trying again in {wait_s:g} s")
                self.source.close()
                self._sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_RETRY_S)
        return None

    def _wait_until_allowed(self) -> bool:
        """Wait while paused, then seek if that was asked for; False if the reader was stopped."""
        with self._changed:
            while self.is_paused and not self._steps and self._target is None and not self._is_stopping:
                self._changed.wait()
                self._clock.reset()
            target, self._target = self._target, None
        if target is not None:
            self.seek_count += 1
            self._count = 0
            self._discard_queued()
            self._clock.reset()
            self.source.seek(*target)
        return not self._is_stopping

    def _continues_after_end(self) -> bool:
        """At the end of the source: start again ("loop"), or pause until a seek ("wait"); False for "stop"."""
        self._clock.reset()
        if self.at_end == "loop" and self._has_read:
            self.source.seek(self.start_s, self._start_index)
        elif self.at_end == "wait":
            self.pause()
        else:
            return False
        return True

    def _sleep(self, seconds: float) -> None:
        """Sleep; a stop or a seek ends it early."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopping or self._target is not None, max(0.0, seconds))


def _check_count(name: str, count: object) -> None:
    """Raise TypeError or ValueError if an option is not a positive whole number."""
    if not isinstance(count, int | np.integer):
        raise TypeError(f"{name} is {count!r}; expected a whole number")
    if count < 1:
        raise ValueError(f"{name} is {count}; expected 1 or more")


def _check_time(name: str, time_s: object, *, or_infinite: bool) -> None:
    """Raise TypeError or ValueError if an option is not a number of seconds."""
    if not isinstance(time_s, int | float | np.number):
        raise TypeError(f"{name} is {time_s!r}; expected a number of seconds")
    if np.isnan(time_s) or (np.isinf(time_s) and not or_infinite):
        raise ValueError(f"{name} is {time_s}; expected a number of seconds")
