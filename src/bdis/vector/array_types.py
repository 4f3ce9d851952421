"""Numba types of the arrays that kernels take: two dimensions, in C order."""

from numba import types

LANES = 16  # numbers in a vector, see vectors.py

FLOATS = types.Array(types.float32, 2, "C")
SHORTS = types.Array(types.int16, 2, "C")
INTS = types.Array(types.int32, 2, "C")
BYTES = types.Array(types.uint8, 2, "C")
ADDRESSES = types.Array(types.int64, 2, "C")
NUMBERS = types.Array(types.float64, 2, "C")
# Images of the user may be read-only and have any distance between rows.
IMAGE_BYTES = types.Array(types.uint8, 2, "A", readonly=True)
IMAGE_FLOATS = types.Array(types.float32, 2, "A", readonly=True)
