"""One file per frame, named by its number: float32 TIFF of maps, PNG of left images, PLY of point clouds."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...files.images import write_image
from ...files.maps import write_depth, write_disparity
from ...files.ply import write_ply
from ..stream.depth_stream import DepthFrame
from .frame_log import FrameRecord
from .recording_folder import remove_parts
from .writer import FrameWriter

WriteFile = Callable[[Path, DepthFrame, Array | None, Rig | None, float | None], None]


class FrameFiles(FrameWriter):
    """Writes one file per frame into a folder; a file is written completely or not at all.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    ending : str
        Of the file names, such as "tiff".
    write_file : callable
        Called with the path, the frame, its depth, ``rig`` and ``max_depth_mm``.
    rig : Rig or None
        Of the frames.
    max_depth_mm : float, optional
        Points that are farther away are left out of clouds.
    """

    def __init__(
        self, folder: Path, ending: str, write_file: WriteFile, rig: Rig | None, max_depth_mm: float | None = None
    ):
        self._folder, self._ending, self._write_file = folder, ending, write_file
        self._rig, self._max_depth_mm = rig, max_depth_mm
        self._folder.mkdir(exist_ok=True)
        remove_parts(self._folder)

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        path = frame_file(self._folder, frame.index, self._ending)
        self._write_file(path, frame, depth_mm, self._rig, self._max_depth_mm)

    def append(self, path: Path, records: Sequence[FrameRecord]) -> None:
        for record in records:
            theirs, ours = (frame_file(folder, record.index, self._ending) for folder in (path, self._folder))
            try:
                os.link(theirs, ours)  # the same file under a second name: nothing is copied
            except FileNotFoundError:
                raise
            except OSError:  # some file systems cannot
                shutil.copyfile(theirs, ours)


def frame_file(folder: Path, index: int, ending: str) -> Path:
    """The file of a frame, named by its number.

    >>> frame_file(Path("depth"), 7, "tiff").name
    '000007.tiff'
    """
    return folder / f"{index:06d}.{ending}"


def crc32_of(paths: Sequence[Path]) -> int:
    """CRC-32 of the content of files, one after the other; 0 if there are none.

    Raises
    ------
    OSError
        One cannot be read.
    """
    found = 0
    for path in paths:
        found = zlib.crc32(path.read_bytes(), found)
    return found


def write_left_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """The rectified left image, lossless; 8 or 16 bit."""
    if frame.left.dtype.kind == "f":
        raise ValueError(f"the images are {frame.left.dtype}, which PNG does not store; leave out --save left")
    write_image(path, frame.left)


def write_depth_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """Depth in mm."""
    assert depth_mm is not None
    write_depth(path, depth_mm)


def write_disparity_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """Disparity in px."""
    write_disparity(path, frame.result.disparity)


def write_probability_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """Probability, 0 to 1."""
    write_disparity(path, frame.result.probability)  # a TIFF of floats has no unit


def write_sigma_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """Standard deviation of the depth in mm."""
    assert rig is not None
    assert depth_mm is not None
    sigma = rig.depth_sigma(frame.result)
    write_depth(path, np.where(np.isnan(depth_mm), np.float32(np.nan), sigma))


def write_cloud_file(
    path: Path, frame: DepthFrame, depth_mm: Array | None, rig: Rig | None, max_depth_mm: float | None
) -> None:
    """Point cloud in mm with the colours of the left image."""
    assert rig is not None
    write_ply(path, rig.cloud(frame.result, frame.left, max_depth_mm=max_depth_mm))
