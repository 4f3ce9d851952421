"""One picture that shows a result: image, disparity, depth and uncertainty side by side."""

import io
from dataclasses import replace

import numpy as np

from ..cameras.depth_pictures import depth_pictures
from ..cameras.rgb import as_rgb_bytes, highlights
from ..cameras.rig import Rig
from ..common.arrays import Array, without_mask
from ..common.atomic import Place, write_whole
from ..common.optional import require
from ..display.colors import range_from_zero
from ..display.figure import Panel, draw_panels, figure_size
from ..display.map_picture import MapPicture
from ..matching.result import StereoResult
from ..matching.result_pictures import disparity_picture, pictures_of


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
        Exact depth in mm; it and the error of the depth are shown as well, the latter with the highlights of the left
        image outlined.
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
    panels: list[Panel] = [("left image", as_rgb_bytes(left, bgr=bgr))]
    panels += _maps(left, result, rig, max_depth_mm, true_depth_mm, bgr)
    figure = require("matplotlib.figure", "a preview").Figure(figsize=figure_size(panels), layout="constrained")
    draw_panels(figure, panels, title or "")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, facecolor="white")
    write_whole(path, buffer.getvalue())


def _maps(
    left: Array,
    result: StereoResult,
    rig: Rig | None,
    max_depth_mm: float | None,
    true_depth_mm: Array | None,
    bgr: bool,
) -> list[MapPicture]:
    """The maps of a result: disparity, depth, uncertainty, and the comparison with the exact depth."""
    if rig is None:
        return pictures_of(result)
    depth, uncertainty = depth_pictures(rig, result, max_depth_mm)
    disparity = result.disparity
    if max_depth_mm is not None:
        disparity = np.where(np.isnan(depth.values), np.float32(np.nan), disparity)
    pictures = [disparity_picture(disparity), depth, uncertainty]
    if true_depth_mm is not None:
        true_depth_mm = without_mask(true_depth_mm)
        error = np.abs(depth.values - true_depth_mm)
        shiny = highlights(left, bgr=bgr)
        title = "depth error (outlined: highlights)" if shiny.any() else "depth error"
        pictures.append(replace(depth, title="exact depth", values=true_depth_mm))
        pictures.append(MapPicture(title, error, "magma", range_from_zero(error), "mm", shiny))
    return pictures
