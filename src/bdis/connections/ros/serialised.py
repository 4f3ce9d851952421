"""Serialised ROS messages, as they pass through the bridge: to objects, and from fields."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...common.optional import require
from .messages import Fields, named_for_ros1, stamp_fields

_NESTED = {
    "header": "std_msgs/msg/Header", "stamp": "builtin_interfaces/msg/Time", "image": "sensor_msgs/msg/Image",
    "valid_window": "sensor_msgs/msg/RegionOfInterest", "roi": "sensor_msgs/msg/RegionOfInterest",
    "fields": "sensor_msgs/msg/PointField",
}  # fmt: skip


class Serialiser:
    """Reads and writes messages in the way of one version of ROS.

    Parameters
    ----------
    ros : {1, 2}
        Version of ROS.

    Examples
    --------
    >>> for ros in (1, 2):
    ...     serialiser = Serialiser(ros)
    ...     data = serialiser.write("std_msgs/msg/String", {"data": "hello"})
    ...     print(serialiser.read("std_msgs/msg/String", data).data, len(data))
    hello 9
    hello 14
    """

    def __init__(self, ros: int):
        self._ros = ros

    @cached_property
    def _store(self) -> Any:
        typesys = require("rosbags.typesys", "live ROS")
        # Of the messages used here, all versions of ROS 2 have the same fields.
        stores = typesys.Stores
        return typesys.get_typestore(stores.ROS1_NOETIC if self._ros == 1 else stores.ROS2_HUMBLE)

    def read(self, kind: str, data: Any) -> Any:
        """Read a message.

        Parameters
        ----------
        kind : str
            Its type, such as ``sensor_msgs/msg/Image``, or ``sensor_msgs/Image`` as ROS 1 writes it.
        data : bytes-like
            The message.

        Returns
        -------
        object
            With the message's fields as attributes; arrays are parts of ``data``.

        Raises
        ------
        ValueError
            It is not such a message, or there is no such type.
        """
        kind = full_name(kind)
        if kind not in self._store.types:
            raise ValueError(f"messages of type {kind!r:.80} are not known")
        read = self._store.deserialize_ros1 if self._ros == 1 else self._store.deserialize_cdr
        try:
            return read(data, kind)
        except Exception as error:  # rosbags raises what the bytes lead it to, of many classes
            raise ValueError(f"a damaged message of type {kind}: {error}") from error

    def write(self, kind: str, fields: Fields, stamp_ns: int | None = None, frame_id: str = "") -> memoryview:
        """Write a message.

        Parameters
        ----------
        kind : str
            Its type, such as ``sensor_msgs/msg/Image``.
        fields : dict
            As of :mod:`.messages`.
        stamp_ns : int, optional
            Stamp of its header, and of the headers of messages in it.  Default: it has no header.
        frame_id : str
            Of the header.

        Returns
        -------
        memoryview
        """
        header = None if stamp_ns is None else {"stamp": stamp_fields(stamp_ns), "frame_id": frame_id}
        write = self._store.serialize_ros1 if self._ros == 1 else self._store.serialize_cdr
        written: memoryview = write(self._make(kind, fields, header), kind)
        return written

    def _make(self, kind: str, fields: Fields, header: Fields | None) -> Any:
        message = self._store.types[kind]
        known = message.__dataclass_fields__
        values = dict(fields if self._ros == 2 else named_for_ros1(fields))
        if "header" in known and header is not None:
            values["header"] = header
        if "seq" in known:
            values["seq"] = 0  # rospy numbers messages by itself
        for name, value in values.items():
            if isinstance(value, dict):
                values[name] = self._make(_NESTED[name], value, header)
            elif name == "fields":
                values[name] = [self._make(_NESTED[name], each, header) for each in value]
        return message(**values)


def full_name(kind: str) -> str:
    """The name of a type as ROS 2 writes it.

    >>> full_name("sensor_msgs/Image")
    'sensor_msgs/msg/Image'
    """
    package, _, name = kind.partition("/")
    return kind if "/" in name else f"{package}/msg/{name}"
