"""Ctrl-C at random moments, for tests: whatever it interrupts, the next call is right, and nothing hangs.

Tests run their cases in a child process, which they can end if it hangs:

    python -m tests.interrupts SUBJECT COUNT THREADS SEED

It sends itself COUNT interrupts, every fifth of them followed by others at once, and prints one line for each hundred
and how long they took to arrive (95 % of them, and all).  SUBJECT is "match", "start" (the threads of a new matcher) or
"assess".
"""

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bdis
from tests.scenes import warped_pair

ROOT = Path(__file__).parents[1]
SIZE = 120, 160


class Interrupter:
    """Sends interrupts to this process from a thread, which begins when it is told to."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._is_armed = False
        self._delays: queue.SimpleQueue[list[float]] = queue.SimpleQueue()
        self._sent_s: float | None = None  # when the first one was sent, once all are
        self._ignored_s: float | None = None  # when one arrived where Python ignores exceptions
        signal.signal(signal.SIGINT, self._handle)
        sys.unraisablehook = self._note_ignored
        threading.Thread(target=self._send, daemon=True).start()

    def _handle(self, number: int, frame: object) -> None:
        if self._is_armed:
            raise KeyboardInterrupt

    def _note_ignored(self, found: Any) -> None:
        """Python forgets thread objects in the callback of a weak reference, and an exception ends there."""
        if found.exc_type is KeyboardInterrupt:
            self._ignored_s = time.perf_counter()
        else:
            sys.__unraisablehook__(found)

    def _send(self) -> None:
        while True:
            first, *others = self._delays.get()
            time.sleep(first)
            sent_s = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
            for delay in others:
                time.sleep(delay)
                os.kill(os.getpid(), signal.SIGINT)
            self._sent_s = sent_s

    def interrupt(self, work: Callable[[], object], longest_s: float) -> float:
        """Repeat ``work`` until the interrupts have arrived that are sent within ``longest_s``.

        Returns
        -------
        float
            Seconds until the first of them arrived.
        """
        more = self._random.choice([1, 2, 5]) if self._random.random() < 0.2 else 0
        delays = [self._random.uniform(0, longest_s), *(self._random.uniform(0, 2e-4) for _ in range(more))]
        arrived, is_told, self._sent_s, self._ignored_s = None, False, None, None
        self._is_armed = True
        while arrived is None or self._sent_s is None:
            try:
                if not is_told:
                    is_told = True
                    self._delays.put(delays)
                while arrived is None:
                    work()
                    arrived = self._ignored_s
                time.sleep(1e-3)
            except KeyboardInterrupt:
                arrived = arrived or time.perf_counter()
        self._is_armed = False
        return arrived - self._sent_s


def subject(name: str, threads: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """What is interrupted, and what must be right afterwards."""
    left, right, disparity = warped_pair(*SIZE, seed=3)
    if name == "assess":
        assess = lambda: bdis.assess(left, right, disparity, threads=threads)  # noqa: E731
        return assess, assess
    matcher = bdis.StereoMatcher(variance=True, threads=threads)
    match = lambda: matcher.match(left, right)  # noqa: E731
    if name == "match":
        return match, match
    new = lambda: bdis.StereoMatcher(variance=True, threads=threads).match(left, right)  # noqa: E731
    return new, match  # every matcher starts threads of its own


def is_same(result: Any, other: Any) -> bool:
    """Do two results have the same bits?"""
    names = ("disparity", "probability", "variance")
    return all(np.array_equal(getattr(result, name), getattr(other, name), equal_nan=True) for name in names)


def run(name: str, count: int, threads: int, seed: int) -> None:
    """The child process."""
    work, check = subject(name, threads)
    expected = subject(name, 1)[1]()
    work()
    begin = time.perf_counter()
    work()
    frame_s = time.perf_counter() - begin
    interrupter, waits_ms = Interrupter(seed), []
    for k in range(count):
        waits_ms.append(1e3 * interrupter.interrupt(work, 1.5 * frame_s))
        assert is_same(check(), expected), f"a wrong result after interrupt {k}"
        if k % 100 == 99:
            print(f"{k + 1} interrupts", flush=True)
    alive = sum(thread.name.startswith("bdis_") for thread in threading.enumerate())
    usual_ms, slowest_ms = np.percentile(waits_ms, [95, 100])
    print(f"frame_ms={1e3 * frame_s:.1f} {usual_ms=:.1f} {slowest_ms=:.1f} threads={alive}", flush=True)


def run_child(name: str, count: int, threads: int, seed: int, timeout_s: float) -> dict[str, float]:
    """Run a case in a child process; fails if it hangs or is wrong.  Returns its figures, by name."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.interrupts", name, *map(str, (count, threads, seed))]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert child.returncode == 0, f"exit code {child.returncode}\n{child.stdout[-500:]}\n{child.stderr[-4000:]}"
    return {name: float(value) for name, value in (part.split("=") for part in child.stdout.split()[-4:])}


if __name__ == "__main__":
    run(sys.argv[1], *map(int, sys.argv[2:5]))
