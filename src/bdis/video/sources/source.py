"""What every source of stereo frames is brought to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array


@dataclass(frozen=True)
class StereoFrame:
    """Both views at one moment, as the source has them: not rectified yet.

    Attributes
    ----------
    index : its number in the source, from 0; frames that were lost leave a gap
    time_s : when it was taken: s from the start of a file, or from when a camera was opened
    left, right : (height, width) grey or (height, width, 3) RGB
    is_suspect : it builds on a damaged frame of its video, and may show what is not there
    """

    index: int
    time_s: float
    left: Array
    right: Array
    is_suspect: bool = False


class BadFrame(ValueError):
    """A frame, or several, that cannot be had; the ones after can: read on.

    Attributes
    ----------
    count : how many
    """

    def __init__(self, message: str, count: int = 1):
        super().__init__(message)
        self.count = count


class SourceLost(OSError):
    """A live source that has gone away; it may come back: close it and read again."""


class Source(ABC):
    """Stereo frames, one after the other.  Nothing is opened before it is needed.

    Attributes
    ----------
    name : for people
    is_live : frames come when they come, and the newest counts; else a file, where every frame counts
    fps : frames per second, None if not known
    length : number of frames, None if not known; of a video as its header has it
    rig : Rig, if the source knows its rectified cameras
    layout : how both views lie in a picture, known after the first one; None if each has its own

    Examples
    --------
    >>> from bdis.video.sources import open_source
    >>> with open_source("render:plane,frames=3,height=32,width=48") as source:
    ...     source.seek(source.time_of(1))
    ...     [(frame.index, round(frame.time_s, 2), frame.left.shape) for frame in source]
    [(1, 0.04, (32, 48, 3)), (2, 0.08, (32, 48, 3))]
    """

    name: str
    is_live: bool = False

    @property
    def fps(self) -> float | None:
        return None

    @property
    def length(self) -> int | None:
        return None

    @property
    def rig(self) -> Rig | None:
        return None

    @property
    def layout(self) -> str | None:
        return None

    @abstractmethod
    def read(self) -> StereoFrame | None:
        """The next frame; None at the end.

        Raises
        ------
        BadFrame
            It is damaged; the next call gives the one after it.
        SourceLost
            A live source has gone; after :meth:`close` the next call tries to open it again.
        OSError, ValueError
            It cannot be opened at all.
        """

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Let the next :meth:`read` give the first frame at or after ``time_s``.

        Parameters
        ----------
        time_s : s from the start
        index : what to number it, if it is known better than from the time

        Raises
        ------
        ValueError
            A live source cannot.
        """
        raise ValueError(f"{self.name} is live: there is nothing to go back to")

    @abstractmethod
    def close(self) -> None:
        """Give back files and devices.  A closed file starts again from its beginning."""

    def time_of(self, index: int) -> float:
        """A time to seek frame ``index`` with: half a frame before it is due, as files round their times."""
        if not self.fps:
            raise ValueError(f"{self.name} does not say how many frames it has per second")
        return max(0.0, (index - 0.5) / self.fps)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[StereoFrame]:
        return iter(self.read, None)  # unlike a generator it goes on after an error


class NumberedSource(Source):
    """A source whose frames can be had by number, such as a folder of images.

    Times are multiples of 1 / fps.
    """

    def __init__(self, name: str, length: int, fps: float = 25.0):
        if not 0 < fps < 1e6:
            raise ValueError(f"fps is {fps:g}; expected a number above 0")
        self.name, self._length, self._fps, self._next = name, length, float(fps), 0

    @property
    def fps(self) -> float:
        return self._fps

    @property
    def length(self) -> int:
        return self._length

    @abstractmethod
    def _load(self, index: int) -> tuple[Array, Array]:
        """Both views of a frame."""

    def read(self) -> StereoFrame | None:
        index = self._next
        if index >= self._length:
            return None
        self._next += 1
        try:
            left, right = self._load(index)
        except (OSError, ValueError) as error:
            raise BadFrame(f"frame {index}: {error}") from error
        return StereoFrame(index, index / self._fps, left, right)

    def seek(self, time_s: float, index: int | None = None) -> None:
        # A time that was computed from a number must lead back to that number.
        wanted = int(np.ceil(time_s * self._fps - 1e-6)) if index is None else index
        self._next = min(max(wanted, 0), self._length)

    def close(self) -> None:
        self._next = 0
