"""The levels of a pyramid from coarse to fine: the algorithm box, compiled.

Handing a dozen arrays per level and step from Python to a kernel costs as much as searching a coarse level.  So the
workspace notes once where each level's arrays are (``table``) and what its settings are (``numbers``), and kernels
take these two.  The arrays belong to the workspace, which outlives the call.

With several threads each runs the same kernel on its own band of rows, and they meet between the steps.
"""

from llvmlite import ir
from numba import boolean, carray, float32, float64, int16, int32, int64, uint8, void
from numba.core import types
from numba.extending import intrinsic

from ...vector.array_types import ADDRESSES, FLOATS, INTS, NUMBERS
from ...vector.barrier import flag_is_up, lower_flag, meet, raise_flag
from ...vector.cache import inner, inner_returning_arrays, kernel
from .filters import find_runs, join_rows, remove_small_runs
from .fusion import fuse_rows, fuse_rows_by_residual, fuse_variance_rows, spread_variance_rows
from .layout import SCRATCH, Level, LevelSettings
from .pyramid import gradient, halve_shorts
from .search import search_rows

MIN_ROWS_PER_BAND = 4
SEGMENT_TOLERANCE_PX = 1.0  # neighbours of a segment differ by no more, px of their level


@intrinsic
def _pointer(typing_context, address, dtype):
    """An address as a pointer to elements of ``dtype``."""

    def generate(context, builder, sig, args):
        element = context.get_data_type(sig.return_type.dtype)
        return builder.inttoptr(args[0], ir.PointerType(element))

    return types.CPointer(dtype.dtype)(types.int64, dtype), generate


@inner_returning_arrays
def _view(table, k, field, dtype):
    """The array noted in row ``k`` as number ``field``."""
    return carray(_pointer(table[k, 3 * field], dtype), (table[k, 3 * field + 1], table[k, 3 * field + 2]))


@inner_returning_arrays
def level_at(table, k):
    """Level ``k`` of a table made by ``layout.addresses``; the fields in the order of ``Level``."""
    return Level(
        _view(table, k, 0, int16), _view(table, k, 1, int16), _view(table, k, 2, int16),
        _view(table, k, 3, uint8), _view(table, k, 4, uint8),
        _view(table, k, 5, int32), _view(table, k, 6, int32),
        _view(table, k, 7, float32), _view(table, k, 8, float32), _view(table, k, 9, float32),
        _view(table, k, 10, float32), _view(table, k, 11, float32),
        _view(table, k, 12, float32), _view(table, k, 13, float32), _view(table, k, 14, int32),
        _view(table, k, 15, float32),
    )  # fmt: skip


@inner
def settings_at(numbers, k):
    """Settings of level ``k``; the fields in the order of ``LevelSettings``."""
    n = numbers[k]
    return LevelSettings(
        int64(n[0]), int64(n[1]), n[2] != 0, int64(n[3]), n[4] != 0, n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12],
        n[13], n[14] != 0, n[15] != 0, n[16], n[17], int64(n[18]), n[19], n[20] != 0,
    )  # fmt: skip


@inner
def fuse_level_rows(level, settings, begin, end):
    """Pixels of rows ``begin`` to ``end - 1`` from the patches over them."""
    if settings.posterior:
        fuse_rows(level, settings.min_support, settings.min_probability, begin, end)
    else:
        fuse_rows_by_residual(level, settings.patch_size, settings.grey, begin, end)


@inner
def share(rows, band, bands):
    """First and last + 1 of the rows that ``band`` works on; too few rows are left to band 0."""
    if rows < MIN_ROWS_PER_BAND * bands:
        return 0, rows if band == 0 else 0
    return rows * band // bands, rows * (band + 1) // bands


@inner_returning_arrays
def finish_pyramid(images, table, barrier, band, bands):
    """Halve level 1 of both images down to the coarsest, and take the left image's gradients.

    ``images``: row n - 1 has left, right and the width of level n.
    """
    for k in range(images.shape[0] - 1):
        for side in range(2):
            out = _view(images, k + 1, side, int16)
            begin, end = share(out.shape[0], band, bands)
            halve_shorts(_view(images, k, side, int16), images[k, 6], out, begin, end)
        if not meet(barrier, bands):
            return False
    for k in range(table.shape[0]):
        level = level_at(table, k)
        begin, end = share(level.left.shape[0], band, bands)
        gradient(level.left, level.gradient, begin, end)
    return meet(barrier, bands)


@inner
def filter_level(level, width, min_segment, runs, rows, barrier, band, bands):
    """Remove small segments [III-F]: each band finds the runs of its rows, band 0 joins the bands, each cleans up."""
    if min_segment <= 1:
        return True
    begin, end = share(level.disparity.shape[0], band, bands)
    find_runs(level.disparity, width, SEGMENT_TOLERANCE_PX, runs, rows, begin, end)
    if not meet(barrier, bands):
        return False
    if band == 0:
        for other in range(1, bands):
            seam, _end = share(level.disparity.shape[0], other, bands)
            join_rows(level.disparity, seam, SEGMENT_TOLERANCE_PX, runs, rows)
    if not meet(barrier, bands):
        return False
    remove_small_runs(level.disparity, level.probability, min_segment, runs, rows, begin, end)
    return meet(barrier, bands)


@kernel(boolean(ADDRESSES, ADDRESSES, boolean, boolean, ADDRESSES, int64, int64))
def prepare(images, table, is_black, has_hidden, barrier, band, bands):
    """From level 1 of both images to the whole pyramid: band ``band`` of ``bands``, each called in its own thread.

    Returns True, and prepares nothing, if a band saw a black pixel (``is_black``) and ``has_hidden`` is not set: then
    the unseen pixels must be marked first.  When a band has failed the others return at their next meeting.
    """
    if bands == 1:
        lower_flag(barrier)
    if is_black:
        raise_flag(barrier)
    if not meet(barrier, bands):
        return False
    if flag_is_up(barrier) and not has_hidden:
        return True
    finish_pyramid(images, table, barrier, band, bands)
    return False


@kernel(void(ADDRESSES, NUMBERS, int64, int64, boolean, FLOATS, SCRATCH, INTS, INTS, ADDRESSES, int64, int64))
def solve(table, numbers, first, last, has_hidden, weights, scratch, runs, run_rows, barrier, band, bands):
    """Search, fuse and filter the levels ``first`` to ``last - 1``; each starts from the result of the one before."""
    for k in range(first, last):
        level, parent, settings = level_at(table, k), level_at(table, max(k - 1, 0)), settings_at(numbers, k)
        begin, end = share(level.rows.shape[1], band, bands)
        search_rows(level, parent, has_hidden, settings, weights, scratch, begin, end)
        if not meet(barrier, bands):
            return
        begin, end = share(level.disparity.shape[0], band, bands)
        fuse_level_rows(level, settings, begin, end)
        if not meet(barrier, bands):
            return
        if not filter_level(level, settings.width, settings.min_segment, runs, run_rows, barrier, band, bands):
            return


@kernel(void(ADDRESSES, int64, int64, int64, INTS, INTS, ADDRESSES, int64, int64))
def remove_islands(table, k, width, min_segment, runs, run_rows, barrier, band, bands):
    """Remove segments of fewer than ``min_segment`` pixels from level ``k``, once it is solved."""
    filter_level(level_at(table, k), width, min_segment, runs, run_rows, barrier, band, bands)


@kernel(void(ADDRESSES, NUMBERS, int64, FLOATS, float64, FLOATS, ADDRESSES, int64, int64))
def fuse_variance(table, numbers, k, weights, scale, out, barrier, band, bands):
    """``scale`` * the paper's variance (Eq. 19, px^2 of the level) of level ``k``, once it is solved."""
    level, settings = level_at(table, k), settings_at(numbers, k)
    begin, end = share(level.rows.shape[1], band, bands)
    spread_variance_rows(level, weights, begin, end)
    if not meet(barrier, bands):
        return
    begin, end = share(level.disparity.shape[0], band, bands)
    fuse_variance_rows(level, settings, scale, out, begin, end)
    meet(barrier, bands)
