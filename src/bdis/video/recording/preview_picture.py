"""A picture of the preview video: the left image, the depth in colours, and a colour bar."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...cameras.rgb import as_rgb_bytes
from ...common.arrays import Array
from ...common.optional import require
from ...display.colors import COLORMAPS, UNKNOWN_ON_DARK, color_steps, color_table, round_range
from .clip_range import MIN_COVERAGE

MIN_HEIGHT, MAX_WIDTH = 240, 640  # px of the image: legible, and the whole picture fits a screen
BAR_WIDTH = 120
UNITS = {"depth": "mm", "disparity": "px"}
BACKGROUND = (0x16, 0x18, 0x1B)
_TEXT_COLOR = "#e6e8ea"
# The range of a live video follows its frames slowly, in steps, so that colours can be compared for a while.
ADAPT_EVERY = 50  # frames from one look at the range to the next
ADAPT_SHARE = 0.02  # how far one frame draws the mean of the frames' ranges toward its own
NARROW = 0.4  # of the shown range: if the frames need less, the range becomes smaller


class PreviewPicture:
    """Draws the pictures of a preview; with a given range, a depth has the same colour in all of them.

    Parameters
    ----------
    quantity : {"depth", "disparity"}
        What the colours show.
    shape : (int, int)
        Height and width of the images.
    near_far : (float, float), optional
        Range of the colours, mm or px.  Default: chosen from the first frame with enough known pixels, and adapted
        slowly to later ones; in the frames before it, all pixels are shown as unknown.

    Attributes
    ----------
    size : (int, int)
        Width and height of the pictures, px; even numbers.
    unit : str
        "mm" or "px".
    near_far : (float, float) or None
        Range of the colours, None if it is not chosen yet.

    Examples
    --------
    >>> import numpy as np
    >>> draw = PreviewPicture("depth", (480, 640), (30, 90))
    >>> draw(np.zeros((480, 640), np.uint8), np.full((480, 640), 50, np.float32)).shape
    (480, 1400, 3)
    """

    def __init__(self, quantity: str, shape: tuple[int, int], near_far: tuple[float, float] | None = None):
        height, width = shape
        scale = min(max(1.0, MIN_HEIGHT / height), MAX_WIDTH / width)
        self._image_size = (max(2, round(width * scale)), 2 * max(1, round(height * scale / 2)))
        tall = max(self._image_size[1], MIN_HEIGHT)
        self._rows = slice((tall - self._image_size[1]) // 2, (tall - self._image_size[1]) // 2 + self._image_size[1])
        self._quantity, self.unit = quantity, UNITS[quantity]
        self._is_scaled = self._image_size != (width, height)
        self.size = (2 * self._image_size[0] + BAR_WIDTH, tall)
        self._picture = np.full((tall, self.size[0], 3), BACKGROUND, np.uint8)
        self.near_far: tuple[float, float] | None = None
        self._table = color_table(COLORMAPS[quantity], UNKNOWN_ON_DARK)[:, None]  # in the shape that OpenCV expects
        self._is_fixed = near_far is not None
        self._mean: NDArray[np.float64] | None = None  # ends of the range of the latest frames
        self._frames = 0
        if near_far is not None:
            self._set_range(near_far)
        else:
            self._draw_bar(None)

    def __call__(self, left: Array, values: Array) -> NDArray[np.uint8]:
        """Draw a picture.

        Parameters
        ----------
        left : ndarray, shape (h, w) or (h, w, 3)
            Left image, grey or RGB.
        values : ndarray of float32, shape (h, w)
            Depth in mm or disparity in px; NaN = unknown.

        Returns
        -------
        ndarray of uint8, shape (size[1], size[0], 3)
            RGB; overwritten by the next call.
        """
        cv2 = require("cv2", "a preview")
        if not self._is_fixed:
            self._adapt(values)
        width = self._image_size[0]
        self._picture[self._rows, :width] = self._fitted(as_rgb_bytes(left), cv2.INTER_AREA)
        shown = self._fitted(values, cv2.INTER_NEAREST)
        steps = np.zeros(shown.shape, np.uint8) if self.near_far is None else color_steps(shown, self.near_far)
        self._picture[self._rows, width : 2 * width] = cv2.applyColorMap(steps, self._table)
        return self._picture

    def _fitted(self, image: Array, method: int) -> Array:
        if not self._is_scaled:
            return image
        cv2 = require("cv2", "a preview")
        fitted: Array = cv2.resize(np.ascontiguousarray(image), self._image_size, interpolation=method)
        return fitted

    def _adapt(self, values: Array) -> None:
        """Choose the range from the first frame that tells, and follow the later ones slowly."""
        sample = values[::4, ::4]
        known = sample[np.isfinite(sample)]
        if known.size < MIN_COVERAGE * sample.size:
            return
        ends = np.percentile(known, [2, 98])
        self._mean = ends if self._mean is None else self._mean + ADAPT_SHARE * (ends - self._mean)
        self._frames += 1
        if self.near_far is not None and self._frames % ADAPT_EVERY:
            return
        low, high = self._mean
        near, far = self.near_far or (np.inf, -np.inf)
        if not near <= low <= high <= far or high - low < NARROW * (far - near):
            wanted = round_range(self._mean)
            if wanted != self.near_far:
                self._set_range(wanted)

    def _set_range(self, near_far: tuple[float, float]) -> None:
        self.near_far = near_far
        self._draw_bar(near_far)

    def _draw_bar(self, near_far: tuple[float, float] | None) -> None:
        """Draw the colour bar into the picture, which keeps it; without a range it has no numbers."""
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
        bar.tick_params(axis="y", colors=_TEXT_COLOR, labelsize=11, length=4, pad=3)
        if near_far is None:
            bar.set_yticks([])
        for side in bar.spines.values():
            side.set_visible(False)
        text = {"color": _TEXT_COLOR, "fontsize": 11, "transform": figure.transFigure, "va": "center"}
        figure.text(edge, 1 - 22 * line, f"{self._quantity}, {self.unit}", **text)
        grey = figure.add_axes((edge, 18 * line, 12 / width, 12 * line))
        grey.set_facecolor([part / 255 for part in UNKNOWN_ON_DARK])
        grey.set_xticks([])
        grey.set_yticks([])
        for side in grey.spines.values():
            side.set_color(_TEXT_COLOR)
            side.set_linewidth(0.5)
        figure.text(edge + 18 / width, 24 * line, "unknown", **{**text, "fontsize": 10})
        canvas = require("matplotlib.backends.backend_agg", "a preview").FigureCanvasAgg(figure)
        canvas.draw()
        self._picture[:, 2 * self._image_size[0] :] = np.asarray(canvas.buffer_rgba())[:height, :width, :3]
