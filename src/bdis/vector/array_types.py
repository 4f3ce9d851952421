"""The arrays that kernels take, as Numba types them: two dimensions, rows one after the other."""

from numba.core import types

LANES = 16  # of a vector, see simd.py

FLOATS = types.Array(types.float32, 2, "C")
SHORTS = types.Array(types.int16, 2, "C")
INTS = types.Array(types.int32, 2, "C")
BYTES = types.Array(types.uint8, 2, "C")
ADDRESSES = types.Array(types.int64, 2, "C")
NUMBERS = types.Array(types.float64, 2, "C")
# What a user gives may be read-only and have any distance between rows.
IMAGE_BYTES = types.Array(types.uint8, 2, "A", readonly=True)
IMAGE_FLOATS = types.Array(types.float32, 2, "A", readonly=True)
