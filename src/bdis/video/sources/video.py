"""Stereo video, from a file or a URL: both views in one video, or one video for each view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .fingerprint import fingerprint
from .pipe import is_pipe, parse_pipe_format
from .read_ahead import ReadAhead
from .source import BadFrame, OpenOptions, Source, SourceKind, StereoFrame
from .track import Picture, Track
from .views import Splitter

# Largest time between the views of a pair, in steps from frame to frame: more than half a step, so that a right video
# that is half a frame late is not paired now with the left frame before and now with the one after.
PAIR_TOLERANCE = 0.6
FAST_STEPS = 3  # of a video whose rate varies, by which it is told that its frames follow faster than on average
SAME_TIME_S = 1e-6
# By which share the rates of two videos may differ: that of a pipe is guessed from its first frames.
RATE_TOLERANCE, PIPE_RATE_TOLERANCE = 0.01, 0.1
_URL = re.compile(r"^([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_MAYBE_FILES = ("http", "https", "file", "ftp")  # may be a file or live; URLs of other schemes are live


class VideoSource(Source):
    """A video whose pictures hold both views.

    Parameters
    ----------
    track : Track
        The video.
    splitter : Splitter
        Separates the views of its pictures.
    """

    def __init__(self, track: Track, splitter: Splitter):
        self.name, self._track, self._split = track.where, track, splitter

    @property
    def is_live(self) -> bool:  # type: ignore[override]
        return self._track.is_live

    @property
    def drops_frames(self) -> bool:
        return self.is_live and not self._track.keeps_all

    @property
    def fps(self) -> float:
        return self._track.fps

    @property
    def length(self) -> int | None:
        return self._track.length

    @property
    def seeks_quickly(self) -> bool:
        return self._track.seeks_quickly

    @property
    def rate_varies(self) -> bool:
        return self._track.rate_varies

    @property
    def remarks(self) -> list[str]:
        return self._track.remarks

    @property
    def warnings(self) -> Sequence[str]:
        return self._track.warnings

    @property
    def layout(self) -> str | None:
        return self._split.used

    @property
    def fingerprint(self) -> dict[str, Any]:
        return _fingerprint([self._track])

    def read(self) -> StereoFrame | None:
        picture = self._track.read()
        if picture is None:
            return None
        return StereoFrame(picture.index, picture.time_s, *self._split(picture.pixels), picture.is_suspect)

    def seek(self, time_s: float, index: int | None = None) -> None:
        self.check_seekable()
        self._track.seek(time_s, index)

    def seek_before(self, time_s: float) -> None:
        self.check_seekable()
        self._track.seek_before(time_s)

    def rewind(self) -> None:
        super().rewind()
        self._track.rewind()

    def close(self) -> None:
        self._track.close()


class TwoVideoSource(Source):
    """A video for each view; frames of the same time form a pair.

    Every frame of the left video is delivered in a pair, or reported as lost because it or its partner is missing.  Of
    live videos, frames that arrive at the same time form a pair, unless every frame of them matters and has its time.

    Parameters
    ----------
    left, right : Track
        The videos.
    """

    def __init__(self, left: Track, right: Track):
        self.name = f"{left.where} and {right.where}"
        self._tracks = (left, right)
        self._ahead = (ReadAhead(left), ReadAhead(right))
        self._held: list[Picture | None]  # pictures whose partner is not read yet
        self._single_s: list[float]  # times of left frames without a partner, not reported yet
        self._lost_left: int  # left frames that were reported as lost, and whose partners were not met yet
        self._last_s: list[float | None]  # times of the last pictures that were paired or given up
        self._is_out_of_step: bool  # frames of a video without times were lost
        self._is_joining: bool  # right frames before the first left one were asked for, to find its partner
        self._is_over: bool
        self._warnings: tuple[str, ...] = ()
        self._fast_steps = 0  # from frame to frame, so short that views would be of different moments
        self._reset()

    @property
    def is_live(self) -> bool:  # type: ignore[override]
        return any(track.is_live for track in self._tracks)

    @property
    def drops_frames(self) -> bool:
        return self.is_live and not all(track.keeps_all for track in self._tracks)

    @property
    def fps(self) -> float:
        return self._tracks[0].fps

    @property
    def length(self) -> int | None:
        return self._tracks[0].length

    @property
    def seeks_quickly(self) -> bool:
        return all(track.seeks_quickly for track in self._tracks)

    @property
    def rate_varies(self) -> bool:
        return any(track.rate_varies for track in self._tracks)

    @property
    def remarks(self) -> list[str]:
        return [remark for track in self._tracks for remark in track.remarks]

    @property
    def warnings(self) -> Sequence[str]:
        return (*self._warnings, *(warning for track in self._tracks for warning in track.warnings))

    @property
    def fingerprint(self) -> dict[str, Any]:
        return _fingerprint(self._tracks)

    def read(self) -> StereoFrame | None:
        self._check_rates()
        self._check_starts()
        while not self._is_over:
            left, right = self._take(0), self._take(1)
            if left is None or right is None:
                self._report_single()
                self._is_over = True
                self._check_lengths(left, right)
                return None
            late_s = left.time_s - right.time_s
            if not self._pairs_by_time or self._is_pair(left, right):
                self._report_single()
                self._drop(0)
                self._drop(1)
                is_suspect = left.is_suspect or right.is_suspect or self._is_out_of_step
                return StereoFrame(left.index, left.time_s, left.pixels, right.pixels, is_suspect)
            if late_s < 0:
                self._drop(0)
                self._single_s.append(left.time_s)
            else:
                self._drop(1)
                if self._is_joining:
                    continue
                self._lost_left -= 1
                if self._lost_left < 0:  # it was never there
                    self._lost_left = 0
                    raise BadFrame(f"{self._tracks[0].where} has no frame at {right.time_s:.3f} s", 0)
        return None

    def seek(self, time_s: float, index: int | None = None) -> None:
        self.check_seekable()
        self._reset()
        for track in self._tracks:
            track.seek(time_s, index)

    def seek_before(self, time_s: float) -> None:
        """The key frame of the left video: that of the right one may be another."""
        self.check_seekable()
        self._reset()
        left, right = self._tracks
        right.seek(left.seek_before(time_s) - PAIR_TOLERANCE / self.fps)
        self._is_joining = True

    def rewind(self) -> None:
        super().rewind()
        if all(track.can_rewind for track in self._tracks):
            self._reset()
            for track in self._tracks:
                track.rewind()

    def close(self) -> None:
        self._reset()
        for track in self._tracks:
            track.close()

    def _reset(self) -> None:
        self._held, self._last_s, self._single_s, self._lost_left = [None, None], [None, None], [], 0
        self._is_out_of_step = self._is_over = self._is_joining = False
        for ahead in self._ahead:
            ahead.forget()

    @property
    def _pairs_by_time(self) -> bool:
        """Whether frames form a pair by their times, and not by when they arrive."""
        return not self.drops_frames and (not self.is_live or all(track.has_own_times for track in self._tracks))

    def _is_pair(self, left: Picture, right: Picture) -> bool:
        """Whether no other picture is nearer; at most a frame is read ahead for it, and none if the times agree."""
        apart_s = abs(left.time_s - right.time_s)
        if apart_s < SAME_TIME_S:
            return True
        if apart_s >= PAIR_TOLERANCE / self.fps:
            return False
        # The rate may be an average over bursts and pauses: what counts are the steps from frame to frame here.
        steps_s = [1 / self.fps]
        for picture, last_s, ahead in zip((left, right), self._last_s, self._ahead, strict=True):
            next_s = ahead.next_time()
            steps_s += [next_s - picture.time_s] if next_s is not None else []
            steps_s += [picture.time_s - last_s] if last_s is not None else []
        return apart_s < PAIR_TOLERANCE * min(step_s for step_s in steps_s if step_s > SAME_TIME_S)

    def _drop(self, side: int) -> None:
        """Hold the picture of a track no longer: it is paired, or has no partner."""
        picture, last_s = self._held[side], self._last_s[side]
        assert picture is not None
        if last_s is not None and picture.time_s > last_s + SAME_TIME_S:
            self._fast_steps += self._start_apart_s > PAIR_TOLERANCE * (picture.time_s - last_s)
        self._held[side], self._last_s[side] = None, picture.time_s
        if side == 0:
            self._is_joining = False

    def _take(self, side: int) -> Picture | None:
        """The picture of a track that still waits for its partner, or else the next one."""
        while self._held[side] is None:
            try:
                self._held[side] = picture = self._ahead[side].read()
            except BadFrame as error:
                if error.count and not self._tracks[side].has_own_times and not self._is_out_of_step:
                    self._is_out_of_step = True
                    self._lost_left += error.count * (side == 0)
                    raise BadFrame(
                        f"{self._tracks[side].where}: {error}; the file does not have the times of its frames: from "
                        "here on the views may be of different moments, and are marked as suspect",
                        error.count * (side == 0),
                    ) from error
                if side == 1 and error.count and self._pairs_by_time:
                    continue  # their partners, which have come or will come, are reported
                self._lost_left += error.count
                raise BadFrame(f"{self._tracks[side].where}: {error}", error.count) from error
            if picture is None:
                return None
        return self._held[side]

    def _report_single(self) -> None:
        """Report left frames in a row that have no partner."""
        times, self._single_s = self._single_s, []
        if not times:
            return
        right = self._tracks[1].where
        if len(times) == 1:
            raise BadFrame(f"{right} has no frame at {times[0]:.3f} s")
        raise BadFrame(
            f"{right} has no frames from {times[0]:.3f} s to {times[-1]:.3f} s, which are {len(times)}", len(times)
        )

    def _check_rates(self) -> None:
        left, right = (track.fps for track in self._tracks)
        if self.is_live and not all(track.is_pipe for track in self._tracks):
            return  # of cameras and streams the newest frames form a pair
        if abs(left - right) > (PIPE_RATE_TOLERANCE if self.is_live else RATE_TOLERANCE) * left:
            names = [track.where for track in self._tracks]
            raise ValueError(
                f"{names[0]} has {left:g} frames per second but {names[1]} has {right:g}; convert one of them first"
            )

    def _check_starts(self) -> None:
        """Warn of videos that begin at different times, by more than a step from frame to frame."""
        if self._start_apart_s > PAIR_TOLERANCE / self.fps or self._fast_steps >= FAST_STEPS:
            begin = f"the videos begin {self._start_apart_s:.3f} s apart by their time stamps"
            self._warnings = (f"{begin}; they are paired as if they began together",)

    @property
    def _start_apart_s(self) -> float:
        """How far apart the first frames are by the time stamps in the files; 0 if these do not count."""
        left, right = self._tracks
        if not (self._pairs_by_time and left.has_own_times and right.has_own_times):
            return 0.0
        return abs(left.start_s - right.start_s)

    def _check_lengths(self, left: Picture | None, right: Picture | None) -> None:
        """Report that one video ended before the other, given what was last read of each."""
        if (left is None) == (right is None):
            return
        shorter, longer = self._tracks if left is None else self._tracks[::-1]
        if self.is_live:
            raise BadFrame(
                f"{shorter.where} ended before {longer.where}: if frames were missing in it before, the views after "
                "them are of different moments",
                0,
            )
        fewer, more = shorter.length, longer.length
        rest = 0 if left is None else 1 + self._ahead[0].frames_waiting + self._tracks[0].remaining()
        if rest or (fewer is not None and more is not None and more > fewer):
            raise BadFrame(
                f"{shorter.where} has {fewer} frames and {longer.where} has {more}: the rest is skipped. If the "
                "missing frames are not the last ones, the views after them are of different moments",
                rest,
            )


def _fingerprint(tracks: Sequence[Track]) -> dict[str, Any]:
    """What tells videos from others of the same size; empty unless all are files."""
    files = [Path(track.where) for track in tracks if not track.is_pipe]
    if len(files) < len(tracks) or not all(file.is_file() for file in files):
        return {}
    return fingerprint(files, reads_whole=False, has_names=False)


def _open(places: list[str], options: OpenOptions) -> Source:
    pipe_format = None if options.pipe_format is None else parse_pipe_format(options.pipe_format)
    tracks = [
        Track(
            place, color=options.color, deinterlace=options.deinterlace, is_live=_is_live(place),
            pipe_format=pipe_format, keeps_all=options.all_frames,
        )
        for place in places
    ]  # fmt: skip
    return TwoVideoSource(*tracks) if len(tracks) == 2 else VideoSource(tracks[0], options.splitter)


def _is_live(place: str) -> bool | None:
    """Whether a video is live; None if that is known only after opening it."""
    scheme = _URL.match(place)
    if scheme is None:
        return is_pipe(place)  # what was read from a pipe cannot be read again
    return None if scheme[1].lower() in _MAYBE_FILES else True


PIPE = SourceKind("a pipe", is_pipe, _open, is_video=True)
URL = SourceKind("a URL", lambda place: _URL.match(place) is not None, _open, is_video=True)
VIDEO = SourceKind("a video", lambda place: Path(place).exists(), _open, is_video=True)
