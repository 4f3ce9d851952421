"""A rendered scene that somebody watches moves at once, and becomes the same video as ever."""

import threading
import time

import numpy as np
import pytest

from bdis.video.sources import BadFrame, RenderedSource, rendered


def test_a_scene_that_is_watched_waits_for_no_frame_but_the_first(monkeypatch):
    plain = RenderedSource("plane", frames=40, distinct=5, height=32, width=48)
    wanted = [frame.left.copy() for frame in plain]
    may_render, quick = threading.Semaphore(1), rendered.render

    def slow(*arguments, **options):
        assert may_render.acquire(timeout=20)
        return quick(*arguments, **options)

    monkeypatch.setattr(rendered, "render", slow)
    source = RenderedSource("plane", frames=40, distinct=5, height=32, width=48)
    source.render_ahead()
    with source:
        for count in (1, 2, 3):  # frames that are rendered
            begin = time.perf_counter()
            seen = {number_of(source.read(), wanted) for _ in range(8)}
            assert seen == set(range(count))
            assert source.missing == 5 - count
            assert time.perf_counter() - begin < 0.8, "ten frames a second and more"
            may_render.release()
            wait_until_true(lambda count=count: source.missing < 5 - count)
        for _ in range(2):
            may_render.release()
        wait_until_true(lambda: not source.missing)
        source.close()
        assert all(np.array_equal(frame.left, left) for frame, left in zip(source, wanted, strict=True))
    assert not [thread for thread in threading.enumerate() if thread.name == "bdis-render"]


def test_an_error_while_rendering_ahead_reaches_whoever_reads(monkeypatch):
    quick = rendered.render

    def broken(*arguments, frame, **options):
        if frame == 1:
            raise ValueError("the cameras touch the scene")
        return quick(*arguments, frame=frame, **options)

    monkeypatch.setattr(rendered, "render", broken)
    with RenderedSource("plane", frames=4, height=32, width=48) as source:
        source.render_ahead()
        assert source.read().index == 0
        wait_until_true(lambda: not source.missing)
        with pytest.raises(BadFrame, match="the cameras touch the scene"):
            source.read()


def number_of(frame, wanted):
    return next(number for number, left in enumerate(wanted[:5]) if np.array_equal(frame.left, left))


def wait_until_true(is_so, seconds=20.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)
