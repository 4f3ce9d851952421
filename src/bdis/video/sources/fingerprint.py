"""What tells the files of a source from others that have taken their places."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PART_BYTES = 1 << 16


def fingerprint(files: Sequence[Path | None], *, reads_whole: bool = True, has_names: bool = True) -> dict[str, Any]:
    """Describe files by their names and sizes, and by the content of the first two and the last two.

    Neither the folders that they are in nor the times when they were changed count: a copy is the same.

    Parameters
    ----------
    files : sequence of (Path or None)
        In the order in which they are read; None for one that is missing.
    reads_whole : bool
        Whether all of their content counts; else the beginning, the middle and the end, as of videos.
    has_names : bool
        Whether names count.

    Returns
    -------
    dict
        ``files``, ``bytes`` and ``sha256``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "1.png")
    ...     _ = path.write_bytes(b"a")
    ...     before = fingerprint([path])
    ...     _ = path.write_bytes(b"b")
    ...     before["files"], before["bytes"], before == fingerprint([path])
    (1, 1, False)
    """
    digest, total = hashlib.sha256(), 0
    read = {*range(2), *range(len(files) - 2, len(files))}
    for number, path in enumerate(files):
        content, size = b"", -1
        try:
            if path is not None and path.is_file():
                size = path.stat().st_size
                if number in read:
                    content = hashlib.sha256(path.read_bytes() if reads_whole else _parts(path, size)).digest()
        except OSError:
            pass  # a frame that cannot be read is lost, and not a reason to stop
        total += max(size, 0)
        name = path.name if path is not None and has_names else ""
        digest.update(f"{name}\0{size}\0".encode(errors="surrogateescape") + content)
    return {"files": sum(path is not None for path in files), "bytes": total, "sha256": digest.hexdigest()}


def _parts(path: Path, size: int) -> bytes:
    """The beginning, the middle and the end of a file: what was coded anew differs in all of them."""
    parts = []
    with path.open("rb") as file:
        for begin in sorted({0, max(0, (size - PART_BYTES) // 2), max(0, size - PART_BYTES)}):
            file.seek(begin)
            parts.append(file.read(PART_BYTES))
    return b"".join(parts)
