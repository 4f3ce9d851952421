"""From a file to depth: an H.264 video with both views side by side, decoded, rectified and matched on one core."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import cv2
import numpy as np

import bdis
from bdis.evaluation.datasets import open_dataset
from bdis.evaluation.runner import single_threaded_opencv
from bdis.video.recording import Recording, RecordingPlan
from bdis.video.sources import RenderedSource
from bdis.video.stream.depth_stream import DepthStream

from .methods import unpadded_sgbm, unpadded_sgbm_label

SIZES = ((640, 480), (1280, 1024))  # of one view
DISTINCT = 12  # frames that are rendered; the video repeats them forwards and backwards
SEED = 3
QUALITY = "12"  # x264's crf: 7 Mbit/s at 640x480 and 28 at 1280x1024 of each view, 30 frames/s, as recorders write


def streaming(rounds: int) -> dict:
    """Frames per second from file to depth, methods taking turns, everything on one core."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, one_core(), single_threaded_opencv():
        ranges = {size: _max_disparity_px(*size) for size in SIZES}
        sgbm = f"OpenCV VideoCapture; {unpadded_sgbm_label(ranges.values())}"
        for width, height in SIZES:
            frames = 300 if width < 1000 else 90
            path = Path(folder, f"{width}.mp4")
            rig = write_video(path, width, height, frames)
            most = ranges[width, height]
            rectifier = _slightly_verged(rig)
            methods: dict[str, Callable[[], tuple[float, float, float]]] = {
                "decoding alone, grey": lambda: _decode(path),
                sgbm: lambda: _opencv(path, most),
                "`fast`": lambda: _stream(path, "fast", rig),
                "`fast`, rectified on the way": lambda: _stream(path, "fast", rectifier),
                "`balanced`": lambda: _stream(path, "balanced", rig),
                "`balanced`, rectified on the way": lambda: _stream(path, "balanced", rectifier),
                "`fast`, recorded as `depth.mkv`": lambda: _record(path, rig, ("video",)),
                "`fast`, recorded as `depth.mkv` and `preview.mp4`": lambda: _record(path, rig, ("video", "preview")),
            }
            for method in methods.values():
                method()  # loads the kernels, fills the caches
            runs = [{name: method() for name, method in methods.items()} for _ in range(max(1, rounds // 5))]
            found[f"{width}x{height}"] = {
                name: {
                    "fps": float(np.median([run[name][0] for run in runs])),
                    "latency_p50_ms": float(np.median([run[name][1] for run in runs])),
                    "latency_p95_ms": float(np.median([run[name][2] for run in runs])),
                }
                for name in methods
            }
    return found


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and those it starts, on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _max_disparity_px(width: int, height: int) -> float:
    """Largest disparity of the rendered frames, as data sets report it."""
    data = open_dataset(f"render:tissue,frames=2,height={height},width={width},seed={SEED}")
    return max(frame.max_disparity_px or 0.0 for frame in data.frames())


def write_video(path: Path, width: int, height: int, frames: int) -> bdis.Rig:
    """A rendered video with both views side by side; its rig."""
    with RenderedSource("tissue", frames=frames, distinct=DISTINCT, height=height, width=width, seed=SEED) as source:
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=30)
            stream.width, stream.height, stream.pix_fmt = 2 * width, height, "yuv420p"
            stream.options = {"crf": QUALITY}
            for frame in source:
                both = np.hstack([frame.left, frame.right])
                container.mux(stream.encode(av.VideoFrame.from_ndarray(both, format="rgb24")))
            container.mux(stream.encode())
        return source.rig


def _slightly_verged(rig: bdis.Rig) -> bdis.Rectifier:
    """A rectifier for similar cameras, turned by half a degree and with some distortion."""
    matrix = np.array([[rig.focal_px, 0, rig.cx], [0, rig.focal_px, rig.cy], [0, 0, 1]])
    bend = np.array([-0.05, 0.01, 0, 0])
    turn = cv2.Rodrigues(np.array([0.0, 0.01, 0.0]))[0]
    shift = np.array([-rig.baseline_mm, 0, 0])
    assert rig.size is not None
    return bdis.StereoCalibration(matrix, bend, matrix, bend, turn, shift, size=rig.size).rectify()


def _stream(path: Path, preset: str, camera: bdis.Rig | bdis.Rectifier) -> tuple[float, float, float]:
    begin = time.perf_counter()
    with DepthStream(bdis.open_source(path, color=False), bdis.StereoMatcher(preset), camera) as stream:
        assert stream.rig is not None
        for frame in stream:
            stream.rig.depth(frame.result)
    figures = stream.statistics()
    fps = figures.frames / (time.perf_counter() - begin)
    return fps, figures.latency_ms.p50, figures.latency_ms.p95


def _record(path: Path, rig: bdis.Rig, save: tuple[str, ...]) -> tuple[float, float, float]:
    assert rig.size is not None
    width, height = rig.size
    source = bdis.open_source(path, color="preview" in save)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        recording = Recording(folder, RecordingPlan(save, (height, width), rig, source.fps), {})
        with DepthStream(source, bdis.StereoMatcher("fast"), rig) as stream:
            for frame in stream:
                recording.add(frame)
        recording.close("complete")
        figures = stream.statistics()
        return figures.frames / (time.perf_counter() - begin), figures.latency_ms.p50, figures.latency_ms.p95


def _decode(path: Path) -> tuple[float, float, float]:
    begin = time.perf_counter()
    with bdis.open_source(path, color=False) as source:
        frames = sum(1 for _ in source)
    return frames / (time.perf_counter() - begin), float("nan"), float("nan")


def _opencv(path: Path, max_disparity_px: float, frames: int = 20) -> tuple[float, float, float]:
    """The first frames of the video; SGBM takes about the same time for each."""
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    matcher = unpadded_sgbm(max_disparity_px)
    begin = time.perf_counter()
    for _ in range(frames):
        was_read, both = capture.read()
        assert was_read
        grey = cv2.cvtColor(both, cv2.COLOR_BGR2GRAY)
        middle = grey.shape[1] // 2
        matcher.run_opencv(grey[:, :middle], grey[:, middle:])
    capture.release()
    return frames / (time.perf_counter() - begin), float("nan"), float("nan")
