"""Opening a source of frames together with the calibration of its cameras."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ..cameras.calibration_doubts import centres_of, check_inside, off_middle, told, unusual_focal
from ..cameras.given_cameras import GivenCameras, Working
from ..cameras.raw_or_rectified import MAX_PAIRS
from ..cameras.rectifier import Rectifier
from ..cameras.rig import Rig
from ..cameras.rig_settings import with_rig
from ..common.arrays import Array
from ..common.bad_request import BadRequest
from ..common.reading import MAX_IMAGE_BYTES, read_limited
from ..connections.ros.bag import is_bag
from ..matching.settings import Settings
from .sources import BadFrame, BagSource, Source, StereoFrame, open_source

_log = logging.getLogger(__name__)
FRAMES_BETWEEN_LOOKS = 10  # for a further look at whether frames are rectified
MAX_DAMAGED_FRAMES = 100  # at the start of a source, before it is given up


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """Where frames come from, as a user gives it; see :func:`bdis.open_source`.

    Attributes
    ----------
    source : str
        Both views, or only the left one.
    right : str, optional
        The right view.
    layout : {"side-by-side", "top-bottom"}, optional
        How one picture holds both views.  Default: guessed.
    squeezed, deinterlace : bool
        Each view has half its width or height; the video is interlaced.
    fps : float, optional
        Of a folder of images, or to request from a camera.
    topics : (str, str), optional
        Of both views in a recording of ROS.  Default: found.
    tolerance_ms : float, optional
        Largest difference between the stamps of a pair in a recording of ROS.  Default: from the frame rate.
    pipe_format : str, optional
        What comes through a pipe.  Default: found out.
    all_frames : bool
        Of a pipe, match every frame.
    cameras : GivenCameras
        The cameras; what they say takes precedence over what the source says.

    Examples
    --------
    >>> opened = SourceRequest("render:plane,frames=3,height=32,width=48").open()
    >>> opened.shape, opened.first.index
    ((32, 48), 0)
    """

    source: str
    right: str | None = None
    layout: str | None = None
    squeezed: bool = False
    deinterlace: bool = False
    fps: float | None = None
    topics: tuple[str, str] | None = None
    tolerance_ms: float | None = None
    pipe_format: str | None = None
    all_frames: bool = False
    cameras: GivenCameras = field(default_factory=GivenCameras)

    def open(
        self,
        *,
        color: bool = True,
        warn: Callable[[str], None] = _log.warning,
        working: Working = lambda text: contextlib.nullcontext(),
    ) -> OpenedSource:
        """Open the source and the calibration.

        Parameters
        ----------
        color : bool
            Read RGB frames; grey ones take less time.
        warn, working : callable
            As in :meth:`bdis.cameras.given_cameras.GivenCameras.load`.

        Returns
        -------
        OpenedSource

        Raises
        ------
        ValueError
            There is no frame that can be read, or the calibration does not fit the frames.
        OSError
            There is no such file.
        """
        uses_own = is_bag(self.source) and not self.cameras.are_given  # its calibration, of raw cameras maybe
        source = open_source(
            self.source, self.right, layout=self.layout, squeezed=self.squeezed, deinterlace=self.deinterlace,
            fps=self.fps, color=color, topics=self.topics, tolerance_ms=self.tolerance_ms,
            rectify=self.cameras.rectify if uses_own else None, pipe_format=self.pipe_format,
            all_frames=self.all_frames,
        )  # fmt: skip
        try:
            cameras, origin = _cameras_of(self.cameras, source)
            if cameras.rectify and not cameras.calib and not uses_own:
                raise BadRequest("--rectify needs --calib, or a calibration beside the images")
            first = _first_frame(source)
            if isinstance(source, BagSource) and uses_own:
                own = source.find_camera(warn)
                if own is None:
                    warn(f"calibration {', '.join(source.camera_remarks)}")
                source.close()
                return OpenedSource(source, own, first, source.camera_remarks)
            rig, raw_cameras, remarks = cameras.load(_pairs(first, source), warn=warn, working=working)
            source.rewind()
            if raw_cameras is not None:
                return OpenedSource(source, raw_cameras.rectify(), first, origin + remarks, cameras.calib)
            if rig is None:
                rig, remarks = _own_rig(source, first, warn)
            return OpenedSource(source, rig, first, origin + remarks, cameras.calib)
        except BaseException:
            source.close()
            raise


class OpenedSource(NamedTuple):
    """A source of frames and what is known about its cameras.

    Attributes
    ----------
    source : Source
        At its start, unless it is live.
    camera : Rectifier, Rig or None
        What rectifies the frames; the cameras, if the frames are rectified already; None without calibration.
    first : StereoFrame
        The first frame.
    remarks : list of str
        What the user should know about the calibration.
    calib : tuple of Path
        The calibration file, or the two of them: given, or beside the images.
    """

    source: Source
    camera: Rectifier | Rig | None
    first: StereoFrame
    remarks: list[str]
    calib: tuple[Path, ...] = ()

    @property
    def rig(self) -> Rig | None:
        """The rectified cameras."""
        return self.camera.rig if isinstance(self.camera, Rectifier) else self.camera

    @property
    def is_rectified_here(self) -> bool:
        """Whether the frames are raw, and rectified before they are matched."""
        return isinstance(self.camera, Rectifier)

    @property
    def all_remarks(self) -> dict[str, list[str]]:
        """What the user should know about the source and its calibration, as the manifest of a recording has it."""
        source_remarks = [*self.source.remarks, *self.source.warnings]
        return {"source_remarks": source_remarks, "calibration_remarks": self.remarks}

    @property
    def calib_sha256(self) -> list[str]:
        """Hashes of the calibration files."""
        return hashes_of(self.calib)

    def settings_of_rig(self, settings: Settings, assignments: Sequence[str]) -> Settings:
        """The settings with what the rig says of them, see :func:`bdis.cameras.rig_settings.with_rig`; remarks say so.

        Parameters
        ----------
        settings : Settings
            Of the preset and the assignments.
        assignments : sequence of str
            Such as ``"patch_size=6"``.

        Returns
        -------
        Settings
        """
        origin = self.calib[0].name if self.calib else self.source.name
        settings, scaled = with_rig(settings, assignments, self.rig, origin)
        self.remarks.extend(scaled)
        return settings

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the rectified frames."""
        seen = self.camera.left_seen if isinstance(self.camera, Rectifier) else self.first.left
        return seen.shape[0], seen.shape[1]


def _first_frame(source: Source) -> StereoFrame:
    """The first frame that is not damaged."""
    problem: BadFrame | None = None
    for _ in range(MAX_DAMAGED_FRAMES):
        try:
            frame = source.read()
        except BadFrame as error:
            problem = problem or error
            continue
        if frame is not None:
            return frame
        break
    raise ValueError(f"{source.name} has no frames{f' that can be used: {problem}' if problem else ''}")


def hashes_of(files: Sequence[Path]) -> list[str]:
    """SHA-256 of files, by which a calibration is known again.

    Parameters
    ----------
    files : sequence of Path
        Calibration files.

    Returns
    -------
    list of str
        One for each.

    Raises
    ------
    OSError, ValueError
        One cannot be read, or is too large for a calibration.

    Examples
    --------
    >>> hashes_of([])
    []
    """
    return [hashlib.sha256(read_limited(file, MAX_IMAGE_BYTES)).hexdigest() for file in files]


def brings_cameras(place: str) -> bool:
    """Whether a source may bring a calibration that its images can be rectified with."""
    return is_bag(place) or Path(place).is_dir()


def _cameras_of(given: GivenCameras, source: Source) -> tuple[GivenCameras, list[str]]:
    """The cameras that are given, or else those in the file beside the images, and a remark on which file that is."""
    if given.are_given or not source.calibrations:
        return given, []
    used, *others = source.calibrations
    are = "is" if len(others) == 1 else "are"
    passed_over = f", and not {', '.join(path.name for path in others)}, which {are} there as well" if others else ""
    return replace(given, calib=(used,)), [f"{used.name} of the folder{passed_over}"]


def _own_rig(source: Source, first: StereoFrame, warn: Callable[[str], None]) -> tuple[Rig | None, list[str]]:
    """The cameras that the source brings, and remarks on whether they are those of images of this size."""
    rig = source.rig
    if rig is None or rig.size is not None:  # a size is compared where the rig is used
        return rig, []
    height, width = first.left.shape[:2]
    origin = f"the calibration of {source.name} does not say how large its images are, and has its principal point"
    advice = "if they were resized, give it by --calib FILE and --calib-scale FACTOR"
    check_inside(centres_of(rig)[:1], (width, height), origin, advice)
    doubts = (
        off_middle(rig, (width, height), origin, f"{advice}, or the depth is wrong by that factor"),
        unusual_focal(rig.focal_px, (width, height), f"the calibration of {source.name} has", advice),
    )
    return rig, told(doubts, warn)


def _pairs(first: StereoFrame, source: Source) -> Iterator[tuple[Array, Array]]:
    """The images of the first frame, then those of some that follow, with time between them for the scene to change."""
    yield first.left, first.right
    for count in range(1, FRAMES_BETWEEN_LOOKS * MAX_PAIRS):
        try:
            frame = source.read()
        except BadFrame:
            continue
        if frame is None:
            return
        if count % FRAMES_BETWEEN_LOOKS == 0:
            yield frame.left, frame.right


def frame_at(source: Source, start_s: float, first: StereoFrame) -> StereoFrame:
    """Read the frame at a time; the frames before it may be black, or show something else.

    Parameters
    ----------
    source : Source
        Is closed afterwards, if it is read.
    start_s : float
        Time in s.
    first : StereoFrame
        The frame at 0 s, which is also returned if the one asked for is damaged.

    Returns
    -------
    StereoFrame

    Raises
    ------
    BadRequest
        The source ends before that time.
    """
    if start_s == 0:
        return first
    try:
        source.seek(start_s)
        found = source.read()
    except BadFrame:
        return first
    finally:
        source.close()
    if found is None:
        length = "" if source.length is None else f", which has {source.length} frames"
        raise BadRequest(f"--start is at {start_s:.3f} s, after the end of {source.name}{length}")
    return found


def parse_time(
    text: str | None, source: Source, option: str, warn: Callable[[str], None] = _log.warning
) -> float | None:
    """Time in s of ``90s``, ``1:30``, ``0:01:30.5``, or of a frame number such as ``2250``.

    Parameters
    ----------
    text : str or None
        The value of the option.
    source : Source
        Knows the times of its frames.
    option : str
        The option, for the message.
    warn : callable
        Called with a sentence if the source cannot tell the time of a frame from its number.

    Returns
    -------
    float or None
        None if ``text`` is None.

    Raises
    ------
    BadRequest
        The text has another form.
    """
    if text is None:
        return None
    parts = text.removesuffix("s").split(":")
    try:
        if any(part.strip().startswith("-") for part in parts):
            raise ValueError("before the first frame")
        if ":" not in text and not text.endswith("s"):
            time_s = source.time_of(int(text))
            if source.rate_varies and time_s > 0:
                warn(
                    f"{option} {text}: the frame rate of {source.name} varies, so that the frame of this number may be "
                    f"another one: {time_s:.3f} s is used; give a time, such as {option} {time_s:.3f}s"
                )
            return time_s
        seconds = 0.0
        for part in parts:
            seconds = 60 * seconds + float(part)
        if not math.isfinite(seconds):
            raise ValueError("not a time")
        return seconds
    except (ValueError, OverflowError):
        raise BadRequest(f"{option} {text}: expected a frame number, or a time such as 90s or 1:30") from None
