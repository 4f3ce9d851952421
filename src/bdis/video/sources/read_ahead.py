"""The pictures of a video, of which the next one can be looked at before it is taken."""

from __future__ import annotations

from collections import deque

from .source import BadFrame
from .track import Picture, Track


class ReadAhead:
    """A track whose next picture can be looked at; what reading it raises is raised when it is taken.

    Parameters
    ----------
    track : Track
        The video.
    """

    def __init__(self, track: Track):
        self._track = track
        self._waiting: deque[Picture | Exception | None] = deque()

    @property
    def frames_waiting(self) -> int:
        """Frames that were read from the track and not taken, lost ones included."""
        return sum(item.count if isinstance(item, BadFrame) else isinstance(item, Picture) for item in self._waiting)

    def read(self) -> Picture | None:
        """The next picture, as :meth:`Track.read`."""
        if not self._waiting:
            return self._track.read()
        item = self._waiting.popleft()
        if isinstance(item, Exception):
            raise item
        return item

    def next_time(self) -> float | None:
        """Time of the next picture, s; None if none can be read."""
        while not self._waiting or isinstance(self._waiting[-1], BadFrame):
            try:
                self._waiting.append(self._track.read())
            except (OSError, ValueError) as error:
                self._waiting.append(error)
        last = self._waiting[-1]
        return last.time_s if isinstance(last, Picture) else None

    def forget(self) -> None:
        """Forget what was read ahead, as after a seek of the track."""
        self._waiting.clear()
