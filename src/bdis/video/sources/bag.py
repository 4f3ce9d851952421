"""Recordings of ROS as sources: .bag, .mcap and .db3 files, and the folders of ROS 2 bags."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...connections.ros.bag import Bag, Message, bag_files, is_bag
from ...connections.ros.image_messages import compressed_image_of, image_of
from ...connections.ros.message_types import COMPRESSED, parse_message
from ...connections.ros.messages import cameras_of, is_calibrated
from ...connections.ros.topic_cameras import decide_camera
from .bag_index import NS_PER_S, BagIndex, index_bag
from .fingerprint import fingerprint
from .source import BadFrame, OpenOptions, Source, SourceKind, StereoFrame

MAX_LOOKS = 100  # at frames, to find some that tell whether they are rectified
_SAME_TIME_S = 1e-6  # a time may differ by less than this after it was written and read


class BagSource(Source):
    """The stereo pairs of a recording of ROS 1 or 2.

    Times are those of the headers, from the first pair on; a left image without a right one is a frame that is lost.
    The cameras are those of the camera_info, by which raw images are rectified.

    Parameters
    ----------
    place : path
        A .bag, .mcap or .db3 file, or the folder of a ROS 2 bag.
    topics : (str, str), optional
        Topics of the left and right images.  Default: found by their names and camera_info.
    rectify : bool, optional
        Whether the images are to be rectified.  Default: told from the topic and the images.
    tolerance_ms : float, optional
        Largest difference between the stamps of a pair.  Default: a quarter of the time between two frames.

    Examples
    --------
    >>> BagSource("surgery.bag").name
    'surgery.bag'
    """

    def __init__(
        self,
        place: str | Path,
        topics: tuple[str, str] | None = None,
        *,
        rectify: bool | None = None,
        tolerance_ms: float | None = None,
    ):
        self.name = str(place)
        if tolerance_ms is not None and not 0 <= tolerance_ms < math.inf:
            raise ValueError(f"tolerance_ms is {tolerance_ms:g}; expected 0 or more")
        self._place, self._topics, self._rectify, self._tolerance_ms = Path(place), topics, rectify, tolerance_ms
        self._next = 0
        self._bag: Bag | None = None
        self._found: BagIndex | None = None
        self._camera: Rectifier | Rig | None = None
        self._camera_remarks: list[str] = []
        self._knows_camera = False
        self._told_problems = False

    @property
    def _index(self) -> BagIndex:
        if self._found is None:
            self._bag = Bag(self._place)
            try:
                self._found = index_bag(self._bag, self._place, self._topics, self._tolerance_ms)
                first = self._found.pairs[0].stamp_ns
                self._times_s = np.array([(pair.stamp_ns - first) / NS_PER_S for pair in self._found.pairs])
            except BaseException:
                self._bag.close()
                raise
        return self._found

    @property
    def fps(self) -> float | None:
        steps = np.diff(self._times_s) if len(self._index.pairs) > 1 else np.zeros(1)
        step = float(np.median(steps))
        return 1 / step if step > 0 else None

    @property
    def length(self) -> int:
        return len(self._index.pairs)

    @property
    def topics(self) -> tuple[str, str]:
        """Topics of the left and right images."""
        return self._index.topics

    @property
    def remarks(self) -> list[str]:
        return list(self._index.remarks)

    @property
    def fingerprint(self) -> dict[str, Any]:
        if self._place.is_dir():
            return fingerprint(bag_files(self._place), reads_whole=False)
        return fingerprint([self._place], reads_whole=False, has_names=False)

    @property
    def camera_remarks(self) -> list[str]:
        """What was decided about the calibration, and why; known after :attr:`camera`."""
        return list(self._camera_remarks)

    @property
    def rig(self) -> Rig | None:
        return self.camera if isinstance(self.camera, Rig) else None

    @property
    def camera(self) -> Rectifier | Rig | None:
        return self.find_camera(lambda text: warnings.warn(text, stacklevel=7))

    def find_camera(self, warn: Callable[[str], None]) -> Rectifier | Rig | None:
        """:attr:`camera`; the first call tells what speaks against the camera_info."""
        if not self._knows_camera:
            self._camera = self._find_camera(warn)
            self._knows_camera = True
        return self._camera

    def read(self) -> StereoFrame | None:
        pairs, index = self._index.pairs, self._next
        assert self._bag is not None
        if index >= len(pairs):
            if self._bag.problems and not self._told_problems:
                self._told_problems = True
                raise BadFrame("; ".join(self._bag.problems), count=0)
            return None
        self._next += 1
        return self._load(index)

    def seek(self, time_s: float, index: int | None = None) -> None:
        wanted = index
        if wanted is None:
            _ = self._index
            wanted = int(np.searchsorted(self._times_s, time_s - _SAME_TIME_S))
        self._next = min(max(wanted, 0), self.length)

    def time_of(self, index: int) -> float:
        _ = self._index
        if index <= 0:
            return 0.0
        if index < self.length:  # halfway after the frame before
            return float(self._times_s[index - 1] + self._times_s[index]) / 2
        return float(self._times_s[-1]) + (index - self.length + 0.5) / (self.fps or 1.0)

    def close(self) -> None:
        self._next = 0
        if self._bag is not None:
            self._bag.close()

    def _load(self, index: int) -> StereoFrame:
        pair, time_s = self._index.pairs[index], float(self._times_s[index])
        if pair.right is None:
            within = f"{self._index.tolerance_ms:.3g} ms"
            raise BadFrame(f"frame {index}: the left image at {time_s:.3f} s has no right one within {within}")
        try:
            left, frame_id = self._image(pair.left, self._index.topics[0])
            right, _ = self._image(pair.right, self._index.topics[1])
        except ValueError as error:
            raise BadFrame(f"frame {index}: {error}") from error
        return StereoFrame(index, time_s, left, right, stamp_ns=pair.stamp_ns, frame_id=frame_id)

    def _image(self, message: Message, topic: str) -> tuple[Array, str]:
        assert self._bag is not None
        kind = self._bag.topics[topic]
        parsed: Any = parse_message(self._bag.read(message), kind, self._bag.is_ros1)
        image = compressed_image_of(parsed) if kind == COMPRESSED else image_of(parsed)
        return image, str(parsed.header.frame_id)

    def _find_camera(self, warn: Callable[[str], None]) -> Rectifier | Rig | None:
        index = self._index
        if index.infos is None or not all(map(is_calibrated, index.infos)):
            lack = "no camera_info of both cameras" if index.infos is None else "a camera_info without calibration"
            if self._rectify:
                raise ValueError(f"{self.name} has {lack}: nothing to rectify with")
            self._camera_remarks = [f"none: the bag has {lack}"]
            return None
        if index.info_change_s is not None:
            raise ValueError(
                f"{self.name}: the camera_info changes after {index.info_change_s:.3f} s, and one calibration is used "
                "for all frames; give it (--calib FILE), or cut the bag there"
            )
        try:
            found = cameras_of(*index.infos)
            camera, remarks = decide_camera(found, index.topics, self._rectify, self._some_pairs(), warn)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.name}: {error}") from error
        self._camera_remarks = [f"camera_info of the bag, unit {found.unit}", *remarks]
        return camera

    def _some_pairs(self) -> Iterator[tuple[Array, Array]]:
        """Images from all over the bag."""
        count = 0
        for index in np.linspace(0, self.length - 1, min(self.length, MAX_LOOKS)).astype(int):
            try:
                frame = self._load(int(index))
            except BadFrame:
                continue
            yield frame.left, frame.right
            count += 1
        if not count:
            raise ValueError("none of its frames can be read")


def _open(places: list[str], options: OpenOptions) -> BagSource:
    if len(places) > 1:
        raise ValueError(f"{places[0]} has both views; do not give a right one, but --topics LEFT RIGHT")
    return BagSource(places[0], options.topics, rectify=options.rectify, tolerance_ms=options.tolerance_ms)


BAG = SourceKind("a recording of ROS", is_bag, _open, is_bag=True)
