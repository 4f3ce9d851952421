"""From the options of ``run`` and ``view`` to an open source and its camera."""

from dataclasses import dataclass

from ..rectify import Rectifier
from ..rig import Rig
from ..sources import LAYOUTS, BadFrame, Source, StereoFrame, open_source
from .inputs import Camera
from .terminal import UsageError

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
    for _ in range(MOST_BAD):
        try:
            frame = source.read()
        except BadFrame as error:
            last = error
            continue
        if frame is None:
            raise ValueError(f"{source.name} holds no frames")
        return frame
    raise ValueError(f"{source.name}: none of the first {MOST_BAD} frames can be read; the last error was: {last}")


def parse_time(text: str | None, source: Source, name: str) -> float | None:
    """Seconds of ``90s``, ``1:30``, ``0:01:30.5``, or of a frame number such as ``2250``."""
    if text is None:
        return None
    try:
        if ":" in text:
            seconds = 0.0
            for part in text.split(":"):
                seconds = 60 * seconds + float(part)
            return seconds
        if text.endswith("s"):
            return float(text[:-1])
        return source.time_of(int(text))
    except ValueError as error:
        raise UsageError(f"{name} {text}: expected a frame number, 90s or 1:30 ({error})") from None
