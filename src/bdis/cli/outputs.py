"""What a match leaves in its folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..cameras.rig import Rig
from ..common.arrays import Array
from ..common.atomic import write_whole
from ..common.json_text import json_text
from ..files.maps import write_depth, write_disparity, write_result
from ..files.ply import write_ply
from ..files.preview import write_preview
from ..matching.result import StereoResult
from ..matching.settings import Settings
from .terminal import UsageError

FORMATS = ("tiff", "pfm", "npy", "npz", "png", "ply", "preview")
DEFAULT_FORMATS = ("tiff", "ply", "preview")


def parse_formats(given: list[str] | None) -> list[str]:
    """``--format a,b --format c`` as names; UsageError for others."""
    names = [name.strip().lower() for text in given or DEFAULT_FORMATS for name in text.split(",")]
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"--format {name!r}: expected of {', '.join(FORMATS)}")
    return list(dict.fromkeys(names))


def write_outputs(
    folder: Path,
    formats: list[str],
    left: Array,
    result: StereoResult,
    rig: Rig | None,
    *,
    max_depth_mm: float | None = None,
    true_depth_mm: Array | None = None,
    title: str | None = None,
) -> None:
    """Write a result in all the formats asked for; what needs depth only if there is a rig."""
    depth = None if rig is None else rig.depth(result, max_depth_mm=max_depth_mm)
    for name in formats:
        if name == "npz":
            write_result(folder / "result.npz", result, depth)
        elif name == "preview":
            write_preview(
                folder / "preview.png", left, result, rig,
                max_depth_mm=max_depth_mm, true_depth_mm=true_depth_mm, title=title,
            )  # fmt: skip
        elif name == "ply":
            if rig is not None:
                write_ply(folder / "cloud.ply", rig.cloud(result, left, max_depth_mm=max_depth_mm))
        else:
            write_disparity(folder / f"disparity.{name}", result.disparity)
            if depth is not None:
                write_depth(folder / f"depth.{name}", depth)


def describe(
    result: StereoResult, rig: Rig | None, settings: Settings, preset: str, max_depth_mm: float | None
) -> dict[str, Any]:
    """The figures of a result, and all it takes to get it again."""
    height, width = result.disparity.shape
    known = result.disparity[result.known]
    figures: dict[str, Any] = {
        "bdis": __version__,
        "preset": preset,
        "settings": asdict(settings),
        "size": [width, height],
        "coverage": result.coverage,
        "disparity_px": _percentiles(known),
        "mean_probability": float(result.probability[result.known].mean()) if known.size else None,
    }
    if rig is not None:
        depth = rig.depth(result, max_depth_mm=max_depth_mm)
        depth = depth[np.isfinite(depth)]
        if max_depth_mm is not None:
            figures["max_depth_mm"] = max_depth_mm
        figures["rig"] = {**asdict(rig), "doffs": rig.doffs}
        figures["depth_mm"] = _percentiles(depth)
        if result.variance is not None:
            sigma = rig.depth_sigma(result)
            figures["sigma_mm"] = _percentiles(sigma[np.isfinite(sigma)])
    return figures


def write_figures(folder: Path, figures: dict[str, Any]) -> list[str]:
    """Write the figures as run.json, with the names of the files they are about, which are returned."""
    written = sorted([*(path.name for path in folder.iterdir()), "run.json"])
    write_whole(folder / "run.json", f"{json_text({**figures, 'files': written})}\n".encode())
    return written


def percentiles_in_words(figures: dict[str, float] | None, unit: str) -> str:
    """What most values are, for people."""
    if not figures:
        return "nothing known"
    low, middle, high = (f"{figures[name]:.3g}" for name in ("5%", "50%", "95%"))
    return f"median {middle} {unit}, 90 % between {low} and {high} {unit}"


def _percentiles(values: Array) -> dict[str, float] | None:
    if not values.size:
        return None
    return {f"{share}%": float(value) for share, value in zip((5, 50, 95), np.percentile(values, (5, 50, 95)))}
