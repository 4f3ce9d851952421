"""A video for people: the left image beside its depth in colours, as MP4."""

from __future__ import annotations

from ...common.arrays import Array
from ...common.atomic import Place
from ...common.optional import require
from .picture import SideBySide
from .video_file import PURPOSE, Encoding, VideoFile

PREVIEW_VIDEO = "preview.mp4"


class PreviewVideo:
    """Writes pictures of :class:`SideBySide`; the first frame is at 0 s.

    Parameters
    ----------
    path : the file
    draw : SideBySide
    first_s : time of the first frame, if it is known from an earlier part
    fps : frames per second, a hint
    keep : go on after so many frames of the file

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> depth = np.full((240, 320), 50, np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     video = PreviewVideo(f"{folder}/preview.mp4", SideBySide("depth", depth.shape, (30, 90)))
    ...     video.write(depth.astype(np.uint8), depth, time_s=90.0)
    ...     video.close()
    """

    def __init__(
        self, path: Place, draw: SideBySide, *, first_s: float | None = None, fps: float | None = None, keep: int = 0
    ):
        self.draw = draw
        self._first_s = first_s
        self._file = VideoFile(path, _encoding(), draw.size, fps=fps, keep=keep)

    def write(self, left: Array, values: Array, time_s: float) -> None:
        """Add a frame: the left image, and depth in mm or disparity in px."""
        if self._first_s is None:
            self._first_s = time_s
        cv2 = require("cv2", "a preview")
        picture = cv2.cvtColor(self.draw(left, values), cv2.COLOR_RGB2YUV_I420)  # faster than PyAV's conversion
        self._file.write(picture, time_s - self._first_s)

    def close(self) -> None:
        """Write the last frame."""
        self._file.close()


def _encoding() -> Encoding:
    """H.264 where there is an encoder of it; without frames that wait for later ones."""
    av = require("av", PURPOSE)
    if "libx264" in av.codecs_available:
        codec, options = "libx264", {"preset": "ultrafast", "tune": "zerolatency", "crf": "22"}
    else:
        codec, options = "mpeg4", {"b": "8M"}
    # In pieces while it grows, so that it can be read at any time; a common MP4 once it is closed.
    movflags = {"movflags": "hybrid_fragmented+frag_every_frame"}
    return Encoding("mp4", codec, "yuv420p", 25, 60_000, movflags, options)  # MPEG-4 knows no finer ticks
