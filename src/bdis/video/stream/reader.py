"""Reading the frames of a stream: paused, sought, at its own speed, tried again; one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..sources import BadFrame, Source, SourceLost, StereoFrame
from .clock import Pace
from .statistics import Meter

FIRST_RETRY_S, LONGEST_RETRY_S = 0.5, 10.0
AtEnd = Literal["stop", "loop", "wait"]


@dataclass(frozen=True)
class Arrival:
    """A frame that was read.

    Attributes
    ----------
    frame : as the source has it, or later rectified
    read_s, rectify_s : what that took
    arrived_s : when the source had it, on the clock of ``time.perf_counter``
    take : a seek begins a new take; what is still on its way from the one before is thrown away
    again : it was matched before, with other settings
    """

    frame: StereoFrame
    read_s: float
    arrived_s: float
    take: int
    rectify_s: float = 0.0
    again: bool = False


class Reader:
    """Takes frames from a source; one thread calls :meth:`read`, others steer it.

    Parameters
    ----------
    source, start_s, start_index, stop_s, every, paced, at_end : as in :class:`bdis.DepthStream`
    meter : counts what is damaged and tried again
    report : called with a sentence for every frame that is lost and every retry
    throw_away : called when a seek makes what is on its way worthless

    Examples
    --------
    >>> from bdis.video.sources import open_source
    >>> source = open_source("render:plane,frames=5,height=32,width=48")
    >>> reader = Reader(source, Meter(), print, lambda: None, start_s=0.04, every=2)
    >>> reader.read().frame.index, reader.read().frame.index, reader.read()
    (1, 3, None)
    """

    def __init__(
        self,
        source: Source,
        meter: Meter,
        report: Callable[[str], None],
        throw_away: Callable[[], None],
        *,
        start_s: float = 0.0,
        start_index: int | None = None,
        stop_s: float | None = None,
        every: int = 1,
        paced: bool = False,
        at_end: AtEnd = "stop",
    ):
        if every < 1:
            raise ValueError(f"every is {every}; expected 1 or more")
        self.source, self.start_s, self.paced, self.at_end = source, start_s, paced, at_end
        self._start_index, self._stop_s, self._every = start_index, stop_s, every
        self._meter, self._report, self._throw_away = meter, report, throw_away
        self._control = threading.Condition()
        self._pace = Pace()
        self._is_stopping = self.is_paused = False
        self._steps = 0  # frames to let through although paused
        self._wanted: tuple[float, int | None] | None = (start_s, start_index) if start_s > 0 else None
        self._count = 0  # frames since the last seek
        self._has_read = False  # anything at all
        self.take = 0

    def read(self) -> Arrival | None:
        """The next frame whose turn it is, when it is its turn; None when it is over."""
        while self._wait_for_turn():
            begin = time.perf_counter()
            frame = self._next_frame()
            arrived = time.perf_counter()
            if frame is None or (self._stop_s is not None and frame.time_s >= self._stop_s):
                if not self._goes_on_after_end():
                    return None
                continue
            self._count, self._has_read = self._count + 1, True
            if (self._count - 1) % self._every:
                continue
            with self._control:
                self._steps = max(0, self._steps - 1)
            read_s = arrived - begin
            self._meter.time("read", read_s)
            if self.paced and not self.source.is_live and not self.is_paused:
                self._sleep(self._pace.wait_s(frame.time_s))
                arrived = time.perf_counter()
            return Arrival(frame, read_s, arrived, self.take)
        return None

    # ------------------------------------------------------------ for the one who steers

    def stop(self) -> None:
        """Let :meth:`read` come to its end."""
        with self._control:
            self._is_stopping = True
            self._control.notify_all()

    def pause(self) -> None:
        with self._control:
            self.is_paused, self._steps = True, 0

    def play(self) -> None:
        with self._control:
            self.is_paused = False
            self._control.notify_all()

    def step(self) -> None:
        """Let one frame through, and hold."""
        with self._control:
            self.is_paused = True
            self._steps += 1
            self._control.notify_all()

    def seek(self, time_s: float) -> None:
        """Go on with the frame at ``time_s``, which is also let through while paused."""
        if self.source.is_live:
            raise ValueError(f"{self.source.name} is live: there is nothing to go back to")
        with self._control:
            self._wanted = (time_s, None)
            self._steps = 1 if self.is_paused else 0
            self._control.notify_all()

    # ------------------------------------------------------------ inside

    def _next_frame(self) -> StereoFrame | None:
        """The next frame that can be had; a source that is lost is tried again, less and less often."""
        wait_s = FIRST_RETRY_S
        while not self._is_stopping:
            try:
                return self.source.read()
            except BadFrame as error:
                self._meter.damaged(error.count)
                self._report(f"{self.source.name}: {error}; skipped")
            except SourceLost as error:
                self._meter.retried()
                self._report(f"{error}; trying again in {wait_s:g} s")
                self.source.close()
                self._sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_RETRY_S)
        return None

    def _wait_for_turn(self) -> bool:
        """Wait while paused, and go where a seek wants; False if it is over."""
        with self._control:
            while self.is_paused and not self._steps and self._wanted is None and not self._is_stopping:
                self._control.wait()
                self._pace.reset()
            wanted, self._wanted = self._wanted, None
        if wanted is not None:
            self.take += 1
            self._count = 0
            self._throw_away()
            self._pace.reset()
            self.source.seek(*wanted)
        return not self._is_stopping

    def _goes_on_after_end(self) -> bool:
        """The end was reached: begin again, or wait for a seek, or do neither."""
        self._pace.reset()
        if self.at_end == "loop" and self._has_read:
            self.source.seek(self.start_s, self._start_index)
        elif self.at_end == "wait":
            with self._control:
                self.is_paused, self._steps = True, 0
        else:
            return False
        return True

    def _sleep(self, seconds: float) -> None:
        """Wait, but not when it is time to stop or to go elsewhere."""
        with self._control:
            self._control.wait_for(lambda: self._is_stopping or self._wanted is not None, max(0.0, seconds))
