"""Frames of a video by number, for data sets; read forwards, as seeking in such files is not exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.optional import require


class ForwardVideo:
    """A video whose frames are asked for in order; going back means reading from the beginning.

    Parameters
    ----------
    path : Path
        The video.

    Attributes
    ----------
    count : int
        Number of frames, as its header says.

    Raises
    ------
    ValueError
        It cannot be read as a video.
    """

    def __init__(self, path: Path):
        self.path = path
        self._cv2 = require("cv2", "reading videos")
        self._video = self._open()
        self.count = int(self._video.get(self._cv2.CAP_PROP_FRAME_COUNT))
        self._next = 0

    def image(self, number: int) -> Array:
        """Frame ``number``, RGB (h, w, 3); ValueError if the video ends before it."""
        if number < self._next:
            self._video, self._next = self._open(), 0
        while self._next <= number:
            there = self._video.grab()
            self._next += 1
            if not there:
                raise ValueError(f"{self.path} ends before frame {number}")
        _, image = self._video.retrieve()
        return np.ascontiguousarray(image[..., ::-1])

    def _open(self) -> Any:
        video = self._cv2.VideoCapture(str(self.path))
        if not video.isOpened():
            raise ValueError(f"{self.path} cannot be read as a video")
        return video
