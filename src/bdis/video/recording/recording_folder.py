"""The folder of a recording: new or empty, and written to by one process at a time."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ...common.atomic import is_part, named


def check_new(folder: Path) -> None:
    """Check that a folder does not exist or is empty, but for what a killed process was writing.

    Raises
    ------
    FileExistsError
        It is not empty.
    OSError
        It cannot be read.
    """
    try:
        is_new = not folder.exists() or all(is_part(path.name) for path in folder.iterdir())
    except OSError as error:
        raise named(error, folder) from error
    if not is_new:
        raise FileExistsError(f"{folder} is not empty: choose another folder, or continue its recording (--resume)")


def remove_parts(folder: Path) -> None:
    """Remove what a killed process was writing."""
    for path in folder.iterdir():
        if is_part(path.name):
            path.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder, and those it is in."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise named(error, folder) from error


def lock_folder(folder: Path) -> contextlib.ExitStack:
    """Keep other processes from recording into a folder until the lock is closed, where the system can do that."""
    lock = contextlib.ExitStack()
    if os.name != "posix":
        return lock
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    lock.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise ValueError(f"another process is recording into {folder}") from None
    except OSError:
        pass  # some network drives have no locks
    return lock
