"""The threads of one match: all run every kernel, nobody waits for a thread that does not come, every row is shared."""

import threading

import numpy as np
import pytest

import bdis
from bdis.vector.crew import Crew, Threads, any_of, meet, share
from bdis.vector.records import Longs, Record, for_members, kernel
from tests.scenes import warped_pair


class Marks(Record):
    marks: Longs


@kernel
def mark_members(all_marks: Marks, own: Marks, number: int, flag: bool, crew: Crew) -> bool:
    """Each thread writes to a place of its own, in an array that all share and in one of its own."""
    for _ in range(100):
        if not meet(crew):
            return False
    all_marks.marks[crew.member, 0] += number
    own.marks[0, 0] += number
    found = any_of(crew, flag and crew.member == crew.count - 1)
    meet(crew)
    return found


def places(rows):
    return Marks(marks=np.zeros((rows, 1), np.int64))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_threads_run_every_kernel(count):
    threads = Threads(count)
    shared, own = places(count), [places(1) for _ in range(count)]

    def work(crew):
        for number in range(1, 51):
            assert mark_members(shared, for_members(own), number, True, crew)
            assert not mark_members(shared, own[0], 0, False, crew)

    for k in range(1, 21):
        threads.run(work)
        assert shared.marks[:, 0].tolist() == [k * 1275] * count
        assert [each.marks[0, 0] for each in own] == [k * 1275] * count


def test_an_error_of_the_leading_thread_ends_the_match():
    threads, shared = Threads(3), places(3)

    def work(crew):
        mark_members(shared, shared, 1, False, crew)
        raise OSError("disk full")

    for _ in range(3):
        with pytest.raises(OSError, match="disk full"):
            threads.run(work)
    shared.marks.fill(0)
    threads.run(lambda crew: mark_members(shared, places(1), 7, False, crew))  # and the next one works
    assert shared.marks[:, 0].tolist() == [7, 7, 7]


def test_threads_that_cannot_start_leave_nobody_waiting(monkeypatch):
    threads, shared = Threads(3), places(3)
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: start(self) if self.name.endswith("_0") else _refuse())
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threads.run(lambda crew: mark_members(shared, shared, 1, False, crew))
    assert not shared.marks.any()


def _refuse():
    raise RuntimeError("can't start new thread")


def test_floats_are_not_handed_to_other_threads():
    """They are passed in other registers than whole numbers and addresses."""
    with pytest.raises(TypeError, match="floats belong in a record"):

        @kernel
        def scale(marks: Marks, factor: float, crew: Crew) -> None:
            marks.marks[0, 0] *= factor


@kernel
def share_begin(crew: Crew, count: int, tile: int) -> int:
    return share(crew, count, tile)[0]


@kernel
def share_end(crew: Crew, count: int, tile: int) -> int:
    return share(crew, count, tile)[1]


@pytest.mark.parametrize("tile", [1, 4, 16])
@pytest.mark.parametrize("members", [1, 2, 3, 7])
def test_every_row_belongs_to_one_thread_in_whole_tiles(members, tile):
    threads = Threads(members)
    crews = [threads._leader, *threads._others]
    for count in (1, 3, 4, 15, 16, 17, 240):
        shares = [(share_begin(crew, count, tile), share_end(crew, count, tile)) for crew in crews]
        assert [row for begin, end in shares for row in range(begin, end)] == list(range(count))
        assert all(begin % tile == 0 or begin == count for begin, _ in shares)


class SlowImage:
    """An image that another thread is still reading."""

    def __init__(self, pixels):
        self._pixels, self.is_read, self.goes_on = pixels, threading.Event(), threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.is_read.set()
        assert self.goes_on.wait(60)
        return self._pixels


@pytest.mark.parametrize("threads", [1, 2])
def test_a_busy_matcher_says_so(threads):
    left, right, _ = warped_pair(400, 500, seed=1)
    matcher = bdis.StereoMatcher("fast", threads=threads)
    reference = matcher.match(left, right)
    slow, results = SlowImage(left), []
    other = threading.Thread(target=lambda: results.append(matcher.match(slow, right)))
    other.start()
    assert slow.is_read.wait(60)
    with pytest.raises(RuntimeError, match="busy in another thread"):
        matcher.match(left, right)
    slow.goes_on.set()
    other.join(60)
    for result in (results[0], matcher.match(left, right)):
        np.testing.assert_array_equal(result.disparity, reference.disparity)
