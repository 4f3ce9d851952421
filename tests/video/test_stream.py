"""A stream loses nothing of a file, keeps up with a live source, survives faults, and always ends."""

import itertools
import logging
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from bdis import StereoCalibration, StereoMatcher
from bdis.video.sources import NumberedSource, Source, SourceLost, StereoFrame, open_source
from bdis.video.stream import reader
from bdis.video.stream.depth_stream import DepthStream
from bdis.video.stream.queue import FrameQueue, QueueClosed
from bdis.video.stream.statistics import Histogram

HEIGHT, WIDTH = 48, 64
TEXTURE = np.random.default_rng(3).integers(1, 255, (12, 40), np.uint8).repeat(4, 0).repeat(4, 1)


def views(shift: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return TEXTURE[:, 20 : 20 + WIDTH].copy(), TEXTURE[:, 20 + shift : 20 + shift + WIDTH].copy()


class File(NumberedSource):
    """Frames 0 to 19; those in ``bad`` cannot be read."""

    def __init__(self, frames=20, bad=(), fps=25.0):
        super().__init__("a file", frames, fps)
        self.bad, self.is_closed = bad, False

    def _load(self, index):
        if index in self.bad:
            raise ValueError("torn")
        return views()

    def close(self):
        super().close()
        self.is_closed = True


class Camera(Source):
    """A live source: a frame every ``period_s``; it is lost after the frames in ``lost_after``."""

    is_live, name = True, "a camera"

    def __init__(self, period_s=0.002, frames=10**9, lost_after=()):
        self.period_s, self.frames, self.lost_after = period_s, frames, list(lost_after)
        self.count = self.closed = 0

    def read(self):
        time.sleep(self.period_s)
        if self.lost_after and self.count >= self.lost_after[0]:
            self.lost_after.pop(0)
            raise SourceLost("the camera is gone")
        if self.count >= self.frames:
            return None
        self.count += 1
        return StereoFrame(self.count - 1, self.count * self.period_s, *views())

    def close(self):
        self.closed += 1


@pytest.fixture
def matcher():
    return StereoMatcher("fast")


@pytest.fixture(autouse=True)
def no_thread_left():
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and thread.name.startswith("bdis_")]
    assert left == []


def is_within(seconds: float, condition) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


# ---------------------------------------------------------------- files


def test_every_frame_of_a_file_comes_once_in_order_however_slow_the_listener(matcher):
    source = File()
    indices = []
    with DepthStream(source, matcher) as running:
        for frame in running:
            indices.append(frame.index)
            time.sleep(0.003)
    assert indices == list(range(20))
    assert source.is_closed
    assert running.statistics().dropped == 0


def test_a_result_is_that_of_the_matcher(matcher):
    reference = matcher.match(*views())
    computed = next(iter(DepthStream(File(), matcher))).result
    np.testing.assert_array_equal(computed.disparity, reference.disparity)


def test_video_mode_gives_each_frame_the_one_before():
    given = []

    class Spy(StereoMatcher):
        def match(self, left, right, *, previous=None, **masks):
            given.append(previous)
            return super().match(left, right, previous=previous, **masks)

    results = [frame.result for frame in DepthStream(File(4), Spy("fast"))]
    assert given[0] is None
    assert all(one is other for one, other in zip(given[1:], results))
    given.clear()
    assert len(list(DepthStream(File(4), Spy("fast"), video=False))) == 4
    assert given == [None] * 4


def test_a_result_to_begin_after_that_is_refused_ends_the_stream_and_loses_no_frames():
    matcher = StereoMatcher("balanced")
    before = matcher.match(*views())
    memory = replace(before.memory, trust=np.full_like(before.memory.trust, np.nan))
    running = DepthStream(File(4), matcher, previous=replace(before, memory=memory))
    with pytest.raises(ValueError, match="a file: the result of frame 0, after which to begin, is refused: .*trust"):
        list(running)
    assert running.statistics().damaged == 0


def test_start_stop_and_every(matcher):
    def indices(**options):
        return [frame.index for frame in DepthStream(File(), matcher, **options)]

    assert indices(start_s=5 / 25) == list(range(5, 20))
    assert indices(start_s=5 / 25, start_index=5, stop_s=9 / 25) == [5, 6, 7, 8]
    assert indices(every=7) == [0, 7, 14]
    with pytest.raises(ValueError, match="every is 0"):
        DepthStream(File(), matcher, every=0)


def test_a_damaged_frame_is_reported_skipped_and_counted(matcher):
    said = []
    running = DepthStream(File(bad=(3, 4, 17)), matcher, report=said.append)
    assert [frame.index for frame in running] == [i for i in range(20) if i not in (3, 4, 17)]
    assert said == [f"a file: frame {i}: torn; skipped" for i in (3, 4, 17)]
    assert running.statistics().damaged == 3


def test_what_nobody_listens_to_is_logged(matcher, caplog):
    with caplog.at_level(logging.WARNING):
        list(DepthStream(File(4, bad=(2,)), matcher))
    assert "frame 2: torn; skipped" in caplog.text


def test_a_frame_of_another_size_is_skipped_but_not_the_first_one(matcher):
    class Odd(File):
        def _load(self, index):
            left, right = views()
            return (left, right[:-1]) if index in self.bad else (left, right)

    odd = Odd()
    odd.bad = (5,)
    running = DepthStream(odd, matcher, report=lambda _: None)
    assert len(list(running)) == 19
    assert running.statistics().damaged == 1
    odd = Odd()
    odd.bad = range(20)
    with pytest.raises(ValueError, match="a rectified pair has one size"):
        list(DepthStream(odd, matcher, report=lambda _: None))


def test_a_frame_of_another_size_or_kind_than_the_first_is_skipped(matcher):
    class Changing(File):
        def _load(self, index):
            left, right = views()
            if index == 5:
                return left[:-8], right[:-8]
            return (left, right.astype(np.uint16)) if index == 7 else (left, right)

    said = []
    running = DepthStream(Changing(), matcher, report=said.append)
    assert [frame.index for frame in running] == [i for i in range(20) if i not in (5, 7)]
    assert "it is 64x40 but the frames before it are 64x48" in said[0]


def test_frames_are_rectified_on_the_way(matcher):
    k = np.array([[60, 0, 31.5], [0, 60, 23.5], [0, 0, 1]])
    cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(WIDTH, HEIGHT))
    rectifier = cameras.rectify()
    with DepthStream(File(3), matcher, rectifier) as running:
        frames = list(running)
        assert running.rig == rectifier.rig
    expected = rectifier(*views())
    np.testing.assert_array_equal(frames[2].left, expected[0])
    assert running.statistics().rectify_ms.p50 > 0


# ---------------------------------------------------------------- errors and stopping


def test_an_error_of_the_listener_comes_out_and_stops_everything(matcher):
    source = File(1000)

    def listen():
        with DepthStream(source, matcher) as running:
            for _ in running:
                raise ZeroDivisionError("the listener's own")

    with pytest.raises(ZeroDivisionError, match="own"):
        listen()
    assert source.is_closed


@pytest.mark.parametrize("culprit", ["read", "match"])
def test_an_unexpected_error_of_a_step_comes_out_after_the_frames_before_it(culprit):
    class Broken(File):
        def _load(self, index):
            if index == 5 and culprit == "read":
                raise MemoryError("no room")
            return views()

    class BrokenMatcher(StereoMatcher):
        count = 0

        def match(self, *images, **options):
            self.count += 1
            if self.count == 6 and culprit == "match":
                raise MemoryError("no room")
            return super().match(*images, **options)

    seen = []

    def listen():
        for frame in DepthStream(Broken(), BrokenMatcher("fast")):
            seen.append(frame.index)

    with pytest.raises(MemoryError, match="no room"):
        listen()
    assert seen == [0, 1, 2, 3, 4]


def test_leaving_the_loop_early_stops_everything(matcher):
    source = File(10**6)
    with DepthStream(source, matcher) as running:
        for frame in running:
            if frame.index == 3:
                break
    assert source.is_closed


def test_a_stream_that_was_never_run_closes_its_source(matcher):
    source = File()
    with DepthStream(source, matcher):
        pass
    assert source.is_closed


def test_a_stream_runs_once(matcher):
    running = DepthStream(File(2), matcher)
    list(running)
    with pytest.raises(RuntimeError, match="only once"):
        list(running)


def test_two_streams_of_one_source_shared_its_frames_out(matcher):
    source = File()
    first, second = (DepthStream(source, StereoMatcher("fast")) for _ in range(2))
    running = iter(first)
    next(running)
    with pytest.raises(RuntimeError, match="a file is read by another stream: open it once for each"):
        next(iter(second))
    second.close()
    assert not source.is_closed  # under the feet of the first
    assert [frame.index for frame in running] == list(range(1, 20))
    assert [frame.index for frame in DepthStream(source, matcher)] == list(range(20))


def test_a_source_is_free_again_when_its_cameras_could_not_be_found(matcher):
    class WithoutCameras(File):
        broken = True

        @property
        def camera(self):
            if self.broken:
                raise ValueError("no cameras")

    source = WithoutCameras()
    with pytest.raises(ValueError, match="no cameras"):
        list(DepthStream(source, matcher))
    source.broken = False
    assert len(list(DepthStream(source, matcher))) == 20


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"every": 1.5}, TypeError, "every is 1.5; expected a whole number"),
        ({"every": 0}, ValueError, "every is 0; expected 1 or more"),
        ({"at_end": "lop"}, ValueError, "at_end is 'lop'; expected one of 'stop', 'loop', 'wait'"),
        ({"start_s": float("nan")}, ValueError, "start_s is nan; expected a number of seconds"),
        ({"start_s": float("inf")}, ValueError, "start_s is inf"),
        ({"stop_s": float("nan")}, ValueError, "stop_s is nan"),
        ({"stop_s": "9s"}, TypeError, "stop_s is '9s'; expected a number of seconds"),
        ({"camera": "rig.toml"}, TypeError, "camera is a str; expected a Rectifier, a Rig such as Rig.load"),
    ],
)
def test_options_of_a_stream_that_make_no_sense_were_ignored(matcher, options, error, words):
    with pytest.raises(error, match=words):
        DepthStream(File(), matcher, **options)


def test_raw_cameras_that_were_not_rectified_matched_raw_images(matcher):
    camera = np.array([[50.0, 0, 32], [0, 50.0, 24], [0, 0, 1]])
    raw = StereoCalibration(camera, np.zeros(5), camera, np.zeros(5), np.eye(3), [-5.0, 0, 0], size=(WIDTH, HEIGHT))
    with pytest.raises(TypeError, match=r"not rectified: give camera\.rectify\(\)"):
        DepthStream(File(), matcher, raw)
    list(DepthStream(File(3), matcher, raw.rectify(), every=np.int64(2), stop_s=float("inf")))


def test_a_source_that_cannot_be_opened_is_an_error(matcher, tmp_path):
    path = tmp_path / "text.mp4"
    path.write_text("not a video")
    with pytest.raises(ValueError, match="not a video"):
        list(DepthStream(open_source(path), matcher))


# ---------------------------------------------------------------- live


def test_live_only_the_newest_frame_counts_and_the_delay_does_not_grow(matcher):
    camera = Camera(period_s=0.002)
    delays = []
    with DepthStream(camera, matcher) as running:
        for frame in itertools.islice(running, 40):
            time.sleep(0.02)  # ten times slower than the camera
            delays.append(camera.count - frame.index)
    assert running.statistics().dropped > 80  # about 300 where sleeping is exact
    assert np.median(delays[20:]) <= np.median(delays[3:20]) + 5  # frames behind; the same all the time
    assert np.percentile(delays, 80) < 60


def test_a_camera_that_disappears_is_retried_with_back_off(matcher, monkeypatch):
    monkeypatch.setattr(reader, "FIRST_RETRY_S", 0.01)
    camera = Camera(frames=30, lost_after=[10, 10, 10, 20])
    said = []
    running = DepthStream(camera, matcher, report=said.append)
    last = [frame.index for frame in running][-1]
    assert last == 29
    assert running.statistics().retries == 4
    assert [text.rpartition(" in ")[2] for text in said] == ["0.01 s", "0.02 s", "0.04 s", "0.01 s"]
    assert camera.closed == 5  # before each retry, and at the end


def test_stopping_does_not_wait_for_a_retry(matcher, monkeypatch):
    monkeypatch.setattr(reader, "FIRST_RETRY_S", 60.0)
    camera = Camera(lost_after=[1])
    with DepthStream(camera, matcher, report=lambda _: None) as running:
        next(iter(running))
        begin = time.monotonic()
    assert time.monotonic() - begin < 2


# ---------------------------------------------------------------- control


class Listener:
    """Runs a stream in a thread and keeps what it delivers."""

    def __init__(self, running):
        self.running, self.frames = running, []
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        for frame in self.running:
            self.frames.append(frame)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running.close()
        self.thread.join(10)
        assert not self.thread.is_alive()


def test_pause_step_seek_and_play(matcher):
    running = DepthStream(File(100, fps=100), matcher, paced=True)
    with Listener(running) as listener:
        assert is_within(10, lambda: listener.frames)
        running.pause()
        time.sleep(0.1)
        held = len(listener.frames)
        time.sleep(0.1)
        assert len(listener.frames) == held
        assert running.is_paused
        running.step()
        assert is_within(10, lambda: len(listener.frames) == held + 1)
        assert listener.frames[-1].index == held
        running.seek(0.7)
        assert is_within(10, lambda: listener.frames[-1].index == 70)
        running.seek(0.2)
        assert is_within(10, lambda: listener.frames[-1].index == 20)
        time.sleep(0.05)
        assert listener.frames[-1].index == 20
        running.play()
        assert is_within(10, lambda: listener.frames[-1].index == 99)


def test_a_step_and_a_seek_show_a_frame_also_if_some_are_left_out(matcher):
    running = DepthStream(File(100), matcher, every=7)
    running.pause()
    with Listener(running) as listener:
        for expected in (0, 7, 14):
            running.step()
            assert is_within(10, lambda: listener.frames and listener.frames[-1].index == expected)
        running.seek(50 / 25)
        assert is_within(10, lambda: listener.frames[-1].index == 50)


def test_another_matcher_does_the_last_frame_again_while_paused(matcher):
    running = DepthStream(File(20), matcher, at_end="wait")
    with Listener(running) as listener:
        assert is_within(10, lambda: running.is_paused and len(listener.frames) == 20)
        other = StereoMatcher("fast", min_disparity=10)
        running.use(other)
        assert is_within(10, lambda: len(listener.frames) == 21)
        assert listener.frames[-1].index == 19
        assert running.matcher is other
        assert not (listener.frames[-1].result.disparity < 9).any()


def test_a_file_can_loop_and_wait_at_its_end(matcher):
    looping = DepthStream(File(5), matcher, at_end="loop")
    assert [frame.index for frame in itertools.islice(looping, 12)] == [0, 1, 2, 3, 4] * 2 + [0, 1]
    assert list(DepthStream(File(0), matcher, at_end="loop")) == []
    waiting = DepthStream(File(5), matcher, at_end="wait")
    with Listener(waiting) as listener:
        assert is_within(10, lambda: waiting.is_paused)
        waiting.seek(0.0)
        assert is_within(10, lambda: len(listener.frames) == 6)
        assert listener.frames[-1].index == 0


def test_a_step_at_the_end_does_not_keep_asking_for_more(matcher):
    class Counting(File):
        reads = 0

        def read(self):
            self.reads += 1
            return super().read()

    source = Counting(3)
    waiting = DepthStream(source, matcher, at_end="wait")
    with Listener(waiting):
        assert is_within(10, lambda: waiting.is_paused)
        waiting.step()
        time.sleep(0.2)
        assert source.reads <= 5


def test_a_paced_file_takes_its_own_time(matcher):
    matcher.match(*views())
    begin = time.monotonic()
    frames = list(DepthStream(File(21, fps=100), matcher, paced=True))
    assert 0.19 < time.monotonic() - begin < 2
    assert np.median([frame.read_s for frame in frames]) < 0.005  # waiting is not reading


def test_a_short_file_that_loops_keeps_its_pace(matcher):
    matcher.match(*views())
    begin = time.monotonic()
    looping = DepthStream(File(5, fps=50), matcher, paced=True, at_end="loop")
    assert len(list(itertools.islice(looping, 25))) == 25
    assert time.monotonic() - begin > 20 / 50 - 0.05  # the last of each round does not wait for the first


def test_a_live_source_cannot_seek(matcher):
    with DepthStream(Camera(), matcher) as running, pytest.raises(ValueError, match="is live"):
        running.seek(1.0)


# ---------------------------------------------------------------- queues and statistics


def test_a_queue_hands_over_what_waits_before_its_error():
    queue = FrameQueue(3)
    queue.put(1)
    queue.close(OSError("late"))
    assert queue.get() == 1
    with pytest.raises(OSError, match="late"):
        queue.get()
    assert not queue.put(2)


def test_putting_into_a_full_queue_blocks_until_there_is_room():
    queue = FrameQueue(1)
    queue.put(1)
    answers = []
    producer = threading.Thread(target=lambda: answers.append(queue.put(2)))
    producer.start()
    time.sleep(0.02)
    assert producer.is_alive()
    queue.clear()
    producer.join(5)
    assert answers == [True]
    queue.close()
    assert queue.get() == 2
    with pytest.raises(QueueClosed):
        queue.get()


def test_percentiles_are_right_to_two_percent():
    seconds = np.random.default_rng(0).lognormal(-5, 1, 20000)
    times = Histogram()
    for each in seconds:
        times.add(each)
    percentiles = times.percentiles()
    expected = 1e3 * np.percentile(seconds, [50, 95, 99])
    np.testing.assert_allclose([percentiles.p50, percentiles.p95, percentiles.p99], expected, rtol=0.02)
    assert np.isnan(Histogram().percentiles().p50)
