"""Stereo video: both views in one, or a video for each."""

from __future__ import annotations

from .source import BadFrame, Source, StereoFrame
from .track import Picture, Track
from .views import Splitter

TOGETHER = 0.6  # frames; more than half, so that two clocks half a frame apart do not change partners all the time
MOST_REORDERED = 16  # frames that a decoder holds back


class VideoSource(Source):
    """A video, file or URL, whose pictures hold both views."""

    def __init__(self, track: Track, splitter: Splitter):
        self.name, self._track, self._split = track.where, track, splitter

    @property
    def is_live(self) -> bool:  # type: ignore[override]
        return self._track.is_live

    @property
    def fps(self) -> float:
        return self._track.fps

    @property
    def length(self) -> int | None:
        return self._track.length

    @property
    def layout(self) -> str | None:
        return self._split.used

    def read(self) -> StereoFrame | None:
        picture = self._track.read()
        if picture is None:
            return None
        return StereoFrame(picture.index, picture.time_s, *self._split(picture.pixels), picture.is_suspect)

    def seek(self, time_s: float, index: int | None = None) -> None:
        if self.is_live:
            super().seek(time_s, index)
        self._track.seek(time_s, index)

    def close(self) -> None:
        self._track.close()


class TwoVideoSource(Source):
    """A video for each view; frames of the same time belong together.

    A frame that one of them lacks is reported and left out.  Of live videos, frames that come together belong together.
    """

    def __init__(self, left: Track, right: Track):
        self.name = f"{left.where} and {right.where}"
        self._tracks = (left, right)
        self._held: list[Picture | None] = [None, None]  # pictures that wait for their partner
        self._explained_s = [float("-inf")] * 2  # until when a lack of frames was reported as damage
        self._last_s = [0.0, 0.0]  # when the last picture of each was
        self._is_over = False

    @property
    def is_live(self) -> bool:  # type: ignore[override]
        return any(track.is_live for track in self._tracks)

    @property
    def fps(self) -> float:
        return self._tracks[0].fps

    @property
    def length(self) -> int | None:
        left, right = (track.length for track in self._tracks)
        return None if left is None or right is None else min(left, right)

    def read(self) -> StereoFrame | None:
        self._check_rates()
        while not self._is_over:
            left, right = self._take(0), self._take(1)
            if left is None or right is None:
                self._is_over = True
                self._report_rest(left, right)
                return None
            late_s = left.time_s - right.time_s
            if self.is_live or abs(late_s) < TOGETHER / self.fps:
                self._held = [None, None]
                is_suspect = left.is_suspect or right.is_suspect
                return StereoFrame(left.index, left.time_s, left.pixels, right.pixels, is_suspect)
            alone, lacks = (0, 1) if late_s < 0 else (1, 0)
            self._held[alone] = None
            when = min(left.time_s, right.time_s)
            if when > self._explained_s[lacks]:
                raise BadFrame(f"{self._tracks[lacks].where} lacks a frame at {when:.3f} s")
        return None

    def seek(self, time_s: float, index: int | None = None) -> None:
        if self.is_live:
            super().seek(time_s, index)
        self._forget()
        for track in self._tracks:
            track.seek(time_s, index)

    def close(self) -> None:
        self._forget()
        for track in self._tracks:
            track.close()

    def _forget(self) -> None:
        self._held, self._last_s = [None, None], [0.0, 0.0]
        self._explained_s, self._is_over = [float("-inf")] * 2, False

    def _take(self, side: int) -> Picture | None:
        """The next picture of a track, or the one that still waits for its partner."""
        if self._held[side] is None:
            try:
                self._held[side] = picture = self._tracks[side].read()
                self._last_s[side] = self._last_s[side] if picture is None else picture.time_s
            except BadFrame as error:
                # Decoders notice damage some frames before its turn has come.
                self._explained_s[side] = self._last_s[side] + (MOST_REORDERED + error.count) / self.fps
                raise BadFrame(f"{self._tracks[side].where}: {error}", error.count) from error
        return self._held[side]

    def _check_rates(self) -> None:
        left, right = (track.fps for track in self._tracks)
        if abs(left - right) > 0.01 * left and not self.is_live:
            names = [track.where for track in self._tracks]
            raise ValueError(
                f"{names[0]} has {left:g} frames per second but {names[1]} has {right:g}; convert one of them first"
            )

    def _report_rest(self, left: Picture | None, right: Picture | None) -> None:
        if (left is None) == (right is None):
            return
        shorter, longer = self._tracks if left is None else self._tracks[::-1]
        there, wanted = shorter.length, longer.length
        if there is not None and wanted is not None and wanted > there:
            raise BadFrame(
                f"{shorter.where} has {there} frames and {longer.where} has {wanted}: the rest is left out. If the "
                "missing one is not the last, all after it are of different moments",
                wanted - there,
            )
