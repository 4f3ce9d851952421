"""A barrier for threads inside compiled code, and a flag that they share.

Waking a thread through Python takes longer than a step of the algorithm, so the threads of one match are started once
and then wait for each other by watching a counter.  A barrier is an int64 array of zeros, shape (4, 8): one number in
each row, so that no two of them share a cache line.
"""

import sys

from llvmlite import ir
from numba import uint64
from numba.core import cgutils, types
from numba.extending import intrinsic

from .cache import inner
from .memory import element_pointer

ARRIVED, ROUND, ABANDONED, FLAG = (uint64(k) for k in range(4))
SPINS = 2000  # how often a thread reads the counter before it offers its core to other threads

_INT64 = ir.IntType(64)


def _place(context, builder, sig, args):
    return element_pointer(context, builder, sig.args[0], args[0], args[1], ir.Constant(_INT64, 0), _INT64)


@intrinsic
def read_number(typing_context, array, row):
    """``array[row, 0]``, which another thread may write."""

    def generate(context, builder, sig, args):
        return builder.load_atomic(_place(context, builder, sig, args), "seq_cst", 8)

    return types.int64(array, types.uint64), generate


@intrinsic
def write_number(typing_context, array, row, value):
    """``array[row, 0] = value``, for other threads to read."""

    def generate(context, builder, sig, args):
        builder.store_atomic(args[2], _place(context, builder, sig, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.int64), generate


@intrinsic
def add_number(typing_context, array, row, value):
    """Add ``value`` to ``array[row, 0]``, which other threads may change as well; returns the number before."""

    def generate(context, builder, sig, args):
        return builder.atomic_rmw("add", _place(context, builder, sig, args), args[2], "seq_cst")

    return types.int64(array, types.uint64, types.int64), generate


@intrinsic
def let_others_run(typing_context):
    """Let the operating system run another thread on this core; does nothing on Windows."""

    def generate(context, builder, sig, args):
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@inner
def meet(barrier, count):
    """Wait until ``count`` threads have called this.

    Parameters
    ----------
    barrier : ndarray of int64, shape (4, 8)
        The same array in all threads.
    count : int
        Number of threads; with 1 it returns at once.

    Returns
    -------
    bool
        False if a thread has failed and set ``barrier[ABANDONED, 0]``: it will not come.
    """
    if count == 1:
        return True
    this_round = read_number(barrier, ROUND)
    if add_number(barrier, ARRIVED, 1) == count - 1:
        write_number(barrier, ARRIVED, 0)
        write_number(barrier, ROUND, this_round + 1)
        return True
    spins = 0
    while read_number(barrier, ROUND) == this_round and read_number(barrier, ABANDONED) == 0:
        spins += 1
        if spins > SPINS:
            let_others_run()
    return read_number(barrier, ABANDONED) == 0


@inner
def any_of(barrier, count, flag):
    """True in all threads if ``flag`` is true in one; all ``count`` threads must call this."""
    if count == 1:
        return flag
    if flag:
        write_number(barrier, FLAG, 1)
    meet(barrier, count)
    found = read_number(barrier, FLAG) != 0
    meet(barrier, count)  # nobody clears it before all have looked
    write_number(barrier, FLAG, 0)
    meet(barrier, count)  # nor sets it again before all have cleared it
    return found
