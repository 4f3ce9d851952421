"""Compile a kernel once per machine, and keep its machine code between processes.

Numba's own cache does not notice an edit in another file, fails on a truncated file and needs a writable folder.
This one keys its folder on all sources a kernel is made of, on the versions and on the processor, verifies what it
reads, and works without a cache when there is no writable place that is safe from other users: what is in a cache file
is executed.  The environment variable ``BDIS_CACHE_DIR`` moves it.

Kernels are compiled and loaded in a thread that no Ctrl-C reaches (`uninterrupted`), and no fork divides one either.

This is the only file that uses private names of Numba.
"""

import contextlib
import functools
import importlib
import logging
import os
import pickle
import pkgutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import compiler, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from . import progress, side_processes
from .cache_folders import choose_cache, digest, folder_of, forget_old, room_of, source_key
from .memory_room import TO_COMPILE_MB, TO_LOAD_MB, check_room
from .safe_folders import read_own, write_own
from .uninterrupted import uninterrupted

__all__ = [
    "Kernel",
    "choose_cache",
    "inner",
    "inner_returning_arrays",
    "kernel",
    "kernels_in",
    "prepare",
    "room_of",
    "source_key",
]

log = logging.getLogger("bdis")

_COMPILE = threading.RLock()  # Numba's compiler is not safe to enter twice
_IN_LLVM = threading.RLock()  # held for one kernel at a time: a fork waits for that


def _compile_anew() -> None:
    """After a fork: the thread that was compiling does not exist in the child, which compiles by itself."""
    global _COMPILE
    _COMPILE = threading.RLock()
    _IN_LLVM.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_IN_LLVM.acquire, after_in_parent=_IN_LLVM.release, after_in_child=_compile_anew)


# --- Files ------------------------------------------------------------------------------------------------------------


class _KernelFile:
    """Machine code of one kernel on disk: a digest, then the pickled result of Numba's compiler."""

    def __init__(self, folder: Path, name: str, context):
        machine = digest(repr(context.codegen().magic_tuple()).encode()).hex()[:8]
        self._folder, self._path = folder, folder / f"{name}-{machine}.kernel"

    def load(self, context):
        """The compiled kernel, or None if there is none that can be read."""
        context.refresh()
        try:
            content = read_own(self._path)
            if content[:32] != digest(content[32:]):
                raise ValueError("its content does not match its digest")
            return compiler.CompileResult._rebuild(context, *pickle.loads(content[32:]))
        except FileNotFoundError:
            return None
        except MemoryError:  # compiling needs more
            raise
        except Exception as error:  # whatever is wrong with a cache file, compiling again is right
            log.warning("ignoring unreadable cache file %s (%s); compiling again", self._path, error)
            return None

    def save(self, result) -> None:
        """Write the file whole or not at all; a failure is reported and otherwise ignored."""
        part = self._path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            forget_old(self._folder)
            payload = dumps(result._reduce())
            write_own(part, digest(payload) + payload)
            os.replace(part, self._path)
        except OSError as error:
            log.warning("could not keep compiled kernel %s: %s", self._path, error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


# --- Helpers: functions that kernels call -----------------------------------------------------------------------------


class _LinkedLibrary(JITCodeLibrary):
    """LLVM code of a helper, as Numba generates it.

    It is optimised and turned into machine code only as a part of the kernels that it is linked into.  Numba would do
    both for each helper as well, and for all that it calls: a third of the time of compiling.
    """

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalized = True


class _HelperCompiler(_FunctionCompiler):
    """Compiles a helper as far as its callers need: no machine code, no wrappers to call it from Python or C."""

    def _compile_core(self, args, return_type):
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        context = self.targetdescr.target_context
        library = _LinkedLibrary(context.codegen(), self.py_func.__qualname__)
        result = compiler.compile_extra(
            self.targetdescr.typing_context, context, self.py_func, args=args, return_type=return_type, flags=flags,
            locals=self.locals, library=library, pipeline_class=self.pipeline_class,
        )  # fmt: skip
        name = [].append  # never called: Numba looks up a compiled function by an object of this type
        context.insert_user_function(name, result.fndesc, [library])
        return result._replace(entry_point=name)


class _Helper(CPUDispatcher):
    """A function for kernels to call.  When Python calls it (tests do), Numba compiles it once more, as its own."""

    def add_overload(self, result):
        self.overloads[tuple(result.signature.args)] = result

    def _compile_for_args(self, *args, **named):
        return _for_python(self)


@functools.cache
def _for_python(helper):
    return numba.jit(**helper.targetoptions)(helper.py_func)


def _helper(**options):
    def decorate(function):
        dispatcher = numba.njit(**options)(function)
        dispatcher.__class__, dispatcher._compiler.__class__ = _Helper, _HelperCompiler
        return dispatcher

    return decorate


_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False}
OPTIONS_FOR_BORROWED_ARRAYS = _OPTIONS | {"_nrt": False}  # references to arrays are not counted

# Decorators for helpers, which are compiled into the kernels that call them.  ``inner`` does not count references to
# the arrays it is given, which took a tenth of the time of a match; such a helper cannot return an array.
inner = _helper(**OPTIONS_FOR_BORROWED_ARRAYS)
inner_returning_arrays = _helper(**_OPTIONS)


# --- Kernels ----------------------------------------------------------------------------------------------------------


class _KernelCompiler(_FunctionCompiler):
    """Kernels are called from Python only."""

    def _customize_flags(self, flags):
        flags.no_cfunc_wrapper = True
        return flags


class Kernel:
    """A compiled function with one signature, loaded from the cache or compiled at its first call.

    Parameters
    ----------
    function : function
        Written for Numba.
    signature : numba signature
        Types of the result and of the arguments.

    Attributes
    ----------
    py_func : function
        The function as it was written.
    """

    options = _OPTIONS

    def __init__(self, function, signature):
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self.py_func, self._signature = function, signature
        self._entry = None

    def __call__(self, *args):
        return (self._entry or self.ready())(*args)

    def ready(self):
        """Load or compile now; returns the function itself."""
        if self._entry is None:
            prepare([self])
        return self._entry

    def machine_code(self) -> tuple[Callable[..., Any], int]:
        """The compiled function, to be called without a check of its arguments, and the address of its machine code."""
        result = self.ready().overloads[sigutils.normalize_signature(self._signature)[0]]
        return result.entry_point, result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

    @property
    def room(self) -> Path:
        """Folder whose sources the kernel is made of."""
        return room_of(self.py_func)

    def load(self) -> bool:
        """Load the kernel if the cache has it; False if it must be compiled."""
        with _COMPILE, _IN_LLVM:
            if self._entry is None and (file := self._file(folder_of(self.room))) is not None:
                dispatcher = self._dispatcher()
                if (result := file.load(dispatcher.targetctx)) is not None:
                    dispatcher.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
                    dispatcher.add_overload(result)
                    self._finish(dispatcher)
            return self._entry is not None

    def compile(self, folder: Path | None) -> None:
        """Compile the kernel and keep it in a folder of the cache."""
        with _COMPILE, _IN_LLVM:
            dispatcher = self._dispatcher()
            dispatcher.compile(self._signature)
            if (file := self._file(folder)) is not None:
                file.save(dispatcher.overloads[sigutils.normalize_signature(self._signature)[0]])
            self._finish(dispatcher)

    def size(self) -> int:
        """Bytes of Python bytecode of the kernel and all its helpers: about proportional to the time to compile it."""
        found, waiting = set(), [self.py_func]
        while waiting:
            function = waiting.pop()
            if function.__code__ not in found:
                found.add(function.__code__)
                values = [function.__globals__.get(name) for name in function.__code__.co_names]
                values += [cell.cell_contents for cell in function.__closure__ or ()]
                waiting += [value.py_func for value in values if isinstance(value, _Helper)]
        return sum(len(code.co_code) for code in found)

    def _file(self, folder: Path | None) -> _KernelFile | None:
        if folder is None:
            return None
        source = Path(self.py_func.__code__.co_filename).relative_to(self.room).with_suffix("")
        signature = digest(str(self._signature).encode()).hex()[:4]
        name = ".".join((*source.parts, self.__name__))
        return _KernelFile(folder, f"{name}-{signature}", self._dispatcher().targetctx)

    def _dispatcher(self):
        dispatcher = numba.njit(**self.options)(self.py_func)
        dispatcher._compiler.__class__ = _KernelCompiler
        return dispatcher

    def _finish(self, dispatcher) -> None:
        dispatcher.disable_compile()
        self._entry = dispatcher


def kernel(signature):
    """Decorate a function as a :class:`Kernel` with one Numba ``signature``."""
    return lambda function: Kernel(function, signature)


def kernels_in(package) -> list[Kernel]:
    """All kernels of a package.

    Parameters
    ----------
    package : module
        Its modules and those of its subpackages are imported and searched.

    Returns
    -------
    list of Kernel
        In the order of their modules, each of them once.

    Examples
    --------
    >>> from bdis.synthetic import kernels
    >>> sorted(kernel.__name__ for kernel in kernels_in(kernels))
    ['mark_unseen', 'paint_mottle', 'paint_vessels', 'shade_view', 'trace_view']
    """
    names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [package, *map(importlib.import_module, names)]
    return list(dict.fromkeys(value for m in modules for value in vars(m).values() if isinstance(value, Kernel)))


def prepare(kernels, report: progress.Report | None = None) -> int:
    """Load the kernels that are in the cache and compile the others, in several processes where that is faster.

    Parameters
    ----------
    kernels : iterable of Kernel
        What the next calls will need.
    report : callable, optional
        Called as ``report(done, total, names)`` while kernels are compiled, maybe from other threads: how many of how
        many are done, and the names of those being compiled.  By default the reporter of
        :mod:`bdis.vector.progress`.  Kernels that are loaded from the cache are neither counted nor reported.

    Returns
    -------
    int
        How many kernels were compiled.

    Raises
    ------
    RuntimeError
        Numba's compiler is switched off.
    MemoryError
        There is too little memory to load or compile them.
    """
    waiting = [kernel for kernel in dict.fromkeys(kernels) if kernel._entry is None]
    if not waiting:
        return 0
    if numba.config.DISABLE_JIT:
        raise RuntimeError("bdis needs Numba's compiler, but NUMBA_DISABLE_JIT is set; unset it")
    check_room(TO_LOAD_MB, "to load its kernels")
    missing = uninterrupted(lambda is_unwanted: _load_all(waiting, is_unwanted))
    if not missing:
        return 0
    check_room(TO_COMPILE_MB, "to compile its kernels")
    begin = time.perf_counter()
    log.info("compiling %d kernels for this machine: %s", len(missing), ", ".join(k.__name__ for k in missing))
    reporter = contextlib.nullcontext(report) if report else progress.current()
    with reporter as shown:
        count = uninterrupted(
            lambda is_unwanted: _compile_all(missing, progress.Progress(len(missing), shown, is_unwanted), is_unwanted)
        )
    log.info("compiled %d kernels in %.1f s", count, time.perf_counter() - begin)
    return count


def _load_all(kernels: list[Kernel], is_unwanted: threading.Event) -> list[Kernel]:
    """Load what the cache has; returns the others, the largest first."""
    with _COMPILE:
        missing = [kernel for kernel in kernels if is_unwanted.is_set() or not kernel.load()]
        return sorted(missing, key=Kernel.size, reverse=True)


def _compile_all(kernels: list[Kernel], shown: progress.Progress, is_unwanted: threading.Event) -> int:
    """Compile kernels in the given order, other processes take some of them off the same list; returns how many."""
    with _COMPILE:
        missing = [kernel for kernel in kernels if kernel._entry is None]  # another thread may have compiled some
        tasks = [(kernel, folder_of(kernel.room)) for kernel in missing]
        queue = side_processes.Queue(tasks, is_unwanted)
        size = sum(kernel.size() for kernel, folder in tasks if folder is not None)
        with side_processes.at_work(queue, size, shown):
            while (task := queue.take()) is not None:
                with shown.one(task[0].__name__):
                    task[0].compile(task[1])
        for kernel in missing:  # those of the other processes; compiled here if one of them has failed
            if not is_unwanted.is_set() and not kernel.load():
                with shown.one(kernel.__name__):
                    kernel.compile(folder_of(kernel.room))
        return len(missing)


def compile_into(module: str, name: str, folder: str) -> bool:
    """Compile a kernel for another process; False if this process has other sources or settings than that one."""
    found = [k for k in vars(importlib.import_module(module)).values() if isinstance(k, Kernel) and k.__name__ == name]
    if not found or source_key(found[0].room) != Path(folder).name:
        return False
    found[0].compile(Path(folder))
    return True
