"""Two thousand interrupts at random moments, for each number of threads.

python -m pytest -s tests/torture/interrupts.py
"""

import pytest

from tests import interrupts

from .figures import figure

COUNT = 2000
COUNT_OF_STARTS = 500  # of matchers with threads of their own, and of assessments
SLOWEST_MS = 100  # and a frame; on a machine that has nothing else to do
TIMEOUT_S = 600


def check(name: str, count: int, threads: int, seed: int) -> dict[str, float]:
    figures = interrupts.run_child(name, count, threads, seed, TIMEOUT_S)
    figure(
        f"Ctrl-C during {name}",
        f"{threads} threads, {count} interrupts, then the right bits; an interrupt takes {figures['usual_ms']:.0f} ms "
        f"(19 of 20), {figures['slowest_ms']:.0f} ms at most; a frame {figures['frame_ms']:.0f} ms",
    )
    assert figures["slowest_ms"] < SLOWEST_MS + figures["frame_ms"]
    return figures


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_match_after_an_interrupted_one_neither_hangs_nor_is_wrong(threads: int) -> None:
    assert check("match", COUNT, threads, seed=threads)["threads"] == threads - 1


@pytest.mark.parametrize("threads", [2, 4])
def test_interrupts_while_threads_start_leave_none_behind(threads: int) -> None:
    assert check("start", COUNT_OF_STARTS, threads, seed=threads)["threads"] <= 2 * (threads - 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_assessment_leaves_nothing_wrong(threads: int) -> None:
    check("assess", COUNT_OF_STARTS, threads, seed=threads)
