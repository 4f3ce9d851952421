"""The picture of a preview: the left image, the depth in colours that stay the same, and what the colours mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...cameras.rgb import as_rgb_bytes
from ...common.arrays import Array
from ...common.optional import require
from ...files.colors import COLORMAPS, UNKNOWN_ON_DARK, color_steps, color_table, round_range

LEAST_HEIGHT, MOST_WIDTH = 240, 640  # px of a panel: legible, and the whole fits a screen
BAR_WIDTH = 120
UNITS = {"depth": "mm", "disparity": "px"}
BACKGROUND = (0x16, 0x18, 0x1B)
_INK = "#e6e8ea"
ENOUGH = 0.2  # share of known pixels that says something about the range


class SideBySide:
    """Draws pictures of one size and one range.

    Parameters
    ----------
    quantity : "depth" or "disparity"
    shape : (height, width) of the images
    near_far : the range of the colours, mm or px; None: from the first frame of which enough is known.  What comes
        before it is shown as unknown

    Attributes
    ----------
    size : (width, height) of the pictures, even numbers

    Examples
    --------
    >>> import numpy as np
    >>> draw = SideBySide("depth", (480, 640), (30, 90))
    >>> draw(np.zeros((480, 640), np.uint8), np.full((480, 640), 50, np.float32)).shape
    (480, 1400, 3)
    """

    def __init__(self, quantity: str, shape: tuple[int, int], near_far: tuple[float, float] | None = None):
        height, width = shape
        scale = min(max(1.0, LEAST_HEIGHT / height), MOST_WIDTH / width)
        self._panel = (max(2, round(width * scale)), 2 * max(1, round(height * scale / 2)))
        tall = max(self._panel[1], LEAST_HEIGHT)
        self._rows = slice((tall - self._panel[1]) // 2, (tall - self._panel[1]) // 2 + self._panel[1])
        self._quantity = quantity
        self._is_scaled = self._panel != (width, height)
        self.size = (2 * self._panel[0] + BAR_WIDTH, tall)
        self._picture = np.full((tall, self.size[0], 3), BACKGROUND, np.uint8)
        self.near_far: tuple[float, float] | None = None
        self._table = color_table(COLORMAPS[quantity], UNKNOWN_ON_DARK)[:, None]  # as OpenCV wants it
        if near_far is not None:
            self._use(near_far)
        else:
            self._draw_bar(None)

    def __call__(self, left: Array, values: Array) -> NDArray[np.uint8]:
        """The picture, uint8 RGB; it is drawn over by the next one.

        Parameters
        ----------
        left : (height, width) grey or (height, width, 3) RGB
        values : float32 (height, width), mm or px; NaN = unknown
        """
        cv2 = require("cv2", "a preview")
        if self.near_far is None and np.count_nonzero(np.isfinite(values)) >= ENOUGH * values.size:
            self._use(round_range(values))
        width = self._panel[0]
        self._picture[self._rows, :width] = self._fitted(as_rgb_bytes(left), cv2.INTER_AREA)
        shown = self._fitted(values, cv2.INTER_NEAREST)
        steps = np.zeros(shown.shape, np.uint8) if self.near_far is None else color_steps(shown, self.near_far)
        self._picture[self._rows, width : 2 * width] = cv2.applyColorMap(steps, self._table)
        return self._picture

    def _fitted(self, image: Array, method: int) -> Array:
        if not self._is_scaled:
            return image
        cv2 = require("cv2", "a preview")
        fitted: Array = cv2.resize(np.ascontiguousarray(image), self._panel, interpolation=method)
        return fitted

    def _use(self, near_far: tuple[float, float]) -> None:
        self.near_far = near_far
        self._draw_bar(near_far)

    def _draw_bar(self, near_far: tuple[float, float] | None) -> None:
        """The colours with numbers beside them, once; without a range there are no numbers yet."""
        width, height = BAR_WIDTH, self.size[1]
        figure = require("matplotlib.figure", "a preview").Figure(
            figsize=(width / 100, height / 100), dpi=100, facecolor=[part / 255 for part in BACKGROUND]
        )
        edge, line = 14 / width, 1 / height
        bar = figure.add_axes((edge, 52 * line, 22 / width, 1 - 96 * line))
        bar.imshow(
            self._table[1:],
            aspect="auto",
            origin="lower",
            extent=(0, 1, *(near_far or (0, 1))),
            interpolation="nearest",
        )
        bar.set_xticks([])
        bar.yaxis.tick_right()
        bar.tick_params(axis="y", colors=_INK, labelsize=11, length=4, pad=3)
        if near_far is None:
            bar.set_yticks([])
        for side in bar.spines.values():
            side.set_visible(False)
        text = {"color": _INK, "fontsize": 11, "transform": figure.transFigure, "va": "center"}
        figure.text(edge, 1 - 22 * line, f"{self._quantity}, {UNITS[self._quantity]}", **text)
        grey = figure.add_axes((edge, 18 * line, 12 / width, 12 * line))
        grey.set_facecolor([part / 255 for part in UNKNOWN_ON_DARK])
        grey.set_xticks([])
        grey.set_yticks([])
        for side in grey.spines.values():
            side.set_color(_INK)
            side.set_linewidth(0.5)
        figure.text(edge + 18 / width, 24 * line, "unknown", **{**text, "fontsize": 10})
        canvas = require("matplotlib.backends.backend_agg", "a preview").FigureCanvasAgg(figure)
        canvas.draw()
        self._picture[:, 2 * self._panel[0] :] = np.asarray(canvas.buffer_rgba())[:height, :width, :3]
