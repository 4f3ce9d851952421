"""``bdis match``: disparity, depth and a point cloud of one stereo pair."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .camera_options import CameraOptions
from .image_pair import ImagePair, MaskOptions
from .options import Debug, Json, MaxDepth, Out, Preset, Set, parse_names
from .output_folder import output_folder

if TYPE_CHECKING:
    from ..cameras.rectifier import Rectifier
    from ..common.arrays import Array
    from ..matching.result import StereoResult
    from ..matching.settings import Settings

FORMATS = ("tiff", "pfm", "npy", "npz", "png", "ply", "preview")
DEFAULT_FORMATS = ["tiff", "ply", "preview"]
TIMED_FRAMES = 5  # after the first match, which loads the kernels


def match(
    *,
    camera: CameraOptions,
    preset: Preset = "balanced",
    set_: Set = None,
    masks: MaskOptions,
    out: Out = Path("bdis-output"),
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="NAMES",
            help=f"Files to write: {', '.join(FORMATS)}; separated by commas.  [default: {','.join(DEFAULT_FORMATS)}]",
        ),
    ] = None,
    max_depth: MaxDepth = None,
    pair: ImagePair,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute disparity, depth and a point cloud of an image pair.

    \b
    bdis match left.png right.png --calib calibration.yaml
    bdis match left.png right.png --focal 695.9 --baseline 5.4 --max-depth 200 -o result
    bdis match frame.png --layout side-by-side --calib endoscope_calibration.yaml
    bdis match left.png right.png --preset fast --set min_probability=0.2 --format pfm,png
    bdis match left.png right.png --calib K.txt --json > result.json

    Depth is in mm and needs a calibration; without one, only the disparity is computed. If the calibration can rectify,
    the rows of features tell whether the images are rectified already, or it is done first.

    Exit code: 0 if all went well, 1 if a file cannot be used, 2 if the command line is wrong.
    """
    from .presets import parse_settings, with_rig, with_uncertainty
    from .result_files import summarise, write_outputs, write_summary

    settings = with_uncertainty(parse_settings(preset, set_ or []), set_ or [])
    formats = parse_names("--format", format_ or DEFAULT_FORMATS, FORMATS)
    camera.check()
    left, right = pair.read()
    mask_of = masks.read(left.shape)
    rig, raw_cameras, remarks = camera.load([(left, right)])
    with output_folder(out, [*vars(pair).values(), *vars(masks).values(), *camera.calib_files]) as stage:
        if raw_cameras is not None:
            with terminal.working("rectifying"):
                rectifier = raw_cameras.rectify()
                left, right = rectifier(left, right)
                mask_of = _rectified_masks(rectifier, mask_of)
            rig = rectifier.rig
        settings, scaled = with_rig(settings, set_ or [], rig, camera.calib_name)
        remarks += scaled
        result, milliseconds = _timed_match(settings, left, right, mask_of)
        check, warnings = _check(left, right, result, may_be_raw=bool(camera.calib) and raw_cameras is None)
        summary = summarise(result, rig, settings, preset, max_depth)
        summary |= {"ms_per_frame": milliseconds, "calibration": remarks, "warnings": warnings, "check": check}
        with terminal.working("writing"):
            write_outputs(stage, formats, left, result, rig, max_depth_mm=max_depth)
            written = write_summary(stage, summary)
    _report(summary, out, written)


def _rectified_masks(rectifier: Rectifier, masks: dict[str, Array]) -> dict[str, Array]:
    """The masks after rectification, which also leave out what the cameras did not see."""
    import numpy as np

    whole = np.full(rectifier.left_seen.shape, 255, np.uint8)
    given = [np.where(masks.get(name, whole) > 0, 255, 0).astype(np.uint8) for name in ("left_mask", "right_mask")]
    left, right = rectifier(*given)
    return {"left_mask": left == 255, "right_mask": right == 255}


def _timed_match(settings: Settings, left: Array, right: Array, masks: dict[str, Any]) -> tuple[StereoResult, float]:
    """The result, and the median time of a match in ms without the time to load the kernels."""
    import numpy as np

    from ..matching.matcher import StereoMatcher

    matcher = StereoMatcher(settings)
    with terminal.working("matching"):
        matcher.match(left, right, **masks)
    times = []
    with terminal.working("measuring the time of a match"):
        for _ in range(TIMED_FRAMES):
            begin = time.perf_counter()
            result = matcher.match(left, right, **masks)
            times.append(time.perf_counter() - begin)
    return result, 1e3 * float(np.median(times))


def _check(left: Array, right: Array, result: StereoResult, *, may_be_raw: bool) -> tuple[dict[str, Any], list[str]]:
    """Check that the pair is rectified; the measurements, and the warnings, which are printed."""
    from ..cameras.checks import check_rectification

    with terminal.working("checking that the pair is rectified"):
        check = check_rectification(left, right, result)
    warnings = list(check.warnings)
    if not check.rectified and may_be_raw:
        warnings.append("if these images are not rectified yet, add --rectify")
    for text in warnings:
        terminal.warn(text)
    return {name: value for name, value in asdict(check).items() if name != "warnings"}, warnings


def _report(summary: dict[str, Any], out: Path, written: list[str]) -> None:
    """Print the outcome."""
    has_depth = "depth_mm" in summary
    width, height = summary["size"]
    rows = [("images", f"{width}x{height}{bits_in_words(summary['bits'])}, preset {summary['preset']}")]
    rows += [("calibration", remark) for remark in summary["calibration"]]
    rows.append(("known", f"{summary['coverage']:.1%} of the pixels"))
    rows.append(("disparity", in_words(summary["disparity_px"], "px")))
    if has_depth:
        rows.append(("depth", in_words(summary["depth_mm"], "mm")))
    if "sigma_mm" in summary:
        rows.append(("depth sigma", in_words(summary["sigma_mm"], "mm")))
    if summary["disparity_px"] and (summary["row_offset_px"] or summary["row_tilt"]):
        rows.append(("rows", rows_in_words(summary["row_offset_px"], summary["row_tilt"])))
    rows.append(("time", f"{summary['ms_per_frame']:.1f} ms per frame"))
    rows.append(("written", f"{out}: {', '.join(written)}"))
    terminal.table(rows)
    if not has_depth:
        terminal.say("No depth: give --calib FILE, or --focal PX and --baseline MM.")
    terminal.give({**summary, "folder": out, "files": written})


def rows_in_words(offset_px: float, tilt: float) -> str:
    """What was corrected.

    >>> rows_in_words(-1.234, 0.002)
    'right image 1.23 px higher, tilted by 2.0 px per 1000 px; corrected'
    """
    tilted = f", tilted by {1000 * tilt:.1f} px per 1000 px" if tilt else ""
    return f"right image {abs(offset_px):.2f} px {'lower' if offset_px > 0 else 'higher'}{tilted}; corrected"


def bits_in_words(bits: int | None) -> str:
    """What is said of pixels with more than 8 bits.

    >>> bits_in_words(12)
    ', 12 bits (--set bits=N if that is wrong)'
    """
    return f", {bits} bits (--set bits=N if that is wrong)" if bits is not None and bits > 8 else ""


def in_words(percentiles: dict[str, float] | None, unit: str) -> str:
    """Percentiles 5, 50 and 95 of something.

    >>> in_words({"5%": 40.0, "50%": 51.234, "95%": 60.0}, "mm")
    'median 51.2 mm, 90 % between 40 and 60 mm'
    """
    if not percentiles:
        return "nothing known"
    low, middle, high = (f"{percentiles[name]:.3g}" for name in ("5%", "50%", "95%"))
    return f"median {middle} {unit}, 90 % between {low} and {high} {unit}"
