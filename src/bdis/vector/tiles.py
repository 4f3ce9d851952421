"""Operations on tiles of 16x16 numbers, and on all lanes of a vector."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .array_types import LANES
from .cache import inner
from .lanes import larger, slide, smaller
from .memory import element_pointer
from .short_pairs import gather_near_short_pairs, gather_short_pairs
from .vectors import float32x16, int32x16

__all__ = ["gather_near_short_pairs", "gather_short_pairs", "smallest_lane", "transpose_tile"]


@intrinsic
def transpose_tile(typing_context, source, row, col, target, target_row, target_col):
    """``target[target_row + i, target_col + j] = source[row + j, col + i]`` for i, j from 0 to 15; float32 arrays.

    Four rounds that each merge pairs of rows: two rounds move numbers within quarters of a vector, which costs little,
    and two move whole quarters.
    """

    def generate(context, builder, sig, args):
        source, row, col, target, target_row, target_col = args

        def place(array_type, array, first, k, column):
            at = builder.add(first, ir.Constant(ir.IntType(64), k))
            return element_pointer(context, builder, array_type, array, at, column, float32x16.llvm)

        rows = []
        for k in range(LANES):
            value = builder.load(place(sig.args[0], source, row, k, col))
            value.align = 4
            rows.append(value)
        quarters = [4 * (lane // 4) for lane in range(LANES)]
        pick = {  # lanes of (a, b), b's from 16 on
            "low numbers": [q + (lane % 4) // 2 + LANES * (lane % 2) for lane, q in enumerate(quarters)],
            "high numbers": [q + 2 + (lane % 4) // 2 + LANES * (lane % 2) for lane, q in enumerate(quarters)],
            "low pairs": [q + lane % 2 + LANES * (lane % 4 // 2) for lane, q in enumerate(quarters)],
            "high pairs": [q + 2 + lane % 2 + LANES * (lane % 4 // 2) for lane, q in enumerate(quarters)],
            "even quarters": [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27],
            "odd quarters": [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31],
        }

        def merge(a, b, which):
            return builder.shuffle_vector(a, b, ir.Constant(int32x16.llvm, pick[which]))

        for distance, low, high in (
            (1, "low numbers", "high numbers"),
            (2, "low pairs", "high pairs"),
            (4, "even quarters", "odd quarters"),
            (8, "even quarters", "odd quarters"),
        ):
            merged = list(rows)
            for k in range(LANES):
                if not k & distance:
                    merged[k] = merge(rows[k], rows[k + distance], low)
                    merged[k + distance] = merge(rows[k], rows[k + distance], high)
            rows = merged
        rows = [
            rows[k - k % 4 + (0, 2, 1, 3)[k % 4]] for k in range(LANES)
        ]  # the rounds leave the middle two of each four exchanged
        for k in range(LANES):
            builder.store(rows[k], place(sig.args[3], target, target_row, k, target_col)).align = 4
        return context.get_dummy_value()

    wide = types.uint64
    return types.void(source, wide, wide, target, wide, wide), generate


@inner
def smallest_lane(a):
    """The smallest lane of a vector, in every lane."""
    a = smaller(a, slide(a, a, 8))
    a = smaller(a, slide(a, a, 4))
    a = smaller(a, slide(a, a, 2))
    return smaller(a, slide(a, a, 1))


@inner
def largest_lane(a):
    """The largest lane of a vector, in every lane."""
    a = larger(a, slide(a, a, 8))
    a = larger(a, slide(a, a, 4))
    a = larger(a, slide(a, a, 2))
    return larger(a, slide(a, a, 1))
