"""Compile kernels in several processes side by side.

Numba compiles one function at a time in a process.  While this process compiles, others take kernels off the same queue
and put them into the shared cache, from where this process loads them.  If one fails or cannot be started, what it did
not finish is compiled here.

They are started as ``python -c``, not with :mod:`multiprocessing`, which would need a guard in the user's script.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .memory_room import TO_COMPILE_MB, has_room
from .progress import Progress

MAX_PROCESSES = 3  # together with this one
MIN_SIZE = 12000  # bytes of bytecode, about two seconds of compiling: another process needs one second to start
_REPLY = "bdis kernel: "
_CODE = "import sys; sys.path[:] = {path!r}; from bdis.vector.side_processes import serve; serve()"

Task = tuple[Any, Path | None]  # a kernel, and the folder of the cache where it will be kept


class Queue:
    """Kernels that are still to be compiled; threads may take them, as long as somebody wants them."""

    def __init__(self, tasks: Iterable[Task], is_unwanted: threading.Event):
        self._tasks, self._is_unwanted = deque(tasks), is_unwanted

    def __len__(self) -> int:
        return len(self._tasks)

    def is_unwanted(self) -> bool:
        """Nobody waits for these kernels any more."""
        return self._is_unwanted.is_set()

    def take(self) -> Task | None:
        """The next one, or None."""
        with contextlib.suppress(IndexError):
            return None if self.is_unwanted() else self._tasks.popleft()
        return None


@contextlib.contextmanager
def at_work(queue: Queue, size: int, shown: Progress) -> Iterator[None]:
    """Let other processes take kernels off a queue while this block runs; then wait for what they have begun.

    Parameters
    ----------
    queue : Queue
        What this process does not take.
    size : int
        Of all kernels in the queue, as ``Kernel.size`` counts.
    shown : Progress
        Told about each kernel.
    """
    count = _useful_processes(len(queue), size)
    begin = time.perf_counter()
    others = [_SideProcess(queue, shown) for _ in range(count)]
    try:
        yield
        patience_s = 20 + 2 * (time.perf_counter() - begin)  # of one that hangs
        for other in others:
            if not queue.is_unwanted():
                other.wait(patience_s)
    finally:
        for other in others:
            other.stop()


def _useful_processes(kernels: int, size: int) -> int:
    """How many other processes are worth starting."""
    name = Path(sys.executable or "").stem.lower()
    if size < MIN_SIZE or not name.startswith("python") or getattr(sys, "frozen", False):
        return 0  # in an application with Python inside, the executable is that application
    wanted = max(0, min(_usable_cores(), MAX_PROCESSES, kernels) - 1)
    return next((count for count in range(wanted, 0, -1) if has_room((count + 1) * TO_COMPILE_MB)), 0)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _SideProcess:
    """A Python process and the thread that hands it kernels, one at a time."""

    def __init__(self, queue: Queue, shown: Progress):
        self._queue, self._shown = queue, shown
        self._process: subprocess.Popen[str] | None = None
        self._is_compiling = False
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE.format(path=[str(folder) for folder in sys.path])],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
        self._thread = threading.Thread(target=self._hand_out, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """If it is compiling: until that kernel is in the cache, but not for ever."""
        if self._is_compiling:
            self._thread.join(seconds)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._thread.join()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _hand_out(self) -> None:
        with contextlib.suppress(OSError, ValueError, _Failed):
            self._request({})  # wait until it has started: until then this process may take all
            self._is_compiling = True
            while (task := self._queue.take()) is not None:
                kernel, folder = task
                with self._shown.one(kernel.__name__):
                    self._request({"module": kernel.__module__, "name": kernel.__name__, "folder": str(folder)})

    def _request(self, request: dict[str, str]) -> None:
        if self._process is None:
            raise _Failed
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(_REPLY):
                if line.strip() == _REPLY + "done":
                    return
                break
        raise _Failed


class _Failed(Exception):
    """The other process has not compiled a kernel."""


def serve() -> None:
    """What the other process does: compile what it reads from stdin, until there is no more."""
    from .cache import compile_into

    for line in sys.stdin:
        request = json.loads(line)
        is_done = not request or compile_into(**request)
        print(_REPLY + ("done" if is_done else "failed"), flush=True)
