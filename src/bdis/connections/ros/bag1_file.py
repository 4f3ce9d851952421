"""Bags of ROS 1 (.bag, format 2.0): the list of their messages, and a writer whose files survive a kill.

The format is described at http://wiki.ros.org/Bags/Format/2.0.  A record has two parts, each behind its length in 4
bytes: a head of fields, and data.  Of what bdis writes, every frame is one chunk, which is on the disk when ``write``
returns.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .growing_file import GrowingFile
from .log_file import MAX_MESSAGE_BYTES, Chunk, ChunkedFile, Content, Entry, FileContent, Topic

MAGIC = b"#ROSBAG V2.0\n"
MESSAGE, BAG_HEADER, INDEX, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 4, 5, 6, 7
_HEADER_BYTES = 4096  # of the first record, padded so that it can be written again
_MAX_HEAD = 2**20
_NS_PER_S = 10**9
Fields = dict[bytes, bytes]


class Record(NamedTuple):
    """A record: where it starts, its fields, where its data begin and end, and where they should end."""

    start: int
    fields: Fields
    begin: int
    end: int
    declared_end: int

    @property
    def kind(self) -> int:
        return self.fields.get(b"op", b"\0")[0] if self.fields.get(b"op") else 0

    def number(self, name: bytes) -> int:
        (number,) = struct.unpack("<I", self.fields.get(name, b""))
        return int(number)


def records(content: Content, at: int = 0) -> Iterator[Record]:
    """The records of a file or a chunk; the last may be cut short, and one with a damaged head ends them."""
    size = len(content)
    while at + 4 <= size:
        found = _record_at(content, at)
        if found is None:
            return
        yield found
        at = found.declared_end


def _record_at(content: Content, at: int) -> Record | None:
    (length,) = struct.unpack("<I", content[at : at + 4])
    head_end = at + 4 + length
    if length > _MAX_HEAD or head_end + 4 > len(content):
        return None
    try:
        fields = _fields(content[at + 4 : head_end])
    except (struct.error, ValueError):
        return None
    (data_length,) = struct.unpack("<I", content[head_end : head_end + 4])
    begin = head_end + 4
    end = begin + data_length
    return Record(at, fields, begin, min(end, len(content)), end)


def _fields(head: bytes) -> Fields:
    fields, at = {}, 0
    while at < len(head):
        (length,) = struct.unpack_from("<I", head, at)
        name, separator, value = head[at + 4 : at + 4 + length].partition(b"=")
        if not separator or at + 4 + length > len(head):
            raise ValueError
        fields[name] = value
        at += 4 + length
    return fields


class Bag1File(ChunkedFile):
    """A bag of ROS 1; one that was not closed (``.bag.active``) is read as far as it goes.

    Raises
    ------
    ValueError
        It is no such bag.
    OSError
        It cannot be read.
    """

    is_ros1 = True

    def _list_file(self) -> None:
        if self._file[0 : len(MAGIC)] != MAGIC:
            raise ValueError(f"{self.path} is not a bag of ROS 1 (format 2.0)")
        at = len(MAGIC)
        index_at = len(self._file)
        for record in records(self._file, at):
            if record.kind == BAG_HEADER:
                (index_at,) = struct.unpack("<Q", record.fields.get(b"index_pos", b"")[:8].ljust(8, b"\0"))
            is_cut = record.end < record.declared_end
            if is_cut and record.kind == CHUNK:
                self.problem = self._interrupted(record.end)  # before the chunk is listed
            if not is_cut or record.kind == CHUNK:
                self._note(record)
            if is_cut:
                self.problem = self._interrupted(record.end)
                return
            at = record.declared_end
        if at != len(self._file):
            self.problem = self._interrupted(at)
        elif not 0 < index_at <= len(self._file):
            self.problem = (
                f"{self.path.name} has no index: its recording was interrupted, and is read as far as it goes"
            )

    def _interrupted(self, place: int) -> str:
        return (
            f"{self.path.name} ends within a record, at byte {place}: its recording was interrupted, and is read as "
            "far as it goes"
        )

    def _note(self, record: Record) -> None:
        try:
            if record.kind == CHUNK:
                compression = record.fields.get(b"compression", b"").decode("ascii", "replace")
                is_cut = record.end < record.declared_end
                self._begin_chunk(Chunk(record.begin, record.end, record.number(b"size"), compression, 0, is_cut))
            elif record.kind == INDEX:
                self._add_index(self._index_of(record))
            elif record.kind in (MESSAGE, CONNECTION):
                self._finish_chunk()
                self._note_plain(self._file, record, -1)
        except struct.error:
            raise ValueError(f"{self.path}: the record at byte {record.begin} is damaged") from None

    def _list_chunk(self, number: int, content: bytes) -> None:
        for record in records(content):
            if record.end < record.declared_end:
                return
            try:
                self._note_plain(content, record, number)
            except struct.error:
                raise ValueError(f"{self.path}: a record in chunk {number} is damaged") from None

    def _note_plain(self, content: Content, record: Record, chunk: int) -> None:
        """A connection or a message, in a chunk or outside of one."""
        if record.kind == MESSAGE:
            self._add_entry(
                Entry(_time_ns(record.fields.get(b"time", b"")), record.number(b"conn"), chunk, record.start)
            )
        elif record.kind == CONNECTION:
            try:
                about = _fields(content[record.begin : min(record.end, record.begin + _MAX_HEAD)])
                package, _, kind = about.get(b"type", b"").decode().partition("/")
                name, checksum = record.fields.get(b"topic", b"").decode(), about.get(b"md5sum", b"").decode()
            except (ValueError, UnicodeDecodeError):
                raise ValueError(f"{self.path}: the connection at byte {record.begin} is damaged") from None
            self._add_topic(record.number(b"conn"), Topic(name, f"{package}/msg/{kind}", checksum))

    def _index_of(self, record: Record) -> list[Entry]:
        body, topic = self._file[record.begin : record.end], record.number(b"conn")
        number = len(self.chunks) - 1
        return [
            Entry(seconds * _NS_PER_S + rest, topic, number, place)
            for seconds, rest, place in struct.iter_unpack("<III", body)
        ]

    def _message_at(self, content: Content, entry: Entry, most: int | None) -> bytes:
        record = _record_at(content, entry.place) if entry.place + 4 <= len(content) else None
        if record is None or record.kind != MESSAGE or record.end < record.declared_end:
            raise ValueError(f"{self.path}: there is no message where its index says")
        topic, time = record.fields.get(b"conn", b""), record.fields.get(b"time", b"")
        if topic != _u32(entry.topic) or len(time) != 8 or _time_ns(time) != entry.log_ns:
            raise ValueError(f"{self.path}: there is another message where its index says")
        if record.end - record.begin > MAX_MESSAGE_BYTES:
            raise ValueError(f"{self.path}: a message is larger than {MAX_MESSAGE_BYTES} bytes")
        return content[record.begin : record.end if most is None else min(record.end, record.begin + most)]


def _time_ns(time: bytes) -> int:
    seconds, rest = struct.unpack("<II", time)
    return int(seconds) * _NS_PER_S + int(rest)


# --- Writing ----------------------------------------------------------------------------------------------------------


class Bag1Writer:
    """Writes messages of ROS 1, all those of a frame as one chunk.

    Until it is closed the file has no index, as one that ``rosbag record`` is writing; ``rosbag reindex`` adds it, and
    bdis does without.

    Parameters
    ----------
    path : Path
        The file.
    topics : dict of str to (str, str, str)
        Names of the topics, with the type of their messages ("sensor_msgs/Image"), its definition and its MD5.
    keep : int
        Keep so many frames of an existing file that was written with the same topics, and continue after them.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        The existing file cannot be continued.
    """

    def __init__(self, path: Path, topics: dict[str, tuple[str, str, str]], keep: int = 0):
        self._numbers = {name: number for number, name in enumerate(topics)}
        self._connections = [_connection(number, name, *topics[name]) for name, number in self._numbers.items()]
        self._infos: list[bytes] = []
        if not keep:
            self._file = GrowingFile(path)
            self._file.append(MAGIC + _bag_header(0, 0, 0))
            return
        end = self._take_over(path, keep)
        self._file = GrowingFile(path, end)
        self._file.replace(len(MAGIC), _bag_header(0, 0, 0))

    def write(self, messages: list[tuple[str, int, bytes]]) -> None:
        """Add a frame: messages with their topic, their time in ns since 1970 and their content.

        Raises
        ------
        OSError
            It cannot be written; the frames before it can be read.
        """
        # The connections are in every chunk, so that any part of the file can be understood.
        parts, at = list(self._connections), sum(map(len, self._connections))
        places: dict[int, list[bytes]] = {}
        for topic, time_ns, content in messages:
            number, time = self._numbers[topic], struct.pack("<II", *divmod(time_ns, _NS_PER_S))
            head = _head(MESSAGE, conn=struct.pack("<I", number), time=time) + struct.pack("<I", len(content))
            parts += [head, content]
            places.setdefault(number, []).append(time + struct.pack("<I", at))
            at += len(head) + len(content)
        chunk = _head(CHUNK, compression=b"none", size=struct.pack("<I", at)) + struct.pack("<I", at)
        indexes = [
            _whole(INDEX, b"".join(index), ver=_u32(1), conn=_u32(number), count=_u32(len(index)))
            for number, index in places.items()
        ]
        place = self._file.size
        self._file.append(chunk, *parts, *indexes)
        self._note_chunk(place, places)

    def close(self) -> None:
        """Write the index at the end of the file, and where it is at the beginning."""
        if self._file.is_closed:
            return
        try:
            index_at = self._file.size
            self._file.append(*self._connections, *self._infos)
            self._file.replace(len(MAGIC), _bag_header(index_at, len(self._connections), len(self._infos)))
        finally:
            self._file.close()

    def _note_chunk(self, place: int, places: dict[int, list[bytes]]) -> None:
        times = sorted((entry[:8] for index in places.values() for entry in index), key=_time_ns)
        counts = b"".join(_u32(number) + _u32(len(index)) for number, index in places.items())
        self._infos.append(
            _whole(
                CHUNK_INFO, counts, ver=_u32(1), chunk_pos=struct.pack("<Q", place), start_time=times[0],
                end_time=times[-1], count=_u32(len(places)),
            )
        )  # fmt: skip

    def _take_over(self, path: Path, keep: int) -> int:
        """Note the first frames of an existing file; where they end is returned."""
        content = FileContent(path)
        try:
            frames = list(itertools.islice(_frames(content, len(self._connections)), keep))
            if len(frames) < keep:
                raise ValueError(f"{path} has {len(frames)} complete frames; {keep} are to be kept")
            ours = b"".join(self._connections)
            if content[frames[0].data : frames[0].data + len(ours)] != ours:
                raise ValueError(f"{path} was written with other topics, and cannot be continued")
        finally:
            content.close()
        for frame in frames:
            self._note_chunk(frame.start, frame.places)
        return frames[-1].end


class _Frame(NamedTuple):
    """A chunk and its index, as bdis writes them: one message of each topic."""

    start: int
    data: int
    end: int
    places: dict[int, list[bytes]]


def count_frames(path: Path) -> int:
    """How many complete frames a bag of :class:`Bag1Writer` has; 0 if there is no such file."""
    try:
        content = FileContent(path)
    except OSError:
        return 0
    try:
        return sum(1 for _ in _frames(content)) if content[0 : len(MAGIC)] == MAGIC else 0
    finally:
        content.close()


def _frames(content: Content, connections: int | None = None) -> Iterator[_Frame]:
    """The complete frames, up to the first place that is damaged."""
    start = data = 0
    places: dict[int, list[bytes]] = {}
    with contextlib.suppress(struct.error):
        for record in records(content, len(MAGIC)):
            if record.end < record.declared_end:
                return
            if record.kind == CHUNK:
                start, data, places = record.start, record.begin, {}
                if connections is None:
                    inside = records(content[record.begin : record.end])
                    connections = len({inner.number(b"conn") for inner in inside if inner.kind == CONNECTION})
            elif record.kind == INDEX:
                places[record.number(b"conn")] = [content[record.begin : record.end]]
                if len(places) == connections:
                    yield _Frame(start, data, record.end, places)


def _u32(number: int) -> bytes:
    return struct.pack("<I", number)


def _head(kind: int, **fields: bytes) -> bytes:
    """The head of a record, with its length."""
    parts = [b"op=" + bytes([kind]), *(name.encode() + b"=" + value for name, value in fields.items())]
    content = b"".join(_u32(len(part)) + part for part in parts)
    return _u32(len(content)) + content


def _whole(kind: int, data: bytes, **fields: bytes) -> bytes:
    return _head(kind, **fields) + _u32(len(data)) + data


def _bag_header(index_at: int, connections: int, chunks: int) -> bytes:
    head = _head(
        BAG_HEADER, index_pos=struct.pack("<Q", index_at), conn_count=_u32(connections), chunk_count=_u32(chunks)
    )
    padding = _HEADER_BYTES - len(head) - 4
    return head + _u32(padding) + b" " * padding


def _connection(number: int, topic: str, kind: str, definition: str, checksum: str) -> bytes:
    about = {"topic": topic, "type": kind, "md5sum": checksum, "message_definition": definition}
    parts = [f"{name}={value}".encode() for name, value in about.items()]
    data = b"".join(_u32(len(part)) + part for part in parts)
    return _whole(CONNECTION, data, conn=_u32(number), topic=topic.encode())
