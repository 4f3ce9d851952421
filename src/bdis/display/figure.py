"""Matplotlib figures of images and maps side by side; the only file that draws them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.optional import require
from ..common.printable import printable
from .colors import MARK_COLOR, UNKNOWN_ON_LIGHT, hex_color
from .map_picture import MapPicture

_TEXT_COLOR, _WARNING_COLOR = "#22262b", "#b3261e"
_PANEL_WIDTH = 5.2  # inches
_LETTERS_PER_INCH = 11  # of a line above the panels

Panel = MapPicture | tuple[str, Array]  # a map, or an RGB image (h, w, 3) of uint8 with its title


def plot_panels(panels: Sequence[Panel], title: str = "", warnings: Sequence[str] = ()) -> Any:
    """Draw panels in a new figure of pyplot, which notebooks and ``plt.show()`` show.

    Parameters
    ----------
    panels, title, warnings
        As for :func:`draw_panels`.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n,)
        One for each panel; ``axes[0].figure`` is the figure.

    Raises
    ------
    ImportError
        Matplotlib is not installed.
    """
    pyplot = require("matplotlib.pyplot", "a plot")
    return draw_panels(pyplot.figure(figsize=figure_size(panels), layout="constrained"), panels, title, warnings)


def figure_size(panels: Sequence[Panel]) -> tuple[float, float]:
    """Width and height of a figure that suits panels, inches."""
    columns, rows = _grid(len(panels))
    height, width = _image_of(panels[0]).shape[:2]
    panel_height = min(max((_PANEL_WIDTH - 0.9) * height / width, 1.5), 7.0) + 0.45
    return columns * _PANEL_WIDTH, rows * panel_height


def draw_panels(figure: Any, panels: Sequence[Panel], title: str = "", warnings: Sequence[str] = ()) -> Any:
    """Draw panels into a figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Empty, with the layout "constrained".
    panels : sequence of MapPicture or (str, ndarray)
        Maps, and images with their titles; all of one size.
    title : str
        Above the panels; any text, shown as it is.
    warnings : sequence of str
        Sentences above them, in red.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n,)
    """
    colormaps = require("matplotlib", "a plot").colormaps
    columns, rows = _grid(len(panels))
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, panel in zip(axes, panels):
        style: dict[str, Any] = {}
        words, unit = panel[0] if isinstance(panel, tuple) else panel.title, ""
        if isinstance(panel, MapPicture):
            colormap = colormaps[panel.colormap].with_extremes(bad=hex_color(UNKNOWN_ON_LIGHT))
            style, unit = {"cmap": colormap, "vmin": panel.span[0], "vmax": panel.span[1]}, panel.unit
        shown = axis.imshow(_image_of(panel), interpolation="nearest", **style)
        axis.set_title(words, fontsize=13, color=_TEXT_COLOR, loc="left", parse_math=False)
        bar = figure.colorbar(shown, ax=axis, label=unit, pad=0.02, fraction=0.05)
        bar.outline.set_visible(False)
        if isinstance(panel, tuple):
            bar.ax.set_visible(False)  # keeps its space, so that all images have the same size
        elif panel.marked is not None and panel.marked.any() and not panel.marked.all():
            axis.contour(panel.marked.astype(np.uint8), levels=[0.5], colors=hex_color(MARK_COLOR), linewidths=0.8)
    _write_heading(figure, title, warnings, int(columns * _PANEL_WIDTH * _LETTERS_PER_INCH))
    if any(isinstance(panel, MapPicture) for panel in panels):
        figure.supxlabel("grey = unknown", fontsize=10, color=_TEXT_COLOR, x=0.99, ha="right")
    return axes[: len(panels)]


def _write_heading(figure: Any, title: str, warnings: Sequence[str], letters: int) -> None:
    """Title and warnings above the panels; with a warning all of it is red, so that nobody overlooks it."""
    lines = printable(title).splitlines()
    for text in warnings:
        lines += textwrap.wrap(f"Warning: {printable(text)}", letters)
    color = _WARNING_COLOR if warnings else _TEXT_COLOR
    figure.suptitle("\n".join(lines), fontsize=12 if warnings else 14, color=color, parse_math=False)


def _grid(count: int) -> tuple[int, int]:
    """Columns and rows for so many panels."""
    columns = min(count, 2 if count == 4 else 3)
    return columns, -(-count // columns)


def _image_of(panel: Panel) -> Array:
    if isinstance(panel, tuple):
        return panel[1]
    return np.where(np.isfinite(panel.values), panel.values, np.nan)
