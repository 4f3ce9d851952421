"""Recordings as futures of Dask, for programs and graphs of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..cameras.given_cameras import GivenCameras
from ..common.atomic import Place
from ..video.opened_source import SourceRequest
from ..video.recording.run_request import RunRequest
from . import steps
from .jobs import Job, find_sources, make_jobs
from .steps import Done, Outline

WHOLE = 25 * 10**9  # frames of a piece that no recording reaches


@dataclass(frozen=True)
class RecordingResult:
    """A recording that is complete.

    Attributes
    ----------
    name : str
        Of its source.
    folder : Path
        Where it is.
    frames : int
        How many it has.
    warnings : tuple of str
        What to know about it.
    """

    name: str
    folder: Path
    frames: int
    warnings: tuple[str, ...]


def map_recordings(
    client: Any,
    sources: Sequence[Place],
    out: Place,
    *,
    cameras: GivenCameras | None = None,
    piece_frames: int | None = None,
    **options: Any,
) -> list[Any]:
    """Record many sources on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
        Connected to workers that have the same version of bdis, and see the same files.
    sources : sequence of str or path
        As ``bdis batch run`` takes them: files, patterns, folders of videos, lists.
    out : path
        Folder for the recordings, each in a folder of its own; those that are complete already are kept.
    cameras : GivenCameras, optional
        Of all sources.  Default: what the sources know themselves.
    piece_frames : int, optional
        Cut recordings into pieces of so many frames (a multiple of 25), so that one uses many workers.  Then all
        sources are opened before this function returns.  Default: a recording is one task.
    **options
        Of :class:`bdis.video.opened_source.SourceRequest`: layout, squeezed, deinterlace, fps, topics, tolerance_ms;
        and of :class:`bdis.video.recording.run_request.RunRequest`: save, every, start, stop, preset, assignments,
        average_frames, max_depth_mm, near_far, steps_per_mm.

    Returns
    -------
    list of distributed.Future
        One for each recording, in order; the result of each is a RecordingResult, and it can be an argument of further
        tasks.

    Raises
    ------
    BadRequest
        There are no sources, one is given twice, or two would be written to the same folder.
    ValueError, OSError
        With ``piece_frames``: a source cannot be read.

    Examples
    --------
    >>> import distributed, tempfile
    >>> source = "render:plane,frames=3,height=48,width=64"
    >>> with (
    ...     tempfile.TemporaryDirectory() as out,
    ...     distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
    ...     distributed.Client(cluster) as client,
    ... ):
    ...     (future,) = map_recordings(client, [source], out, preset="fast", save=("depth",))
    ...     frames = client.submit(lambda recording: recording.frames, future)
    ...     future.result().name, frames.result()
    ('render-plane-frames-3-height-48-width-64', 3)
    """
    names = {each.name for each in fields(SourceRequest)}
    views = {name: options.pop(name) for name in names & options.keys()}
    requests = [
        RunRequest(SourceRequest(left, right, cameras=cameras or GivenCameras(), **views), **options)
        for left, right in find_sources([str(source) for source in sources])
    ]
    jobs = make_jobs(requests, Path(out), piece_frames or WHOLE)
    if piece_frames is None:
        return [client.submit(_whole, job, pure=False) for job in jobs]
    begun = client.gather([client.submit(steps.begin, job, pure=False) for job in jobs])
    return [_joined(client, job, done) for job, done in zip(jobs, begun)]


def _whole(job: Job) -> RecordingResult:
    return _result(job, steps.begin(job))


def _joined(client: Any, job: Job, done: Done) -> Any:
    """The future of a recording that was begun."""
    if done.outline is None:
        return client.submit(_result, job, done, pure=False)
    numbers = range(len(done.outline.pieces))
    pieces = [client.submit(steps.record, job, done.outline, number, pure=False) for number in numbers]
    videos = range(len(done.outline.videos))
    joined = [client.submit(_joined_video, job, done.outline, number, pieces, pure=False) for number in videos]
    return client.submit(_finished, job, done.outline, pieces, joined, pure=False)


def _joined_video(job: Job, outline: Outline, number: int, pieces: list[Done]) -> Done:
    return steps.join_video(job, outline, number)


def _finished(job: Job, outline: Outline, pieces: list[Done], joined: list[Done]) -> RecordingResult:
    warnings = tuple(text for piece in pieces for text in piece.warnings)
    done = steps.finish(job, outline)
    return _result(job, replace(done, warnings=warnings + done.warnings))


def _result(job: Job, done: Done) -> RecordingResult:
    return RecordingResult(job.name, job.folder, done.frames, done.warnings)
