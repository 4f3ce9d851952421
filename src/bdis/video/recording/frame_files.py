"""A file per frame: float32 TIFF of maps, PLY of clouds, named by the frame's number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...files.maps import write_depth, write_disparity
from ...files.ply import write_ply
from ..stream.depth_stream import DepthFrame

FRAME_FILES = ("depth", "disparity", "probability", "sigma", "cloud")


class FrameFiles:
    """Writes one kind of file into the folder of that name, each whole or not at all.

    Parameters
    ----------
    folder : of the recording
    kind : of :data:`FRAME_FILES`
    rig : of the frames; only disparity and probability can do without
    max_depth_mm : what is further is left out of clouds
    """

    def __init__(self, folder: Path, kind: str, rig: Rig | None, max_depth_mm: float | None = None):
        self._folder, self._kind, self._rig, self._max_depth_mm = folder / kind, kind, rig, max_depth_mm
        self._folder.mkdir(exist_ok=True)
        for unfinished in self._folder.glob(".*.part"):  # of a run that was killed
            unfinished.unlink()

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        """Write the file of a frame.

        Raises
        ------
        OSError
            It cannot be written; nothing half-written is left.
        """
        path = self._folder / f"{frame.index:06d}.{'ply' if self._kind == 'cloud' else 'tiff'}"
        if self._kind == "disparity":
            write_disparity(path, frame.result.disparity)
        elif self._kind == "probability":
            write_disparity(path, frame.result.probability)  # a TIFF of floats knows no unit
        else:
            assert self._rig is not None
            assert depth_mm is not None
            if self._kind == "depth":
                write_depth(path, depth_mm)
            elif self._kind == "cloud":
                write_ply(path, self._rig.cloud(frame.result, frame.left, max_depth_mm=self._max_depth_mm))
            else:
                sigma = self._rig.depth_sigma(frame.result)
                write_depth(path, np.where(np.isnan(depth_mm), np.float32(np.nan), sigma))
