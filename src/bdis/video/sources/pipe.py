"""Named pipes as sources of video: a pipe that nobody writes to is an error, not an endless wait."""

from __future__ import annotations

import errno
import os
import select
import stat

WAIT_S = 10.0  # for the first bytes, and between two of them


def is_pipe(place: str) -> bool:
    """Whether a place is a named pipe (FIFO)."""
    try:
        return stat.S_ISFIFO(os.stat(place).st_mode)
    except (OSError, ValueError):
        return False


class Pipe:
    """The bytes of a named pipe, as a file that PyAV can read.

    Opening a pipe in the usual way waits until somebody writes to it, and nothing can end that wait.

    Parameters
    ----------
    path : str
        The pipe.

    Raises
    ------
    OSError
        It cannot be opened, or nobody writes to it for ``WAIT_S``.
    """

    def __init__(self, path: str):
        self.name = path
        self._handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end."""
        self._wait()
        return os.read(self._handle, size)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def _wait(self) -> None:
        if not self._poll.poll(1e3 * WAIT_S):
            reason = f"nobody has written to this pipe for {WAIT_S:g} s; start its writer first"
            raise OSError(errno.ETIMEDOUT, reason, self.name)
