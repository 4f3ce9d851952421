"""What a recording holds, read back frame by frame: depth, and sigma and left images if they were recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...connections.ros.depth_bag import read_depth_bag
from ...files.images import read_image
from ...files.maps import read_depth
from .bag_output import BagPlan
from .depth_video import DEPTH_VIDEO, read_depth_video
from .frame_files import frame_file
from .frame_log import FRAME_LOG, REPAIRS, FrameRecord, read_ordered_log
from .inventory import RIG_FILE
from .manifest import read_manifest
from .outputs import BAGS, OUTPUTS


@dataclass(frozen=True)
class RecordedFrame:
    """A frame of a recording.

    Attributes
    ----------
    record : FrameRecord
        Its line in ``frames.csv``.
    depth_mm : ndarray of float32, shape (h, w)
        NaN = unknown.
    sigma_mm : ndarray of float32, shape (h, w), or None
        Standard deviation of the depth; None if it was not recorded.
    left : ndarray, shape (h, w) or (h, w, 3), or None
        Rectified left image; None if it was not recorded.
    """

    record: FrameRecord
    depth_mm: NDArray[np.float32]
    sigma_mm: NDArray[np.float32] | None
    left: Array | None


class RecordedDepth:
    """A recording of ``bdis run`` with depth, finished or not.

    Parameters
    ----------
    folder : Path
        Its folder.

    Attributes
    ----------
    manifest : dict
        Content of ``manifest.json``.
    records : list of FrameRecord
        The frames, from ``frames.csv``.
    rig : Rig
        The rectified cameras.
    outputs : set of str
        Which of ``OUTPUTS`` it has; depth, sigma and left also if only its bag has them.
    shape : (int, int)
        Height and width of the images.

    Raises
    ------
    ValueError
        It is not a recording, has no frames, or no depth.
    OSError
        It cannot be read.

    Examples
    --------
    >>> import bdis, tempfile
    >>> from bdis.video.recording import Recording, RecordingPlan
    >>> source = bdis.open_source("render:plane,frames=2,height=48,width=64")
    >>> plan = RecordingPlan(("depth", "left"), (48, 64), source.rig)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recording = Recording(folder, plan, {"source": source.name})
    ...     for frame in bdis.DepthStream(source, bdis.StereoMatcher("fast")):
    ...         recording.add(frame)
    ...     recording.close("complete")
    ...     [(frame.record.index, frame.left.shape) for frame in RecordedDepth(Path(folder)).frames()]
    [(0, (48, 64, 3)), (1, (48, 64, 3))]
    """

    def __init__(self, folder: Path):
        self.folder = folder
        if not (folder / FRAME_LOG).is_file():
            raise ValueError(f"{folder} is not a recording of bdis run: it has no {FRAME_LOG}")
        self.manifest = read_manifest(folder)
        self.records = read_ordered_log(folder / FRAME_LOG)
        if not self.records:
            raise ValueError(f"the recording in {folder} has no frames")
        saved = self.manifest["run"].get("save")
        self._saved = {name for name in OUTPUTS if name in saved} if isinstance(saved, list) else set()
        self._bag = next((OUTPUTS[name].path for name in BAGS if name in self._saved), None)
        self._bag_plan = self._read_bag_plan()
        in_bag = set() if self._bag is None else {"depth", "sigma", "left"}.intersection(self._bag_plan.contents)
        self.outputs = self._saved | in_bag
        if not self.outputs & {"depth", "video"} or not (folder / RIG_FILE).is_file():
            raise ValueError(
                f"the recording in {folder} has no depth: record it with a calibration and --save video, depth or bag"
            )
        self.rig = Rig.load(folder / RIG_FILE)
        self.shape = self._shape()

    @property
    def source(self) -> dict[str, Any]:
        """What the manifest says about the source."""
        found = self.manifest["run"].get("source")
        return found if isinstance(found, dict) else {}

    def frames(self) -> Iterator[RecordedFrame]:
        """Read the frames in order.

        Raises
        ------
        ValueError
            An output lacks a frame, or one is damaged or of another size.
        OSError
            A file cannot be read.
        """
        for record, depth, sigma, left in zip(self.records, *map(self._arrays, ("depth", "sigma", "left"))):
            assert depth is not None
            for name, array in (("depth", depth), ("sigma", sigma), ("left image", left)):
                if array is not None and array.shape[:2] != self.shape:
                    raise ValueError(
                        f"the {name} of frame {record.index} in {self.folder} is {size_text(array.shape)}; "
                        f"expected {size_text(self.shape)}"
                    )
            yield RecordedFrame(record, depth, sigma, left)

    def _arrays(self, name: str) -> Iterator[Array | None]:
        """The maps or images of all frames; None for each if they were not recorded."""
        if name in self._saved:  # depth as floats, not rounded as in the video
            for record in self.records:
                yield (read_image if name == "left" else read_depth)(self._file(name, record))
        elif name not in self.outputs and name != "depth":
            yield from itertools.repeat(None)
        elif name in self.outputs and self._bag is not None:
            path = self.folder / self._bag
            yield from self._all_of(path, read_depth_bag(path, name, self._bag_plan.namespace))
        else:
            path = self.folder / DEPTH_VIDEO
            yield from self._all_of(path, (depth for _, _, depth in read_depth_video(path)))

    def _all_of(self, path: Path, arrays: Iterator[Array]) -> Iterator[Array]:
        """The content of a file that has all frames; ValueError if some are missing."""
        count = 0
        for array in arrays:
            count += 1
            yield array
        if count < len(self.records):
            raise ValueError(f"{path} has {count} of {len(self.records)} frames; {REPAIRS}")

    def _read_bag_plan(self) -> BagPlan:
        """What its bag has; ValueError if the manifest does not say."""
        try:
            found = self.manifest["run"].get("bag", {})
            return BagPlan(tuple(found["contents"]), found["namespace"]) if found else BagPlan()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"the manifest in {self.folder} does not say what its bag has: {error!r}") from None

    def _file(self, name: str, record: FrameRecord) -> Path:
        output = OUTPUTS[name]
        return frame_file(self.folder / output.path, record.index, output.ending or "")

    def _shape(self) -> tuple[int, int]:
        size = self.rig.size or self.manifest["run"].get("size")
        try:
            width, height = (int(number) for number in size)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"the manifest in {self.folder} does not say how large the images are") from None
        return height, width
