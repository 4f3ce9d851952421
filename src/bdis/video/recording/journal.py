"""What is done: a line per frame, written when the frame is safe in all outputs."""

from __future__ import annotations

import contextlib
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from ...common.atomic import Place, named, write_whole

JOURNAL = "frames.csv"


@dataclass(frozen=True)
class FrameRecord:
    """A frame that is done.

    Attributes
    ----------
    index, time_s : of the source's frame
    read_ms, rectify_ms, match_ms, write_ms : what the steps took
    latency_ms : from when the source had it until it was delivered to be written
    coverage : share of pixels that are known
    suspect : 1 if it builds on a damaged frame of its video, else 0
    """

    index: int
    time_s: float
    read_ms: float
    rectify_ms: float
    match_ms: float
    write_ms: float
    latency_ms: float
    coverage: float
    suspect: int = 0


_NAMES = [field.name for field in fields(FrameRecord)]


class Journal:
    """Records, each handed to the system when :meth:`add` returns: whatever ends the process, it is there.

    Parameters
    ----------
    path : the file
    keep : what it begins with; all else that is in it goes

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(f"{folder}/frames.csv")
    ...     journal.add(FrameRecord(7, 0.28, 2, 0, 5, 1, 9, 0.9))
    ...     journal.close()
    ...     [record.index for record in read_journal(f"{folder}/frames.csv")]
    [7]
    """

    def __init__(self, path: Place, keep: list[FrameRecord] | None = None):
        self._path = Path(path)
        write_whole(path, "".join([_line(_NAMES), *(_line(_texts(record)) for record in keep or [])]).encode())
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # closed by close()

    def add(self, record: FrameRecord) -> None:
        """Keep a record.

        Raises
        ------
        OSError
            It cannot be written; then the file is as it was.
        """
        line, before = _line(_texts(record)).encode(), self._file.tell()
        try:
            written = self._file.write(line)
            while written < len(line):  # the rest, or what is wrong with it
                written += self._file.write(line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise named(error, self._path) from error

    def close(self) -> None:
        self._file.close()


def read_journal(path: Place) -> list[FrameRecord]:
    """All records; a line that was cut short ends them.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not such a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Journal(f"{folder}/frames.csv", [FrameRecord(0, 0.0, 2, 0, 5, 1, 9, 0.9)]).close()
    ...     read_journal(f"{folder}/frames.csv")[0].match_ms
    5.0
    """
    header, _, body = Path(path).read_text().partition("\n")
    if header.split(",") != _NAMES:
        raise ValueError(f"{path} begins with {header[:60]!r}; expected {','.join(_NAMES)}")
    records = []
    for line in body.splitlines(keepends=True):
        parts = line.rstrip("\n").split(",")
        if not line.endswith("\n") or len(parts) != len(_NAMES):
            break
        numbers: dict[str, Any] = dict(zip(_NAMES, map(float, parts)))
        records.append(FrameRecord(**{**numbers, "index": int(parts[0]), "suspect": int(parts[-1])}))
    return records


def _texts(record: FrameRecord) -> list[str]:
    index, time_s, *times, coverage, suspect = astuple(record)
    texts = [f"{value:.3f}" for value in times]
    return [str(index), repr(float(time_s)), *texts, f"{coverage:.4f}", str(suspect)]


def _line(texts: list[str]) -> str:
    return ",".join(texts) + "\n"
