"""Frames from live ROS topics."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from ...common.arrays import size_text
from ...connections.ros.live_topics import LiveTopics
from .source import BadFrame, Source, StereoFrame

WAIT_S = 0.2  # in which an end is noticed
KEPT_HEADERS = 64  # more frames than a stream holds at once


class FrameHeader(NamedTuple):
    """What ROS says of a frame.

    Attributes
    ----------
    stamp_ns : int
        When it was taken, ns since 1970.
    frame_id : str
        Coordinate frame of the left camera.
    """

    stamp_ns: int
    frame_id: str


class RosSource(Source):
    """Always the newest pair of two topics.

    It ends when the ``camera_info`` or the size of the images changes, so that a new one can be made for what follows.

    Parameters
    ----------
    topics : LiveTopics
        Where the pairs come from; it is not closed with this source.

    Attributes
    ----------
    change : str
        Why it ended; empty if it has not, or was told to.
    """

    is_live = True

    def __init__(self, topics: LiveTopics):
        names = topics.topics
        self.name = "ROS" if names is None else f"{names.left} and {names.right}"
        self.change = ""
        self._topics, self._changes = topics, topics.changes
        self._headers: OrderedDict[int, FrameHeader] = OrderedDict()
        self._is_over = False
        self._next = 0
        self._first_ns: int | None = None
        self._shape: tuple[int, ...] | None = None

    def read(self) -> StereoFrame | None:
        while not self._is_over:
            pair = self._topics.next_pair(WAIT_S)
            if self._topics.changes != self._changes:
                self.change = "camera_info has changed"
                return None
            if pair is not None:
                break
        else:
            return None
        try:
            left, right = pair.images()
        except ValueError as error:
            raise BadFrame(str(error)) from error
        if self._shape is not None and left.shape[:2] != self._shape:
            self.change = f"the images are {size_text(left.shape)} now, before they were {size_text(self._shape)}"
            return None
        self._shape = left.shape[:2]
        if self._first_ns is None:
            self._first_ns = pair.stamp_ns
        index, self._next = self._next, self._next + 1
        self._headers[index] = FrameHeader(pair.stamp_ns, pair.frame_id)
        if len(self._headers) > KEPT_HEADERS:
            self._headers.popitem(last=False)
        return StereoFrame(index, (pair.stamp_ns - self._first_ns) / 1e9, left, right)

    def header_of(self, index: int) -> FrameHeader:
        """The header of one of the latest frames; KeyError if it is not known any more."""
        return self._headers[index]

    def end(self) -> None:
        """Make :meth:`read` return None; from any thread."""
        self._is_over = True

    def close(self) -> None:
        self._is_over = True
