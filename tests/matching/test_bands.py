"""Threads of one match: nobody may wait for a band that does not come."""

import threading

import numba
import numpy as np
import pytest
from bdis.matching.bands import Bands

import bdis
from bdis.vector.barrier import meet
from tests.scenes import warped_pair


@numba.njit(nogil=True)
def meet_often(barrier, count, times):
    for k in range(times):
        if not meet(barrier, count):
            return k
    return times


@pytest.mark.parametrize("count", [1, 2, 5])
def test_bands_meet_and_all_are_called(count):
    bands, called = Bands(count), []

    def work(band):
        assert meet_often(bands.barrier, count, 1000) == 1000
        called.append(band.number)
        return band.number == count - 1

    for _ in range(20):
        assert bands.run(work)
    assert sorted(called) == sorted(list(range(count)) * 20)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failing_band_ends_the_match_with_its_error(failing):
    bands = Bands(3)
    meet_often(bands.barrier, 1, 1)  # compile before the clock ticks

    def work(band):
        if band.number == failing:
            raise OSError(f"band {failing}")
        return meet_often(bands.barrier, 3, 10) > 0

    with pytest.raises(OSError, match=f"band {failing}"):
        bands.run(work)
    assert not bands.run(lambda band: meet_often(bands.barrier, 3, 10) < 10)  # and the next one works


def test_threads_that_cannot_start_leave_nobody_waiting(monkeypatch):
    bands = Bands(3)
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: start(self) if self.name.endswith("_0") else _refuse())
    with pytest.raises(RuntimeError, match="can't start new thread"):
        bands.run(lambda band: meet_often(bands.barrier, 3, 10) > 0)


def _refuse():
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_busy_matcher_says_so(threads):
    left, right, _ = warped_pair(400, 500, seed=1)
    matcher = bdis.StereoMatcher("fast", threads=threads)
    reference = matcher.match(left, right)
    with matcher._busy, pytest.raises(RuntimeError, match="busy in another thread"):
        matcher.match(left, right)
    np.testing.assert_array_equal(matcher.match(left, right).disparity, reference.disparity)
