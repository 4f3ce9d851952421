"""Share the rows of an image out among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_MIN_ROWS = 8  # a band of fewer rows costs more to hand over than to compute


class Bands:
    """Runs a function over bands of rows, one band per thread.

    Kernels release the GIL and write only their own rows, so the bands do not disturb each other and the result does
    not depend on their number.
    """

    def __init__(self, threads: int):
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, "bdis") if threads > 1 else None

    def run(self, rows: int, work: Callable[[int, int, int], Any]) -> bool:
        """Call ``work(band, begin, end)`` until all ``rows`` are done; True if any call returned True."""
        count = min(self._threads, rows // _MIN_ROWS)
        if self._pool is None or count <= 1:
            return bool(work(0, 0, rows))
        edges = [rows * k // count for k in range(count + 1)]
        others = [self._pool.submit(work, k, edges[k], edges[k + 1]) for k in range(1, count)]
        try:
            flag = bool(work(0, 0, edges[1]))
        finally:
            flags = [bool(other.result()) for other in others]
        return flag or any(flags)
