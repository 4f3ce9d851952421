"""Arithmetic on the lanes of vectors: conversion, selection, exchange and reduction."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .array_types import LANES
from .vectors import INT32, broadcast, call_llvm, float32x16, int16x16, int32x16, mask16

_SCALAR_OF = {float32x16: types.float32, int32x16: types.int32}
_VECTOR_OF = {types.float32: float32x16, types.float64: float32x16}


@intrinsic
def splat(typing_context, scalar):
    """The scalar in every lane: a float gives ``float32x16``, an integer ``int32x16``."""
    vector = _VECTOR_OF.get(scalar, int32x16)

    def generate(context, builder, sig, args):
        value = context.cast(builder, args[0], sig.args[0], _SCALAR_OF[vector])
        return broadcast(builder, value, vector.llvm)

    return vector(scalar), generate


@intrinsic
def splat_short(typing_context, scalar):
    """The integer in every lane of an ``int16x16``."""

    def generate(context, builder, sig, args):
        value = context.cast(builder, args[0], sig.args[0], types.int16)
        return broadcast(builder, value, int16x16.llvm)

    return int16x16(scalar), generate


@intrinsic
def lane_numbers(typing_context):
    """0, 1, ... 15 as ``int32x16``."""

    def generate(context, builder, sig, args):
        return ir.Constant(int32x16.llvm, list(range(LANES)))

    return int32x16(), generate


@intrinsic
def slide(typing_context, a, b, distance):
    """Lanes ``distance`` ... ``distance + 15`` of a followed by b; the distance is a literal."""
    if not isinstance(distance, types.IntegerLiteral):
        return None
    order = [lane + distance.literal_value for lane in range(LANES)]

    def generate(context, builder, sig, args):
        return builder.shuffle_vector(args[0], args[1], ir.Constant(int32x16.llvm, order))

    return a(a, a, distance), generate


@intrinsic
def to_float(typing_context, a):
    """Integer lanes as float32."""

    def generate(context, builder, sig, args):
        return builder.sitofp(args[0], float32x16.llvm)

    return float32x16(int32x16), generate


@intrinsic
def to_int(typing_context, a):
    """Float lanes cut toward zero; the lanes must be finite and within int32."""

    def generate(context, builder, sig, args):
        return builder.fptosi(args[0], int32x16.llvm)

    return int32x16(float32x16), generate


@intrinsic
def as_float_bits(typing_context, a):
    """The same 32 bits of each lane, read as float32."""

    def generate(context, builder, sig, args):
        return builder.bitcast(args[0], float32x16.llvm)

    return float32x16(int32x16), generate


@intrinsic
def as_int_bits(typing_context, a):
    """The same 32 bits of each lane, read as int32."""

    def generate(context, builder, sig, args):
        return builder.bitcast(args[0], int32x16.llvm)

    return int32x16(float32x16), generate


@intrinsic
def floor(typing_context, a):
    """Round each float lane down."""

    def generate(context, builder, sig, args):
        return call_llvm(builder, f"llvm.floor.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def square_root(typing_context, a):
    """Square root of each float lane."""

    def generate(context, builder, sig, args):
        return call_llvm(builder, f"llvm.sqrt.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def absolute(typing_context, a):
    """Magnitude of each float lane."""

    def generate(context, builder, sig, args):
        return call_llvm(builder, f"llvm.fabs.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def select(typing_context, mask, a, b):
    """``a`` where the mask is set, else ``b``."""

    def generate(context, builder, sig, args):
        return builder.select(*args)

    return a(mask16, a, a), generate


def _choose(sign):
    """Builds the lane-wise choice between two vectors by comparing them."""

    def generate(context, builder, sig, args):
        compare = builder.fcmp_ordered if sig.return_type == float32x16 else builder.icmp_signed
        return builder.select(compare(sign, *args), *args)

    return generate


@intrinsic
def smaller(typing_context, a, b):
    """Lane-wise minimum (``b`` where ``a`` is NaN)."""
    return a(a, a), _choose("<")


@intrinsic
def larger(typing_context, a, b):
    """Lane-wise maximum (``b`` where ``a`` is NaN)."""
    return a(a, a), _choose(">")


@intrinsic
def count_bits(typing_context, a):
    """Number of set bits of each lane of an ``int16x16``."""

    def generate(context, builder, sig, args):
        return call_llvm(builder, f"llvm.ctpop.v{LANES}i16", int16x16.llvm, args)

    return int16x16(int16x16), generate


@intrinsic
def smallest_short(typing_context, a):
    """The smallest lane of an ``int16x16`` without negative lanes, in every lane."""

    def generate(context, builder, sig, args):
        # Eight lanes have an instruction of their own on x86.
        half = ir.VectorType(ir.IntType(16), LANES // 2)
        low, high = (
            builder.shuffle_vector(args[0], args[0], ir.Constant(ir.VectorType(INT32, LANES // 2), lanes))
            for lanes in (list(range(8)), list(range(8, 16)))
        )
        least = builder.select(builder.icmp_unsigned("<", low, high), low, high)
        kind = ir.FunctionType(ir.IntType(16), [half])
        name = f"llvm.vector.reduce.umin.v{LANES // 2}i16"
        least = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [least])
        return broadcast(builder, least, int16x16.llvm)

    return int16x16(int16x16), generate


@intrinsic
def to_shorts(typing_context, a):
    """Lanes of an ``int32x16`` cut to sixteen bits."""

    def generate(context, builder, sig, args):
        return builder.trunc(args[0], int16x16.llvm)

    return int16x16(int32x16), generate


@intrinsic
def interleave(typing_context, a, b):
    """(a0, b0, a1, b1, ... a7, b7) and (a8, b8, ... a15, b15)."""

    def generate(context, builder, sig, args):
        half = LANES // 2
        order = [lane + LANES * side for lane in range(LANES) for side in (0, 1)]
        parts = [
            builder.shuffle_vector(*args, ir.Constant(int32x16.llvm, order[start : start + 2 * half]))
            for start in (0, 2 * half)
        ]
        return context.make_tuple(builder, sig.return_type, parts)

    return types.UniTuple(a, 2)(a, a), generate


@intrinsic
def deinterleave(typing_context, a, b):
    """The even lanes of a followed by those of b, and the odd ones: the opposite of :func:`interleave`."""

    def generate(context, builder, sig, args):
        parts = [
            builder.shuffle_vector(*args, ir.Constant(int32x16.llvm, list(range(first, 2 * LANES, 2))))
            for first in (0, 1)
        ]
        return context.make_tuple(builder, sig.return_type, parts)

    return types.UniTuple(a, 2)(a, a), generate


@intrinsic
def trailing_zeros(typing_context, bits):
    """Number of zero bits below the lowest set bit of an int64 (64 for zero)."""

    def generate(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def every_lane(typing_context, mask):
    """True if all lanes are set."""

    def generate(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), 2**LANES - 1))

    return types.boolean(mask16), generate


@intrinsic
def any_lane(typing_context, mask):
    """True if some lane is set."""

    def generate(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(mask16), generate


@intrinsic
def mask_bits(typing_context, mask):
    """The mask as an integer, bit k for lane k."""

    def generate(context, builder, sig, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask16), generate


@intrinsic
def sum_lanes(typing_context, a):
    """Sum over the lanes of a float vector, in a fixed order."""

    def generate(context, builder, sig, args):
        value = args[0]
        for distance in (8, 4, 2, 1):
            lanes = [(lane + distance) % LANES for lane in range(LANES)]
            mask = ir.Constant(int32x16.llvm, lanes)
            value = builder.fadd(value, builder.shuffle_vector(value, value, mask))
        return builder.extract_element(value, ir.Constant(INT32, 0))

    return types.float32(float32x16), generate


@intrinsic
def rounded_product(typing_context, a, b):
    """``a * b`` of float lanes, rounded before anything is added to it: never part of a fused multiply-add."""

    def generate(context, builder, sig, args):
        return builder.fmul(*args)

    return float32x16(float32x16, float32x16), generate
