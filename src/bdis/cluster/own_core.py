"""Gives each worker of this machine a core of its own.  Dask loads this module in the workers, and calls `dask_setup`.

A worker reads, matches and encodes in several threads, of which Python runs one at a time.  Free to move, they wake
each other across the cores many times for every frame, and FFmpeg starts threads for cores that other workers use.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def dask_setup(worker: Any) -> None:
    """Keep this process on one core: workers are numbered, and take the cores in turn."""
    stay_on_core(int(worker.name))


def stay_on_core(number: int) -> bool:
    """Keep all threads of this process, and those that they start later, on one of the cores that it may use.

    Parameters
    ----------
    number : int
        Of the core, modulo how many there are.

    Returns
    -------
    bool
        False where the system cannot do that.

    Examples
    --------
    >>> import multiprocessing
    >>> with multiprocessing.get_context("spawn").Pool(1) as other_process:
    ...     other_process.apply(stay_on_core, (0,)) in (True, False)
    True
    """
    threads = Path("/proc/self/task")  # a call with 0 would move the calling thread only
    if not hasattr(os, "sched_setaffinity") or not threads.is_dir():
        return False
    cores = sorted(os.sched_getaffinity(0))
    for thread in threads.iterdir():
        try:
            os.sched_setaffinity(int(thread.name), {cores[number % len(cores)]})
        except ProcessLookupError:  # it has ended meanwhile
            continue
        except OSError:  # forbidden, as in some containers
            return False
    return True
