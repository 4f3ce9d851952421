"""Is there room for the compiler?  LLVM ends the process when it gets no memory, so it is asked before."""

import contextlib
import mmap
from collections.abc import Iterable
from pathlib import Path

MB = 1_000_000
TO_LOAD_MB = 150  # all kernels of the matcher take 80 MB; with 40 MB LLVM ends the process
TO_COMPILE_MB = 300
_MEMORY_INFO = Path("/proc/meminfo")
_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def check_room(megabytes: int, purpose: str) -> None:
    """Raise an error if there is not enough memory for something.

    Parameters
    ----------
    megabytes : int
        How much it needs, about.
    purpose : str
        What for, as in "to compile its kernels".

    Raises
    ------
    MemoryError
        The process may not use as much; the message says which limit that is.

    Examples
    --------
    >>> check_room(1, "for an example")
    """
    problem = _limit_below(megabytes * MB)
    if problem:
        raise MemoryError(
            f"bdis needs about {megabytes} MB of memory {purpose}, but {problem}; raise the limit or free some memory"
        )


def has_room(megabytes: int) -> bool:
    """As `check_room`, for what can be done without."""
    return not _limit_below(megabytes * MB)


def _limit_below(size: int) -> str:
    """Which limit does not allow ``size`` bytes more; empty if none is known."""
    try:
        # Nothing is written to it, so this only asks: about ulimit -v and -d, and about strict overcommitting.
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return "the system does not give this process as much (ulimit -v, or too little memory is free)"
    for free, whose in _free_bytes():
        if free < size:
            return f"{whose} has only {max(free, 0) // MB} MB left"
    return ""


def _free_bytes() -> Iterable[tuple[int, str]]:
    """Free memory on Linux: of the machine, and of the control groups (containers) that this process is in."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        info = dict(line.split(":") for line in _MEMORY_INFO.read_text().splitlines())
        available, swap = (int(info[name].split()[0]) * 1024 for name in ("MemAvailable", "SwapFree"))
        yield available + swap, "this machine"
    with contextlib.suppress(OSError, ValueError, KeyError):
        own = dict(line.split("::") for line in _OWN_GROUPS.read_text().splitlines() if line.startswith("0::"))
        folder = _GROUPS / own["0"].lstrip("/")
        for place in (folder, *folder.parents):
            if place.is_relative_to(_GROUPS) and (limit := _number(place / "memory.max")) is not None:
                # What files were read into is given back when it is needed.
                statistics = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
                used = int((place / "memory.current").read_text()) - int(statistics["file"])
                yield limit - used, f"the memory limit of this container ({place / 'memory.max'})"


def _number(path: Path) -> int | None:
    """The number in a file; None if there is no such file, or another word in it."""
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text.isdigit() else None
