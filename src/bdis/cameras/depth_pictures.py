"""How depth and image pairs are shown: maps in mm, and two images with lines along their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array, size_text
from ..display.colors import COLORMAPS, MARK_COLOR, bulk_range, hex_color, range_from_zero
from ..display.figure import Panel, plot_panels
from ..display.map_picture import MapPicture
from ..matching.result import StereoResult
from ..matching.result_pictures import uncertainty_picture
from .rgb import as_rgb_bytes

if TYPE_CHECKING:
    from .rig import Rig

_ROWS_SHOWN = 9  # lines across both images


def plot_pair(left: Array, right: Array, *, bgr: bool = False, title: str = "") -> Any:
    """Draw a pair side by side with Matplotlib, with lines along the same rows of both images.

    In a rectified pair a detail lies on the same line in both, and in the right image further to the left.

    Parameters
    ----------
    left, right : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA images of the same size.
    bgr : bool, optional
        The channels are in the order blue, green, red, as ``cv2.imread`` returns them.
    title : str, optional
        Above the images.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)

    Raises
    ------
    ImportError
        Matplotlib is not installed.
    ValueError
        The images differ in size.

    See Also
    --------
    check_rectification : Says whether a pair is rectified, and whether its images are swapped.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 255, (40, 60), dtype=np.uint8)
    >>> axes = plot_pair(image, image)
    >>> [axis.get_title(loc="left") for axis in axes]
    ['left image', 'right image']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(axes[0].figure)
    """
    images = [as_rgb_bytes(image, bgr=bgr) for image in (left, right)]
    if images[0].shape != images[1].shape:
        sizes = " and ".join(size_text(image.shape) for image in images)
        raise ValueError(f"left and right are {sizes}; the images of a pair have the same size")
    axes = plot_panels([("left image", images[0]), ("right image", images[1])], title)
    for axis in axes:
        for row in np.linspace(0, len(images[0]) - 1, _ROWS_SHOWN + 2)[1:-1]:
            axis.axhline(row, color=hex_color(MARK_COLOR), linewidth=0.5)
    return axes


def depth_pictures(rig: Rig, result: StereoResult, max_depth_mm: float | None = None) -> list[MapPicture]:
    """The depth of a result and its standard deviation, or without a variance its probability.

    Parameters
    ----------
    rig : Rig
        The cameras.
    result : StereoResult
        Result of a matcher.
    max_depth_mm : float, optional
        What is farther away is unknown in both.

    Returns
    -------
    list of MapPicture
        Depth, and its uncertainty.
    """
    depth = rig.depth(result, max_depth_mm=max_depth_mm)
    uncertainty = uncertainty_picture(result)
    if result.variance is not None:
        sigma = rig.depth_sigma(result)
        uncertainty = MapPicture("standard deviation of the depth", sigma, "magma", (0.0, 1.0), "mm")
    values = np.where(np.isnan(depth), np.float32(np.nan), uncertainty.values)
    span = uncertainty.span if result.variance is None else range_from_zero(values)
    uncertainty = replace(uncertainty, values=values, span=span)
    return [MapPicture("depth", depth, COLORMAPS["depth"], bulk_range(depth), "mm"), uncertainty]


def plot_depth(
    rig: Rig, result: StereoResult, left: Array | None, max_depth_mm: float | None, title: str | None, bgr: bool
) -> Any:
    """Draw the depth of a result; see :meth:`bdis.Rig.plot_depth`."""
    pictures = depth_pictures(rig, result, max_depth_mm)
    panels: list[Panel] = [*pictures]
    if left is not None:
        image = as_rgb_bytes(left, bgr=bgr)
        if image.shape[:2] != result.disparity.shape:
            raise ValueError(f"left is {size_text(image.shape)} but the result is {size_text(result.disparity.shape)}")
        panels = [("left image", image), *panels]
    words = f"{np.isfinite(pictures[0].values).mean():.1%} of the pixels have a depth" if title is None else title
    return plot_panels(panels, words, result.warnings)
