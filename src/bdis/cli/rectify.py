"""``bdis rectify``: rectify a stereo pair."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .camera_options import CameraOptions
from .image_pair import ImagePair
from .options import CalibRight, CalibScale, Debug, Json, Out, Unit, must_be
from .output_folder import output_folder

if TYPE_CHECKING:
    from ..cameras.raw_or_rectified import RowEvidence

FILES = ["left.png", "right.png", "rig.toml"]


def rectify(
    *,
    calib: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Calibration file of the cameras; twice if there are two.")
    ],
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="0..1",
            help="Zoom: 0 crops until every pixel was seen by the camera, 1 keeps everything it saw.",
            callback=must_be("0 to 1", lambda alpha: 0 <= alpha <= 1),
        ),
    ] = None,
    out: Out = Path("bdis-rectified"),
    pair: ImagePair,
    calib_right: CalibRight = None,
    calib_scale: CalibScale = 1.0,
    unit: Unit = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rectify a stereo pair, so that rows correspond.

    \b
    bdis rectify Left_Image.png Right_Image.png --calib endoscope_calibration.yaml -o rectified
    bdis match rectified/left.png rectified/right.png --calib rectified/rig.toml

    Files written: left.png, right.png and their calibration rig.toml.
    """
    camera = CameraOptions(calib, calib_right=calib_right, calib_scale=calib_scale, unit=unit, rectify=True)
    camera.check()
    with terminal.working("rectifying"):
        from ..cameras.checks import check_rectification
        from ..cameras.raw_or_rectified import weigh_rows
        from ..files.images import write_image

        left, right = pair.read()
        loaded = camera.load([(left, right)])
        assert loaded.raw is not None  # because rectify=True
        evidence = weigh_rows([(left, right)], loaded.raw.rectify())  # without the zoom, which makes rows differ less
        with output_folder(out, [*vars(pair).values(), *camera.calib_files]) as stage:
            rectifier = loaded.raw.rectify(alpha=alpha)
            left, right = rectifier(left, right)
            check = check_rectification(left, right)
            write_image(stage / "left.png", left)
            write_image(stage / "right.png", right)
            rectifier.rig.save(stage / "rig.toml")
    for text in [*_doubts(evidence, camera.calib_name), *check.warnings]:
        terminal.warn(text)
    rig = rectifier.rig
    terminal.table(
        [
            *(("calibration", remark) for remark in loaded.remarks),
            ("rig", f"focal length {rig.focal_px:.2f} px, baseline {rig.baseline_mm:.4g} mm"),
            ("rows differ by", f"{check.vertical_px:.2f} px (median of {check.features} features)"),
            ("written", f"{out}: {', '.join(FILES)}"),
        ]
    )
    terminal.give(
        {
            "rig": asdict(rig),
            "calibration": loaded.remarks,
            "check": asdict(check),
            "folder": out,
            "files": FILES,
        }
    )


def _doubts(evidence: RowEvidence, calib_name: str) -> list[str]:
    """What speaks against rectifying these images with this calibration."""
    if evidence.verdict == "rectified":
        return [
            f"the images look rectified already: {evidence.reason}. If they are, those written here are rectified "
            "twice, and their depth is wrong"
        ]
    if evidence.verdict == "neither":
        return [
            f"{calib_name} does not look like the calibration of these images: {evidence.reason}. Are they swapped, or "
            "of another size or camera?"
        ]
    return []
