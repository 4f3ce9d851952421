"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

Place = str | os.PathLike[str]


def write_whole(path: Place, content: bytes) -> None:
    """Write ``content`` to ``path`` so that a killed run or a full disk never leaves a part of it there.

    It goes to a hidden file beside ``path`` first, which takes its name only once it is safely on the disk.

    Raises
    ------
    OSError
        No such folder, no permission, no space left; ``path`` is as it was before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/hello.txt", b"hello")
    ...     Path(folder, "hello.txt").read_bytes()
    b'hello'
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise named(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def all_or_nothing(folder: Place) -> Iterator[Path]:
    """A place to write several files that belong together; they appear in ``folder`` when all are complete.

    Raises
    ------
    OSError
        ``folder`` cannot be made or written to; said at once, before any work is done.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with all_or_nothing(folder) as stage:
    ...         write_whole(stage / "a.txt", b"a")
    ...         before = sorted(path.name for path in Path(folder).glob("*.txt"))
    ...     before, sorted(path.name for path in Path(folder).iterdir())
    ([], ['a.txt'])
    """
    folder = Path(folder)
    is_new = not folder.exists()
    stage = folder / f".unfinished-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage.mkdir()
    except OSError as error:
        raise named(error, folder) from error
    try:
        yield stage
        for part in sorted(stage.iterdir()):
            os.replace(part, folder / part.name)
    except OSError as error:
        if error.filename is not None and Path(error.filename).parent == stage:
            raise named(error, folder / Path(error.filename).name) from error
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if is_new:
            with contextlib.suppress(OSError):  # it is not empty: all went well
                folder.rmdir()


def named(error: OSError, path: Place) -> OSError:
    """The same error about ``path``: a failed write does not know its file, and nobody knows the hidden one."""
    return OSError(error.errno, error.strerror or str(error), str(path))
