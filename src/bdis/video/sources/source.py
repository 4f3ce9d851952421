"""The interface of all sources of stereo frames."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from .views import Splitter

DEFAULT_FPS = 25.0  # of images without timestamps, and of videos that do not tell
_one_at_a_time = threading.Lock()  # for noting who reads a source


@dataclass(frozen=True)
class StereoFrame:
    """Both views at one moment, as the source delivers them: not rectified yet.

    Attributes
    ----------
    index : int
        Number in the source, from 0; lost frames leave a gap.
    time_s : float
        When it was taken: seconds from the start of a file, or from when a camera was opened.
    left, right : ndarray, shape (h, w) or (h, w, 3)
        Grey or RGB.
    is_suspect : bool
        It was decoded from a damaged frame of its video; its images may be wrong.
    stamp_ns : int or None
        When it was taken, ns since 1970; None if the source does not know.
    frame_id : str or None
        Name of the left camera's coordinate frame in ROS; None if the source has none.
    """

    index: int
    time_s: float
    left: Array
    right: Array
    is_suspect: bool = False
    stamp_ns: int | None = None
    frame_id: str | None = None

    def __repr__(self) -> str:
        suspect = ", suspect: decoded from a damaged frame" if self.is_suspect else ""
        return f"StereoFrame({self.index} at {self.time_s:.3f} s, {size_text(self.left.shape)}{suspect})"


class BadFrame(ValueError):
    """One or more frames cannot be read; the next call of ``read`` continues after them.

    Attributes
    ----------
    count : int
        How many frames.
    """

    def __init__(self, message: str, count: int = 1):
        super().__init__(message)
        self.count = count


class SourceLost(OSError):
    """A live source was disconnected; close it and read again to reconnect."""


class Source(ABC):
    """Stereo frames, one after the other.  Files and devices are opened when they are first needed.

    A new kind of source is a file in this folder with a subclass and a :class:`SourceKind`, and one line in the list
    of kinds in ``__init__.py``.

    Attributes
    ----------
    name : str
        For messages.
    is_live : bool
        True for cameras and live streams, where only the newest frame matters; False for files, where every frame
        does.
    drops_frames : bool
        If frames come faster than they are matched, only the newest is; else the source waits.
    fps : float or None
        Frames per second, if known.
    length : int or None
        Number of frames, if known; of a video as its header says.
    rate_varies : bool
        Frames do not follow each other at a constant rate, as far as that is known: then a frame number says no time.
    seeks_quickly : bool
        A seek does not read the file from its beginning.
    rig : Rig or None
        The cameras of the frames, if the source knows them and its frames are rectified: those of ``camera.rig`` see
        other images than raw frames are.
    camera : Rectifier, Rig or None
        What rectifies the frames, if the source knows raw cameras; else ``rig``.
    calibrations : list of Path
        Calibration files that lie beside the images.  ``camera`` is what the first one means for them.
    remarks : list of str
        What the user should know about how the source was understood; known after the first frame.
    warnings : sequence of str
        Why the views may not belong together, or not be as the cameras saw them; known after the first frame.
    layout : str or None
        How both views are arranged in one picture ("side-by-side" or "top-bottom"), known after the first frame;
        None if each view has a picture of its own.
    fingerprint : dict
        What tells the content of a folder from another; empty if the source is not a folder, nor made of images.

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
    _reader: object = None

    def begin_reading(self, reader: object) -> None:
        """Note who reads from now on: frames that two took turns to read would be missing from both.

        Raises
        ------
        RuntimeError
            Another reader has begun, and has not ended.
        """
        with _one_at_a_time:
            if self._reader is not None and self._reader is not reader:
                raise RuntimeError(f"{self.name} is read by another stream: open it once for each stream")
            self._reader = reader

    def end_reading(self, reader: object) -> None:
        """Note that ``reader`` reads no longer; what others do is not changed."""
        with _one_at_a_time:
            if self._reader is reader:
                self._reader = None

    @property
    def fps(self) -> float | None:
        return None

    @property
    def drops_frames(self) -> bool:
        return self.is_live

    @property
    def length(self) -> int | None:
        return None

    @property
    def rate_varies(self) -> bool:
        return False

    @property
    def seeks_quickly(self) -> bool:
        return True

    @property
    def rig(self) -> Rig | None:
        return None

    @property
    def camera(self) -> Rectifier | Rig | None:
        return self.rig

    @property
    def calibrations(self) -> list[Path]:
        return []

    @property
    def remarks(self) -> list[str]:
        return []

    @property
    def warnings(self) -> Sequence[str]:
        return ()

    @property
    def layout(self) -> str | None:
        return None

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    def read(self) -> StereoFrame | None:
        """Read the next frame.

        Returns
        -------
        StereoFrame or None
            None at the end.

        Raises
        ------
        BadFrame
            The frame is damaged; the next call returns the one after it.
        SourceLost
            A live source was disconnected; after :meth:`close` the next call tries to open it again.
        OSError, ValueError
            The source cannot be opened at all.
        """

    def seek(self, time_s: float, index: int | None = None) -> None:
        """Make the next :meth:`read` return the first frame at or after ``time_s``.

        Parameters
        ----------
        time_s : float
            Seconds from the start.
        index : int, optional
            Number of that frame, if it is known.  Default: computed from the time.

        Raises
        ------
        ValueError
            The source is live.
        """
        self.check_seekable()
        raise NotImplementedError(f"{type(self).__name__} is not live and must define seek")

    def seek_before(self, time_s: float) -> None:
        """Make the next :meth:`read` return a frame at or before ``time_s`` that is reached quickly.

        In a video that is the key frame before, from which all frames until ``time_s`` would have to be decoded.

        Parameters
        ----------
        time_s : float
            Seconds from the start.

        Raises
        ------
        ValueError
            The source is live.
        """
        self.seek(time_s)

    def rewind(self) -> None:
        """Begin again at the first frame, if that is possible: of a live source only what was kept for it."""
        if not self.is_live:
            self.close()

    def check_seekable(self) -> None:
        """Raise ValueError if the source is live."""
        if self.is_live:
            raise ValueError(f"{self.name} is live: it cannot seek")

    @abstractmethod
    def close(self) -> None:
        """Release files and devices.  A closed file starts again from its beginning."""

    def time_of(self, index: int) -> float:
        """Time to pass to :meth:`seek` for frame ``index``: half a frame early, because files round their times.

        If :attr:`rate_varies`, another frame than that of this number may be there.

        Raises
        ------
        ValueError
            The number of frames per second is not known.
        """
        if not self.fps:
            raise ValueError(f"the number of frames per second of {self.name} is not known")
        return max(0.0, (index - 0.5) / self.fps)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[StereoFrame]:
        return iter(self.read, None)  # unlike a generator, it can continue after a BadFrame


def check_fps(fps: float) -> None:
    """Raise ValueError if nothing has so many frames per second."""
    if not 0 < fps < 1e6:
        raise ValueError(f"fps is {fps:g}; expected a number above 0")


class NumberedSource(Source):
    """A source whose frames can be loaded by number, such as a folder of images.

    Parameters
    ----------
    name : str
        For messages.
    length : int
        Number of frames.
    fps : float
        Frames per second; times are multiples of ``1 / fps``.
    """

    def __init__(self, name: str, length: int, fps: float = DEFAULT_FPS):
        check_fps(fps)
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
        # The tolerance makes a time that was computed from a number lead back to that number.
        wanted = int(np.ceil(time_s * self._fps - 1e-6)) if index is None else index
        self._next = min(max(wanted, 0), self._length)

    def close(self) -> None:
        self._next = 0


@dataclass(frozen=True)
class OpenOptions:
    """The options of :func:`bdis.open_source`, checked.

    Attributes
    ----------
    splitter : Splitter
        Separates the views of pictures that hold both.
    deinterlace : bool
        The video is interlaced.
    fps : float or None
        Frames per second of images, or to request from a camera.
    color : bool
        RGB frames of videos and cameras, else grey.
    topics : (str, str) or None
        Topics of the left and the right view in a bag.
    tolerance_ms : float or None
        Largest difference between the stamps of a pair in a bag.
    rectify : bool or None
        Whether the images of a bag are to be rectified.
    pipe_format : str or None
        What comes through a pipe, see :func:`bdis.video.sources.pipe.parse_pipe_format`.
    all_frames : bool
        Of a pipe, match every frame.
    """

    splitter: Splitter
    deinterlace: bool = False
    fps: float | None = None
    color: bool = True
    topics: tuple[str, str] | None = None
    tolerance_ms: float | None = None
    rectify: bool | None = None
    pipe_format: str | None = None
    all_frames: bool = False

    @property
    def image_fps(self) -> float:
        """Frames per second of images, which have no timestamps."""
        return DEFAULT_FPS if self.fps is None else self.fps


@dataclass(frozen=True)
class SourceKind:
    """One kind of source that :func:`bdis.open_source` can open.

    Attributes
    ----------
    name : str
        For messages, with its article: "a video".
    detect : callable
        Whether a place (a path, URL or device, as text) is of this kind.
    open : callable
        Creates the source from one place (both views) or two (left and right), and OpenOptions.
    is_video : bool
        It has its own frame rate, and may be interlaced.
    is_bag : bool
        It has its own frame rate, topics, and a calibration of its cameras.
    """

    name: str
    detect: Callable[[str], bool]
    open: Callable[[list[str], OpenOptions], Source]
    is_video: bool = False
    is_bag: bool = False
