"""``bdis assess``: how far to trust a disparity map of any matcher."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .camera_options import RigOptions
from .image_pair import ImagePair, MaskOptions
from .match import FORMATS, in_words
from .options import Debug, Json, MaxDepth, Out, parse_names
from .output_folder import output_folder

if TYPE_CHECKING:
    from ..common.arrays import Array
    from ..matching.result import StereoResult

DEFAULT_FORMATS = ["npz", "preview"]  # disparity and depth alone would not show what was found


def assess(
    *,
    left: Annotated[Path, typer.Argument(metavar="LEFT", help="Left image, rectified.")],
    right: Annotated[Path, typer.Argument(metavar="RIGHT", help="Right image, rectified.")],
    disparity: Annotated[
        Path,
        typer.Argument(
            metavar="DISPARITY",
            help="Disparity of the left image in px: TIFF, PFM (Middlebury), NPY, NPZ (bdis) or 16-bit PNG (KITTI).",
        ),
    ],
    unknown: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="Value in px that means unknown, such as -1; infinity and NaN always do."),
    ] = None,
    camera: RigOptions,
    masks: MaskOptions,
    out: Out = Path("bdis-assessed"),
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="NAMES",
            help=f"Files to write: {', '.join(FORMATS)}; separated by commas.  [default: {','.join(DEFAULT_FORMATS)}]",
        ),
    ] = None,
    max_depth: MaxDepth = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Tell how far to trust a disparity map of any matcher.

    \b
    bdis assess left.png right.png disparity.pfm
    bdis assess left.png right.png disparity.tiff --unknown -1 -o result
    bdis assess left.png right.png disparity.png --calib rig.toml --format npz,ply,preview

    The disparity stays as it is. Every pixel gets the probability that it is off by less than 1 px and the variance of
    its error; both are in result.npz. Left pixel x matches right pixel x - disparity.

    Exit code: 0 if all went well, 1 if a file cannot be used, 2 if the command line is wrong.
    """
    from ..matching.assess import assess as assess_map
    from .result_files import summarise_assessed, write_outputs, write_summary

    formats = parse_names("--format", format_ or DEFAULT_FORMATS, FORMATS)
    camera.check()
    images = ImagePair(left, right).read()
    mask_of, mask_warnings = masks.read(images[0].shape)
    given = _read(disparity, images[0].shape, unknown)
    rig, _, remarks = camera.load([images])
    if rig is not None and rig.sigma_scale is not None:
        remarks = [*remarks, f"sigma {rig.about_sigma()}: not used, as it is for disparities of bdis's own matcher"]
    with output_folder(out, [left, right, disparity, *vars(masks).values(), *camera.calib_files]) as stage:
        with terminal.working("assessing"):
            result = assess_map(
                *images, given, left_mask=mask_of.get("left_mask"), right_mask=mask_of.get("right_mask")
            )
        check, warnings = _check(images, result)
        for text in warnings:
            terminal.warn(text)
        summary = {**summarise_assessed(result, rig, max_depth), "assessed": str(disparity), "unknown_px": unknown}
        summary |= {"calibration": remarks, "warnings": [*warnings, *mask_warnings], "check": check}
        with terminal.working("writing"):
            write_outputs(stage, formats, images[0], result, rig, max_depth_mm=max_depth)
            written = write_summary(stage, summary)
    _report(summary, out, written)


def _read(path: Path, shape: tuple[int, ...], unknown: float | None) -> Array:
    """The disparity map as float32, NaN where unknown; ValueError if it cannot be one of these images."""
    import numpy as np

    from ..common.arrays import size_text
    from ..files.maps import stored_disparity
    from ..matching.disparity_px import FARTHEST, as_disparity_px, is_int16

    stored = stored_disparity(path)
    if is_int16(stored):
        raise ValueError(
            f"{path} is int16, which OpenCV uses for 16ths of a px: save disparity.astype(np.float32) / 16 instead, "
            "and add --unknown -1 (OpenCV's mark of unknown pixels if minDisparity is 0)"
        )
    given = as_disparity_px(stored, unknown=unknown, file=path, may_exceed_width=True)  # a warning tells
    if given.shape != shape[:2]:
        raise ValueError(f"{path} is {size_text(given.shape)} but the images are {size_text(shape)}")
    # Nine digits tell any float32 from the next one, so that the advice can be followed to the letter.
    farthest = max(np.nanmin(given, initial=0), np.nanmax(given, initial=0), key=abs)
    if abs(farthest) > FARTHEST:
        raise ValueError(
            f"{path} has a disparity of {farthest:.9g} px; if that means unknown, add --unknown {farthest:.9g}"
        )
    return given


def _check(images: tuple[Array, Array], result: StereoResult) -> tuple[dict[str, Any] | None, list[str]]:
    """Check that pair and disparity fit together; the measurements, and what to warn of."""
    from ..cameras.checks import check_rectification

    # Rows were aligned to judge the disparity, but that itself is as it was given.
    as_given = replace(result, row_offset=0.0, row_tilt=0.0)
    if not result.known.any():
        return None, list(as_given.warnings)
    with terminal.working("checking that the pair is rectified"):
        check = check_rectification(*images, as_given)
    numbers = {name: value for name, value in asdict(check).items() if name != "warnings"}
    return numbers, list(dict.fromkeys([*as_given.warnings, *check.warnings]))


def _report(summary: dict[str, Any], out: Path, written: list[str]) -> None:
    """Print the outcome."""
    width, height = summary["size"]
    rows = [("images", f"{width}x{height}")]
    rows += [("calibration", remark) for remark in summary["calibration"]]
    rows.append(("known", f"{summary['coverage']:.1%} of the pixels"))
    rows.append(("disparity", in_words(summary["disparity_px"], "px")))
    if "depth_mm" in summary:
        rows.append(("depth", in_words(summary["depth_mm"], "mm")))
    if "sigma_mm" in summary:
        rows.append(("depth sigma", in_words(summary["sigma_mm"], "mm")))
    if summary["interval_95_px"]:
        rows.append(("95 % of errors", f"within {summary['interval_95_px']['50%']:.2f} px, median of the pixels"))
        rows.append(("probability", f"{summary['mean_probability']:.1%} on average, of an error below 1 px"))
    rows.append(("written", f"{out}: {', '.join(written)}"))
    terminal.table(rows)
    terminal.give({**summary, "folder": out, "files": written})
