"""One video, decoded with PyAV: pictures with their times, and seeking."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.arrays import Array
from ...common.optional import require
from ..containers import open_container
from .deinterlacer import Deinterlacer
from .key_frames import key_frame_at
from .ledger import FrameLedger, Promise
from .pipe import EXAMPLE, Pipe, PipeFormat, is_pipe, pipe_name
from .source import DEFAULT_FPS, BadFrame, SourceLost

OPEN_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 5.0
MOST_ERRORS = 100  # read errors without a frame between them, after which the rest of the file is given up
LONGEST_DISORDER_S = 1.0  # a time that goes back further begins anew, as where two recordings were joined
FORMATS_WITHOUT_TIMES = ("h264", "hevc", "m4v", "mpegvideo", "obu", "mpeg")  # none, or not for every frame
FORMATS_FROM_ZERO = ("matroska,webm", "flv")
RATE_ERROR = 0.01  # by which share the average rate of a video may differ from its base rate if it is constant
REWOUND_PICTURES = 100  # of a pipe that are kept for ``rewind``
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
    pipe_format : PipeFormat, optional
        Of a pipe.  Default: found out from its first bytes.
    keeps_all : bool
        Of a pipe, every picture matters: they have the times that they have in the video, and :meth:`rewind` works.

    Attributes
    ----------
    has_own_times : bool
        Every frame has its time in the file, once that is open.  Else frames are counted, and those after a lost one
        may get too small a number and time.
    """

    has_own_times = True

    def __init__(
        self,
        where: str,
        *,
        color: bool = True,
        deinterlace: bool = False,
        is_live: bool | None = False,
        pipe_format: PipeFormat | None = None,
        keeps_all: bool = False,
    ):
        self.where, self._format, self._deinterlace = pipe_name(where), "rgb24" if color else "gray", deinterlace
        self._is_live, self._pipe_format, self.keeps_all = is_live, pipe_format, keeps_all
        self._place = where
        self._seen: deque[Picture] | None = deque() if keeps_all else None  # before rewind
        self._again: deque[Picture] = deque()  # after it
        self._container: Any = None
        self._pipe: Pipe | None = None
        self._live_index = 0
        self._rate_varies = False
        self._is_turned = False  # by what the file says; frames are read as they are stored
        self._has_told_remainder = False
        self._first_opened_s: float | None = None

    # ------------------------------------------------------------ properties

    @property
    def is_live(self) -> bool:
        if self._is_live is None:
            self._open()
            self._is_live = self._container.duration is None
        return self._is_live

    @property
    def is_pipe(self) -> bool:
        return is_pipe(self._place)

    @property
    def fps(self) -> float:
        self._read_header()
        return self._fps

    @property
    def rate_varies(self) -> bool:
        """Whether frames do not follow each other at a constant rate, by the header or by those read so far."""
        self._read_header()
        return self._rate_varies

    @property
    def remarks(self) -> list[str]:
        """What the user should know about the file, as far as it was read."""
        varies = f"the frame rate of {self.where} varies: a place in it is known by its time only"
        return [varies] if self._rate_varies else []

    @property
    def warnings(self) -> list[str]:
        """What may make the depth wrong, as far as the file was read."""
        turned = f"{self.where} says that it is to be shown turned; its frames are used as they are stored"
        return [turned] if self._is_turned else []

    @property
    def start_s(self) -> float:
        """Time stamp of the first frame in the file, s; all other times count from it."""
        self._open()
        return self._start_s

    @property
    def seeks_quickly(self) -> bool:
        self._open()
        return not self._counts_frames

    @property
    def length(self) -> int | None:
        """Number of frames according to the file; None if it is live or does not say."""
        if self.is_live:
            return None
        self._open()
        return self._promise().frames

    def _promise(self) -> Promise:
        """How many frames the file says it has."""
        if self._stream.frames:
            return Promise(int(self._stream.frames) - self._hidden, is_counted=True)
        seconds, is_certain = self._duration()
        return Promise(None if seconds is None else round(seconds * self._fps), is_certain=is_certain)

    def _duration(self) -> tuple[float | None, bool]:
        """Seconds from the first frame to the end according to the header, and whether it is that of this stream."""
        stream, container = self._stream, self._container
        if stream.duration is not None:
            return float(stream.duration * stream.time_base), True
        # The duration of Matroska and Flash counts from 0, not from the first frame.
        first_s = self._start_s if container.format.name in FORMATS_FROM_ZERO else 0.0
        if (seconds := _seconds(stream.metadata.get("DURATION", ""))) is not None:
            return seconds - first_s, True
        if container.duration is None:
            return None, False
        return float(container.duration / self._av.time_base) - first_s, len(container.streams) == 1

    # ------------------------------------------------------------ reading

    def read(self) -> Picture | None:
        """The next picture; None at the end.  Raises the same errors as :meth:`bdis.video.sources.Source.read`."""
        if self._again:
            return self._again.popleft()
        picture = self._next_picture()
        if self._seen is not None and picture is not None:
            self._seen.append(picture)
            if len(self._seen) > REWOUND_PICTURES:  # nobody will rewind it
                self._seen = None
        return picture

    @property
    def can_rewind(self) -> bool:
        """Whether :meth:`rewind` delivers pictures again."""
        return self._seen is not None

    def rewind(self) -> None:
        """Once, deliver the pictures of a pipe again that were read before; every picture of it matters."""
        if self._seen is not None:
            self._again, self._seen = self._seen, None

    def _next_picture(self) -> Picture | None:
        self._open()
        while True:
            if self._decoded and self._has_plausible_time():
                picture = self._live_picture() if self._is_live else self._picture()
                if picture is not None:
                    return picture
            elif self._is_over:
                self._check_complete()
                return None
            else:
                self._decode_more()

    def remaining(self) -> int:
        """How many frames the file still promises."""
        return max(0, self._ledger.missing_at_end() or 0)

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Make :meth:`read` continue with the first picture at or after ``time_s``, numbered ``index`` if given."""
        self._open()
        is_there = not self._counts_frames and (self._jump_to(time_s) or self._jump_before(time_s))
        # The tolerance makes a time that was computed from a frame number lead back to that frame.
        self._skip_until_s = time_s - 1e-6
        if is_there and index is not None:  # the very frame at this time: damage may hide it after a jump
            is_there = self._next_time() < time_s + 0.5 / self._fps
        if not is_there:
            self.close()  # decode from the beginning instead
            self._open()
            self._skip_until_s = time_s - 1e-6
        self._ledger.begin(index, is_sought=True)

    def seek_before(self, time_s: float) -> float:
        """Make :meth:`read` continue with the key frame at or before ``time_s``, and tell its time.

        Where the file has no key frames to jump to, it is the first picture at or after ``time_s``.
        """
        self._open()
        if self._counts_frames or not self._jump_before(time_s):
            self.seek(time_s)
        else:
            self._ledger.begin(None, is_sought=True)
        return self._next_time()

    def _jump_to(self, time_s: float) -> bool:
        """Seek to the first frame at or after ``time_s`` if that is a key frame: it needs none of those before it."""
        if self._deinterlace or not self._jump(time_s):  # fields are made of the frames around them
            return False
        try:
            key_s = key_frame_at(self._packets, self._start_s, time_s - 1e-6)
        except (self._av.error.FFmpegError, IndexError):  # damaged: what is decoded tells
            return False
        return key_s is not None and self._jump(key_s + 0.1 / self._fps) and abs(self._next_time() - key_s) < 1e-6

    def _jump_before(self, time_s: float) -> bool:
        """Seek to a key frame at or before ``time_s``; False if that is not possible in this file."""
        # Some formats seek to a key frame after the requested time: then request an earlier one.
        for earlier_s in (0.0, 1.0, 5.0, 30.0):
            if not self._jump(time_s - earlier_s):
                return False
            if self._next_time() <= time_s:
                return True
        return False

    def _jump(self, time_s: float) -> bool:
        """Seek to a key frame near ``time_s``; False if that is not possible in this file."""
        wanted = (self._stream.start_time or 0) + int(max(0.0, time_s) / self._stream.time_base)
        try:
            self._container.seek(wanted, stream=self._stream)
        except self._av.error.FFmpegError:
            return False
        self._begin()
        self._last_s = float("-inf")  # a frame without a time is taken to be before the wanted one
        return True

    def _next_time(self) -> float:
        """Time of the next frame that is not skipped, which stays in the queue; infinity if there is none."""
        while True:
            while self._decoded and self._decoded[0][1] < self._skip_until_s:
                self._note_suspect(self._decoded.popleft()[0])
            if self._decoded or self._is_over:
                return self._decoded[0][1] if self._decoded else float("inf")
            self._decode_more()

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
        self._container = None
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = None

    # ------------------------------------------------------------ inside

    def _read_header(self) -> None:
        """Open the file if it never was; what its header says is known after it is closed, too."""
        if self._first_opened_s is None:
            self._open()

    def _open(self) -> None:
        if self._container is not None:
            return
        self._av = require("av", "reading videos")
        self._av.logging.set_level(None)  # errors are raised; FFmpeg's own messages would go to the terminal
        options = LIVE_OPTIONS if self._is_live else {}
        try:
            self._pipe = Pipe(self._place) if is_pipe(self._place) else None
            place = self._place if self._pipe is None else self._pipe
            container = None
            if self._pipe_format is not None:
                container, options = self._pipe_format.container, {**options, **self._pipe_format.options}
            self._container = open_container(
                self._av, place, format=container, options=options, timeout=(OPEN_TIMEOUT_S, READ_TIMEOUT_S)
            )
        except self._av.error.FFmpegError as error:
            raise self._opening_error(error) from None
        if not self._container.streams.video:
            self.close()
            raise ValueError(f"{self.where} contains no video")
        self._stream = self._container.streams.video[0]
        if self._stream.codec_context is None:
            self.close()
            raise ValueError(f"{self.where} is coded in a way that FFmpeg does not know, or is damaged")
        # One thread: with more, damage is not reported and frames are held back; one is fast enough.
        self._stream.codec_context.thread_count = 1
        if self._stream.codec_context.name == "mjpeg":
            self._stream.codec_context.options = {"err_detect": "explode"}  # else damaged parts are shown as grey
        self._fps = float(self._stream.average_rate or self._stream.guessed_rate or DEFAULT_FPS)
        self._start_s = float((self._stream.start_time or 0) * self._stream.time_base)
        name = self._container.format.name
        has_times = name != "avi" or not self._stream.codec_context.has_b_frames  # AVI stores frames in decoding order
        self._counts_frames = name in FORMATS_WITHOUT_TIMES or not has_times
        self.has_own_times = name != "avi" and not self._counts_frames
        if self._first_opened_s is None:
            self._first_opened_s = time.monotonic()
        self._rate_varies = self._rate_varies or (self.has_own_times and not self._is_live and self._has_two_rates())
        self._hidden = self._hidden_frames()
        self._ledger = FrameLedger(self._fps, self._promise(), has_times=self.has_own_times)
        self._begin()

    def _has_two_rates(self) -> bool:
        """Whether the average rate of the frames is not the one that their times are multiples of."""
        average, base = self._stream.average_rate, self._stream.base_rate
        if not average or not base:
            return False
        # Of interlaced video the base is the rate of its fields.
        return bool(min(abs(base - average), abs(base - 2 * average)) > RATE_ERROR * average)

    def _hidden_frames(self) -> int:
        """How many frames of an MP4 are not to be shown, as where it was trimmed without coding it anew."""
        stream = self._stream
        if not self._container.format.name.startswith("mov") or not stream.frames or stream.duration is None:
            return 0
        if not hasattr(stream, "index_entries"):  # of later versions of PyAV
            return 0
        if float(stream.duration * stream.time_base) * self._fps > stream.frames - 0.5:
            return 0
        shown = sum(not entry.is_discard for entry in stream.index_entries)
        return int(stream.frames) - shown if 0 < shown < stream.frames else 0

    def _begin(self) -> None:
        """Reset the state of decoding, after opening and after a seek."""
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self._decoded: deque[tuple[Any, float]] = deque()  # frames with their times
        self._filter = Deinterlacer(self._stream) if self._deinterlace else None
        self._skip_until_s = float("-inf")
        self._last_s = -1 / self._fps  # of the last frame that was decoded
        self._shown_s = float("-inf")  # of the last frame that was delivered
        self._damaged_parts: set[int] = set()  # presentation times of packets that are incomplete
        self._count = self._errors = 0
        self._is_over = self._is_suspect = False
        self._problem = ""

    def _decode_more(self) -> None:
        """Decode a packet; what cannot be decoded is noted."""
        packet = self._next_packet()
        is_end = packet is None or not packet.size
        try:
            frames = self._stream.codec_context.decode(packet)
        except self._av.error.FFmpegError:
            frames = []
            if not is_end:
                self._note_damage(packet)
        if not is_end and packet.is_corrupt and packet.pts is not None:
            self._damaged_parts.add(packet.pts)
        for frame in frames if self._filter is None else self._filter(frames, is_end):
            self._last_s = self._time_of(frame)
            self._decoded.append((frame, self._last_s))
            self._count += 1
        self._is_over = is_end

    def _next_packet(self) -> Any:
        """The next packet of the file, looking beyond what is damaged; None or an empty one at the end."""
        while True:
            try:
                return next(self._packets, None)
            except self._av.error.FFmpegError as error:
                if self._is_live:
                    raise SourceLost(f"{self.where} was disconnected: {error.strerror}") from None
                if not isinstance(error, self._av.error.InvalidDataError):
                    raise OSError(error.errno, error.strerror, self.where) from None
                self._problem = f" ({error.strerror})"
            except IndexError:  # PyAV, of a transport stream in which damage looks like one more stream
                self._problem = " (damaged)"
            # The file is damaged here: look for the next readable packet, but not endlessly.
            self._is_suspect = True
            self._errors += 1
            if self._errors >= MOST_ERRORS:
                return None
            self._packets = self._container.demux(self._stream)

    def _note_damage(self, packet: Any) -> None:
        """A packet cannot be decoded: its frame is lost, unless the decoder shows it nevertheless."""
        self._is_suspect = True
        if self._is_live:
            raise BadFrame("a frame is damaged")
        if self._counts_frames or packet.pts is None:
            time_s = self._last_s = self._last_s + 1 / self._fps
            self._count += 1
        else:
            time_s = float(packet.pts * packet.time_base) - self._start_s
        if time_s >= self._skip_until_s:
            self._ledger.note_damage(time_s)

    def _time_of(self, frame: Any) -> float:
        """Time of a decoded frame, seconds from the first frame of the file."""
        if self._counts_frames:
            return self._count / self._fps
        if frame.pts is None:
            return self._last_s + 1 / self._fps
        return float(frame.pts * frame.time_base) - self._start_s

    def _has_plausible_time(self) -> bool:
        """Correct the time of the next frame if damage made it wrong; False if the frame after it must tell."""
        frame, time_s = self._decoded[0]
        usual_s = self._shown_s + 1 / self._fps
        if self._is_live or self._shown_s == float("-inf"):
            return True
        if time_s > usual_s + 0.5 / self._fps:
            if len(self._decoded) == 1 and not self._is_over:
                return False
            is_believed = len(self._decoded) == 1 or self._decoded[1][1] >= time_s
        else:
            is_believed = time_s > self._shown_s - LONGEST_DISORDER_S
        if not is_believed or not self._ledger.is_plausible(time_s):
            self._decoded[0] = frame, usual_s
        return True

    def _live_picture(self) -> Picture:
        """The next decoded frame of a live video, whose time is now."""
        frame, time_s = self._decoded.popleft()
        self._note_suspect(frame)
        assert self._first_opened_s is not None
        if not self.keeps_all:
            time_s = time.monotonic() - self._first_opened_s
        index = self._live_index
        self._live_index += 1
        if frame.is_corrupt:
            raise BadFrame(f"frame {index} at {time_s:.3f} s is damaged")
        return Picture(index, time_s, frame.to_ndarray(format=self._format), self._is_suspect)

    def _picture(self) -> Picture | None:
        """The next decoded frame; None if it is before the time that was sought.

        Raises
        ------
        BadFrame
            Frames before it are lost: it stays in the queue.  Or it is damaged itself.
        """
        frame, time_s = self._decoded[0]
        if time_s < self._shown_s:  # the decoder lost the order at some damage, and its place has passed
            self._decoded.popleft()
            if (loss := self._ledger.loss_of_late(time_s)) is not None:
                raise loss
            return None
        if time_s >= self._skip_until_s:
            loss = self._ledger.loss_before(time_s)
            self._rate_varies = self._rate_varies or (self.has_own_times and not self._ledger.is_regular)
            if loss is not None:
                self._is_suspect = True
                raise loss
            self._errors, self._problem = 0, ""
        self._decoded.popleft()
        self._note_suspect(frame)
        if time_s < self._skip_until_s:
            return None
        self._shown_s = time_s
        index = self._ledger.take(time_s)
        if frame.is_corrupt or frame.pts in self._damaged_parts:
            self._ledger.take_back()
            raise BadFrame(f"frame {index} at {time_s:.3f} s is damaged")
        return Picture(index, time_s, frame.to_ndarray(format=self._format), self._is_suspect)

    def _note_suspect(self, frame: Any) -> None:
        """A frame is suspect if it is damaged, or builds on one that is."""
        self._is_suspect = frame.is_corrupt or (self._is_suspect and not frame.key_frame)
        self._is_turned = self._is_turned or bool(frame.rotation)

    def _check_complete(self) -> None:
        """At the end of the file: report frames that it promised and did not have."""
        if self._is_live:
            if self._pipe is not None:
                self._check_remainder(self._pipe.count)
                return  # whoever wrote to it has ended
            raise SourceLost(f"{self.where} has ended")
        if (loss := self._ledger.loss_at_end(self._problem)) is not None:
            raise loss

    def _check_remainder(self, count: int) -> None:
        """Once, report that the raw video of a pipe ended within a frame: it was cut off, or its size is another."""
        size = None if self._pipe_format is None else self._pipe_format.frame_bytes
        if size is None or count % size == 0 or self._has_told_remainder:
            return
        self._has_told_remainder = True
        raise BadFrame(
            f"{self.where} ended {count % size} bytes into a frame of {size}: its writer was cut off, or the size or "
            "the pixels in the pipe format are wrong, and then all frames are",
            0,
        )

    def _opening_error(self, error: Any) -> Exception:
        if self._is_live and self._first_opened_s is not None:
            return SourceLost(f"{self.where} cannot be opened again: {error.strerror}")
        is_no_video = isinstance(error, (self._av.error.InvalidDataError, self._av.error.EOFError))
        if self._pipe is not None and (is_no_video or isinstance(error, self._av.error.ArgumentError)):
            return ValueError(
                f"{self.where}: what comes is no video that FFmpeg recognises ({self._pipe.count} bytes were read); "
                f"say what it is with the pipe format: {EXAMPLE}"
            )
        if is_no_video:
            return ValueError(
                f"{self.where} is not a video, or its recording was never finished: {error.strerror} "
                "(an MP4 whose recording was cut off has no index; a repair tool may restore it)"
            )
        reason = error.strerror
        if "://" in self.where:
            reason = f"{reason}; is the address correct, and can this machine reach it?"
        return OSError(error.errno, reason, self.where)


def _seconds(tag: str) -> float | None:
    """Seconds of a duration such as 00:01:30.5; None if it is none.

    >>> _seconds("00:01:30.500000000"), _seconds("soon"), _seconds("-1:2:3")
    (90.5, None, None)
    """
    parts = re.fullmatch(r"(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d*)?)\s*", tag)
    return None if parts is None else 3600 * int(parts[1]) + 60 * int(parts[2]) + float(parts[3])
