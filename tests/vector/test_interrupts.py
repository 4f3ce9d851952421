"""Ctrl-C during a match: it arrives soon, nothing hangs, and the next result is right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bdis
from tests import interrupts

COUNT = 20
TIMEOUT_S = 120  # children take some seconds, if they do not hang
SOON_MS = 100  # and a frame


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_match_after_an_interrupted_one_neither_hangs_nor_is_wrong(threads: int) -> None:
    figures = interrupts.run_child("match", COUNT, threads, threads, TIMEOUT_S)
    assert figures["threads"] == threads - 1
    assert figures["usual_ms"] < SOON_MS + figures["frame_ms"]


def test_interrupts_while_threads_start_leave_none_behind() -> None:
    """Each of the matchers has two threads of its own; one may be about to end."""
    figures = interrupts.run_child("start", COUNT, 3, 1, TIMEOUT_S)
    assert figures["threads"] <= 4


def test_an_interrupted_assessment_leaves_nothing_wrong() -> None:
    interrupts.run_child("assess", COUNT, 2, 1, TIMEOUT_S)


# What is interrupted takes a second and ends by itself: Numba would not be usable any more if it were stopped half way.
WHILE_COMPILING = """
import os, signal, threading, time
from numba import int64
from bdis.vector import cache
class Slow(cache._KernelFile):
    def save(self, result):
        begun.set()
        time.sleep(1)
        saved.append(result)
cache._KernelFile = Slow
begun, saved = threading.Event(), []
first, second = (cache.kernel(int64(int64))(function) for function in (lambda x: x + 1, lambda x: x + 2))
def interrupt():
    begun.wait()
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
sent = []
threading.Thread(target=interrupt).start()
try:
    cache.prepare([first, second])
except KeyboardInterrupt:
    assert time.perf_counter() - sent[0] < 0.8, "it was not raised until the kernel was compiled"
    assert not saved
    print("interrupted", end=" ")
print(first(1), second(1), len(saved))
"""


def test_an_interrupt_while_kernels_compile_arrives_and_they_can_be_compiled_afterwards() -> None:
    sources = str(Path(bdis.__file__).parents[1])
    child = subprocess.run(
        [sys.executable, "-c", WHILE_COMPILING], env=os.environ | {"PYTHONPATH": sources}, capture_output=True,
        text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["interrupted", "2", "3", "2"]
