"""Compiled kernels are kept between processes, and no state of the disk makes a result wrong or a call fail.

Kernels run in processes of their own, as each is loaded once per process.  Compiling all of them takes seconds, so
only one fixture does it; the rest make do with the smallest ones.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import bdis
from bdis.matching import kernels
from bdis.vector import cache

ROOM = Path(kernels.__file__).parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="places are made unusable in ways of POSIX")

Filled = tuple[Path, list[tuple[str, str]]]  # a cache folder; output and complaints of the processes that filled it

# Prints a digest of a whole match: equal output means equal results.
MATCH = """
import hashlib, numpy as np, bdis
pair = np.random.default_rng(0).integers(1, 255, (2, 48, 64), dtype=np.uint8)
result = bdis.StereoMatcher().match(*pair)
print(hashlib.sha256(result.disparity.tobytes() + result.probability.tobytes()).hexdigest())
"""
HALVE = """
import numpy as np
from bdis.matching import kernels
image = np.full((32, 32), 7, np.uint8)
out = np.zeros((16, 80), np.int16)
assert not kernels.halve_grey(image, 6, out, 0, 16)
assert (out == 7 * 16).all()
print("right")
"""


def start(code: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A Python process that sees ``environment`` and nothing else that could move the cache."""
    moving = ("BDIS_", "NUMBA_", "XDG_CACHE_HOME", "HOME", "TMPDIR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(moving)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=kept | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process printed and what it complained of."""
    output, complaints = process.communicate(timeout=600)
    assert process.returncode == 0, complaints
    return output.strip(), complaints.strip()


def run(code: str, **environment: Path | str) -> tuple[str, str]:
    return finish(start(code, {name: str(value) for name, value in environment.items()}))


def kernel_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A place where nothing can be written, not even by root: it lies below a regular file."""
    file = tmp_path / "a file"
    file.touch()
    return file / "folder"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A cache that two processes filled at once, and what each of them printed."""
    folder = tmp_path_factory.mktemp("filled")
    both = [start(MATCH, {"BDIS_CACHE_DIR": str(folder)}) for _ in range(2)]
    return folder, [finish(process) for process in both]


@pytest.fixture
def own_copy(filled: Filled, tmp_path: Path) -> Path:
    """A filled cache that a test may spoil."""
    return Path(shutil.copytree(filled[0], tmp_path / "copy"))


def test_two_processes_fill_one_cache_at_once(filled: Filled) -> None:
    folder, (first, second) = filled
    assert first == second
    assert first[1] == ""
    assert len(kernel_files(folder)) >= 3
    assert not list(folder.rglob("*.part"))


def test_a_filled_cache_is_used_as_it_is(filled: Filled) -> None:
    """Loaded kernels give what compiled ones gave, and nothing is compiled or written again."""
    folder, (compiled, _) = filled
    before = {path: path.stat().st_mtime_ns for path in kernel_files(folder)}
    forbid_compiling = (
        "from numba.core import compiler\n"
        "def compile_extra(*args, **kwargs): raise AssertionError('compiled again')\n"
        "compiler.compile_extra = compile_extra\n"
    )
    assert run(forbid_compiling + MATCH, BDIS_CACHE_DIR=folder) == compiled
    assert {path: path.stat().st_mtime_ns for path in kernel_files(folder)} == before


def test_what_old_versions_left_is_removed_after_a_month(own_copy: Path) -> None:
    old, recent, unrelated = (own_copy / name for name in ("0" * 16, "1" * 16, "notes"))
    for folder in (old, recent, unrelated):
        folder.mkdir()
    for folder in (old, unrelated):
        os.utime(folder, (0, 0))
    (file,) = own_copy.rglob("pyramid.halve_grey-*.kernel")
    file.unlink()
    assert run(HALVE, BDIS_CACHE_DIR=own_copy) == ("right", "")
    assert [folder.exists() for folder in (old, recent, unrelated)] == [False, True, True]


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def garbage(content: bytes) -> bytes:
    return b"\xa5" * len(content)


def one_bit_flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def signed_garbage(content: bytes) -> bytes:
    """Passes the check of the digest and still is no kernel."""
    payload = b"\xa5" * 1000
    return hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize("damage", [truncated, emptied, garbage, one_bit_flipped, signed_garbage])
def test_a_damaged_file_is_reported_and_replaced(own_copy: Path, damage: Callable[[bytes], bytes]) -> None:
    (file,) = own_copy.rglob("pyramid.halve_grey-*.kernel")
    file.write_bytes(damage(file.read_bytes()))
    output, complaints = run(HALVE, BDIS_CACHE_DIR=own_copy)
    assert output == "right"
    assert complaints.startswith(f"ignoring unreadable cache file {file}")
    assert len(complaints.splitlines()) == 1
    assert run(HALVE, BDIS_CACHE_DIR=own_copy) == ("right", "")


def test_a_match_with_several_damaged_files(own_copy: Path, filled: Filled) -> None:
    """As after a disk that filled up: some kernels load, some are compiled, together they give the same result."""
    damaged = [next(own_copy.rglob(f"*.{name}-*.kernel")) for name in ("halve_grey", "upsample_rows")]
    for file in damaged:
        file.write_bytes(truncated(file.read_bytes()))
    output, complaints = run(MATCH, BDIS_CACHE_DIR=own_copy)
    assert output == filled[1][0][0]
    assert complaints.count("ignoring unreadable cache file") == len(damaged)


def test_home_without_write_access(blocked: Path, tmp_path: Path) -> None:
    """Compiled kernels then go to a temporary folder that only this user can enter."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    assert run(HALVE, HOME=blocked, TMPDIR=temporary) == ("right", "")
    (private,) = temporary.iterdir()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert [path.name.split("-")[0] for path in kernel_files(private)] == ["pyramid.halve_grey"]


@pytest.mark.parametrize(
    "name",
    [
        "BDIS_CACHE_DIR",
        pytest.param("XDG_CACHE_HOME", marks=pytest.mark.skipif(sys.platform == "darwin", reason="not read there")),
        "HOME",
    ],
)
def test_each_unusable_place_falls_back(
    name: str, blocked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("BDIS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(name, str(blocked))
    folder = cache.cache_folder(ROOM)
    assert folder is not None
    assert folder.parent.parent == tmp_path


def test_a_temporary_folder_open_to_others_is_not_trusted(
    blocked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write there could have us run their code."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("BDIS_CACHE_DIR", str(blocked))
    private = tmp_path / f"bdis-{os.getuid()}"
    private.mkdir()
    private.chmod(0o777)
    assert cache.cache_folder(ROOM) is None
    private.rmdir()
    private.symlink_to(tmp_path)
    assert cache.cache_folder(ROOM) is None


def test_no_writable_place_at_all(blocked: Path) -> None:
    no_temporary = f"import tempfile; tempfile.tempdir = {str(blocked)!r}\n"
    output, complaints = run(no_temporary + HALVE, HOME=blocked)
    assert output == "right"
    assert complaints.startswith("no writable place for compiled kernels")
    assert len(complaints.splitlines()) == 1


def test_folder_that_vanishes_while_compiling(tmp_path: Path) -> None:
    """The kernel is not kept, but it works."""
    vanish = (
        "import shutil; from bdis.matching import kernels; from bdis.vector.cache_folders import folder_of\n"
        "shutil.rmtree(folder_of(kernels.halve_grey.room))\n"
    )
    output, complaints = run(vanish + HALVE, BDIS_CACHE_DIR=tmp_path / "cache")
    assert output == "right"
    assert complaints.startswith("could not keep compiled kernel")


def test_an_edited_kernel_moves_the_folder(tmp_path: Path) -> None:
    """Also if the edit is in a file that the kernels only import from, which Numba's own cache does not notice."""
    package = Path(bdis.__file__).parent
    shutil.copytree(package, tmp_path / "bdis", ignore=shutil.ignore_patterns("__pycache__"))
    key = (
        "import bdis; from bdis.vector.cache import source_key; from pathlib import Path\n"
        "print(bdis.__file__, source_key(Path(bdis.__file__).parent / 'matching/kernels'))\n"
    )
    copied, _ = run(key, PYTHONPATH=tmp_path)
    assert copied == f"{tmp_path / 'bdis' / '__init__.py'} {cache.source_key(ROOM)}"
    with (tmp_path / "bdis/vector/simd.py").open("a") as simd:
        simd.write("\n# edited\n")
    edited, _ = run(key, PYTHONPATH=tmp_path)
    assert edited.split()[0] == copied.split()[0]
    assert edited.split()[1] != copied.split()[1]


def test_numba_settings_of_the_user_are_left_alone(tmp_path: Path) -> None:
    """Neither changed nor used: the user's own kernels are cached where the user said, ours are not."""
    look = (
        "import os, numba.core.config as config\n"
        "def settings():\n"
        "    numba_only = {k: v for k, v in os.environ.items() if k.startswith('NUMBA')}\n"
        "    return numba_only, {k: v for k, v in vars(config).items() if k.isupper()}\n"
        "before = settings()\n"
    )
    unchanged = "assert settings() == before, settings()\n"
    numba_cache = tmp_path / "numba"
    numba_cache.mkdir()
    output = run(
        look + HALVE + unchanged,
        BDIS_CACHE_DIR=tmp_path / "bdis",
        NUMBA_CACHE_DIR=numba_cache,
        NUMBA_NUM_THREADS="1",
        NUMBA_OPT="1",
    )
    assert output == ("right", "")
    assert kernel_files(tmp_path / "bdis")
    assert not list(numba_cache.iterdir())


def test_importing_bdis_loads_nothing_heavy() -> None:
    code = "import sys, bdis; dir(bdis); print(sorted({'numba', 'numpy', 'llvmlite'} & sys.modules.keys()))"
    assert run(code) == ("[]", "")
