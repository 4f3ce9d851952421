"""Depth as a bag of ROS, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...connections.ros.depth_bag import DEFAULT_CONTENTS, FRAME_ID, NAMESPACE, DepthBag, check_contents
from ..stream.depth_stream import DepthFrame
from .writer import FrameWriter

FIRST_STAMP_NS = 10**9  # of sources without stamps: the first frame is at 1 s, as a stamp of 0 means "unknown" in ROS


@dataclass(frozen=True, slots=True)
class BagPlan:
    """What a bag has, and where.

    Attributes
    ----------
    contents : tuple of str
        Names of ``bdis.connections.ros.depth_bag.CONTENTS``.
    namespace : str
        What the names of all topics begin with.

    Raises
    ------
    ValueError
        There is no such content, or the namespace is none.

    Examples
    --------
    >>> BagPlan(("depth",), "my stereo")
    Traceback (most recent call last):
    ValueError: 'my stereo' is no namespace of ROS; expected words of letters, such as /stereo
    """

    contents: tuple[str, ...] = DEFAULT_CONTENTS
    namespace: str = NAMESPACE

    def __post_init__(self) -> None:
        check_contents(self.contents, self.namespace)


class BagWriter(FrameWriter):
    """Writes frames to a bag, with the stamps and the coordinate frame of the source.

    Parameters
    ----------
    path : Path
        The file.
    plan : BagPlan
        What it has.
    rig : Rig
        Of the rectified images.
    shape : (int, int)
        Their height and width.
    max_depth_mm : float or None
        Points that are farther away are unknown.
    is_ros1 : bool
        Write a bag of ROS 1, else an MCAP file of ROS 2.
    keep : int
        Keep so many frames of an existing file, and continue after them.
    """

    def __init__(
        self,
        path: Path,
        plan: BagPlan,
        rig: Rig,
        shape: tuple[int, int],
        *,
        max_depth_mm: float | None = None,
        is_ros1: bool = False,
        keep: int = 0,
    ):
        self._rig, self._contents, self._max_depth_mm = rig, plan.contents, max_depth_mm
        sized = replace(rig, size=(shape[1], shape[0]))
        self._bag = DepthBag(path, sized, plan.contents, namespace=plan.namespace, is_ros1=is_ros1, keep=keep)

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        assert depth_mm is not None
        rig, result = self._rig, frame.result
        unknown = np.isnan(depth_mm)
        stamp_ns = frame.stamp_ns
        if stamp_ns is None:
            stamp_ns = FIRST_STAMP_NS + round(1e9 * frame.time_s)
        sigma = cloud = None
        if "sigma" in self._contents:
            sigma = np.where(unknown, np.float32(np.nan), rig.depth_sigma(result))
        if "cloud" in self._contents:
            cloud = rig.cloud(result, frame.left, max_depth_mm=self._max_depth_mm)
        self._bag.write(
            stamp_ns,
            FRAME_ID if frame.frame_id is None else frame.frame_id,
            disparity=np.where(unknown, np.float32(np.nan), result.disparity),
            depth_mm=depth_mm,
            sigma_mm=sigma,
            cloud=cloud,
            left=frame.left,
            right=frame.right,
        )

    def close(self) -> None:
        self._bag.close()
