"""A recording made in pieces, each without the others, and joined into the files that one run would have written.

What makes that exact: pieces begin where the preview begins a new part (:data:`PREVIEW_PART`), the depth video consists
of key frames, and files are named by the number of the frame.  A frame that is lost shifts everything after it, so a
recording that turns out to be damaged cannot be joined (:class:`NotJoinable`) and is made in one piece.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...matching.matcher import StereoMatcher
from ..opened_source import frame_at
from ..stream.depth_stream import DepthStream
from .frame_log import FRAME_LOG, FrameLog, FrameRecord, read_frame_log
from .inventory import RIG_FILE
from .manifest import read_manifest
from .outputs import COUNT, OUTPUTS, Earlier, RecordingPlan
from .picture_warnings import FIRST_CHECKS, PictureWarnings, joined_entries
from .preview_video import PREVIEW_PART
from .recording import Recording, manifest_of, outputs_of
from .run_request import PreparedRun

OVERLAP = 10  # frames before a piece that are matched for the memory of its first one; docs/cluster.md: what 1 does


class NotJoinable(ValueError):
    """Pieces that do not add up to what one run would have recorded."""


@dataclass(frozen=True)
class Piece:
    """Some of the frames of a recording.

    Attributes
    ----------
    number : int
        From 0.
    first : int
        Number of its first frame in the source.
    end : int or None
        Number of the frame after it; None for the last piece.
    first_s : float
        Time of the first frame of the whole recording.
    """

    number: int
    first: int
    end: int | None
    first_s: float


def cut(run: PreparedRun, piece_frames: int) -> list[Piece]:
    """Cut a run into pieces of equal length; the pieces do not depend on who makes them.

    Parameters
    ----------
    run : PreparedRun
        With the range of the preview's colours, if it has a preview.
    piece_frames : int
        Recorded frames of a piece; a multiple of :data:`PREVIEW_PART`.

    Returns
    -------
    list of Piece
        One piece if the source cannot be cut, as its length is not known or it cannot jump to a time, or if an output
        cannot be joined.

    Examples
    --------
    >>> from bdis.video.opened_source import SourceRequest
    >>> from bdis.video.recording.run_request import RunRequest
    >>> request = RunRequest(SourceRequest("render:plane,frames=60,height=32,width=48"), save=("depth",))
    >>> [(piece.first, piece.end) for piece in cut(request.prepare(), 25)]
    [(0, 25), (25, 50), (50, None)]
    """
    if piece_frames < 1 or piece_frames % PREVIEW_PART:
        raise ValueError(f"a piece of {piece_frames} frames; expected a multiple of {PREVIEW_PART}")
    source, plan = run.opened.source, run.plan
    first = frame_at(source, run.start_s, run.opened.first)
    adapts = "preview" in plan.save and plan.near_far is None and plan.clip_range is None
    is_joined = all(OUTPUTS[name].can_be_joined for name in plan.save)
    total = None if adapts or not is_joined or source.is_live or not source.seeks_quickly else run.total
    begins = range(0, total or 1, piece_frames)
    firsts = [first.index + begin * run.request.every for begin in begins]
    return [
        Piece(number, begin, end, first.time_s) for number, (begin, end) in enumerate(zip(firsts, [*firsts[1:], None]))
    ]


def record_piece(
    run: PreparedRun, piece: Piece, matcher: StereoMatcher, folder: Path, report: Callable[[str], None]
) -> int:
    """Record one piece into a folder of its own.

    Parameters
    ----------
    run : PreparedRun
        The whole run; its source is closed afterwards.
    piece : Piece
        Which frames.
    matcher : StereoMatcher
        With the settings of the run.
    folder : Path
        New or empty.
    report : callable
        Called with a sentence for every lost frame, and for every kind of warning about the pictures.

    Returns
    -------
    int
        Number of frames recorded.

    Raises
    ------
    OSError
        The disk is full, or the source cannot be read.
    ValueError
        The source cannot be matched.
    """
    source, every = run.opened.source, run.request.every
    overlap = OVERLAP * every if run.plan.remembers and piece.number else 0
    start_s = source.time_of(piece.first - overlap) if piece.number else run.start_s
    stop_s = run.stop_s if piece.end is None else source.time_of(piece.end)
    # Nothing is kept for a resumption: a piece is made as a whole or again.
    plan = replace(run.plan, remembers=False, first_s=piece.first_s if piece.number else None)
    # The first frames of a clip are looked at closely, as those of one run are; three looks take as long as 40 frames.
    pictures = PictureWarnings(report, {}, FIRST_CHECKS if piece.number == 0 else 1)

    def report_of_piece(text: str) -> None:
        if piece.number == 0 or text not in source.warnings:  # what is true of all pieces is told once
            report(text)

    stream = DepthStream(
        source, matcher, run.opened.camera, start_s=start_s, stop_s=stop_s, every=every,
        video=run.request.average_frames, report=report_of_piece,
    )  # fmt: skip
    recording = None
    try:
        recording = Recording(folder, plan, run.about)
        recording.statistics = stream.statistics
        recording.remarks = lambda: {**pictures.entries(), **run.opened.all_remarks}
        for frame in stream:
            if frame.index >= piece.first:
                recording.add(frame)
                pictures.look_at(frame, recording)
    except BaseException as error:
        stream.close()
        pictures.close()
        if recording is not None:
            with contextlib.suppress(OSError):  # the first error is the one to report
                recording.close("failed", str(error) or type(error).__name__)
        raise
    pictures.close()
    recording.close("complete")
    return recording.frames


def join(
    run_plan: RecordingPlan, about: dict[str, Any], pieces: list[Piece], made: list[Path], folder: Path,
    joined: Path | None = None,
) -> int:  # fmt: skip
    """Join pieces into a recording, which is that of one run but for its measured times.

    Parameters
    ----------
    run_plan, about
        ``plan`` and ``about`` of the :class:`PreparedRun`.
    pieces : list of Piece
        All pieces, in order.
    made : list of Path
        Their folders; they stay as they are.
    folder : Path
        New or empty; files of single frames are linked into it where the file system can do that.
    joined : Path, optional
        Folder with the folders of outputs that :func:`join_output` has made, each named for its output: they are moved
        from there.  What is not there is joined here.

    Returns
    -------
    int
        Number of frames.

    Raises
    ------
    NotJoinable
        A piece does not have exactly its frames.
    ValueError
        A piece is of another source, or was made with other settings.
    OSError
        The disk is full.
    """
    manifests, logs = _read_pieces(run_plan, about, pieces, made)
    records = [record for log in logs for record in log]
    folder.mkdir(exist_ok=True)
    if run_plan.rig is not None:
        run_plan.rig.save(folder / RIG_FILE)
    entries: dict[str, Any] = {}
    for name in run_plan.save:
        if joined is None or not _move(joined / name / OUTPUTS[name].path, folder / OUTPUTS[name].path):
            _append(name, run_plan, made, logs, folder)
        if name in manifests[0]:
            entries[name] = _entry([manifest[name] for manifest in manifests])
    FrameLog(folder / FRAME_LOG, records).close()
    whole = manifest_of(folder, run_plan, about)
    before = 0
    for manifest, log in zip(manifests, logs):
        whole.content["parts"] += [{**part, "after_frames": before} for part in manifest["parts"]]
        before += len(log)
    whole.write(
        **entries, **joined_entries(manifests),
        **{name: manifests[0].get(name, []) for name in ("source_remarks", "calibration_remarks")},
        state="complete", frames=len(records), outputs=outputs_of(run_plan),
        lost=sum(manifest["lost"] for manifest in manifests),
    )  # fmt: skip
    return len(records)


def join_output(
    name: str, run_plan: RecordingPlan, about: dict[str, Any], pieces: list[Piece], made: list[Path], folder: Path
) -> None:
    """Join one output of the pieces, for :func:`join` to move; others may join other outputs meanwhile.

    Parameters
    ----------
    name : str
        Of the output.
    run_plan, about, pieces, made
        As in :func:`join`.
    folder : Path
        New or empty.

    Raises
    ------
    NotJoinable
        A piece does not have exactly its frames.
    ValueError
        A piece is of another source, or was made with other settings.
    OSError
        The disk is full.
    """
    _, logs = _read_pieces(run_plan, about, pieces, made)
    _append(name, run_plan, made, logs, folder)


def _read_pieces(
    plan: RecordingPlan, about: dict[str, Any], pieces: list[Piece], made: list[Path]
) -> tuple[list[dict[str, Any]], list[list[FrameRecord]]]:
    """Manifests and logs of pieces that fit together, else NotJoinable; ValueError if one is of another run."""
    manifests = [read_manifest(path) for path in made]
    for path, manifest in zip(made, manifests):  # source or calibration may have been replaced between two of them
        manifest_of(path, plan, about).continue_from(manifest)
    logs = [read_frame_log(path / FRAME_LOG) for path in made]
    for piece, manifest, records in zip(pieces, manifests, logs):
        _check(piece, manifest, records, about["every"])
    return manifests, logs


def _append(name: str, plan: RecordingPlan, made: list[Path], logs: list[list[FrameRecord]], folder: Path) -> None:
    """Append an output of all pieces to a new one in ``folder``."""
    output = OUTPUTS[name]
    writer = output.open(folder / output.path, plan, Earlier(first_s=logs[0][0].time_s))
    try:
        for path, log in zip(made, logs):
            writer.append(path / output.path, log)
            if output.is_video:
                _leave_cache(path / output.path)
    finally:
        writer.close()


def _leave_cache(path: Path) -> None:
    """Tell the system that a file is not read again soon, so that its memory serves the file that is being written.

    Otherwise both stay in memory, which is gigabytes for an hour of video, and other files must leave.
    """
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _move(source: Path, target: Path) -> bool:
    """Move what is there; False if nothing is, or another worker has moved it meanwhile."""
    try:
        os.rename(source, target)
    except FileNotFoundError:
        return False
    return True


def _check(piece: Piece, manifest: dict[str, Any], records: list[FrameRecord], every: int) -> None:
    """Raise NotJoinable if a piece shifts those after it, or is shifted itself."""
    indices = [record.index for record in records]
    if piece.end is None:  # nothing comes after it
        is_whole = bool(records) and records[0].index == piece.first and not records[0].lost_before
    else:
        is_whole = indices == list(range(piece.first, piece.end, every)) and not manifest["lost"]
    has_log = len(records) == manifest["frames"]
    if manifest["state"] != "complete" or not has_log or not is_whole or any(record.suspect for record in records):
        raise NotJoinable(
            f"piece {piece.number} has {len(records)} frames from {indices[0] if indices else 'nowhere'} on, "
            f"{manifest.get('lost', 0)} lost, {sum(record.suspect for record in records)} suspect"
        )


def _entry(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry of an output in the manifest: that of the first piece, but for what is counted."""
    counted = {COUNT: sum(entry[COUNT] for entry in entries)} if COUNT in entries[0] else {}
    return {**entries[0], **counted}
