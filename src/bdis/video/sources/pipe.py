"""Pipes as sources of video: a pipe that nobody writes to is an error, not an endless wait."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass, field

from ...common.optional import require
from ...common.reading import check_pixels, wait_for_writer

CONTAINERS = {"y4m": "yuv4mpegpipe", "nut": "nut"}  # and their names in FFmpeg
EXAMPLE = "y4m, nut, or rawvideo:WIDTHxHEIGHT:PIXELS:FPS such as rawvideo:1280x480:rgb24:25"
_RAW = re.compile(r"rawvideo:(\d{1,5})x(\d{1,5}):([a-z0-9]+):(\d+(?:\.\d+)?)", re.ASCII)
_NUMBERED = re.compile(r"pipe:(\d{0,4})")
_LARGEST = 65535  # width, height and frames per second


def is_pipe(place: str) -> bool:
    """Whether a place is a named pipe (FIFO), or one that is open already: ``-``, ``pipe:``, ``pipe:3``.

    >>> is_pipe("-"), is_pipe("pipe:3"), is_pipe("surgery.mp4")
    (True, True, False)
    """
    if _descriptor(place) is not None:
        return True
    try:
        return stat.S_ISFIFO(os.stat(place).st_mode)
    except (OSError, ValueError):
        return False


def pipe_name(place: str) -> str:
    """The name of a pipe, for messages.

    >>> pipe_name("-"), pipe_name("pipe:3"), pipe_name("left.y4m")
    ('standard input', 'pipe:3', 'left.y4m')
    """
    return "standard input" if _descriptor(place) == 0 else place


def _descriptor(place: str) -> int | None:
    """Number of an open file of this process."""
    if place == "-":
        return 0
    numbered = _NUMBERED.fullmatch(place)
    return int(numbered[1] or 0) if numbered else None


@dataclass(frozen=True)
class PipeFormat:
    """What is written to a pipe.

    Attributes
    ----------
    container : str
        Name of FFmpeg.
    options : dict
        Its options.
    frame_bytes : int or None
        Size of a frame, of raw video, which has no other sign of where one begins.
    """

    container: str
    options: dict[str, str] = field(default_factory=dict)
    frame_bytes: int | None = None


def parse_pipe_format(text: str) -> PipeFormat:
    """Read the value of ``--pipe-format``.

    Parameters
    ----------
    text : str
        "y4m", "nut", or such as "rawvideo:1280x480:rgb24:25": size of the picture, names of its pixels in FFmpeg and
        frames per second.

    Returns
    -------
    PipeFormat

    Raises
    ------
    ValueError
        It has another form.

    Examples
    --------
    >>> parse_pipe_format("rawvideo:1280x480:rgb24:25").frame_bytes
    1843200
    """
    wrong = f"the pipe format is {text!r}; expected {EXAMPLE}"
    if text in CONTAINERS:
        return PipeFormat(CONTAINERS[text])
    raw = _RAW.fullmatch(text)
    if raw is None:
        raise ValueError(wrong)
    width, height, pixels, fps = int(raw[1]), int(raw[2]), raw[3], float(raw[4])
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST and 0 < fps <= _LARGEST):
        raise ValueError(wrong)
    check_pixels(width, height, "a picture in the pipe")
    try:
        layout = require("av", "reading pipes").VideoFormat(pixels, width, height)
    except ValueError:
        raise ValueError(f"the pipe format is {text!r}, but FFmpeg does not know pixels named {pixels!r}") from None
    frame_bytes = width * height * layout.padded_bits_per_pixel // 8
    if not frame_bytes:
        raise ValueError(f"the pipe format is {text!r}, but pixels named {pixels!r} are not raw video")
    options = {"video_size": f"{width}x{height}", "pixel_format": pixels, "framerate": raw[4]}
    return PipeFormat("rawvideo", options, frame_bytes)


class Pipe:
    """The bytes of a pipe, as a file that PyAV can read.

    Opening a pipe in the usual way waits until somebody writes to it, and nothing can end that wait.

    Parameters
    ----------
    place : str
        The pipe, see :func:`is_pipe`.

    Attributes
    ----------
    count : int
        Bytes that were read.

    Raises
    ------
    OSError
        It cannot be opened, or nobody writes to it for :data:`bdis.common.reading.PIPE_WAIT_S`.
    """

    def __init__(self, place: str):
        self.name, self.count = pipe_name(place), 0
        descriptor = _descriptor(place)
        if descriptor is None:
            self._handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        elif os.isatty(descriptor):
            raise OSError(errno.EINVAL, "a terminal writes no video; start as in: ffmpeg ... - | bdis run -", self.name)
        else:
            try:
                self._handle = os.dup(descriptor)
            except OSError as error:
                raise OSError(error.errno, f"no such pipe: {error.strerror}", self.name) from None
        try:
            wait_for_writer(self._handle, self.name)
        except BaseException:
            self.close()
            raise

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end."""
        wait_for_writer(self._handle, self.name)
        content = os.read(self._handle, size)
        self.count += len(content)
        return content

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1
