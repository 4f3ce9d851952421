"""Frames for other programs: sent from a thread of their own, the newest first, never waited for."""

import threading
import time

from bdis.video.live import LiveOutput


class Slow(LiveOutput):
    """Takes its time with the first frame."""

    name = "a slow program"

    def __init__(self):
        self.got, self.may_go_on, self.has_one, self.was_closed = [], threading.Event(), threading.Event(), False
        super().__init__()

    def _send(self, frame):
        if frame == "bad":
            raise ValueError("it is bad")
        self.got.append(frame)
        self.has_one.set()
        self.may_go_on.wait(10)

    def _close(self):
        self.was_closed = True


def test_a_slow_program_gets_the_newest_frame_and_drops_are_counted():
    with Slow() as output:
        output.offer(0)
        assert output.has_one.wait(10)
        before = time.perf_counter()
        for frame in range(1, 100):
            output.offer(frame)
        assert time.perf_counter() - before < 1  # nothing waited
        output.may_go_on.set()
    assert output.got == [0, 99]
    assert (output.sent, output.dropped, output.was_closed) == (2, 98, True)


def test_a_frame_that_cannot_be_sent_is_counted_and_the_next_one_is_sent(caplog):
    with Slow() as output:
        output.may_go_on.set()
        output.offer("bad")
        deadline = time.monotonic() + 10
        while output.dropped == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        output.offer("good")
    assert output.got == ["good"]
    assert (output.sent, output.dropped) == (1, 1)
    assert "a frame was not sent: it is bad" in caplog.text


def test_nothing_is_taken_after_the_end():
    output = Slow()
    output.may_go_on.set()
    output.close()
    output.offer("too late")
    output.close()
    assert output.got == []
    assert (output.sent, output.dropped) == (0, 0)


def test_a_program_that_hangs_does_not_hold_up_the_end(monkeypatch, caplog):
    monkeypatch.setattr("bdis.video.live.live_output.STOP_S", 0.05)
    output = Slow()
    output.offer(0)
    assert output.has_one.wait(10)
    output.close()
    assert "does not take its last frame" in caplog.text
    output.may_go_on.set()
