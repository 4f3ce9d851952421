"""How the tests make one allocation or one write of bdis fail, and count how many there are."""

import builtins
import errno
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ALLOCATIONS = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "full_like")
SECTOR = 512  # bytes
_WRITES = set("wxa+")


class Failing:
    """Counts the calls that allocate or write, and lets some of them fail; only calls from the package itself count.

    Parameters
    ----------
    first : int
        Number of the first call that fails, from 1; 0 for none.
    forever : bool
        All later calls fail as well, as they do on a full disk.

    Attributes
    ----------
    calls : int
        How many there were.
    """

    def __init__(self, first: int = 0, forever: bool = False):
        self.calls, self._first, self._forever = 0, first, forever

    @property
    def has_failed(self) -> bool:
        return 0 < self._first <= self.calls

    def is_due(self) -> bool:
        self.calls += 1
        return self.calls == self._first or (self._forever and self.has_failed)

    @contextmanager
    def allocations(self, monkeypatch):
        """NumPy has no memory left."""
        with monkeypatch.context() as patch:
            for name in ALLOCATIONS:
                patch.setattr(np, name, self._guarded(getattr(np, name), _no_memory))
            yield self

    @contextmanager
    def writes(self, monkeypatch):
        """Folders, files and what is written to them find no space.

        A single renaming may fail too; on a disk that stays full, files can still be renamed.
        """
        with monkeypatch.context() as patch:
            opened = builtins.open

            def open_(file, mode="r", *rest, **options):
                if not (_WRITES & set(mode) and _is_ours(sys._getframe(1))):
                    return opened(file, mode, *rest, **options)
                if self.is_due():
                    raise _no_space(file)
                return _File(opened(file, mode, *rest, **options), self)

            patch.setattr(builtins, "open", open_)
            patch.setattr(os, "fsync", self._guarded(os.fsync, _no_space))
            if not self._forever:
                patch.setattr(os, "replace", self._guarded(os.replace, _no_space))
            patch.setattr(Path, "mkdir", self._guarded(Path.mkdir, _no_space))
            yield self

    def _guarded(self, call, error):
        def guarded(*arguments, **options):
            if _is_ours(sys._getframe(1)) and self.is_due():
                raise error(*arguments)
            return call(*arguments, **options)

        return guarded


class _File:
    """An open file whose writes may fail.

    A write that fails has written a half, as on a disk that becomes full, unless it is smaller than a sector.
    """

    def __init__(self, file, failing):
        self._file, self._failing = file, failing

    def write(self, content):
        if self._failing.is_due():
            if len(content) > SECTOR:
                self._file.write(content[: len(content) // 2])
            raise _no_space()
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)


def _is_ours(frame) -> bool:
    return frame.f_globals.get("__name__", "").startswith("bdis.")


def _no_memory(*arguments) -> MemoryError:
    return MemoryError()


def _no_space(*arguments) -> OSError:
    named = [os.fspath(place) for place in arguments[:1] if isinstance(place, str | os.PathLike)]
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *named)
