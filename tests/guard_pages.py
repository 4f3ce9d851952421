"""Memory that nobody may overstep, for tests of kernels.

Vector loads and stores in the kernels are raw pointers without bounds checks.  An `Arena` puts every array directly
before or directly after a page that must not be touched, so one byte too far ends the process.  Tests therefore run
their cases in a child process:

    python -m tests.evaluation.test_elas_memory SEED

runs one of them again, under a debugger if need be.
"""

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import math
import mmap
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bdis.vector.cache import Kernel

CANARY = 0xA5
PROT_NONE, PROT_READ = 0, 1  # as in sys/mman.h; the module mmap lacks the first
ROOT = Path(__file__).parents[1]
MISSING = "" if sys.platform == "linux" else "guard pages are set up with Linux's mprotect"  # why tests are skipped


class Arena:
    """Arrays that each end just before or begin just after an inaccessible page.

    Page sizes allow only one tight side; up to the page on the other side lie canary bytes that show stray writes.

    Parameters
    ----------
    edge : str
        "end": arrays end at their inaccessible page; "start": they begin there.
    """

    def __init__(self, edge: str):
        self.edge = edge
        self._protect = ctypes.CDLL(None, use_errno=True).mprotect
        self._protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        self._canaries: list[np.ndarray] = []
        self._begins: set[int] = set()

    def zeros(self, shape: Any, dtype: Any = float, row_gap: int = 0) -> np.ndarray:
        """As ``np.zeros``, with ``row_gap`` more elements between rows."""
        shape, dtype = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
        packed = np.empty((1, *shape[1:]), dtype)
        strides = packed.nbytes + row_gap * dtype.itemsize, *packed.strides[1:]
        used = (shape[0] - 1) * strides[0] + packed.nbytes
        room = max(math.ceil(used / mmap.PAGESIZE), 1) * mmap.PAGESIZE
        memory = mmap.mmap(-1, room + 2 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        body = np.frombuffer(memory, np.uint8, room, mmap.PAGESIZE)
        self._set_access(body.ctypes.data - mmap.PAGESIZE, mmap.PAGESIZE, PROT_NONE)
        self._set_access(body.ctypes.data + room, mmap.PAGESIZE, PROT_NONE)
        body.fill(CANARY)
        offset = room - used if self.edge == "end" else 0
        self._canaries.append(body[:offset] if self.edge == "end" else body[used:])
        self._begins.add(body.ctypes.data + offset)
        array = np.ndarray(shape, dtype, memory, mmap.PAGESIZE + offset, strides)
        array.fill(0)
        return array

    def copy(self, array: np.ndarray, row_gap: int = 0) -> np.ndarray:
        """``array`` moved into this arena."""
        moved = self.zeros(array.shape, array.dtype, row_gap)
        moved[...] = array
        return moved

    def sealed_copy(self, array: np.ndarray, row_gap: int = 0) -> np.ndarray:
        """``array`` moved into pages that may only be read: what a user gives is never written to."""
        moved = self.copy(array, row_gap)
        page = moved.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
        self._set_access(page, (moved.shape[0] - 1) * moved.strides[0] + moved[0].nbytes, PROT_READ)
        moved.flags.writeable = False
        return moved

    def holds(self, array: np.ndarray) -> bool:
        """Whether ``array`` lies at its guard page."""
        return array.ctypes.data in self._begins

    def is_intact(self) -> bool:
        """Whether nobody wrote beside an array."""
        return all((canary == CANARY).all() for canary in self._canaries)

    def _set_access(self, address: int, size: int, access: int) -> None:
        if self._protect(address, size, access):
            raise OSError(ctypes.get_errno(), "mprotect")


class GuardedNumPy:
    """NumPy as a module of bdis sees it, with its allocations in an arena."""

    def __init__(self, arena: Arena):
        self.zeros = self.empty = arena.zeros

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class NumPyWithGarbage:
    """NumPy as a module of bdis sees it, whose uninitialised arrays hold random bytes."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def empty(self, shape: Any, dtype: Any = float) -> np.ndarray:
        """As ``np.empty``."""
        array = np.empty(shape, dtype)
        fill_with_garbage(array, self._rng)
        return array

    def empty_like(self, array: np.ndarray) -> np.ndarray:
        """As ``np.empty_like``."""
        return self.empty(array.shape, array.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def fill_with_garbage(array: np.ndarray, rng: np.random.Generator) -> None:
    """Overwrite ``array`` with random bytes."""
    array[...] = rng.integers(0, 256, (*array.shape, array.itemsize), np.uint8).view(array.dtype)[..., 0]


@contextlib.contextmanager
def guarded_kernels(edge: str, rng: np.random.Generator, *modules: ModuleType) -> Iterator[set[str]]:
    """Give every kernel that is called copies of its arrays at guard pages; results are copied back.

    Parameters
    ----------
    edge : str
        As for `Arena`.
    rng : numpy.random.Generator
        For the garbage in uninitialised arrays.
    *modules : module
        Modules that call kernels; what they allocate with ``np.empty`` holds garbage meanwhile.

    Yields
    ------
    set of str
        Names of the kernels that were called.
    """
    called: set[str] = set()
    call = Kernel.__call__

    def call_at_guard_pages(self: Kernel, *args: Any) -> Any:
        called.add(self.__name__)
        arena = Arena(edge)
        arrays = {id(arg): arg for arg in args if isinstance(arg, np.ndarray)}
        moved = {key: arena.copy(array) for key, array in arrays.items()}
        result = call(self, *(moved.get(id(arg), arg) for arg in args))
        assert arena.is_intact(), f"{self.__name__} wrote beside an array"
        for key, array in arrays.items():
            array[...] = moved[key]
        return result

    Kernel.__call__ = call_at_guard_pages
    for module in modules:
        module.np = NumPyWithGarbage(rng)
    try:
        yield called
    finally:
        Kernel.__call__ = call
        for module in modules:
            module.np = np


def kernels_in(package: ModuleType) -> set[str]:
    """Names of all kernels in the modules of a package."""
    names: set[str] = set()
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        members = vars(importlib.import_module(module.name)).values()
        names |= {member.__name__ for member in members if isinstance(member, Kernel)}
    return names


def called_kernels(child: subprocess.CompletedProcess[str]) -> set[str]:
    """Names of the kernels that the cases of a child called; `report` printed them."""
    return {line.split()[1] for line in child.stdout.splitlines() if line.startswith("    kernel ")}


def report(called: set[str]) -> None:
    """Print for `called_kernels`."""
    for name in sorted(called):
        print(f"    kernel {name}", flush=True)


def overstep(edge: str) -> None:
    """Read the first byte beyond an array; does not return."""
    array = Arena(edge).zeros((3, 5), np.uint8)
    ctypes.string_at(array.ctypes.data + (array.nbytes if edge == "end" else -1), 1)


def run_child(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A module of the tests as a program; see `main`."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def assert_finished(child: subprocess.CompletedProcess[str], cases: int) -> None:
    """Fail with what a child printed about its last case, unless it went through all ``cases``."""
    last_case = child.stdout[child.stdout.rfind("\nseed ") :]
    crashed = " (a segmentation fault)" if child.returncode == -signal.SIGSEGV else ""
    assert child.returncode == 0, f"exit code {child.returncode}{crashed} at\n{last_case}\n{child.stderr[-6000:]}"
    assert f"seed {cases - 1}:" in child.stdout


def main(run_case: Callable[[int], None], arguments: list[str]) -> None:
    """The child process.

    Parameters
    ----------
    run_case : callable
        Runs the case of a seed, after printing a line that begins with "seed SEED:".
    arguments : list of str
        SEED: one case; BEGIN END: cases BEGIN to END - 1; overstep EDGE: die.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    if arguments[0] == "overstep":
        overstep(arguments[1])
        return
    begin = int(arguments[0])
    end = int(arguments[1]) if len(arguments) > 1 else begin + 1
    for seed in range(begin, end):
        run_case(seed)
        if seed % 20 == 0:  # free the mappings: a process may have 65530
            gc.collect()
