"""A file that grows frame by frame, and is cut to its last complete frame if one cannot be written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ...common.atomic import named


class GrowingFile:
    """A file to append to.  What was appended is on the disk, or in the care of the system, when ``append`` returns.

    Parameters
    ----------
    path : Path
        The file.
    keep : int
        Keep so many bytes of an existing file; 0 for a new one.

    Attributes
    ----------
    size : int
        Bytes that are complete.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(self, path: Path, keep: int = 0):
        self._path, self.size = path, keep
        self._has_failed = False
        self._file = open(path, "r+b" if keep else "wb", buffering=0)  # noqa: SIM115  # closed by close()
        self._file.truncate(keep)
        self._file.seek(keep)

    @property
    def is_closed(self) -> bool:
        return self._file.closed

    def append(self, *parts: bytes) -> None:
        """Add content, completely or not at all; after a failure the file is not changed any more.

        Raises
        ------
        OSError
            It cannot be written, for example because the disk is full.
        """
        if self._has_failed:
            return
        try:
            for part in parts:
                self._write(part)
        except BaseException as error:
            self._has_failed = True
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
            if isinstance(error, OSError):
                raise named(error, self._path) from error
            raise
        self.size += sum(map(len, parts))

    def replace(self, place: int, content: bytes) -> None:
        """Write over what is at a place."""
        if self._has_failed:
            return
        try:
            self._file.seek(place)
            self._write(content)
        except OSError as error:
            raise named(error, self._path) from error
        finally:
            self._file.seek(self.size)

    def close(self) -> None:
        self._file.close()

    def _write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]
