"""The interface of everything that a recording writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...common.arrays import Array
from ..stream.depth_stream import DepthFrame
from .frame_log import FrameRecord


class FrameWriter(ABC):
    """Writes one output of a recording, frame by frame.

    Attributes
    ----------
    in_background : bool
        Whether :meth:`write` may run in another thread while the other outputs are written.
    too_far : int
        Number of pixels so far whose depth was too large for the output.
    """

    in_background = False
    too_far = 0

    @abstractmethod
    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        """Write a frame.

        Parameters
        ----------
        frame : DepthFrame
            A matched pair.
        depth_mm : ndarray of float32, shape (h, w), or None
            Its depth, NaN = unknown; None without a rig, or if no output uses it.

        Raises
        ------
        OSError
            The frame cannot be written; those before it are complete.
        """

    def append(self, path: Path, records: Sequence[FrameRecord]) -> None:
        """Take over frames that another writer of this output has written, without making them again.

        Parameters
        ----------
        path : Path
            What the other one wrote to.
        records : sequence of FrameRecord
            Its frames.

        Raises
        ------
        OSError
            They cannot be read or written.
        ValueError
            They are not there, or were written by another version of an encoder.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be joined")

    def close(self) -> None:
        """Write what is held back, and close all files."""
        return None

    def manifest_entry(self) -> dict[str, Any] | None:
        """What a reader of this output must know, for the manifest; None if nothing."""
        return None
