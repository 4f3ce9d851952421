"""One picture of a result that can be pasted into a slide."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import Rig, as_rgb_bytes
from ..common.atomic import Place, write_whole
from ..common.optional import require
from ..matching.result import StereoResult

Array = np.ndarray[Any, np.dtype[Any]]
COLOURS = {"disparity": "turbo", "depth": "turbo_r"}  # near is red in both
_UNKNOWN = "#c9cdd2"
_INK = "#22262b"


def write_preview(
    path: Place,
    left: Array,
    result: StereoResult,
    rig: Rig | None = None,
    *,
    max_depth_mm: float | None = None,
    true_depth_mm: Array | None = None,
    title: str | None = None,
) -> None:
    """Write a PNG of the left image, disparity, depth in mm, and its sigma or the probability.

    Parameters
    ----------
    path : the PNG
    left : the left image, grey or RGB(A), (height, width[, channels])
    result : what a matcher returned; with a variance, sigma is shown instead of the probability
    rig : of the pair; without it there is no depth
    max_depth_mm : what is further counts as unknown
    true_depth_mm : (height, width), if it is known; it and the error are shown as well
    title : a line above

    Raises
    ------
    ImportError
        Matplotlib is not installed.
    OSError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> result = StereoResult(np.full((48, 64), 5, np.float32), np.full((48, 64), 0.5, np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_preview(f"{folder}/preview.png", np.full((48, 64), 90, np.uint8), result)
    """
    figure_module, colormaps = require("matplotlib.figure", "a preview"), require("matplotlib", "a preview").colormaps
    panels = _panels(left, result, rig, max_depth_mm, true_depth_mm)
    columns = 2 if len(panels) == 4 else 3
    rows = -(-len(panels) // columns)
    height, width = np.shape(left)[:2]
    panel_width = 5.2
    panel_height = min(max((panel_width - 0.9) * height / width, 1.5), 7.0) + 0.45
    figure = figure_module.Figure(figsize=(columns * panel_width, rows * panel_height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, (name, image, style, unit) in zip(axes.flat, panels):
        if style:
            style["cmap"] = colormaps[style["cmap"]].with_extremes(bad=_UNKNOWN)
        shown = axis.imshow(image, interpolation="nearest", **style)
        axis.set_title(name, fontsize=13, color=_INK, loc="left")
        bar = figure.colorbar(shown, ax=axis, label=unit, pad=0.02, fraction=0.05)
        bar.outline.set_visible(False)
        if not style:
            bar.ax.set_visible(False)  # keeps its place, so that all pictures have one size
    figure.suptitle(title or "", fontsize=14, color=_INK)
    figure.supxlabel("grey = unknown", fontsize=10, color=_INK, x=0.99, ha="right")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, facecolor="white")
    write_whole(path, buffer.getvalue())


def _panels(
    left: Array, result: StereoResult, rig: Rig | None, max_depth_mm: float | None, true_depth_mm: Array | None
) -> list[tuple[str, Array, dict[str, Any], str]]:
    """Name, image, how to show it, and its unit."""
    disparity = result.disparity
    panels: list[tuple[str, Array, dict[str, Any], str]] = [("left image", as_rgb_bytes(left), {}, "")]
    sure: tuple[str, Array, dict[str, Any], str] = (
        "probability",
        np.where(result.known, result.probability, np.nan),
        {"cmap": "viridis", "vmin": 0, "vmax": 1},
        "0 to 1",
    )
    if rig is None:
        panels.append(("disparity", disparity, {"cmap": COLOURS["disparity"], **_range(disparity)}, "px"))
        return [*panels, sure]
    depth = rig.depth(result)
    if max_depth_mm is not None:
        too_far = depth > max_depth_mm
        depth, disparity = (np.where(too_far, np.nan, image) for image in (depth, disparity))
    panels.append(("disparity", disparity, {"cmap": COLOURS["disparity"], **_range(disparity)}, "px"))
    panels.append(("depth", depth, {"cmap": COLOURS["depth"], **_range(depth)}, "mm"))
    if result.variance is not None:
        sigma = np.sqrt(rig.depth_variance(result))
        sigma = np.where(np.isnan(depth), np.nan, sigma)
        sure = ("standard deviation of the depth", sigma, {"cmap": "magma", "vmin": 0, **_top(sigma)}, "mm")
    panels.append(sure)
    if true_depth_mm is not None:
        panels.append(("exact depth", np.asarray(true_depth_mm), panels[2][2].copy(), "mm"))
        error = np.abs(depth - true_depth_mm)
        panels.append(("depth error", error, {"cmap": "magma", "vmin": 0, **_top(error)}, "mm"))
    return panels


def color_table(colormap: str, unknown: tuple[int, int, int]) -> NDArray[np.uint8]:
    """uint8 (256, 3): what the steps of :func:`color_steps` are drawn in.

    Examples
    --------
    >>> color_table("turbo", (60, 60, 60))[0].tolist()
    [60, 60, 60]
    """
    colors = require("matplotlib", "a picture").colormaps[colormap](np.linspace(0, 1, 255))[:, :3]
    return np.vstack([np.asarray(unknown), np.rint(255 * colors)]).astype(np.uint8)


def color_steps(values: Array, span: tuple[float, float]) -> NDArray[np.uint8]:
    """Where values lie in a range: 1 to 255 from its start to its end, and beyond; 0 = unknown.

    Examples
    --------
    >>> color_steps(np.float32([0, 50, 100, 500, np.nan]), (0, 100)).tolist()
    [1, 128, 255, 255, 0]
    """
    low, high = span
    steps = np.asarray((values - np.float32(low)) * np.float32(254 / (high - low)))
    steps += np.float32(1.5)
    np.clip(steps, 1, 255, out=steps)
    np.fmax(steps, 0, out=steps)  # NaN becomes 0
    return steps.astype(np.uint8)


def round_range(values: Array) -> tuple[float, float]:
    """A range with round ends that holds most known values, and some more: the camera will move.

    Examples
    --------
    >>> round_range(np.linspace(42, 78, 1000))
    (30.0, 90.0)
    """
    low, high = (float(value) for value in np.nanpercentile(values, [2, 98]))
    margin = max(0.25 * (high - low), 0.05 * abs(high), 1e-3)
    low, high, is_positive = low - margin, high + margin, low >= 0
    rough = (high - low) / 8
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= rough)
    near = float(np.floor(low / step) * step)
    return max(near, 0.0) if is_positive else near, float(np.ceil(high / step) * step)


def _range(image: Array) -> dict[str, float]:
    """Colour range of the bulk of the known values, so that a few wild ones do not flatten the rest."""
    known = image[np.isfinite(image)]
    if not known.size:
        return {"vmin": 0.0, "vmax": 1.0}
    low, high = np.percentile(known, [1, 99])
    margin = 0.05 * (high - low) + 1e-6
    return {"vmin": float(low - margin), "vmax": float(high + margin)}


def _top(image: Array) -> dict[str, float]:
    known = image[np.isfinite(image)]
    return {"vmax": float(max(np.percentile(known, 97), 1e-6)) if known.size else 1.0}
