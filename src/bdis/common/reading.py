"""Content of files that others wrote: never more than a limit, so that no file can fill the memory or take hours."""

import errno
import json
import os
import select
import stat
from pathlib import Path
from typing import Any

from .atomic import Place

MAX_PIXELS = 2**26  # of an image or a map, as in 8192x8192: 800 MB of RGB float32
MAX_IMAGE_BYTES = 2**30  # content of a file with an image, a map or a cloud
MAX_TEXT_BYTES = 2**26  # content of a file that grows with the frames: a log or a manifest
MAX_CALIBRATION_BYTES = 2**20  # content of a calibration file; the largest that are known have some 10 kB
PIPE_WAIT_S = 10.0  # for the first bytes of a pipe, and between two of them
_MAX_DEPTH = 32  # of JSON


def read_limited(path: Place, most: int) -> bytes:
    """Read a file of at most ``most`` bytes.

    Parameters
    ----------
    path : str or path-like
        The file; endless ones, such as devices, are refused as well.
    most : int
        Largest number of bytes.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        The file is larger.
    OSError
        The file cannot be read, or is a pipe to which nobody writes for :data:`PIPE_WAIT_S`.

    Examples
    --------
    >>> read_limited("/dev/zero", 100)
    Traceback (most recent call last):
    ValueError: /dev/zero has more than 100 bytes, the most that such a file may have
    """
    parts, left = [], most + 1
    with open(path, "rb", buffering=0, opener=_open_at_once) as file:
        about = os.fstat(file.fileno())
        step = max(about.st_size + 1, 2**16)  # not `left`: so much memory is taken before reading
        while left > 0:
            if stat.S_ISFIFO(about.st_mode):
                wait_for_writer(file.fileno(), os.fspath(path))
            part = file.read(min(step, left))
            if not part:
                break
            parts.append(part)
            left -= len(part)
    if left <= 0:
        raise ValueError(f"{path} has more than {_size(most)}, the most that such a file may have")
    return b"".join(parts)


def wait_for_writer(pipe: int, name: str) -> None:
    """Wait until there is something to read in a pipe, or its end.

    Parameters
    ----------
    pipe : int
        Descriptor, from a call of ``open`` that did not wait for a writer.
    name : str
        For the message.

    Raises
    ------
    OSError
        Nobody writes to it for :data:`PIPE_WAIT_S`.
    """
    if not hasattr(select, "poll"):  # Windows has none: there it may wait longer
        return
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(1e3 * PIPE_WAIT_S):
        reason = f"nobody has written to this pipe for {PIPE_WAIT_S:g} s; start its writer first"
        raise OSError(errno.ETIMEDOUT, reason, name)


def read_text(path: Place, most: int) -> str:
    """Read a text file of at most ``most`` bytes, UTF-8 with or without a byte order mark.

    Raises
    ------
    ValueError
        The file is larger, or is not text.
    OSError
        The file cannot be read.
    """
    try:
        return read_limited(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not a text file") from None


def check_pixels(width: int, height: int, name: Place) -> None:
    """Refuse an image or a map of more than :data:`MAX_PIXELS`, before memory is taken for it.

    Raises
    ------
    ValueError
        The message has ``name``.
    """
    if width * height > MAX_PIXELS:
        raise ValueError(f"{name} is {width}x{height}; at most {MAX_PIXELS} pixels are read, as in 8192x8192")


def parse_json(text: str | bytes) -> Any:
    """Parse JSON that others wrote.

    Parameters
    ----------
    text : str or bytes

    Returns
    -------
    object
        Dicts, lists, strings, numbers, booleans and None.  A whole number of twenty digits and more is a float.

    Raises
    ------
    ValueError
        It is not JSON, or nested deeper than any file needs.

    Examples
    --------
    >>> parse_json('{"frames": 3}')
    {'frames': 3}
    """
    try:
        value = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 20 else float(digits))
        _check_depth(value, _MAX_DEPTH)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def load_json(path: Path, most: int = MAX_TEXT_BYTES) -> Any:
    """Read a JSON file, see :func:`parse_json`; the message of a ValueError begins with ``path``."""
    text = read_text(path, most)
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; of a pipe, without waiting for its writer, which nothing could end."""
    if not hasattr(os, "O_NONBLOCK"):
        return os.open(path, flags)
    handle = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return handle


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, dict | list):
        if not left:
            raise RecursionError
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, left - 1)


def _size(count: int) -> str:
    for step, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= step:
            return f"{count / step:g} {unit}"
    return f"{count} bytes"
