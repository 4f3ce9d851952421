"""What is already done: a line of JSON per piece of work, so that an interrupted benchmark goes on where it stopped."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ..common.atomic import write_whole


def source_hash() -> str:
    """A fingerprint of the package's code: results of other code are not taken over.

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


class Journal:
    """Records by key, each on the disk before the next piece of work begins.

    Parameters
    ----------
    path : the file

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Journal(Path(folder, "journal.jsonl")).add("frame 1", {"mean_mm": 0.1})
    ...     Journal(Path(folder, "journal.jsonl")).get("frame 1")
    {'mean_mm': 0.1}
    """

    def __init__(self, path: Path):
        self._path = path
        self._records: dict[str, Any] = {}
        if path.is_file():
            self._read()

    def _read(self) -> None:
        for line in self._path.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
                self._records[record["key"]] = record["value"]
            except (ValueError, KeyError, TypeError):
                continue  # cut short by a kill; that piece is done again

    def get(self, key: str) -> Any:
        """The record, or None."""
        return self._records.get(key)

    def keep_only(self, beginning: str) -> None:
        """Forget records whose keys do not begin so, on the disk as well."""
        self._records = {key: value for key, value in self._records.items() if key.startswith(beginning)}
        lines = [_line(key, value) for key, value in self._records.items()]
        write_whole(self._path, "".join(lines).encode())

    def add(self, key: str, value: Any) -> None:
        """Keep a record."""
        self._records[key] = value
        with open(self._path, "a") as file:
            file.write(_line(key, value))
            file.flush()
            os.fsync(file.fileno())


def key_of(code: str, *parts: Any) -> str:
    """A key of everything a record depends on; it begins with the code's fingerprint.

    Examples
    --------
    >>> key_of("c", "set 30", 1) == key_of("c", "set 30", 1), key_of("c", "set 30", 1) == key_of("c", "set 30", 2)
    (True, False)
    """
    return f"{code}-{hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]}"


def _line(key: str, value: Any) -> str:
    return json.dumps({"key": key, "value": value}) + "\n"
