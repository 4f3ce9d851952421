"""What workers do: begin a recording, record a piece, join the pieces.  Nothing here knows of Dask.

Every step can be done again, by anyone, at any time: its result appears with one renaming of a folder, and whoever
comes second finds it there.  So a piece that two workers have done, as the first one was taken for dead, is in the
output once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..common.version import __version__
from ..matching.matcher import StereoMatcher
from ..matching.settings import Settings
from ..video.recording import FRAME_LOG, MANIFEST, is_complete, read_frame_log, read_manifest
from ..video.recording.outputs import OUTPUTS
from ..video.recording.pieces import NotJoinable, Piece, cut, join, join_output, record_piece
from ..video.recording.recording import manifest_of
from ..video.recording.run_request import PreparedRun, RunRequest
from .freed_memory import keep_freed_memory
from .jobs import Job
from .machine_lock import one_of_this_machine
from .sizes import sizes_of, state_of_source

ATTEMPT = "attempt-"
SEEN_WITHIN_S = 60.0  # what one machine has written, others see on a network drive: they may remember for so long
LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class Outline:
    """How a recording is made.

    Attributes
    ----------
    pieces : tuple of Piece
        Its pieces.
    clip_range : (float, float) or None
        Range of the preview's colours.
    videos : tuple of str
        Outputs that take long to join, and can be joined side by side.
    """

    pieces: tuple[Piece, ...]
    clip_range: tuple[float, float] | None
    videos: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """What a step has done.

    Attributes
    ----------
    frames : int
        Frames recorded or joined.
    seconds : float
        Time that it took.
    host : str
        Name of the machine.
    outline : Outline or None
        What remains to be done; None if the recording is complete.
    warnings : tuple of str
        What the user should know.
    sizes : dict or None
        Of a recording that is complete, see :func:`bdis.cluster.sizes.sizes_of`.
    """

    frames: int
    seconds: float
    host: str
    outline: Outline | None = None
    warnings: tuple[str, ...] = ()
    sizes: dict[str, Any] | None = None


def begin(job: Job) -> Done:
    """Open a recording and cut it; if it is one piece, record it at once.

    Parameters
    ----------
    job : Job
        The recording.

    Returns
    -------
    Done

    Raises
    ------
    ValueError, OSError
        The source cannot be read, or its folder holds something else.
    """
    start = time.perf_counter()
    warnings: list[str] = []
    run = _prepared(job.request, warnings.append)
    if run.opened.source.is_live:
        raise ValueError(f"{run.opened.source.name} is live: a batch is of recordings that have an end")
    if job.folder.exists() and any(job.folder.iterdir()):
        _check_finished(job, run)
        return _done(job, start)
    _remove_pieces_of_others(job, run)
    matcher = _matcher(run.settings)
    run.warm_up(matcher)
    run = run.with_clip_range(matcher)
    pieces = cut(run, job.piece_frames)
    if len(pieces) > 1:
        videos = tuple(name for name in run.plan.save if OUTPUTS[name].is_video)
        outline = Outline(tuple(pieces), run.plan.clip_range, videos)
        return Done(0, _since(start), socket.gethostname(), outline, tuple(warnings))
    _record(job, run, pieces[0], job.folder, warnings.append)
    _remove(job.work)
    return _done(job, start, warnings)


def record(job: Job, outline: Outline, number: int) -> Done:
    """Record a piece, unless it is there already.

    Parameters
    ----------
    job : Job
        The recording.
    outline : Outline
        What :func:`begin` made of it.
    number : int
        Of the piece.

    Returns
    -------
    Done
    """
    start = time.perf_counter()
    warnings: list[str] = []
    target = _piece_folder(job, number)
    if not target.exists() and not job.folder.exists():
        run = _of_outline(_prepared(job.request, lambda text: None), outline)
        _record(job, run, outline.pieces[number], target, warnings.append)
    frames = len(read_frame_log(target / FRAME_LOG)) if target.exists() else 0
    return Done(frames, _since(start), socket.gethostname(), warnings=tuple(warnings))


def join_video(job: Job, outline: Outline, number: int) -> Done:
    """Join one of the videos of a recording, unless it is there already or the pieces do not fit together.

    Parameters
    ----------
    job : Job
        The recording.
    outline : Outline
        What :func:`begin` made of it.
    number : int
        Of the video.

    Returns
    -------
    Done
    """
    start, name = time.perf_counter(), outline.videos[number]
    target = _joined_folder(job) / name
    if not target.exists() and not job.folder.exists():
        run = _of_outline(_prepared(job.request, lambda text: None), outline)
        made = _piece_folders(job, outline)
        with contextlib.suppress(NotJoinable), _for_others(job.folder):  # `finish` finds it out too, and what to do
            _wait_for(made, job.folder)
            target.parent.mkdir(exist_ok=True)
            with _attempt(job, target, OUTPUTS[name].path) as folder:
                join_output(name, run.plan, run.about, list(outline.pieces), made, folder)
    return Done(0, _since(start), socket.gethostname())


def finish(job: Job, outline: Outline) -> Done:
    """Join the pieces of a recording; if they do not fit together, record it anew in one piece.

    Parameters
    ----------
    job : Job
        The recording.
    outline : Outline
        What :func:`begin` made of it.

    Returns
    -------
    Done
    """
    start = time.perf_counter()
    warnings: list[str] = []
    if not job.folder.exists():
        run = _of_outline(_prepared(job.request, lambda text: None), outline)
        made = _piece_folders(job, outline)
        try:
            with _for_others(job.folder):
                _wait_for(made, job.folder)
                with _attempt(job, job.folder) as folder:
                    join(run.plan, run.about, list(outline.pieces), made, folder, _joined_folder(job))
        except NotJoinable as error:
            warnings.append(f"it was recorded in one piece, as frames are lost or damaged: {error}")
            whole = replace(outline.pieces[0], end=None)
            _record(job, run, whole, job.folder, warnings.append)
    _remove(job.work)
    return _done(job, start, warnings)


def worker_facts(visible: str) -> dict[str, Any]:
    """What a client must know of a worker before it is given work.

    Parameters
    ----------
    visible : str
        A file that the client has just written.

    Returns
    -------
    dict of str to object
        "bdis" (version), "host" and "sees" (whether the file is there).

    Examples
    --------
    >>> worker_facts("/no/such/file")["sees"]
    False
    """
    return {"bdis": __version__, "host": socket.gethostname(), "sees": os.path.exists(visible)}


def warm_up(settings: Settings) -> str:
    """Compile the kernels of a matcher, if no other process of this machine has; the name of the machine is returned.

    Examples
    --------
    >>> from bdis import PRESETS
    >>> warm_up(PRESETS["fast"]) == socket.gethostname()
    True
    """
    _matcher(settings)
    return socket.gethostname()


# --- The parts of a step ----------------------------------------------------------------------------------------------


class _Kept(threading.local):
    """What a thread of a worker keeps of its last step: pieces of one recording often follow each other.

    Of each thread its own, as workers may have several, and neither a source nor a matcher can be shared.
    """

    run: tuple[tuple[RunRequest, Any], PreparedRun] | None = None
    matcher: tuple[Settings, StereoMatcher] | None = None


_kept = _Kept()


def _prepared(request: RunRequest, warn: Callable[[str], None]) -> PreparedRun:
    key = request, state_of_source(request.source)  # workers may outlive a batch, and files be replaced before the next
    if _kept.run is None or _kept.run[0] != key:
        _kept.run = None
        _kept.run = key, request.prepare(warn=warn)
    return _kept.run[1]


def _check_finished(job: Job, run: PreparedRun) -> None:
    """Raise ValueError or FileExistsError unless the folder of a recording has it, complete and of this source."""
    if not (job.folder / MANIFEST).is_file():
        raise FileExistsError(f"{job.folder} is not empty, and is not a recording that this batch has finished")
    if not is_complete(job.folder, run.plan, run.about, has_content=False):
        raise ValueError(
            f"{job.folder} no longer has all that was recorded: bdis run with the same options and --resume makes "
            "what is missing again; or remove the folder, and the same command records it again"
        )


def _remove_pieces_of_others(job: Job, run: PreparedRun) -> None:
    """Remove what was begun of another source, which has been replaced: its pieces would be joined with others."""
    for path in job.work.glob("piece-*"):
        if not (path / MANIFEST).is_file():
            continue  # just recorded elsewhere, and not seen here yet
        try:
            manifest_of(path, run.plan, run.about).continue_from(read_manifest(path))
        except ValueError:
            _remove(job.work)
            return


def _done(job: Job, start: float, warnings: Sequence[str] = ()) -> Done:
    """What a step says that has left the recording complete."""
    frames = int(read_manifest(job.folder)["frames"])
    return Done(frames, _since(start), socket.gethostname(), warnings=tuple(warnings), sizes=sizes_of(job))


def _of_outline(run: PreparedRun, outline: Outline) -> PreparedRun:
    return replace(run, plan=replace(run.plan, clip_range=outline.clip_range))


def _matcher(settings: Settings) -> StereoMatcher:
    """A matcher whose kernels are compiled: by one process of this machine, while the others wait."""
    if _kept.matcher is None or _kept.matcher[0] != settings:
        keep_freed_memory()
        matcher = StereoMatcher(settings)
        left, right = np.random.default_rng(0).integers(0, 255, (2, 64, 96), np.uint8)
        with one_of_this_machine():
            matcher.match(left, right, previous=matcher.match(left, right))
        _kept.matcher = settings, matcher
    return _kept.matcher[1]


def _record(job: Job, run: PreparedRun, piece: Piece, target: Path, report: Callable[[str], None]) -> int:
    with _attempt(job, target) as folder:
        return record_piece(run, piece, _matcher(run.settings), folder, report)


@contextlib.contextmanager
def _for_others(joined: Path) -> Iterator[None]:
    """Context manager in which files may vanish, as another worker has joined them to ``joined`` meanwhile."""
    try:
        yield
    except FileNotFoundError:
        if not joined.exists():
            raise


@contextlib.contextmanager
def _attempt(job: Job, target: Path, sign: str = MANIFEST) -> Iterator[Path]:
    """A folder to write to, which becomes ``target`` if all goes well, unless another worker was faster.

    ``sign`` is a file of it, by which what another worker has made is recognised.
    """
    folder = job.work / f"{ATTEMPT}{secrets.token_hex(8)}"
    folder.mkdir(parents=True)
    try:
        yield folder
        try:
            os.rename(folder, target)
        except OSError:
            if not (target / sign).is_file():
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(made: list[Path], joined: Path) -> None:
    """Wait until pieces that others have made can be seen here, unless they are joined meanwhile."""
    end = time.monotonic() + SEEN_WITHIN_S
    while not joined.exists():
        lacking = [path for path in made if not (path / MANIFEST).is_file()]
        if not lacking:
            return
        if time.monotonic() > end:
            raise FileNotFoundError(
                2, "recorded, but not seen here: do all machines share this folder?", str(lacking[0])
            )
        time.sleep(LOOK_EVERY_S)


def _piece_folder(job: Job, number: int) -> Path:
    return job.work / f"piece-{number:05d}"


def _piece_folders(job: Job, outline: Outline) -> list[Path]:
    return [_piece_folder(job, number) for number in range(len(outline.pieces))]


def _joined_folder(job: Job) -> Path:
    return job.work / "joined"


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _since(start: float) -> float:
    return time.perf_counter() - start
