"""The journal of a batch: what was asked for, and a line of JSON for every step that has ended.

The files are what counts: a recording is complete if its folder is.  The journal says so without opening each of them,
and tells other terminals how far a batch is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..common.atomic import named, write_whole
from ..common.json_text import json_ready, json_text
from ..common.reading import MAX_TEXT_BYTES, load_json, parse_json, read_limited
from ..video.recording.manifest import MANIFEST
from ..video.recording.recording_folder import lock_folder, make_folder
from .jobs import PIECES, WORK_FOLDER

PLAN, JOURNAL, BENCH = "batch.json", "journal.jsonl", "bench.json"
REPORT = "report.html"  # what a benchmark writes when it has ended
FORMAT = "bdis-batch"
CALIBRATION = "calib_sha256"  # the option that is told in words; journals of earlier versions do not have it


@dataclass
class RecordingState:
    """How far a recording is.

    Attributes
    ----------
    state : {"waiting", "working", "done", "failed"}
        Where it stands.
    pieces, pieces_done : int
        Number of its pieces, once it is opened, and how many are recorded.
    frames : int
        Frames recorded.
    reason : str
        Why it failed.
    warnings : list of str
        What the user should know.
    """

    state: str = "waiting"
    pieces: int = 1
    pieces_done: int = 0
    frames: int = 0
    reason: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Part of its work that has ended, 0 to 1."""
        return 1.0 if self.state in ("done", "failed") else min(1.0, self.pieces_done / (self.pieces + 1))

    def take(self, event: dict[str, Any]) -> None:
        """Follow an event of the journal."""
        kind = event.get("event")
        self.warnings += [str(text) for text in event.get("warnings", [])]
        if kind == "begun":
            self.state, self.pieces, self.pieces_done, self.frames = "working", _count(event, "pieces"), 0, 0
        elif kind == "piece":
            self.state, self.pieces_done = "working", self.pieces_done + 1
            self.frames += _count(event, "frames")
        elif kind == "done":
            self.state, self.frames, self.reason = "done", _count(event, "frames"), ""
        elif kind == "failed":
            self.state, self.reason = "failed", str(event["reason"])


def _count(event: dict[str, Any], name: str) -> int:
    """A number of things in an event; ValueError if it is none."""
    value = event[name]
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is {value!r}; expected a number from 0 on")
    return value


class Journal:
    """Journal of the batch in a folder; one process at a time may have it.

    Parameters
    ----------
    out : Path
        Folder of the batch; made if it does not exist.
    options : dict
        What was asked for; a batch can only be continued with the same.
    names : iterable of str
        Names of the recordings.
    sizes_of : callable, optional
        Given a name, says the sizes of the recording and its source now, as "sizes" of the event "done" said them.  A
        recording with others, or without any in its journal, counts as waiting: whoever begins it verifies it.
        Default: a recording that has a manifest is as it was.

    Attributes
    ----------
    states : dict of str to RecordingState
        By recording, as the journal of earlier runs says.

    Raises
    ------
    ValueError
        The folder has a batch with other options, or another process is at work in it.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder), {"preset": "fast"}, ["a", "b"]) as journal:
    ...         event = journal.add("a", "done", frames=12)
    ...     summary = read_status(Path(folder))
    >>> summary["recordings"]["a"].state, summary["recordings"]["b"].state, summary["is_running"]
    ('done', 'waiting', False)
    """

    def __init__(
        self,
        out: Path,
        options: dict[str, Any],
        names: Iterable[str],
        sizes_of: Callable[[str], dict[str, Any]] | None = None,
    ):
        self._folder = out / WORK_FOLDER
        make_folder(self._folder)
        self._lock = lock_folder(self._folder)
        try:
            self._check_options(out, json_ready(options))
            kept = _read_events(self._folder / JOURNAL)
            self.states = {name: RecordingState() for name in names}
            for event in kept:
                if event["recording"] in self.states:
                    self.states[event["recording"]].take(event)
            sizes = {event["recording"]: event.get("sizes") for event in kept if event["event"] == "done"}
            for name, state in self.states.items():
                is_there = state.state == "done" and (out / name / MANIFEST).is_file()
                if not is_there or (sizes_of is not None and json_ready(sizes_of(name)) != sizes[name]):
                    self.states[name] = RecordingState()
            # What is not done begins anew: pieces that are there are found.
            finished = [event for event in kept if event["event"] == "done" and self._is_done(event["recording"])]
            write_whole(self._folder / JOURNAL, "".join(map(_line, finished)).encode())
            content = {"format": FORMAT, "options": json_ready(options), "recordings": list(self.states)}
            write_whole(self._folder / PLAN, f"{json_text(content)}\n".encode())
            self._file = open(self._folder / JOURNAL, "ab", buffering=0)  # noqa: SIM115  # closed by close()
        except BaseException:
            self._lock.close()
            raise

    def _is_done(self, name: str) -> bool:
        return name not in self.states or self.states[name].state == "done"

    def _check_options(self, out: Path, options: dict[str, Any]) -> None:
        path = self._folder / PLAN
        if not path.is_file():
            return
        before = _read_plan(path)["options"]
        changed = [
            "the content of the calibration file has changed"
            if name == CALIBRATION
            else f"{name} was {before.get(name)!r}, now {options.get(name)!r}"
            for name in dict.fromkeys([*before, *options])
            if before.get(name) != options.get(name) and (name in before or name != CALIBRATION)
        ]
        if changed:
            raise ValueError(f"the batch in {out} cannot be continued: {'; '.join(changed)}; choose another -o")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._lock.close()

    def add(self, name: str, event: str, **facts: Any) -> dict[str, Any]:
        """Write down that something happened to a recording; what was written is returned.

        Raises
        ------
        OSError
            The disk is full.
        """
        happened = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"), "recording": name, "event": event,
            **json_ready(facts),
        }  # fmt: skip
        self.states[name].take(happened)
        try:
            self._file.write(_line(happened).encode())
        except OSError as error:
            raise named(error, self._folder / JOURNAL) from error
        return happened


def read_status(out: Path) -> dict[str, Any]:
    """How far the batch in a folder is.

    Parameters
    ----------
    out : Path
        Folder of the batch.

    Returns
    -------
    dict of str to object
        "is_running", "recordings" (dict of str to RecordingState), and "since" and "until", the times of the first and
        the last line of the journal, or None.

    Raises
    ------
    ValueError
        There is no batch.
    """
    folder = out / WORK_FOLDER
    if not (folder / PLAN).is_file():
        raise ValueError(f"{out} is not the folder of a batch: no {WORK_FOLDER}/{PLAN}")
    names = _read_plan(folder / PLAN)["recordings"]
    states = {str(name): RecordingState() for name in names}
    events = _read_events(folder / JOURNAL)
    for event in events:
        if event["recording"] in states:
            states[event["recording"]].take(event)
    times = [event["at"] for event in events if isinstance(event.get("at"), str)]
    is_running = _is_running(folder)
    if is_running and (folder / PIECES).is_dir():
        for begun in (folder / PIECES).iterdir():  # what is one piece is in the journal only when it is done
            if begun.name in states and states[begun.name].state == "waiting":
                states[begun.name].state = "working"
    return {
        "is_running": is_running,
        "recordings": states,
        "since": times[0] if times else None,
        "until": times[-1] if times else None,
    }


class BenchProgress:
    """How far a benchmark is, for other terminals; one process at a time may have its folder.

    Parameters
    ----------
    out : Path
        Folder of the benchmark; made if it does not exist.

    Raises
    ------
    ValueError
        Another process is at work in it.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with BenchProgress(Path(folder)) as progress:
    ...         progress.tell("accuracy", 3, 6)
    ...     read_bench_progress(Path(folder))
    {'part': 'accuracy', 'done': 3, 'total': 6, 'is_running': False, 'is_finished': False}
    """

    def __init__(self, out: Path):
        self._folder = out / WORK_FOLDER
        make_folder(self._folder)
        self._lock = lock_folder(self._folder)

    def __enter__(self) -> BenchProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def tell(self, part: str, done: int, total: int) -> None:
        """Note that so many of the frames of a part of the work are done."""
        write_whole(self._folder / BENCH, json_text({"part": part, "done": done, "total": total}).encode())


def read_bench_progress(out: Path) -> dict[str, Any] | None:
    """What :meth:`BenchProgress.tell` was told last, "is_running" and "is_finished"; None without a benchmark.

    Raises
    ------
    ValueError
        The file is damaged.
    """
    folder = out / WORK_FOLDER
    if not (folder / BENCH).is_file():
        return None
    found = load_json(folder / BENCH)
    if not isinstance(found, dict) or set(found) != {"part", "done", "total"}:
        raise ValueError(f"{folder / BENCH} is damaged")
    is_running, report = _is_running(folder), out / REPORT
    is_written = report.is_file() and report.stat().st_mtime >= (folder / BENCH).stat().st_mtime
    return {**found, "is_running": is_running, "is_finished": is_written and not is_running}


def _is_running(folder: Path) -> bool:
    """Whether a process is at work in a folder."""
    try:
        lock_folder(folder).close()
    except ValueError:
        return True
    return False


def _read_plan(path: Path) -> dict[str, Any]:
    content = load_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not the plan of a batch")
    if not isinstance(content.get("options"), dict) or not isinstance(content.get("recordings"), list):
        raise ValueError(f"{path} is damaged: options or recordings are missing")
    return content


def _read_events(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal; what a killed process left of a line is left out."""
    if not path.is_file():
        return []
    events = []
    for line in read_limited(path, MAX_TEXT_BYTES).decode("utf-8", "replace").split("\n"):
        try:
            event = parse_json(line)
            RecordingState().take(event)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if isinstance(event.get("recording"), str) and isinstance(event.get("event"), str):
            events.append(event)
    return events


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event) + "\n"
