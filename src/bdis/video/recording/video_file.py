"""A video that stays readable however its writing ends, and that can be gone on with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...common.atomic import Place, named
from ...common.optional import require
from ..sources.source import DEFAULT_FPS

Array = np.ndarray[Any, np.dtype[Any]]
PURPOSE = "reading and writing videos"


@dataclass(frozen=True)
class Encoding:
    """How a video is kept.

    Attributes
    ----------
    container, codec, pixel_format : as FFmpeg calls them
    keyframe_every : frames
    ticks : per second, the steps of its timestamps
    container_options, codec_options : of FFmpeg
    slice_threads : how many threads may share a frame
    """

    container: str
    codec: str
    pixel_format: str
    keyframe_every: int
    ticks: int
    container_options: dict[str, str] = field(default_factory=dict)
    codec_options: dict[str, str] = field(default_factory=dict)
    slice_threads: int = 1


class VideoFile:
    """Writes frames; all but the last one are on the disk when :meth:`write` returns, and can be read at any time.

    The containers hold a frame back until the next one comes; :meth:`close` writes the last.

    Parameters
    ----------
    path : the file
    encoding : Encoding
    size : (width, height), px
    fps : frames per second, a hint; each frame has its own time
    tags : texts to keep in the file
    keep : go on with the file after so many of its frames; 0: a new one

    Raises
    ------
    OSError
        The file cannot be written.  What was there before is as it was.
    ValueError
        It cannot be gone on with.
    ImportError
        PyAV is not installed.
    """

    def __init__(
        self,
        path: Place,
        encoding: Encoding,
        size: tuple[int, int],
        *,
        fps: float | None = None,
        tags: dict[str, str] | None = None,
        keep: int = 0,
    ):
        self.path, self._encoding = Path(path), encoding
        self._last_tick = -1
        earlier = _earlier(self.path)
        if keep and not earlier.exists():
            os.replace(self.path, earlier)
        self._open(size, fps or DEFAULT_FPS, tags or {})
        if not keep:
            earlier.unlink(missing_ok=True)
            return
        try:
            self._copy(earlier, keep)
        except BaseException:
            self.close()
            os.replace(earlier, self.path)
            raise
        earlier.unlink()

    def write(self, picture: Array, time_s: float) -> None:
        """Add a frame, (height, width) or as PyAV's ``from_ndarray`` takes it, taken at ``time_s``.

        Raises
        ------
        OSError
            No space left, for one; what was written before can be read.
        """
        av = require("av", PURPOSE)
        frame = av.VideoFrame.from_ndarray(picture, format=self._encoding.pixel_format)
        # Two frames of one time would be refused.
        self._last_tick = max(round(time_s * self._encoding.ticks), self._last_tick + 1)
        frame.pts, frame.time_base = self._last_tick, Fraction(1, self._encoding.ticks)
        self._container.mux(self._stream.encode(frame))
        self._file.mark_whole()

    def close(self) -> None:
        """Write what is held back and the end of the file.

        Raises
        ------
        OSError
            No space left, for one; what was written before can be read.
        """
        av = require("av", PURPOSE)
        if self._file.is_closed:
            return
        try:
            self._container.mux(self._stream.encode(None))
            self._container.close()
        except av.FFmpegError:
            if not self._file.has_failed:  # else it was told
                raise
        finally:
            with contextlib.suppress(OSError, av.FFmpegError):
                self._container.close()
            self._file.close()

    def _open(self, size: tuple[int, int], fps: float, tags: dict[str, str]) -> None:
        av = require("av", PURPOSE)
        how = self._encoding
        self._file = _DiskFile(self.path)
        self._container = av.open(self._file, "w", format=how.container, options=how.container_options)
        self._container.metadata.update(tags)
        rate = Fraction(fps).limit_denominator(1001)
        self._stream = self._container.add_stream(how.codec, rate=rate, options=how.codec_options)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = how.pixel_format
        context = self._stream.codec_context
        context.gop_size, context.time_base = how.keyframe_every, Fraction(1, how.ticks)
        # Threads that share a frame cost no delay; threads with a frame each would.
        context.thread_type, context.thread_count = "SLICE", how.slice_threads
        # The header is written with the first frame: FFmpeg crashes at the end of an MP4 that has none.

    def _copy(self, earlier: Path, keep: int) -> None:
        """Take over the first frames of a file, as they are."""
        av = require("av", PURPOSE)
        self._stream.codec_context.open()
        with av.open(str(earlier)) as old:
            source = old.streams.video[0]
            is_h264 = self._stream.codec_context.name == "libx264"
            if not is_h264 and source.codec_context.extradata != self._stream.codec_context.extradata:
                raise ValueError(
                    f"{self.path} was written by another version of its encoder: it cannot be gone on with"
                )
            # MP4 keeps H.264 in another form than encoders give it.
            convert = av.bitstream.BitStreamFilterContext("h264_mp4toannexb", source) if is_h264 else None
            for packet in _packets(old, keep):
                for part in [packet] if convert is None else convert.filter(packet):
                    self._last_tick = round(part.pts * part.time_base * self._encoding.ticks)
                    part.stream = self._stream
                    self._container.mux(part)


def whole_frames(path: Place) -> int:
    """How many frames of a video, possibly cut short, can be read; 0 if there is none.

    Examples
    --------
    >>> whole_frames("missing.mkv")
    0
    """
    av = require("av", PURPOSE)
    path = Path(path)
    earlier = _earlier(path)
    with contextlib.suppress(OSError, av.FFmpegError), av.open(str(earlier if earlier.exists() else path)) as video:
        return sum(1 for _ in _packets(video))
    return 0


def _packets(container: Any, most: int | None = None) -> Iterator[Any]:
    count = 0
    av = require("av", PURPOSE)
    # A file that was cut short ends with an error.
    with contextlib.suppress(av.FFmpegError):
        for packet in container.demux(video=0):
            if count == most or packet.is_corrupt:
                return
            if packet.size:  # the last one is empty
                count += 1
                yield packet


def _earlier(path: Path) -> Path:
    """Where a file waits while its frames are taken over into a new one; if it is there, that was not finished."""
    return path.with_name(f"{path.stem}.earlier{path.suffix}")


class _DiskFile:
    """A file for FFmpeg to write to; once a write has failed, nothing more is changed in it.

    FFmpeg's own would tell of a full disk late and without the file's name, and would still write the end of a video
    into one that is not complete.
    """

    def __init__(self, path: Path):
        self._path = path
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  # closed by close()
        self.has_failed = False
        self._whole = 0

    def mark_whole(self) -> None:
        """Up to here it can be read; what comes after goes if it cannot be finished."""
        self._whole = self._file.tell()

    def write(self, content: bytes) -> int:
        rest = memoryview(content)
        while rest and not self.has_failed:
            try:
                rest = rest[self._file.write(rest) :]
            except OSError as error:
                self.has_failed = True
                with contextlib.suppress(OSError):
                    self._file.truncate(self._whole)
                raise named(error, self._path) from error
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    @property
    def is_closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()
