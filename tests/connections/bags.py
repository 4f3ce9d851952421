"""Small stereo bags for tests, written by libraries that are not ours: rosbags, mcap and Debian's rosbag."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import bdis
from bdis.connections.ros.image_messages import image_fields
from bdis.connections.ros.message_types import CAMERA_INFO, IMAGE, build_message, definition_of
from bdis.connections.ros.messages import camera_info_fields
from bdis.files.images import encode_pixels
from bdis.video.sources import RenderedSource

WIDTH, HEIGHT, FPS = 96, 64, 25.0
START_NS = 1_700_000_000 * 10**9
FRAME_ID = "endoscope_left"
LEFT, RIGHT = "/endo/left/image_rect", "/endo/right/image_rect"
FORMATS = ("bag", "bag-lz4", "bag-bz2", "db3", "mcap", "mcap-zstd", "mcap-lz4", "lone-mcap", "mcap-unindexed",
           "db3-message", "mcap-message")  # fmt: skip


@dataclass
class Recorded:
    """A message of a test: where and when, and its fields."""

    topic: str
    kind: str
    stamp_ns: int
    fields: dict[str, Any]
    log_ns: int = 0
    frame_id: str = FRAME_ID
    content: dict[bool, bytes] = field(default_factory=dict)

    def __post_init__(self):
        self.log_ns = self.log_ns or self.stamp_ns or START_NS

    def encoded(self, is_ros1):
        """Its bytes; ``content`` may hold broken ones instead."""
        if is_ros1 not in self.content:
            self.content[is_ros1] = build_message(self.kind, self.fields, self.stamp_ns, self.frame_id, is_ros1=is_ros1)
        return self.content[is_ros1]


@functools.cache
def rendered(frames=4):
    """Frames and rig of a rendered scene."""
    source = RenderedSource("tissue", frames=frames, height=HEIGHT, width=WIDTH, fps=FPS, distinct=frames)
    return list(source), source.rig


def stereo(frames=4, left=LEFT, right=RIGHT, infos=True, encode=image_fields, kind=IMAGE):
    """The messages of a rectified recording."""
    images, rig = rendered(frames)
    messages = []
    for frame in images:
        stamp = START_NS + round(frame.time_s * 1e9)
        for topic, side, image in ((left, "left", frame.left), (right, "right", frame.right)):
            messages.append(Recorded(topic, kind, stamp, encode(image)))
            if infos:
                name = f"{topic.removesuffix('/compressed').rpartition('/')[0]}/camera_info"
                messages.append(Recorded(name, CAMERA_INFO, stamp, camera_info_fields(rig, side)))
    return messages


def compressed(ending):
    """Fields of a compressed image."""
    name = {".jpg": "jpeg", ".png": "png"}[ending]
    return lambda image: {
        "format": f"rgb8; {name} compressed bgr8",
        "data": np.frombuffer(encode_pixels(image[..., ::-1], ending), np.uint8),
    }


def raw_info_fields(cameras, rotation, projection, side):
    """Fields of the camera_info of a raw camera; the projection is in mm."""
    rig = bdis.Rig(500, 1, 1, 5, size=cameras.size)
    return camera_info_fields(rig, side) | {
        "d": np.asarray(getattr(cameras, f"{side}_distortion"), float),
        "k": getattr(cameras, f"{side}_matrix").ravel(),
        "r": np.asarray(rotation, float).ravel(),
        "p": (projection * [1, 1, 1, 1e-3]).ravel(),
    }


def write_bag(folder, messages, how="lone-mcap"):
    """Write messages in one of FORMATS; the place to open."""
    kind, _, option = how.partition("-")
    if kind == "bag":
        return write_ros1(folder / "recording.bag", messages, option)
    if kind == "db3":
        return write_ros2(folder / "recording", messages, "SQLITE3", option)
    if how in ("mcap", "mcap-zstd", "mcap-message"):
        return write_ros2(folder / "recording", messages, "MCAP", option)
    return write_mcap(folder / "recording.mcap", messages, option)


def write_ros1(path, messages, compression=""):
    """With rosbags."""
    from rosbags.rosbag1 import Writer

    writer = Writer(path)
    if compression:
        writer.set_compression(Writer.CompressionFormat[compression.upper()])
    with writer:
        connections = {}
        for message in messages:
            if message.topic not in connections:
                text, checksum = definition_of(message.kind, is_ros1=True)
                connections[message.topic] = writer.add_connection(
                    message.topic, message.kind, msgdef=text, md5sum=checksum
                )
            writer.write(connections[message.topic], message.log_ns, message.encoded(True))
    return path


def write_ros2(path, messages, storage, compression=""):
    """With rosbags: a folder with metadata.yaml."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.rosbag2.enums import CompressionFormat, CompressionMode
    from rosbags.typesys import Stores, get_typestore

    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage])
    if compression:
        mode = CompressionMode.MESSAGE if compression == "message" else CompressionMode.STORAGE
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for message in messages:
            if message.topic not in connections:
                connections[message.topic] = writer.add_connection(
                    message.topic, message.kind, typestore=get_typestore(Stores.ROS2_HUMBLE)
                )
            writer.write(connections[message.topic], message.log_ns, message.encoded(False))
    return path


def write_mcap(path, messages, option=""):
    """With mcap and its own encoder of messages."""
    from mcap.writer import CompressionType, IndexType
    from mcap.writer import Writer as PlainWriter
    from mcap_ros2.writer import Writer

    with open(path, "wb") as file:
        compression = CompressionType.LZ4 if option == "lz4" else CompressionType.NONE
        if option == "unindexed":
            writer = PlainWriter(file, compression=compression, index_types=IndexType.NONE, chunk_size=20_000)
            writer.start("ros2", "test")
            channels = {}
            for message in messages:
                if message.topic not in channels:
                    text = definition_of(message.kind, is_ros1=False)[0].encode()
                    schema = writer.register_schema(message.kind, "ros2msg", text)
                    channels[message.topic] = writer.register_channel(message.topic, "cdr", schema)
                content = message.encoded(False)
                writer.add_message(channels[message.topic], message.log_ns, content, message.log_ns)
        else:
            writer = Writer(file, compression=compression, chunk_size=50_000)
            schemas = {}
            for message in messages:
                if message.kind not in schemas:
                    text = definition_of(message.kind, is_ros1=False)[0]
                    schemas[message.kind] = writer.register_msgdef(message.kind, text)
                writer.write_message(message.topic, schemas[message.kind], _plain(message), message.log_ns)
        writer.finish()
    return path


def _plain(message):
    """The fields as nested dicts and lists, as mcap takes them."""
    seconds, rest = divmod(message.stamp_ns, 10**9)
    header = {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": message.frame_id}
    fields = {
        name: value.tolist() if isinstance(value, np.ndarray) and value.dtype != np.uint8 else value
        for name, value in message.fields.items()
    }
    return SimpleNamespace(**_as_objects(fields | {"header": header}))


def _as_objects(fields):
    return {
        name: SimpleNamespace(**_as_objects(value)) if isinstance(value, dict)
        else value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }  # fmt: skip


def file_of(place):
    """The file with the messages of a bag."""
    return (
        place if place.is_file() else next(path for path in Path(place).iterdir() if path.suffix in (".db3", ".mcap"))
    )
