"""Run the threads of one match side by side."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from ..vector.barrier import ABANDONED
from .images import Image


class Band(NamedTuple):
    """One of the threads of a match, as kernels know it."""

    barrier: Image  # where they meet
    number: int
    bands: int  # how many there are

    def rows(self, count: int) -> tuple[int, int]:
        """First and last + 1 of ``count`` rows that belong to this band."""
        return count * self.number // self.bands, count * (self.number + 1) // self.bands

    def meeting(self, rows: int) -> tuple[Image, int, int, int]:
        """The last arguments of a kernel that works on its share of ``rows`` rows and then meets the others."""
        return self.barrier, self.bands, *self.rows(rows)


class Bands:
    """Calls a function once per band of rows, each in its own thread, all at once.

    Kernels release the GIL and meet at ``barrier`` between their steps.  Whatever two bands write is the same, so the
    result does not depend on the number of bands.
    """

    def __init__(self, count: int):
        self.count = count
        self.barrier: Image = np.zeros((4, 8), np.int64)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Callable[[Band], bool]) -> bool:
        """Call ``work(band)`` for every band; True if any call returned True."""
        if self.count == 1:
            return work(Band(self.barrier, 0, 1))
        self.barrier.fill(0)
        others: list[Future[bool]] = []
        try:
            pool = self._threads()
            for number in range(1, self.count):
                others.append(pool.submit(self._guarded, work, number))
            flags = [self._guarded(work, 0)]
        except BaseException:
            self.barrier[ABANDONED] = 1  # those that wait for the missing bands may go
            raise
        finally:
            wait(others)
        return any(flags + [other.result() for other in others])

    def _guarded(self, work: Callable[[Band], bool], number: int) -> bool:
        """If one band fails the others must not wait for it."""
        try:
            return work(Band(self.barrier, number, self.count))
        except BaseException:
            self.barrier[ABANDONED] = 1
            raise

    def _threads(self) -> ThreadPoolExecutor:
        """A thread for every other band: with fewer, the bands would wait for one that never comes."""
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(self.count - 1, "bdis")
            self._process = os.getpid()
        return self._pool
