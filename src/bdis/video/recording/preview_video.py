"""The preview video: the left image beside its depth in colours, as MP4."""

from __future__ import annotations

from collections.abc import Sequence

from ...common.arrays import Array
from ...common.atomic import Place
from ...common.optional import require
from .preview_picture import PreviewPicture
from .video_file import PURPOSE, Encoding, VideoFile

PREVIEW_VIDEO = "preview.mp4"
PREVIEW_PART = 25  # frames that are encoded independently of those before


class PreviewVideo:
    """Writes pictures of :class:`PreviewPicture`; the first frame of the video is at 0 s.

    Parameters
    ----------
    path : path
        The file.
    draw : PreviewPicture
        Draws the pictures.
    first_s : float, optional
        Time of the first frame, if it was written by an earlier run.
    fps : float, optional
        Frames per second, as information for players; each frame has its own time.
    keep : int
        Keep so many frames of an existing file, and continue after them.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> depth = np.full((240, 320), 50, np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     video = PreviewVideo(f"{folder}/preview.mp4", PreviewPicture("depth", depth.shape, (30, 90)))
    ...     video.write(depth.astype(np.uint8), depth, time_s=90.0)
    ...     video.close()
    """

    def __init__(
        self,
        path: Place,
        draw: PreviewPicture,
        *,
        first_s: float | None = None,
        fps: float | None = None,
        keep: int = 0,
    ):
        self.draw = draw
        self._first_s = first_s
        self._file = VideoFile(path, _encoding(), draw.size, fps=fps, keep=keep)

    def write(self, left: Array, values: Array, time_s: float) -> None:
        """Add a frame.

        Parameters
        ----------
        left : ndarray, shape (h, w) or (h, w, 3)
            Left image, grey or RGB.
        values : ndarray of float32, shape (h, w)
            Depth in mm or disparity in px; NaN = unknown.
        time_s : float
            Time of the frame, seconds.

        Raises
        ------
        OSError
            The frame cannot be written; what was written before can be read.
        """
        if self._first_s is None:
            self._first_s = time_s
        cv2 = require("cv2", "a preview")
        picture = cv2.cvtColor(self.draw(left, values), cv2.COLOR_RGB2YUV_I420)  # faster than PyAV's conversion
        self._file.write(picture, time_s - self._first_s)

    def append(self, path: Place, times_s: Sequence[float]) -> None:
        """Add all frames of another video of the same kind, without encoding them again.

        Parameters
        ----------
        path : path
            The other video.
        times_s : sequence of float
            Times of its frames, seconds.

        Raises
        ------
        OSError
            They cannot be written.
        ValueError
            It has another number of frames, or was written by another version of its encoder.
        """
        if self._first_s is None:
            self._first_s = times_s[0]
        self._file.append(path, [time_s - self._first_s for time_s in times_s])

    def close(self) -> None:
        """Write the last frame and close the file."""
        self._file.close()


def _encoding() -> Encoding:
    """H.264 if this PyAV can encode it, else MPEG-4; no frame depends on later ones."""
    av = require("av", PURPOSE)
    if "libx264" in av.codecs_available:
        codec, options = "libx264", {"preset": "ultrafast", "tune": "zerolatency", "crf": "22"}
    else:
        codec, options = "mpeg4", {"b": "8M"}
    # Fragmented while it grows, so that it can be read at any time; a normal MP4 once it is closed.
    movflags = {"movflags": "hybrid_fragmented+frag_every_frame"}
    # MPEG-4 has no finer time base.
    return Encoding("mp4", codec, "yuv420p", PREVIEW_PART, 60_000, movflags, options, is_in_parts=True)
