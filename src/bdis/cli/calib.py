"""``bdis calib``: inspect calibration files, and write them in the formats of other tools."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from . import terminal
from .options import CalibRight, Debug, Json, Unit, must_be, parse_size
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.formats import Unit as LengthUnit
    from ..cameras.rig import Rig

    Rows = list[tuple[object, ...]]

DEPTHS_MM = (50, 100, 200)
FORMATS = ("bdis", "opencv", "ros", "kalibr")

calib_app = typer.Typer(rich_markup_mode=None)


@calib_app.callback()
def calib() -> None:
    """Inspect calibration files, and convert them."""


@calib_app.command("show")
def calib_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Calibration file; for ROS, that of the left camera.")],
    calib_right: CalibRight = None,
    unit: Unit = None,
    baseline: Annotated[
        float | None, typer.Option(metavar="MM", help="Distance between the cameras, if the file does not have it.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Size of the images, if the file does not have it.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what is in a calibration file.

    \b
    bdis calib show endoscope_calibration.yaml
    bdis calib show calib.txt --json
    bdis calib show intrinsics.txt --baseline 5.4 --size 640x480

    Shown are its format and unit, the cameras, the field of view, and the depth resolution at 50, 100 and 200 mm.
    """
    import numpy as np

    from ..cameras.calibration import StereoCalibration
    from ..cameras.calibration_doubts import doubts_of, told
    from ..cameras.formats import read_calibration
    from ..cameras.rig import Rig

    given_size = None if size is None else parse_size(size)
    found = read_calibration(file, calib_right, unit=cast("LengthUnit | None", unit), baseline_mm=baseline)
    image_size = found.size or given_size
    rows: Rows = [("file", file), ("format", found.format), ("unit", found.unit)]
    rows += [("remark", remark) for remark in found.remarks_on_baseline(file.name)]
    shown_size = (
        f"{image_size[0]}x{image_size[1]}" if image_size else "not in the file; for the field of view give --size"
    )
    rows.append(("image size", shown_size))
    if found.assumed:
        rows.append(("assumed", found.assumed))
    data: dict[str, Any] = {"file": file, "format": found.format, "unit": found.unit, "size": image_size}
    if found.raw_lacks:
        rows.append(("raw cameras", f"not known without {found.raw_lacks}"))
        data["raw_lacks"] = found.raw_lacks
    elif found.raw is not None:
        rows += _raw_rows(found.raw)
        data["raw"] = {name: np.asarray(value).tolist() for name, value in found.raw.items()}
    try:
        rig = Rig(**found.rectified, size=image_size) if found.rectified is not None else None
        if rig is None and image_size is not None and found.raw is not None:
            rig = StereoCalibration(**found.raw, size=image_size).rectify().rig
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {error}") from error
    if rig is not None:
        rows += _rig_rows(rig)
        data |= {"rig": {**asdict(rig), "doffs": rig.doffs}, "depth_resolution_mm_per_px": _resolution(rig)}
        if rig.size is not None:
            data["field_of_view_degrees"] = _field_of_view(rig)
    told(doubts_of(found, file.name, given_size), terminal.warn)
    terminal.table(rows)
    terminal.give(data)


@calib_app.command("convert")
def calib_convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help="Calibration file; for ROS, that of the left camera.")],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File to write, which must not exist; for ROS left.yaml, beside right.yaml."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FORMATS),
            help="Format to write.  [default: bdis for .toml and .json]",
            callback=must_be(", ".join(FORMATS), lambda name: name in FORMATS),
        ),
    ] = None,
    calib_right: CalibRight = None,
    unit: Unit = None,
    baseline: Annotated[
        float | None, typer.Option(metavar="MM", help="Distance between the cameras, if the file does not have it.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Size of the images, if the file does not have it.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a calibration in the format of another tool.

    \b
    bdis calib convert stereoParams.mat cameras.toml
    bdis calib convert StereoCalibration.ini cameras.yaml --to opencv
    bdis calib convert camchain.yaml left.yaml --to ros

    What the other format cannot hold is refused, or told. Lengths are in mm in files of OpenCV and bdis, in m in those
    of ROS and Kalibr.
    """
    from ..cameras.calibration_doubts import doubts_of, told, without_distortion
    from ..cameras.convert import write_calibration
    from ..cameras.formats import read_calibration

    if to is None:
        if out.suffix.lower() not in (".toml", ".json"):
            raise UsageError(f"--to is needed to write {out.name}: one of {', '.join(FORMATS)}")
        to = "bdis"
    found = read_calibration(file, calib_right, unit=cast("LengthUnit | None", unit), baseline_mm=baseline)
    if size is not None and found.size is not None and parse_size(size) != found.size:
        raise UsageError(f"--size is {size}, but {file} is for images of {found.size[0]}x{found.size[1]}")
    try:
        remarks = found.remarks_on_baseline(file.name)
        told([*doubts_of(found, file.name), without_distortion(found, file.name)], remarks.append)
        remarks += write_calibration(found, out, to, size=None if size is None else parse_size(size))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file} cannot be written as {to}: {error}") from error
    for remark in remarks:
        terminal.warn(remark)
    terminal.table([("read", f"{file}: {found.format}, unit {found.unit}"), ("written", f"{out}: {to}")])
    terminal.give(
        {"file": file, "format": found.format, "unit": found.unit, "written": out, "as": to, "remarks": remarks}
    )


def _raw_rows(raw: dict[str, Any]) -> Rows:
    """The cameras before rectification."""
    import numpy as np

    rows: Rows = []
    lens = " of a fisheye" if raw.get("fisheye") else ""
    for side in ("left", "right"):
        matrix, distortion = raw[f"{side}_matrix"], raw[f"{side}_distortion"]
        coefficients = " ".join(f"{number:.4g}" for number in distortion)
        rows.append((f"{side} camera", f"focal length {matrix[0, 0]:.2f} x {matrix[1, 1]:.2f} px, "
                     f"centre ({matrix[0, 2]:.2f}, {matrix[1, 2]:.2f}), distortion {coefficients}{lens}"))  # fmt: skip
    angle = math.degrees(math.acos(np.clip((np.trace(raw["rotation"]) - 1) / 2, -1, 1)))
    shift = ", ".join(f"{number:.4g}" for number in raw["translation_mm"])
    rows.append(("left to right", f"translation ({shift}) mm, rotation {angle:.3f} degrees"))
    return rows


def _rig_rows(rig: Rig) -> Rows:
    """The rectified cameras."""
    focal = f"focal length {rig.focal_px:.2f} px"
    rows: Rows = [
        ("rectified", f"{focal}, centre ({rig.cx:.2f}, {rig.cy:.2f}), doffs {rig.doffs:.2f} px"),
        ("baseline", f"{rig.baseline_mm:.4g} mm"),
    ]
    if rig.sigma_scale is not None:
        rows.append(("factor on sigma", rig.about_sigma()))
    if rig.size is not None:
        across, down = _field_of_view(rig)
        rows.append(("field of view", f"{across:.1f} x {down:.1f} degrees"))
    for depth, step in _resolution(rig).items():
        shift = float(rig.disparity(float(depth)))
        rows.append((f"at {depth} mm", f"disparity {shift:.2f} px; an error of 0.1 px is {step / 10:.2g} mm of depth"))
    return rows


def _field_of_view(rig: Rig) -> list[float]:
    """Horizontal and vertical angle of the left camera, in degrees, to the outer edges of the outermost pixels."""
    assert rig.size is not None
    angles = []
    for length, centre in zip(rig.size, (rig.cx, rig.cy)):
        low, high = math.atan((centre + 0.5) / rig.focal_px), math.atan((length - 0.5 - centre) / rig.focal_px)
        angles.append(math.degrees(low + high))
    return angles


def _resolution(rig: Rig) -> dict[str, float]:
    """Change of depth in mm for 1 px of disparity: Z^2 / (f b)."""
    return {str(depth): depth**2 / (rig.focal_px * rig.baseline_mm) for depth in DEPTHS_MM}
