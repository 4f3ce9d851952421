"""The log of a recording: one line per frame, written when the frame is complete in all outputs."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ...common.atomic import Place, named, write_whole
from ...common.reading import MAX_TEXT_BYTES, read_text
from .manifest import finished_frames_in

FRAME_LOG = "frames.csv"
REPAIRS = "bdis run --resume repairs it"


@dataclass(frozen=True)
class FrameRecord:
    """A frame that is complete in all outputs.

    Attributes
    ----------
    index : int
        Number of the frame in its source.
    time_s : float
        Its time in the source, seconds.
    read_ms, rectify_ms, match_ms, write_ms : float
        Time that each step took.
    latency_ms : float
        Time from when the source had the frame until writing began.
    coverage : float
        Share of known pixels, 0 to 1.
    suspect : int
        1 if it was decoded from a damaged frame of its video, else 0.
    lost_before : int
        Frames that were damaged or missing since the one before it.
    file_bytes : int
        Size of all its files together; 0 if it has none of its own.
    file_crc32 : int
        CRC-32 of their content, one after the other as in ``--save``; 0 if it has none, or an earlier version wrote it.
    line : int
        Number of its line in the log, from 1, by which it is seen that others are missing: :class:`FrameLog` counts
        them.  0 if an earlier version wrote it.
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
    lost_before: int = 0
    file_bytes: int = 0
    file_crc32: int = 0
    line: int = field(default=0, compare=False)


_NAMES = [each.name for each in fields(FrameRecord)]
_EARLIER_NAMES = _NAMES[:-4], _NAMES[:-2], _NAMES[:-1]  # of earlier versions
_INTEGERS = ("index", "suspect", "lost_before", "file_bytes", "file_crc32", "line")


class FrameLog:
    """Writes the log of frames.  A record is in the file when :meth:`add` returns, even if the process is killed.

    Parameters
    ----------
    path : path
        The file; what it contained is replaced.
    keep : list of FrameRecord, optional
        Records to begin with.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = FrameLog(f"{folder}/frames.csv")
    ...     log.add(FrameRecord(7, 0.28, 2, 0, 5, 1, 9, 0.9))
    ...     log.close()
    ...     [record.index for record in read_frame_log(f"{folder}/frames.csv")]
    [7]
    """

    def __init__(self, path: Place, keep: list[FrameRecord] | None = None):
        self._path, self._lines = Path(path), len(keep or [])
        kept = (replace(record, line=number) for number, record in enumerate(keep or [], 1))
        write_whole(path, "".join([_line(_NAMES), *(_line(_texts(record)) for record in kept)]).encode())
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # closed by close()

    def add(self, record: FrameRecord) -> None:
        """Append a record.

        Raises
        ------
        OSError
            The record cannot be written; the file stays as it was.
        """
        numbered = replace(record, line=self._lines + 1)
        line, before = _line(_texts(numbered)).encode(), self._file.tell()
        try:
            written = self._file.write(line)
            while written < len(line):  # a second attempt writes the rest, or raises the error
                written += self._file.write(line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise named(error, self._path) from error
        self._lines += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_frame_log(path: Place) -> list[FrameRecord]:
    """Read the log of a recording.

    Parameters
    ----------
    path : path
        ``frames.csv`` of a recording.

    Returns
    -------
    list of FrameRecord
        All records up to the first incomplete line.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not the log of a recording.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FrameLog(f"{folder}/frames.csv", [FrameRecord(0, 0.0, 2, 0, 5, 1, 9, 0.9)]).close()
    ...     read_frame_log(f"{folder}/frames.csv")[0].match_ms
    5.0
    """
    header, *lines = read_text(path, MAX_TEXT_BYTES).replace("\r\n", "\n").split("\n")
    names = header.split(",")
    if names not in (_NAMES, *_EARLIER_NAMES):
        raise ValueError(f"{path} begins with {header[:60]!r}; expected {','.join(_NAMES)}")
    records = []
    for number, line in enumerate(lines[:-1], 2):  # what follows the last line feed is not complete
        parts = line.split(",")
        if len(parts) != len(names):
            break
        try:
            records.append(_record(names, parts))
        except ValueError:
            raise ValueError(f"{path}, line {number}: {line[:60]!r} is not the record of a frame") from None
    return records


def read_ordered_log(path: Place) -> list[FrameRecord]:
    """Read the log of a recording whose videos are read by it: their n-th frame is that of the n-th record.

    If ``manifest.json`` lies beside it and says that the recording was finished, it must have as many frames.

    Parameters
    ----------
    path : path
        ``frames.csv`` of a recording.

    Returns
    -------
    list of FrameRecord
        As of :func:`read_frame_log`.

    Raises
    ------
    OSError, ValueError
        As :func:`read_frame_log`; or a frame is there more than once, not in its place, or missing.
    """
    records = read_frame_log(path)
    finished = finished_frames_in(Path(path).parent)
    for before, record in itertools.pairwise(records):
        if record.index <= before.index:
            raise ValueError(
                f"{path} does not list each frame once and in order: {record.index} follows {before.index}; {REPAIRS}"
            )
    if finished is not None and finished != len(records):
        raise ValueError(f"{path} has {len(records)} lines, and the recording {finished} frames; {REPAIRS}")
    if (gap := gap_by_lines(records)) is not None:
        raise ValueError(f"{path} lacks lines: the {gap + 1}. one is number {records[gap].line}; {REPAIRS}")
    return records


def gap_by_lines(records: Sequence[FrameRecord]) -> int | None:
    """How many records come before the first missing one, by the numbers of their lines.

    Returns
    -------
    int or None
        None if none is missing, or only at the end.

    Examples
    --------
    >>> gap_by_lines([FrameRecord(7 + n, n / 25, 2, 0, 5, 1, 9, 0.9, line=n) for n in (1, 2, 4)])
    2
    """
    return next((place for place, record in enumerate(records) if record.line not in (0, place + 1)), None)


def replace_records(path: Place, changed: dict[int, FrameRecord | None]) -> None:
    """Put other records in the places of those of the same frames; the log is written as a whole, or not at all.

    Parameters
    ----------
    path : path
        The log.
    changed : dict of int to (FrameRecord or None)
        By the number of the frame; None to take its record out.

    Raises
    ------
    OSError, ValueError
        As :func:`read_frame_log`; or it cannot be written, and stays as it was.
    """
    if changed:
        records = (changed.get(record.index, record) for record in read_frame_log(path))
        FrameLog(path, [record for record in records if record is not None]).close()


def _record(names: list[str], parts: list[str]) -> FrameRecord:
    values: dict[str, Any] = {name: int(part) if name in _INTEGERS else float(part) for name, part in zip(names, parts)}
    record = FrameRecord(**values)
    if record.index < 0 or not math.isfinite(record.time_s):
        raise ValueError
    return record


def _texts(record: FrameRecord) -> list[str]:
    """The fields of a record as text; the time keeps all digits, so that it is read back exactly."""
    index, time_s, *times, coverage, suspect, lost_before, file_bytes, file_crc32, line = astuple(record)
    texts = [*(f"{value:.3f}" for value in times), f"{coverage:.4f}"]
    return [str(index), repr(float(time_s)), *texts, *map(str, (suspect, lost_before, file_bytes, file_crc32, line))]


def _line(texts: list[str]) -> str:
    return ",".join(texts) + "\n"
