"""Ctrl-C during a match: it arrives soon, nothing hangs, and the next result is right."""

import pytest

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
