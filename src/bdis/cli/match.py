"""``bdis match``."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..cameras.checks import check_rectification
from ..common.atomic import all_or_nothing
from ..matching.result import StereoResult
from ..matching.settings import Settings
from . import terminal
from .inputs import Camera, Pair, rectified
from .outputs import describe, parse_formats, percentiles_in_words, write_figures, write_outputs
from .presets import parse_settings, with_uncertainty

Array = np.ndarray[Any, np.dtype[Any]]
TIMED_FRAMES = 5  # after the first, which loads the kernels


def run_match(
    pair: Pair,
    camera: Camera,
    preset: str,
    assignments: list[str],
    formats: list[str] | None,
    max_depth_mm: float | None,
    out: Path,
) -> None:
    """Read, rectify if need be, match, check, write, and say what came of it."""
    settings = with_uncertainty(parse_settings(preset, assignments), assignments)
    wanted = parse_formats(formats)
    camera.check()
    left, right = pair.read()
    masks = pair.masks(left.shape)
    rig, raw_cameras, remarks = camera.load(left.shape)
    warnings: list[str] = []
    with all_or_nothing(out) as stage:
        if raw_cameras is not None:
            left, right, rectifier = rectified(raw_cameras, left, right)
            rig = rectifier.rig
            remarks.append("images rectified with it")
            masks = _rectified_masks(rectifier, masks)
        result, milliseconds = timed_match(settings, left, right, masks)
        with terminal.working("checking that the pair is rectified"):
            check = check_rectification(left, right, result)
        warnings += check.warnings
        if not check.rectified and camera.calib is not None and raw_cameras is None:
            warnings.append("if these are images of the raw cameras, add --rectify")
        if result.coverage < 0.1:
            warnings.append(f"only {result.coverage:.1%} of the pixels are known: is this a rectified stereo pair?")
        for text in warnings:
            terminal.warn(text)
        figures = describe(result, rig, settings, preset, max_depth_mm)
        figures |= {"ms_per_frame": milliseconds, "calibration": remarks, "warnings": warnings}
        figures["check"] = {name: value for name, value in asdict(check).items() if name != "warnings"}
        with terminal.working("writing"):
            write_outputs(stage, wanted, left, result, rig, max_depth_mm=max_depth_mm)
            written = write_figures(stage, figures)
    _report(figures, remarks, out, written, rig is not None)


def timed_match(settings: Settings, left: Array, right: Array, masks: dict[str, Any]) -> tuple[StereoResult, float]:
    """The result, and the milliseconds of a match once everything is loaded."""
    from ..matching.matcher import StereoMatcher

    matcher = StereoMatcher(**asdict(settings))
    with terminal.working("matching"):
        matcher.match(left, right, **masks)
    times = []
    for _ in range(TIMED_FRAMES):
        begin = time.perf_counter()
        result = matcher.match(left, right, **masks)
        times.append(time.perf_counter() - begin)
    return result, 1e3 * float(np.median(times))


def _rectified_masks(rectifier: Any, masks: dict[str, Array]) -> dict[str, Array]:
    """Masks of the raw images, rectified as those are; without one, what the cameras saw."""
    whole = np.full(rectifier.left_seen.shape, 255, np.uint8)
    given = [np.where(masks.get(name, whole) > 0, 255, 0).astype(np.uint8) for name in ("left_mask", "right_mask")]
    left, right = rectifier(*given)
    return {"left_mask": left == 255, "right_mask": right == 255}


def _report(figures: dict[str, Any], remarks: list[str], out: Path, written: list[str], has_depth: bool) -> None:
    width, height = figures["size"]
    rows = [("images", f"{width}x{height}, preset {figures['preset']}")]
    rows += [("calibration", remark) for remark in remarks]
    rows.append(("known", f"{figures['coverage']:.1%} of the pixels"))
    rows.append(("disparity", percentiles_in_words(figures["disparity_px"], "px")))
    if has_depth:
        rows.append(("depth", percentiles_in_words(figures["depth_mm"], "mm")))
    if "sigma_mm" in figures:
        rows.append(("its sigma", percentiles_in_words(figures["sigma_mm"], "mm")))
    rows.append(("time", f"{figures['ms_per_frame']:.1f} ms per frame"))
    rows.append(("written", f"{out}: {', '.join(written)}"))
    terminal.table(rows)
    if not has_depth:
        terminal.say("No depth: give --calib FILE, or --focal PX and --baseline MM.")
    terminal.give({**figures, "folder": out, "files": written})
