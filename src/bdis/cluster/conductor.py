"""Runs steps on a cluster, a few at a time; workers, schedulers and answers may vanish meanwhile."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import queue
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..common.optional import require
from ..common.version import __version__
from .cluster_choice import PURPOSE, ClusterChoice
from .connection import CONNECT_S, Connection, ConnectionLost, connect, host_of

STEPS_PER_CORE = 3  # at the scheduler at a time: workers never wait for the client, and the scheduler stays small
LOOK_EVERY_S = 0.5


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


def do_step(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Do a step on a worker; an error becomes a value, as not every exception can be sent.

    A worker may have come after all workers were checked, so its version of bdis is compared here too.
    """
    worker = require("distributed", PURPOSE).get_worker()
    try:
        if version != __version__:
            raise ImportError(f"worker {worker.address} has bdis {__version__}, the batch is of {version}")
        return function(*arguments)
    except Exception as error:
        is_of_machine = isinstance(error, (OSError, MemoryError, ImportError))
        reason = f"{_reason(error)} (on {socket.gethostname()})" if is_of_machine else _reason(error)
        return Failed(reason, host_of(worker.address), is_of_machine)


@dataclass(frozen=True, order=True)
class Step:
    """A step of the work; steps are done in their order.

    Attributes
    ----------
    kind : int
        What is done; smaller kinds first.
    item, part : int
        What it is done to.
    """

    kind: int
    item: int
    part: int = 0


class Conductor(ABC):
    """Does steps on workers until there are none left.

    Parameters
    ----------
    choice : ClusterChoice
        To connect again, if a scheduler went away.
    looked : callable
        Called without arguments about twice a second.

    Attributes
    ----------
    is_stopping : bool
        Set it to end :meth:`run` soon; what is done is kept.
    """

    def __init__(self, choice: ClusterChoice, looked: Callable[[], None] = lambda: None):
        self._choice, self._looked = choice, looked
        self._ready: list[Step] = []
        self._running: dict[str, tuple[Step, Any, set[str] | None]] = {}  # by key: its future, and for which machines
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._keys = itertools.count()
        self._could_not: dict[Step, Failed] = {}  # steps that a machine could not do, for others to try
        self.is_stopping = False

    @abstractmethod
    def call_of(self, step: Step) -> tuple[Callable[..., Any], list[Any], str]:
        """What a worker calls for a step, with which arguments, and a name for Dask's pages."""

    @abstractmethod
    def go_on(self, step: Step, answer: Any) -> None:
        """Take what a worker returned; :meth:`add` what follows from it."""

    @abstractmethod
    def fail(self, step: Step, reason: str) -> None:
        """Take that a step could not be done."""

    def add(self, steps: Iterable[Step]) -> None:
        """Have further steps done."""
        for step in steps:
            heapq.heappush(self._ready, step)

    def drop(self, item: int) -> None:
        """Do no further steps of an item."""
        self._ready = [step for step in self._ready if step.item != item]
        heapq.heapify(self._ready)

    def run(self, connection: Connection) -> Connection:
        """Do all steps.  Returns the connection, which may be a new one.

        Raises
        ------
        ConnectionLost
            The cluster has gone.
        """
        while self.is_going:
            connection = self.turn(connection)
        for _, future, _ in self._running.values():
            future.cancel()
        return connection

    @property
    def is_going(self) -> bool:
        """Whether there are steps left, and nobody asked to stop."""
        return bool(self._ready or self._running) and not self.is_stopping

    def turn(self, connection: Connection) -> Connection:
        """Give out steps, and take those that end within a moment; as :meth:`run`."""
        if not (threads := connection.threads()):
            connection = self._connect_again(connection)
            threads = connection.threads()
        self._submit(connection, threads)
        self._collect()
        self._looked()
        return connection

    def _call_back(self, hosts: set[str]) -> None:
        """Take steps back that are for certain machines only, of which none is left: they would wait for ever."""
        for key, (step, future, meant_for) in list(self._running.items()):
            if meant_for and not meant_for & hosts:
                del self._running[key]
                future.cancel()
                heapq.heappush(self._ready, step)

    def _submit(self, connection: Connection, threads: dict[str, int]) -> None:
        most, hosts = STEPS_PER_CORE * max(1, sum(threads.values())), set(map(host_of, threads))
        self._call_back(hosts)
        while self._ready and len(self._running) < most:
            step = heapq.heappop(self._ready)
            meant_for = None
            if failed := self._could_not.get(step):
                meant_for = hosts - {failed.host}
                if not meant_for:
                    self.fail(step, failed.reason)
                    continue
            function, arguments, name = self.call_of(step)
            # A new key each time: an earlier attempt may still be known to the scheduler, as lost or failed.
            # The number before the name: Dask keeps statistics, for ever, of what is before the first number in a key.
            key = f"{function.__name__}-{next(self._keys)}-{name}"
            future = connection.client.submit(
                do_step, __version__, function, *arguments, key=key, priority=-step.kind,
                workers=meant_for and sorted(meant_for),
            )  # fmt: skip
            self._running[key] = step, future, meant_for
            future.add_done_callback(lambda done: self._ended.put(done.key))

    def _collect(self) -> None:
        """Take what has ended; wait a little if nothing has."""
        wait_s = LOOK_EVERY_S
        while True:
            try:
                key = self._ended.get(timeout=wait_s)
            except queue.Empty:
                return
            wait_s = 0.0
            if key in self._running:
                step, future, _ = self._running.pop(key)
                self._take(step, future)

    def _take(self, step: Step, future: Any) -> None:
        cancelled = require("distributed", PURPOSE).CancelledError
        try:
            if future.status == "finished":
                answer = future.result(timeout=CONNECT_S)
            elif future.status == "error":
                error = future.exception(timeout=CONNECT_S)
                answer = Failed(_reason(error), "", isinstance(error, ImportError))  # a worker without bdis came late
            else:  # cancelled or lost with the scheduler
                answer = None
        except (TimeoutError, cancelled, OSError):  # whoever has the answer is gone
            answer = None
        if answer is None:
            heapq.heappush(self._ready, step)
        elif not isinstance(answer, Failed):
            self.go_on(step, answer)
        elif answer.is_of_machine and step not in self._could_not:
            self._could_not[step] = answer
            heapq.heappush(self._ready, step)
        else:
            self.fail(step, answer.reason)

    def _connect_again(self, connection: Connection) -> Connection:
        """Wait for the scheduler and for workers."""
        end = time.monotonic() + self._choice.wait_s
        while not self.is_stopping:
            if connection.client.status == "running":
                if connection.threads():
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
