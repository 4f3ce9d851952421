"""After a fork the child can compile and match, whatever other threads of the parent were doing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bdis

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

# Ends with an error if the child does not end by itself.
WAIT_FOR_CHILD = """
def wait_for(child):
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    return "the child hangs"
"""

WHILE_COMPILING = """
import os, signal, threading, time
import numpy as np
from numba import float64, int64
from bdis.vector import cache
class Slow(cache._KernelFile):
    def save(self, result):
        begun.set()
        time.sleep(1)
cache._KernelFile = Slow
begun = threading.Event()
first, second = (cache.kernel(int64(int64))(function) for function in (lambda x: x + 1, lambda x: x + 2))
thread = threading.Thread(target=lambda: cache.prepare([first]))
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(0 if second(1) == 3 and first(1) == 2 else 1)
print(wait_for(child))
"""

WHILE_MATCHING = """
import os, signal, threading, time
import numpy as np, bdis
from tests.scenes import warped_pair
left, right, _ = warped_pair(120, 160, seed=3)
matcher = bdis.StereoMatcher("fast", threads=THREADS)
expected = matcher.match(left, right)
is_at_work, goes_on = threading.Event(), threading.Event()
run = type(matcher._threads).run
def run_slowly(self, work):
    def wait_and_work(crew):
        is_at_work.set()
        goes_on.wait()
        work(crew)
    run(self, wait_and_work)
type(matcher._threads).run = run_slowly
thread = threading.Thread(target=lambda: matcher.match(left, right))
thread.start()
is_at_work.wait()
child = os.fork()
if child == 0:
    type(matcher._threads).run = run
    same = np.array_equal(matcher.match(left, right).disparity, expected.disparity, equal_nan=True)
    os._exit(0 if same else 1)
print(wait_for(child))
goes_on.set()
thread.join()
"""


def run(code: str) -> str:
    sources = [str(Path(bdis.__file__).parents[1]), str(Path(__file__).parents[2])]
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WAIT_FOR_CHILD + code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sources)}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def test_a_fork_while_kernels_compile_does_not_block_the_child() -> None:
    assert run(WHILE_COMPILING) == "0"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fork_during_a_match_does_not_leave_the_matcher_busy(threads: int) -> None:
    assert run(WHILE_MATCHING.replace("THREADS", str(threads))) == "0"
