"""``bdis view``: depth in the browser, live."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .camera_options import CameraOptions
from .live_options import LiveOptions, LiveOutputs
from .options import AverageFrames, Debug, MaxDepth, Preset, Set, Start, must_be
from .video_source import FrameWarnings, SourceOptions, open_with_camera, say_origin

if TYPE_CHECKING:
    from ..cameras.rectifier import Rectifier
    from ..cameras.rig import Rig
    from ..matching.settings import Settings
    from ..video.sources import Source


@dataclass(frozen=True)
class PageOptions:
    """The options that say where the page is."""

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 makes the page visible to other machines, with a token in its address.",
        ),
    ] = "127.0.0.1"
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name under which other machines open the page, if not by number or this machine's own; repeatable.",
        ),
    ] = None
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Port to listen on; if it is in use, the next free one is taken.",
            callback=must_be("0 to 65535", lambda port: 0 <= port < 65536),
        ),
    ] = 8080
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True


def view(
    *,
    camera: CameraOptions,
    preset: Preset = "balanced",
    set_: Set = None,
    average_frames: AverageFrames = True,
    start: Start = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of this machine for what is saved on the page; without it, the browser downloads it.",
        ),
    ] = None,
    max_depth: MaxDepth = None,
    page: PageOptions,
    live: LiveOptions,
    source: SourceOptions,
    debug: Debug = False,
) -> None:
    """Show image, depth, uncertainty and cloud in the browser, live.

    \b
    bdis view surgery.mp4 --calib endoscope.yaml
    bdis view left.png right.png --calib endoscope.yaml
    bdis view 0 --layout side-by-side --calib endoscope.yaml
    bdis view recording.bag
    bdis view render:colon

    The settings can be changed on the page. Ctrl-C ends.
    """
    from ..cameras.rig_settings import with_uncertainty
    from ..video.opened_source import frame_at, parse_time
    from .presets import parse_settings

    settings = with_uncertainty(parse_settings(preset, set_ or []), set_ or [])
    with terminal.working("opening the source"):
        opened = open_with_camera(source, camera, color=True)
        start_s = parse_time(start, opened.source, "--start", terminal.warn) or 0.0
        frame_at(opened.source, start_s, opened.first)
    settings = opened.settings_of_rig(settings, set_ or [])
    if opened.source.layout is not None:
        terminal.say(f"layout: {opened.source.layout}")
    say_origin(opened)
    with live.open(opened.rig, max_depth) as sending:
        show(
            opened.source, opened.camera, settings, page, preset=preset, out=out, max_depth_mm=max_depth,
            start_s=start_s, average_frames=average_frames, live=sending,
        )  # fmt: skip
    for _, sent in sending.rows():
        terminal.say(sent)


def show(
    source: Source,
    camera: Rectifier | Rig | None,
    settings: Settings,
    page: PageOptions,
    *,
    preset: str,
    out: Path | None,
    max_depth_mm: float | None = None,
    start_s: float = 0.0,
    average_frames: bool = True,
    live: LiveOutputs | None = None,
) -> None:
    """Show a source in the browser until Ctrl-C.

    Parameters
    ----------
    source : Source
        Where the frames come from.
    camera : Rectifier, Rig or None
        What rectifies the frames, or their cameras.
    settings : Settings
        Settings of the matcher.
    page : PageOptions
        Where the page is.
    preset : str
        The preset that the page shows as chosen.
    out : Path or None
        Folder for screenshots and clouds; None: the browser downloads them.
    max_depth_mm : float, optional
        Depths beyond this are not shown.
    start_s : float, default 0
        Where the source starts, in s.
    average_frames : bool, default True
        Average what stands still over time; can be changed on the page.
    live : LiveOutputs, optional
        What else gets the frames.
    """
    from ..matching.matcher import StereoMatcher
    from ..video.stream.depth_stream import DepthStream
    from ..viewer import Viewer
    from ..viewer.screen import has_screen

    stream = DepthStream(
        source, StereoMatcher(**asdict(settings)), camera,
        start_s=start_s, video=average_frames, paced=True,
        at_end="stop" if source.is_live else "wait" if source.length == 1 else "loop",
        report=FrameWarnings(),
    )  # fmt: skip
    viewer = Viewer(
        stream, host=page.host, port=page.port, out=out, preset=preset, max_depth_mm=max_depth_mm,
        is_turning=True, title=f"bdis · {_short(source.name)}", names=page.name or (),
        on_frame=None if live is None else live.offer,
    )  # fmt: skip
    with viewer:
        terminal.say(f"{source.name} can be seen at {viewer.url}  (Ctrl-C ends)")
        if viewer.shared_url:
            terminal.say(f"from other machines: {viewer.shared_url}")
            terminal.warn(
                "the page can be opened from other machines: whoever has this address sees the pictures and can change "
                "the settings, and what is sent is not encrypted; use it only in a network that you trust"
            )
        if stream.rig is None:
            terminal.warn("no calibration, so no depth: give --calib FILE, or --focal PX and --baseline MM")
        if page.browser and has_screen():
            webbrowser.open(viewer.url)
        try:
            with terminal.working("waiting for the first frame"):
                viewer.wait_for_frame()
        except KeyboardInterrupt:
            return
        if source.length == 1:
            stream.use(stream.matcher)  # match again: the time of the first match includes loading the kernels
        viewer.serve()


def _short(name: str) -> str:
    """The name of a source without folders.

    >>> _short("/data/left.mp4 and /data/right.mp4")
    'left.mp4 and right.mp4'
    """
    return " and ".join(Path(part).name for part in name.split(" and "))
