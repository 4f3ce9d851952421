"""Memory that is allocated once: buffers of the stages, and large results."""

import math
from sys import getrefcount

import numpy as np
from numpy.typing import DTypeLike

from ..common.arrays import Array
from ..vector.records import address_of_float32

CACHE_LINE = 64  # bytes
LARGE_PIXELS = 1_000_000  # a result of 8 MB does not stay in the caches anyway
KEPT_PIXELS = 30_000  # what is larger than 120 kB the system takes back when it is freed, and clears before it gives it
MAX_HELD_RESULTS = 2  # one that the caller looks at while the next is made

# How many references an array has when a single view is left of it, the one that is asked for it here.
_VIEW = np.empty(1)[:]
UNSEEN = getrefcount(_VIEW.base)


class Arena:
    """Zeroed arrays side by side in a few large blocks.

    Every array starts on a cache line, so that the vectors of a row do not straddle two.  One large block, unlike many
    small ones, gets huge pages where the system has them: with cold caches, looking up a thousand pages takes longer
    than searching a level.

    Parameters
    ----------
    block_bytes : int
        Size of the first block; a good guess of all that will be asked for.  Further ones are a sixteenth of it.
    first : ndarray of uint8, optional
        A block to begin with.

    Examples
    --------
    >>> Arena(1 << 20).zeros((2, 3), np.float32).shape
    (2, 3)
    """

    def __init__(self, block_bytes: int, first: Array | None = None):
        self._first_bytes = self._block_bytes = block_bytes
        self._free = np.zeros(0, np.uint8) if first is None else first

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """As ``np.zeros``."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size > len(self._free):
            block = np.zeros(max(size, self._block_bytes) + CACHE_LINE, np.uint8)
            self._block_bytes = self._first_bytes // 16
            self._free = block[-block.ctypes.data % CACHE_LINE :]
        array = self._free[:size].view(dtype).reshape(shape)
        self._free = self._free[-(-size // CACHE_LINE) * CACHE_LINE :]
        return array


class SharedMemory:
    """Memory that stages use one after the other.  Nothing in it outlives the run of a stage, nor is it zero before.

    Parameters
    ----------
    size : int
        Bytes; a stage that needs more gets the rest from elsewhere.
    arena : Arena
        Where it comes from.

    Examples
    --------
    >>> shared = SharedMemory(1024, Arena(1 << 20))
    >>> np.shares_memory(shared.arena().zeros((8,), np.float32), shared.arena().zeros((4,), np.int16))
    True
    """

    def __init__(self, size: int, arena: Arena):
        self._memory = arena.zeros((size,), np.uint8)

    def arena(self) -> Arena:
        """The whole of it for one more stage."""
        return Arena(1 << 16, self._memory)


class ResultMemory:
    """Arrays for the results of images of one size, not in use by anybody.

    An array would be new memory every time, in pages that the system first has to clear, which takes longer than
    filling them.  So memory is used again once nobody refers to the arrays that were returned in it, nor to any view of
    them.  Small arrays come from memory that was freed last and is still in the caches.

    Parameters
    ----------
    height, width : int
        px.

    Attributes
    ----------
    streaming : bool
        Results are so large that they are better written past the caches; needs rows that start on a cache line.
    """

    def __init__(self, height: int, width: int):
        self._shape = height, width
        self._is_kept = height * width >= KEPT_PIXELS
        is_large = height * width >= LARGE_PIXELS
        self.streaming = self._is_kept and is_large and width % (2 * CACHE_LINE // 4) == 0
        self._held: list[tuple[Array, list[int]]] = []  # the maps of a result, and where each begins

    def arrays(self, count: int) -> tuple[list[Array], list[int]]:
        """``count`` arrays of float32, shape (height, width), and where each begins."""
        if not self._is_kept:
            arrays = [np.empty(self._shape, np.float32) for _ in range(count)]
            return arrays, [address_of_float32.function(array) for array in arrays]
        for held in self._held:
            # Every view of an array, and every view of a view, refers to the array that owns the memory.
            if getrefcount(held[0].base) == UNSEEN:
                break
        else:
            held = self._new_maps(count)
            self._held = [held, *self._held[: MAX_HELD_RESULTS - 1]]
        maps, addresses = held
        return [maps[k] for k in range(count)], addresses

    def _new_maps(self, count: int) -> tuple[Array, list[int]]:
        """New memory for ``count`` arrays, from a cache line on."""
        size = 4 * math.prod(self._shape)
        block = np.empty(count * size + CACHE_LINE, np.uint8)
        aligned = block[-block.ctypes.data % CACHE_LINE :][: count * size]
        first = aligned.ctypes.data
        maps = aligned.view(np.float32).reshape(count, *self._shape)
        return maps, [first + k * size for k in range(count)]
