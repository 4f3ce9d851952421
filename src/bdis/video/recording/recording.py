"""A recording: a folder with the chosen outputs of every frame, a log of the frames and a manifest."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...common.arrays import Array, size_text
from ...common.atomic import Place, named
from ..stream.depth_stream import DepthFrame
from ..stream.statistics import StreamStatistics
from .depth_video import MOST_STEPS
from .frame_log import FRAME_LOG, FrameLog, FrameRecord, read_frame_log
from .manifest import MANIFEST, Manifest, read_manifest
from .outputs import OUTPUTS, Earlier, RecordingPlan
from .video_file import count_readable_frames
from .writer import FrameWriter

RIG_FILE = "rig.toml"
MANIFEST_INTERVAL_S = 10.0
State = Literal["complete", "interrupted", "failed"]


class Recording:
    """Writes frames into a folder.  Whatever interrupts it, what was written before can be read and continued.

    Parameters
    ----------
    folder : path
        A new or empty folder, or that of a recording to continue.
    plan : RecordingPlan
        What to record.
    about : dict
        What else determines the results, such as the source and the settings; stored in the manifest, and compared
        when a recording is continued.
    resume : bool
        Continue the recording in ``folder``.

    Attributes
    ----------
    frames : int
        Number of complete frames.
    last : FrameRecord or None
        The last complete frame.
    coverage : float
        Share of known pixels of the last frame; pixels beyond ``max_depth_mm`` are unknown.
    statistics : callable, optional
        Called from time to time for the manifest; set it to ``DepthStream.statistics``.

    Raises
    ------
    FileExistsError
        The folder is not empty.
    ValueError
        There is no recording to continue, it was made with other settings, or another process is writing to it.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import bdis, tempfile
    >>> from bdis.video.sources import open_source
    >>> from bdis.video.stream.depth_stream import DepthStream
    >>> source = open_source("render:plane,frames=3,height=48,width=64")
    >>> plan = RecordingPlan(("depth", "video"), (48, 64), source.rig)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recording = Recording(folder, plan, {"source": source.name})
    ...     for frame in DepthStream(source, bdis.StereoMatcher("fast")):
    ...         recording.add(frame)
    ...     recording.close("complete")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['depth', 'depth.mkv', 'frames.csv', 'manifest.json', 'rig.toml']
    """

    def __init__(self, folder: Place, plan: RecordingPlan, about: dict[str, Any], *, resume: bool = False):
        self.folder, self.plan = Path(folder), plan
        self.statistics: Callable[[], StreamStatistics] | None = None
        self.coverage = float("nan")
        self._record: FrameRecord | None = None  # written but not logged: videos hold their last frame back
        self._manifest = _manifest(self.folder, plan, about)
        if not resume:
            check_new(self.folder)
            _make_folder(self.folder)
        earlier = read_manifest(self.folder) if resume else None
        self._lock = _lock_folder(self.folder)
        try:
            self._begin(earlier)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, earlier: dict[str, Any] | None) -> None:
        done: list[FrameRecord] = []
        if earlier is not None:
            self._manifest.continue_from(earlier)
            done = _complete_frames(self.folder, self.plan.save)
        self.frames, self.last = len(done), done[-1] if done else None
        self._manifest.begin_part(self.frames)  # before all else: from here on the recording can be continued
        self._open(done, earlier or {})
        self._background = ThreadPoolExecutor(1, "bdis_preview")
        self._written_entries = self._manifest_entries()
        self._manifest_due = time.monotonic() + MANIFEST_INTERVAL_S

    def _open(self, done: list[FrameRecord], earlier: dict[str, Any]) -> None:
        """Open all outputs and the log of frames; those that are open are closed again if one fails."""
        first_s = done[0].time_s if done else None
        self._writers: dict[str, FrameWriter] = {}
        try:
            if self.plan.rig is not None:
                self.plan.rig.save(self.folder / RIG_FILE)
            for name in self.plan.save:
                kept = Earlier(len(done), first_s, earlier.get(name) or {})
                output = OUTPUTS[name]
                self._writers[name] = output.open(self.folder / output.path, self.plan, kept)
            self._log = FrameLog(self.folder / FRAME_LOG, done)
        except BaseException:
            for writer in self._writers.values():
                writer.close()
            raise

    def add(self, frame: DepthFrame) -> None:
        """Write all outputs of a frame.

        Raises
        ------
        ValueError
            The frame has another size.
        OSError
            The frame cannot be written, for example because the disk is full; the frames before it are complete.
        """
        begin = time.perf_counter()
        if frame.left.shape[:2] != self.plan.shape:
            sizes = size_text(frame.left.shape), size_text(self.plan.shape)
            raise ValueError(f"frame {frame.index} is {sizes[0]}; the recording is of {sizes[1]}")
        depth = self._depth(frame)
        is_limited = depth is not None and self.plan.max_depth_mm is not None
        self.coverage = float(np.isfinite(depth).mean()) if is_limited else frame.result.coverage  # type: ignore[arg-type]
        try:
            self._write(frame, depth)
        except BaseException:
            self._record = None  # a video has held the frame before back until now, so that is incomplete as well
            raise
        took = time.perf_counter() - begin
        self._log_last()
        self._record = FrameRecord(
            frame.index, frame.time_s, 1e3 * frame.read_s, 1e3 * frame.rectify_s, 1e3 * frame.match_s, 1e3 * took,
            1e3 * (begin - frame.arrived_s), self.coverage, int(frame.is_suspect),
        )  # fmt: skip
        if not any(OUTPUTS[name].is_video for name in self.plan.save):
            self._log_last()
        # A changed entry, such as the range of the preview's colours, is needed to continue the recording.
        if time.monotonic() >= self._manifest_due or self._manifest_entries() != self._written_entries:
            self._write_manifest()

    def _write(self, frame: DepthFrame, depth: Array | None) -> None:
        writers = self._writers.values()
        in_background = [
            self._background.submit(writer.write, frame, depth) for writer in writers if writer.in_background
        ]
        try:
            for writer in writers:
                if not writer.in_background:
                    writer.write(frame, depth)
        finally:
            for task in in_background:
                task.result()

    def close(self, state: State, reason: str | None = None) -> None:
        """Write what is held back, close all files, and note in the manifest how the recording ended.

        Parameters
        ----------
        state : {"complete", "interrupted", "failed"}
            How it ended.
        reason : str, optional
            Why, for the manifest.

        Raises
        ------
        OSError
            Something cannot be written, for example because the disk is full.  All files are closed nevertheless, and
            can be read as far as they go.
        """
        errors: list[OSError] = []
        self._background.shutdown()
        for close in (*(writer.close for writer in self._writers.values()), self._log_last, self._log.close):
            # The last frame is complete only if all outputs could be closed.
            if errors and close == self._log_last:
                continue
            try:
                close()
            except OSError as error:
                errors.append(error)
        self._record = None  # if it could not be logged: after this error, the recording is closed a second time
        if errors and state == "complete":
            state, reason = "failed", str(errors[0])
        try:
            self._write_manifest(state=state, reason=reason)
        except OSError as error:
            errors.append(error)
        self._lock.close()
        if errors:
            raise errors[0]

    @property
    def too_far(self) -> int:
        """Number of pixels since the start or --resume that are farther than the depth video can represent."""
        return sum(writer.too_far for writer in self._writers.values())

    @property
    def most_depth_mm(self) -> float:
        """The largest depth that the depth video can represent."""
        return MOST_STEPS / self.plan.steps_per_mm

    def outputs(self) -> list[str]:
        """Names of the files and folders in the recording."""
        rig = [] if self.plan.rig is None else [RIG_FILE]
        return [*(OUTPUTS[name].path for name in self.plan.save), FRAME_LOG, *rig, MANIFEST]

    def _depth(self, frame: DepthFrame) -> Array | None:
        rig = self.plan.rig
        if rig is None or not any(OUTPUTS[name].uses_depth for name in self.plan.save):
            return None
        return rig.depth(frame.result, max_depth_mm=self.plan.max_depth_mm)

    def _log_last(self) -> None:
        if self._record is not None:
            self._log.add(self._record)
            self.frames, self.last = self.frames + 1, self._record
            self._record = None

    def _manifest_entries(self) -> dict[str, Any]:
        entries = {name: writer.manifest_entry() for name, writer in self._writers.items()}
        return {name: entry for name, entry in entries.items() if entry is not None}

    def _write_manifest(self, **changes: Any) -> None:
        # "figures" is the name of the statistics in the file format.
        statistics = {} if self.statistics is None else {"figures": asdict(self.statistics())}
        entries = self._manifest_entries()
        self._manifest.write(**changes, **statistics, **entries, frames=self.frames, outputs=self.outputs())
        self._written_entries = entries
        self._manifest_due = time.monotonic() + MANIFEST_INTERVAL_S


def is_complete(folder: Path, plan: RecordingPlan, about: dict[str, Any]) -> bool:
    """Whether a recording has all of its frames.

    Parameters
    ----------
    folder, plan, about
        As in :class:`Recording`.

    Returns
    -------
    bool
        True if there is nothing left to record.

    Raises
    ------
    ValueError
        There is no recording, or it was made with other settings.
    """
    earlier = read_manifest(folder)
    _manifest(folder, plan, about).continue_from(earlier)
    return bool(earlier["state"] == "complete")


def check_new(folder: Path) -> None:
    """Check that a folder does not exist or is empty.

    Raises
    ------
    FileExistsError
        It is not empty.
    OSError
        It cannot be read.
    """
    try:
        is_new = not folder.exists() or next(folder.iterdir(), None) is None
    except OSError as error:
        raise named(error, folder) from error
    if not is_new:
        raise FileExistsError(f"{folder} is not empty: choose another folder, or continue its recording (--resume)")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise named(error, folder) from error


def _lock_folder(folder: Path) -> contextlib.ExitStack:
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


def _manifest(folder: Path, plan: RecordingPlan, about: dict[str, Any]) -> Manifest:
    """A manifest with everything that must be the same for a recording to be continued."""
    height, width = plan.shape
    run = {
        **about,
        "save": list(plan.save),
        "size": [width, height],
        "max_depth_mm": plan.max_depth_mm,
        "steps_per_mm": plan.steps_per_mm,
        "near_far": plan.near_far,
    }
    return Manifest(folder, run, None if plan.rig is None else asdict(plan.rig))


def _complete_frames(folder: Path, save: tuple[str, ...]) -> list[FrameRecord]:
    """The frames that all outputs have; after a power cut these may be fewer than the log of frames has."""
    done = read_frame_log(folder / FRAME_LOG) if (folder / FRAME_LOG).is_file() else []
    for output in (OUTPUTS[name] for name in save):
        if output.is_video and done:
            done = done[: count_readable_frames(folder / output.path)]
    return done
