"""What can be recorded: one table of outputs, and the plan that chooses among them.

A new output is a :class:`FrameWriter` and a line in ``OUTPUTS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...connections.ros import bag1_file, mcap_file
from ...display.colors import is_range
from ..stream.depth_stream import DepthFrame
from .bag_output import BagPlan, BagWriter
from .depth_video import DEPTH_VIDEO, MOST_STEPS, STEPS_PER_MM, DepthVideo
from .foxglove_file import FOXGLOVE_FILE, FoxgloveFile, count_foxglove_frames
from .frame_files import (
    FrameFiles,
    WriteFile,
    write_cloud_file,
    write_depth_file,
    write_disparity_file,
    write_left_file,
    write_probability_file,
    write_sigma_file,
)
from .frame_log import FrameRecord
from .log_gaps import TICKS
from .manifest import MANIFEST
from .preview_picture import PreviewPicture
from .preview_video import PREVIEW_PART, PREVIEW_VIDEO, PreviewVideo
from .video_file import count_readable_frames
from .writer import FrameWriter

COUNT = "pixels_beyond"
T = TypeVar("T", int, float)


@dataclass(frozen=True)
class RecordingPlan:
    """What to record of each frame, and how.

    Attributes
    ----------
    save : tuple of str
        Names of :data:`bdis.video.recording.OUTPUTS`.
    shape : (int, int)
        Height and width of the rectified images.
    rig : Rig, optional
        Of the rectified images; without it there is no depth, and previews show disparity.
    fps : float, optional
        Frames per second, if known.
    max_depth_mm : float, optional
        Pixels that are farther away are recorded as unknown.
    steps_per_mm : int
        Values of the depth video are this many times the depth in mm.
    near_far : (float, float), optional
        Range of the preview's colours, in mm (in px without a rig).  Default: ``clip_range``.
    clip_range : (float, float), optional
        The same, found in the whole clip (:func:`bdis.video.recording.range_of_clip`).  Default: adapted slowly to the
        frames, as they come.
    remembers : bool
        A frame builds on the ones before it: what the next one needs of them is kept, so that a recording that is
        continued has the same bits as one that was never interrupted.
    first_s : float, optional
        Time of the first frame of the whole recording, of which this is a later piece.
    bag : BagPlan
        What a bag has.

    Raises
    ------
    ValueError
        There is no such output, or it needs a rig.

    Examples
    --------
    >>> RecordingPlan(("video",), (480, 640))
    Traceback (most recent call last):
    ValueError: video needs a rig; without one, choose among disparity, probability, left, preview
    """

    save: tuple[str, ...]
    shape: tuple[int, int]
    rig: Rig | None = None
    fps: float | None = None
    max_depth_mm: float | None = None
    steps_per_mm: int = STEPS_PER_MM
    near_far: tuple[float, float] | None = None
    clip_range: tuple[float, float] | None = None
    remembers: bool = True
    first_s: float | None = None
    bag: BagPlan = field(default_factory=BagPlan)

    def __post_init__(self) -> None:
        for name in self.save:
            if name not in OUTPUTS:
                raise ValueError(f"{name!r} cannot be recorded; choose among {', '.join(OUTPUTS)}")
            if self.rig is None and OUTPUTS[name].needs_rig:
                possible = [other for other, output in OUTPUTS.items() if not output.needs_rig]
                raise ValueError(f"{name} needs a rig; without one, choose among {', '.join(possible)}")


@dataclass(frozen=True)
class Earlier:
    """What an earlier run has left of an output.

    Attributes
    ----------
    frames : int
        How many frames of it to keep; 0 for a new recording.
    first_s : float or None
        Time of the first frame, if there is one.
    entry : dict
        The entry of the output in the manifest; empty if it has none.
    """

    frames: int = 0
    first_s: float | None = None
    entry: dict[str, Any] = field(default_factory=dict)

    def number(self, name: str, kind: type[T], default: T | None = None) -> T:
        """A number of the entry.

        Raises
        ------
        ValueError
            The entry has something else.
        """
        value = self.entry.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | kind) or not 0 <= value < math.inf:
            raise ValueError(f"{MANIFEST} is damaged: {name} is missing or no number; record into a new folder")
        return kind(value)

    def range_of_colors(self) -> tuple[float, float]:
        """What the first and the last colour of a preview mean; disparities of verged cameras may be negative.

        Raises
        ------
        ValueError
            The entry has no such range.
        """
        near, far = (self.entry.get(name) for name in ("near", "far"))
        if not (_is_number(near) and _is_number(far) and is_range(near, far)):
            raise ValueError(f"{MANIFEST} is damaged: near and far are no range; record into a new folder")
        return float(near), float(far)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Output:
    """One output that a recording may have.

    Attributes
    ----------
    path : str
        Name in the folder of the recording; that of a folder ends with a slash.
    open : callable
        Creates the FrameWriter from its path, the RecordingPlan and what is there already.
    needs_rig : bool
        It cannot be written without a rig.
    uses_depth : bool
        It is written from the depth if there is a rig.
    uses_color : bool
        It shows the colours of the left image.
    uses_variance : bool
        It contains the uncertainty of the depth.
    is_video : bool
        One file for all frames, the last of which is complete only when the next one is written.
    count_frames : callable
        Counts the frames of such a file that can be read, however it ended.
    ticks : int or None
        Per second, if such a file has the times of its frames in this resolution, for comparison with the log.
    continued_every : int
        A video is continued after a multiple of so many frames: from there on it does not depend on earlier ones.
    ending : str or None
        Of the files, if there is one for each frame.
    can_be_joined : bool
        Frames that were written to another file can be taken over (:meth:`FrameWriter.append`).
    """

    path: str
    open: Callable[[Path, RecordingPlan, Earlier], FrameWriter]
    needs_rig: bool = False
    uses_depth: bool = False
    uses_color: bool = False
    uses_variance: bool = False
    is_video: bool = False
    count_frames: Callable[[Path], int] = count_readable_frames
    ticks: int | None = None
    continued_every: int = 1
    ending: str | None = None
    can_be_joined: bool = True


class DepthVideoWriter(FrameWriter):
    """All depth in one lossless video."""

    def __init__(self, path: Path, plan: RecordingPlan, earlier: Earlier):
        height, width = plan.shape
        self._steps_per_mm = plan.steps_per_mm
        self._too_far_before = earlier.number(COUNT, int, 0)
        self._video = DepthVideo(
            path, (width, height), steps_per_mm=plan.steps_per_mm, fps=plan.fps, keep=earlier.frames
        )

    @property
    def too_far(self) -> int:  # type: ignore[override]
        return self._video.too_far

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        assert depth_mm is not None
        self._video.write(depth_mm, frame.time_s)

    def append(self, path: Path, records: Sequence[FrameRecord]) -> None:
        self._video.append(path, [record.time_s for record in records])

    def close(self) -> None:
        self._video.close()

    def manifest_entry(self) -> dict[str, Any]:
        return {
            "unit": f"{1 / self._steps_per_mm:g} mm",
            "steps_per_mm": self._steps_per_mm,
            "unknown": 0,
            "largest_mm": MOST_STEPS / self._steps_per_mm,
            COUNT: self._too_far_before + self.too_far,  # of all frames; they are unknown in the video
        }


class PreviewWriter(FrameWriter):
    """A video of the left image beside the depth in colours."""

    in_background = True  # where there is a second core

    def __init__(self, path: Path, plan: RecordingPlan, earlier: Earlier):
        self._quantity = "disparity" if plan.rig is None else "depth"
        self._range_from = (
            "given" if plan.near_far else "frames of the whole clip" if plan.clip_range else "latest frames"
        )
        near_far = plan.near_far or plan.clip_range
        if "near" in earlier.entry:  # the colours must mean the same before and after an interruption
            near_far = earlier.range_of_colors()
            self._range_from = str(earlier.entry.get("range_from"))
        self._picture = PreviewPicture(self._quantity, plan.shape, near_far)
        self._video = PreviewVideo(path, self._picture, first_s=earlier.first_s, fps=plan.fps, keep=earlier.frames)

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        self._video.write(frame.left, frame.result.disparity if depth_mm is None else depth_mm, frame.time_s)

    def append(self, path: Path, records: Sequence[FrameRecord]) -> None:
        self._video.append(path, [record.time_s for record in records])

    def close(self) -> None:
        self._video.close()

    def manifest_entry(self) -> dict[str, Any] | None:
        if self._picture.near_far is None:
            return None
        near, far = self._picture.near_far
        shows = f"{self._quantity}_{self._picture.unit}"
        return {"shows": shows, "near": near, "far": far, "range_from": self._range_from}


def _open_foxglove(path: Path, plan: RecordingPlan, earlier: Earlier) -> FrameWriter:
    assert plan.rig is not None
    return FoxgloveFile(path, plan.rig, plan.max_depth_mm, keep=earlier.frames)


def _files(folder: str, ending: str, write_file: WriteFile, **uses: Any) -> Output:
    """An output with one file per frame."""

    def open_files(path: Path, plan: RecordingPlan, earlier: Earlier) -> FrameWriter:
        return FrameFiles(path, ending, write_file, plan.rig, plan.max_depth_mm)

    return Output(folder, open_files, ending=ending, **uses)


def _bag(name: str, is_ros1: bool, count_frames: Callable[[Path], int]) -> Output:
    """A bag of ROS: like a video, one file for all frames."""

    def open_bag(path: Path, plan: RecordingPlan, earlier: Earlier) -> FrameWriter:
        assert plan.rig is not None
        return BagWriter(
            path, plan.bag, plan.rig, plan.shape,
            max_depth_mm=plan.max_depth_mm, is_ros1=is_ros1, keep=earlier.frames,
        )  # fmt: skip

    return Output(
        name, open_bag, needs_rig=True, uses_depth=True, uses_color=True, uses_variance=True, is_video=True,
        can_be_joined=False, count_frames=count_frames,
    )  # fmt: skip


OUTPUTS = {
    "depth": _files("depth/", "tiff", write_depth_file, needs_rig=True, uses_depth=True),
    "disparity": _files("disparity/", "tiff", write_disparity_file),
    "probability": _files("probability/", "tiff", write_probability_file),
    "left": _files("left/", "png", write_left_file, uses_color=True),
    "sigma": _files("sigma/", "tiff", write_sigma_file, needs_rig=True, uses_depth=True, uses_variance=True),
    "cloud": _files(
        "cloud/", "ply", write_cloud_file, needs_rig=True, uses_depth=True, uses_color=True, uses_variance=True
    ),
    "video": Output(DEPTH_VIDEO, DepthVideoWriter, needs_rig=True, uses_depth=True, is_video=True, ticks=TICKS),
    "preview": Output(
        PREVIEW_VIDEO, PreviewWriter, uses_depth=True, uses_color=True, is_video=True, continued_every=PREVIEW_PART
    ),
    "bag": _bag("depth.mcap", False, mcap_file.count_frames),
    "ros1-bag": _bag("depth.bag", True, bag1_file.count_frames),
    "foxglove": Output(
        FOXGLOVE_FILE,
        _open_foxglove,
        needs_rig=True,
        uses_color=True,
        uses_variance=True,
        is_video=True,
        count_frames=count_foxglove_frames,
        can_be_joined=False,
    ),
}
BAGS = ("bag", "ros1-bag")
