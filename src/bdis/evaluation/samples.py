"""Files with the maps of one frame per group, for the pictures of the report."""

import io
from pathlib import Path

import numpy as np

from ..cameras.rig import Rig
from ..common.arrays import Array
from ..common.npz import NUMBERS_AND_TEXT, Npz
from ..common.reading import MAX_IMAGE_BYTES, read_limited
from ..files.map_formats import as_map, readable
from ..matching.result import StereoResult
from .datasets import Frame


def pack_sample(frame: Frame, results: dict[str, StereoResult]) -> bytes:
    """A frame and the disparities that methods computed from it, as the content of an .npz file.

    Parameters
    ----------
    frame : Frame
        The frame.
    results : dict of str to StereoResult
        By method.

    Returns
    -------
    bytes
    """
    empty = np.zeros((0, 0), np.float32)
    arrays: dict[str, Array] = {
        "name": np.array(str(frame)),
        "left": frame.left,
        "reference_mm": empty if frame.depth_mm is None else frame.depth_mm,
        "reference_px": empty if frame.disparity is None else frame.disparity,
        "methods": np.array(list(results)),
        "max_depth_mm": np.array(np.inf if frame.max_depth_mm is None else frame.max_depth_mm),
    }
    if frame.rig is not None:
        rig = frame.rig
        arrays["rig"] = np.array([rig.focal_px, rig.cx, rig.cy, rig.baseline_mm, rig.cx + rig.doffs])
    for index, result in enumerate(results.values()):
        arrays[f"disparity_{index}"] = result.disparity
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # the type stub mistakes them for its own keyword
    return buffer.getvalue()


class Sample:
    """A sample that :func:`pack_sample` made, read from its file.

    Parameters
    ----------
    path : Path
        The .npz file.

    Attributes
    ----------
    name : str
        Name of the frame.
    left : ndarray, shape (h, w) or (h, w, 3)
        The left image.
    rig : Rig or None
        The cameras.
    reference : ndarray of float32, shape (h, w), or None
        Depth in mm with a rig, else disparity in px.
    disparities : dict of str to ndarray of float32, shape (h, w)
        px, by method; NaN where unknown.
    maps : dict of str to ndarray of float32, shape (h, w)
        By method, depth in mm with a rig, else disparity in px; NaN where unknown.

    Raises
    ------
    ValueError
        The file is not a sample.
    OSError
        The file cannot be read.
    """

    def __init__(self, path: Path):
        content = read_limited(path, MAX_IMAGE_BYTES)
        readable(lambda: self._take(Npz(content, NUMBERS_AND_TEXT)), path, "a sample of a benchmark")

    def _take(self, found: Npz) -> None:
        self.name, self.left = str(found["name"]), found["left"]
        self.rig = None
        if "rig" in found:
            focal, cx, cy, baseline, cx_right = map(float, found["rig"])
            self.rig = Rig(focal, cx, cy, baseline, None if cx_right == cx else cx_right)
        reference = found["reference_px" if self.rig is None else "reference_mm"]
        self.reference: Array | None = as_map(reference) if reference.size else None
        self.disparities = {str(name): as_map(found[f"disparity_{i}"]) for i, name in enumerate(found["methods"])}
        max_depth_mm = float(found["max_depth_mm"])
        self.maps = {name: self._map(each, max_depth_mm) for name, each in self.disparities.items()}

    def _map(self, disparity: Array, max_depth_mm: float) -> Array:
        if self.rig is None:
            return disparity
        depth = self.rig.depth(disparity)
        with np.errstate(invalid="ignore"):
            return np.where(depth <= max_depth_mm, depth, np.float32(np.nan))
