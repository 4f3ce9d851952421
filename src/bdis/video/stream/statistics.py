"""Statistics of a stream: frames per second, latency, lost frames, memory."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

# The bins of a histogram grow by 2 % each, from 1 microsecond to 2e4 s.
_SHORTEST_S, _BIN_RATIO, _BINS = 1e-6, 1.02, 1200
RECENT_FRAMES = 30


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of a set of times, in milliseconds; NaN if the set is empty.

    Attributes
    ----------
    p50, p95, p99 : float
        Median, 95th and 99th percentile.
    """

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class StreamStatistics:
    """What a stream has done so far.

    Attributes
    ----------
    frames : int
        Frames delivered.
    dropped : int
        Frames of a live source that were left out because newer ones had arrived.
    damaged : int
        Frames that were missing, or that could not be read or matched.
    damaged_since : int
        Of those, the ones after the last delivered frame; at the end of a file, those at its end.
    suspect : int
        Delivered frames that were decoded from a damaged one.
    retries : int
        How often a live source was opened again.
    seconds : float
        Time from the first to the last delivered frame.
    fps : float
        Frames delivered per second, on average.
    recent_fps : float
        The same of the last 30 frames.
    latency_ms : Percentiles
        Time from when the source had a frame until it was delivered.
    read_ms, rectify_ms, match_ms : Percentiles
        Time that each step took.
    memory_mb : float
        Resident memory of the process; NaN where the system does not tell.
    """

    frames: int
    dropped: int
    damaged: int
    damaged_since: int
    suspect: int
    retries: int
    seconds: float
    fps: float
    recent_fps: float
    latency_ms: Percentiles
    read_ms: Percentiles
    rectify_ms: Percentiles
    match_ms: Percentiles
    memory_mb: float


class Histogram:
    """Counts of times in logarithmic bins: constant memory, percentiles with an error of at most 2 %.

    Examples
    --------
    >>> times = Histogram()
    >>> for milliseconds in range(1, 101):
    ...     times.add(milliseconds / 1e3)
    >>> round(times.percentiles().p50 / 5) * 5
    50
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)

    def add(self, seconds: float) -> None:
        """Count a time."""
        place = int(np.log(max(seconds, _SHORTEST_S) / _SHORTEST_S) / np.log(_BIN_RATIO))
        self._counts[min(place, _BINS - 1)] += 1

    def percentiles(self) -> Percentiles:
        """Percentiles of all times that were added."""
        summed = np.cumsum(self._counts)
        if not summed[-1]:
            return Percentiles(float("nan"), float("nan"), float("nan"))
        places = np.searchsorted(summed, np.array([0.50, 0.95, 0.99]) * summed[-1])
        return Percentiles(*(float(1e3 * _SHORTEST_S * _BIN_RATIO ** (place + 0.5)) for place in places))


class StatisticsCollector:
    """Collects the statistics of a stream; all of its threads may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times = {name: Histogram() for name in ("latency", "read", "rectify", "match")}
        self._frames = self._damaged = self._damaged_before = self._suspect = self._retries = 0
        self._first_s = self._last_s = float("nan")
        self._recent: deque[float] = deque(maxlen=RECENT_FRAMES + 1)

    def add_time(self, step: str, seconds: float) -> None:
        """Add the time that a step ("read", "rectify" or "match") took."""
        with self._lock:
            self._times[step].add(seconds)

    def add_damaged(self, count: int = 1) -> None:
        """Count frames that were missing, or could not be read or matched."""
        with self._lock:
            self._damaged += count

    def add_retry(self) -> None:
        """Count an attempt to open a live source again."""
        with self._lock:
            self._retries += 1

    def add_delivered(self, latency_s: float, is_suspect: bool = False, lost_before: int = 0) -> None:
        """Count a frame that was delivered now, and how many frames were lost since the one before it."""
        now = time.perf_counter()
        with self._lock:
            self._times["latency"].add(latency_s)
            if not self._frames:
                self._first_s = now
            self._frames += 1
            self._suspect += is_suspect
            self._damaged_before += lost_before
            self._last_s = now
            self._recent.append(now)

    def statistics(self, dropped: int) -> StreamStatistics:
        """All statistics up to now.

        Parameters
        ----------
        dropped : int
            Frames that the queues have dropped.
        """
        with self._lock:
            seconds = self._last_s - self._first_s if self._frames else 0.0
            recent = self._recent[-1] - self._recent[0] if len(self._recent) > 1 else 0.0
            return StreamStatistics(
                frames=self._frames,
                dropped=dropped,
                damaged=self._damaged,
                damaged_since=self._damaged - self._damaged_before,
                suspect=self._suspect,
                retries=self._retries,
                seconds=seconds,
                fps=(self._frames - 1) / seconds if seconds > 0 else float("nan"),
                recent_fps=(len(self._recent) - 1) / recent if recent > 0 else float("nan"),
                latency_ms=self._times["latency"].percentiles(),
                read_ms=self._times["read"].percentiles(),
                rectify_ms=self._times["rectify"].percentiles(),
                match_ms=self._times["match"].percentiles(),
                memory_mb=resident_mb(),
            )


def resident_mb() -> float:
    """Resident memory of this process.

    Returns
    -------
    float
        Megabytes; NaN on systems other than Linux.

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
