"""Calls that were noted do what Python did, in every thread and after everything that changes in between."""

import numpy as np
import pytest

from bdis.vector.crew import Crew, Threads, meet, share
from bdis.vector.records import Ints, Record, for_members, kernel
from bdis.vector.repeated import Repeated


class Row(Record):
    values: Ints
    factor: int


class Step(Record):
    """One for each thread."""

    size: int


@kernel
def add_step(row: Row, step: Step, sign: int, crew: Crew) -> None:
    """Add the step of its thread to the columns of each thread."""
    begin, end = share(crew, row.values.shape[1], 1)
    for x in range(begin, end):
        row.values[0, x] += sign * row.factor * step.size
    meet(crew)


def steps_for(threads):
    return for_members([Step(size=10**k) for k in range(threads)])


@pytest.mark.parametrize("threads", [1, 3])
def test_repeated_calls_equal_those_of_python(threads):
    values = np.zeros((1, 6), np.int32)
    row, step, python_runs = Row(values=values, factor=1), steps_for(threads), []

    def work(has_hidden, crew):
        python_runs.append(has_hidden)
        add_step(row, step, 1, crew)
        add_step(row, step, 1 if has_hidden else 2, crew)

    repeated, crew_threads = Repeated(), Threads(threads)
    expected = np.repeat(10 ** np.arange(threads), 6 // threads)
    for count, has_hidden in enumerate([False, False, True, False, True]):
        values[:] = 0
        row.update(factor=count)  # what is in a record is read anew
        crew_threads.run(lambda crew: repeated.run(work, has_hidden, crew))
        assert values[0].tolist() == (count * (2 if has_hidden else 3) * expected).tolist()
    assert python_runs == [False, True]
    other = Threads(threads)  # as after a fork
    values[:] = 0
    other.run(lambda crew: repeated.run(work, False, crew))
    assert python_runs == [False, True, False]
    assert values[0].tolist() == (12 * expected).tolist()


def test_an_interrupted_run_is_noted_from_the_beginning():
    row, step = Row(values=np.zeros((1, 4), np.int32), factor=1), steps_for(1)
    repeated, threads = Repeated(), Threads(1)
    is_interrupted = True

    def work(has_hidden, crew):
        add_step(row, step, 1, crew)
        if is_interrupted:
            raise KeyboardInterrupt
        add_step(row, step, 1, crew)

    with pytest.raises(KeyboardInterrupt):
        threads.run(lambda crew: repeated.run(work, False, crew))
    threads.run(lambda crew: add_step(row, step, -1, crew))  # is not noted
    is_interrupted = False
    for expected in (2, 4):
        threads.run(lambda crew: repeated.run(work, False, crew))
        assert row.values.tolist() == [[expected] * 4]
