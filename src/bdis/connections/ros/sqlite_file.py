"""The SQLite files of ROS 2 bags (.db3): the list of their messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...common.printable import printable
from .log_file import MAX_MESSAGE_BYTES, Entry, MessageFile, Topic

FAILURES = sqlite3.Error, MemoryError  # SQLite takes some damage for a lack of memory


def _said(error: Exception) -> str:
    return printable(str(error)) or "SQLite got no memory for it"


class SqliteFile(MessageFile):
    """A SQLite file of a ROS 2 bag.

    Raises
    ------
    ValueError
        It is no such file.
    OSError
        It cannot be read.
    """

    def __init__(self, path: Path, wants: Callable[[Topic], bool]):
        super().__init__(path, wants)
        with open(path, "rb"):  # SQLite does not say why it cannot open a file
            pass
        self._opened: sqlite3.Connection | None = None
        try:
            self._list()
        except FAILURES as error:
            self.close()
            raise ValueError(f"{path} cannot be read as the SQLite file of a ROS 2 bag: {_said(error)}") from error
        except BaseException:
            self.close()
            raise

    @property
    def _file(self) -> sqlite3.Connection:
        if self._opened is None:
            # Opened in one thread and read in another, but never by two at once.
            place = f"{self.path.absolute().as_uri()}?mode=ro"
            self._opened = sqlite3.connect(place, uri=True, check_same_thread=False)
            self._opened.execute("PRAGMA trusted_schema = OFF")
        return self._opened

    def _list(self) -> None:
        tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('topics', 'messages')"
        if self._file.execute(tables).fetchone() != (2,):
            raise ValueError(f"{self.path} is not of a ROS 2 bag: it has no tables topics and messages")
        for table in ("topics", "messages"):
            columns = self._file.execute(f"PRAGMA table_xinfo({table})").fetchall()
            if any(hidden for *_, hidden in columns):  # a small file could have its reader compute for hours
                raise ValueError(f"{self.path} is not of a ROS 2 bag: {table} has columns that are computed")
        for number, name, kind, encoding in self._file.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        ):
            if not isinstance(number, int):
                raise ValueError(f"{self.path} is damaged: a topic has no number")
            self._add_topic(number, Topic(str(name), str(kind) if encoding == "cdr" else f"{kind} as {encoding}"))
        rows = self._file.execute("SELECT timestamp, topic_id, id FROM messages ORDER BY timestamp, id")
        try:
            for time_ns, topic, number in rows:
                if all(isinstance(value, int) for value in (time_ns, topic, number)):
                    self._add_entry(Entry(time_ns, topic, -1, number))
                else:
                    self.problem = f"{self.path.name} is damaged: messages without a time or topic are left out"
        except (sqlite3.DatabaseError, MemoryError) as error:
            self.problem = f"{self.path.name} is damaged ({_said(error)}) and is read as far as it goes"

    def read(self, entry: Entry) -> bytes:
        return self._read(entry, "data")

    def read_start(self, entry: Entry, size: int) -> bytes:
        return self._read(entry, f"substr(data, 1, {int(size)})")

    def _read(self, entry: Entry, what: str) -> bytes:
        try:
            row: Any = self._file.execute(
                f"SELECT {what} FROM messages WHERE id = ? AND length(data) <= ?", (entry.place, MAX_MESSAGE_BYTES)
            ).fetchone()
        except FAILURES as error:
            raise ValueError(f"{self.path}: a message cannot be read: {_said(error)}") from error
        if row is None or not isinstance(row[0], bytes):
            raise ValueError(f"{self.path}: a message is missing, too large or no bytes")
        return row[0]

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._opened = None
