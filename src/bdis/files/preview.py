"""One picture that shows a result: image, disparity, depth and uncertainty side by side."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from ..common.arrays import Array
from ..common.atomic import Place, write_whole
from ..common.optional import require
from ..matching.result import StereoResult
from .colors import COLORMAPS, UNKNOWN_ON_LIGHT, hex_color

_TEXT_COLOR = "#22262b"
_PANEL_WIDTH = 5.2  # inches


@dataclass(frozen=True)
class _Panel:
    """One image of the picture: a photograph, or a map with a colour map, the range of its colours and a unit."""

    title: str
    image: Array
    colormap: str | None = None
    span: tuple[float, float] = (0.0, 1.0)
    unit: str = ""


def write_preview(
    path: Place,
    left: Array,
    result: StereoResult,
    rig: Rig | None = None,
    *,
    max_depth_mm: float | None = None,
    true_depth_mm: Array | None = None,
    title: str | None = None,
    bgr: bool = False,
) -> None:
    """Write a PNG that shows the left image, the disparity, the depth and the uncertainty of a result.

    Parameters
    ----------
    path : str or path-like
        PNG file to write; an existing file is replaced.
    left : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4)
        Left image, grey, RGB or RGBA.
    result : StereoResult
        Result of a matcher.  With a variance and a rig, the standard deviation of the depth is shown instead of the
        probability.
    rig : Rig, optional
        Rectified cameras; without them no depth is shown.
    max_depth_mm : float, optional
        Pixels further away are shown as unknown.
    true_depth_mm : ndarray, shape (h, w), optional
        Exact depth in mm; it and the error of the depth are shown as well.
    title : str, optional
        Line of text above the images.
    bgr : bool, optional
        The channels of ``left`` are in the order blue, green, red, as ``cv2.imread`` returns them.

    Raises
    ------
    ImportError
        Matplotlib is not installed.
    ValueError
        The size of the result is not that of the rig.
    OSError
        The file cannot be written; no partial file is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> result = StereoResult(np.full((48, 64), 5, np.float32), np.full((48, 64), 0.5, np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_preview(f"{folder}/preview.png", np.full((48, 64), 90, np.uint8), result)
    """
    figure_module, colormaps = require("matplotlib.figure", "a preview"), require("matplotlib", "a preview").colormaps
    panels = [_Panel("left image", as_rgb_bytes(left, bgr=bgr)), *_maps(result, rig, max_depth_mm, true_depth_mm)]
    columns = 2 if len(panels) == 4 else 3
    rows = -(-len(panels) // columns)
    height, width = np.shape(left)[:2]
    panel_height = min(max((_PANEL_WIDTH - 0.9) * height / width, 1.5), 7.0) + 0.45
    figure = figure_module.Figure(figsize=(columns * _PANEL_WIDTH, rows * panel_height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, panel in zip(axes.flat, panels):
        style: dict[str, Any] = {}
        if panel.colormap is not None:
            colormap = colormaps[panel.colormap].with_extremes(bad=hex_color(UNKNOWN_ON_LIGHT))
            style = {"cmap": colormap, "vmin": panel.span[0], "vmax": panel.span[1]}
        shown = axis.imshow(panel.image, interpolation="nearest", **style)
        axis.set_title(panel.title, fontsize=13, color=_TEXT_COLOR, loc="left")
        bar = figure.colorbar(shown, ax=axis, label=panel.unit, pad=0.02, fraction=0.05)
        bar.outline.set_visible(False)
        if panel.colormap is None:
            bar.ax.set_visible(False)  # keeps its space, so that all images have the same size
    figure.suptitle(title or "", fontsize=14, color=_TEXT_COLOR)
    figure.supxlabel("grey = unknown", fontsize=10, color=_TEXT_COLOR, x=0.99, ha="right")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, facecolor="white")
    write_whole(path, buffer.getvalue())


def _maps(
    result: StereoResult, rig: Rig | None, max_depth_mm: float | None, true_depth_mm: Array | None
) -> list[_Panel]:
    """The maps of a result: disparity, depth, uncertainty, and the comparison with the exact depth."""
    disparity = result.disparity
    probability = np.where(result.known, result.probability, np.nan)
    uncertainty = _Panel("probability", probability, "viridis", (0, 1), "0 to 1")
    if rig is None:
        return [_Panel("disparity", disparity, COLORMAPS["disparity"], _range(disparity), "px"), uncertainty]
    depth = rig.depth(result, max_depth_mm=max_depth_mm)
    if max_depth_mm is not None:
        disparity = np.where(np.isnan(depth), np.float32(np.nan), disparity)
    if result.variance is not None:
        sigma = np.where(np.isnan(depth), np.nan, rig.depth_sigma(result))
        uncertainty = _Panel("standard deviation of the depth", sigma, "magma", _range_from_zero(sigma), "mm")
    panels = [
        _Panel("disparity", disparity, COLORMAPS["disparity"], _range(disparity), "px"),
        _Panel("depth", depth, COLORMAPS["depth"], _range(depth), "mm"),
        uncertainty,
    ]
    if true_depth_mm is not None:
        error = np.abs(depth - true_depth_mm)
        panels.append(_Panel("exact depth", np.asarray(true_depth_mm), COLORMAPS["depth"], _range(depth), "mm"))
        panels.append(_Panel("depth error", error, "magma", _range_from_zero(error), "mm"))
    return panels


def _range(image: Array) -> tuple[float, float]:
    """Range of 98 % of the known values, with a margin, so that a few outliers do not compress the colours."""
    known = image[np.isfinite(image)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, [1, 99])
    margin = 0.05 * (high - low) + 1e-6
    return float(low - margin), float(high + margin)


def _range_from_zero(image: Array) -> tuple[float, float]:
    """Range from 0 that contains 97 % of the known values."""
    known = image[np.isfinite(image)]
    return 0.0, float(max(np.percentile(known, 97), 1e-6)) if known.size else 1.0
