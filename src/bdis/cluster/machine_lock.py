"""Some work is done by one process of a machine at a time: compiling kernels, which the others then load."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LONGEST_WAIT_S = 600.0
LOOK_EVERY_S = 0.1


@contextlib.contextmanager
def one_of_this_machine() -> Iterator[None]:
    """Context manager that one process of this user on this machine is in at a time, where the system can do that.

    A process that has waited for ten minutes goes on nevertheless: the cache of kernels stands several writers, only
    time is lost.

    Examples
    --------
    >>> with one_of_this_machine():
    ...     pass
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    path = Path(tempfile.gettempdir(), f"bdis-{os.getuid()}.lock")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:  # no room, or somebody else's file of this name
        yield
        return
    try:
        end = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < end:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOOK_EVERY_S)
            except OSError:  # a drive without locks
                break
        yield
    finally:
        os.close(handle)
