"""Serialised messages as a node sends them, for tests without ROS."""

import io

import numpy as np

from bdis.connections.ros.image_messages import image_fields
from bdis.connections.ros.message_types import build_message
from bdis.connections.ros.messages import camera_info_fields
from bdis.connections.ros2.bdis_ros.bridge import Message, decode, encode

TOPICS = [
    ["/endo/left/image_raw", "sensor_msgs/msg/Image"], ["/endo/right/image_raw", "sensor_msgs/msg/Image"],
    ["/endo/left/camera_info", "sensor_msgs/msg/CameraInfo"], ["/endo/right/camera_info", "sensor_msgs/msg/CameraInfo"],
]  # fmt: skip


def state(topics=TOPICS, **changes):
    fields = {"ready": True, "problem": "", "topics": topics, "wanted": [], "parameters": {}}
    return Message("state", {**fields, **changes})


def image_message(key, stamp_ns, pixels=None, ros=2, **changes):
    pixels = np.zeros((4, 6), np.uint8) if pixels is None else pixels
    data = build_message(
        "sensor_msgs/msg/Image", image_fields(pixels) | changes, stamp_ns, f"endo_{key}", is_ros1=ros == 1
    )
    return Message("image", {"key": key, "type": "sensor_msgs/msg/Image"}, bytes(data))


def info_message(side, rig, ros=2, **changes):
    fields = camera_info_fields(rig, side) | changes
    data = build_message("sensor_msgs/msg/CameraInfo", fields, 0, f"endo_{side}", is_ros1=ros == 1)
    return Message("info", {"key": f"{side}_info", "type": "sensor_msgs/msg/CameraInfo"}, bytes(data))


def on_the_wire(message):
    fields = {name: value for name, value in message.fields.items() if name != "kind"}
    return encode(message.kind, message.payload, **fields) + bytes(message.payload)


def from_the_wire(data):
    stream = io.BytesIO(data)

    def receive(count):
        got = stream.read(count)
        if len(got) < count:
            raise EOFError
        return bytearray(got)

    return decode(receive)


def mutated(random, data):
    """The same bytes with a few changed, cut, doubled or moved."""
    data = bytearray(data)
    for _ in range(random.integers(1, 6)):
        place = int(random.integers(0, max(len(data), 1)))
        length = int(random.integers(1, 17))
        choice = random.integers(0, 5)
        if choice == 0 and data:
            data[place] = int(random.integers(0, 256))
        elif choice == 1:
            del data[place : place + length]
        elif choice == 2:
            data[place:place] = random.bytes(length)
        elif choice == 3:
            data[place:place] = data[max(0, place - length) : place]
        elif data:
            data[place : place + 4] = (0xFFFFFFFF >> int(random.integers(0, 32))).to_bytes(4, "little")
    return bytes(data)
