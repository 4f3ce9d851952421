"""Lets a worker keep the memory that a frame has freed for the next frame.

Dask starts its workers with MALLOC_TRIM_THRESHOLD_=65536, so that they return memory at once.  That suits tasks that
leave large arrays behind.  A recording allocates and frees the same few MB with every frame, and glibc, once told a
threshold, no longer learns the other one: every array of more than 128 kB is mapped anew, and the kernel clears each of
its pages.  At 640x480 that was 10 ms of a frame that takes 35.
"""

from __future__ import annotations

import ctypes
import functools
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGEST_KEPT = 32 << 20  # bytes of an array that is not mapped; the most that glibc learns by itself
MOST_KEPT = 2 * LARGEST_KEPT  # bytes of free memory at the end of the heap; glibc's own rule


@functools.cache
def keep_freed_memory() -> bool:
    """Make this process reuse freed memory, as one that Dask has not started does after its first frames.

    Returns
    -------
    bool
        False where the C library is not glibc: others do not read what Dask sets.

    Examples
    --------
    >>> keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)) and bool(mallopt(M_TRIM_THRESHOLD, MOST_KEPT))
