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
from .other_methods import NetworkOption, OtherMethod, chosen_methods
from .output_folder import output_folder
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.rectifier import Rectifier
    from ..cameras.rig import Rig
    from ..common.arrays import Array
    from ..matching.result import StereoResult
    from ..matching.settings import Settings

FORMATS = ("tiff", "pfm", "npy", "npz", "png", "ply", "preview")
DEFAULT_FORMATS = ["tiff", "ply", "preview"]
DEFAULT_PRESET = "balanced"
TIMED_FRAMES = 5  # after the first match, which loads the kernels


def match(
    *,
    camera: CameraOptions,
    preset: Preset = DEFAULT_PRESET,
    set_: Set = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Match with another method instead of a preset, such as sgbm, psmnet or onnx:FILE; bdis bench --list "
            "shows them.",
        ),
    ] = None,
    weights: Annotated[Path | None, typer.Option(metavar="FILE", help="Weights of the network.")] = None,
    network_option: NetworkOption = None,
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
    bdis match left.png right.png --method psmnet --weights pretrained_model_KITTI2015.tar

    Depth is in mm and needs a calibration; without one, only the disparity is computed. If the calibration can rectify,
    the rows of features tell whether the images are rectified already, or it is done first.

    Exit code: 0 if all went well, 1 if a file cannot be used, 2 if the command line is wrong.
    """
    from .result_files import describe, write_outputs, write_summary

    way = _chosen_way(method, weights, network_option or [], preset, set_ or [])
    formats = parse_names("--format", format_ or DEFAULT_FORMATS, FORMATS)
    camera.check()
    left, right = pair.read()
    mask_of, mask_warnings = masks.read(left.shape)
    rig, raw_cameras, remarks = camera.load([(left, right)])
    inputs = [*vars(pair).values(), *vars(masks).values(), *camera.calib_files, weights]
    with output_folder(out, inputs) as stage:
        if raw_cameras is not None:
            with terminal.working("rectifying"):
                rectifier = raw_cameras.rectify()
                left, right = rectifier(left, right)
                mask_of = _rectified_masks(rectifier, mask_of)
            rig = rectifier.rig
        remarks += way.use_rig(rig, camera.calib_name)
        result, milliseconds = way.match(left, right, mask_of)
        check, warnings = _check(
            left, right, result,
            may_be_raw=bool(camera.calib) and raw_cameras is None,
            is_cut=pair.layout is not None and raw_cameras is None,
        )  # fmt: skip
        warnings += [*way.warnings, *mask_warnings]
        summary = {**way.about(), **describe(result, rig, max_depth)}
        summary |= {"ms_per_frame": milliseconds, "calibration": remarks, "warnings": warnings, "check": check}
        with terminal.working("writing"):
            write_outputs(stage, formats, left, result, rig, max_depth_mm=max_depth)
            written = write_summary(stage, summary)
    _report(summary, out, written)


class PresetMatching:
    """Matching with a preset of our own, and changes of its settings.

    Parameters
    ----------
    preset : str
    assignments : list of str
        Such as ``"patch_size=6"``.
    """

    def __init__(self, preset: str, assignments: list[str]):
        from ..cameras.rig_settings import with_uncertainty
        from .presets import parse_settings

        self._preset, self._assignments = preset, assignments
        self._settings = with_uncertainty(parse_settings(preset, assignments), assignments)
        self.warnings: list[str] = []

    def use_rig(self, rig: Rig | None, origin: str) -> list[str]:
        """Take the range of disparities and the factor on sigma from the rig; what to remark of that."""
        from ..cameras.rig_settings import with_rig

        self._settings, remarks = with_rig(self._settings, self._assignments, rig, origin)
        return remarks

    def match(self, left: Array, right: Array, masks: dict[str, Any]) -> tuple[StereoResult, float]:
        """The result and the time of a match in ms."""
        return _timed_match(self._settings, left, right, masks)

    def about(self) -> dict[str, Any]:
        """What it was made with."""
        from .result_files import made_with

        return made_with(self._settings, self._preset)


def _chosen_way(
    method: str | None, weights: Path | None, options: list[str], preset: str, assignments: list[str]
) -> PresetMatching | OtherMethod:
    """How to match, as the options of the command say."""
    if method is None:
        if weights is not None or options:
            raise UsageError("--weights and --network-option are for networks: add --method psmnet, for example")
        return PresetMatching(preset, assignments)
    if preset != DEFAULT_PRESET or assignments:
        raise UsageError(f"--preset and --set are for bdis itself, not for --method {method}")
    if "," in method:
        raise UsageError(f"--method {method}: expected one method")
    if weights is None and _needs_weights(method):
        raise UsageError(f"--method {method} needs the weights of the network: --weights FILE")
    if weights is not None and str(weights).startswith(f"{method}="):  # as bdis bench takes it
        file = str(weights).removeprefix(f"{method}=")
        raise UsageError(f"--weights {weights}: there is one network here, so its file alone is expected: {file}")
    (found,) = chosen_methods([method], [] if weights is None else [f"{method}={weights}"], options)
    if found.preset is not None:
        raise UsageError(f"--method {method} is a preset of bdis: give --preset {found.preset} instead")
    return OtherMethod(found)


def _needs_weights(method: str) -> bool:
    """Whether nothing else is missing."""
    from ..evaluation.baselines import METHODS

    return method in METHODS and (METHODS[method].needs or "").startswith("--weights")


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


def _check(
    left: Array, right: Array, result: StereoResult, *, may_be_raw: bool, is_cut: bool
) -> tuple[dict[str, Any], list[str]]:
    """Check that the pair is rectified; the measurements, and the warnings, which are printed.

    ``is_cut``: both images were cut from one picture as they are.
    """
    from ..cameras.black_bars import unlike_bars
    from ..cameras.checks import check_rectification

    with terminal.working("checking that the pair is rectified"):
        check = check_rectification(left, right, result)
    bars = unlike_bars(left, right) if is_cut else ""
    warnings = [*filter(None, [bars]), *check.warnings]
    if not check.rectified and may_be_raw:
        warnings.append("if these images are not rectified yet, add --rectify")
    for text in warnings:
        terminal.warn(text)
    return {name: value for name, value in asdict(check).items() if name != "warnings"}, warnings


def _report(summary: dict[str, Any], out: Path, written: list[str]) -> None:
    """Print the outcome."""
    has_depth = "depth_mm" in summary
    width, height = summary["size"]
    rows = [("images", f"{width}x{height}{bits_in_words(summary['bits'])}, {_made_with(summary)}")]
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


def _made_with(summary: dict[str, Any]) -> str:
    """The preset or the method in a few words."""
    if "preset" in summary:
        return f"preset {summary['preset']}"
    return f"method {', '.join(filter(None, (summary['method'], summary['settings'])))}"


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
