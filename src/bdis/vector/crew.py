"""The threads of one match: they share the rows of every step and meet when it is done.

All threads call the same kernels with the same records.  Each works on its own rows, and every kernel ends with a
meeting, so that the next one may read what the others wrote.  The result does not depend on how many threads there are.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from . import barrier
from .barrier import ABANDONED
from .cache import Kernel, inner
from .records import Longs, Record, kernel


class Crew(Record):
    """One thread among those of a match.

    Attributes
    ----------
    barrier : ndarray of int64, shape (4, 8)
        Where they meet, see barrier.py.
    member : int
        Number of this thread, from 0.
    count : int
        How many there are.
    """

    barrier: Longs
    member: int
    count: int

    @property
    def leads(self) -> bool:
        """Is this the thread that does what only one may do?"""
        return self.member == 0

    def wait(self) -> None:
        """Wait until all threads are here."""
        if self.count > 1:
            wait_for_all(self)

    def any(self, flag: bool) -> bool:
        """Has any thread a ``flag`` that is true?  All threads must ask."""
        return flag if self.count == 1 else any_of(self, flag)


@inner
def meet(crew):
    """Wait until all threads are here; False if one of them failed and will not come."""
    return barrier.meet(crew.barrier, crew.count)


@inner
def share_of(member, crew, count, tile):
    """First and last + 1 of ``count`` rows that ``member`` works on: whole tiles of ``tile`` rows."""
    tiles = (count + tile - 1) // tile
    return min(tiles * member // crew.count * tile, count), min(tiles * (member + 1) // crew.count * tile, count)


@inner
def share(crew, count, tile):
    """As `share_of`, for the calling thread."""
    return share_of(crew.member, crew, count, tile)


@kernel
def wait_for_all(crew: Crew) -> bool:
    """`meet`, from Python."""
    return meet(crew)


@kernel
def any_of(crew: Crew, flag: bool) -> bool:
    """True in all threads if ``flag`` is true in one."""
    if flag:
        barrier.raise_flag(crew.barrier)
    if not meet(crew):
        return False
    found = barrier.flag_is_up(crew.barrier)
    meet(crew)  # nobody lowers it before all have looked
    barrier.lower_flag(crew.barrier)
    meet(crew)
    return found


class Threads:
    """Calls a function once per thread of a crew, all at once.

    Parameters
    ----------
    count : int
        How many threads; with 1 the function is called in the caller's own.

    Examples
    --------
    >>> members = []
    >>> Threads(1).run(lambda crew: members.append(crew.member))
    >>> members
    [0]
    """

    def __init__(self, count: int):
        self._barrier = np.zeros((4, 8), np.int64)
        self._crew = [Crew(barrier=self._barrier, member=number, count=count) for number in range(count)]
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Callable[[Crew], None]) -> None:
        """Call ``work(crew)`` in every thread and wait for all of them."""
        first, *others = self._crew
        if not others:
            work(first)
            return
        self._barrier.fill(0)
        started: list[Future[None]] = []
        try:
            pool = self._threads()
            for crew in others:
                started.append(pool.submit(self._guarded, work, crew))
            self._guarded(work, first)
        except BaseException:
            self._barrier[ABANDONED] = 1  # those that wait for the missing threads may go
            raise
        finally:
            wait(started)
        for other in started:
            other.result()

    def kernels(self) -> list[Kernel]:
        """The kernels that threads call to meet."""
        return [wait_for_all, any_of] if len(self._crew) > 1 else []

    def _guarded(self, work: Callable[[Crew], None], crew: Crew) -> None:
        """If one thread fails the others must not wait for it."""
        try:
            work(crew)
        except BaseException:
            self._barrier[ABANDONED] = 1
            raise

    def _threads(self) -> ThreadPoolExecutor:
        """A thread for every other member: with fewer, they would wait for one that never comes."""
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(len(self._crew) - 1, "bdis")
            self._process = os.getpid()
        return self._pool
