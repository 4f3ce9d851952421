"""The depth video: depth of all frames in one lossless file, 16-bit FFV1 in Matroska."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.arrays import Array
from ...common.atomic import Place
from ...common.machine import usable_cores
from ...common.optional import require
from ...common.reading import check_pixels
from ..containers import open_container
from .frame_log import FRAME_LOG, read_ordered_log
from .log_gaps import TICKS, FrameTimes
from .video_file import PURPOSE, Encoding, VideoFile

DEPTH_VIDEO = "depth.mkv"
STEPS_PER_MM = 100  # hundredths of a mm, up to 655.35 mm
MOST_STEPS = 65535
_TAG = "BDIS_STEPS_PER_MM"


class DepthVideo:
    """Writes depth as 16-bit values; 0 = unknown, or more than 65535 steps.

    Parameters
    ----------
    path : path
        The file.
    size : (int, int)
        Width and height, px.
    steps_per_mm : int
        Values are this many times the depth in mm.  100: hundredths of a mm, up to 655.35 mm.  1: whole mm, up to
        65.5 m, as some other tools expect.
    fps : float, optional
        Frames per second, as information for players; each frame has its own time.
    keep : int
        Keep so many frames of an existing file, and continue after them.

    Attributes
    ----------
    too_far : int
        Number of pixels so far whose depth was too large.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     video = DepthVideo(f"{folder}/depth.mkv", (3, 2), steps_per_mm=100)
    ...     video.write(np.float32([[61.74, 700, np.nan], [1, 2, 3]]), time_s=0.04)
    ...     video.close()
    ...     [(time_s, depth.tolist()) for _, time_s, depth in read_depth_video(f"{folder}/depth.mkv")]
    [(0.04, [[61.7400016784668, nan, nan], [1.0, 2.0, 3.0]])]
    """

    def __init__(
        self,
        path: Place,
        size: tuple[int, int],
        *,
        steps_per_mm: int = STEPS_PER_MM,
        fps: float | None = None,
        keep: int = 0,
    ):
        if not 1 <= steps_per_mm <= MOST_STEPS:
            raise ValueError(f"steps_per_mm is {steps_per_mm}; expected 1 to {MOST_STEPS}")
        self.too_far = 0
        self._steps_per_mm = steps_per_mm
        # Every frame is a key frame, and a new cluster for each makes FFmpeg write it to the disk at once.
        encoding = Encoding(
            "matroska", "ffv1", "gray16le", 1, TICKS, {"cluster_time_limit": "0"},
            {"level": "3", "slices": "4", "slicecrc": "1"}, min(4, usable_cores()),
        )  # fmt: skip
        tags = {_TAG: str(steps_per_mm), "COMMENT": _meaning(steps_per_mm)}
        self._file = VideoFile(path, encoding, size, fps=fps, tags=tags, keep=keep)

    def write(self, depth_mm: Array, time_s: float) -> None:
        """Add a frame.

        Parameters
        ----------
        depth_mm : ndarray of float32, shape (h, w)
            NaN = unknown.
        time_s : float
            Time of the frame, seconds.

        Raises
        ------
        OSError
            The frame cannot be written; what was written before can be read.
        """
        steps = depth_mm * np.float32(self._steps_per_mm)
        np.rint(steps, out=steps)
        np.maximum(steps, 1, out=steps)  # 0 would mean unknown
        too_far = steps > MOST_STEPS
        if too_far.any():
            self.too_far += int(np.count_nonzero(too_far))
            steps[too_far] = 0
        np.fmax(steps, 0, out=steps)  # NaN becomes 0
        self._file.write(steps.astype(np.uint16), time_s)

    def append(self, path: Place, times_s: Sequence[float]) -> None:
        """Add all frames of another video of the same kind, without encoding them again.

        Parameters
        ----------
        path : path
            The other video.
        times_s : sequence of float
            Times of its frames, seconds.

        Raises
        ------
        OSError
            They cannot be written.
        ValueError
            It has another number of frames, or was written by another version of its encoder.
        """
        self._file.append(path, times_s)

    def close(self) -> None:
        """Write the last frame and close the file."""
        self._file.close()


def read_depth_video(path: Place) -> Iterator[tuple[int, float, NDArray[np.float32]]]:
    """Read a depth video that ``bdis run --save video`` wrote, even if its recording was interrupted.

    If ``frames.csv`` lies beside the video, the frames that it lists are read; their times must be those in the video.

    Parameters
    ----------
    path : path
        The video.

    Yields
    ------
    index : int
        Number of the frame in its source, from ``frames.csv``; without it, counted from 0.
    time_s : float
        Time of the frame, exact from ``frames.csv``; without it, to 1 ms.
    depth_mm : ndarray of float32, shape (h, w)
        NaN = unknown.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a depth video of bdis, or ``frames.csv`` does not list its frames, each once and in order.
    ImportError
        PyAV is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     video = DepthVideo(f"{folder}/depth.mkv", (64, 48), steps_per_mm=1)
    ...     video.write(np.full((48, 64), 61.7, np.float32), time_s=0)
    ...     video.close()
    ...     [(index, depth[0, 0].item()) for index, _, depth in read_depth_video(f"{folder}/depth.mkv")]
    [(0, 62.0)]
    """
    av = require("av", PURPOSE)
    log = Path(path).with_name(FRAME_LOG)
    records, times = read_ordered_log(log) if log.is_file() else None, FrameTimes()
    try:
        with open_container(av, os.fspath(path)) as container:
            steps_per_mm = _steps_per_mm(container, path)
            for count, frame in enumerate(container.decode(video=0)):
                if records is not None:
                    if count == len(records):
                        return
                    times.check(path, count, records[count], -1 if frame.time is None else round(frame.time * TICKS))
                steps = frame.to_ndarray()
                depth = np.where(steps > 0, steps / np.float32(steps_per_mm), np.float32(np.nan))
                if records is None:
                    if frame.time is None:
                        raise ValueError(f"{path} has a frame without a time")
                    yield count, float(frame.time), depth
                else:
                    yield records[count].index, records[count].time_s, depth
    except OSError:
        raise
    except av.FFmpegError as error:
        raise ValueError(f"{path} cannot be read as a video: {error.strerror}") from error


def _meaning(steps_per_mm: int) -> str:
    """What the values mean, for who opens the video with another tool.

    >>> _meaning(100)
    'depth in mm = value / 100; 0 = unknown, or more than 655.35 mm'
    """
    return f"depth in mm = value / {steps_per_mm}; 0 = unknown, or more than {MOST_STEPS / steps_per_mm:g} mm"


def _steps_per_mm(container: Any, path: Place) -> int:
    streams = container.streams.video
    tags = {**container.metadata, **(streams[0].metadata if streams else {})}
    codec = streams[0].codec_context if streams else None  # None, too, if the codec is not known
    if _TAG not in tags or codec is None or codec.pix_fmt != "gray16le":
        raise ValueError(f"{path} is not a depth video of bdis: 16-bit grey, with the tag {_TAG}")
    check_pixels(streams[0].width, streams[0].height, path)
    if not re.fullmatch("[1-9][0-9]{0,5}", tags[_TAG]):
        raise ValueError(f"{path} has {tags[_TAG]!r} steps per mm; expected a whole number from 1")
    return int(tags[_TAG])
