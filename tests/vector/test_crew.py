"""The threads of one match: nobody may wait for a thread that does not come, and every row is somebody's."""

import threading

import numpy as np
import pytest

import bdis
from bdis.vector.crew import Crew, Threads, meet, share
from bdis.vector.records import kernel
from tests.scenes import warped_pair


@kernel
def meet_often(crew: Crew, times: int) -> int:
    for k in range(times):
        if not meet(crew):
            return k
    return times


@pytest.mark.parametrize("count", [1, 2, 5])
def test_threads_meet_and_all_are_called(count):
    threads, called = Threads(count), []

    def work(crew):
        assert meet_often(crew, 1000) == 1000
        assert crew.any(crew.member == count - 1)
        assert not crew.any(False)
        called.append(crew.member)

    for _ in range(20):
        threads.run(work)
    assert sorted(called) == sorted(list(range(count)) * 20)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failing_thread_ends_the_match_with_its_error(failing):
    threads, met = Threads(3), []
    meet_often.ready()  # compile before the clock ticks

    def work(crew):
        if crew.member == failing:
            raise OSError(f"thread {failing}")
        meet_often(crew, 10)

    with pytest.raises(OSError, match=f"thread {failing}"):
        threads.run(work)
    threads.run(lambda crew: met.append(meet_often(crew, 10)))  # and the next one works
    assert met == [10, 10, 10]


def test_threads_that_cannot_start_leave_nobody_waiting(monkeypatch):
    threads = Threads(3)
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: start(self) if self.name.endswith("_0") else _refuse())
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threads.run(lambda crew: meet_often(crew, 10))


@kernel
def share_begin(crew: Crew, count: int, tile: int) -> int:
    return share(crew, count, tile)[0]


@kernel
def share_end(crew: Crew, count: int, tile: int) -> int:
    return share(crew, count, tile)[1]


@pytest.mark.parametrize("tile", [1, 4, 16])
@pytest.mark.parametrize("members", [1, 2, 3, 7])
def test_every_row_belongs_to_one_thread_in_whole_tiles(members, tile):
    crews = [Crew(barrier=np.zeros((4, 8), np.int64), member=k, count=members) for k in range(members)]
    for count in (1, 3, 4, 15, 16, 17, 240):
        shares = [(share_begin(crew, count, tile), share_end(crew, count, tile)) for crew in crews]
        assert [row for begin, end in shares for row in range(begin, end)] == list(range(count))
        assert all(begin % tile == 0 or begin == count for begin, _ in shares)


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
