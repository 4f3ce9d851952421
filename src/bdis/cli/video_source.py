"""The options of ``bdis run`` and ``bdis view`` that describe the source of frames, and how it is opened."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from . import terminal
from .camera_options import CameraOptions
from .options import Layout
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.rectifier import Rectifier
    from ..cameras.rig import Rig
    from ..common.arrays import Array
    from ..matching.settings import Settings
    from ..video.sources import Source, StereoFrame

MAX_SHOWN_WARNINGS = 5  # about single frames
FRAMES_BETWEEN_LOOKS = 10  # for a further look at whether frames are rectified
MAX_DAMAGED_FRAMES = 100  # at the start of a source, before it is given up


@dataclass(frozen=True)
class SourceOptions:
    """The options that say where frames come from."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Video file, folder of image pairs, data set, camera (0 or /dev/video0), URL, or a rendered scene "
            "such as render:colon; if RIGHT is given, only the left view.",
        ),
    ]
    right: Annotated[
        str | None, typer.Argument(metavar="RIGHT", help="The right view, if SOURCE is only the left one.")
    ] = None
    layout: Layout = None
    squeezed: Annotated[
        bool,
        typer.Option("--squeezed", help="Each view was squeezed to half its width or height to fit into one image."),
    ] = False
    deinterlace: Annotated[bool, typer.Option("--deinterlace", help="Deinterlace the video.")] = False
    fps: Annotated[
        float | None,
        typer.Option(metavar="N", help="Frame rate of a folder of images, or the one to request from a camera."),
    ] = None


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
    """

    source: Source
    camera: Rectifier | Rig | None
    first: StereoFrame
    remarks: list[str]

    @property
    def rig(self) -> Rig | None:
        """The rectified cameras."""
        from ..cameras.rectifier import Rectifier

        return self.camera.rig if isinstance(self.camera, Rectifier) else self.camera

    @property
    def is_rectified_here(self) -> bool:
        """Whether the frames are raw, and rectified before they are matched."""
        from ..cameras.rectifier import Rectifier

        return isinstance(self.camera, Rectifier)

    def settings_of_rig(self, settings: Settings, assignments: list[str], calib_name: str) -> Settings:
        """The settings with what the rig says of them, see :func:`with_rig`; remarks say so.

        Parameters
        ----------
        settings : Settings
            Of the preset and the assignments.
        assignments : list of str
            Such as ``"patch_size=6"``.
        calib_name : str
            Name of the calibration file; empty if the source brings its own rig.

        Returns
        -------
        Settings
        """
        from .presets import with_rig

        origin = calib_name or self.source.name
        settings, scaled = with_rig(settings, assignments, self.rig, origin)
        self.remarks.extend(scaled)
        return settings

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the rectified frames."""
        from ..cameras.rectifier import Rectifier

        seen = self.camera.left_seen if isinstance(self.camera, Rectifier) else self.first.left
        return seen.shape[0], seen.shape[1]


def open_with_camera(options: SourceOptions, camera: CameraOptions, *, color: bool) -> OpenedSource:
    """Open a source and the calibration of its cameras.

    Parameters
    ----------
    options : SourceOptions
        Where the frames come from.
    camera : CameraOptions
        The cameras.
    color : bool
        Read RGB frames; grey ones take less time.

    Returns
    -------
    OpenedSource

    Raises
    ------
    UsageError
        Options contradict each other.
    ValueError
        There is no frame that can be read, or the calibration does not fit the frames.
    """
    from ..video.sources import open_source

    camera.check()
    source = open_source(
        options.source, options.right, layout=options.layout, squeezed=options.squeezed,
        deinterlace=options.deinterlace, fps=options.fps, color=color,
    )  # fmt: skip
    try:
        first = _first_frame(source)
        rig, raw_cameras, remarks = camera.load(_pairs(first, source))
        if not source.is_live:  # it is opened again at the first frame; a camera goes on
            source.close()
        if raw_cameras is not None:
            return OpenedSource(source, raw_cameras.rectify(), first, remarks)
        return OpenedSource(source, rig or source.rig, first, remarks)
    except BaseException:
        source.close()
        raise


def _first_frame(source: Source) -> StereoFrame:
    """The first frame that is not damaged."""
    from ..video.sources import BadFrame

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


def _pairs(first: StereoFrame, source: Source) -> Iterator[tuple[Array, Array]]:
    """The images of the first frame, then those of some that follow, with time between them for the scene to change."""
    from ..cameras.raw_or_rectified import MAX_PAIRS
    from ..video.sources import BadFrame

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
    UsageError
        The source ends before that time.
    """
    from ..video.sources import BadFrame

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
        raise UsageError(f"--start is at {start_s:.3f} s, after the end of {source.name}{length}")
    return found


class FrameWarnings:
    """Warnings about single frames: the first few are printed, all are counted.

    Attributes
    ----------
    count : int
        Warnings about single frames so far.
    warnings : list of str
        All warnings that were printed.
    """

    def __init__(self) -> None:
        self.count = 0
        self.warnings: list[str] = []

    def __call__(self, text: str) -> None:
        """Count a warning about a single frame, and print it if it is one of the first."""
        self.count += 1
        if self.count <= MAX_SHOWN_WARNINGS:
            self.warn(text)
        if self.count == MAX_SHOWN_WARNINGS:
            terminal.note("further warnings about frames are only counted")

    def warn(self, text: str) -> None:
        """Print a warning about the whole source."""
        self.warnings.append(text)
        terminal.warn(text)


def parse_time(text: str | None, source: Source, option: str) -> float | None:
    """Time in s of ``90s``, ``1:30``, ``0:01:30.5``, or of a frame number such as ``2250``.

    Parameters
    ----------
    text : str or None
        The value of the option.
    source : Source
        Knows the times of its frames.
    option : str
        The option, for the message.

    Returns
    -------
    float or None
        None if ``text`` is None.

    Raises
    ------
    UsageError
        The text has another form.
    """
    if text is None:
        return None
    try:
        if ":" not in text and not text.endswith("s"):
            return source.time_of(int(text))
        seconds = 0.0
        for part in text.removesuffix("s").split(":"):
            seconds = 60 * seconds + float(part)
        if not math.isfinite(seconds):
            raise ValueError("not a time")
        return seconds
    except ValueError:
        raise UsageError(f"{option} {text}: expected a frame number, or a time such as 90s or 1:30") from None
