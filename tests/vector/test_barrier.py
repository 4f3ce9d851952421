"""Threads meet inside compiled code: nobody passes before all have come, and nobody waits for one that has failed."""

import threading
import time

import numpy as np
import pytest
from numba import njit

from bdis.vector.barrier import ABANDONED, any_of, meet


def new_barrier() -> np.ndarray:
    return np.zeros((4, 8), np.int64)


@njit(nogil=True)
def write_and_look(barrier, count, number, slots, rounds):
    """Number of times that another thread's slot was not of the same round."""
    wrong = 0
    for k in range(1, rounds + 1):
        slots[number, 0] = k
        meet(barrier, count)
        for other in range(count):
            wrong += slots[other, 0] != k
        meet(barrier, count)
    return wrong


@njit(nogil=True)
def come(barrier, count):
    return meet(barrier, count)


@njit(nogil=True)
def ask_in_turns(barrier, count, number, rounds):
    """Number of wrong answers when another thread raises the flag in every other round."""
    wrong = 0
    for k in range(rounds):
        wrong += any_of(barrier, count, k % 2 == 0 and k // 2 % count == number) != (k % 2 == 0)
    return wrong


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_nobody_passes_early(count):
    barrier, slots, wrong = new_barrier(), np.zeros((count, 8), np.int64), []
    rounds = 200 if count > 1 else 3
    write_and_look(new_barrier(), 1, 0, np.zeros((1, 8), np.int64), 1)  # compile first
    threads = [
        threading.Thread(target=lambda k=k: wrong.append(write_and_look(barrier, count, k, slots, rounds)))
        for k in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == [0] * count


def test_one_thread_alone_does_not_touch_the_barrier():
    barrier = new_barrier()
    assert come(barrier, 1)
    assert not barrier.any()


def test_waiting_ends_when_the_barrier_is_abandoned():
    barrier, answers = new_barrier(), []
    come(new_barrier(), 1)  # compile first
    thread = threading.Thread(target=lambda: answers.append(come(barrier, 2)))
    thread.start()
    time.sleep(0.05)
    assert not answers
    barrier[int(ABANDONED), 0] = 1
    thread.join(60)
    assert answers == [False]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_flag_of_one_thread_is_seen_by_all_and_gone_afterwards(count):
    barrier, wrong = new_barrier(), []
    ask_in_turns(new_barrier(), 1, 0, 1)  # compile first
    threads = [
        threading.Thread(target=lambda k=k: wrong.append(ask_in_turns(barrier, count, k, 60))) for k in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == [0] * count
