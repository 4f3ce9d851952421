"""From the options of ``run`` and ``view`` to an open source and its camera."""

import math
from dataclasses import dataclass

from ..cameras.rectifier import Rectifier
from ..cameras.rig import Rig
from ..video.sources import LAYOUTS, BadFrame, Source, StereoFrame, open_source
from . import terminal
from .inputs import Camera
from .terminal import UsageError

MOST_WARNINGS = 5  # about single frames
MOST_BAD = 100  # frames at the start of a source that may be damaged before it is given up


@dataclass(frozen=True)
class SourceOptions:
    """What the user says about where frames come from."""

    left: str
    right: str | None = None
    layout: str | None = None
    squeezed: bool = False
    deinterlace: bool = False
    fps: float | None = None

    def open(self, *, color: bool) -> Source:
        """The source, with nothing opened yet."""
        if self.layout is not None and self.layout not in LAYOUTS:
            raise UsageError(f"--layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")
        return open_source(
            self.left, self.right, layout=self.layout, squeezed=self.squeezed, deinterlace=self.deinterlace,
            fps=self.fps, color=color,
        )  # fmt: skip


def open_with_camera(
    options: SourceOptions, camera: Camera, *, color: bool
) -> tuple[Source, Rectifier | Rig | None, StereoFrame, list[str]]:
    """A source, what rectifies its frames or knows their rig, its first frame, and remarks in words.

    A file is back at its start.
    """
    camera.check()
    source = options.open(color=color)
    try:
        first = _first_frame(source)
        rig, raw_cameras, remarks = camera.load(first.left.shape)
        if not source.is_live:  # back to the start; a camera would only have to be opened again
            source.close()
        if raw_cameras is not None:
            return source, raw_cameras.rectify(), first, [*remarks, "images rectified with it"]
        return source, rig or source.rig, first, remarks
    except BaseException:
        source.close()
        raise


def _first_frame(source: Source) -> StereoFrame:
    problem: BadFrame | None = None
    for _ in range(MOST_BAD):
        try:
            frame = source.read()
        except BadFrame as error:
            problem = problem or error
            continue
        if frame is not None:
            return frame
        break
    raise ValueError(f"{source.name} holds no frames{f' that can be used: {problem}' if problem else ''}")


def frame_at(source: Source, start_s: float, first: StereoFrame) -> StereoFrame:
    """The frame where the work will begin; what comes before may be black, or of something else."""
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
        length = "" if source.length is None else f": it has {source.length} frames"
        raise UsageError(f"--start is at {start_s:.3f} s, where {source.name} is over{length}")
    return found


class Reports:
    """Sentences about single frames: the first few are shown, all are counted."""

    def __init__(self) -> None:
        self.count = 0
        self.warnings: list[str] = []

    def __call__(self, text: str) -> None:
        self.count += 1
        if self.count <= MOST_WARNINGS:
            self.warn(text)
        if self.count == MOST_WARNINGS:
            terminal.note("further such warnings are only counted")

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        terminal.warn(text)


def parse_time(text: str | None, source: Source, name: str) -> float | None:
    """Seconds of ``90s``, ``1:30``, ``0:01:30.5``, or of a frame number such as ``2250``."""
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
        raise UsageError(f"{name} {text}: expected a frame number, or a time such as 90s or 1:30") from None
