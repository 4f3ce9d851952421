"""A folder with the depth of a video: what was asked for of every frame, a journal and a manifest."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...common.atomic import Place, named
from ..stream.depth_stream import DepthFrame
from .depth_video import DEPTH_VIDEO, MOST_STEPS, STEPS_PER_MM, DepthVideo
from .frame_files import FRAME_FILES, FrameFiles
from .journal import JOURNAL, FrameRecord, Journal, read_journal
from .manifest import MANIFEST, Manifest, read_manifest
from .picture import SideBySide
from .preview_video import PREVIEW_VIDEO, PreviewVideo
from .video_file import whole_frames

OUTPUTS = (*FRAME_FILES, "video", "preview")
NEED_DEPTH = ("depth", "sigma", "cloud", "video")
RIG_FILE = "rig.toml"
MANIFEST_EVERY_S = 10.0
State = Literal["complete", "interrupted", "failed"]


@dataclass(frozen=True)
class Plan:
    """What to record of frames, and how.

    Attributes
    ----------
    save : of :data:`OUTPUTS`
    shape : (height, width) of the rectified images
    rig : of them; without it there is no depth, and previews show disparity
    fps : frames per second, None if not known
    max_depth_mm : what is further counts as unknown
    steps_per_mm : of the depth video
    near_far : range of the preview's colours, mm (px without a rig); None: from the first frames

    Raises
    ------
    ValueError
        An output that there is not, or that needs a rig.

    Examples
    --------
    >>> Plan(("video",), (480, 640))
    Traceback (most recent call last):
    ValueError: video needs a rig; without one there are disparity, probability and preview
    """

    save: tuple[str, ...]
    shape: tuple[int, int]
    rig: Rig | None = None
    fps: float | None = None
    max_depth_mm: float | None = None
    steps_per_mm: int = STEPS_PER_MM
    near_far: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in self.save:
            if name not in OUTPUTS:
                raise ValueError(f"{name!r} cannot be recorded; there are {', '.join(OUTPUTS)}")
            if self.rig is None and name in NEED_DEPTH:
                raise ValueError(f"{name} needs a rig; without one there are disparity, probability and preview")


class Recording:
    """Writes frames into a folder; it is complete and readable up to the last one whatever ends it.

    Parameters
    ----------
    folder : a new or empty one, or one to go on with
    plan : Plan
    about : what else decides the frames, such as source and settings; kept in the manifest
    resume : go on with the recording in ``folder``

    Attributes
    ----------
    frames : how many are done
    last : FrameRecord of the last one, or None
    coverage : share of the last frame's pixels that are known, and not too far
    figures : called now and then for the manifest; set it to ``DepthStream.figures``

    Raises
    ------
    FileExistsError
        The folder is not empty.
    ValueError
        There is nothing to go on with, it was recorded otherwise, or another process is at it.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import bdis, tempfile
    >>> from bdis.video.sources import open_source
    >>> from bdis.video.stream.depth_stream import DepthStream
    >>> source = open_source("render:plane,frames=3,height=48,width=64")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recording = Recording(folder, Plan(("depth", "video"), (48, 64), source.rig), {"source": source.name})
    ...     for frame in DepthStream(source, bdis.StereoMatcher("fast")):
    ...         recording.add(frame)
    ...     recording.close("complete")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['depth', 'depth.mkv', 'frames.csv', 'manifest.json', 'rig.toml']
    """

    def __init__(self, folder: Place, plan: Plan, about: dict[str, Any], *, resume: bool = False):
        self.folder, self.plan = Path(folder), plan
        self.figures: Callable[[], Any] | None = None
        self.coverage = float("nan")
        self._record: FrameRecord | None = None  # written but not journaled: videos hold their last frame back
        self._manifest = _manifest(self.folder, plan, about)
        if not resume:
            check_new(self.folder)
            _make(self.folder)
        earlier = read_manifest(self.folder) if resume else None
        self._lock = _locked(self.folder)
        try:
            self._begin(earlier)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, earlier: dict[str, Any] | None) -> None:
        near_far, done = self.plan.near_far, []
        if earlier is not None:
            self._manifest.go_on(earlier)
            done = _done(self.folder, self.plan.save)
            shown = earlier.get("preview") or {}
            near_far = (shown["near"], shown["far"]) if "near" in shown else near_far
        self.frames, self.last = len(done), done[-1] if done else None
        self._manifest.begin_part(self.frames)  # first of all: what is begun can be gone on with
        self._open(done, near_far)
        self._helper = ThreadPoolExecutor(1, "bdis_preview")
        self._manifest_due = time.monotonic() + MANIFEST_EVERY_S

    def add(self, frame: DepthFrame) -> None:
        """Write all that was asked for of a frame.

        Raises
        ------
        ValueError
            Its size is another.
        OSError
            No space left, for one; what was written before is complete.
        """
        begin = time.perf_counter()
        if frame.left.shape[:2] != self.plan.shape:
            sizes = size_text(frame.left.shape), size_text(self.plan.shape)
            raise ValueError(f"frame {frame.index} is {sizes[0]}; the recording is of {sizes[1]}")
        depth = self._depth(frame)
        is_cut = depth is not None and self.plan.max_depth_mm is not None
        self.coverage = float(np.isfinite(depth).mean()) if is_cut else frame.result.coverage  # type: ignore[arg-type]
        try:
            self._write(frame, depth)
        except BaseException:
            self._record = None  # the frame before is not complete either: a video held it back until now
            raise
        took = time.perf_counter() - begin
        self._journal_last()
        self._record = FrameRecord(
            frame.index, frame.time_s, 1e3 * frame.read_s, 1e3 * frame.rectify_s, 1e3 * frame.match_s, 1e3 * took,
            1e3 * (begin - frame.arrived_s), self.coverage, int(frame.is_suspect),
        )  # fmt: skip
        if self._video is None and self._preview is None:
            self._journal_last()
        if time.monotonic() >= self._manifest_due:
            self._write_manifest()

    def _write(self, frame: DepthFrame, depth: Array | None) -> None:
        """All outputs; the preview is made beside the others, where there is a core to spare."""
        preview = self._helper.submit(self._write_preview, frame, depth)
        try:
            for files in self._files:
                files.write(frame, depth)
            if self._video is not None:
                assert depth is not None
                self._video.write(depth, frame.time_s)
        finally:
            preview.result()

    def _write_preview(self, frame: DepthFrame, depth: Array | None) -> None:
        if self._preview is None:
            return
        had_range = self._preview.draw.near_far is not None
        self._preview.write(frame.left, frame.result.disparity if depth is None else depth, frame.time_s)
        if not had_range and self._preview.draw.near_far is not None:
            self._manifest_due = 0.0  # the range must be known when it is gone on with

    def close(self, state: State, reason: str | None = None) -> None:
        """Write what is held back, and say in the manifest how it ended.

        Raises
        ------
        OSError
            No space left, for one.  All files are closed, and complete as far as they go.
        """
        errors: list[OSError] = []
        self._helper.shutdown()
        for close in (*self._closers(), self._journal_last, self._journal.close):
            # A frame that could not be written is not done.
            if errors and close == self._journal_last:
                continue
            try:
                close()
            except OSError as error:
                errors.append(error)
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
        """Pixels of the depth video that are further than it can say, in this part."""
        return 0 if self._video is None else self._video.too_far

    @property
    def most_depth_mm(self) -> float:
        """The largest depth the depth video can say."""
        return MOST_STEPS / self.plan.steps_per_mm

    def _open(self, done: list[FrameRecord], near_far: tuple[float, float] | None) -> None:
        plan, keep = self.plan, len(done)
        height, width = plan.shape
        self._video: DepthVideo | None = None
        self._preview: PreviewVideo | None = None
        try:
            kinds = [name for name in plan.save if name in FRAME_FILES]
            self._files = [FrameFiles(self.folder, kind, plan.rig, plan.max_depth_mm) for kind in kinds]
            if plan.rig is not None:
                plan.rig.save(self.folder / RIG_FILE)
            if "video" in plan.save:
                self._video = DepthVideo(
                    self.folder / DEPTH_VIDEO, (width, height), steps_per_mm=plan.steps_per_mm, fps=plan.fps, keep=keep
                )
            if "preview" in plan.save:
                draw = SideBySide("disparity" if plan.rig is None else "depth", plan.shape, near_far)
                first_s = done[0].time_s if done else None
                self._preview = PreviewVideo(
                    self.folder / PREVIEW_VIDEO, draw, first_s=first_s, fps=plan.fps, keep=keep
                )
            self._journal = Journal(self.folder / JOURNAL, done)
        except BaseException:
            for close in self._closers():
                close()
            raise

    def _closers(self) -> list[Callable[[], None]]:
        return [video.close for video in (self._video, self._preview) if video is not None]

    def _depth(self, frame: DepthFrame) -> Array | None:
        if self.plan.rig is None or not (set(self.plan.save) & {*NEED_DEPTH, "preview"}):
            return None
        return self.plan.rig.depth(frame.result, max_depth_mm=self.plan.max_depth_mm)

    def _journal_last(self) -> None:
        if self._record is not None:
            self._journal.add(self._record)
            self.frames, self.last = self.frames + 1, self._record
            self._record = None

    def _write_manifest(self, **changes: Any) -> None:
        figures = {} if self.figures is None else {"figures": asdict(self.figures())}
        changes |= figures | {"frames": self.frames, "outputs": self.outputs()}
        if self._preview is not None and self._preview.draw.near_far is not None:
            near, far = self._preview.draw.near_far
            shows = "disparity_px" if self.plan.rig is None else "depth_mm"
            changes["preview"] = {"shows": shows, "near": near, "far": far}
        if self._video is not None:
            changes["video"] = {"unit": "mm", "steps_per_mm": self.plan.steps_per_mm, "unknown": 0}
        self._manifest.write(**changes)
        self._manifest_due = time.monotonic() + MANIFEST_EVERY_S

    def outputs(self) -> list[str]:
        """Names of what is in the folder."""
        names = {"video": DEPTH_VIDEO, "preview": PREVIEW_VIDEO}
        rig = [] if self.plan.rig is None else [RIG_FILE]
        return [*(names.get(name, f"{name}/") for name in self.plan.save), JOURNAL, *rig, MANIFEST]


def is_complete(folder: Path, plan: Plan, about: dict[str, Any]) -> bool:
    """Is there nothing left to do of a recording?

    Raises
    ------
    ValueError
        There is no recording, or it is of something else.
    """
    earlier = read_manifest(folder)
    _manifest(folder, plan, about).go_on(earlier)
    return bool(earlier["state"] == "complete")


def check_new(folder: Path) -> None:
    """See that a folder does not exist, or is empty.

    Raises
    ------
    FileExistsError
        There is something in it.
    OSError
        It cannot be looked into.
    """
    try:
        is_new = not folder.exists() or next(folder.iterdir(), None) is None
    except OSError as error:
        raise named(error, folder) from error
    if not is_new:
        raise FileExistsError(f"{folder} is not empty: choose another folder, or go on with its recording (--resume)")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise named(error, folder) from error


def _locked(folder: Path) -> contextlib.ExitStack:
    """Keep other processes from writing into a folder until it is closed or this one is gone, where that works."""
    held = contextlib.ExitStack()
    if os.name != "posix":
        return held
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    held.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise ValueError(f"another process is recording into {folder}") from None
    except OSError:
        pass  # some network drives know no locks
    return held


def _manifest(folder: Path, plan: Plan, about: dict[str, Any]) -> Manifest:
    """With all that must be the same for a recording to be gone on with."""
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


def _done(folder: Path, save: tuple[str, ...]) -> list[FrameRecord]:
    """The frames that all outputs have; after a power cut that may be fewer than the journal says."""
    done = read_journal(folder / JOURNAL) if (folder / JOURNAL).is_file() else []
    for name, video in (("video", DEPTH_VIDEO), ("preview", PREVIEW_VIDEO)):
        if name in save and done:
            done = done[: whole_frames(folder / video)]
    return done
