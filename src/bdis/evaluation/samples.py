"""Maps of one frame per group, kept for the report."""

import io
from pathlib import Path

import numpy as np

from ..cameras.rig import Rig
from ..common.arrays import Array
from ..matching.result import StereoResult
from .datasets import Frame


def pack_sample(frame: Frame, results: dict[str, StereoResult]) -> bytes:
    """The frame and what each method made of it, as the content of an .npz file."""
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
    for place, result in enumerate(results.values()):
        arrays[f"disparity_{place}"] = result.disparity
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # the stub takes them for its own keyword
    return buffer.getvalue()


class Sample:
    """A sample read back.

    Attributes
    ----------
    name : of the frame
    left : the left image
    rig : Rig or None
    reference : (height, width), mm with a rig, else px; None if there is none
    maps : by method, (height, width), mm with a rig, else px; NaN = unknown
    """

    def __init__(self, path: Path):
        with np.load(path, allow_pickle=False) as found:
            self.name, self.left = str(found["name"]), found["left"]
            self.rig = None
            if "rig" in found:
                focal, cx, cy, baseline, cx_right = map(float, found["rig"])
                self.rig = Rig(focal, cx, cy, baseline, None if cx_right == cx else cx_right)
            reference = found["reference_px" if self.rig is None else "reference_mm"]
            self.reference: Array | None = reference if reference.size else None
            self.disparities = {str(name): found[f"disparity_{i}"] for i, name in enumerate(found["methods"])}
            most = float(found["max_depth_mm"])
        self.maps = {name: self._shown(each, most) for name, each in self.disparities.items()}

    def _shown(self, disparity: Array, most: float) -> Array:
        if self.rig is None:
            return disparity
        depth = self.rig.depth(disparity)
        with np.errstate(invalid="ignore"):
            return np.where(depth <= most, depth, np.float32(np.nan))
