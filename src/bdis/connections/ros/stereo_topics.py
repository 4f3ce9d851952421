"""Which topics are the two views, in a bag or live, and what their names say about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...common.printable import printable
from .message_types import CAMERA_INFO, COMPRESSED, IMAGE

# A word of a topic's name that tells the left view, and the one that the right view has in its place.
_SIDES = (("left", "right"), ("l", "r"), ("cam0", "cam1"), ("camera0", "camera1"), ("camera_0", "camera_1"),
          ("cam_0", "cam_1"), ("image_0", "image_1"), ("infra1", "infra2"), ("cam1", "cam2"))  # fmt: skip
_PACKED = "/compressed"
# What image_transport offers beside every image topic as a CompressedImage, and is neither JPEG nor PNG.
_OTHER_PACKED = ("/compressedDepth", "/zstd")
Topics = tuple[str, str]


def find_topics(topics: Mapping[str, str], counts: Mapping[str, int], shift_of: Callable[[str], float]) -> Topics:
    """Find the left and right images in a bag.

    Parameters
    ----------
    topics : mapping of str to str
        Names and types.
    counts : mapping of str to int
        How many messages each has.
    shift_of : callable
        P[0, 3] of the camera_info of an image topic; 0 if there is none.

    Returns
    -------
    left, right : str

    Raises
    ------
    ValueError
        There is no pair, or there are several; the message lists what is there.

    Examples
    --------
    >>> kinds = dict.fromkeys(["/endo/left/image_raw", "/endo/right/image_raw"], "sensor_msgs/msg/Image")
    >>> find_topics(kinds, dict.fromkeys(kinds, 3), lambda topic: 0.0)
    ('/endo/left/image_raw', '/endo/right/image_raw')
    """
    images = [name for name in _readable(topics) if counts.get(name)]
    pairs = _pairs(images)
    if not pairs and len(images) == 2:  # the right camera is the one that lies beside the origin
        shifts = [shift_of(name) for name in images]
        if (shifts[0] == 0) != (shifts[1] == 0):
            return (images[0], images[1]) if shifts[1] else (images[1], images[0])
    if not pairs or len({_camera(left) for left, _ in pairs}) > 1:
        problem = "it is not clear which of its topics are the two views" if pairs else "it has no pair of image topics"
        raise ValueError(f"{problem}; choose with --topics LEFT RIGHT among {list_topics(topics, counts)}")
    return min(pairs, key=_preference)


class StereoTopics(NamedTuple):
    """The topics of a stereo camera.

    Attributes
    ----------
    left, right : str
        Images.
    left_info, right_info : str
        Their ``camera_info``.
    """

    left: str
    right: str
    left_info: str
    right_info: str

    @classmethod
    def of_images(cls, left: str, right: str, infos: Topics | None = None) -> StereoTopics:
        """The topics of two images; each ``camera_info`` is beside its image unless it is given.

        >>> StereoTopics.of_images("/endo/left/image_raw/compressed", "/endo/right/image_raw/compressed").left_info
        '/endo/left/camera_info'
        """
        return cls(left, right, *(infos or (f"{_camera(left)}/camera_info", f"{_camera(right)}/camera_info")))


def find_live_topics(topics: Mapping[str, str]) -> StereoTopics | None:
    """Find the stereo pair among topics that are published now.

    Parameters
    ----------
    topics : mapping of str to str
        Names and types.

    Returns
    -------
    StereoTopics or None
        None if there is no pair yet.

    Raises
    ------
    ValueError
        There are pairs of several cameras.

    Examples
    --------
    >>> names = ["/endo/left/image_raw", "/endo/right/image_raw", "/endo/left/image_rect", "/endo/right/image_rect"]
    >>> find_live_topics(dict.fromkeys(names, "sensor_msgs/msg/Image")).left
    '/endo/left/image_rect'
    """
    pairs = _pairs(_readable(topics))
    if not pairs:
        return None
    cameras = {_camera(left) for left, _ in pairs}
    if len(cameras) > 1:
        names = ", ".join(printable(left) for left, _ in pairs)
        raise ValueError(f"there are {len(cameras)} stereo cameras: {names}; choose one with --topics")
    return StereoTopics.of_images(*min(pairs, key=_preference))


def check_topics(chosen: Topics, topics: Mapping[str, str], counts: Mapping[str, int]) -> None:
    """Raise ValueError, with a list of what is there, unless the chosen topics have images."""
    for name in chosen:
        if topics.get(name) not in (IMAGE, COMPRESSED) or not counts.get(name):
            raise ValueError(f"it has no images on {printable(name)!r}; choose two among {list_topics(topics, counts)}")
    if chosen[0] == chosen[1]:
        raise ValueError(f"{printable(chosen[0])!r} is given as both views; choose two topics")


def list_topics(topics: Mapping[str, str], counts: Mapping[str, int]) -> str:
    """The image topics of a bag and how many messages they have; all topics if there are no images."""
    images = [name for name, kind in topics.items() if kind in (IMAGE, COMPRESSED)]
    shown = [f"{printable(name)[:80]} ({counts.get(name, 0)} messages)" for name in (images or topics)][:30]
    return ", ".join(shown) if shown else "no topics at all"


def info_topic(topics: Mapping[str, str], image: str) -> str | None:
    """The camera_info of an image topic: beside it, or one level above; None if there is none.

    Examples
    --------
    >>> info_topic({"/left/camera_info": "sensor_msgs/msg/CameraInfo"}, "/left/image_raw/compressed")
    '/left/camera_info'
    """
    above = image.removesuffix(_PACKED)
    for _ in range(2):
        above = above.rpartition("/")[0]
        if topics.get(f"{above}/camera_info") == CAMERA_INFO:
            return f"{above}/camera_info"
    return None


def says_rectified(topic: str) -> bool | None:
    """Whether the name of a topic says that its images are rectified; None if it says nothing.

    Examples
    --------
    >>> says_rectified("/left/image_rect_color"), says_rectified("/left/image_raw/compressed"), says_rectified("/left")
    (True, False, None)
    """
    words = re.split(r"[/_]", topic.lower())
    if any(word in ("rect", "rectified") for word in words):
        return True
    return False if "raw" in words else None


def _readable(topics: Mapping[str, str]) -> list[str]:
    """The topics whose images may be the two views."""
    return [name for name, kind in topics.items() if kind in (IMAGE, COMPRESSED) and not name.endswith(_OTHER_PACKED)]


def _pairs(images: Sequence[str]) -> list[Topics]:
    """Pairs of topics whose names differ in what tells left from right."""
    for left, right in _SIDES:
        others = [(name, _other(name, left, right)) for name in images]
        pairs = [(name, other) for name, other in others if other is not None and other in images]
        if pairs:
            return pairs
    return []


def _other(name: str, left: str, right: str) -> str | None:
    """The topic that has ``right`` wherever ``left`` is a word of this one; None if it is none."""

    def changed(found: re.Match[str]) -> str:
        word = found[0]
        return right.upper() if word.isupper() else right.capitalize() if word[0].isupper() else right

    other, count = re.subn(rf"(?<![a-zA-Z0-9]){left}(?![a-zA-Z0-9])", changed, name, flags=re.IGNORECASE)
    return other if count else None


def _camera(topic: str) -> str:
    return topic.removesuffix(_PACKED).rpartition("/")[0]


def _preference(pair: Topics) -> tuple[bool, bool, str]:
    """Of the same cameras: rectified before raw, then not compressed before compressed."""
    return not says_rectified(pair[0]), pair[0].endswith(_PACKED), pair[0]
