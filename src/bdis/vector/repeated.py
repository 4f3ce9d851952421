"""Kernel calls that are the same in every match, made from compiled code.

Python takes one to five microseconds from one kernel to the next, the more the longer other work has used the caches;
a coarse level is searched in less.  So a stretch of work that does nothing but call kernels is run by Python once,
which notes its calls, and from then on by one kernel, `make_calls`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uint64

from .crew import Crew, call_from_board
from .records import MAX_ARGUMENTS, Longs, Record, for_members, kernel


class Calls(Record):
    """The calls of one thread.

    Attributes
    ----------
    rows : ndarray of int64, shape (count, 1 + MAX_ARGUMENTS)
        As those of a `Board`: a function and its arguments.
    """

    rows: Longs


@kernel
def make_calls(calls: Calls, crew: Crew) -> None:
    """Make one call after the other, in every thread its own."""
    for row in range(uint64(calls.rows.shape[0])):
        call_from_board(calls.rows, row)


class Repeated:
    """Work that only calls kernels, each time the same ones with the same records and numbers."""

    def __init__(self) -> None:
        self._crew: Crew | None = None  # whose calls are noted; after a fork there is another one
        self._calls: dict[bool, Calls] = {}

    def run(self, work: Callable[[bool, Crew], None], has_hidden: bool, crew: Crew) -> None:
        """Do the work.

        Parameters
        ----------
        work : callable
            Called as ``work(has_hidden, crew)``, always the same; which kernels it calls may depend on ``has_hidden``.
            The records that it hands to them must live as long as this.
        has_hidden : bool
            Some pixels were not seen.
        crew : Crew
            Of the calling thread.
        """
        if crew is not self._crew:
            self._crew, self._calls = crew, {}
        if has_hidden in self._calls:
            make_calls(self._calls[has_hidden], crew)
        else:
            self._calls[has_hidden] = self._note(work, has_hidden, crew)

    def _note(self, work: Callable[[bool, Crew], None], has_hidden: bool, crew: Crew) -> Calls:
        """Let Python do the work; returns the calls that it made."""
        noted: list[tuple[int, tuple[Any, ...]]] = []
        try:
            crew.__dict__["noted"] = noted
            work(has_hidden, crew)
        finally:
            crew.__dict__["noted"] = None  # no call: no interrupt comes before this
        return for_members([_calls_of(member, noted) for member in (crew, *crew.others)])


def _calls_of(crew: Crew, noted: list[tuple[int, tuple[Any, ...]]]) -> Calls:
    """What one of the threads gets where the first one made the calls that were noted."""
    rows = np.zeros((len(noted), 1 + MAX_ARGUMENTS), np.int64)
    for row, (function, args) in zip(rows, noted):
        own = [arg.for_members[crew.member] if getattr(arg, "for_members", None) else arg for arg in args[:-1]]
        row[: 1 + len(args)] = [function, *own, crew]
    return Calls(rows=rows)
