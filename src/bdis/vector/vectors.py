"""Vectors of sixteen lanes as Numba types, and their operators.

A loop over NumPy elements leaves LLVM to guess at aliasing and wrap-around; a vector *type* compiles to
the code one would write by hand.  LLVM splits each vector into what the machine has (one AVX-512
register, two of AVX2, four of NEON or SSE).

Four types: ``float32x16``, ``int32x16``, ``int16x16`` (half the register: twice as fast where it is wide enough) and
``mask16``.  Operators ``+ - * / & | ^ << >>`` and comparisons
work between equal types; a scalar is widened explicitly with ``splat``.
"""

import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import register_model

from .array_types import LANES

INT32 = ir.IntType(32)
HALVES = ir.VectorType(ir.IntType(16), 2 * LANES)  # a vector of int32 seen as int16
WIDE = ir.VectorType(INT32, 2 * LANES)
_SPLAT_MASK = ir.Constant(ir.VectorType(INT32, LANES), [0] * LANES)


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
int32x16 = Vector("int32", INT32)
int16x16 = Vector("int16", ir.IntType(16))
mask16 = Vector("mask", ir.IntType(1))

# Multiplication and addition may be fused.  No flag may let LLVM assume that there is no NaN: NaN means unknown here.
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
    for _vector in (int32x16, int16x16):
        _define(_op, _vector, lambda b, x, y, name=_build: getattr(b, name)(x, y))
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
    for _vector in (int32x16, int16x16):
        _define(_op, _vector, lambda b, x, y, s=_sign: b.icmp_signed(s, x, y), mask16)


def broadcast(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, _SPLAT_MASK)


def call_llvm(builder, name, result, args):
    """Call the LLVM intrinsic ``name``."""
    kind = ir.FunctionType(result, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)
