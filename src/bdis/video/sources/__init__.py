"""Where stereo frames come from: one file per kind, all read through one protocol."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ...evaluation.datasets import KINDS, RENDER, open_dataset, parse_scene
from ...files.images import IMAGE_ENDINGS
from .camera import CameraSource
from .folder import LOOKED_FOR, DatasetSource, FolderSource, PictureSource, find_pairs, images_in, pairs_of
from .rendered import RenderedSource
from .source import BadFrame, NumberedSource, Source, SourceLost, StereoFrame
from .track import Track
from .video import TwoVideoSource, VideoSource
from .views import LAYOUTS, Splitter, guess_layout

__all__ = [
    "LAYOUTS",
    "BadFrame",
    "CameraSource",
    "DatasetSource",
    "FolderSource",
    "NumberedSource",
    "PictureSource",
    "RenderedSource",
    "Source",
    "SourceLost",
    "StereoFrame",
    "Track",
    "TwoVideoSource",
    "VideoSource",
    "guess_layout",
    "open_source",
]

Where = str | int | os.PathLike[str]
_URL = re.compile(r"^([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_ASKED_URLS = ("http", "https", "file", "ftp")  # may be a file or live; the others are live


def open_source(
    where: Where,
    right: Where | None = None,
    *,
    layout: str | None = None,
    squeezed: bool = False,
    deinterlace: bool = False,
    fps: float | None = None,
    color: bool = True,
) -> Source:
    """Find out what ``where`` is; nothing is decoded before the first frame is asked for.

    Parameters
    ----------
    where : a video, a URL, a camera (0, "0" or "/dev/video0"), an image, a folder of pairs, a folder of images with
        both views each, a data set, or "render:colon,frames=60"; both views, or the left one
    right : the right view, if ``where`` is the left one: the same kind of thing
    layout : "side-by-side" or "top-bottom", if one picture holds both views; None: told from its shape
    squeezed : each view has half its width (or height) in that picture
    deinterlace : the video is interlaced
    fps : frames per second of a folder (default 25), or to ask of a camera
    color : RGB frames of videos and cameras; False: grey, which takes less time

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        It is nothing that can be opened, or an option does not fit it.
    OSError
        There is no such file.

    Examples
    --------
    >>> source = open_source("render:plane,frames=3,height=32,width=48")
    >>> source.length, source.is_live
    (3, False)
    """
    splitter = Splitter(layout, squeezed)
    if right is not None and (layout is not None or squeezed):
        raise ValueError("layout and squeezed are for pictures that hold both views, but the right view is given too")
    rate: dict[str, Any] = {} if fps is None else {"fps": fps}
    places = [
        str(place) if isinstance(place, int) else os.fspath(place) for place in (where, right) if place is not None
    ]
    if places[0].startswith(RENDER):
        if right is not None:
            raise ValueError(f"{places[0]} has both views; there is no right one to give")
        scene, options = parse_scene(places[0].removeprefix(RENDER))
        return RenderedSource(scene, **{**rate, **options})
    kinds = {_kind(place) for place in places}
    if len(kinds) > 1:
        raise ValueError(f"{places[0]} and {places[1]} are not of one kind: a {' and a '.join(sorted(kinds))}")
    kind = kinds.pop()
    if deinterlace and kind not in ("video", "URL"):
        raise ValueError(f"deinterlace is for videos, but {places[0]} is a {kind}")
    if fps is not None and kind in ("video", "URL"):
        raise ValueError(f"fps is for folders and cameras; {places[0]} is a {kind}, which has its own")
    if kind == "camera":
        devices = [int(place) if place.isdigit() else place for place in places]
        return CameraSource(devices, splitter, color=color, **rate)
    if kind == "image":
        files = [Path(place) for place in places]
        if len(files) == 2:
            return FolderSource(f"{places[0]} and {places[1]}", [(files[0], files[1])], **rate)
        return PictureSource(places[0], files, splitter, **rate)
    if kind == "folder":
        return _open_folders([Path(place) for place in places], splitter, layout, rate)
    tracks = [Track(place, color=color, deinterlace=deinterlace, is_live=_is_live(place)) for place in places]
    return TwoVideoSource(*tracks) if len(tracks) == 2 else VideoSource(tracks[0], splitter)


def _kind(place: str) -> str:
    path = Path(place)
    if place.startswith("/dev/video") or path.is_char_device() or (place.isdigit() and not path.exists()):
        return "camera"
    if _URL.match(place):
        return "URL"
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder, camera or URL", place)
    if path.is_dir():
        return "folder"
    return "image" if path.suffix.lower() in IMAGE_ENDINGS else "video"


def _is_live(place: str) -> bool | None:
    scheme = _URL.match(place)
    if scheme is None:
        return False
    return None if scheme[1].lower() in _ASKED_URLS else True


def _open_folders(folders: list[Path], splitter: Splitter, layout: str | None, rate: dict[str, Any]) -> Source:
    if len(folders) == 2:
        pairs = pairs_of(*(images_in(folder) for folder in folders))
        if not pairs:
            raise ValueError(f"there are no images in {folders[0]} and {folders[1]}")
        return FolderSource(f"{folders[0]} and {folders[1]}", pairs, **rate)
    folder = folders[0]
    if layout is None:
        kind = next((name for name, each in KINDS.items() if name != "folder" and each.detect(folder)), None)
        if kind is not None:
            return DatasetSource(open_dataset(folder, kind), **rate)
        if pairs := find_pairs(folder):
            return FolderSource(str(folder), pairs, folder, **rate)
    if files := images_in(folder):
        return PictureSource(str(folder), files, splitter, **rate)
    raise ValueError(f"{folder} holds no pairs; looked for {LOOKED_FOR}, images with both views, or a data set")
