"""What tells the files of a source from others that have taken their places."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def fingerprint(files: Sequence[Path | None], *, has_content: bool = True) -> dict[str, Any]:
    """Describe files by their names and sizes, and by the content of the first two and the last two.

    Neither the folders that they are in nor the times when they were changed count: a copy is the same.

    Parameters
    ----------
    files : sequence of (Path or None)
        In the order in which they are read; None for one that is missing.
    has_content : bool
        Whether content counts; False for files that are too large to be read for this.

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
    read = {*range(2), *range(len(files) - 2, len(files))} if has_content else set()
    for number, path in enumerate(files):
        content, size = b"", -1
        try:
            if path is not None and path.is_file():
                size = path.stat().st_size
                content = hashlib.sha256(path.read_bytes()).digest() if number in read else b""
        except OSError:
            pass  # a frame that cannot be read is lost, and not a reason to stop
        total += max(size, 0)
        digest.update(f"{'' if path is None else path.name}\0{size}\0".encode(errors="surrogateescape") + content)
    return {"files": sum(path is not None for path in files), "bytes": total, "sha256": digest.hexdigest()}
