"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer


def presets() -> list[str]:
    """Names of the presets, for completion."""
    from ..matching.settings import PRESETS

    return list(PRESETS)


Json = Annotated[bool, typer.Option("--json", help="Answer with JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for what is written.")]
Left = Annotated[Path, typer.Argument(metavar="LEFT", help="Left image, or both in one with --layout.")]
Right = Annotated[Path | None, typer.Argument(metavar="RIGHT", help="Right image.")]
Layout = Annotated[
    str | None,
    typer.Option(
        help="Both views are in one picture: side-by-side (left first) or top-bottom (left on top).",
        autocompletion=lambda: ["side-by-side", "top-bottom"],
    ),
]
CalibRight = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Right camera's file of a ROS pair, if not named like the left's.")
]
UnitOption = Annotated[
    str | None, typer.Option("--unit", metavar="mm|cm|m", help="Unit of the calibration file, if not its usual one.")
]
CalibScale = Annotated[
    float, typer.Option(metavar="FACTOR", help="The images were resized by this since they were calibrated.")
]
Calib = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Calibration: OpenCV, ROS, Kalibr, Middlebury, K.txt, bdis.")
]
Focal = Annotated[float | None, typer.Option(metavar="PX", help="Focal length, instead of --calib.")]
Baseline = Annotated[float | None, typer.Option(metavar="MM", help="Distance between the cameras.")]
Cx = Annotated[float | None, typer.Option(metavar="PX", help="Principal point; default: the centre.")]
Cy = Annotated[float | None, typer.Option(metavar="PX")]
Preset = Annotated[str, typer.Option(help="See: bdis presets", autocompletion=presets)]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]
Rectify = Annotated[
    bool | None,
    typer.Option("--rectify/--no-rectify", help="Rectify first; default: if the calibration is of raw cameras."),
]
MaxDepth = Annotated[float | None, typer.Option(metavar="MM", help="What is further counts as unknown.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines look as well.")]
Port = Annotated[int, typer.Option(help="The next free one is taken if it is in use.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")]
