"""Compile a kernel once per machine.

Numba's own cache does not notice an edit in another file, trips over a truncated file and needs a writable
place; this one keys the folder on the source of all kernels, the versions and the processor, checks what it reads
and goes on without a cache when there is no place to write.  ``BDIS_CACHE_DIR`` moves it.
"""

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import platform
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import llvmlite
import numba
from numba.core import compiler
from numba.core.caching import _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

log = logging.getLogger("bdis")

_COMPILE = threading.RLock()  # Numba's compiler is not safe to enter twice


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def room_of(function) -> Path:
    """The folder whose sources a compiled function is made of: the outermost one called ``kernels``, else its own."""
    file = Path(function.__code__.co_filename)
    return next((folder for folder in reversed(file.parents) if folder.name == "kernels"), file.parent)


def source_key(room: Path) -> str:
    """Changes with every source in ``room`` or this folder, and with every version that shapes the machine code."""
    sources = (path.read_bytes() for folder in (room, Path(__file__).parent) for path in sorted(folder.rglob("*.py")))
    versions = f"{sys.version} {numba.__version__} {llvmlite.__version__} {platform.machine()}"
    # The user's own NUMBA_* variables may change the machine code as well.
    chosen = {name: getattr(numba.config, name, None) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")}
    return _digest(b"".join(sources) + f"{versions} {chosen}".encode()).hex()[:16]


def _user_cache() -> Path:
    if chosen := os.environ.get("BDIS_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "bdis"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/bdis"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bdis"


def _private_temporary() -> Path:
    """A folder for this user alone: cached code is executed, so nobody else may write there."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"bdis-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def _writable(folder: Path) -> bool:
    """Try a real write: permission bits do not tell about read-only mounts or root."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # "still in use", see _forget_old
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def cache_folder(room: Path) -> Path | None:
    """Where the compiled kernels of the sources in ``room`` live: the user's cache, else a private temporary folder,
    else None.
    """
    for place in (_user_cache, _private_temporary):
        try:
            folder = place() / source_key(room)
        except (OSError, RuntimeError):  # RuntimeError: no home directory
            continue
        if _writable(folder):
            return folder
    return None


def _forget_old(folder: Path) -> None:
    """Remove what other versions left behind and nobody has used for a month."""
    for other in folder.parent.iterdir():
        if other != folder and len(other.name) == len(folder.name) and other.stat().st_mtime < time.time() - 30 * 86400:
            shutil.rmtree(other, ignore_errors=True)


class _CheckedCache(_Cache):
    """One file per kernel and processor: digest, then the pickled machine code.  Written whole or not at all."""

    cache_path = property(lambda self: str(self._folder))

    def __init__(self, folder: Path, name: str):
        self._folder, self._name = folder, name

    def _file(self, codegen) -> Path:
        machine = _digest(repr(codegen.magic_tuple()).encode()).hex()[:8]
        return self._folder / f"{self._name}-{machine}.kernel"

    def load_overload(self, sig, target_context):
        target_context.refresh()
        path = self._file(target_context.codegen())
        try:
            content = path.read_bytes()
            if content[:32] != _digest(content[32:]):
                raise ValueError("torn file")
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(content[32:]))
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever is wrong with a cache file, compiling again is right
            log.warning("ignoring unreadable cache file %s (%s); compiling again", path, error)
            return None

    def save_overload(self, sig, data):
        path = self._file(data.codegen)
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            _forget_old(self._folder)
            payload = dumps(data._reduce())
            part.write_bytes(_digest(payload) + payload)
            os.replace(part, path)
        except OSError as error:
            log.warning("could not keep compiled kernel %s: %s", path, error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def enable(self):
        """Always on."""

    def disable(self):
        """Always on."""

    def flush(self):
        """Nothing is held back."""


class _LinkedLibrary(JITCodeLibrary):
    """LLVM code of a helper: linked into the kernels that call it, never turned into machine code by itself."""

    def _finalize_final_module(self):
        self._finalized = True


class _HelperCompiler(_FunctionCompiler):
    """Compiles a helper as far as its callers need: no machine code, no wrappers to call it from Python.

    That takes a third less time than Numba's way, which makes each helper a function of its own as well.
    """

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
        name = [].append  # never called: Numba finds a compiled function by an object of this type
        context.insert_user_function(name, result.fndesc, [library])
        return result._replace(entry_point=name)


class _Helper(CPUDispatcher):
    """A function for kernels to call.  Python may call it as well (tests do); then Numba compiles it in full."""

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

# For helpers that are compiled into the kernels calling them.  They borrow their arrays: counting references to each of
# them at every call took a tenth of the time of a match.
inner = _helper(**_OPTIONS, _nrt=False)
inner_returning_arrays = _helper(**_OPTIONS)


class Kernel:
    """A compiled function with one signature, compiled or loaded at its first call."""

    options = _OPTIONS

    def __init__(self, function, signature):
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.py_func, self._signature = function, signature
        self._entry = None

    def __call__(self, *args):
        return (self._entry or self.ready())(*args)

    def ready(self):
        """Load or compile now; returns the function itself."""
        with _COMPILE:
            if self._entry is None:
                if numba.config.DISABLE_JIT:
                    raise RuntimeError("bdis needs Numba's compiler, but NUMBA_DISABLE_JIT is set; unset it")
                begin = time.perf_counter()
                dispatcher = numba.njit(**self.options)(self.py_func)
                if (folder := _folder(room_of(self.py_func))) is not None:
                    dispatcher._cache = _CheckedCache(folder, self.__name__)
                dispatcher.compile(self._signature)
                dispatcher.disable_compile()
                self._entry = dispatcher
                log.debug("kernel %s ready in %.2f s", self.__name__, time.perf_counter() - begin)
        return self._entry


@functools.cache
def _folder(room: Path) -> Path | None:
    folder = cache_folder(room)
    if folder is None:
        log.warning("no writable place for compiled kernels: every process will compile them anew")
    return folder


def kernel(signature):
    """Decorate a function as a :class:`Kernel` with one Numba ``signature``."""
    return lambda function: Kernel(function, signature)
