"""Cameras and capture cards, through OpenCV."""

from __future__ import annotations

import time
from typing import Any

from ...common.arrays import Array
from ...common.optional import require
from .source import Source, SourceLost, StereoFrame
from .views import Splitter


class CameraSource(Source):
    """One device that delivers both views in a picture, or a device for each view.

    Parameters
    ----------
    devices : one or two: an index such as 0, or a path such as "/dev/video0"
    splitter : takes the pictures of one device apart
    fps : frames per second to ask for; None: the camera's own
    color : RGB pictures, else grey
    """

    is_live = True

    def __init__(self, devices: list[int | str], splitter: Splitter, *, fps: float | None = None, color: bool = True):
        self.name = " and ".join(f"camera {device}" for device in devices)
        self._devices, self._split, self._asked_fps, self._color = devices, splitter, fps, color
        self._captures: list[Any] = []
        self._next = 0
        self._begin_s: float | None = None

    @property
    def fps(self) -> float | None:
        if not self._captures:
            return self._asked_fps
        told = float(self._captures[0].get(self._cv2.CAP_PROP_FPS))
        return told if told > 0 else self._asked_fps

    @property
    def layout(self) -> str | None:
        return self._split.used

    def read(self) -> StereoFrame | None:
        self._open()
        # All are told to take a picture before any is fetched, so that both views are of the same moment.
        grabbed = [capture.grab() for capture in self._captures]
        if not all(grabbed):
            raise SourceLost(f"{self.name} gives no more pictures")
        now = time.monotonic()
        if self._begin_s is None:
            self._begin_s = now
        pictures = [self._fetch(capture) for capture in self._captures]
        left, right = self._split(pictures[0]) if len(pictures) == 1 else pictures
        self._next += 1
        return StereoFrame(self._next - 1, now - self._begin_s, left, right)

    def close(self) -> None:
        for capture in self._captures:
            capture.release()
        self._captures = []

    def _open(self) -> None:
        if self._captures:
            return
        cv2 = self._cv2 = require("cv2", "reading cameras")
        for device in self._devices:
            capture = cv2.VideoCapture(device)
            self._captures.append(capture)
            if not capture.isOpened():
                self.close()
                # One that has been there may come back; one that never was is a mistake of the user's.
                lost = SourceLost if self._begin_s is not None else OSError
                raise lost(f"camera {device} cannot be opened; is it there, and not in use by another program?")
            capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # a driver's queue would only add delay
            if self._asked_fps is not None:
                capture.set(cv2.CAP_PROP_FPS, self._asked_fps)

    def _fetch(self, capture: Any) -> Array:
        there, picture = capture.retrieve()
        if not there:
            raise SourceLost(f"{self.name} gives no more pictures")
        if picture.ndim == 2:
            return picture  # type: ignore[no-any-return]
        code = self._cv2.COLOR_BGR2RGB if self._color else self._cv2.COLOR_BGR2GRAY
        return self._cv2.cvtColor(picture, code)  # type: ignore[no-any-return]
