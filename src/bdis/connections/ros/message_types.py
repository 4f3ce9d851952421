"""Messages of ROS as bytes, and back: the only file that knows rosbags."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...common.optional import require
from .messages import Fields, named_for_ros1, stamp_fields

IMAGE, COMPRESSED, CAMERA_INFO = (
    "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo",
)  # fmt: skip
DISPARITY, CLOUD = "stereo_msgs/msg/DisparityImage", "sensor_msgs/msg/PointCloud2"
_HEADER, _TIME, _POINT_FIELD = "std_msgs/msg/Header", "builtin_interfaces/msg/Time", "sensor_msgs/msg/PointField"
_WINDOW = "sensor_msgs/msg/RegionOfInterest"


@cache
def _store(is_ros1: bool) -> Any:
    types = require("rosbags.typesys", "reading and writing messages of ROS")
    return types.get_typestore(types.Stores.ROS1_NOETIC if is_ros1 else types.Stores.ROS2_HUMBLE)


def parse_message(content: bytes, kind: str, is_ros1: bool) -> Any:
    """A message as an object with its fields.

    Parameters
    ----------
    content : bytes
        As it was sent.
    kind : str
        Type of the message, such as "sensor_msgs/msg/Image".
    is_ros1 : bool
        It is encoded as in ROS 1, else as in ROS 2 (CDR).

    Raises
    ------
    ValueError
        It is damaged.
    ImportError
        rosbags is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from bdis.connections.ros.messages import image_fields
    >>> fields = image_fields(np.zeros((2, 3), np.uint8))
    >>> content = build_message(IMAGE, fields, 7, "camera", is_ros1=False)
    >>> parse_message(content, IMAGE, is_ros1=False).header.frame_id
    'camera'
    """
    store = _store(is_ros1)
    try:
        if is_ros1:
            return store.deserialize_ros1(content, kind)
        if content[:1] != b"\0" or content[1:2] not in (b"\0", b"\1"):
            raise ValueError("it does not begin as CDR does")
        return store.deserialize_cdr(content, kind)
    except Exception as error:  # of any kind: rosbags trusts what it reads
        raise ValueError(f"a damaged message of type {kind} ({len(content)} bytes)") from error


def build_message(kind: str, fields: Fields, stamp_ns: int, frame_id: str, *, is_ros1: bool) -> bytes:
    """The bytes of a message.

    Parameters
    ----------
    kind : str
        Its type.
    fields : dict
        As the functions of ``messages.py`` return them.
    stamp_ns : int
        When it was taken, ns since 1970.
    frame_id : str
        Coordinate frame.
    is_ros1 : bool
        Encode it as in ROS 1, else as in ROS 2 (CDR).

    Returns
    -------
    bytes
    """
    store = _store(is_ros1)
    types = store.types

    def made(kind: str, fields: Fields) -> Any:
        return types[kind](**(named_for_ros1(fields) if is_ros1 else fields))

    number = {"seq": 0} if is_ros1 else {}
    header = types[_HEADER](**number, stamp=types[_TIME](**stamp_fields(stamp_ns)), frame_id=frame_id)
    inner = {"header": header}
    if "roi" in fields:
        inner["roi"] = made(_WINDOW, fields["roi"])
    if "valid_window" in fields:
        inner["valid_window"] = made(_WINDOW, fields["valid_window"])
        inner["image"] = made(IMAGE, fields["image"] | {"header": header})
    if "fields" in fields:
        inner["fields"] = [made(_POINT_FIELD, field) for field in fields["fields"]]
    message = made(kind, fields | inner)
    return bytes(store.serialize_ros1(message, kind) if is_ros1 else store.serialize_cdr(message, kind))


def definition_of(kind: str, is_ros1: bool) -> tuple[str, str]:
    """The definition of a type as text, and its MD5 in ROS 1.

    Examples
    --------
    >>> definition_of(IMAGE, is_ros1=True)[1]
    '060021388200f6f0f447d0fcd9c64743'
    """
    text, checksum = _store(is_ros1).generate_msgdef(kind, ros_version=1 if is_ros1 else 2)
    return str(text), str(checksum)
