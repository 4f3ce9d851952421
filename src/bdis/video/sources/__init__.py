"""Where stereo frames come from: one file per kind of source, all with the same interface.

A new kind is a file with a subclass of :class:`Source` and its :class:`SourceKind`, and a line in ``KINDS`` below.
"""

from __future__ import annotations

import os

from .bag import BAG, BagSource
from .camera import CAMERA, CameraSource
from .folder import FOLDER, IMAGE, DatasetSource, FolderSource, PictureSource
from .igtl import IGTL, IgtlSource
from .rendered import RENDERED, RenderedSource
from .source import BadFrame, NumberedSource, OpenOptions, Source, SourceKind, SourceLost, StereoFrame
from .track import Track
from .video import PIPE, URL, VIDEO, TwoVideoSource, VideoSource
from .views import LAYOUTS, Splitter, guess_layout

__all__ = [
    "KINDS",
    "LAYOUTS",
    "BadFrame",
    "BagSource",
    "CameraSource",
    "DatasetSource",
    "FolderSource",
    "IgtlSource",
    "NumberedSource",
    "PictureSource",
    "RenderedSource",
    "Source",
    "SourceKind",
    "SourceLost",
    "StereoFrame",
    "Track",
    "TwoVideoSource",
    "VideoSource",
    "guess_layout",
    "open_source",
]

Place = str | int | os.PathLike[str]
KINDS: tuple[SourceKind, ...] = (
    RENDERED, PIPE, CAMERA, IGTL, URL, BAG, FOLDER, IMAGE, VIDEO,
)  # the first that detects a place opens it  # fmt: skip


def open_source(
    where: Place,
    right: Place | None = None,
    *,
    layout: str | None = None,
    squeezed: bool = False,
    deinterlace: bool = False,
    fps: float | None = None,
    color: bool = True,
    topics: tuple[str, str] | None = None,
    tolerance_ms: float | None = None,
    rectify: bool | None = None,
    pipe_format: str | None = None,
    all_frames: bool = False,
) -> Source:
    """Create a source of stereo frames from a file, folder, device or URL.

    No video or camera is opened before its first frame is read.

    Parameters
    ----------
    where : str, int or path
        Both views, or only the left one: a video file, a URL, a camera (0, "0" or "/dev/video0"), an image, a folder
        of pairs, a folder of images that hold both views, a data set, a recording of ROS (.bag, .mcap, .db3 or the
        folder of a ROS 2 bag), a named pipe, "-" for the standard input, an OpenIGTLink server such as
        "igtl://localhost:18944?left=A&right=B", or a rendered scene such as "render:colon,frames=60".
    right : str, int or path, optional
        The right view if ``where`` is the left one; of the same kind.
    layout : {"side-by-side", "top-bottom"}, optional
        How both views are arranged in one picture.  Default: guessed from its shape.
    squeezed : bool
        Each view has half its width (or height) in that picture.
    deinterlace : bool
        The video is interlaced.
    fps : float, optional
        Frames per second of a folder (default 25), or to request from a camera.
    color : bool
        RGB frames of videos and cameras; False gives grey ones, which takes less time.
    topics : (str, str), optional
        Topics of the left and the right images in a recording of ROS.  Default: found by their names and camera_info.
    tolerance_ms : float, optional
        Largest difference between the stamps of a left and a right image in a recording of ROS that were taken
        together.  Default: a quarter of the time between two frames.
    rectify : bool, optional
        Whether the images of a recording of ROS are to be rectified.  Default: told from the topic and the images.
    pipe_format : str, optional
        What comes through a pipe: "y4m", "nut", or such as "rawvideo:1280x480:rgb24:25".  Default: found out.
    all_frames : bool
        Of a pipe, match every frame, and let its writer wait; else always the newest.

    Returns
    -------
    Source
        Iterate over it, or give it to :class:`bdis.DepthStream`.

    Raises
    ------
    ValueError
        ``where`` cannot be opened as a source, or an option does not fit it.
    OSError
        There is no such file.
    TypeError
        ``where`` is none of these, such as None.

    Examples
    --------
    >>> source = open_source("render:plane,frames=3,height=32,width=48")
    >>> source.length, source.is_live
    (3, False)
    """
    for name, place in (("where", where), ("right", right if right is not None else "")):
        if isinstance(place, bool) or not isinstance(place, str | int | os.PathLike):
            raise TypeError(f"{name} is {place!r}; expected a path, a URL, or the number of a camera")
    options = OpenOptions(
        Splitter(layout, squeezed), deinterlace, fps, color, topics, tolerance_ms, rectify, pipe_format, all_frames
    )
    if right is not None and (layout is not None or squeezed):
        raise ValueError("layout and squeezed are for pictures that hold both views, but the right view is given too")
    places = [
        str(place) if isinstance(place, int) else os.fspath(place) for place in (where, right) if place is not None
    ]
    kinds = [_kind_of(place) for place in places]
    kind = kinds[0]
    if kinds[-1] is not kind:
        names = " and ".join(f"{place} is {each.name}" for place, each in zip(places, kinds))
        raise ValueError(f"both views must be of the same kind, but {names}")
    if kind is not PIPE and (pipe_format is not None or all_frames):
        option = "all_frames" if pipe_format is None else "pipe_format"
        raise ValueError(f"{option} is for pipes, but {places[0]} is {kind.name}")
    if len(set(places)) < len(places) and kind is PIPE:
        raise ValueError(f"both views cannot come through the same pipe, {places[0]}, one after the other")
    if deinterlace and not kind.is_video:
        raise ValueError(f"deinterlace is for videos, but {places[0]} is {kind.name}")
    if fps is not None and (kind.is_video or kind.is_bag):
        raise ValueError(f"fps is for folders and cameras; {places[0]} is {kind.name}, which has its own")
    for option, value in (("topics", topics), ("tolerance_ms", tolerance_ms), ("rectify", rectify)):
        if value is not None and not kind.is_bag:
            raise ValueError(f"{option} is for recordings of ROS, but {places[0]} is {kind.name}")
    if kind.is_bag and (layout is not None or squeezed):
        raise ValueError(f"layout and squeezed are for pictures that hold both views, but {places[0]} is {kind.name}")
    return kind.open(places, options)


def _kind_of(place: str) -> SourceKind:
    for kind in KINDS:
        if kind.detect(place):
            return kind
    raise FileNotFoundError(2, "no such file or folder, camera or URL", place)
