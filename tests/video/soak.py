"""Twenty thousand frames through each kind of stream: memory, latency, handles and threads stay as they are.

Not part of ``make test``; run it with ``make soak``.
"""

import gc
import itertools
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bdis import StereoCalibration, StereoMatcher
from bdis.video.sources import RenderedSource, StereoFrame, open_source
from bdis.video.stream.depth_stream import DepthStream
from bdis.video.stream.statistics import resident_mb
from tests.video.videos import write_video

FRAMES = 20_000
LONGEST_S = 600.0
WARM_UP = 0.15  # of the frames, after which memory must not grow any more
MOST_GROWTH_MB = 4.0
HEIGHT, WIDTH = 96, 128


class LiveRendered(RenderedSource):
    """The rendered scene as a camera of 200 Hz would deliver it."""

    is_live = True

    def read(self) -> StereoFrame | None:
        due = self._next / 200
        self.begin = getattr(self, "begin", time.perf_counter() - due)
        time.sleep(max(0.0, self.begin + due - time.perf_counter()))
        return super().read()


def scene(kind=RenderedSource):
    return kind("tissue", frames=FRAMES, distinct=20, height=HEIGHT, width=WIDTH)


def handles() -> int:
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


@pytest.mark.parametrize("kind", ["rendered, rectified", "video", "live"])
def test_nothing_grows(kind, tmp_path):
    camera = None
    if kind == "video":
        with scene() as source:
            pairs = [(frame.left, frame.right) for frame in itertools.islice(source, 40)]
        path = write_video(tmp_path / "scene.mp4", 400, pair=lambda index: pairs[index % 38])
        running = DepthStream(open_source(path), StereoMatcher("balanced", variance=True), at_end="loop")
    elif kind == "live":
        running = DepthStream(scene(LiveRendered), StereoMatcher("balanced", variance=True))
    else:
        matrix = np.array([[110, 0, 63.5], [0, 110, 47.5], [0, 0, 1]])
        bend = np.array([-0.1, 0.01, 0, 0])
        camera = StereoCalibration(matrix, bend, matrix, bend, np.eye(3), [-5, 0, 0], size=(WIDTH, HEIGHT)).rectify()
        running = DepthStream(scene(), StereoMatcher("balanced", variance=True), camera)
    threads_before, handles_before = threading.active_count(), handles()
    delays, memory, open_handles = [], [], []
    begin = time.monotonic()
    with running:
        for frame in itertools.islice(running, FRAMES):
            delays.append(time.perf_counter() - frame.arrived_s)
            if len(delays) % 500 == 0:
                gc.collect()
                memory.append(resident_mb())
                open_handles.append(handles())
                if time.monotonic() - begin > LONGEST_S:
                    break
    statistics = running.statistics()
    quarter = len(delays) // 4
    early, late = (1e3 * np.median(part) for part in (delays[quarter : 2 * quarter], delays[-quarter:]))
    warm = memory[int(WARM_UP * len(memory))]
    print(
        f"\n{kind}: {statistics.frames} frames at {statistics.fps:.0f} fps, {statistics.dropped} dropped; "
        f"memory {warm:.1f} MB after warm-up, {memory[-1]:.1f} MB at the end, {max(memory):.1f} MB at most; "
        f"median latency {early:.2f} ms early, {late:.2f} ms late; "
        f"p50 {statistics.latency_ms.p50:.2f} ms, p99 {statistics.latency_ms.p99:.2f} ms; "
        f"handles {min(open_handles)} to {max(open_handles)}"
    )
    assert len(delays) == FRAMES or time.monotonic() - begin > LONGEST_S or kind == "live"
    assert memory[-1] - warm < MOST_GROWTH_MB
    assert late < 1.5 * early + 0.5
    assert max(open_handles) == min(open_handles)
    assert threading.active_count() == threads_before
    assert handles() <= handles_before
