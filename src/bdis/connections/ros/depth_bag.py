"""Bags with depth: what bdis found, as other programs of ROS expect it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...cameras.cloud import Cloud
from ...cameras.rig import Rig
from ...common.arrays import Array
from . import bag1_file, mcap_file
from .bag import Bag
from .image_messages import Fields, depth_fields, depth_mm_fields, depth_mm_of, image_fields, image_of
from .message_types import CAMERA_INFO, CLOUD, DISPARITY, IMAGE, build_message, definition_of, parse_message
from .messages import camera_info_fields, disparity_fields, point_cloud_fields

# What a bag may have, with the topic below the namespace and the type of its messages.
CONTENTS = {
    "disparity": ("disparity", DISPARITY),
    "depth": ("left/depth/image_rect", IMAGE),
    "depth-mm": ("left/depth/image_rect_raw", IMAGE),
    "sigma": ("left/depth/sigma", IMAGE),
    "cloud": ("points2", CLOUD),
    "left": ("left/image_rect_color", IMAGE),
    "right": ("right/image_rect_color", IMAGE),
}
DEFAULT_CONTENTS: tuple[str, ...] = ("disparity", "depth", "sigma")  # 3.7 MB a frame at 640x480; a cloud adds 6 MB
NAMESPACE = "/stereo"
FRAME_ID = "stereo_left_optical_frame"
_CAMERAS = {"left": "left/camera_info", "right": "right/camera_info"}


class DepthBag:
    """Writes depth to an MCAP file of ROS 2 or to a bag of ROS 1.

    Lengths are in metres, as everywhere in ROS, but for ``depth-mm``.  A frame is on the disk when :meth:`write`
    returns, even if the process is killed afterwards.

    Parameters
    ----------
    path : Path
        The file.
    rig : Rig
        The rectified cameras, with their size.
    contents : tuple of str
        What to write of :data:`CONTENTS`; the camera_info of both cameras is always written.
    namespace : str
        What the names of all topics begin with.
    is_ros1 : bool
        Write a bag of ROS 1.
    keep : int
        Keep so many frames of an existing file, and continue after them.

    Raises
    ------
    ValueError
        There is no such content, the namespace is none, or the existing file cannot be continued.
    OSError
        The file cannot be written.
    ImportError
        rosbags is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from bdis.connections.ros.bag import Bag
    >>> rig = Rig(500, 1, 0.5, 5, size=(3, 2))
    >>> disparity = np.full((2, 3), 25, np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bag = DepthBag(Path(folder, "depth.mcap"), rig, ("depth",))
    ...     bag.write(10**9, FRAME_ID, disparity=disparity, depth_mm=rig.depth(disparity))
    ...     bag.close()
    ...     with Bag(Path(folder, "depth.mcap")) as found:
    ...         sorted(found.topics)
    ['/stereo/left/camera_info', '/stereo/left/depth/image_rect', '/stereo/right/camera_info']
    """

    def __init__(
        self,
        path: Path,
        rig: Rig,
        contents: tuple[str, ...] = DEFAULT_CONTENTS,
        *,
        namespace: str = NAMESPACE,
        is_ros1: bool = False,
        keep: int = 0,
    ):
        check_contents(contents, namespace)
        self._rig, self._contents, self._is_ros1 = rig, contents, is_ros1
        prefix = _prefix(namespace)
        self._names = {name: prefix + CONTENTS[name][0] for name in contents}
        self._cameras = {side: prefix + name for side, name in _CAMERAS.items()}
        kinds = dict.fromkeys(self._cameras.values(), CAMERA_INFO)
        kinds |= {self._names[name]: CONTENTS[name][1] for name in contents}
        self._infos = {side: camera_info_fields(rig, side) for side in ("left", "right")}
        self._bag: bag1_file.Bag1Writer | mcap_file.McapWriter
        if is_ros1:
            topics = {name: (kind.replace("/msg/", "/"), *definition_of(kind, True)) for name, kind in kinds.items()}
            self._bag = bag1_file.Bag1Writer(path, topics, keep)
        else:
            plain = {name: (kind, definition_of(kind, False)[0]) for name, kind in kinds.items()}
            self._bag = mcap_file.McapWriter(path, plain, keep)

    def write(
        self,
        stamp_ns: int,
        frame_id: str,
        *,
        disparity: Array,
        depth_mm: Array,
        sigma_mm: Array | None = None,
        cloud: Cloud | None = None,
        left: Array | None = None,
        right: Array | None = None,
    ) -> None:
        """Add a frame.

        Parameters
        ----------
        stamp_ns : int
            When it was taken, ns since 1970.
        frame_id : str
            Coordinate frame of the left camera.
        disparity, depth_mm : ndarray of float32, shape (h, w)
            px and mm; NaN = unknown.
        sigma_mm : ndarray of float32, shape (h, w), optional
            Standard deviation of the depth, for "sigma".
        cloud : Cloud, optional
            For "cloud".
        left, right : ndarray of uint8 or uint16, shape (h, w) or (h, w, 3), optional
            The rectified images, for "left" and "right".

        Raises
        ------
        OSError
            It cannot be written; the frames before it can be read.
        """
        messages = [
            (topic, stamp_ns, self._message(CAMERA_INFO, self._infos[side], stamp_ns, frame_id))
            for side, topic in self._cameras.items()
        ]
        for name in self._contents:
            if name == "disparity":
                fields = disparity_fields(disparity, self._rig)
            elif name == "depth":
                fields = depth_fields(depth_mm)
            elif name == "depth-mm":
                fields = depth_mm_fields(depth_mm)
            elif name == "sigma":
                assert sigma_mm is not None
                fields = depth_fields(sigma_mm)
            elif name == "cloud":
                assert cloud is not None
                fields = point_cloud_fields(cloud)
            else:
                image = left if name == "left" else right
                assert image is not None
                fields = image_fields(image)
            messages.append((self._names[name], stamp_ns, self._message(CONTENTS[name][1], fields, stamp_ns, frame_id)))
        self._bag.write(messages)

    def close(self) -> None:
        """Write the end of the file, and close it."""
        self._bag.close()

    def _message(self, kind: str, fields: Fields, stamp_ns: int, frame_id: str) -> bytes:
        return build_message(kind, fields, stamp_ns, frame_id, is_ros1=self._is_ros1)


def read_depth_bag(path: Path, content: str, namespace: str = NAMESPACE) -> Iterator[Array]:
    """Read what :class:`DepthBag` has written of every frame.

    Parameters
    ----------
    path : Path
        The file.
    content : {"depth", "sigma", "left", "right"}
        What to read.
    namespace : str
        What the names of its topics begin with.

    Yields
    ------
    ndarray
        Of each frame the depth or its standard deviation in mm (float32, NaN = unknown), or the image.

    Raises
    ------
    ValueError
        It is no bag, has no such content, or is damaged.
    OSError
        It cannot be read.
    """
    topic = _prefix(namespace) + CONTENTS[content][0]
    with Bag(path) as bag:
        if bag.topics.get(topic) != IMAGE:
            raise ValueError(f"{path} has no images on {topic}")
        for place in bag.messages(topic):
            message = parse_message(bag.read(place), IMAGE, bag.is_ros1)
            yield depth_mm_of(message) if content in ("depth", "sigma") else image_of(message)


def _prefix(namespace: str) -> str:
    """What the names of all topics begin with."""
    return "/" if namespace.strip("/") == "" else f"/{namespace.strip('/')}/"


def check_contents(contents: tuple[str, ...], namespace: str) -> None:
    """Raise ValueError if a bag cannot have such contents or such a namespace."""
    unknown = [name for name in contents if name not in CONTENTS]
    if unknown or not contents:
        what = f"{unknown[0]!r} cannot be written to a bag" if unknown else "a bag needs contents"
        raise ValueError(f"{what}; choose among {', '.join(CONTENTS)}")
    if not re.fullmatch(r"/?|/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*/?", namespace):
        raise ValueError(f"{namespace!r} is no namespace of ROS; expected words of letters, such as /stereo")
