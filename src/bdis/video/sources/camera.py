"""Cameras and capture cards, through OpenCV."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ...common.arrays import Array
from ...common.optional import require
from .source import OpenOptions, Source, SourceKind, SourceLost, StereoFrame, check_fps
from .views import Splitter


class CameraSource(Source):
    """One device that delivers both views in one picture, or one device for each view.

    Parameters
    ----------
    devices : list of int or str
        One or two devices: an index such as 0, or a path such as "/dev/video0".
    splitter : Splitter
        Separates the views of a single device.
    fps : float, optional
        Frames per second to request.  Default: what the camera is set to.
    color : bool
        RGB images, else grey.
    """

    is_live = True

    def __init__(self, devices: list[int | str], splitter: Splitter, *, fps: float | None = None, color: bool = True):
        if fps is not None:
            check_fps(fps)
        self.name = " and ".join(f"camera {device}" for device in devices)
        self._devices, self._split, self._requested_fps, self._color = devices, splitter, fps, color
        self._captures: list[Any] = []
        self._next = 0
        self._begin_s: float | None = None

    @property
    def fps(self) -> float | None:
        if not self._captures:
            return self._requested_fps
        actual = float(self._captures[0].get(self._cv2.CAP_PROP_FPS))
        return actual if actual > 0 else self._requested_fps

    @property
    def layout(self) -> str | None:
        return self._split.used

    def read(self) -> StereoFrame | None:
        self._open()
        # All devices grab before any picture is decoded, so that both views are of the same moment.
        grabbed = [capture.grab() for capture in self._captures]
        if not all(grabbed):
            raise SourceLost(f"{self.name} delivers no more pictures")
        now = time.monotonic()
        if self._begin_s is None:
            self._begin_s = now
        pictures = [self._decode(capture) for capture in self._captures]
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
                # A camera that worked before may be connected again; one that never did is a mistake of the user.
                kind = SourceLost if self._begin_s is not None else OSError
                raise kind(f"camera {device} cannot be opened; is it connected, and not in use by another program?")
            capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # a longer queue in the driver would only add delay
            if self._requested_fps is not None:
                capture.set(cv2.CAP_PROP_FPS, self._requested_fps)

    def _decode(self, capture: Any) -> Array:
        is_decoded, picture = capture.retrieve()
        if not is_decoded:
            raise SourceLost(f"{self.name} delivers no more pictures")
        if picture.ndim == 2:
            return picture  # type: ignore[no-any-return]
        code = self._cv2.COLOR_BGR2RGB if self._color else self._cv2.COLOR_BGR2GRAY
        return self._cv2.cvtColor(picture, code)  # type: ignore[no-any-return]


def _detect(place: str) -> bool:
    path = Path(place)
    return place.startswith("/dev/video") or path.is_char_device() or (place.isdigit() and not path.exists())


def _open(places: list[str], options: OpenOptions) -> CameraSource:
    devices = [int(place) if place.isdigit() else place for place in places]
    return CameraSource(devices, options.splitter, fps=options.fps, color=options.color)


CAMERA = SourceKind("a camera", _detect, _open)
