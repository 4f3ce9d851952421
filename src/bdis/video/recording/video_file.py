"""A video file that can be read while it is written, and continued after an interruption."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...common.arrays import Array
from ...common.atomic import Place, named
from ...common.optional import require
from ..containers import open_container
from ..sources.source import DEFAULT_FPS

PURPOSE = "reading and writing videos"
BIT_EXACT = {"fflags": "+bitexact"}  # no random identifiers: the same frames make the same file


@dataclass(frozen=True)
class Encoding:
    """How a video is encoded.

    Attributes
    ----------
    container, codec, pixel_format : str
        Names of FFmpeg.
    keyframe_every : int
        Frames from one key frame to the next.
    ticks : int
        Resolution of the timestamps, per second.
    container_options, codec_options : dict
        Options of FFmpeg.
    slice_threads : int
        How many threads may encode parts of one frame.
    is_in_parts : bool
        Every key frame begins with a new encoder, so that the bits after it do not depend on the frames before: a
        video that is continued at a key frame has the same bits as one that was never interrupted.
    """

    container: str
    codec: str
    pixel_format: str
    keyframe_every: int
    ticks: int
    container_options: dict[str, str] = field(default_factory=dict)
    codec_options: dict[str, str] = field(default_factory=dict)
    slice_threads: int = 1
    is_in_parts: bool = False


class VideoFile:
    """Writes frames to a video file.

    When :meth:`write` returns, all frames but the last one are on the disk and can be read.  The container formats
    hold a frame back until the next one is written; :meth:`close` writes the last one.

    Parameters
    ----------
    path : path
        The file.
    encoding : Encoding
        How to encode.
    size : (int, int)
        Width and height, px.
    fps : float, optional
        Frames per second, as information for players; each frame has its own time.
    tags : dict of str, optional
        Metadata to store in the file.
    keep : int
        Keep so many frames of an existing file, and continue after them; 0: a new file.

    Raises
    ------
    OSError
        The file cannot be written.  An existing file stays as it was.
    ValueError
        The existing file cannot be continued.
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
        self._last_tick, self._frames = -1, 0
        self._encoder: Any
        earlier = earlier_file(self.path)
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
        """Add a frame.

        Parameters
        ----------
        picture : ndarray
            As PyAV's ``VideoFrame.from_ndarray`` expects it for the pixel format.
        time_s : float
            Time of the frame, seconds.

        Raises
        ------
        OSError
            The frame cannot be written, for example because the disk is full; what was written before can be read.
        """
        av = require("av", PURPOSE)
        frame = av.VideoFrame.from_ndarray(picture, format=self._encoding.pixel_format)
        frame.pts, frame.time_base = self._next_tick(time_s), Fraction(1, self._encoding.ticks)
        if self._encoding.is_in_parts and self._frames % self._encoding.keyframe_every == 0:
            if self._encoder.is_open:
                self._mux(self._encoder.encode(None))
            self._encoder = self._new_encoder()
        self._mux(self._encoder.encode(frame))
        self._frames += 1
        self._file.mark_complete()

    def append(self, path: Place, times_s: Sequence[float]) -> None:
        """Add all frames of another video with the same encoding, which are not encoded again.

        Its first frame must be a key frame; of an encoding in parts, so must the next frame of this one.

        Parameters
        ----------
        path : path
            The other video.
        times_s : sequence of float
            Times of its frames in this video, seconds; an MP4 does not keep the time of its first frame.

        Raises
        ------
        OSError
            They cannot be written.
        ValueError
            It has another number of frames, or was written by another version of its encoder.
        """
        before = self._frames
        self._copy(Path(path), len(times_s), times_s)
        if self._frames - before != len(times_s):
            raise ValueError(f"{path} has {self._frames - before} frames; its log has {len(times_s)}")
        self._file.mark_complete()

    def close(self) -> None:
        """Write the frame that is held back and the end of the file.

        Raises
        ------
        OSError
            They cannot be written, for example because the disk is full; what was written before can be read.
        """
        av = require("av", PURPOSE)
        if self._file.is_closed:
            return
        try:
            if self._encoder.is_open:
                self._mux(self._encoder.encode(None))
            self._container.close()
        except av.FFmpegError:
            if not self._file.has_failed:  # then the error was raised by the write that failed
                raise
        finally:
            with contextlib.suppress(OSError, av.FFmpegError):
                self._container.close()
            self._file.close()

    def _open(self, size: tuple[int, int], fps: float, tags: dict[str, str]) -> None:
        av = require("av", PURPOSE)
        encoding = self._encoding
        self._file = DiskFile(self.path)
        self._container = av.open(
            self._file, "w", format=encoding.container, options=encoding.container_options | BIT_EXACT
        )
        self._container.metadata.update(tags)
        self._rate = Fraction(fps).limit_denominator(1001)
        self._stream = self._container.add_stream(encoding.codec, rate=self._rate, options=encoding.codec_options)
        self._encoder = self._stream.codec_context
        self._size = size
        self._set_up(self._encoder)
        # The header is written with the first frame: FFmpeg crashes when it closes an MP4 that has one but no frames.

    def _set_up(self, encoder: Any) -> None:
        encoding = self._encoding
        encoder.width, encoder.height = self._size
        encoder.pix_fmt = encoding.pixel_format
        encoder.gop_size, encoder.time_base = encoding.keyframe_every, Fraction(1, encoding.ticks)
        # Threads that encode slices of one frame add no delay; threads with a frame each would.
        encoder.thread_type, encoder.thread_count = "SLICE", encoding.slice_threads

    def _new_encoder(self) -> Any:
        """An encoder for the next part of the video, in the same format as the stream."""
        av = require("av", PURPOSE)
        if not self._stream.codec_context.is_open:
            self._stream.codec_context.open()
        encoder = av.CodecContext.create(self._encoding.codec, "w")
        self._set_up(encoder)
        encoder.framerate, encoder.options = self._rate, self._encoding.codec_options
        encoder.flags = self._stream.codec_context.flags
        return encoder

    def _mux(self, packets: list[Any]) -> None:
        for packet in packets:
            packet.stream = self._stream
            self._container.mux(packet)

    def _next_tick(self, time_s: float) -> int:
        """The time of the next frame in ticks."""
        self._last_tick = tick_of(time_s, self._encoding.ticks, self._last_tick)
        return self._last_tick

    def _copy(self, earlier: Path, keep: int, times_s: Sequence[float] | None = None) -> None:
        """Copy the first frames of an existing file without encoding them again; at other times, if given."""
        av = require("av", PURPOSE)
        if not self._stream.codec_context.is_open:
            self._stream.codec_context.open()
        with open_container(av, str(earlier)) as old:
            source = old.streams.video[0]
            is_h264 = self._stream.codec_context.name == "libx264"
            if not is_h264 and source.codec_context.extradata != self._stream.codec_context.extradata:
                raise ValueError(f"{earlier} was written by another version of its encoder and cannot be continued")
            # MP4 stores H.264 in another form than the encoder's output, which has its parameters only in the header.
            back = "h264_mp4toannexb,filter_units=remove_types=7-8"
            convert = av.bitstream.BitStreamFilterContext(back, source) if is_h264 else None
            for number, packet in enumerate(_packets(old, keep)):
                for part in [packet] if convert is None else convert.filter(packet):
                    if times_s is None:
                        self._last_tick = round(part.pts * part.time_base * self._encoding.ticks)
                    else:  # no frame depends on later ones: they are stored in the order in which they are shown
                        tick = self._next_tick(times_s[number])
                        part.pts, part.dts, part.time_base = tick, tick, Fraction(1, self._encoding.ticks)
                    self._mux([part])
                self._frames += 1


def tick_of(time_s: float, ticks: int, last_tick: int) -> int:
    """The time that a frame gets in a video; FFmpeg refuses two frames of the same time.

    Parameters
    ----------
    time_s : float
        Time of the frame, seconds.
    ticks : int
        Resolution of the times in the video, per second.
    last_tick : int
        The time of the frame before in the video; -1 for the first one.

    Returns
    -------
    int
        In ticks.

    Examples
    --------
    >>> tick_of(0.04, 1000, -1), tick_of(0.0404, 1000, 40)
    (40, 41)
    """
    return max(round(time_s * ticks), last_tick + 1)


def read_ticks(path: Place, ticks: int) -> list[int]:
    """The times of the complete frames of a video whose writing may have been interrupted.

    Parameters
    ----------
    path : path
        The video.
    ticks : int
        Resolution of the times, per second.

    Returns
    -------
    list of int
        In ticks; empty if there is no such video.

    Examples
    --------
    >>> read_ticks("missing.mkv", 1000)
    []
    """
    av = require("av", PURPOSE)
    found: list[int] = []
    with contextlib.suppress(OSError, av.FFmpegError), open_container(av, str(_readable(path))) as video:
        for packet in _packets(video) if video.streams.video else ():
            found.append(-1 if packet.pts is None else round(packet.pts * packet.time_base * ticks))
    return found


def count_readable_frames(path: Place) -> int:
    """Count the complete frames of a video whose writing may have been interrupted.

    Parameters
    ----------
    path : path
        The video.

    Returns
    -------
    int
        Number of frames; 0 if there is no such video.

    Examples
    --------
    >>> count_readable_frames("missing.mkv")
    0
    """
    av = require("av", PURPOSE)
    with contextlib.suppress(OSError, av.FFmpegError), open_container(av, str(_readable(path))) as video:
        return sum(1 for _ in _packets(video)) if video.streams.video else 0
    return 0


def _packets(container: Any, most: int | None = None) -> Iterator[Any]:
    """The complete packets of a video, at most ``most``."""
    count = 0
    av = require("av", PURPOSE)
    # Reading an incomplete file ends with an error.
    with contextlib.suppress(av.FFmpegError):
        for packet in container.demux(video=0):
            if count == most or packet.is_corrupt:
                return
            if packet.size:  # the last one is an empty end marker
                count += 1
                yield packet


def _readable(path: Place) -> Path:
    """Where the frames of a video are: in the old file while they are copied."""
    earlier = earlier_file(Path(path))
    return earlier if earlier.exists() else Path(path)


def earlier_file(path: Path) -> Path:
    """Name of the old file while its frames are copied; if it exists, the copying was interrupted."""
    return path.with_name(f"{path.stem}.earlier{path.suffix}")


class DiskFile:
    """A file for a library to write to; after a failed write it is cut to its last complete frame and stays so.

    FFmpeg's own file access would report a full disk late and without the name of the file, and would still write the
    end of the video to an incomplete file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  # closed by close()
        self.error: OSError | None = None  # of the first write that failed
        self._complete_bytes = 0

    @property
    def has_failed(self) -> bool:
        return self.error is not None

    def mark_complete(self) -> None:
        """Note that the file is complete up to here; what follows is removed if a write fails."""
        self._complete_bytes = self._file.tell()

    def write(self, content: bytes) -> int:
        """Write all of ``content``; after a failure, ignore it."""
        rest = memoryview(content)
        while rest and not self.has_failed:
            try:
                rest = rest[self._file.write(rest) :]
            except OSError as error:
                self.error = named(error, self._path)
                with contextlib.suppress(OSError):
                    self._file.truncate(self._complete_bytes)
                raise self.error from error
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
