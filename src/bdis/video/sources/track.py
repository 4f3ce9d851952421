"""One video, read with PyAV: frames with their times, from anywhere in it."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.arrays import Array
from ...common.optional import require
from .source import BadFrame, SourceLost

USUAL_FPS = 25.0  # of a video that does not say
OPEN_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 5.0
MOST_ERRORS = 100  # places where no packet can be found, with no frame between them: the rest is lost
SHORTEST_GAP = 3  # frames in a row that are missed; a recorder may leave out one now and then
UNEVEN = 0.25  # of the time between frames: who strays so far from the beat lets them come when something changes
TIMELESS_FORMATS = ("h264", "hevc", "m4v", "mpegvideo", "obu", "mpeg")  # no times, or only of some frames
LIVE_OPTIONS = {"flags": "low_delay", "rtsp_transport": "tcp"}


@dataclass(frozen=True)
class Picture:
    """A decoded frame: its number, its time from the start, s, and its pixels (height, width[, 3])."""

    index: int
    time_s: float
    pixels: Array
    is_suspect: bool  # it builds on a damaged one


class Track:
    """The pictures of one video.

    Frames are numbered by their time: where they come evenly, a number means the same whether it was reached by
    reading or by seeking.

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
        self._live_index = 0
        self._first_opened_s: float | None = None

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
        seconds, _ = self._duration()
        return None if seconds is None else round(seconds * self._fps)

    def _duration(self) -> tuple[float | None, bool]:
        """Seconds from the first frame to the end, as the header has it, and whether that is about this stream."""
        stream, container = self._stream, self._container
        if stream.duration is not None:
            return float(stream.duration * stream.time_base), True
        # Matroska counts from 0, not from its first frame.
        first_s = self._start_s if "matroska" in container.format.name else 0.0
        if tag := stream.metadata.get("DURATION"):
            hours, minutes, seconds = (float(part) for part in tag.split(":"))
            return 3600 * hours + 60 * minutes + seconds - first_s, True
        if container.duration is None:
            return None, False
        return float(container.duration / self._av.time_base) - first_s, len(container.streams) == 1

    # ------------------------------------------------------------ reading

    def read(self) -> Picture | None:
        """The next picture; None at the end.  Raises as :meth:`bdis.video.sources.Source.read` says."""
        self._open()
        while True:
            while self._decoded:
                picture = self._picture(*self._decoded.popleft())
                if picture is not None:
                    return picture
            if self._is_over or not self._decode_more():
                return None

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Let the next picture be the first at or after ``time_s``."""
        self._open()
        if self._counts_frames or not self._jump_before(time_s):
            self.close()  # from the beginning, then
            self._open()
        # A time that was computed from a frame must lead back to that frame.
        self._skip_until_s, self._next_index = time_s - 1e-6, index

    def _jump_before(self, time_s: float) -> bool:
        """Go to a key frame before ``time_s``; False if the file does not let itself be sought in."""
        # Some formats jump to a key frame after the place that is asked for: then ask for an earlier one.
        for earlier_s in (0.0, 1.0, 5.0, 30.0):
            wanted = (self._stream.start_time or 0) + int(max(0.0, time_s - earlier_s) / self._stream.time_base)
            try:
                self._container.seek(wanted, stream=self._stream)
            except self._av.error.FFmpegError:
                return False
            self._begin()
            self._last_s = float("-inf")  # a frame without a time of its own, then, is one before the place
            if self._first_time() <= time_s:
                return True
        return False

    def _first_time(self) -> float:
        """When the next frame is, which is not taken away; infinity if there is none."""
        while not self._decoded and not self._is_over:
            with contextlib.suppress(BadFrame):
                self._decode_more()
        return self._decoded[0][1] if self._decoded else float("inf")

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
        self._start_s = float((self._stream.start_time or 0) * self._stream.time_base)
        name = self._container.format.name
        has_times = name != "avi" or not self._stream.codec_context.has_b_frames  # AVI numbers them as they are stored
        self._counts_frames = name in TIMELESS_FORMATS or not has_times
        self._is_even = True
        if self._first_opened_s is None:
            self._first_opened_s = time.monotonic()
        self._begin()

    def _begin(self) -> None:
        """Decoding starts here."""
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self._decoded: deque[tuple[Any, float]] = deque()  # frames and their times
        self._filter: Any = self._deinterlacer() if self._deinterlace else None
        self._skip_until_s, self._next_index = float("-inf"), None
        self._last_index: int | None = None
        self._last_s = -1 / self._fps
        self._count = self._errors = self._known_lost = 0
        self._is_over = self._is_suspect = False

    def _decode_more(self) -> bool:
        """Decode a packet; False at the end."""
        try:
            packet = next(self._packets, None)
        except self._av.error.FFmpegError as error:
            if self._is_live:
                raise SourceLost(f"{self.where} is gone: {error.strerror}") from None
            if not isinstance(error, self._av.error.InvalidDataError):
                raise OSError(error.errno, error.strerror, self.where) from None
            # The file itself is damaged here: look for the next packet, but not for ever.
            self._packets = self._container.demux(self._stream)
            self._errors += 1
            if self._errors < MOST_ERRORS:
                raise BadFrame(f"{self._where()}: {error.strerror}") from None
            packet = None
        try:
            frames = [] if packet is None else packet.decode()
        except self._av.error.FFmpegError:
            self._known_lost += 1
            self._is_suspect = True
            if self._due(packet) < self._skip_until_s:
                return True  # nobody wants it
            raise BadFrame(self._damage(packet)) from None
        if packet is None:
            self._is_over = True
            if self._is_live:
                raise SourceLost(f"{self.where} has ended")
            self._check_complete()
            return False
        for frame in frames if self._filter is None else self._filtered(frames, packet.size == 0):
            self._last_s = self._time_of(frame)
            self._decoded.append((frame, self._last_s))
            self._count += 1
        return True

    def _time_of(self, frame: Any) -> float:
        """Seconds from the first frame of the file."""
        if self._counts_frames:
            return self._count / self._fps
        if frame.pts is None:
            return self._last_s + 1 / self._fps
        return float(frame.pts * frame.time_base) - self._start_s

    def _picture(self, frame: Any, time_s: float) -> Picture | None:
        """The pixels of a decoded frame; None if it lies before the place that was sought."""
        self._is_suspect = frame.is_corrupt or (self._is_suspect and not frame.key_frame)
        if self._is_live:
            assert self._first_opened_s is not None
            time_s = time.monotonic() - self._first_opened_s
            index = self._live_index
            self._live_index += 1
        elif time_s < self._skip_until_s:
            return None
        else:
            index = self._number(frame, time_s)
        if frame.is_corrupt:
            raise BadFrame(f"frame {index} at {time_s:.3f} s is damaged")
        self._errors = 0
        return Picture(index, time_s, frame.to_ndarray(format=self._format), self._is_suspect)

    def _number(self, frame: Any, time_s: float) -> int:
        """The number of a frame by its time, or as the last seek wants it."""
        index = round(time_s * self._fps)
        self._is_even = self._is_even and abs(time_s * self._fps - index) < UNEVEN
        if self._last_index is None:
            index = index if self._next_index is None else self._next_index
        else:
            index = max(index, self._last_index + 1)
            self._check_gap(frame, time_s, index)
        self._last_index = index
        return index

    def _check_gap(self, frame: Any, time_s: float, index: int) -> None:
        """Report frames that a damaged file has lost without a word; the frame after them comes next."""
        assert self._last_index is not None
        missing = index - self._last_index - 1
        if not self._is_even or missing < SHORTEST_GAP:
            return
        before, self._last_index = self._last_index, index - 1
        explained = min(missing, self._known_lost)
        self._known_lost -= explained
        if missing > explained:
            self._decoded.appendleft((frame, time_s))
            self._is_suspect = True
            missing -= explained
            raise BadFrame(f"{missing} frames are missing after frame {before}", missing)

    def _check_complete(self) -> None:
        """Report a file that ends before its header says."""
        expected, is_certain = self._duration()
        if expected is None or not is_certain or self._last_index is None:
            return
        missing = round(expected * self._fps) - 1 - self._last_index
        if missing > max(2, 0.01 * expected * self._fps):
            raise BadFrame(f"it ends {self._where()}: it is cut off, {missing} frames are missing", missing)

    def _due(self, packet: Any) -> float:
        """When the frame of a packet is shown, s; infinity if that is not known."""
        if packet.pts is None or self._counts_frames:
            return float("inf")
        return float(packet.pts * packet.time_base) - self._start_s

    def _damage(self, packet: Any) -> str:
        """Which frame cannot be decoded."""
        time_s = self._due(packet)
        if time_s == float("inf"):
            return f"{self._where()}: a frame is damaged"
        return f"frame {round(time_s * self._fps)} at {time_s:.3f} s is damaged"

    def _where(self) -> str:
        return "at the beginning" if self._last_index is None else f"after frame {self._last_index}"

    def _cannot_open(self, error: Any) -> Exception:
        if self._is_live and self._first_opened_s is not None:
            return SourceLost(f"{self.where} cannot be opened again: {error.strerror}")
        if isinstance(error, self._av.error.InvalidDataError):
            return ValueError(
                f"{self.where} is no video, or one that was never finished: {error.strerror} "
                "(an MP4 of a recording that was cut off lacks its index; a repair tool may restore it)"
            )
        reason = error.strerror
        if "://" in self.where:
            reason = f"{reason}; is the address right, and can it be reached from here?"
        return OSError(error.errno, reason, self.where)

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
