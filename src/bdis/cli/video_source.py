"""The options of ``bdis run`` and ``bdis view`` that describe the source of frames, and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .camera_options import CameraOptions
from .options import Layout, Squeezed, must_be

if TYPE_CHECKING:
    from ..video.opened_source import OpenedSource, SourceRequest

MAX_SHOWN_WARNINGS = 5  # about single frames


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The options that say how a source holds its two views."""

    layout: Layout = None
    squeezed: Squeezed = False
    deinterlace: Annotated[bool, typer.Option("--deinterlace", help="Deinterlace the video.")] = False
    fps: Annotated[
        float | None,
        typer.Option(metavar="N", help="Frame rate of a folder of images, or the one to request from a camera."),
    ] = None
    topics: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LEFT RIGHT",
            help="Topics of both views in a recording of ROS.  [default: found by their names and camera_info]",
        ),
    ] = None
    tolerance_ms: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="MS",
            help="By how much the stamps of left and right may differ in a recording of ROS.  [default: a quarter of "
            "the time between frames]",
            callback=must_be("0 to 1000 ms", lambda tolerance: 0 <= tolerance <= 1000),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ViewOptions):
    """The options that say where frames come from."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Video file, folder of image pairs, data set, recording of ROS (.bag, .mcap, or the folder of a "
            "ROS 2 bag), camera (0 or /dev/video0), URL, pipe (- is the standard input), OpenIGTLink server "
            "(igtl://HOST:PORT), or a rendered scene such as render:colon; if RIGHT is given, only the left view.",
        ),
    ]
    right: Annotated[
        str | None, typer.Argument(metavar="RIGHT", help="The right view, if SOURCE is only the left one.")
    ] = None
    pipe_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="What comes through a pipe: y4m, nut, or rawvideo:WIDTHxHEIGHT:PIXELS:FPS such as "
            "rawvideo:1280x480:rgb24:25.  [default: found out]",
        ),
    ] = None
    all_frames: Annotated[
        bool,
        typer.Option("--all-frames", help="Match every frame of a pipe, and let its writer wait; else the newest."),
    ] = False

    def request(self, camera: CameraOptions) -> SourceRequest:
        """The source with its cameras, without what belongs to a command line.

        Raises
        ------
        UsageError
            Options contradict each other.
        """
        from ..video.opened_source import SourceRequest, brings_cameras

        camera.check(rectifies_without_file=brings_cameras(self.source))

        return SourceRequest(
            self.source,
            self.right,
            self.layout,
            self.squeezed,
            self.deinterlace,
            self.fps,
            self.topics,
            self.tolerance_ms,
            self.pipe_format,
            self.all_frames,
            camera.given(),
        )


def say_origin(opened: OpenedSource) -> None:
    """Print how a source was understood, and its calibration."""
    for remark in opened.source.remarks:
        terminal.say(f"source: {remark}")
    if opened.remarks:
        terminal.say(f"calibration: {', '.join(opened.remarks)}")


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
    return options.request(camera).open(color=color, warn=terminal.warn, working=terminal.working)


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
