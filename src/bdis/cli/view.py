"""``bdis view``."""

import os
import sys
import webbrowser
from dataclasses import asdict, dataclass
from pathlib import Path

from ..cameras.rectifier import Rectifier
from ..cameras.rig import Rig
from ..matching.settings import Settings
from ..video.sources import Source
from ..viewer import Viewer
from . import terminal
from .inputs import Camera
from .live import Reports, SourceOptions, frame_at, open_with_camera, parse_time
from .presets import parse_settings, with_uncertainty
from .terminal import UsageError


@dataclass(frozen=True)
class Page:
    """Where the page is and what it begins with."""

    host: str = "127.0.0.1"
    port: int = 8080
    browser: bool = True
    out: Path = Path("bdis-view")
    preset: str = "balanced"
    max_depth_mm: float | None = None

    def check(self) -> None:
        """Refuse what makes no sense before anything is opened."""
        if not 0 <= self.port < 65536:
            raise UsageError(f"--port is {self.port}; expected 0 to 65535")
        if self.max_depth_mm is not None and not self.max_depth_mm > 0:
            raise UsageError(f"--max-depth is {self.max_depth_mm:g}; expected a number of mm above 0")


@dataclass(frozen=True)
class Request:
    """The options of the command."""

    source: SourceOptions
    camera: Camera
    assignments: list[str]
    start: str | None
    page: Page


def run_view(request: Request) -> None:
    """Open the source, show it until Ctrl-C."""
    page = request.page
    page.check()
    settings = with_uncertainty(parse_settings(page.preset, request.assignments), request.assignments)
    with terminal.working(f"opening {request.source.left}"):
        source, camera, first, remarks = open_with_camera(request.source, request.camera, color=True)
        start_s = parse_time(request.start, source, "--start") or 0.0
        frame_at(source, start_s, first)
    if source.layout is not None:
        terminal.say(f"views: {source.layout}")
    if remarks:
        terminal.say(f"calibration: {', '.join(remarks)}")
    show(source, camera, settings, page, start_s)


def show(source: Source, camera: Rectifier | Rig | None, settings: Settings, page: Page, start_s: float = 0.0) -> None:
    """A source in the browser, until Ctrl-C."""
    from ..matching.matcher import StereoMatcher
    from ..video.stream.depth_stream import DepthStream

    stream = DepthStream(
        source, StereoMatcher(**asdict(settings)), camera,
        start_s=start_s, paced=True, at_end="wait" if source.length == 1 else "loop", report=Reports(),
    )  # fmt: skip
    viewer = Viewer(
        stream, host=page.host, port=page.port, out=page.out, preset=page.preset, max_depth_mm=page.max_depth_mm,
        is_turning=True, title=f"bdis · {_short(source.name)}",
    )  # fmt: skip
    with viewer:
        others = ", and from other machines under the address of this one" if page.host in ("0.0.0.0", "::") else ""
        terminal.say(f"{source.name} is at {viewer.url}{others}  (Ctrl-C ends)")
        if stream.rig is None:
            terminal.warn("no calibration, so no depth: give --calib FILE, or --focal PX and --baseline MM")
        if page.browser and _has_screen():
            webbrowser.open(viewer.url)
        try:
            with terminal.working("waiting for the first frame"):
                viewer.wait_for_frame()
        except KeyboardInterrupt:
            return
        if source.length == 1:
            stream.use(stream.matcher)  # once more: the first match has loaded the kernels, which takes far longer
        viewer.serve()


def _short(name: str) -> str:
    """The name of a source without its folders.

    >>> _short("/data/left.mp4 and /data/right.mp4")
    'left.mp4 and right.mp4'
    """
    return " and ".join(Path(part).name for part in name.split(" and "))


def _has_screen() -> bool:
    """False where a browser would be one of text, in this terminal."""
    is_unix_desktop = sys.platform not in ("win32", "darwin")
    wanted = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return not is_unix_desktop or any(os.environ.get(name) for name in wanted)
