"""The threads of one match: they share the rows of every kernel and meet when it is done.

One thread leads: it runs the Python code, and when it calls a kernel with its :class:`Crew`, the others run the same
kernel on their share of the rows.  They wait for the next call inside compiled code, since waking a thread through
Python, or having several threads run Python in turns, takes longer than searching a coarse level.  Every kernel ends
with a meeting, so that the next one may read what the others wrote.  The result does not depend on how many threads
there are.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, uint64
from numba.core import types
from numba.extending import intrinsic

from . import barrier
from .barrier import ABANDONED, SPINS, let_others_run, read_number, write_number
from .cache import Kernel, inner
from .memory import element_pointer
from .records import MAX_ARGUMENTS, Longs, Record, kernel

CALLS = uint64(0)  # row of the board
_WORD = ir.IntType(64)


class Board(Record):
    """What the other threads are to run.

    Attributes
    ----------
    barrier : ndarray of int64, shape (4, 8)
        Where threads meet, see barrier.py.
    rows : ndarray of int64, shape (count, 1 + MAX_ARGUMENTS)
        Row 0 counts the calls; row k has the function that thread k is to call (0: none, it may go) and its arguments.
    """

    barrier: Longs
    rows: Longs


class Crew(Record):
    """One thread among those of a match.

    Attributes
    ----------
    barrier : ndarray of int64, shape (4, 8)
        Where they meet, see barrier.py.
    member : int
        Number of this thread; 0 leads.
    count : int
        How many there are.
    """

    barrier: Longs
    member: int
    count: int

    def lead(self, others: list["Crew"], board: Board) -> None:
        """Make this the thread that leads the others."""
        self.__dict__.update(_others=others, _board=board, _rows=memoryview(board.rows))

    def call_others(self, function: int, args: tuple[Any, ...]) -> None:
        """Have the other threads call the function at an address."""
        rows = self._rows
        for other in self._others:
            row = other.member
            rows[row, 0] = function
            for column, arg in enumerate(args[:-1], 1):
                copies = getattr(arg, "for_members", None)
                rows[row, column] = arg if copies is None else copies[row]
            rows[row, len(args)] = other
        count_call(self._board)

    def dismiss_others(self) -> None:
        """Let the other threads go."""
        self._board.rows[1:, 0] = 0
        count_call(self._board)


@inner
def meet(crew):
    """Wait until all threads are here; False if one of them failed and will not come."""
    return barrier.meet(crew.barrier, crew.count)


@inner
def any_of(crew, flag):
    """True in all threads if ``flag`` is true in one."""
    return barrier.any_of(crew.barrier, crew.count, flag)


@inner
def share_of(member, crew, count, tile):
    """First and last + 1 of ``count`` rows that ``member`` works on: whole tiles of ``tile`` rows."""
    tiles = (count + tile - 1) // tile
    return min(tiles * member // crew.count * tile, count), min(tiles * (member + 1) // crew.count * tile, count)


@inner
def share(crew, count, tile):
    """As `share_of`, for the calling thread."""
    return share_of(crew.member, crew, count, tile)


@intrinsic
def _call_from_board(typing_context, board, row):
    """Call the compiled kernel in a row of the board, with its arguments as 64-bit words.

    Kernels take pointers, whole numbers and switches, which are all passed alike, and ignore words beyond their last.
    """

    def generate(context, builder, sig, args):
        def word(column):
            place = element_pointer(context, builder, sig.args[0], *args, ir.Constant(_WORD, column), _WORD)
            return builder.load(place)

        kind = ir.FunctionType(ir.IntType(32), [_WORD.as_pointer()] * 2 + [_WORD] * MAX_ARGUMENTS)
        result, error = builder.alloca(_WORD), builder.alloca(_WORD)
        function = builder.inttoptr(word(0), kind.as_pointer())
        builder.call(function, [result, error, *(word(1 + k) for k in range(MAX_ARGUMENTS))])
        return context.get_dummy_value()

    return types.void(board, types.uint64), generate


@kernel
def count_call(board: Board) -> None:
    """Tell the other threads that the board has changed."""
    write_number(board.rows, CALLS, read_number(board.rows, CALLS) + 1)


@kernel
def follow(board: Board, member: int) -> None:
    """Run what the leading thread puts on the board for thread ``member``, until there is nothing more to run."""
    seen = int64(0)
    while True:
        spins = 0
        while read_number(board.rows, CALLS) == seen:
            if read_number(board.barrier, ABANDONED) != 0:
                return
            spins += 1
            if spins > SPINS:
                let_others_run()
        seen += 1
        if read_number(board.rows, uint64(member)) == 0:
            return
        _call_from_board(board.rows, uint64(member))


class Threads:
    """The threads of a matcher.

    Parameters
    ----------
    count : int
        How many; 1 is the caller's own.

    Examples
    --------
    >>> members = []
    >>> Threads(1).run(lambda crew: members.append(crew.member))
    >>> members
    [0]
    """

    def __init__(self, count: int):
        self._barrier = np.zeros((4, 8), np.int64)
        self._board = Board(barrier=self._barrier, rows=np.zeros((count, 1 + MAX_ARGUMENTS), np.int64))
        self._leader, *self._others = (
            Crew(barrier=self._barrier, member=number, count=count) for number in range(count)
        )
        self._leader.lead(self._others, self._board)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Callable[[Crew], None]) -> None:
        """Call ``work(crew)``; kernels that it calls with ``crew`` run in all threads."""
        if not self._others:
            work(self._leader)
            return
        self._barrier.fill(0)
        self._board.rows.fill(0)
        started: list[Future[None]] = []
        try:
            pool = self._threads()
            for crew in self._others:
                started.append(pool.submit(follow, self._board, crew.member))
            work(self._leader)
            self._leader.dismiss_others()
        except BaseException:
            self._barrier[ABANDONED] = 1  # nobody waits any longer, neither for a call nor for a missing thread
            raise
        finally:
            wait(started)
        for other in started:
            other.result()

    def kernels(self) -> list[Kernel]:
        """The kernels that several threads need."""
        return [follow, count_call] if self._others else []

    def _threads(self) -> ThreadPoolExecutor:
        """A thread for every other member: with fewer, they would wait for one that never comes."""
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(len(self._others), "bdis")
            self._process = os.getpid()
        return self._pool
