"""Timing of single calls.  Methods that are compared take turns in one process, as the machine may be busy."""

import time
from collections.abc import Callable

import numpy as np

from bdis.evaluation.metrics import time_summary


def milliseconds(work: Callable[[], object]) -> float:
    """Time of one call, ms."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def summary(times_ms: list[float]) -> dict:
    """Median, minimum, and 5th and 95th percentile."""
    low, high = np.percentile(times_ms, [5, 95])
    return {**time_summary(times_ms), "p5_ms": float(low), "p95_ms": float(high)}
