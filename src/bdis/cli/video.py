"""The commands for video and their options: ``run`` and ``view``."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .app import app
from .options import CalibRight, CalibScale, Debug, Json, Layout, Out, UnitOption

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Video, folder of pairs, data set, camera (0 or /dev/video0), URL, or render:colon; or its left view.",
    ),
]
RightArgument = Annotated[
    str | None, typer.Argument(metavar="RIGHT", help="The right view, if SOURCE is only the left one.")
]
Squeezed = Annotated[
    bool, typer.Option("--squeezed", help="Both views were squeezed to half their width (height) to fit one picture.")
]
Deinterlace = Annotated[bool, typer.Option("--deinterlace", help="The video is interlaced.")]
Fps = Annotated[float | None, typer.Option(metavar="N", help="Frames per second of a folder, or to ask of a camera.")]


@app.command(short_help="Depth of a whole video, unattended.")
def run(
    source: SourceArgument,
    right: RightArgument = None,
    calib: options.Calib = None,
    focal: options.Focal = None,
    baseline: options.Baseline = None,
    cx: options.Cx = None,
    cy: options.Cy = None,
    out: Out = Path("bdis-run"),
    save: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Of depth, disparity, probability, sigma, cloud (a file per frame), video (all depth in one lossless "
            "FFV1 file), preview (an MP4 to look at); joined by commas.  [default: video,preview]",
        ),
    ] = None,
    every: Annotated[int, typer.Option(metavar="N", help="Only every so many frames.")] = 1,
    start: Annotated[str | None, typer.Option(metavar="WHEN", help="First frame: a number, 90s or 1:30.")] = None,
    stop: Annotated[str | None, typer.Option(metavar="WHEN", help="The frame after the last.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the last run into DIR stopped.")] = False,
    preset: options.Preset = "balanced",
    set_: options.Set = None,
    max_depth: options.MaxDepth = None,
    depth_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="NEAR,FAR",
            help="Depths in mm (disparities in px without calibration) at the ends of the preview's colours; default: "
            "from the first frames.",
        ),
    ] = None,
    steps_per_mm: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Values of the depth video are N times the depth in mm: 1 are whole mm, as other tools expect it, 100 "
            "keeps hundredths up to 655 mm.",
        ),
    ] = 1,
    layout: Layout = None,
    squeezed: Squeezed = False,
    deinterlace: Deinterlace = False,
    fps: Fps = None,
    rectify: options.Rectify = None,
    calib_right: CalibRight = None,
    calib_scale: CalibScale = 1.0,
    unit: UnitOption = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Match every frame of a video and write depth, disparity, clouds or videos of them, with a manifest.

    \b
    bdis run surgery.mp4 --calib endoscope.yaml -o result
    bdis run left.mp4 right.mp4 --calib endoscope.yaml --start 1:30 --stop 2:00 --save video,cloud --every 5
    bdis run surgery.mp4 --calib endoscope.yaml -o result --resume
    bdis run render:colon --preset fast --save depth

    Ctrl-C, a full disk or a killed process leave what was written so far complete and readable; --resume goes on.
    frames.csv has the time of every frame, manifest.json all settings, rig.toml the rectified cameras.
    """
    from .inputs import Camera
    from .live import SourceOptions
    from .run import Request, run_run

    run_run(
        Request(
            SourceOptions(source, right, layout, squeezed, deinterlace, fps),
            Camera(calib, calib_right, unit, calib_scale, rectify, focal, baseline, cx, cy),
            out, save, every, start, stop, resume, preset, set_ or [], max_depth, depth_range, steps_per_mm,
        )
    )  # fmt: skip


@app.command(short_help="Image, depth, uncertainty and a turning cloud in the browser, live.")
def view(
    source: SourceArgument,
    right: RightArgument = None,
    calib: options.Calib = None,
    focal: options.Focal = None,
    baseline: options.Baseline = None,
    cx: options.Cx = None,
    cy: options.Cy = None,
    preset: options.Preset = "balanced",
    set_: options.Set = None,
    start: Annotated[str | None, typer.Option(metavar="WHEN", help="First frame: a number, 90s or 1:30.")] = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8080,
    browser: options.Browser = True,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where the buttons save screenshots and clouds.")
    ] = Path("bdis-view"),
    max_depth: options.MaxDepth = None,
    layout: Layout = None,
    squeezed: Squeezed = False,
    deinterlace: Deinterlace = False,
    fps: Fps = None,
    rectify: options.Rectify = None,
    calib_right: CalibRight = None,
    calib_scale: CalibScale = 1.0,
    unit: UnitOption = None,
    debug: Debug = False,
) -> None:
    """Watch depth in the browser: image, depth, uncertainty and a coloured cloud, with the settings at hand.

    \b
    bdis view surgery.mp4 --calib endoscope.yaml
    bdis view left.png right.png --calib endoscope.yaml
    bdis view 0 --layout side-by-side --calib endoscope.yaml
    bdis view render:colon
    """
    from .inputs import Camera
    from .live import SourceOptions
    from .view import Page, Request, run_view

    run_view(
        Request(
            SourceOptions(source, right, layout, squeezed, deinterlace, fps),
            Camera(calib, calib_right, unit, calib_scale, rectify, focal, baseline, cx, cy),
            set_ or [], start, Page(host, port, browser, out, preset, max_depth),
        )
    )  # fmt: skip
