"""Files that a pattern matches, found within limits.

As `glob.glob(recursive=True)` finds them, but links to folders are not followed below "**": they may lead back, and
"/**" would go round for hours; and it ends with an error where a pattern looks at too much.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from ..common.bad_request import BadRequest

MAX_MATCHES = 20_000
MAX_LOOKED_AT = 300_000  # files and folders; seconds, and ten times as long on a network drive
MAX_PARTS = 100  # names between slashes
ANY_DEPTH = "**"


def files_matching(pattern: str, folder: Path) -> list[Path]:
    """Files and folders that a pattern matches.

    Parameters
    ----------
    pattern : str
        With "*", "?", "[...]", and "**" for folders at any depth.  Names that begin with a dot are matched by parts
        that do.
    folder : Path
        What a relative pattern is relative to; its own name is no pattern.

    Returns
    -------
    list of Path
        In order, each once; none if a folder cannot be read.

    Raises
    ------
    BadRequest
        There are more than `MAX_MATCHES`, it looks at more than `MAX_LOOKED_AT`, or has more than `MAX_PARTS`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in "b.mp4", "a.mp4", "notes.txt":
    ...         Path(folder, name).touch()
    ...     [path.name for path in files_matching("**/*.mp4", Path(folder))]
    ['a.mp4', 'b.mp4']
    """
    parts: list[str] = []
    for part in Path(pattern).parts:
        if part != ANY_DEPTH or parts[-1:] != [ANY_DEPTH]:  # "**/**" is "**"
            parts.append(part)
    if parts[-1:] == [ANY_DEPTH]:
        parts.append("*")
    if len(parts) > MAX_PARTS:
        raise BadRequest(f"the pattern {pattern[:40]!r}... has {len(parts)} parts; {MAX_PARTS} are possible")
    found: set[Path] = set()
    for path in _Search(pattern).below(folder, parts):
        found.add(path)
        if len(found) > MAX_MATCHES:
            raise BadRequest(f"{pattern} matches more than {MAX_MATCHES} files; give a narrower pattern, or several")
    return sorted(found)


class _Search:
    """Counts what a pattern looks at."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self._looked_at = 0

    def below(self, folder: Path, parts: Sequence[str]) -> Iterator[Path]:
        """What the parts of a pattern match in a folder."""
        if not parts:
            yield folder
            return
        first, rest = parts[0], parts[1:]
        if first == ANY_DEPTH:
            for each in self._folders(folder):
                yield from self.below(each, rest)
        elif has_magic(first):
            for entry in self._entries(folder):
                is_meant = fnmatch(entry.name, first) and (first.startswith(".") or not entry.name.startswith("."))
                if is_meant and (not rest or _is_folder(entry)):
                    yield from self.below(folder / entry.name, rest)
        elif os.path.lexists(folder / first):
            yield from self.below(folder / first, rest)

    def _folders(self, folder: Path) -> Iterator[Path]:
        """A folder and those in it at any depth, without links and hidden ones."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            yield here
            for entry in self._entries(here):
                if not entry.name.startswith(".") and not entry.is_symlink() and _is_folder(entry):
                    waiting.append(here / entry.name)

    def _entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        """What is in a folder; nothing if it cannot be read, or is none."""
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    self._looked_at += 1
                    if self._looked_at > MAX_LOOKED_AT:
                        raise BadRequest(
                            f"{self._pattern} looks at more than {MAX_LOOKED_AT} files; give a narrower pattern"
                        )
                    yield entry
        except OSError:  # nor can it be read to its end
            return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """A folder, or a link to one; not if that cannot be told."""
    try:
        return entry.is_dir()
    except OSError:
        return False
