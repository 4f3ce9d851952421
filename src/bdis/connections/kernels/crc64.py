"""The check sum of OpenIGTLink, CRC-64 of ECMA-182, eight bytes at a time.

Nothing of it holds Python's lock, so that a thread that sends pictures does not hold up the one that matches.
"""

import numpy as np
from numba import types, uint64
from numpy.typing import NDArray

from ...vector.array_types import IMAGE_BYTES
from ...vector.cache import kernel

POLYNOMIAL = 0x42F0E1EBA9EA3693
TABLES = types.Array(types.uint64, 2, "C")


def make_tables() -> NDArray[np.uint64]:
    """Row ``n``, column ``b``: the check sum of the byte ``b`` with ``n`` zeros after it; uint64, shape (8, 256)."""
    tables = np.zeros((8, 256), np.uint64)
    for byte in range(256):
        value = byte << 56
        for _ in range(8):
            value = (value << 1 ^ POLYNOMIAL if value >> 63 else value << 1) & (2**64 - 1)
        tables[0, byte] = value
    for row in range(1, 8):
        before = tables[row - 1]
        tables[row] = before << np.uint64(8) ^ tables[0, (before >> np.uint64(56)).astype(np.int64)]
    return tables


@kernel(types.uint64(IMAGE_BYTES, TABLES))
def crc64_of(content, tables):
    """Check sum of the first row of ``content``."""
    count = content.shape[1]
    crc = uint64(0)
    place = 0
    while place + 8 <= count:
        for k in range(8):
            crc ^= uint64(content[0, place + k]) << uint64(56 - 8 * k)
        after = uint64(0)
        for k in range(8):
            after ^= tables[7 - k, (crc >> uint64(56 - 8 * k)) & uint64(255)]
        crc = after
        place += 8
    while place < count:
        crc = (crc << uint64(8)) ^ tables[0, (crc >> uint64(56)) ^ uint64(content[0, place])]
        place += 1
    return crc
