"""The levels of a pyramid from coarse to fine: the algorithm box, compiled.

Handing a dozen arrays per level and step from Python to a kernel costs as much as searching a coarse level.  So the
workspace notes once where each level's arrays are (``table``) and what its settings are (``numbers``), and kernels
take these two.  The arrays belong to the workspace, which outlives the call.
"""

from llvmlite import ir
from numba import boolean, carray, float32, int16, int32, int64, uint8, void
from numba.core import types
from numba.extending import intrinsic

from .cache import inner, kernel
from .filters import remove_small_segments
from .fusion import fuse_rows, fuse_rows_by_residual
from .layout import ADDRESSES, FLOATS, INTS, NUMBERS, SCRATCH, Level, LevelSettings
from .pyramid import gradient, halve_shorts
from .search import search_rows

SEGMENT_TOLERANCE_PX = 1.0  # neighbours of a segment differ by no more, px of their level


@intrinsic
def _pointer(typing_context, address, dtype):
    """An address as a pointer to elements of ``dtype``."""

    def generate(context, builder, sig, args):
        element = context.get_data_type(sig.return_type.dtype)
        return builder.inttoptr(args[0], ir.PointerType(element))

    return types.CPointer(dtype.dtype)(types.int64, dtype), generate


@inner
def _shorts(table, k, field):
    return carray(_pointer(table[k, 3 * field], int16), (table[k, 3 * field + 1], table[k, 3 * field + 2]))


@inner
def _bytes(table, k, field):
    return carray(_pointer(table[k, 3 * field], uint8), (table[k, 3 * field + 1], table[k, 3 * field + 2]))


@inner
def _ints(table, k, field):
    return carray(_pointer(table[k, 3 * field], int32), (table[k, 3 * field + 1], table[k, 3 * field + 2]))


@inner
def _floats(table, k, field):
    return carray(_pointer(table[k, 3 * field], float32), (table[k, 3 * field + 1], table[k, 3 * field + 2]))


@inner
def level_at(table, k):
    """Level ``k`` of a table made by ``layout.addresses``; the fields in the order of ``Level``."""
    return Level(
        _shorts(table, k, 0), _shorts(table, k, 1), _shorts(table, k, 2),
        _bytes(table, k, 3), _bytes(table, k, 4),
        _ints(table, k, 5), _ints(table, k, 6),
        _floats(table, k, 7), _floats(table, k, 8), _floats(table, k, 9), _floats(table, k, 10), _floats(table, k, 11),
        _floats(table, k, 12), _ints(table, k, 13), _floats(table, k, 14),
    )  # fmt: skip


@inner
def settings_at(numbers, k):
    """Settings of level ``k``; the fields in the order of ``LevelSettings``."""
    n = numbers[k]
    return LevelSettings(
        int64(n[0]), int64(n[1]), int64(n[2]), n[3] != 0, n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12],
        n[13] != 0, n[14] != 0, n[15], n[16], int64(n[17]), n[18],
    )  # fmt: skip


@inner
def fuse_level_rows(level, settings, begin, end):
    """Pixels of rows ``begin`` to ``end - 1`` from the patches over them."""
    if settings.posterior:
        fuse_rows(level, settings.min_support, settings.min_probability, begin, end)
    else:
        fuse_rows_by_residual(level, settings.patch_size, settings.grey, begin, end)


@inner
def filter_level(level, settings, runs, row_starts):
    """Remove small segments [III-F]."""
    if settings.min_segment > 1:
        remove_small_segments(
            level.disparity, level.probability, settings.width, SEGMENT_TOLERANCE_PX, settings.min_segment,
            runs, row_starts,
        )  # fmt: skip


@kernel(void(ADDRESSES, ADDRESSES, int64, int64))
def finish_pyramid(images, table, first_side, last_side):
    """Halve level 1 of the given sides (0 left, 1 right) down to the coarsest level; gradients of the left image.

    ``images``: row n - 1 has left, right and the width of level n.
    """
    for side in range(first_side, last_side):
        for k in range(images.shape[0] - 1):
            halve_shorts(_shorts(images, k, side), images[k, 6], _shorts(images, k + 1, side))
    if first_side == 0:
        for k in range(table.shape[0]):
            level = level_at(table, k)
            gradient(level.left, level.gradient)


@kernel(void(ADDRESSES, NUMBERS, boolean, FLOATS, SCRATCH, INTS, INTS))
def solve_levels(table, numbers, has_hidden, weights, scratch, runs, row_starts):
    """Search, fuse and filter every level, coarsest first, in one thread."""
    for k in range(table.shape[0]):
        level, parent, settings = level_at(table, k), level_at(table, max(k - 1, 0)), settings_at(numbers, k)
        search_rows(level, parent, k == 0, has_hidden, settings, weights, scratch, 0, level.rows.shape[1])
        fuse_level_rows(level, settings, 0, level.disparity.shape[0])
        filter_level(level, settings, runs, row_starts)


@kernel(void(ADDRESSES, NUMBERS, int64, boolean, FLOATS, SCRATCH, int64, int64))
def search_band(table, numbers, k, has_hidden, weights, scratch, begin, end):
    """Search patch rows ``begin`` to ``end - 1`` of level ``k``."""
    level, parent = level_at(table, k), level_at(table, max(k - 1, 0))
    search_rows(level, parent, k == 0, has_hidden, settings_at(numbers, k), weights, scratch, begin, end)


@kernel(void(ADDRESSES, NUMBERS, int64, int64, int64))
def fuse_band(table, numbers, k, begin, end):
    """Fuse pixel rows ``begin`` to ``end - 1`` of level ``k``."""
    fuse_level_rows(level_at(table, k), settings_at(numbers, k), begin, end)


@kernel(void(ADDRESSES, NUMBERS, int64, INTS, INTS))
def filter_whole(table, numbers, k, runs, row_starts):
    """Remove the small segments of level ``k``."""
    filter_level(level_at(table, k), settings_at(numbers, k), runs, row_starts)
