"""A recording: a folder with the chosen outputs of every frame, a log of the frames and a manifest."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...common.arrays import Array, size_text
from ...common.atomic import Place
from ..stream.depth_stream import DepthFrame
from ..stream.statistics import StreamStatistics
from .checkpoint import Checkpoint, remove_checkpoints, write_checkpoint
from .depth_video import MOST_STEPS
from .frame_files import crc32_of
from .frame_log import FRAME_LOG, FrameLog, FrameRecord, replace_records
from .inventory import RIG_FILE, Inventory, files_of_frame, has_rig, take_inventory
from .manifest import MANIFEST, Manifest, finished_frames, read_manifest
from .outputs import BAGS, COUNT, OUTPUTS, Earlier, RecordingPlan
from .recording_folder import check_new, lock_folder, make_folder, remove_parts
from .restart import find_restart
from .writer import FrameWriter

MANIFEST_INTERVAL_S = 10.0
SAME_TIME_S = 1e-6
CHECKPOINT_INTERVAL_S = 10.0
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
        Number of frames in the log.
    last : FrameRecord or None
        The last of them.
    restart : Restart
        Where the frames that are given to :meth:`add` must begin.
    repaired : int
        Frames in the log that some output lacks, and that must be given again.
    repeated : int
        Frames in the log that come again because of where ``restart`` is, repaired or not.
    has_faulty_log : bool
        The log had a frame more than once, or not in its place, and was written again.
    cut_off : int
        Frames that came in the log after a line that it lacks: they are not counted, and recorded again.
    absent : list of int
        Frames of the log that had to be made again and did not come; taken out of it when the recording is complete.
    has_lost_rig : bool
        The file of the rig was missing or another one, and was written again.
    coverage : float
        Share of known pixels of the last frame; pixels beyond ``max_depth_mm`` are unknown.
    lost : int
        Frames of the source that were damaged or missing before the last frame of the log.
    statistics : callable, optional
        Called from time to time for the manifest; set it to ``DepthStream.statistics``.
    remarks : callable, optional
        Called from time to time for further entries of the manifest.

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
        self.has_lost_rig = False
        self.remarks: Callable[[], dict[str, Any]] | None = None
        # Written but not logged: videos hold their last frame back.
        self._record: FrameRecord | None = None
        self._result: Checkpoint | None = None  # of that frame
        self._last_result: Checkpoint | None = None  # of the last frame in the log
        self._manifest = manifest_of(self.folder, plan, about)
        if not resume:
            check_new(self.folder)
            make_folder(self.folder)
        earlier = read_manifest(self.folder) if resume else None
        self._lock = lock_folder(self.folder)
        try:
            self._begin(earlier)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, earlier: dict[str, Any] | None) -> None:
        remove_parts(self.folder)
        there = Inventory([], {}, {})
        if earlier is not None:
            self._manifest.continue_from(earlier)
            run = earlier["run"]
            there = take_inventory(
                self.folder, self.plan.save, finished_frames(earlier),
                every=run.get("every"), is_from_start=run.get("start_s") == 0,
            )  # fmt: skip
            self.has_lost_rig = not has_rig(self.folder, self.plan.rig)
        self._changed: dict[int, FrameRecord | None] = {}  # of the log: written anew, or to be taken out
        self.absent: list[int] = []
        self._is_repair = earlier is not None and len(there.records) == finished_frames(earlier)
        self._lacking, self._logged = there.lacking, {record.index: record for record in there.records}
        self.repaired, self.has_faulty_log = len(there.lacking_frames), there.has_faulty_log
        self.cut_off = there.cut_off
        self.frames, self.last = len(there.records), there.records[-1] if there.records else None
        self.lost = sum(record.lost_before for record in there.records)
        self.restart = find_restart(self.folder, there, self.plan.remembers)
        self.repeated = (
            self.frames if self.restart.at is None else self.frames - 1 - there.records.index(self.restart.at)
        )
        self._manifest.begin_part(self.frames)  # before all else: from here on the recording can be continued
        self._open(there, earlier or {})
        self._background = ThreadPoolExecutor(1, "bdis_preview")
        self._written_entries = self._manifest_entries()
        self._manifest_due = time.monotonic() + MANIFEST_INTERVAL_S
        self._checkpoint_due = time.monotonic() + CHECKPOINT_INTERVAL_S

    def _open(self, there: Inventory, earlier: dict[str, Any]) -> None:
        """Open all outputs and the log of frames; those that are open are closed again if one fails."""
        first_s = there.records[0].time_s if there.records else self.plan.first_s
        self._writers: dict[str, FrameWriter] = {}
        try:
            if self.plan.rig is not None:
                self.plan.rig.save(self.folder / RIG_FILE)
            for name in self.plan.save:
                if self._is_repair and name not in self._lacking:
                    continue
                kept = Earlier(there.kept.get(name, 0), first_s, _entry_of(name, earlier))
                output = OUTPUTS[name]
                self._writers[name] = output.open(self.folder / output.path, self.plan, kept)
            self._log = FrameLog(self.folder / FRAME_LOG, there.records)
        except BaseException:
            for writer in self._writers.values():
                writer.close()
            raise

    @property
    def is_whole(self) -> bool:
        """A recording that was complete has all that it lacked: no more frames are needed."""
        return self._is_repair and not any(self._lacking.values())

    def add(self, frame: DepthFrame) -> None:
        """Write all outputs of a frame.

        Raises
        ------
        ValueError
            The frame has another size, or does not come after those before it.
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
        if frame.index in self._logged:
            self._write_again(frame, depth)
            return
        before = self._record or self.last
        if before is not None and frame.index <= before.index:
            raise ValueError(f"frame {frame.index} comes after {before.index}: a recording has each once, in order")
        try:
            self._write(frame, depth, self._writers)
            file_check = self._file_check(frame.index)
        except BaseException:
            self._record = None  # a video has held the frame before back until now, so that is incomplete as well
            raise
        took = time.perf_counter() - begin
        self._log_last()
        self._record = FrameRecord(
            frame.index, frame.time_s, 1e3 * frame.read_s, 1e3 * frame.rectify_s, 1e3 * frame.match_s, 1e3 * took,
            1e3 * (begin - frame.arrived_s), self.coverage, int(frame.is_suspect), frame.lost_before,
            *file_check,
        )  # fmt: skip
        self._result = Checkpoint(frame.index, frame.result)
        if not any(OUTPUTS[name].is_video for name in self.plan.save):
            self._log_last()
        # A changed entry, such as the range of the preview's colours, is needed to continue the recording.
        if time.monotonic() >= self._manifest_due or _essential(self._manifest_entries()) != self._written_entries:
            self._write_manifest()

    def _write_again(self, frame: DepthFrame, depth: Array | None) -> None:
        """Write a frame of the log to the outputs that lack it."""
        record = self._logged[frame.index]
        if abs(record.time_s - frame.time_s) > SAME_TIME_S:
            raise ValueError(
                f"frame {frame.index} was at {record.time_s:.3f} s in {self.folder} and is at {frame.time_s:.3f} s "
                "now: the source has changed, and its recording cannot be continued"
            )
        names = [name for name, lacking in self._lacking.items() if frame.index in lacking]
        self._write(frame, depth, {name: self._writers[name] for name in names})
        if any(OUTPUTS[name].ending is not None for name in names):  # then all files of the frame are new
            file_bytes, file_crc32 = self._file_check(frame.index)
            self._changed[frame.index] = replace(record, file_bytes=file_bytes, file_crc32=file_crc32)
        for name in names:
            self._lacking[name].discard(frame.index)
        self._last_result = Checkpoint(frame.index, frame.result)
        self._write_checkpoint_if_due()

    def _file_check(self, index: int) -> tuple[int, int]:
        """Size and CRC-32 of the files of a frame that was written just now."""
        files = files_of_frame(self.folder, index, self.plan.save)
        return sum(path.stat().st_size for path in files), crc32_of(files)

    def _write(self, frame: DepthFrame, depth: Array | None, outputs: dict[str, FrameWriter]) -> None:
        writers = outputs.values()
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
        if state == "complete":
            self._take_out_absent()
        for close in (*(writer.close for writer in self._writers.values()), self._log_last, self._close_log):
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
            if state == "complete":
                remove_checkpoints(self.folder)
            elif not errors:
                self._write_checkpoint()
            self._write_manifest(state=state, reason=reason)
        except OSError as error:
            errors.append(error)
        self._lock.close()
        if errors:
            raise errors[0]

    def _take_out_absent(self) -> None:
        """Frames of the log that had to be made again, and did not come until the end of the source."""
        self.absent = sorted(set().union(*self._lacking.values()))
        self._changed |= dict.fromkeys(self.absent)
        self.frames -= len(self.absent)
        self.lost -= sum(self._logged[index].lost_before for index in self.absent)

    def _close_log(self) -> None:
        self._log.close()
        replace_records(self.folder / FRAME_LOG, self._changed)

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
        return outputs_of(self.plan)

    def _depth(self, frame: DepthFrame) -> Array | None:
        rig = self.plan.rig
        if rig is None or not any(OUTPUTS[name].uses_depth for name in self.plan.save):
            return None
        return rig.depth(frame.result, max_depth_mm=self.plan.max_depth_mm)

    def _log_last(self) -> None:
        if self._record is not None:
            self._log.add(self._record)
            self.frames, self.last = self.frames + 1, self._record
            self.lost += self._record.lost_before
            self._record, self._last_result = None, self._result
            self._write_checkpoint_if_due()

    def _write_checkpoint_if_due(self) -> None:
        if time.monotonic() >= self._checkpoint_due:
            self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        """Keep what the frame after the last one of the log needs."""
        if self.plan.remembers and self._last_result is not None:
            write_checkpoint(self.folder, self._last_result)
        self._checkpoint_due = time.monotonic() + CHECKPOINT_INTERVAL_S

    def _manifest_entries(self) -> dict[str, Any]:
        entries = {name: writer.manifest_entry() for name, writer in self._writers.items()}
        return {name: entry for name, entry in entries.items() if entry is not None}

    def _write_manifest(self, **changes: Any) -> None:
        # "figures" is the name of the statistics in the file format.
        if self.statistics is not None:
            statistics = self.statistics()
            changes |= {"figures": asdict(statistics)}
            if not self._is_repair:
                is_over = changes.get("state") == "complete"
                changes |= {"lost": self.lost + (statistics.damaged_since if is_over else 0)}
        if self.remarks is not None:
            changes |= self.remarks()
        entries = self._manifest_entries()
        self._manifest.write(**changes, **entries, frames=self.frames, outputs=self.outputs())
        self._written_entries = _essential(entries)
        self._manifest_due = time.monotonic() + MANIFEST_INTERVAL_S


def _essential(entries: dict[str, Any]) -> dict[str, Any]:
    """The entries without what merely counts, and changes with every frame."""
    return {name: {key: value for key, value in entry.items() if key != COUNT} for name, entry in entries.items()}


def _entry_of(name: str, earlier: dict[str, Any]) -> dict[str, Any]:
    """The entry of an output in the manifest of an earlier run; empty if it has none."""
    entry = earlier.get(name) or {}
    if not isinstance(entry, dict):
        raise ValueError(f"{MANIFEST} is damaged: {name} is no entry of an output; record into a new folder")
    return entry


def outputs_of(plan: RecordingPlan) -> list[str]:
    """Names of the files and folders in a recording."""
    rig = [] if plan.rig is None else [RIG_FILE]
    return [*(OUTPUTS[name].path for name in plan.save), FRAME_LOG, *rig, MANIFEST]


def manifest_of(folder: Path, plan: RecordingPlan, about: dict[str, Any]) -> Manifest:
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
    if any(name in BAGS for name in plan.save):
        run["bag"] = asdict(plan.bag)
    return Manifest(folder, run, None if plan.rig is None else asdict(plan.rig))
