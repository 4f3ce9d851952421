"""Loads, stores and gathers of vectors.

They name an array, a row and a column, and do **no** bounds check: the code that allocates an array pads it.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .array_types import LANES
from .vectors import INT32, call_llvm, float32x16, int16x16, int32x16, mask16


def element_pointer(context, builder, array_type, array, row, col, pointee):
    """Pointer to ``array[row, col]``, seen as ``pointee``."""
    view = context.make_array(array_type)(context, builder, array)
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    row_stride = cgutils.unpack_tuple(builder, view.strides)[0]
    offset = builder.add(builder.mul(row, row_stride), builder.mul(col, ir.Constant(ir.IntType(64), itemsize)))
    byte = builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset])
    return builder.bitcast(byte, pointee.as_pointer())


class VectorOfPointers(ir.instructions.Instruction):
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


_MEMORY = {"float32": ir.FloatType(), "int32": INT32, "int16": ir.IntType(16), "uint8": ir.IntType(8)}


@intrinsic
def load(typing_context, array, row, col):
    """``array[row, col:col + 16]``: float32 as it is, int32 / int16 / uint8 widened to ``int32x16``."""
    element = _MEMORY[array.dtype.name]
    result = float32x16 if array.dtype == types.float32 else int32x16

    def generate(context, builder, sig, args):
        memory = ir.VectorType(element, LANES)
        value = builder.load(element_pointer(context, builder, sig.args[0], *args, memory))
        value.align = 1 if element.__class__ is ir.IntType and element.width == 8 else 2
        if element == ir.FloatType() or element == INT32:
            return value
        widen = builder.zext if element.width == 8 else builder.sext
        return widen(value, result.llvm)

    return result(array, types.uint64, types.uint64), generate


@intrinsic
def load_shorts(typing_context, array, row, col):
    """``array[row, col:col + 16]`` of an int16 array as ``int16x16``."""

    def generate(context, builder, sig, args):
        value = builder.load(element_pointer(context, builder, sig.args[0], *args, int16x16.llvm))
        value.align = 2
        return value

    return int16x16(array, types.uint64, types.uint64), generate


@intrinsic
def store(typing_context, array, row, col, value):
    """Write ``array[row, col:col + 16]``; integers are cut to the array's width."""
    element = _MEMORY[array.dtype.name]

    def generate(context, builder, sig, args):
        memory = ir.VectorType(element, LANES)
        vector = args[3]
        if vector.type != memory:
            vector = builder.trunc(vector, memory)
        builder.store(vector, element_pointer(context, builder, sig.args[0], *args[:3], memory)).align = 1
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, value), generate


@intrinsic
def store_streaming(typing_context, array, row, col, value):
    """As :func:`store` of floats, past the caches; the address must be a multiple of 64 bytes."""

    def generate(context, builder, sig, args):
        stored = builder.store(args[3], element_pointer(context, builder, sig.args[0], *args[:3], float32x16.llvm))
        stored.align = 64
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(INT32, 1)]))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, float32x16), generate


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
        pixels = builder.load(element_pointer(context, builder, sig.args[0], *args[:3], memory))
        pixels.align = 1
        pixels = builder.zext(pixels, int32x16.llvm)
        eight, high = (ir.Constant(int32x16.llvm, [v] * LANES) for v in (8, 0xFF00))
        even = builder.and_(builder.shl(pixels, eight), high)
        return context.make_tuple(builder, sig.return_type, [even, builder.and_(pixels, high)])

    def generate(context, builder, sig, args):
        memory = ir.VectorType(ir.IntType(8), 2 * LANES * count)
        pixels = builder.load(element_pointer(context, builder, sig.args[0], *args[:3], memory))
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
        base = element_pointer(context, builder, sig.args[0], args[0], args[1], zero, element)
        pointers = VectorOfPointers(builder, base, args[2])
        every_lane = ir.Constant(mask16.llvm, [1] * LANES)
        letter = "f32" if result is float32x16 else "i32"
        name = f"llvm.masked.gather.v{LANES}{letter}.v{LANES}p0"
        passthru = ir.Constant(result.llvm, ir.Undefined)
        return call_llvm(builder, name, result.llvm, [pointers, ir.Constant(INT32, 4), every_lane, passthru])

    return result(array, types.uint64, int32x16), generate


@intrinsic
def gather_pairs(typing_context, array, row, index):
    """``array[row, 2 index[k]]`` and ``array[row, 2 index[k] + 1]`` for each lane k, of a float32 array.

    A gather costs by the element; two neighbours in one 64-bit element cost as much as one.
    """

    def generate(context, builder, sig, args):
        zero, alignment = ir.Constant(ir.IntType(64), 0), ir.Constant(INT32, 4)
        base = element_pointer(context, builder, sig.args[0], args[0], args[1], zero, ir.IntType(64))
        pointers = VectorOfPointers(builder, base, args[2])
        pair = ir.VectorType(ir.IntType(64), LANES)
        every_lane = ir.Constant(mask16.llvm, [1] * LANES)
        passthru = ir.Constant(pair, ir.Undefined)
        name = f"llvm.masked.gather.v{LANES}i64.v{LANES}p0"
        both = call_llvm(builder, name, pair, [pointers, alignment, every_lane, passthru])
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
def prefetch(typing_context, array, row, col):
    """Ask for the cache line of ``array[row, col]``; harmless where there is none."""

    def generate(context, builder, sig, args):
        pointer = element_pointer(context, builder, sig.args[0], *args, ir.IntType(8))
        read, keep, data = (ir.Constant(INT32, v) for v in (0, 3, 1))
        name = "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, INT32, INT32, INT32])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), generate
