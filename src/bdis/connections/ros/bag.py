"""A recording of ROS messages, whatever its format: its topics, and its messages in the order of their times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from ...common.printable import printable
from .bag1_file import Bag1File
from .log_file import ZSTD, Entry, MessageFile, Topic, expanded_message
from .mcap_file import McapFile
from .message_types import CAMERA_INFO, COMPRESSED, IMAGE, definition_of
from .sqlite_file import SqliteFile

FORMATS: dict[str, Callable[[Path, Callable[[Topic], bool]], MessageFile]] = {
    ".bag": Bag1File, ".active": Bag1File, ".mcap": McapFile, ".db3": SqliteFile,
}  # fmt: skip
_READ = (IMAGE, COMPRESSED, CAMERA_INFO)


def is_bag(place: str) -> bool:
    """Whether a place is a recording of ROS: a .bag, .mcap or .db3 file, or a folder with such files of ROS 2.

    Examples
    --------
    >>> is_bag("surgery.mp4")
    False
    """
    path = Path(place)
    try:
        if path.is_dir():
            return (path / "metadata.yaml").is_file() or bool(bag_files(path))
        return path.suffix.lower() in FORMATS and path.is_file()
    except (OSError, ValueError):  # a text that is no path, or a folder that may not be read
        return False


def bag_files(folder: Path) -> list[Path]:
    """The files of a ROS 2 bag, in the order of the numbers in their names."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in (".mcap", ".db3")]
    return sorted(found, key=lambda path: (len(path.name), path.name))


class Message(NamedTuple):
    """A message of a bag: the number of its file, and where it is in there."""

    file: int
    entry: Entry


class Bag:
    """A recording of ROS 1 or 2.

    Parameters
    ----------
    place : Path
        A file, or the folder of a ROS 2 bag; its ``metadata.yaml`` is not needed.

    Attributes
    ----------
    topics : dict of str to str
        Names of all topics, with the type of their messages.
    counts : dict of str to int
        How many messages each has.
    is_ros1 : bool
        Its messages are those of ROS 1.
    problems : list of str
        What is wrong with its files: a sentence each.

    Raises
    ------
    ValueError
        It is no recording, or cannot be read.
    OSError
        A file cannot be read.
    ImportError
        rosbags is not installed.
    """

    def __init__(self, place: Path):
        paths = bag_files(place) if place.is_dir() else [place]
        if not paths:
            packed = [path.name for path in place.iterdir() if path.suffix == ".zstd"]
            advice = f"; unpack {printable(packed[0])} first (zstd -d)" if packed else ""
            raise ValueError(f"{place} has a metadata.yaml but no .mcap or .db3 file{advice}")
        self._files: list[MessageFile] = []
        try:
            for path in paths:
                self._files.append(FORMATS[path.suffix.lower()](path, lambda topic: topic.kind in _READ))
            self._list(place)
        except BaseException:
            self.close()
            raise

    def _list(self, place: Path) -> None:
        self.is_ros1 = self._files[0].is_ros1
        self.problems = [file.problem for file in self._files if file.problem]
        self.topics: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        checksums = {kind: definition_of(kind, is_ros1=True)[1] for kind in _READ} if self.is_ros1 else {}
        for file in self._files:
            if file.is_ros1 != self.is_ros1 and file.topics:
                raise ValueError(f"{place} has files of ROS 1 and of ROS 2")
            for number, topic in file.topics.items():
                if self.topics.setdefault(topic.name, topic.kind) != topic.kind:
                    raise ValueError(f"{place}: {printable(topic.name)} has messages of two types")
                if topic.kind in checksums and topic.checksum not in ("", "*", checksums[topic.kind]):
                    raise ValueError(
                        f"{place}: {printable(topic.name)} has messages of another {topic.kind} than that of ROS Noetic"
                    )
                self.counts[topic.name] = self.counts.get(topic.name, 0) + file.counts.get(number, 0)

    def messages(self, topic: str) -> list[Message]:
        """The images or camera_info of a topic, in the order in which they were recorded."""
        found = [
            Message(number, entry)
            for number, file in enumerate(self._files)
            for entry in file.entries
            if file.topics[entry.topic].name == topic
        ]
        return sorted(found, key=lambda message: message.entry.log_ns)

    def read(self, message: Message) -> bytes:
        """The content of a message; ValueError if it is damaged."""
        content = self._files[message.file].read(message.entry)
        return expanded_message(content) if self._is_packed(content) else content

    def read_start(self, message: Message, size: int) -> bytes:
        """The first bytes of a message."""
        start = self._files[message.file].read_start(message.entry, size)
        if self._is_packed(start):
            return expanded_message(self._files[message.file].read(message.entry), size)[:size]
        return start

    def _is_packed(self, content: bytes) -> bool:
        """Whether a message is compressed by itself, as ``ros2 bag record --compression-mode message`` does."""
        return not self.is_ros1 and content.startswith(ZSTD)  # CDR begins with 0

    def close(self) -> None:
        """Close all files."""
        for file in self._files:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
