"""MCAP files, as ROS 2 records them: the list of their messages, and a writer whose files survive a kill.

The format is described at https://mcap.dev/spec.  A record is a byte with its kind, its length in 8 bytes, and that
many bytes.  Of what bdis writes, every frame is one chunk, which is on the disk when ``write`` returns.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .growing_file import GrowingFile
from .log_file import MAX_MESSAGE_BYTES, Chunk, ChunkedFile, Content, Entry, FileContent, Topic

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0E, 0x0F
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")  # channel, number, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # first and last time, size, checksum
_MAX_DEFINITION = 2**20


class Record(NamedTuple):
    """A record: its kind, where its content begins and ends, and where it should end."""

    kind: int
    begin: int
    end: int
    declared_end: int


def records(content: Content, at: int = 0) -> Iterator[Record]:
    """The records of a file or a chunk; the last may be cut short."""
    size = len(content)
    while at + _RECORD.size <= size:
        kind, length = _RECORD.unpack(content[at : at + _RECORD.size])
        begin = at + _RECORD.size
        at = begin + length
        yield Record(kind, begin, min(at, size), at)


class McapFile(ChunkedFile):
    """An MCAP file with messages of ROS.

    Raises
    ------
    ValueError
        It is no MCAP file, or has messages that are not of ROS.
    OSError
        It cannot be read.
    """

    def _list_file(self) -> None:
        self._schemas: dict[int, str] = {0: ""}
        self._encodings: set[str] = set()
        if self._file[0 : len(MAGIC)] != MAGIC:
            raise ValueError(f"{self.path} is not an MCAP file")
        self.problem = f"{self.path.name} has no end: its recording was interrupted, and is read as far as it goes"
        for record in records(self._file, len(MAGIC)):
            if record.end < record.declared_end:
                self.problem = (
                    f"{self.path.name} ends within a record, at byte {record.end}: its recording was interrupted, and "
                    "is read as far as it goes"
                )
                if record.kind == CHUNK:
                    self._note_chunk(record)
                return
            if record.kind in (DATA_END, FOOTER):
                self.problem = ""
                return
            self._note(record)

    def _note(self, record: Record) -> None:
        if record.kind == CHUNK:
            self._note_chunk(record)
        elif record.kind == MESSAGE_INDEX:
            self._add_index(self._index_of(record))
        else:
            self._finish_chunk()
            self._note_plain(self._file, record, -1)

    def _list_chunk(self, number: int, content: bytes) -> None:
        for record in records(content):
            if record.end < record.declared_end:
                return
            self._note_plain(content, record, number)

    def _note_plain(self, content: Content, record: Record, chunk: int) -> None:
        """A schema, a channel or a message, in a chunk or outside of one."""
        try:
            if record.kind == MESSAGE:
                channel, _, log_ns, _ = _MESSAGE.unpack(content[record.begin : record.begin + _MESSAGE.size])
                self._add_entry(Entry(log_ns, channel, chunk, record.begin - _RECORD.size))
            elif record.kind == SCHEMA:
                number, name = self._schema_of(content[record.begin : min(record.end, record.begin + _MAX_DEFINITION)])
                self._schemas[number] = name
            elif record.kind == CHANNEL:
                self._note_channel(content[record.begin : min(record.end, record.begin + _MAX_DEFINITION)])
        except (struct.error, UnicodeDecodeError):
            raise ValueError(f"{self.path}: the record at byte {record.begin} is damaged") from None

    def _schema_of(self, body: bytes) -> tuple[int, str]:
        (number,) = struct.unpack_from("<H", body)
        name, _ = _string(body, 2)
        return number, name

    def _note_channel(self, body: bytes) -> None:
        number, schema = struct.unpack_from("<HH", body)
        name, at = _string(body, 4)
        encoding, _ = _string(body, at)
        kind = self._schemas.get(schema, "")
        if encoding == "ros1":
            package, _, plain = kind.partition("/")
            kind = f"{package}/msg/{plain}"
        if encoding not in ("cdr", "ros1"):  # other programs keep JSON and the like beside messages of ROS
            kind = f"{kind} as {encoding}"
        else:
            self._encodings.add(encoding)
        if len(self._encodings) > 1:
            raise ValueError(f"{self.path} mixes messages of ROS 1 and of ROS 2")
        self.is_ros1 = "ros1" in self._encodings
        self._add_topic(number, Topic(name, kind))

    def _note_chunk(self, record: Record) -> None:
        head = self._file[record.begin : min(record.end, record.begin + 4096)]
        try:
            _, _, size, checksum = _CHUNK.unpack_from(head)
            compression, at = _string(head, _CHUNK.size)
            (stored,) = struct.unpack_from("<Q", head, at)
        except (struct.error, UnicodeDecodeError):
            if record.end < record.declared_end:
                return  # cut within its head: no message is there
            raise ValueError(f"{self.path}: the chunk at byte {record.begin} is damaged") from None
        begin = record.begin + at + 8
        is_cut = record.end < record.declared_end
        if not is_cut and begin + stored != record.end:
            raise ValueError(
                f"{self.path}: the chunk at byte {record.begin} is damaged: its sizes contradict each other"
            )
        self._begin_chunk(Chunk(begin, record.end, size, compression or "none", checksum, is_cut))

    def _index_of(self, record: Record) -> list[Entry]:
        body = self._file[record.begin : record.end]
        try:
            channel, size = struct.unpack_from("<HI", body)
            pairs = struct.iter_unpack("<QQ", body[6 : 6 + size])
            number = len(self.chunks) - 1
            return [Entry(log_ns, channel, number, place) for log_ns, place in pairs]
        except struct.error:
            raise ValueError(f"{self.path}: the index at byte {record.begin} is damaged") from None

    def _message_at(self, content: Content, entry: Entry, most: int | None) -> bytes:
        head = content[entry.place : entry.place + _RECORD.size + _MESSAGE.size]
        if len(head) < _RECORD.size + _MESSAGE.size:
            raise ValueError(f"{self.path}: there is no message where its index says")
        kind, length = _RECORD.unpack_from(head)
        channel, _, log_ns, _ = _MESSAGE.unpack_from(head, _RECORD.size)
        begin, end = entry.place + len(head), entry.place + _RECORD.size + length
        is_there = kind == MESSAGE and (channel, log_ns) == (entry.topic, entry.log_ns) and begin <= end <= len(content)
        if not is_there or end - begin > MAX_MESSAGE_BYTES:
            raise ValueError(f"{self.path}: there is no message where its index says")
        return content[begin : end if most is None else min(end, begin + most)]


def _string(body: bytes, at: int) -> tuple[str, int]:
    """The string at a place, and where it ends."""
    (length,) = struct.unpack_from("<I", body, at)
    begin, end = at + 4, at + 4 + length
    if end > len(body):
        raise struct.error
    return body[begin:end].decode(), end


# --- Writing ----------------------------------------------------------------------------------------------------------


class McapWriter:
    """Writes messages of ROS 2, all those of a frame as one chunk.

    Parameters
    ----------
    path : Path
        The file.
    topics : dict of str to (str, str)
        Names of the topics, with the type of their messages and its definition.
    keep : int
        Keep so many frames of an existing file that was written with the same topics, and continue after them.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        The existing file cannot be continued.
    """

    def __init__(self, path: Path, topics: dict[str, tuple[str, str]], keep: int = 0):
        self._channels = {name: number for number, name in enumerate(topics, 1)}
        self._definitions = self._definition_records(topics)
        start = MAGIC + _record(HEADER, _text("ros2") + _text("bdis")) + b"".join(self._definitions)
        self._numbers = dict.fromkeys(topics, 0)
        self._chunk_indexes: list[bytes] = []
        self._times: list[tuple[int, int]] = []
        end = self._take_over(path, keep, start) if keep else len(start)
        self._file = GrowingFile(path, end if keep else 0)
        if not keep:
            self._file.append(start)

    def _definition_records(self, topics: dict[str, tuple[str, str]]) -> list[bytes]:
        kinds = {kind: number for number, kind in enumerate(dict.fromkeys(kind for kind, _ in topics.values()), 1)}
        texts = dict(topics.values())
        schemas = [
            _record(SCHEMA, struct.pack("<H", number) + _text(kind) + _text("ros2msg") + _text(texts[kind]))
            for kind, number in kinds.items()
        ]
        channels = [
            _record(
                CHANNEL, struct.pack("<HH", number, kinds[topics[name][0]]) + _text(name) + _text("cdr") + _text("")
            )
            for name, number in self._channels.items()
        ]
        return schemas + channels

    def write(self, messages: list[tuple[str, int, bytes]]) -> None:
        """Add a frame: messages with their topic, their time in ns since 1970 and their content.

        Raises
        ------
        OSError
            It cannot be written; the frames before it can be read.
        """
        parts, at = [], 0
        places: dict[int, list[tuple[int, int]]] = {}
        for topic, time_ns, content in messages:
            channel = self._channels[topic]
            body = _MESSAGE.pack(channel, self._numbers[topic], time_ns, time_ns)
            parts += [_RECORD.pack(MESSAGE, len(body) + len(content)), body, content]
            places.setdefault(channel, []).append((time_ns, at))
            self._numbers[topic] += 1
            at += _RECORD.size + len(body) + len(content)
        times = [time_ns for _, time_ns, _ in messages]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        head = _CHUNK.pack(min(times), max(times), at, checksum) + _text("") + struct.pack("<Q", at)
        start = self._file.size
        chunk_bytes = _RECORD.size + len(head) + at
        indexes = [_index_record(channel, entries) for channel, entries in places.items()]
        self._file.append(_RECORD.pack(CHUNK, len(head) + at), head, *parts, *indexes)
        self._note_chunk(start, chunk_bytes, at, min(times), max(times), list(zip(places, indexes)))

    def close(self) -> None:
        """Write the end of the file: where everything is."""
        if self._file.is_closed:
            return
        try:
            self._file.append(*self._end())
        finally:
            self._file.close()

    def _note_chunk(
        self, start: int, chunk_bytes: int, size: int, first_ns: int, last_ns: int, indexes: list[tuple[int, bytes]]
    ) -> None:
        at, offsets = start + chunk_bytes, b""
        for channel, index in indexes:
            offsets += struct.pack("<HQ", channel, at)
            at += len(index)
        body = struct.pack("<QQQQ", first_ns, last_ns, start, chunk_bytes)
        body += struct.pack("<I", len(offsets)) + offsets + struct.pack("<Q", at - start - chunk_bytes)
        self._chunk_indexes.append(_record(CHUNK_INDEX, body + _text("") + struct.pack("<QQ", size, size)))
        self._times.append((first_ns, last_ns))

    def _end(self) -> list[bytes]:
        counts = {self._channels[name]: count for name, count in self._numbers.items()}
        first, last = (min(t for t, _ in self._times), max(t for _, t in self._times)) if self._times else (0, 0)
        schemas = sum(record[0] == SCHEMA for record in self._definitions)
        statistics = struct.pack(
            "<QHIIIIQQI", sum(counts.values()), schemas, len(counts), 0, 0, len(self._chunk_indexes), first, last,
            10 * len(counts),
        )  # fmt: skip
        statistics += b"".join(struct.pack("<HQ", *count) for count in counts.items())
        data_end = _record(DATA_END, struct.pack("<I", 0))
        summary = [*self._definitions, _record(STATISTICS, statistics), *self._chunk_indexes]
        footer = struct.pack("<QQI", self._file.size + len(data_end), 0, 0)
        return [data_end, *summary, _record(FOOTER, footer), MAGIC]

    def _take_over(self, path: Path, keep: int, start: bytes) -> int:
        """Note the first frames of an existing file; where they end is returned."""
        content = FileContent(path)
        try:
            if content[0 : len(start)] != start:
                raise ValueError(f"{path} was written with other topics, and cannot be continued")
            frames = list(itertools.islice(_frames(content), keep))
        finally:
            content.close()
        if len(frames) < keep:
            raise ValueError(f"{path} has {len(frames)} complete frames; {keep} are to be kept")
        names = {number: name for name, number in self._channels.items()}
        for frame in frames:
            for channel, _ in frame.indexes:
                self._numbers[names[channel]] += 1
            self._note_chunk(*frame)
        return frames[-1].start + frames[-1].chunk_bytes + sum(len(index) for _, index in frames[-1].indexes)


class _Frame(NamedTuple):
    """A chunk and its index, as bdis writes them: one message of each topic."""

    start: int
    chunk_bytes: int
    size: int
    first_ns: int
    last_ns: int
    indexes: list[tuple[int, bytes]]


def count_frames(path: Path) -> int:
    """How many complete frames an MCAP file of :class:`McapWriter` has; 0 if there is no such file."""
    try:
        content = FileContent(path)
    except OSError:
        return 0
    try:
        return sum(1 for _ in _frames(content)) if content[0 : len(MAGIC)] == MAGIC else 0
    finally:
        content.close()


def _frames(content: Content) -> Iterator[_Frame]:
    """The complete frames, up to the first place that is damaged."""
    channels, frame = 0, None
    with contextlib.suppress(struct.error):
        for record in records(content, len(MAGIC)):
            start = record.begin - _RECORD.size
            if record.end < record.declared_end or record.kind in (DATA_END, FOOTER):
                return
            if record.kind == CHANNEL:
                channels += 1
            elif record.kind == CHUNK:
                first_ns, last_ns, size, _ = _CHUNK.unpack(content[record.begin : record.begin + _CHUNK.size])
                frame = _Frame(start, record.end - start, size, first_ns, last_ns, [])
            elif record.kind == MESSAGE_INDEX and frame is not None:
                (channel,) = struct.unpack("<H", content[record.begin : record.begin + 2])
                frame.indexes.append((channel, content[start : record.end]))
                if len(frame.indexes) == channels:
                    yield frame


def _record(kind: int, body: bytes) -> bytes:
    return _RECORD.pack(kind, len(body)) + body


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<I", len(content)) + content


def _index_record(channel: int, entries: list[tuple[int, int]]) -> bytes:
    body = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    return _record(MESSAGE_INDEX, struct.pack("<HI", channel, len(body)) + body)
