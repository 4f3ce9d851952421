"""A result as one page of HTML that needs no server and no network: in a notebook, or in a file for a browser."""

from __future__ import annotations

import base64
import html
import json
import math
import sys
import tempfile
import webbrowser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..cameras.depth_pictures import depth_pictures
from ..cameras.rgb import as_rgb_bytes
from ..cameras.rig import Rig
from ..common.arrays import Array, size_text
from ..common.atomic import Place, write_whole
from ..display.card import card
from ..display.colors import UNKNOWN_ON_DARK, color_steps, color_table
from ..matching.result import StereoResult
from .screen import has_screen

MOST_POINTS = 20_000  # of the cloud on the page: 10 bytes each
PAGE_HEIGHT_PX = 860  # in a notebook
_STEPS = 65535  # of a coordinate


def show(
    result: StereoResult,
    rig: Rig | None = None,
    left: Array | None = None,
    *,
    max_depth_mm: float | None = None,
    path: Place | None = None,
    bgr: bool = False,
) -> Path | None:
    """Show a result: in a notebook below the cell, in a script in the browser.

    With a rig it is a page with depth, its uncertainty and a point cloud that can be turned and clicked.  The page is
    complete in itself: it needs no server, no network and no further package, and stays in a notebook that is saved.
    For video and for changing settings use ``bdis view``.

    Parameters
    ----------
    result : StereoResult
        Result of a matcher.
    rig : Rig, optional
        The rectified cameras; without them there is no depth, and the page shows disparity.
    left : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4), optional
        Left image, for the colours of the points.  Default: they have the colour of their depth.
    max_depth_mm : float, optional
        Points further away are left out.
    path : str or path-like, optional
        File to write the page to; in a script, instead of opening it.  Default in a script: a file in a new private
        folder of temporary files, which stays.
    bgr : bool, optional
        The channels of ``left`` are in the order blue, green, red, as ``cv2.imread`` returns them.

    Returns
    -------
    Path or None
        File that was written; None if there is none.  A line on the terminal names a temporary one.

    Raises
    ------
    ValueError
        The sizes of result, rig and left image differ.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> disparity = np.full((40, 60), 25, np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = show(StereoResult(disparity, disparity), Rig(500, 30, 20, 5), path=f"{folder}/page.html")
    ...     page.name
    'page.html'
    """
    content = page_of(result, rig, left, max_depth_mm=max_depth_mm, bgr=bgr)
    is_notebook = _is_notebook()
    if is_notebook:
        _display(content, PAGE_HEIGHT_PX if rig is not None else 330)
        if path is None:
            return None
    written = Path(tempfile.mkdtemp(prefix="bdis-"), "result.html") if path is None else Path(path)
    write_whole(written, content.encode())
    if path is None:
        if sys.stderr.isatty():
            print(f"bdis.show: {written}", file=sys.stderr)
        if has_screen():
            webbrowser.open(written.as_uri())
    return written


def page_of(
    result: StereoResult,
    rig: Rig | None = None,
    left: Array | None = None,
    *,
    max_depth_mm: float | None = None,
    bgr: bool = False,
) -> str:
    """The page that :func:`show` shows.

    Parameters
    ----------
    result, rig, left, max_depth_mm, bgr
        As for :func:`show`.

    Returns
    -------
    str
        HTML without addresses of anything else.
    """
    if left is not None and np.shape(left)[:2] != result.disparity.shape:
        raise ValueError(f"left is {size_text(np.shape(left))} but the result is {size_text(result.disparity.shape)}")
    if rig is None:
        return f"<!DOCTYPE html><meta charset='utf-8'><title>bdis</title>{result._repr_html_()}"
    pictures = depth_pictures(rig, result, max_depth_mm)
    colors = None if left is None else as_rgb_bytes(left, bgr=bgr)
    data = _cloud_data(result, rig, colors, max_depth_mm, pictures[0].span)
    template = files(__package__).joinpath("inline_page.html").read_text("utf-8")
    shown = card(repr(result), pictures=pictures, warnings=result.warnings)
    return template.replace("<!-- card -->", shown).replace("<!-- data -->", json.dumps(data))


def _cloud_data(
    result: StereoResult, rig: Rig, colors: Array | None, max_depth_mm: float | None, span: tuple[float, float]
) -> dict[str, Any]:
    """The cloud for the script of the page: numbers, and arrays of unsigned integers as base64."""
    height, width = result.disparity.shape
    every = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    cloud = rig.cloud(result, colors, max_depth_mm=max_depth_mm, every=every)
    points = cloud.points.astype(np.float64)
    if len(points):  # a few points far away would make all others small
        low, high = np.percentile(points, [1, 99], axis=0)
        kept = np.all(np.abs(points - (low + high) / 2) <= high - low + 1e-3, axis=1)
    else:
        low, high, kept = np.zeros(3), np.ones(3), np.zeros(0, bool)
    points = points[kept]
    corner = points.min(0) if len(points) else low
    step = max(float(np.ptp(points, axis=0).max()) / _STEPS, 1e-6) if len(points) else 1.0
    shades = color_table("turbo_r", UNKNOWN_ON_DARK)[color_steps(points[:, 2].astype(np.float32), span)]
    within = np.zeros(0, np.uint16)
    if result.variance is not None:
        within = _half_widths(rig, result, max_depth_mm, every)[kept]
    return {
        "places": _text_of(np.rint((points - corner) / step).astype("<u2")),
        "colors": _text_of(shades if cloud.colors is None else cloud.colors[kept]),
        "colored_by": "their depth" if cloud.colors is None else "the left image",
        "within": _text_of(within),
        "low": corner.tolist(),
        "step": step,
        "centre": ((low + high) / 2).tolist(),
        "size": max(float(np.linalg.norm(high - low)) / 2, 1e-3),
        "spacing": float(every * (low + high)[2] / 2 / rig.focal_px),
    }


def _half_widths(rig: Rig, result: StereoResult, max_depth_mm: float | None, every: int) -> Array:
    """How far the depth of each point of the cloud may be off, 100ths of a mm: 95 % of the true ones are within."""
    depth = rig.depth(result, max_depth_mm=max_depth_mm)
    nearest, farthest = rig.depth_interval(result)
    width = np.maximum(depth - nearest, farthest - depth)[::every, ::every][np.isfinite(depth[::every, ::every])]
    return np.asarray(np.clip(np.nan_to_num(100 * width, nan=_STEPS, posinf=_STEPS), 1, _STEPS), "<u2")


def _text_of(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython in a terminal is none, and cannot show a page."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _display(page: str, height_px: int) -> None:
    """Show a page below the cell, in a frame of its own: its script reaches nothing of the notebook."""
    frame = f"<iframe srcdoc='{html.escape(page)}' sandbox='allow-scripts' title='bdis' width='100%' "
    shown = {"text/html": f"{frame}height='{height_px}' style='border:0'></iframe>", "text/plain": "bdis.show"}
    sys.modules["IPython"].display.display(shown, raw=True)
