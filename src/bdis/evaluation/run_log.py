"""Log of finished work, one line of JSON per item, so that an interrupted benchmark continues where it stopped."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ..common.atomic import write_whole
from ..common.reading import parse_json


def source_hash() -> str:
    """Hash of the package's source code: results of different code are not reused.

    Returns
    -------
    str
        16 hexadecimal digits.

    Examples
    --------
    >>> source_hash() == source_hash()
    True
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class RunLog:
    """Records by key; each is on the disk before :meth:`add` returns.

    Parameters
    ----------
    path : Path
        The file; it need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RunLog(Path(folder, "journal.jsonl")).add("frame 1", {"mean_mm": 0.1})
    ...     RunLog(Path(folder, "journal.jsonl")).get("frame 1")
    {'mean_mm': 0.1}
    """

    def __init__(self, path: Path):
        self._path = path
        self._records: dict[str, Any] = {}
        if path.is_file():
            self._read()

    def _read(self) -> None:
        for line in self._path.read_bytes().decode("utf-8", "replace").split("\n"):
            try:
                record = parse_json(line)
                key, value = record["key"], record["value"]
            except (ValueError, KeyError, TypeError):
                continue  # incomplete, as the process was killed while writing: this item is computed again
            if isinstance(key, str):
                self._records[key] = value

    def get(self, key: str) -> Any:
        """The record of this key, or None."""
        return self._records.get(key)

    def keep_only(self, prefix: str) -> None:
        """Remove records whose keys do not start with ``prefix``, also from the file."""
        self._records = {key: value for key, value in self._records.items() if key.startswith(prefix)}
        lines = [_line(key, value) for key, value in self._records.items()]
        write_whole(self._path, "".join(lines).encode())

    def add(self, key: str, value: Any) -> None:
        """Store a record."""
        self._records[key] = value
        with open(self._path, "a") as file:
            file.write(_line(key, value))
            file.flush()
            os.fsync(file.fileno())


def key_of(code: str, *parts: Any) -> str:
    """Key made of everything that a record depends on.

    Parameters
    ----------
    code : str
        What :func:`source_hash` returned; the key starts with it.
    *parts : object
        Anything that :func:`json.dumps` or :class:`str` can write.

    Returns
    -------
    str

    Examples
    --------
    >>> key_of("c", "set 30", 1) == key_of("c", "set 30", 1), key_of("c", "set 30", 1) == key_of("c", "set 30", 2)
    (True, False)
    """
    return f"{code}-{hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]}"


def _line(key: str, value: Any) -> str:
    return json.dumps({"key": key, "value": value}) + "\n"
