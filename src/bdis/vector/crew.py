"""The threads of one match: they share the rows of every kernel and meet when it is done.

One thread leads: it runs the Python code, and when it calls a kernel with its :class:`Crew`, the others run the same
kernel on their share of the rows.  They wait for the next call inside compiled code, since waking a thread through
Python, or having several threads run Python in turns, takes longer than searching a coarse level.  Every kernel ends
with a meeting, so that the next one may read what the others wrote.  The result does not depend on how many threads
there are.

Ctrl-C raises KeyboardInterrupt in the thread that leads, between any two lines of Python: when a function begins or a
loop starts over, and after a call.  Nothing is left to code that would have to run after it: `end_run` is one call into
compiled code, which no interrupt divides, and when it returns no other thread is at work any more.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, uint64
from numba.core import types
from numba.extending import intrinsic

from . import barrier
from .barrier import ABANDONED, ARRIVED, FLAG, ROUND, SPINS, add_number, let_others_run, read_number, write_number
from .cache import Kernel, inner
from .memory import element_pointer
from .records import MAX_ARGUMENTS, Longs, Record, kernel

CALLS, RUN, AT_WORK = (uint64(k) for k in range(3))  # rows of `Board.state`
NO_RUN = 0
_WORD = ir.IntType(64)


class Board(Record):
    """What the other threads are to run.

    Attributes
    ----------
    barrier : ndarray of int64, shape (4, 8)
        Where threads meet, see barrier.py.
    state : ndarray of int64, shape (3, 8)
        One number in each row: how many calls there were, which run this is (NO_RUN: none), how many threads follow.
    rows : ndarray of int64, shape (count, 1 + MAX_ARGUMENTS)
        Row k has the function that thread k is to call and its arguments.
    """

    barrier: Longs
    state: Longs
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

    # Not for kernels, so without a kind:
    others = ()  # those that this one leads
    noted = None  # a list, while calls with this crew are noted: of functions, by their address, and their arguments

    def lead(self, others: list["Crew"], board: Board) -> None:
        """Make this the thread that leads the others."""
        self.__dict__.update(others=others, _board=board, _rows=memoryview(board.rows))

    def call_others(self, function: int, args: tuple[Any, ...]) -> None:
        """Have the other threads call the function at an address."""
        rows = self._rows
        for other in self.others:
            row = other.member
            rows[row, 0] = function
            for column, arg in enumerate(args[:-1], 1):
                copies = getattr(arg, "for_members", None)
                rows[row, column] = arg if copies is None else copies[row]
            rows[row, len(args)] = other
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
def call_from_board(typing_context, board, row):
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
def begin_run(board: Board, run: int) -> None:
    """Let the threads that are told of this run follow; nobody does yet."""
    for row in (ARRIVED, ROUND, ABANDONED, FLAG):
        write_number(board.barrier, row, 0)
    write_number(board.state, CALLS, 0)
    write_number(board.state, RUN, run)


@kernel
def end_run(board: Board) -> None:
    """Let the other threads go, and wait until they have gone: nobody waits any longer for a call or for a thread."""
    write_number(board.state, RUN, NO_RUN)
    write_number(board.barrier, ABANDONED, 1)
    spins = 0
    while read_number(board.state, AT_WORK) != 0:
        spins += 1
        if spins > SPINS:
            let_others_run()


@kernel
def count_call(board: Board) -> None:
    """Tell the other threads that the board has changed."""
    write_number(board.state, CALLS, read_number(board.state, CALLS) + 1)


@kernel
def follow(board: Board, member: int, run: int) -> None:
    """Run what the leading thread puts on the board for thread ``member``, until that run ends.

    A thread that comes late finds another run, or none: it counts itself first and looks then, while `end_run` ends the
    run first and counts then, so that one of the two sees the other.
    """
    add_number(board.state, AT_WORK, 1)
    seen, spins = int64(0), 0
    while read_number(board.state, RUN) == run:
        if read_number(board.state, CALLS) != seen:
            seen, spins = seen + 1, 0
            call_from_board(board.rows, uint64(member))
        spins += 1
        if spins > SPINS:
            let_others_run()
    add_number(board.state, AT_WORK, -1)


class _Worker:
    """A thread that follows one run after the other.

    Attributes
    ----------
    runs : SimpleQueue
        Arguments of `follow` for each run; None ends the thread.
    is_ready : bool
        The thread has been started, and nothing interrupted that.
    error : BaseException or None
        Why the thread could not follow.
    """

    def __init__(self, number: int):
        self.runs: SimpleQueue[tuple[Board, int, int] | None] = SimpleQueue()
        self.is_ready = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=f"bdis_{number}", daemon=True)

    def start(self) -> None:
        """Begin to wait for runs."""
        self._thread.start()
        self.is_ready = True

    def _work(self) -> None:
        while (run := self.runs.get()) is not None:
            try:
                follow(*run)
            except BaseException as error:
                self.error = error
                run[0].barrier[ABANDONED] = 1  # nobody waits for this thread
            del run  # the board may be freed while this thread waits


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
        self._count = count
        self._workers: list[_Worker] = []
        self._begin()

    def _begin(self) -> None:
        """Nobody is at work."""
        count = self._count
        barrier, state = np.zeros((4, 8), np.int64), np.zeros((3, 8), np.int64)
        self._board = Board(barrier=barrier, state=state, rows=np.zeros((count, 1 + MAX_ARGUMENTS), np.int64))
        self._leader, *self._others = (Crew(barrier=barrier, member=number, count=count) for number in range(count))
        self._leader.lead(self._others, self._board)
        self._run = NO_RUN
        self._workers = [_Worker(k) for k in range(count - 1)]
        self._process = os.getpid()

    def run(self, work: Callable[[Crew], None]) -> None:
        """Call ``work(crew)``; kernels that it calls with ``crew`` run in all threads.

        However it ends, no other thread is at work any more then.
        """
        if not self._others:
            work(self._leader)
            return
        if self._process != os.getpid():  # threads do not survive a fork
            self._begin()
        self._start_workers()
        board, end = self._board, end_run.compiled()  # not a function in Python: that could be interrupted
        self._run += 1
        try:
            begin_run(board, self._run)
            for crew, worker in zip(self._others, self._workers):
                worker.runs.put((board, crew.member, self._run))
            work(self._leader)
        finally:
            end(board)
        for worker in self._workers:
            if worker.error is not None:
                error, worker.error = worker.error, None
                raise error

    def kernels(self) -> list[Kernel]:
        """The kernels that several threads need."""
        return [begin_run, end_run, follow, count_call] if self._others else []

    def _start_workers(self) -> None:
        """A thread for every other member: with fewer, they would wait for one that never comes."""
        for k, worker in enumerate(self._workers):
            if not worker.is_ready:
                worker.runs.put(None)  # it may have started all the same if that was interrupted
                self._workers[k] = _Worker(k)
                self._workers[k].start()

    def __del__(self) -> None:
        for worker in self._workers:
            worker.runs.put(None)
