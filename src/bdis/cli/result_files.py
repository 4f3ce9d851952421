"""The files that ``bdis match``, ``bdis assess`` and ``bdis demo`` write, and the summary in ``run.json``."""

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
from .output_folder import SUMMARY


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
    """Write a result in several formats.

    Parameters
    ----------
    folder : Path
        An existing folder.
    formats : list of str
        Of tiff, pfm, npy, npz, png, ply and preview. Formats that need depth are left out without a rig.
    left : ndarray
        The left image, for the colours of the cloud and for the preview.
    result : StereoResult
        What to write.
    rig : Rig or None
        The rectified cameras, if they are known.
    max_depth_mm : float, optional
        Depths beyond this become unknown.
    true_depth_mm : ndarray, shape (h, w), optional
        For the preview: the exact depth.
    title : str, optional
        For the preview.
    """
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


def summarise(
    result: StereoResult, rig: Rig | None, settings: Settings, preset: str, max_depth_mm: float | None = None
) -> dict[str, Any]:
    """Describe the result of a match in numbers, with all settings that are needed to compute it again.

    Parameters
    ----------
    result : StereoResult
        The result.
    rig : Rig or None
        The rectified cameras, if they are known.
    settings : Settings
        Settings of the matcher.
    preset : str
        The preset they are based on.
    max_depth_mm : float, optional
        Depths beyond this are not counted.

    Returns
    -------
    dict
        The content of ``run.json``.
    """
    return {**made_with(settings, preset), **describe(result, rig, max_depth_mm)}


def made_with(settings: Settings, preset: str) -> dict[str, Any]:
    """The part of the summary that tells how to compute a result again."""
    return {"bdis": __version__, "preset": preset, "settings": asdict(settings)}


def summarise_assessed(result: StereoResult, rig: Rig | None, max_depth_mm: float | None = None) -> dict[str, Any]:
    """Describe the result of :func:`bdis.assess` in numbers.

    Parameters
    ----------
    result : StereoResult
        The result, with a variance.
    rig : Rig or None
        The rectified cameras, if they are known.
    max_depth_mm : float, optional
        Depths beyond this are not counted.

    Returns
    -------
    dict
        The content of ``run.json``; "interval_95_px" is half the width of the interval that holds 95 % of the errors.

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> found = summarise_assessed(StereoResult(20 * one, one, variance=0.01 * one), None)
    >>> f"{found['interval_95_px']['50%']:.3f} px"
    '0.184 px'
    """
    intervals = {"interval_95_px": _percentiles(result.interval(0.95)[result.known])}
    return {"bdis": __version__, **describe(result, rig, max_depth_mm), **intervals}


def describe(result: StereoResult, rig: Rig | None, max_depth_mm: float | None = None) -> dict[str, Any]:
    """Describe a result in numbers, whatever it was made with.

    Parameters
    ----------
    result : StereoResult
        The result.
    rig : Rig or None
        The rectified cameras, if they are known.
    max_depth_mm : float, optional
        Depths beyond this are not counted.

    Returns
    -------
    dict
        Part of the content of ``run.json``.

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> describe(StereoResult(20 * one, one), None)["disparity_px"]["50%"]
    20.0
    """
    height, width = result.disparity.shape
    known = result.disparity[result.known]
    summary: dict[str, Any] = {
        "size": [width, height],
        "bits": result.bits,
        "coverage": result.coverage,
        "disparity_px": _percentiles(known),
        "mean_probability": float(result.probability[result.known].mean()) if known.size else None,
        "row_offset_px": result.row_offset,
        "row_tilt": result.row_tilt,
    }
    if rig is not None:
        if max_depth_mm is not None:
            summary["max_depth_mm"] = max_depth_mm
        summary["rig"] = {**asdict(rig), "doffs": rig.doffs}
        summary["depth_mm"] = _percentiles(rig.depth(result, max_depth_mm=max_depth_mm))
        if result.variance is not None:
            summary["sigma_mm"] = _percentiles(rig.depth_sigma(result))
    return summary


def write_summary(folder: Path, summary: dict[str, Any]) -> list[str]:
    """Write ``run.json``: the summary and the names of all files in the folder.

    Parameters
    ----------
    folder : Path
        Folder with the other files.
    summary : dict
        From :func:`summarise`, with additions.

    Returns
    -------
    list of str
        The names of the files, ``run.json`` included.
    """
    written = sorted([*(path.name for path in folder.iterdir()), SUMMARY])
    write_whole(folder / SUMMARY, f"{json_text({**summary, 'files': written})}\n".encode())
    return written


def _percentiles(values: Array) -> dict[str, float] | None:
    """Percentiles 5, 50 and 95 of the finite values; None if there are none."""
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    return {f"{share}%": float(value) for share, value in zip((5, 50, 95), np.percentile(values, (5, 50, 95)))}
