"""A meeting point for threads inside compiled code.

Waking a thread through Python takes longer than a step of the algorithm, so the threads of one match are woken once and
then wait for each other by watching a counter.  A barrier is an int64 array (4, 8), one number per cache line.
"""

import sys

from llvmlite import ir
from numba import uint64
from numba.core import cgutils, types
from numba.extending import intrinsic

from .cache import inner
from .memory import element_pointer

ARRIVED, ROUND, ABANDONED, FLAG = (uint64(k) for k in range(4))
_PATIENCE = 2000  # looks at the counter before another thread is given the core

_INT64 = ir.IntType(64)


def _place(context, builder, sig, args):
    return element_pointer(context, builder, sig.args[0], args[0], args[1], ir.Constant(_INT64, 0), _INT64)


@intrinsic
def _read(typing_context, array, row):
    def generate(context, builder, sig, args):
        return builder.load_atomic(_place(context, builder, sig, args), "seq_cst", 8)

    return types.int64(array, types.uint64), generate


@intrinsic
def _write(typing_context, array, row, value):
    def generate(context, builder, sig, args):
        builder.store_atomic(args[2], _place(context, builder, sig, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.int64), generate


@intrinsic
def _add(typing_context, array, row, value):
    """Add and return what was there before."""

    def generate(context, builder, sig, args):
        return builder.atomic_rmw("add", _place(context, builder, sig, args), args[2], "seq_cst")

    return types.int64(array, types.uint64, types.int64), generate


@intrinsic
def _let_others_run(typing_context):
    """Give the core away if another thread wants it (where the C library knows how)."""

    def generate(context, builder, sig, args):
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@inner
def meet(barrier, count):
    """Wait until ``count`` threads are here; False if one of them failed and will not come."""
    if count == 1:
        return True
    this_round = _read(barrier, ROUND)
    if _add(barrier, ARRIVED, 1) == count - 1:
        _write(barrier, ARRIVED, 0)
        _write(barrier, ROUND, this_round + 1)
        return True
    looks = 0
    while _read(barrier, ROUND) == this_round and _read(barrier, ABANDONED) == 0:
        looks += 1
        if looks > _PATIENCE:
            _let_others_run()
    return _read(barrier, ABANDONED) == 0


@inner
def raise_flag(barrier):
    """Tell every thread, from the next meeting on."""
    _write(barrier, FLAG, 1)


@inner
def lower_flag(barrier):
    """For a thread that is alone; several start with a fresh barrier."""
    _write(barrier, FLAG, 0)


@inner
def flag_is_up(barrier):
    """Has any thread raised the flag?"""
    return _read(barrier, FLAG) != 0
