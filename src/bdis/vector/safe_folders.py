"""Folders and files that no other user can have written: what the compile cache holds is executed.

On Windows nothing is checked: the folder of the user's caches is the user's own there.
"""

import os
import stat
from pathlib import Path

_HAS_OWNERS = hasattr(os, "getuid")
_OTHERS_MAY_WRITE, _GROUP_MAY_WRITE = stat.S_IWOTH, stat.S_IWGRP


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, which nobody else may enter.

    Parameters
    ----------
    folder : Path
        May exist already.

    Raises
    ------
    OSError
        It cannot be made.
    """
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def why_unsafe(folder: Path) -> str:
    """Tell why other users could have files of theirs in a folder.

    Every folder on the way is looked at, and every symbolic link: whoever may write to one of them may put another
    folder in the place of the next.  A folder where each may remove only what is their own (the sticky bit: /tmp) is
    fine on the way.

    Parameters
    ----------
    folder : Path
        It must exist.

    Returns
    -------
    str
        A sentence without a full stop; empty if nobody else can.

    Raises
    ------
    OSError
        It cannot be examined.

    Examples
    --------
    >>> why_unsafe(Path("/"))
    ''
    """
    if not _HAS_OWNERS:
        return ""
    place = Path(os.path.abspath(folder))
    waiting, links = [*place.relative_to(place.anchor).parts], 0
    place = Path(place.anchor)
    while True:
        if problem := _problem(place, is_last=not waiting):
            return problem
        if not waiting:
            return ""
        step = place / waiting.pop(0)
        if step.is_symlink():
            if problem := _problem(step, is_last=False):
                return problem
            if (links := links + 1) > 40:
                return f"{folder} has too many symbolic links"
            target = Path(os.path.normpath(place / step.readlink()))
            step, waiting = Path(target.anchor), [*target.relative_to(target.anchor).parts, *waiting]
        place = step


def _problem(place: Path, is_last: bool) -> str:
    status = place.lstat()
    if status.st_uid not in (os.getuid(), 0):
        return f"{place} belongs to another user"
    if stat.S_ISLNK(status.st_mode):  # its mode says nothing
        return ""
    if not stat.S_ISDIR(status.st_mode):
        return f"{place} is not a folder"
    is_sticky = bool(status.st_mode & stat.S_ISVTX) and not is_last
    return "" if is_sticky or not _others_may_write(status) else f"other users may write to {place}"


def _others_may_write(status: os.stat_result) -> bool:
    if status.st_mode & _OTHERS_MAY_WRITE:
        return True
    return bool(status.st_mode & _GROUP_MAY_WRITE) and not _is_own_group(status.st_gid)


def _is_own_group(number: int) -> bool:
    """Many systems give every user a group that nobody else is in, and let it write to what the user makes."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def read_own(path: Path) -> bytes:
    """Read a file that nobody else can have written.

    Raises
    ------
    PermissionError
        Another user has made the file, or may write to it.
    OSError
        It cannot be read.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if _HAS_OWNERS and (status.st_uid not in (os.getuid(), 0) or _others_may_write(status)):
            raise PermissionError("another user has made it or may write to it")
        return file.read()


def write_own(path: Path, content: bytes) -> None:
    """Write a new file that nobody else may read or write, whatever the umask."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(content)
