"""Two int16 in each lane of a vector, for sums of products: one instruction multiplies and adds both."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .array_types import LANES
from .memory import VectorOfPointers, element_pointer
from .vectors import HALVES, INT32, WIDE, broadcast, call_llvm, int32x16, mask16


@intrinsic
def load_pair(typing_context, array, row, col):
    """``array[row, col:col + 2]`` of an int16 array in every lane, low half first."""

    def generate(context, builder, sig, args):
        value = builder.load(element_pointer(context, builder, sig.args[0], *args, INT32))
        value.align = 2
        return broadcast(builder, value, int32x16.llvm)

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def load_short_pairs(typing_context, array, row, col):
    """``array[row, col + 2 k]`` in the low and ``array[row, col + 2 k + 1]`` in the high half of lane k, of int16."""

    def generate(context, builder, sig, args):
        value = builder.load(element_pointer(context, builder, sig.args[0], *args, int32x16.llvm))
        value.align = 2
        return value

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def load_two_rows(typing_context, array, row, col):
    """``array[row, col + k]`` in the low and ``array[row + 1, col + k]`` in the high half of lane k, of an int16
    array.
    """

    def generate(context, builder, sig, args):
        array, row, col = args
        memory = ir.VectorType(ir.IntType(16), LANES)
        rows = []
        for place in (row, builder.add(row, ir.Constant(ir.IntType(64), 1))):
            value = builder.load(element_pointer(context, builder, sig.args[0], array, place, col, memory))
            value.align = 2
            rows.append(value)
        order = [lane + LANES * side for lane in range(LANES) for side in (0, 1)]
        both = builder.shuffle_vector(*rows, ir.Constant(WIDE, order))
        return builder.bitcast(both, int32x16.llvm)

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def load_pair_sums(typing_context, array, row, col):
    """``array[row, col + 2k] + array[row, col + 2k + 1]`` in lane k, of an int16 array."""

    def generate(context, builder, sig, args):
        value = builder.load(element_pointer(context, builder, sig.args[0], *args, int32x16.llvm))
        value.align = 2
        sixteen = ir.Constant(int32x16.llvm, [16] * LANES)
        low = builder.ashr(builder.shl(value, sixteen), sixteen)
        return builder.add(low, builder.ashr(value, sixteen))

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def subtract_halves(typing_context, a, b):
    """a - b in the low and the high int16 of each lane."""

    def generate(context, builder, sig, args):
        x, y = (builder.bitcast(v, HALVES) for v in args)
        return builder.bitcast(builder.sub(x, y), int32x16.llvm)

    return int32x16(int32x16, int32x16), generate


def _dot(builder, total, a, b):
    """total + the sum of two neighbouring int16 products, per lane of int32.

    In this form LLVM finds ``pmaddwd`` (or VNNI's ``vpdpwssd``); in other forms of the same sum it does not.
    """
    products = builder.mul(builder.sext(a, WIDE), builder.sext(b, WIDE))
    even, odd = (
        builder.shuffle_vector(
            products,
            ir.Constant(WIDE, ir.Undefined),
            ir.Constant(int32x16.llvm, list(range(start, 2 * LANES, 2))),
        )
        for start in (0, 1)
    )
    return builder.add(total, builder.add(even, odd))


@intrinsic
def dot_halves(typing_context, total, a, b):
    """``total + low(a) * low(b) + high(a) * high(b)`` over the int16 halves of each lane."""

    def generate(context, builder, sig, args):
        total, a, b = args
        return _dot(builder, total, builder.bitcast(a, HALVES), builder.bitcast(b, HALVES))

    return int32x16(int32x16, int32x16, int32x16), generate


@intrinsic
def dot_shifts(typing_context, total, array, row, col, pair):
    """Add ``pair[0] * array[row, col + s] + pair[1] * array[row, col + s + 1]`` for the shifts s = 0 ... 15.

    ``array`` is int16, ``pair`` comes from :func:`load_pair`.  The lanes hold the shifts 0, 2, ... 14, 1, 3, ... 15,
    the order in which two unshuffled loads give them; :func:`sort_shifts` sorts them.
    """

    def generate(context, builder, sig, args):
        total, array, row, col, pair = args
        sixteen = ir.VectorType(ir.IntType(16), LANES)
        shifted = []
        for place in (col, builder.add(col, ir.Constant(ir.IntType(64), 1))):
            value = builder.load(element_pointer(context, builder, sig.args[1], array, row, place, sixteen))
            value.align = 2
            shifted.append(value)
        pixels = builder.shuffle_vector(*shifted, ir.Constant(WIDE, list(range(2 * LANES))))
        return _dot(builder, total, pixels, builder.bitcast(pair, HALVES))

    return int32x16(int32x16, array, types.uint64, types.uint64, int32x16), generate


@intrinsic
def sort_shifts(typing_context, a):
    """Lanes of :func:`dot_shifts` in the order of the shifts."""

    def generate(context, builder, sig, args):
        order = [lane // 2 + LANES // 2 * (lane % 2) for lane in range(LANES)]
        return builder.shuffle_vector(args[0], args[0], ir.Constant(int32x16.llvm, order))

    return int32x16(int32x16), generate


def _gather_short_pairs(context, builder, sig, args):
    zero = ir.Constant(ir.IntType(64), 0)
    base = element_pointer(context, builder, sig.args[0], args[0], args[1], zero, ir.IntType(16))
    pointers = VectorOfPointers(builder, base, args[2])
    pointers = builder.bitcast(pointers, ir.VectorType(INT32.as_pointer(), LANES))  # LLVM 15 has typed pointers
    every_lane = ir.Constant(mask16.llvm, [1] * LANES)
    passthru = ir.Constant(int32x16.llvm, ir.Undefined)
    name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
    return call_llvm(builder, name, int32x16.llvm, [pointers, ir.Constant(INT32, 2), every_lane, passthru])


@intrinsic
def gather_short_pairs(typing_context, array, row, index):
    """``array[row, index[k]]`` in the low and ``array[row, index[k] + 1]`` in the high half of lane k, of int16."""
    return int32x16(array, types.uint64, int32x16), _gather_short_pairs


BEFORE_FIRST = 16  # columns before that of the first lane that `gather_near_short_pairs` reads
AT_ONCE = 64  # columns that it reads


@intrinsic
def gather_near_short_pairs(typing_context, array, row, index):
    """As :func:`gather_short_pairs`, and several times faster where the lanes are near to each other.

    Reads 64 columns from 16 before that of the first lane on, whatever the others are: all of them must exist.  Where
    these hold all that is asked for and the processor can pick numbers from two registers (AVX-512), it does that.
    """

    def generate(context, builder, sig, args):
        if "+avx512bw" not in context.codegen().magic_tuple()[2]:
            return _gather_short_pairs(context, builder, sig, args)
        array, row, index = args
        zero, half = ir.Constant(INT32, 0), ir.Constant(int32x16.llvm, [16] * LANES)
        origin = builder.sub(builder.extract_element(index, zero), ir.Constant(INT32, BEFORE_FIRST))
        place = builder.sub(index, broadcast(builder, origin, int32x16.llvm))
        last = ir.Constant(int32x16.llvm, [AT_ONCE - 1] * LANES)
        near = builder.bitcast(builder.icmp_unsigned("<", place, last), ir.IntType(LANES))
        is_near = builder.icmp_unsigned("==", near, ir.Constant(ir.IntType(LANES), 2**LANES - 1))
        with builder.if_else(is_near, likely=True) as (near_lanes, far_lanes):
            with near_lanes:
                col = builder.sext(origin, ir.IntType(64))
                tables = []
                for first in (0, 2 * LANES):
                    at = builder.add(col, ir.Constant(ir.IntType(64), first))
                    table = builder.load(element_pointer(context, builder, sig.args[0], array, row, at, HALVES))
                    table.align = 2
                    tables.append(table)
                after = builder.add(place, ir.Constant(int32x16.llvm, [1] * LANES))
                both = builder.bitcast(builder.or_(place, builder.shl(after, half)), HALVES)
                picked = call_llvm(builder, "llvm.x86.avx512.vpermi2var.hi.512", HALVES, [tables[0], both, tables[1]])
                picked = builder.bitcast(picked, int32x16.llvm)
                end_of_near = builder.block
            with far_lanes:
                gathered = _gather_short_pairs(context, builder, sig, args)
                end_of_far = builder.block
        result = builder.phi(int32x16.llvm)
        result.add_incoming(picked, end_of_near)
        result.add_incoming(gathered, end_of_far)
        return result

    return int32x16(array, types.uint64, int32x16), generate
