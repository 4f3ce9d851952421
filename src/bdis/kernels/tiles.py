"""Vector operations on more than one row: turning tiles of 16x16, and pairs of pixels from anywhere in a row."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .cache import inner
from .simd import _I32, LANES, _address, _call, _VectorOfAddresses, float32x16, int32x16, mask16, slide, smaller


@intrinsic
def transpose_tile(typing_context, source, row, col, target, target_row, target_col):
    """``target[target_row + i, target_col + j] = source[row + j, col + i]`` for i, j from 0 to 15; float32 arrays.

    Four rounds of exchanging neighbours at distance 8, 4, 2 and 1: 64 shuffles for 256 numbers.
    """

    def generate(context, builder, sig, args):
        source, row, col, target, target_row, target_col = args

        def place(array_type, array, first, k, column):
            at = builder.add(first, ir.Constant(ir.IntType(64), k))
            return _address(context, builder, array_type, array, at, column, float32x16.llvm)

        rows = []
        for k in range(LANES):
            value = builder.load(place(sig.args[0], source, row, k, col))
            value.align = 4
            rows.append(value)
        for distance in (8, 4, 2, 1):
            # Lane j of a row changes places with lane j + distance of the row `distance` above.
            first = [j if not j & distance else j - distance + LANES for j in range(LANES)]
            second = [j + distance if not j & distance else j + LANES for j in range(LANES)]
            for k in range(LANES):
                if not k & distance:
                    a, b = rows[k], rows[k + distance]
                    rows[k] = builder.shuffle_vector(a, b, ir.Constant(int32x16.llvm, first))
                    rows[k + distance] = builder.shuffle_vector(a, b, ir.Constant(int32x16.llvm, second))
        for k in range(LANES):
            builder.store(rows[k], place(sig.args[3], target, target_row, k, target_col)).align = 4
        return context.get_dummy_value()

    wide = types.uint64
    return types.void(source, wide, wide, target, wide, wide), generate


@intrinsic
def gather_short_pairs(typing_context, array, row, index):
    """``array[row, index[k]]`` in the low and ``array[row, index[k] + 1]`` in the high half of lane k, of int16."""

    def generate(context, builder, sig, args):
        zero = ir.Constant(ir.IntType(64), 0)
        base = _address(context, builder, sig.args[0], args[0], args[1], zero, ir.IntType(16))
        pointers = _VectorOfAddresses(builder, base, args[2])
        every_lane = ir.Constant(mask16.llvm, [1] * LANES)
        passthru = ir.Constant(int32x16.llvm, ir.Undefined)
        name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
        return _call(builder, name, int32x16.llvm, [pointers, ir.Constant(_I32, 2), every_lane, passthru])

    return int32x16(array, types.uint64, int32x16), generate


@inner
def smallest_lane(a):
    """The smallest lane of a float vector, in every lane."""
    a = smaller(a, slide(a, a, 8))
    a = smaller(a, slide(a, a, 4))
    a = smaller(a, slide(a, a, 2))
    return smaller(a, slide(a, a, 1))
