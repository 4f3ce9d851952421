"""Sixteen-lane vectors for Numba: the types, their operators, loads and stores.

A loop over NumPy elements leaves LLVM to guess at aliasing and wrap-around; a vector *type* compiles to
the code one would write by hand.  LLVM splits each vector into what the machine has (one AVX-512
register, two of AVX2, four of NEON or SSE).

Three types: ``float32x16``, ``int32x16`` and ``mask16``.  Operators ``+ - * / & | ^ << >>`` and comparisons
work between equal types; a scalar is widened explicitly with :func:`splat`.  Loads and stores name an
array, a row and a column and do **no** bounds check: whoever allocates the array pads it.
"""

import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, register_model

from ..vector.array_types import LANES

_I32 = ir.IntType(32)
_HALVES = ir.VectorType(ir.IntType(16), 2 * LANES)  # a vector of int32 seen as int16
_WIDE = ir.VectorType(_I32, 2 * LANES)
_SPLAT_MASK = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)


class Vector(types.Type):
    """A Numba type that is one LLVM vector register (or a few)."""

    def __init__(self, name, element):
        self.llvm = ir.VectorType(element, LANES)
        super().__init__(name=f"bdis.{name}x{LANES}")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector_type):
        super().__init__(manager, vector_type, vector_type.llvm)


float32x16 = Vector("float32", ir.FloatType())
int32x16 = Vector("int32", _I32)
mask16 = Vector("mask", ir.IntType(1))

_SCALAR_OF = {float32x16: types.float32, int32x16: types.int32}
_VECTOR_OF = {types.float32: float32x16, types.float64: float32x16}

# Fused multiply-add is welcome; anything that lets LLVM assume "no NaN" is not: NaN means unknown here.
_FLOAT_FLAGS = ("contract", "arcp", "nsz")


def _define(op, vector, build, result=None):
    """Give Numba ``op(vector, vector)``, built by ``build(builder, a, b)``."""
    result = result or vector

    @infer_global(op)
    class _Typing(ConcreteTemplate):
        cases = [signature(result, vector, vector)]

    @lower_builtin(op, vector, vector)
    def _lower(context, builder, sig, args):
        return build(builder, *args)


for _op, _build in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_op, float32x16, lambda b, x, y, name=_build: getattr(b, name)(x, y, flags=_FLOAT_FLAGS))
for _op, _build in (
    (operator.add, "add"),
    (operator.iadd, "add"),
    (operator.sub, "sub"),
    (operator.isub, "sub"),
    (operator.mul, "mul"),
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.xor, "xor"),
    (operator.lshift, "shl"),
    (operator.rshift, "ashr"),
):
    _define(_op, int32x16, lambda b, x, y, name=_build: getattr(b, name)(x, y))
for _op, _build in ((operator.and_, "and_"), (operator.or_, "or_"), (operator.xor, "xor")):
    _define(_op, mask16, lambda b, x, y, name=_build: getattr(b, name)(x, y))
for _op, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _define(_op, float32x16, lambda b, x, y, s=_sign: b.fcmp_ordered(s, x, y), mask16)
    _define(_op, int32x16, lambda b, x, y, s=_sign: b.icmp_signed(s, x, y), mask16)


def _broadcast(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, _SPLAT_MASK)


def _address(context, builder, array_type, array, row, col, pointee):
    """Pointer to ``array[row, col]``, seen as ``pointee``."""
    view = context.make_array(array_type)(context, builder, array)
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    row_stride = cgutils.unpack_tuple(builder, view.strides)[0]
    offset = builder.add(builder.mul(row, row_stride), builder.mul(col, ir.Constant(ir.IntType(64), itemsize)))
    byte = builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset])
    return builder.bitcast(byte, pointee.as_pointer())


def _call(builder, name, result, args):
    """Call the LLVM intrinsic ``name``."""
    kind = ir.FunctionType(result, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


class _VectorOfAddresses(ir.instructions.Instruction):
    """``base + index`` for a vector of indices: a getelementptr that llvmlite's builder does not offer."""

    def __init__(self, builder, base, index):
        kind = ir.VectorType(base.type, LANES)
        super().__init__(builder.block, kind, "getelementptr", [base, index])
        builder._insert(self)

    def descr(self, buf):
        base, index = self.operands
        buf.append(
            f"getelementptr {base.type.pointee}, {base.type} {base.get_reference()}, "
            f"{index.type} {index.get_reference()}\n"
        )


_MEMORY = {"float32": ir.FloatType(), "int32": _I32, "int16": ir.IntType(16), "uint8": ir.IntType(8)}


@intrinsic
def load(typing_context, array, row, col):
    """``array[row, col:col + 16]``: float32 as it is, int32 / int16 / uint8 widened to ``int32x16``."""
    element = _MEMORY[array.dtype.name]
    result = float32x16 if array.dtype == types.float32 else int32x16

    def generate(context, builder, sig, args):
        memory = ir.VectorType(element, LANES)
        value = builder.load(_address(context, builder, sig.args[0], *args, memory))
        value.align = 1 if element.__class__ is ir.IntType and element.width == 8 else 2
        if element == ir.FloatType() or element == _I32:
            return value
        widen = builder.zext if element.width == 8 else builder.sext
        return widen(value, result.llvm)

    return result(array, types.uint64, types.uint64), generate


@intrinsic
def store(typing_context, array, row, col, value):
    """Write ``array[row, col:col + 16]``; an ``int32x16`` is cut to the array's integer width."""
    element = _MEMORY[array.dtype.name]

    def generate(context, builder, sig, args):
        memory = ir.VectorType(element, LANES)
        vector = args[3]
        if element != ir.FloatType() and element != _I32:
            vector = builder.trunc(vector, memory)
        builder.store(vector, _address(context, builder, sig.args[0], *args[:3], memory)).align = 1
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, value), generate


@intrinsic
def store_streaming(typing_context, array, row, col, value):
    """As :func:`store` of floats, past the caches; the address must be a multiple of 64 bytes."""

    def generate(context, builder, sig, args):
        stored = builder.store(args[3], _address(context, builder, sig.args[0], *args[:3], float32x16.llvm))
        stored.align = 64
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_I32, 1)]))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, float32x16), generate


@intrinsic
def load_pair(typing_context, array, row, col):
    """``array[row, col:col + 2]`` of an int16 array in every lane, low half first."""

    def generate(context, builder, sig, args):
        value = builder.load(_address(context, builder, sig.args[0], *args, _I32))
        value.align = 2
        return _broadcast(builder, value, int32x16.llvm)

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
            value = builder.load(_address(context, builder, sig.args[0], array, place, col, memory))
            value.align = 2
            rows.append(value)
        order = [lane + LANES * side for lane in range(LANES) for side in (0, 1)]
        both = builder.shuffle_vector(*rows, ir.Constant(_WIDE, order))
        return builder.bitcast(both, int32x16.llvm)

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def subtract_halves(typing_context, a, b):
    """a - b in the low and the high int16 of each lane."""

    def generate(context, builder, sig, args):
        x, y = (builder.bitcast(v, _HALVES) for v in args)
        return builder.bitcast(builder.sub(x, y), int32x16.llvm)

    return int32x16(int32x16, int32x16), generate


@intrinsic
def load_pair_sums(typing_context, array, row, col):
    """``array[row, col + 2k] + array[row, col + 2k + 1]`` in lane k, of an int16 array."""

    def generate(context, builder, sig, args):
        value = builder.load(_address(context, builder, sig.args[0], *args, int32x16.llvm))
        value.align = 2
        sixteen = ir.Constant(int32x16.llvm, [16] * LANES)
        low = builder.ashr(builder.shl(value, sixteen), sixteen)
        return builder.add(low, builder.ashr(value, sixteen))

    return int32x16(array, types.uint64, types.uint64), generate


@intrinsic
def load_grey_pairs(typing_context, array, row, col, channels):
    """Brightness x256 of pixels 0, 2, 4 ... and 1, 3, 5 ... of the 32 pixels from ``array[row, col]`` on.

    ``array`` is uint8, (height, width * channels); ``channels`` is the literal 1 (grey), 3 (RGB) or 4 (RGBA,
    alpha unread).  Weights 77, 150, 29 are the usual 0.299, 0.587, 0.114 in 256ths.
    """
    if not isinstance(channels, types.IntegerLiteral):
        return None
    count = channels.literal_value
    weights = (77, 150, 29)
    result = types.UniTuple(int32x16, 2)

    def generate_grey(context, builder, sig, args):
        memory = ir.VectorType(ir.IntType(16), LANES)  # two pixels each, the first in the low byte
        pixels = builder.load(_address(context, builder, sig.args[0], *args[:3], memory))
        pixels.align = 1
        pixels = builder.zext(pixels, int32x16.llvm)
        eight, high = (ir.Constant(int32x16.llvm, [v] * LANES) for v in (8, 0xFF00))
        even = builder.and_(builder.shl(pixels, eight), high)
        return context.make_tuple(builder, sig.return_type, [even, builder.and_(pixels, high)])

    def generate(context, builder, sig, args):
        memory = ir.VectorType(ir.IntType(8), 2 * LANES * count)
        pixels = builder.load(_address(context, builder, sig.args[0], *args[:3], memory))
        pixels.align = 1
        greys = []
        for first in (0, count):
            grey = ir.Constant(int32x16.llvm, [0] * LANES)
            for channel, weight in enumerate(weights):
                lanes = [2 * count * k + first + channel for k in range(LANES)]
                mask = ir.Constant(int32x16.llvm, lanes)
                part = builder.shuffle_vector(pixels, ir.Constant(memory, ir.Undefined), mask)
                part = builder.zext(part, int32x16.llvm)
                part = builder.mul(part, ir.Constant(int32x16.llvm, [weight] * LANES))
                grey = builder.add(grey, part)
            greys.append(grey)
        return context.make_tuple(builder, sig.return_type, greys)

    chosen = generate_grey if count == 1 else generate
    return result(array, types.uint64, types.uint64, channels), chosen


@intrinsic
def gather(typing_context, array, row, index):
    """``array[row, index[k]]`` for each lane k, of a float32 or int32 array."""
    result = float32x16 if array.dtype == types.float32 else int32x16

    def generate(context, builder, sig, args):
        zero = ir.Constant(ir.IntType(64), 0)
        element = result.llvm.element
        base = _address(context, builder, sig.args[0], args[0], args[1], zero, element)
        pointers = _VectorOfAddresses(builder, base, args[2])
        every_lane = ir.Constant(mask16.llvm, [1] * LANES)
        letter = "f32" if result is float32x16 else "i32"
        name = f"llvm.masked.gather.v{LANES}{letter}.v{LANES}p0"
        passthru = ir.Constant(result.llvm, ir.Undefined)
        return _call(builder, name, result.llvm, [pointers, ir.Constant(_I32, 4), every_lane, passthru])

    return result(array, types.uint64, int32x16), generate


@intrinsic
def gather_pairs(typing_context, array, row, index):
    """``array[row, 2 index[k]]`` and ``array[row, 2 index[k] + 1]`` for each lane k, of a float32 array.

    A gather costs by the element; two neighbours in one 64-bit element cost as much as one.
    """

    def generate(context, builder, sig, args):
        zero, alignment = ir.Constant(ir.IntType(64), 0), ir.Constant(_I32, 4)
        base = _address(context, builder, sig.args[0], args[0], args[1], zero, ir.IntType(64))
        pointers = _VectorOfAddresses(builder, base, args[2])
        pair = ir.VectorType(ir.IntType(64), LANES)
        every_lane = ir.Constant(mask16.llvm, [1] * LANES)
        passthru = ir.Constant(pair, ir.Undefined)
        name = f"llvm.masked.gather.v{LANES}i64.v{LANES}p0"
        both = _call(builder, name, pair, [pointers, alignment, every_lane, passthru])
        floats = ir.VectorType(ir.FloatType(), 2 * LANES)
        both = builder.bitcast(both, floats)
        parts = [
            builder.shuffle_vector(
                both, ir.Constant(floats, ir.Undefined), ir.Constant(int32x16.llvm, list(range(first, 2 * LANES, 2)))
            )
            for first in (0, 1)
        ]
        return context.make_tuple(builder, sig.return_type, parts)

    return types.UniTuple(float32x16, 2)(array, types.uint64, int32x16), generate


@intrinsic
def splat(typing_context, scalar):
    """The scalar in every lane: a float gives ``float32x16``, an integer ``int32x16``."""
    vector = _VECTOR_OF.get(scalar, int32x16)

    def generate(context, builder, sig, args):
        value = context.cast(builder, args[0], sig.args[0], _SCALAR_OF[vector])
        return _broadcast(builder, value, vector.llvm)

    return vector(scalar), generate


@intrinsic
def lane_numbers(typing_context):
    """0, 1, ... 15 as ``int32x16``."""

    def generate(context, builder, sig, args):
        return ir.Constant(int32x16.llvm, list(range(LANES)))

    return int32x16(), generate


def _dot(builder, total, a, b):
    """total + the sum of two neighbouring int16 products, per lane of int32.

    In this form LLVM finds ``pmaddwd`` (or VNNI's ``vpdpwssd``); in other forms of the same sum it does not.
    """
    products = builder.mul(builder.sext(a, _WIDE), builder.sext(b, _WIDE))
    even, odd = (
        builder.shuffle_vector(
            products,
            ir.Constant(_WIDE, ir.Undefined),
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
        return _dot(builder, total, builder.bitcast(a, _HALVES), builder.bitcast(b, _HALVES))

    return int32x16(int32x16, int32x16, int32x16), generate


@intrinsic
def dot_shifts(typing_context, total, array, row, col, pair):
    """Add ``pair[0] * array[row, col + s] + pair[1] * array[row, col + s + 1]`` for the shifts s = 0 ... 15.

    ``array`` is int16, ``pair`` comes from :func:`load_pair`.  The lanes hold the shifts 0, 2, ... 14, 1, 3, ... 15,
    which is the order in which two plain loads give them; :func:`sort_shifts` puts them right.
    """

    def generate(context, builder, sig, args):
        total, array, row, col, pair = args
        sixteen = ir.VectorType(ir.IntType(16), LANES)
        shifted = []
        for place in (col, builder.add(col, ir.Constant(ir.IntType(64), 1))):
            value = builder.load(_address(context, builder, sig.args[1], array, row, place, sixteen))
            value.align = 2
            shifted.append(value)
        pixels = builder.shuffle_vector(*shifted, ir.Constant(_WIDE, list(range(2 * LANES))))
        return _dot(builder, total, pixels, builder.bitcast(pair, _HALVES))

    return int32x16(int32x16, array, types.uint64, types.uint64, int32x16), generate


@intrinsic
def sort_shifts(typing_context, a):
    """Lanes of :func:`dot_shifts` in the order of the shifts."""

    def generate(context, builder, sig, args):
        order = [lane // 2 + LANES // 2 * (lane % 2) for lane in range(LANES)]
        return builder.shuffle_vector(args[0], args[0], ir.Constant(int32x16.llvm, order))

    return int32x16(int32x16), generate


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
def floor(typing_context, a):
    """Round each float lane down."""

    def generate(context, builder, sig, args):
        return _call(builder, f"llvm.floor.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def square_root(typing_context, a):
    """Square root of each float lane."""

    def generate(context, builder, sig, args):
        return _call(builder, f"llvm.sqrt.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def absolute(typing_context, a):
    """Magnitude of each float lane."""

    def generate(context, builder, sig, args):
        return _call(builder, f"llvm.fabs.v{LANES}f32", float32x16.llvm, args)

    return float32x16(float32x16), generate


@intrinsic
def select(typing_context, mask, a, b):
    """``a`` where the mask is set, else ``b``."""

    def generate(context, builder, sig, args):
        return builder.select(*args)

    return a(mask16, a, a), generate


@intrinsic
def smaller(typing_context, a, b):
    """Lane-wise minimum of two float vectors (``b`` where ``a`` is NaN)."""

    def generate(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return float32x16(float32x16, float32x16), generate


@intrinsic
def larger(typing_context, a, b):
    """Lane-wise maximum of two float vectors (``b`` where ``a`` is NaN)."""

    def generate(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return float32x16(float32x16, float32x16), generate


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
def trailing_zeros(typing_context, bits):
    """Number of zero bits below the lowest set bit of an int64 (64 for zero)."""

    def generate(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def prefetch(typing_context, array, row, col):
    """Ask for the cache line of ``array[row, col]``; harmless where there is none."""

    def generate(context, builder, sig, args):
        pointer = _address(context, builder, sig.args[0], *args, ir.IntType(8))
        read, keep, data = (ir.Constant(_I32, v) for v in (0, 3, 1))
        name = "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _I32, _I32, _I32])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), generate


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
        return builder.extract_element(value, ir.Constant(_I32, 0))

    return types.float32(float32x16), generate


@intrinsic
def rounded_product(typing_context, a, b):
    """``a * b`` of float lanes, rounded before anything is added to it: never part of a fused multiply-add."""

    def generate(context, builder, sig, args):
        return builder.fmul(*args)

    return float32x16(float32x16, float32x16), generate
