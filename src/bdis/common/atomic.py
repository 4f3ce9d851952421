"""Files that are written completely or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

Place = str | os.PathLike[str]
_REPLACED = ".replaced"  # in the temporary folder: what the new files take the place of, until all are moved


def write_whole(path: Place, content: bytes) -> None:
    """Write a file so that an interrupted program or a full disk never leaves a part of it.

    The content goes to a hidden file in the same folder, which is renamed to ``path`` once it is safely on the disk.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.
    content : bytes
        Content of the file.

    Raises
    ------
    OSError
        The folder does not exist, is not writable, or the disk is full; ``path`` is as it was before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/hello.txt", b"hello")
    ...     Path(folder, "hello.txt").read_bytes()
    b'hello'
    """
    path = Path(path)
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # short: the name of the file may be as long as names can be
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


def is_part(name: str) -> bool:
    """Whether a file is one that :func:`write_whole` had not finished when its process was killed.

    >>> is_part(".depth.tiff.0123abcd.part"), is_part("depth.tiff")
    (True, False)
    """
    return name.startswith(".") and name.endswith(".part")


@contextlib.contextmanager
def all_or_nothing(folder: Place, *, instead_of: Collection[str] = ()) -> Iterator[Path]:
    """Context manager for writing several files that belong together.

    Parameters
    ----------
    folder : str or path-like
        Folder that the files shall appear in; created if it does not exist.
    instead_of : collection of str
        Names of files in ``folder`` that the new files take the place of: those that are not written anew are removed.

    Yields
    ------
    Path
        A temporary folder to write the files to.  They are moved to ``folder`` at the end of the ``with`` block, and
        removed if it raises.  If one cannot be moved, ``folder`` gets back all that it had before.

    Raises
    ------
    OSError
        ``folder`` cannot be created or written to; raised on entry, before any work is done.

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
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    stage = folder / f".unfinished-{secrets.token_hex(4)}"
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stage.mkdir()
        except OSError as error:
            raise named(error, folder) from error
        try:
            yield stage
            _move_all(stage, folder, instead_of)
        except OSError as error:
            if error.filename is not None and Path(error.filename).parent == stage:
                raise named(error, folder / Path(error.filename).name) from error
            raise
    finally:
        if not list(stage.glob(f"{_REPLACED}/*")):  # else the disk does not even let them be put back
            shutil.rmtree(stage, ignore_errors=True)
        with contextlib.suppress(OSError):  # the folder is not empty: the files were moved
            for place in made:
                place.rmdir()


def _move_all(stage: Path, folder: Path, instead_of: Collection[str]) -> None:
    """Move all files of ``stage`` to ``folder``, and what they take the place of away; all of them, or none."""
    parts = sorted(stage.iterdir())
    replaced = stage / _REPLACED
    replaced.mkdir()
    old = [folder / name for name in dict.fromkeys([*(part.name for part in parts), *instead_of])]
    moves = [(path, replaced / path.name) for path in old if path.is_file() or path.is_symlink()]
    moves += [(part, folder / part.name) for part in parts]
    begun = []
    try:
        for source, target in moves:
            begun.append((source, target))
            os.replace(source, target)
    except BaseException:
        for source, target in reversed(begun):
            with contextlib.suppress(OSError):  # of the one that failed there is nothing to move back
                os.replace(target, source)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def named(error: OSError, path: Place) -> OSError:
    """Return the same error with ``path`` as its file name.

    A failed write does not know its file, and users do not know the hidden file that is written first.
    """
    return OSError(error.errno, error.strerror or str(error), str(path))
