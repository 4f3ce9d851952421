"""One video, read with PyAV: frames with their times, from anywhere in it."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..optional import require
from .source import Array, BadFrame, SourceLost

USUAL_FPS = 25.0
OPEN_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 5.0
MOST_ERRORS = 100  # places where no packet can be found, with no frame between them: the rest is lost
SHORTEST_GAP = 3  # frames in a row that are missed; a recorder may leave out one now and then
LIVE_OPTIONS = {"flags": "low_delay", "rtsp_transport": "tcp"}


@dataclass(frozen=True)
class Picture:
    """A decoded frame: its number, its time from the start, s, and its pixels (height, width[, 3])."""

    index: int
    time_s: float
    pixels: Array


class Track:
    """The pictures of one video.

    Frames are numbered by their time, so that a number means the same whether it was reached by reading or by seeking,
    and both videos of a pair agree on it.

    Parameters
    ----------
    where : file or URL
    color : RGB pictures, else grey
    deinterlace : the video is interlaced
    is_live : the newest picture counts, and there is no end; None: if the video does not know how long it is
    """

    def __init__(self, where: str, *, color: bool = True, deinterlace: bool = False, is_live: bool | None = False):
        self.where, self._format, self._deinterlace = where, "rgb24" if color else "gray", deinterlace
        self._is_live = is_live
        self._container: Any = None
        self._opened_before = False
        self._live_index, self._opened_s = 0, 0.0

    # ------------------------------------------------------------ what is known about it

    @property
    def is_live(self) -> bool:
        if self._is_live is None:
            self._open()
            self._is_live = self._container.duration is None
        return self._is_live

    @property
    def fps(self) -> float:
        self._open()
        return self._fps

    @property
    def length(self) -> int | None:
        """Number of frames its header speaks of."""
        if self.is_live:
            return None
        self._open()
        if self._stream.frames:
            return int(self._stream.frames)
        seconds = self._seconds()
        return None if seconds is None else round(seconds * self._fps)

    def _seconds(self) -> float | None:
        if self._stream.duration is not None:
            return float(self._stream.duration * self._stream.time_base)
        return None if self._container.duration is None else float(self._container.duration / self._av.time_base)

    # ------------------------------------------------------------ reading

    def read(self) -> Picture | None:
        """The next picture; None at the end.  Raises as :meth:`bdis.sources.Source.read` says."""
        self._open()
        while True:
            while self._decoded:
                picture = self._picture(self._decoded.popleft())
                if picture is not None:
                    return picture
            if self._is_over or not self._decode_more():
                return None

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Let the next picture be the first at or after ``time_s``."""
        self._open()
        # Some formats jump to a key frame after the place that is asked for: then ask for an earlier one.
        for earlier_s in (0.0, 1.0, 5.0, 30.0):
            self._jump(max(0.0, time_s - earlier_s))
            if self._first_time() <= time_s:
                break
        else:  # what is before the first key frame can only be had from the beginning
            self.close()
            self._open()
        # A time that was computed from a frame must lead back to that frame.
        self._skip_until_s, self._next_index = time_s - 1e-6, index

    def _jump(self, time_s: float) -> None:
        wanted = (self._stream.start_time or 0) + int(time_s / self._stream.time_base)
        self._container.seek(wanted, stream=self._stream)
        self._begin()

    def _first_time(self) -> float:
        """When the next frame is, which is not taken away; infinity if there is none."""
        while not self._decoded and not self._is_over:
            with contextlib.suppress(BadFrame):
                self._decode_more()
        return self._time_of(self._decoded[0]) if self._decoded else float("inf")

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
        self._container = None

    # ------------------------------------------------------------ inside

    def _open(self) -> None:
        if self._container is not None:
            return
        self._av = require("av", "reading videos")
        self._av.logging.set_level(None)  # what matters is raised; the rest would end up on the terminal
        options = LIVE_OPTIONS if self._is_live else {}
        try:
            self._container = self._av.open(self.where, options=options, timeout=(OPEN_TIMEOUT_S, READ_TIMEOUT_S))
        except self._av.error.FFmpegError as error:
            raise self._cannot_open(error) from None
        if not self._container.streams.video:
            self.close()
            raise ValueError(f"{self.where} holds no video")
        self._stream = self._container.streams.video[0]
        # One thread: damage is noticed only then, no frame is held back, and decoding is fast enough.
        self._stream.codec_context.thread_count = 1
        self._fps = float(self._stream.average_rate or self._stream.guessed_rate or USUAL_FPS)
        # Frames of some videos come when something changes: then nothing is missing between them.
        self._is_even = self._stream.average_rate == self._stream.guessed_rate
        self._opened_before, self._opened_s = True, time.monotonic() - self._live_index / self._fps
        self._begin()

    def _begin(self) -> None:
        """Decoding starts here."""
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self._decoded: deque[Any] = deque()
        self._filter: Any = self._deinterlacer() if self._deinterlace else None
        self._skip_until_s, self._next_index = float("-inf"), None
        self._last_index, self._errors, self._known_lost, self._is_over = -1, 0, 0, False

    def _decode_more(self) -> bool:
        """Decode a packet; False at the end."""
        try:
            packet = next(self._packets, None)
        except self._av.error.FFmpegError as error:
            if self._is_live:
                raise SourceLost(f"{self.where} is gone: {error.strerror}") from None
            # The file itself is damaged here: look for the next packet, but not for ever.
            self._packets = self._container.demux(self._stream)
            self._errors += 1
            self._is_over = self._errors >= MOST_ERRORS
            raise BadFrame(f"{self._place()}: {error.strerror}") from None
        try:
            frames = [] if packet is None else packet.decode()
        except self._av.error.FFmpegError as error:
            self._known_lost += 1
            raise BadFrame(f"{self._place()}: {error.strerror}") from None
        if packet is None:
            self._is_over = True
            if self._is_live:
                raise SourceLost(f"{self.where} has ended")
            self._check_complete()
            return False
        self._decoded.extend(frames if self._filter is None else self._filtered(frames, packet.size == 0))
        return True

    def _picture(self, frame: Any) -> Picture | None:
        """The pixels of a decoded frame; None if it lies before the place that was sought."""
        if self._is_live:
            time_s = time.monotonic() - self._opened_s
            index = self._live_index
            self._live_index += 1
        else:
            time_s = self._time_of(frame)
            if time_s < self._skip_until_s:
                return None
            index = max(round(time_s * self._fps), self._last_index + 1)
            self._check_gap(frame, index)
            if self._next_index is not None:
                index, self._next_index = self._next_index, None
            self._last_index = index
        if frame.is_corrupt:
            raise BadFrame(f"frame {index} at {time_s:.3f} s is damaged")
        self._errors = 0
        return Picture(index, time_s, frame.to_ndarray(format=self._format))

    def _check_gap(self, frame: Any, index: int) -> None:
        """Report frames that a damaged file has lost without a word; the frame after them comes next."""
        missing = index - self._last_index - 1
        if not self._is_even or self._last_index < 0 or missing < SHORTEST_GAP:
            return
        before, self._last_index = self._last_index, index - 1
        explained = min(missing, self._known_lost)
        self._known_lost -= explained
        missing -= explained
        if missing:
            self._decoded.appendleft(frame)
            raise BadFrame(f"{missing} frames are missing after frame {before}", missing)

    def _time_of(self, frame: Any) -> float:
        """Seconds from the start of the file."""
        if frame.pts is None:
            return (self._last_index + 1) / self._fps
        first = (self._stream.start_time or 0) * self._stream.time_base
        return float(frame.pts * frame.time_base - first)

    def _check_complete(self) -> None:
        """Report a file that ends before its header says."""
        expected = self._seconds()
        if expected is None or self._last_index < 0:
            return
        missing = round(expected * self._fps) - 1 - self._last_index
        if missing > max(2, 0.01 * expected * self._fps):
            raise BadFrame(
                f"it ends after frame {self._last_index}: it is cut off, {missing} frames are missing", missing
            )

    def _place(self) -> str:
        return "at the beginning" if self._last_index < 0 else f"after frame {self._last_index}"

    def _cannot_open(self, error: Any) -> Exception:
        if self._opened_before:
            return SourceLost(f"{self.where} cannot be opened again: {error.strerror}")
        if isinstance(error, self._av.error.InvalidDataError):
            return ValueError(
                f"{self.where} is no video, or one that was never finished: {error.strerror} "
                "(an MP4 of a recording that was cut off lacks its index; a repair tool may restore it)"
            )
        return OSError(error.errno, error.strerror, self.where)

    # ------------------------------------------------------------ interlaced video

    def _deinterlacer(self) -> Any:
        graph = self._av.filter.Graph()
        nodes = [
            graph.add_buffer(template=self._stream),
            graph.add("bwdif", "mode=send_frame:deint=all"),
            graph.add("buffersink"),
        ]
        graph.link_nodes(*nodes).configure()
        return graph

    def _filtered(self, frames: list[Any], is_last: bool) -> Iterator[Any]:
        """Frames made of both fields; one comes out when the next has gone in."""
        for frame in [*frames, None] if is_last else frames:
            self._filter.push(frame)
            while True:
                try:
                    yield self._filter.pull()
                except (self._av.error.BlockingIOError, self._av.error.EOFError):
                    break
