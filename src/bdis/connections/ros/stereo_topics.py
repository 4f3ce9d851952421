"""Which topics are a stereo pair, and whether their images have to be rectified."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...cameras.calibration import StereoCalibration
from ...cameras.rectifier import RectifiedViews, Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array
from .messages import MM_PER_M, cameras_of

IMAGES = ("Image", "CompressedImage")
INFO = "CameraInfo"
SAME = 1e-6  # a distortion or rotation below this is none


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
    def of_images(cls, left: str, right: str, infos: tuple[str, str] | None = None) -> StereoTopics:
        """The topics of two images; each ``camera_info`` is beside its image unless it is given.

        >>> StereoTopics.of_images("/endo/left/image_raw/compressed", "/endo/right/image_raw/compressed").left_info
        '/endo/left/camera_info'
        """
        return cls(left, right, *(infos or (_info_beside(left), _info_beside(right))))


def find_pair(topics: Iterable[tuple[str, str]]) -> StereoTopics | None:
    """Find the stereo pair among topics: two image topics whose names differ in left and right.

    Rectified images are preferred to raw ones of the same camera, and uncompressed ones to compressed ones.

    Parameters
    ----------
    topics : iterable of (str, str)
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
    >>> find_pair([(name, "sensor_msgs/Image") for name in names]).left
    '/endo/left/image_rect'
    """
    names = {name for name, kind in topics if kind.rpartition("/")[2] in IMAGES}
    pairs = [(name, right) for name in sorted(names) if (right := _right_of(name)) in names]
    cameras = {_info_beside(left) for left, _ in pairs}
    if not pairs:
        return None
    if len(cameras) > 1:
        raise ValueError(
            f"there are {len(cameras)} stereo cameras: {', '.join(left for left, _ in pairs)}; choose one with --topics"
        )
    return StereoTopics.of_images(*min(pairs, key=lambda pair: _preference(pair[0])))


def _right_of(left: str) -> str | None:
    """The name of the right topic; None if the name does not say left."""
    right = re.sub(r"left(?![a-z])", "right", left)
    return None if right == left else right


def _preference(topic: str) -> tuple[bool, bool, bool, str]:
    base, is_compressed = _uncompressed(topic)
    return not says_rectified(topic), is_compressed, "color" not in base, topic


def _uncompressed(topic: str) -> tuple[str, bool]:
    base = topic.removesuffix("/compressed")
    return base, base != topic


def _info_beside(topic: str) -> str:
    return f"{_uncompressed(topic)[0].rpartition('/')[0]}/camera_info"


def says_rectified(topic: str) -> bool:
    """Whether the name of a topic says that its images are rectified.

    >>> says_rectified("/endo/left/image_rect_color"), says_rectified("/endo/left/image_raw")
    (True, False)
    """
    return bool(re.search(r"(?<![a-z])rect(?![a-z])|rectified(?<!unrectified)", topic))


class TopicCameras(NamedTuple):
    """The cameras of a pair of topics.

    Attributes
    ----------
    camera : Rectifier or Rig
        What rectifies the images, or the cameras of images that are rectified.
    remark : str
        Which of both, and why.
    """

    camera: Rectifier | Rig
    remark: str

    @property
    def rig(self) -> Rig:
        """The rectified cameras."""
        return self.camera.rig if isinstance(self.camera, Rectifier) else self.camera


def cameras_of_topics(topics: StereoTopics, infos: tuple[Any, Any], rectify: bool | None = None) -> TopicCameras:
    """The cameras of a pair of topics, from their ``camera_info``.

    Images are taken as rectified if the names of their topics say so, or if D, K, R and P leave nothing to rectify.

    Parameters
    ----------
    topics : StereoTopics
        Their names.
    infos : tuple
        The messages of left and right.
    rectify : bool, optional
        Whether to rectify.  Default: told from the names and from D, K, R and P.

    Returns
    -------
    TopicCameras

    Raises
    ------
    ValueError
        The messages describe no stereo camera, or the names contradict each other.
    """
    found = cameras_of(*infos)
    rig = Rig(**found.rectified or {}, size=found.size)
    named = [says_rectified(topics.left), says_rectified(topics.right)]
    if rectify is None and named[0] != named[1]:
        raise ValueError(
            f"only one of {topics.left} and {topics.right} is named as rectified; say --rectify or --no-rectify"
        )
    nothing_to_do = not any(_bends(info) for info in infos)
    if rectify is None:
        rectify = not named[0] and not nothing_to_do
        why = "its name says so" if named[0] else "D is 0, R is 1 and K is as P in camera_info"
    else:
        why = "as you said"
    if not rectify:
        return TopicCameras(rig, f"images of {topics.left} are taken as rectified: {why}")
    raw = StereoCalibration(**found.raw or {}, size=found.size or (0, 0))
    views = RectifiedViews([_matrix(info, "r", (3, 3)) for info in infos], [_projection_mm(info) for info in infos])
    remark = f"images of {topics.left} are rectified with D, K, R and P of camera_info"
    return TopicCameras(Rectifier(raw, views=views), remark)


def _matrix(info: Any, name: str, shape: tuple[int, ...]) -> Array:
    value = getattr(info, name.upper(), None)
    return np.asarray(getattr(info, name) if value is None else value, np.float64).reshape(shape)


def _projection_mm(info: Any) -> Array:
    projection = _matrix(info, "p", (3, 4)).copy()
    projection[:, 3] *= MM_PER_M
    return projection


def _bends(info: Any) -> bool:
    """Whether rectifying changes an image of this camera."""
    distortion, rotation = _matrix(info, "d", (-1,)), _matrix(info, "r", (3, 3))
    matrix, projection = _matrix(info, "k", (3, 3)), _matrix(info, "p", (3, 4))
    return bool(
        np.abs(distortion).max(initial=0) > SAME
        or np.abs(rotation - np.eye(3)).max() > SAME
        or np.abs(matrix - projection[:, :3]).max() > SAME * np.abs(projection).max()
    )
