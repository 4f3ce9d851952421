"""Runs the steps of many recordings on a cluster, a few at a time, and survives what clusters do."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.optional import require
from . import steps
from .connection import CONNECT_S, PURPOSE, ClusterChoice, Connection, connect
from .jobs import Job
from .journal import Journal
from .steps import Done, Outline

STEPS_PER_CORE = 3  # at the scheduler at a time: workers never wait for the client, and the scheduler stays small
LOOK_EVERY_S = 0.5
_FINISH, _RECORD, _BEGIN = range(3)  # what is begun is finished first
_FUNCTIONS: dict[int, Callable[..., Done]] = {_FINISH: steps.finish, _RECORD: steps.record, _BEGIN: steps.begin}


@dataclass(frozen=True)
class Failed:
    """Why a step could not be done.

    Attributes
    ----------
    reason : str
        One line.
    host : str
        Address of the machine.
    is_of_machine : bool
        Another machine may be able to do it: its disk is not full, or it sees the file.
    """

    reason: str
    host: str
    is_of_machine: bool


def do_step(kind: int, *arguments: Any) -> Done | Failed:
    """Do a step on a worker; an error becomes a value, as not every exception can be sent."""
    try:
        return _FUNCTIONS[kind](*arguments)
    except Exception as error:
        host = require("distributed", PURPOSE).get_worker().ip
        return Failed(_reason(error), host, isinstance(error, (OSError, MemoryError, ImportError)))


class ConnectionLost(ConnectionError):
    """The scheduler or all workers have gone, and did not come back in time."""


@dataclass(frozen=True, order=True)
class _Step:
    """A step of a recording, in the order in which steps are done."""

    kind: int
    order: int  # of the recording
    number: int  # of the piece


class Batch:
    """The work on all recordings that are not done yet.

    Parameters
    ----------
    jobs : sequence of Job
        The recordings.
    journal : Journal
        Knows what is done, and keeps what happens.
    choice : ClusterChoice
        To connect again, if a scheduler went away.
    told : callable
        Called with every event of the journal.
    looked : callable
        Called without arguments about twice a second.

    Attributes
    ----------
    is_stopping : bool
        Set it to end :meth:`run` soon; what is done is kept.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        journal: Journal,
        choice: ClusterChoice,
        told: Callable[[dict[str, Any]], None] = lambda event: None,
        looked: Callable[[], None] = lambda: None,
    ):
        self._jobs, self._journal, self._choice, self._told, self._looked = jobs, journal, choice, told, looked
        self._outlines: dict[int, Outline] = {}
        self._missing: dict[int, set[int]] = {}  # pieces that are not recorded, by recording
        self._ready: list[_Step] = []
        self._running: dict[str, tuple[_Step, Any]] = {}  # by the key of the future
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._keys = itertools.count()
        self._elsewhere: dict[_Step, list[str]] = {}  # workers for steps that another machine could not do
        self.is_stopping = False

    def run(self, connection: Connection) -> Connection:
        """Do all steps; failures are in the journal.  Returns the connection, which may be a new one.

        Raises
        ------
        ConnectionLost
            The cluster has gone.
        """
        self._ready = [
            _Step(_BEGIN, order, 0)
            for order, job in enumerate(self._jobs)
            if self._journal.states[job.name].state != "done"
        ]
        heapq.heapify(self._ready)
        while (self._ready or self._running) and not self.is_stopping:
            if not self._has_connection(connection):
                connection = self._connect_again(connection)
            self._submit(connection)
            self._collect(connection)
            self._looked()
        for _, future in self._running.values():
            future.cancel()
        return connection

    # ------------------------------------------------------------ what is under way

    def _submit(self, connection: Connection) -> None:
        if not self._ready:
            return
        most = STEPS_PER_CORE * max(1, connection.worker_count())
        while self._ready and len(self._running) < most:
            step = heapq.heappop(self._ready)
            job = self._jobs[step.order]
            arguments: list[Any] = [job]
            if step.kind != _BEGIN:
                arguments.append(self._outlines[step.order])
            if step.kind == _RECORD:
                arguments.append(step.number)
            # A new key each time: an earlier attempt may still be known to the scheduler, as lost or failed.
            key = f"{_FUNCTIONS[step.kind].__name__}-{job.name}-{step.number}-{next(self._keys)}"
            future = connection.client.submit(
                do_step, step.kind, *arguments, key=key, priority=-step.kind, workers=self._elsewhere.get(step)
            )
            self._running[key] = step, future
            future.add_done_callback(lambda done: self._ended.put(done.key))

    def _collect(self, connection: Connection) -> None:
        """Take what has ended; wait a little if nothing has."""
        wait_s = LOOK_EVERY_S
        while True:
            try:
                key = self._ended.get(timeout=wait_s)
            except queue.Empty:
                return
            wait_s = 0.0
            if key in self._running:
                self._take(*self._running.pop(key), connection)

    def _take(self, step: _Step, future: Any, connection: Connection) -> None:
        cancelled = require("distributed", PURPOSE).CancelledError
        try:
            if future.status == "finished":
                answer = future.result(timeout=CONNECT_S)
            elif future.status == "error":
                answer = Failed(_reason(future.exception(timeout=CONNECT_S)), "", False)
            else:  # cancelled or lost with the scheduler
                answer = None
        except (TimeoutError, cancelled, OSError):  # whoever has the answer is gone
            answer = None
        if answer is None:
            heapq.heappush(self._ready, step)
        elif isinstance(answer, Done):
            self._go_on(step, answer)
        elif answer.is_of_machine and step not in self._elsewhere and (others := connection.elsewhere(answer.host)):
            self._elsewhere[step] = others
            heapq.heappush(self._ready, step)
        else:
            self._fail(step, answer.reason)

    def _go_on(self, step: _Step, done: Done) -> None:
        job, order = self._jobs[step.order], step.order
        facts = {"seconds": round(done.seconds, 3), "host": done.host, "warnings": list(done.warnings)}
        if self._journal.states[job.name].state == "failed":
            return  # a piece of a recording that failed elsewhere
        if step.kind == _BEGIN and done.outline is not None:
            pieces = len(done.outline.pieces)
            self._tell(job.name, "begun", pieces=pieces, **facts)
            self._outlines[order], self._missing[order] = done.outline, set(range(pieces))
            for number in range(pieces):
                heapq.heappush(self._ready, _Step(_RECORD, order, number))
        elif step.kind == _RECORD:
            if step.number in self._missing[order]:
                self._missing[order].discard(step.number)
                self._tell(job.name, "piece", piece=step.number, frames=done.frames, **facts)
                if not self._missing[order]:
                    heapq.heappush(self._ready, _Step(_FINISH, order, 0))
        else:
            self._outlines.pop(order, None)
            self._missing.pop(order, None)
            self._tell(job.name, "done", frames=done.frames, **facts)

    def _fail(self, step: _Step, reason: str) -> None:
        job = self._jobs[step.order]
        if self._journal.states[job.name].state == "failed":
            return
        self._ready = [other for other in self._ready if other.order != step.order]
        heapq.heapify(self._ready)
        self._tell(job.name, "failed", reason=reason)

    def _tell(self, name: str, event: str, **facts: Any) -> None:
        self._told(self._journal.add(name, event, **facts))

    # ------------------------------------------------------------ a cluster that goes away

    def _has_connection(self, connection: Connection) -> bool:
        """Whether there is a scheduler, with workers."""
        client = connection.client
        if client.status != "running":
            return False
        return connection.worker_count() > 0

    def _connect_again(self, connection: Connection) -> Connection:
        """Wait for the scheduler and for workers."""
        end = time.monotonic() + self._choice.wait_s
        while not self.is_stopping:
            if connection.client.status == "running":
                if connection.worker_count():
                    return connection
            elif self._choice.scheduler is not None and connection.client.status == "closed":
                connection.close()
                with contextlib.suppress(ConnectionError):
                    connection = connect(self._choice)
            if time.monotonic() > end:
                raise ConnectionLost(
                    f"no scheduler with workers for {self._choice.wait_s:g} s (--wait); what is done is kept, and the "
                    "same command goes on from there"
                )
            self._looked()
            time.sleep(LOOK_EVERY_S)
        return connection


def _reason(error: BaseException | None) -> str:
    """Why a step failed, in one line."""
    name = type(error).__name__
    if name == "KilledWorker":
        return "the workers that tried it were killed, one after the other; is there enough memory for it?"
    text = " ".join((str(error) or name).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return text
