"""Memory that is allocated once."""

import math

import numpy as np
from numpy.typing import DTypeLike

from .images import Image


class Arena:
    """Zeroed arrays side by side in a few large blocks.

    Every array starts on a cache line, so that the vectors of a row do not straddle two; and one large block, unlike
    many small ones, gets huge pages where the system has them: after another program swept the caches, looking up a
    thousand pages takes longer than searching a level.
    """

    LINE = 64  # bytes

    def __init__(self, expected_bytes: int):
        self._block_bytes = expected_bytes
        self._free = np.zeros(0, np.uint8)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Image:
        """As ``np.zeros``."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size > len(self._free):
            block = np.zeros(max(size, self._block_bytes) + self.LINE, np.uint8)
            self._free = block[-block.ctypes.data % self.LINE :]
        array = self._free[:size].view(dtype).reshape(shape)
        self._free = self._free[-(-size // self.LINE) * self.LINE :]
        return array
