"""The interface of files with recorded messages, and what the formats that keep messages in chunks share.

Files are listed from their beginning, record by record: so one that ends in the middle, because its recorder was
killed, is read as far as it goes, and no size that a file declares is believed before it was compared with what is
there.
"""

from __future__ import annotations

import bz2
import errno
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from ...common.optional import require

MAX_CHUNK_BYTES = 2**30  # of messages that are compressed together; recorders make some MB
MAX_MESSAGE_BYTES = 2**30
MAX_TOPICS = 10_000
ZSTD = b"\x28\xb5\x2f\xfd"  # with which what Zstandard has compressed begins
_KEPT_CHUNKS = 2  # that stay decompressed: left and right images often lie in neighbours


class Topic(NamedTuple):
    """A topic of a recording.

    Attributes
    ----------
    name : str
        Such as "/stereo/left/image_raw".
    kind : str
        Type of its messages as ROS 2 writes it, such as "sensor_msgs/msg/Image".
    checksum : str
        MD5 of the type in ROS 1; empty in ROS 2.
    """

    name: str
    kind: str
    checksum: str = ""


class Entry(NamedTuple):
    """A message of a file.

    Attributes
    ----------
    log_ns : int
        When it was recorded, ns since 1970.
    topic : int
        Number of its topic in the file.
    chunk : int
        Number of its chunk in the file; -1 if it is in none.
    place : int
        Where its record starts in the chunk or the file; its number in SQLite.
    """

    log_ns: int
    topic: int
    chunk: int
    place: int


class Content(Protocol):
    """Bytes that are read in slices: those of a file, or of a chunk."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...


class FileContent:
    """The bytes of a file, of which a slice is read when it is asked for.  After ``close`` it is opened again."""

    def __init__(self, path: Path):
        self._path, self._handle = path, -1
        self._open()
        self._size = os.fstat(self._handle).st_size

    def _open(self) -> None:
        if self._handle < 0:
            self._handle = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(self._size)
        pieces = []
        self._open()
        while begin < end:
            os.lseek(self._handle, begin, os.SEEK_SET)
            piece = os.read(self._handle, end - begin)
            if not piece:
                raise OSError(errno.EIO, "the file became shorter while it was read")
            pieces.append(piece)
            begin += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


class MessageFile(ABC):
    """A file with recorded messages.

    Attributes
    ----------
    path : Path
        The file.
    is_ros1 : bool
        Its messages are encoded as in ROS 1; else as in ROS 2 (CDR).
    topics : dict of int to Topic
        By number.
    entries : list of Entry
        All messages whose topic was asked for, in the order of the file.
    counts : dict of int to int
        Number of messages of each topic.
    problem : str
        What is wrong with the file, if something is: a sentence.
    """

    is_ros1 = False

    def __init__(self, path: Path, wants: Callable[[Topic], bool]):
        self.path, self._wants = path, wants
        self.topics: dict[int, Topic] = {}
        self.entries: list[Entry] = []
        self.counts: dict[int, int] = {}
        self.problem = ""
        self._wanted: set[int] = set()

    @abstractmethod
    def read(self, entry: Entry) -> bytes:
        """The content of a message.

        Raises
        ------
        ValueError
            It is damaged.
        OSError
            The file cannot be read.
        """

    def read_start(self, entry: Entry, size: int) -> bytes:
        """The first bytes of a message, ``size`` at most."""
        return self.read(entry)[:size]

    @abstractmethod
    def close(self) -> None:
        """Close the file; it is opened again when a message is read."""

    def _add_topic(self, number: int, topic: Topic) -> None:
        if self.topics.setdefault(number, topic) != topic:
            raise ValueError(f"{self.path}: topic number {number} is used for two topics")
        if len(self.topics) > MAX_TOPICS:
            raise ValueError(f"{self.path} has more than {MAX_TOPICS} topics")
        if self._wants(topic):
            self._wanted.add(number)

    def _add_entry(self, entry: Entry) -> None:
        self.counts[entry.topic] = self.counts.get(entry.topic, 0) + 1
        if entry.topic in self._wanted:
            self.entries.append(entry)


@dataclass(frozen=True)
class Chunk:
    """Messages that are stored together.

    Attributes
    ----------
    begin, end : int
        Where its content is in the file.
    size : int
        Bytes of the content after decompression.
    compression : str
        "none", "lz4", "zstd" or "bz2".
    checksum : int
        CRC 32 of the content; 0 if there is none.
    is_cut : bool
        The file ends within it.
    """

    begin: int
    end: int
    size: int
    compression: str
    checksum: int = 0
    is_cut: bool = False


class ChunkedFile(MessageFile):
    """A file of records, some of which are chunks of further records.

    Subclasses go through the records of the file, and call ``_begin_chunk`` and ``_add_index`` for what they find;
    ``_finish_chunk`` then lists the messages, from the index or, where that is missing, from the chunk itself.
    """

    def __init__(self, path: Path, wants: Callable[[Topic], bool]):
        super().__init__(path, wants)
        self._file = FileContent(path)
        self.chunks: list[Chunk] = []
        self._index: list[Entry] = []  # of the last chunk
        self._kept: dict[int, bytes] = {}
        self._is_open_chunk = False
        try:
            self._list_file()
            self._finish_chunk(is_last=True)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _list_file(self) -> None:
        """Go through the records of the file."""

    @abstractmethod
    def _list_chunk(self, number: int, content: bytes) -> None:
        """Go through the records of a chunk."""

    @abstractmethod
    def _message_at(self, content: Content, entry: Entry, most: int | None) -> bytes:
        """The message at a place; at most ``most`` bytes of it."""

    def read(self, entry: Entry) -> bytes:
        return self._message_at(self._file if entry.chunk < 0 else self._content(entry.chunk), entry, None)

    def read_start(self, entry: Entry, size: int) -> bytes:
        if entry.chunk < 0:
            return self._message_at(self._file, entry, size)
        chunk = self.chunks[entry.chunk]
        if chunk.compression == "none":  # the rest of the chunk need not be read
            moved = entry._replace(place=chunk.begin + entry.place)
            if moved.place < chunk.end:
                return self._message_at(self._file, moved, size)
        return self._message_at(self._content(entry.chunk), entry, size)

    def close(self) -> None:
        self._file.close()
        self._kept.clear()

    def _begin_chunk(self, chunk: Chunk) -> None:
        self._finish_chunk()
        self.chunks.append(chunk)
        self._is_open_chunk = True

    def _add_index(self, entries: list[Entry]) -> None:
        self._index += entries

    def _finish_chunk(self, is_last: bool = False) -> None:
        """List the messages of the last chunk."""
        if not self._is_open_chunk:
            return
        self._is_open_chunk = False
        index, self._index = self._index, []
        is_known = index and all(entry.topic in self.topics for entry in index)
        if is_known and not (is_last and self.problem):  # the index of the last chunk of a cut file may be cut as well
            for entry in index:
                self._add_entry(entry)
            return
        number = len(self.chunks) - 1
        try:
            content = self._content(number)
        except ValueError as error:
            self.problem = self.problem or str(error)
            return
        self._list_chunk(number, content)

    def _content(self, number: int) -> bytes:
        """The records of a chunk."""
        if number not in self._kept:
            chunk = self.chunks[number]
            content = decompressed(self._file, chunk, self.path)
            while len(self._kept) >= _KEPT_CHUNKS:
                del self._kept[next(iter(self._kept))]
            self._kept[number] = content
        return self._kept[number]


def decompressed(file: Content, chunk: Chunk, path: Path) -> bytes:
    """The content of a chunk; of one that is cut, as much as there is.

    Raises
    ------
    ValueError
        It is damaged, too large, or compressed in an unknown way.
    """
    where = f"{path}: the chunk at byte {chunk.begin}"
    if max(chunk.size, chunk.end - chunk.begin) > MAX_CHUNK_BYTES:
        raise ValueError(f"{where} declares {chunk.size} bytes; at most {MAX_CHUNK_BYTES} are read")
    stored = file[chunk.begin : chunk.end]
    try:
        content = _expand(stored, chunk.compression, chunk.size)
    except KeyError:
        raise ValueError(
            f"{where} is compressed by {chunk.compression[:20]!r}; expected none, lz4, zstd or bz2"
        ) from None
    except (OSError, RuntimeError, ValueError, EOFError, MemoryError) as error:
        raise ValueError(f"{where} is damaged: {str(error)[:100]}") from error
    if chunk.is_cut:
        return content
    if len(content) != chunk.size:
        raise ValueError(f"{where} has {len(content)} bytes and declares {chunk.size}: it is damaged")
    if chunk.checksum and zlib.crc32(content) != chunk.checksum:
        raise ValueError(f"{where} is damaged: its checksum is wrong")
    return content


def expanded_message(stored: bytes, most: int | None = None) -> bytes:
    """A message that is compressed by itself with Zstandard; ``most`` bytes of it at least, if they are given.

    Raises
    ------
    ValueError
        It is damaged or too large.
    """
    content = _expand(stored, "zstd", MAX_MESSAGE_BYTES if most is None else most)
    if most is None and len(content) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a compressed message has more than {MAX_MESSAGE_BYTES} bytes")
    return content


def _expand(stored: bytes, compression: str, size: int) -> bytes:
    """At most ``size + 1`` bytes of compressed content; KeyError if the compression is not known."""
    if compression == "none":
        return stored
    if compression == "bz2":
        return bz2.BZ2Decompressor().decompress(stored, size + 1)
    if compression == "lz4":
        lz4 = require("lz4.frame", "reading compressed bags")
        content: bytes = lz4.LZ4FrameDecompressor().decompress(stored, size + 1)
        return content
    if compression == "zstd":
        zstandard = require("zstandard", "reading compressed bags")
        try:
            with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(stored) as reader:
                pieces, left = [], size + 1
                while left > 0 and (piece := reader.read(min(left, 2**20))):
                    pieces.append(piece)
                    left -= len(piece)
                return b"".join(pieces)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error
    raise KeyError(compression)
