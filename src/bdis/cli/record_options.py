"""The options of ``bdis run`` and ``bdis batch run`` that say what is recorded of a source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .bag_options import BagOptions
from .options import AverageFrames, MaxDepth, Preset, Set, Start, must_be, parse_names
from .terminal import UsageError

if TYPE_CHECKING:
    from ..video.opened_source import SourceRequest
    from ..video.recording.run_request import RunRequest


@dataclass(frozen=True, kw_only=True)
class RecordOptions(BagOptions):
    """The options that say what is recorded."""

    save: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="What to write, separated by commas. One file per frame: depth, disparity, probability, left (the "
            "rectified left image), sigma (the standard deviation of the depth), cloud. One file in all: video (the "
            "depth, lossless FFV1), preview (an MP4 to look at), bag (MCAP of ROS 2), ros1-bag (.bag of ROS 1), "
            "foxglove (an MCAP that Foxglove opens).  [default: video,preview]",
        ),
    ] = None
    every: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Process only every Nth frame.",
            callback=must_be("1 or more", lambda every: every >= 1),
        ),
    ] = 1
    start: Start = None
    stop: Annotated[str | None, typer.Option(metavar="TIME", help="Where to stop; this frame is not processed.")] = None
    preset: Preset = "balanced"
    set_: Set = None
    average_frames: AverageFrames = True
    max_depth: MaxDepth = None
    depth_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="NEAR,FAR",
            help="Range of the preview's colours: depth in mm, or disparity in px without calibration.  [default: "
            "from frames of the whole clip; live, adapted slowly]",
        ),
    ] = None
    steps_per_mm: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Resolution of the depth video, whose values are the depth in mm times N: 100 stores hundredths of a "
            "mm up to 655.35 mm, 1 whole mm up to 65.5 m. What is farther is unknown in the video, and counted.",
        ),
    ] = 100

    def request(self, source: SourceRequest, *, sends: bool = False) -> RunRequest:
        """All of it, without what belongs to a command line; frames may be sent to other programs as well."""
        from ..video.recording import OUTPUTS
        from ..video.recording.run_request import DEFAULT_SAVE, RunRequest

        save = None if self.save is None else tuple(parse_names("--save", self.save, tuple(OUTPUTS)))
        return RunRequest(
            source, save, self.every, self.start, self.stop, self.preset, tuple(self.set_ or ()), self.average_frames,
            self.max_depth, _parse_range(self.depth_range), self.steps_per_mm, self.bag_plan(save or DEFAULT_SAVE),
            sends,
        )  # fmt: skip


def _parse_range(text: str | None) -> tuple[float, float] | None:
    """The two numbers of ``--range``."""
    if text is None:
        return None
    from ..display.colors import is_range

    try:
        near, far = (float(part) for part in text.split(","))
    except ValueError:
        near = far = math.nan
    if not is_range(near, far):
        raise UsageError(f"--range {text}: expected NEAR,FAR such as 30,120, the clearly smaller number first")
    return near, far
