"""How a stream is doing: frames per second, latency, what was lost, memory."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

_SHORTEST_S, _STEP, _BINS = 1e-6, 1.02, 1200  # up to 2e4 s in steps of 2 %
RECENT_FRAMES = 30


@dataclass(frozen=True)
class Spread:
    """Median, 95th and 99th percentile of some times, ms; NaN before the first."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Figures:
    """How a stream is doing.

    Attributes
    ----------
    frames : delivered
    dropped : of a live source, because newer ones had come
    damaged : could not be read or used, or were missing
    suspect : delivered, but build on damaged ones
    retries : times a live source was opened again
    seconds : since the first frame was delivered
    fps : frames delivered per second, over all that time
    recent_fps : over the last 30 frames
    latency_ms : from when the source had a frame until it was delivered
    read_ms, rectify_ms, match_ms : time of the steps
    memory_mb : of the process, resident; NaN where the system does not say
    """

    frames: int
    dropped: int
    damaged: int
    suspect: int
    retries: int
    seconds: float
    fps: float
    recent_fps: float
    latency_ms: Spread
    read_ms: Spread
    rectify_ms: Spread
    match_ms: Spread
    memory_mb: float


class Histogram:
    """Times, in as much memory for a day of frames as for one; percentiles to 2 %.

    Examples
    --------
    >>> times = Histogram()
    >>> for milliseconds in range(1, 101):
    ...     times.add(milliseconds / 1e3)
    >>> round(times.spread().p50 / 5) * 5
    50
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)

    def add(self, seconds: float) -> None:
        place = int(np.log(max(seconds, _SHORTEST_S) / _SHORTEST_S) / np.log(_STEP))
        self._counts[min(place, _BINS - 1)] += 1

    def spread(self) -> Spread:
        summed = np.cumsum(self._counts)
        if not summed[-1]:
            return Spread(float("nan"), float("nan"), float("nan"))
        places = np.searchsorted(summed, np.array([0.50, 0.95, 0.99]) * summed[-1])
        return Spread(*(float(1e3 * _SHORTEST_S * _STEP ** (place + 0.5)) for place in places))


class Meter:
    """Counts what a stream does; its threads may all write to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times = {name: Histogram() for name in ("latency", "read", "rectify", "match")}
        self._frames = self._damaged = self._suspect = self._retries = 0
        self._first_s = self._last_s = float("nan")
        self._recent: deque[float] = deque(maxlen=RECENT_FRAMES + 1)

    def time(self, step: str, seconds: float) -> None:
        """A step took so long."""
        with self._lock:
            self._times[step].add(seconds)

    def damaged(self, count: int = 1) -> None:
        """Frames could not be read or used."""
        with self._lock:
            self._damaged += count

    def retried(self) -> None:
        """A live source had to be opened again."""
        with self._lock:
            self._retries += 1

    def delivered(self, latency_s: float, is_suspect: bool = False) -> None:
        """A frame reached its destination."""
        now = time.perf_counter()
        with self._lock:
            self._times["latency"].add(latency_s)
            if not self._frames:
                self._first_s = now
            self._frames += 1
            self._suspect += is_suspect
            self._last_s = now
            self._recent.append(now)

    def figures(self, dropped: int) -> Figures:
        """All of it, now."""
        with self._lock:
            seconds = self._last_s - self._first_s if self._frames else 0.0
            recent = self._recent[-1] - self._recent[0] if len(self._recent) > 1 else 0.0
            return Figures(
                frames=self._frames,
                dropped=dropped,
                damaged=self._damaged,
                suspect=self._suspect,
                retries=self._retries,
                seconds=seconds,
                fps=(self._frames - 1) / seconds if seconds > 0 else float("nan"),
                recent_fps=(len(self._recent) - 1) / recent if recent > 0 else float("nan"),
                latency_ms=self._times["latency"].spread(),
                read_ms=self._times["read"].spread(),
                rectify_ms=self._times["rectify"].spread(),
                match_ms=self._times["match"].spread(),
                memory_mb=resident_mb(),
            )


def resident_mb() -> float:
    """Memory of this process that is in RAM, MB; NaN where the system does not say.

    Examples
    --------
    >>> import sys
    >>> not sys.platform.startswith("linux") or resident_mb() > 1
    True
    """
    if not sys.platform.startswith("linux"):
        return float("nan")
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
