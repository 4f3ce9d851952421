"""One video, decoded with PyAV: pictures with their times, and seeking."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.arrays import Array
from ...common.optional import require
from .source import DEFAULT_FPS, BadFrame, SourceLost

OPEN_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 5.0
MOST_ERRORS = 100  # read errors without a frame between them, after which the rest of the file is given up
SHORTEST_GAP = 3  # fewer missing frames in a row are not reported: some recorders leave out a frame now and then
# A frame this far from its regular time, in frames, shows that the video has a variable frame rate: then a gap does
# not mean missing frames.
IRREGULAR = 0.25
FORMATS_WITHOUT_TIMES = ("h264", "hevc", "m4v", "mpegvideo", "obu", "mpeg")  # none, or not for every frame
LIVE_OPTIONS = {"flags": "low_delay", "rtsp_transport": "tcp"}


@dataclass(frozen=True)
class Picture:
    """A decoded frame.

    Attributes
    ----------
    index : int
        Number in the video, from 0.
    time_s : float
        Seconds from the start.
    pixels : ndarray of uint8, shape (h, w) or (h, w, 3)
        Grey or RGB.
    is_suspect : bool
        It was decoded from a damaged frame, and may be wrong.
    """

    index: int
    time_s: float
    pixels: Array
    is_suspect: bool


class Track:
    """The pictures of one video.

    Pictures are numbered by their times, so that at a constant frame rate a picture has the same number whether it was
    reached by reading or by seeking.

    Parameters
    ----------
    where : str
        File or URL.
    color : bool
        RGB pictures, else grey.
    deinterlace : bool
        The video is interlaced.
    is_live : bool or None
        The video has no end, and only its newest picture matters.  None: found out when the video is opened; it is
        live if it has no duration.
    """

    def __init__(self, where: str, *, color: bool = True, deinterlace: bool = False, is_live: bool | None = False):
        self.where, self._format, self._deinterlace = where, "rgb24" if color else "gray", deinterlace
        self._is_live = is_live
        self._container: Any = None
        self._live_index = 0
        self._first_opened_s: float | None = None

    # ------------------------------------------------------------ properties

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
        """Number of frames according to the header; None if it is live or not known."""
        if self.is_live:
            return None
        self._open()
        if self._stream.frames:
            return int(self._stream.frames)
        seconds, _ = self._duration()
        return None if seconds is None else round(seconds * self._fps)

    def _duration(self) -> tuple[float | None, bool]:
        """Seconds from the first frame to the end according to the header, and whether it is that of this stream."""
        stream, container = self._stream, self._container
        if stream.duration is not None:
            return float(stream.duration * stream.time_base), True
        # The duration of Matroska counts from 0, not from the first frame.
        first_s = self._start_s if "matroska" in container.format.name else 0.0
        if tag := stream.metadata.get("DURATION"):
            hours, minutes, seconds = (float(part) for part in tag.split(":"))
            return 3600 * hours + 60 * minutes + seconds - first_s, True
        if container.duration is None:
            return None, False
        return float(container.duration / self._av.time_base) - first_s, len(container.streams) == 1

    # ------------------------------------------------------------ reading

    def read(self) -> Picture | None:
        """The next picture; None at the end.  Raises the same errors as :meth:`bdis.video.sources.Source.read`."""
        self._open()
        while True:
            while self._decoded:
                picture = self._picture(*self._decoded.popleft())
                if picture is not None:
                    return picture
            if self._is_over or not self._decode_more():
                return None

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Make :meth:`read` continue with the first picture at or after ``time_s``, numbered ``index`` if given."""
        self._open()
        if self._counts_frames or not self._jump_before(time_s):
            self.close()  # decode from the beginning instead
            self._open()
        # The tolerance makes a time that was computed from a frame number lead back to that frame.
        self._skip_until_s, self._next_index = time_s - 1e-6, index

    def _jump_before(self, time_s: float) -> bool:
        """Seek to a key frame at or before ``time_s``; False if that is not possible in this file."""
        # Some formats seek to a key frame after the requested time: then request an earlier one.
        for earlier_s in (0.0, 1.0, 5.0, 30.0):
            wanted = (self._stream.start_time or 0) + int(max(0.0, time_s - earlier_s) / self._stream.time_base)
            try:
                self._container.seek(wanted, stream=self._stream)
            except self._av.error.FFmpegError:
                return False
            self._begin()
            self._last_s = float("-inf")  # a frame without a time is taken to be before ``time_s``
            if self._next_time() <= time_s:
                return True
        return False

    def _next_time(self) -> float:
        """Time of the next frame, which stays in the queue; infinity if there is none."""
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
        self._av.logging.set_level(None)  # errors are raised; FFmpeg's own messages would go to the terminal
        options = LIVE_OPTIONS if self._is_live else {}
        try:
            self._container = self._av.open(self.where, options=options, timeout=(OPEN_TIMEOUT_S, READ_TIMEOUT_S))
        except self._av.error.FFmpegError as error:
            raise self._opening_error(error) from None
        if not self._container.streams.video:
            self.close()
            raise ValueError(f"{self.where} contains no video")
        self._stream = self._container.streams.video[0]
        # One thread: with more, damage is not reported and frames are held back; one is fast enough.
        self._stream.codec_context.thread_count = 1
        self._fps = float(self._stream.average_rate or self._stream.guessed_rate or DEFAULT_FPS)
        self._start_s = float((self._stream.start_time or 0) * self._stream.time_base)
        name = self._container.format.name
        has_times = name != "avi" or not self._stream.codec_context.has_b_frames  # AVI stores frames in decoding order
        self._counts_frames = name in FORMATS_WITHOUT_TIMES or not has_times
        self._is_regular = True
        if self._first_opened_s is None:
            self._first_opened_s = time.monotonic()
        self._begin()

    def _begin(self) -> None:
        """Reset the state of decoding, after opening and after a seek."""
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self._decoded: deque[tuple[Any, float]] = deque()  # frames with their times
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
                raise SourceLost(f"{self.where} was disconnected: {error.strerror}") from None
            if not isinstance(error, self._av.error.InvalidDataError):
                raise OSError(error.errno, error.strerror, self.where) from None
            # The file is damaged here: look for the next readable packet, but not endlessly.
            self._packets = self._container.demux(self._stream)
            self._errors += 1
            if self._errors < MOST_ERRORS:
                raise BadFrame(f"{self._position()}: {error.strerror}") from None
            packet = None
        try:
            frames = [] if packet is None else packet.decode()
        except self._av.error.FFmpegError:
            self._known_lost += 1
            self._is_suspect = True
            if self._packet_time(packet) < self._skip_until_s:
                return True  # it is before the time that was sought
            raise BadFrame(self._damage_message(packet)) from None
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
        """Time of a decoded frame, seconds from the first frame of the file."""
        if self._counts_frames:
            return self._count / self._fps
        if frame.pts is None:
            return self._last_s + 1 / self._fps
        return float(frame.pts * frame.time_base) - self._start_s

    def _picture(self, frame: Any, time_s: float) -> Picture | None:
        """Convert a decoded frame; None if it is before the time that was sought."""
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
        """The number of a frame, from its time or as given by the last seek."""
        index = round(time_s * self._fps)
        self._is_regular = self._is_regular and abs(time_s * self._fps - index) < IRREGULAR
        if self._last_index is None:
            index = index if self._next_index is None else self._next_index
        else:
            index = max(index, self._last_index + 1)
            self._check_gap(frame, time_s, index)
        self._last_index = index
        return index

    def _check_gap(self, frame: Any, time_s: float, index: int) -> None:
        """Report missing frames for which the decoder gave no error; the frame after them is returned next."""
        assert self._last_index is not None
        missing = index - self._last_index - 1
        if not self._is_regular or missing < SHORTEST_GAP:
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
        """Report a file that ends earlier than its header says."""
        expected, is_certain = self._duration()
        if expected is None or not is_certain or self._last_index is None:
            return
        missing = round(expected * self._fps) - 1 - self._last_index
        if missing > max(2, 0.01 * expected * self._fps):
            raise BadFrame(f"the file is cut off {self._position()}: {missing} frames are missing", missing)

    def _packet_time(self, packet: Any) -> float:
        """Presentation time of a packet, s; infinity if it is not known."""
        if packet.pts is None or self._counts_frames:
            return float("inf")
        return float(packet.pts * packet.time_base) - self._start_s

    def _damage_message(self, packet: Any) -> str:
        """Message for a packet that cannot be decoded."""
        time_s = self._packet_time(packet)
        if time_s == float("inf"):
            return f"{self._position()}: a frame is damaged"
        return f"frame {round(time_s * self._fps)} at {time_s:.3f} s is damaged"

    def _position(self) -> str:
        return "at the beginning" if self._last_index is None else f"after frame {self._last_index}"

    def _opening_error(self, error: Any) -> Exception:
        if self._is_live and self._first_opened_s is not None:
            return SourceLost(f"{self.where} cannot be opened again: {error.strerror}")
        if isinstance(error, self._av.error.InvalidDataError):
            return ValueError(
                f"{self.where} is not a video, or its recording was never finished: {error.strerror} "
                "(an MP4 whose recording was cut off has no index; a repair tool may restore it)"
            )
        reason = error.strerror
        if "://" in self.where:
            reason = f"{reason}; is the address correct, and can this machine reach it?"
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
        """Deinterlaced frames; the filter returns a frame when it has got the next one."""
        for frame in [*frames, None] if is_last else frames:
            self._filter.push(frame)
            while True:
                try:
                    yield self._filter.pull()
                except (self._av.error.BlockingIOError, self._av.error.EOFError):
                    break
