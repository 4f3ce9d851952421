"""Where compiled kernels are kept: a folder for each set of sources, versions and settings."""

import contextlib
import functools
import hashlib
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba

from .safe_folders import make_folder, why_unsafe

log = logging.getLogger("bdis")

_UNUSED_AFTER_S = 30 * 86400
_KEY = re.compile("[0-9a-f]{16}")
_RELATIVE_IMPORT = re.compile(r"^\s*from\s+(\.+)([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def digest(data: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(data).digest()


def room_of(function) -> Path:
    """Folder with the sources of a compiled function: the outermost one called ``kernels``, else its own."""
    file = Path(function.__code__.co_filename)
    return next((folder for folder in reversed(file.parents) if folder.name == "kernels"), file.parent)


def source_key(room: Path) -> str:
    """Key of the machine code that the sources in a folder compile to.

    Parameters
    ----------
    room : Path
        Folder with kernels, in subfolders as well.

    Returns
    -------
    str
        16 hexadecimal digits.  They change with every source in ``room`` and in this folder, with every file that those
        import from elsewhere in the package, and with every version or setting that shapes the machine code.
    """
    package = Path(__file__).parents[1]
    parts = [part for path in _sources(room) for part in (_name_of(path, package).encode(), path.read_bytes())]
    versions = f"{sys.version} {numba.__version__} {llvmlite.__version__} {platform.machine()}"
    # The user's own NUMBA_* variables may change the machine code as well.
    chosen = {name: getattr(numba.config, name, None) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")}
    return digest(b"\0".join(parts) + f"{versions} {chosen}".encode()).hex()[:16]


def _name_of(path: Path, package: Path) -> str:
    return path.relative_to(package).as_posix() if path.is_relative_to(package) else path.name


def _sources(room: Path) -> list[Path]:
    """All files in ``room`` and in this folder, and those that they import from elsewhere."""
    found: set[Path] = set()
    waiting = [*room.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
    while waiting:
        if (path := waiting.pop()) not in found:
            found.add(path)
            waiting += _imported_files(path)
    return sorted(found)


def _imported_files(path: Path) -> list[Path]:
    """Files of the modules that a source imports relative to itself."""
    places = []
    for dots, module, names in _RELATIVE_IMPORT.findall(path.read_text(encoding="utf-8")):
        base = path.parents[len(dots) - 1].joinpath(*filter(None, module.split(".")))
        places += [base / name for name in re.findall(r"\w+", names)]
        places += [base] if module else []
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return [file for file in files if file.is_file()]


def _user_cache() -> Path:
    if chosen := os.environ.get("BDIS_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "bdis"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/bdis"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bdis"


def _private_temporary() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"bdis-{user}"
    if folder.is_symlink():
        raise PermissionError(f"{folder} is a link, and not the folder that was made here")
    return folder


class CacheChoice(NamedTuple):
    """Where kernels are kept.

    Attributes
    ----------
    folder : Path or None
        None: nowhere, every process compiles them anew.
    unsafe : list of str
        Why they are not kept where other users may write, in sentences without a full stop.
    """

    folder: Path | None
    unsafe: list[str]


def choose_cache(room: Path) -> CacheChoice:
    """Find a place for the kernels in a folder: in the user's cache, else in a private temporary folder.

    Parameters
    ----------
    room : Path
        Folder with the sources of the kernels.

    Returns
    -------
    CacheChoice
        A folder that can be written to, by this user alone: what is in it will be executed.
    """
    unsafe = []
    for place in (_user_cache, _private_temporary):
        try:
            base = place()
            folder, problem = base / source_key(room), ""
            for each in (base, folder):  # nothing is made in an unsafe one
                if not problem:
                    make_folder(each)
                    problem = why_unsafe(each)
        except (OSError, RuntimeError):  # RuntimeError: no home directory
            continue
        if problem:
            unsafe.append(f"{problem}, and what is kept in {base} is executed")
        elif _is_writable(folder):
            return CacheChoice(folder, unsafe)
    return CacheChoice(None, unsafe)


def _is_writable(folder: Path) -> bool:
    """Try a real write: permission bits do not tell about read-only mounts or root."""
    try:
        os.utime(folder)  # forget_old reads this as the time of the last use
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def folder_of(room: Path) -> Path | None:
    """Where the kernels in ``room`` are kept, looked up once per process; warns if that is nowhere, or not as asked."""
    folder, unsafe = choose_cache(room)
    if folder is None:
        reasons = "".join(f"; {reason}" for reason in unsafe)
        _warn_once(f"no writable place for compiled kernels: every process will compile them anew{reasons}")
    elif unsafe:
        _warn_once(f"{unsafe[0]}; compiled kernels are kept in {folder.parent} instead")
    return folder


@functools.cache
def _warn_once(text: str) -> None:
    log.warning(text)


def forget_old(folder: Path) -> None:
    """Remove the folders of other sources and versions that have not been used for a month."""
    for other in folder.parent.iterdir():
        with contextlib.suppress(OSError):  # another process may be doing the same
            is_old = other.stat().st_mtime < time.time() - _UNUSED_AFTER_S
            if other != folder and _KEY.fullmatch(other.name) and is_old:
                shutil.rmtree(other, ignore_errors=True)
