"""Messages of ROS as bytes, and back: the only file that knows rosbags."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...common.optional import require
from .image_messages import Fields
from .messages import named_for_ros1, stamp_fields

IMAGE, COMPRESSED, CAMERA_INFO = (
    "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo",
)  # fmt: skip
DISPARITY, CLOUD = "stereo_msgs/msg/DisparityImage", "sensor_msgs/msg/PointCloud2"
_WINDOW = "sensor_msgs/msg/RegionOfInterest"
_NESTED = {
    "header": "std_msgs/msg/Header", "stamp": "builtin_interfaces/msg/Time", "image": IMAGE, "valid_window": _WINDOW,
    "roi": _WINDOW, "fields": "sensor_msgs/msg/PointField",
}  # fmt: skip


@cache
def _store(is_ros1: bool) -> Any:
    types = require("rosbags.typesys", "reading and writing messages of ROS")
    # Of the messages used here, all versions of ROS 2 have the same fields.
    return types.get_typestore(types.Stores.ROS1_NOETIC if is_ros1 else types.Stores.ROS2_HUMBLE)


def parse_message(content: bytes | memoryview, kind: str, is_ros1: bool) -> Any:
    """A message as an object with its fields.

    Parameters
    ----------
    content : bytes-like
        As it was sent; arrays of the message are parts of it.
    kind : str
        Type of the message, such as "sensor_msgs/msg/Image", or "sensor_msgs/Image" as ROS 1 writes it.
    is_ros1 : bool
        It is encoded as in ROS 1, else as in ROS 2 (CDR).

    Raises
    ------
    ValueError
        It is damaged, or there is no such type.
    ImportError
        rosbags is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from bdis.connections.ros.image_messages import image_fields
    >>> fields = image_fields(np.zeros((2, 3), np.uint8))
    >>> content = build_message(IMAGE, fields, 7, "camera", is_ros1=False)
    >>> parse_message(content, IMAGE, is_ros1=False).header.frame_id
    'camera'
    """
    store, kind = _store(is_ros1), full_name(kind)
    if kind not in store.types:
        raise ValueError(f"messages of type {kind!r:.80} are not known")
    try:
        if is_ros1:
            return store.deserialize_ros1(content, kind)
        if content[:1] != b"\0" or content[1:2] not in (b"\0", b"\1"):
            raise ValueError("it does not begin as CDR does")
        return store.deserialize_cdr(content, kind)
    except Exception as error:  # of any kind: rosbags trusts what it reads
        raise ValueError(f"a damaged message of type {kind} ({len(content)} bytes)") from error


def build_message(
    kind: str, fields: Fields, stamp_ns: int | None = None, frame_id: str = "", *, is_ros1: bool
) -> bytes:
    """The bytes of a message.

    Parameters
    ----------
    kind : str
        Its type.
    fields : dict
        As the functions of ``messages.py`` return them.
    stamp_ns : int, optional
        When it was taken, ns since 1970, for its header and those of messages in it.  Default: it has no header.
    frame_id : str
        Coordinate frame.
    is_ros1 : bool
        Encode it as in ROS 1, else as in ROS 2 (CDR).

    Returns
    -------
    bytes

    Examples
    --------
    >>> content = build_message("std_msgs/msg/String", {"data": "hello"}, is_ros1=True)
    >>> len(content), parse_message(content, "std_msgs/msg/String", is_ros1=True).data
    (9, 'hello')
    """
    store = _store(is_ros1)
    header = None if stamp_ns is None else {"stamp": stamp_fields(stamp_ns), "frame_id": frame_id}

    def made(kind: str, fields: Fields) -> Any:
        message = store.types[kind]
        known = message.__dataclass_fields__
        values = dict(named_for_ros1(fields) if is_ros1 else fields)
        if "header" in known and header is not None:
            values["header"] = header
        if "seq" in known:
            values["seq"] = 0  # rospy numbers messages by itself
        for name, value in values.items():
            if isinstance(value, dict):
                values[name] = made(_NESTED[name], value)
            elif name == "fields":
                values[name] = [made(_NESTED[name], each) for each in value]
        return message(**values)

    write = store.serialize_ros1 if is_ros1 else store.serialize_cdr
    return bytes(write(made(kind, fields), kind))


def definition_of(kind: str, is_ros1: bool) -> tuple[str, str]:
    """The definition of a type as text, and its MD5 in ROS 1.

    Examples
    --------
    >>> definition_of(IMAGE, is_ros1=True)[1]
    '060021388200f6f0f447d0fcd9c64743'
    """
    text, checksum = _store(is_ros1).generate_msgdef(kind, ros_version=1 if is_ros1 else 2)
    return str(text), str(checksum)


def full_name(kind: str) -> str:
    """The name of a type as ROS 2 writes it.

    >>> full_name("sensor_msgs/Image")
    'sensor_msgs/msg/Image'
    """
    package, _, name = kind.partition("/")
    return kind if "/" in name else f"{package}/msg/{name}"
