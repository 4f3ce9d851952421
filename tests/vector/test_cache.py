"""Compiled kernels are kept between processes, and no state of the disk makes a result wrong or a call fail.

Kernels run in processes of their own, as each is loaded once per process.  Compiling takes seconds, so only one fixture
compiles those of a preset, the one with the fewest; the rest make do with the smallest ones.
"""

import hashlib
import json
import os
import re
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
from bdis.vector.cache_folders import forget_old

ROOM = Path(kernels.__file__).parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="places are made unusable in ways of POSIX")

Filled = tuple[Path, list[tuple[str, str]]]  # a cache folder; output and complaints of the processes that filled it

# Prints a digest of a whole match: equal output means equal results.
MATCH = """
import hashlib, numpy as np, bdis
pair = np.random.default_rng(0).integers(1, 255, (2, 48, 64), dtype=np.uint8)
result = bdis.StereoMatcher("fast").match(*pair)
print(hashlib.sha256(result.disparity.tobytes() + result.probability.tobytes()).hexdigest())
"""
FORBID_COMPILING = """
from numba.core import compiler
def compile_extra(*args, **kwargs): raise AssertionError('compiled again')
compiler.compile_extra = compile_extra
"""
HALVE = """
import numpy as np
from bdis.matching import kernels
from bdis.matching.kernels.pyramid import ByteImage, Image
from bdis.vector.crew import Threads
level = Image(pixels=np.zeros((16, 80), np.int16), width=16)
image = ByteImage(pixels=np.full((32, 32), 7, np.uint8))
Threads(1).run(lambda crew: print(kernels.halve_grey(image, level, 6, crew) or "", end=""))
assert (level.pixels == 7 * 16).all()
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
    assert run(FORBID_COMPILING + MATCH, BDIS_CACHE_DIR=folder) == compiled
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


def test_a_folder_removed_by_another_process_does_not_matter(tmp_path: Path) -> None:
    current, old = tmp_path / ("a" * 16), tmp_path / ("b" * 16)
    current.mkdir()
    old.mkdir()
    os.utime(old, (0, 0))
    (tmp_path / ("0" * 16)).symlink_to(tmp_path / "gone")  # listed, but cannot be examined any more
    forget_old(current)
    assert current.exists()
    assert not old.exists()


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
    damaged = [next(own_copy.rglob(f"*.{name}-*.kernel")) for name in ("halve_grey", "enlarge_maps")]
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
    folder = cache.choose_cache(ROOM).folder
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
    assert cache.choose_cache(ROOM).folder is None
    private.rmdir()
    private.symlink_to(tmp_path)
    assert cache.choose_cache(ROOM).folder is None


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


KEYS = """
import json, sys
from pathlib import Path
import bdis
from bdis.vector.cache import source_key

package = Path(bdis.__file__).parent
rooms = {"matcher": "matching/kernels", "renderer": "synthetic/kernels", "elas": "evaluation/baselines/elas/kernels"}
def keys():
    return {name: source_key(package / room) for name, room in rooms.items()}
found = {"copied": keys()}
for file in sys.stdin.read().split():
    path = package / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((before or "") + "# edited")
    found[file] = keys()
    path.write_text(before) if before is not None else path.unlink()
print(json.dumps(found))
"""


def test_an_edit_changes_the_key_of_what_is_made_of_that_file(tmp_path: Path) -> None:
    """Of no other room; Numba's own cache does not notice edits of files that a kernel only imports from."""
    package = Path(bdis.__file__).parent
    shutil.copytree(package, tmp_path / "bdis", ignore=shutil.ignore_patterns("__pycache__"))
    edits = {
        "vector/simd.py": {"matcher", "renderer", "elas"},
        "vector/new/file.py": {"matcher", "renderer", "elas"},
        "matching/kernels/search.py": {"matcher"},
        "matching/kernels/new/file.py": {"matcher"},
        "synthetic/kernels/rays.py": {"renderer"},
        "synthetic/kernels/new/file.py": {"renderer"},
        "evaluation/baselines/elas/kernels/dense.py": {"elas"},
        "evaluation/baselines/elas/kernels/new/file.py": {"elas"},
        "matching/settings.py": set(),
    }
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", KEYS],
        input="\n".join(edits),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    keys = json.loads(done.stdout)
    copied = keys.pop("copied")
    assert copied["matcher"] == cache.source_key(ROOM)  # the same sources elsewhere
    changed = {file: {name for name in copied if found[name] != copied[name]} for file, found in keys.items()}
    assert changed == edits


def test_a_file_imported_from_another_room_belongs_to_the_key(tmp_path: Path) -> None:
    one, other = tmp_path / "one" / "kernels", tmp_path / "other" / "kernels"
    for folder in (one, other):
        folder.mkdir(parents=True)
        (folder / "own.py").write_text("")
    (one / "own.py").write_text("from ...other.kernels.used import (\n    something,\n)\n")
    for name in ("used", "unused"):
        (other / f"{name}.py").write_text("something = 1\n")
    before = cache.source_key(one)
    (other / "unused.py").write_text("something = 2\n")
    assert cache.source_key(one) == before
    (other / "used.py").write_text("something = 2\n")
    assert cache.source_key(one) != before


ROOM_FILES = {
    "toy/__init__.py": "",
    "toy/kernels/__init__.py": "",
    "toy/kernels/deep/__init__.py": "",
    "toy/kernels/deep/helper.py": "from bdis.vector.cache import inner\n@inner\ndef value(x): return x + 1\n",
    "toy/kernels/twice.py": (
        "from numba import int64\nfrom bdis.vector.cache import kernel\nfrom .deep.helper import value\n"
        "@kernel(int64(int64))\ndef twice(x): return 2 * value(x)\n"
        "@kernel(int64(int64))\ndef same(x): return value(x)\n"
    ),
    "toy/kernels/thrice.py": (
        "from numba import int64\nfrom bdis.vector.cache import kernel\nfrom .deep.helper import value\n"
        "@kernel(int64(int64))\ndef thrice(x): return 3 * value(x)\n"
        "@kernel(int64(int64))\ndef same(x): return -value(x)\n"
    ),
}
TOY = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(message)s", level=sys.argv[1] if len(sys.argv) > 1 else "WARNING")
logging.getLogger("numba").setLevel("WARNING")
import toy.kernels
from bdis.vector import cache, side_processes
kernels = cache.kernels_in(toy.kernels)
def show(): print(*(f"{k.__name__}={k(10)}" for k in kernels))
"""


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, str]:
    """A package with four small kernels; the environment of a process that uses it."""
    for name, text in ROOM_FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources = [str(tmp_path / "src"), str(Path(bdis.__file__).parents[1])]
    return {"PYTHONPATH": os.pathsep.join(sources), "BDIS_CACHE_DIR": str(tmp_path / "cache")}


def test_an_edit_in_a_subfolder_leads_to_a_recompile(toy: dict[str, str], tmp_path: Path) -> None:
    show = TOY + "cache.prepare(kernels)\nshow()"
    assert run(show, **toy) == ("thrice=33 same=-11 twice=22 same=11", "")
    assert run(FORBID_COMPILING + show, **toy) == ("thrice=33 same=-11 twice=22 same=11", "")
    (tmp_path / "src/toy/kernels/deep/helper.py").write_text(
        "from bdis.vector.cache import inner\n@inner\ndef value(x): return x + 2\n"
    )
    assert run(show, **toy) == ("thrice=36 same=-12 twice=24 same=12", "")


def test_only_what_is_compiled_is_reported(toy: dict[str, str]) -> None:
    prepare = TOY + "print(cache.prepare(kernels, lambda *state: print(*state)))\n"
    first = run(TOY + "kernels[0].ready()", **toy)
    assert first == ("", "")
    lines = run(prepare, **toy)[0].splitlines()
    assert lines[-1] == "3"
    assert [line.split()[:2] for line in lines[:-1]] == [[str(k), "3"] for k in (0, 1, 1, 2, 2, 3)]
    assert run(prepare, **toy) == ("0", "")


def test_the_library_logs_that_it_compiles_and_nothing_when_it_need_not(toy: dict[str, str]) -> None:
    show = "import sys; sys.argv[1:] = ['INFO']\n" + TOY + "cache.prepare(kernels)"
    lines = run(show, **toy)[0].splitlines()
    assert lines[0] == "compiling 4 kernels for this machine: thrice, twice, same, same"
    assert lines[-1].startswith("compiled 4 kernels in")
    assert run(show, **toy) == ("", "")


ON_A_TERMINAL = """
import sys
from bdis.vector import progress
progress.DELAY_S = 0.0
sys.stderr.isatty = lambda: True
"""


def test_one_line_on_a_terminal_while_compiling(toy: dict[str, str]) -> None:
    prepare = ON_A_TERMINAL + TOY + "cache.prepare(kernels)"
    written = run(prepare, **toy)[1]
    assert "bdis: compiling kernels for this machine (once): 1 of 4 (" in written
    drawn = written.split("\n")  # read as text, a return to the beginning of the line is a new line
    assert all(line.startswith("\x1b[K") for line in drawn)
    assert drawn[-1] == "\x1b[K"  # erased
    assert run(prepare, **toy) == ("", "")


def test_no_line_when_logging_shows_it_or_compiling_is_quick(toy: dict[str, str]) -> None:
    logged = "import sys; sys.argv[1:] = ['INFO']\n" + ON_A_TERMINAL + TOY + "kernels[0].ready()"
    assert run(logged, **toy)[1] == ""
    quick = ON_A_TERMINAL + "progress.DELAY_S = 60\n" + TOY + "kernels[1].ready()"
    assert run(quick, **toy)[1] == ""


# --- Other processes --------------------------------------------------------------------------------------------------

SIDE_BY_SIDE = (
    TOY
    + """
import time
side_processes.MIN_SIZE = 0
side_processes._usable_cores = lambda: 2
compiled_here, compile = [], cache.Kernel.compile
def slowly(kernel, folder):
    compiled_here.append(kernel)
    time.sleep(DELAY)
    compile(kernel, folder)
cache.Kernel.compile = slowly
cache.prepare(kernels)
show()
print(len(compiled_here))
"""
)


def test_another_process_compiles_a_share(toy: dict[str, str]) -> None:
    shown, here = run("DELAY = 5\n" + SIDE_BY_SIDE, **toy)[0].splitlines()
    assert shown == "thrice=33 same=-11 twice=22 same=11"
    assert int(here) < 4


@pytest.mark.parametrize(
    "failure",
    [
        "side_processes._CODE = 'raise SystemExit(1)'",
        "side_processes._CODE = 'import time; time.sleep(1000)'",
        'side_processes._CODE = \'print("bdis kernel: done"); print("bdis kernel: failed"); input()\'',
        "sys.executable = '/nowhere/python'",
    ],
    ids=["dies", "hangs", "fails", "cannot start"],
)
def test_kernels_are_compiled_here_if_the_other_process_fails(toy: dict[str, str], failure: str) -> None:
    code = SIDE_BY_SIDE.replace("import time\n", f"import time\n{failure}\n")
    assert run("DELAY = 0\n" + code, **toy) == ("thrice=33 same=-11 twice=22 same=11\n4", "")


def test_another_process_ends_with_this_one(toy: dict[str, str]) -> None:
    """Its stdin ends when this process does."""
    serve = "from bdis.vector.side_processes import serve; serve()"
    done = subprocess.run([sys.executable, "-c", serve], input="{}\n", env=os.environ | toy, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "bdis kernel: done\n")


def test_another_process_with_other_sources_compiles_nothing(toy: dict[str, str], tmp_path: Path) -> None:
    compile_into = TOY + f"print(cache.compile_into('toy.kernels.twice', 'twice', {str(tmp_path / ('0' * 16))!r}))"
    assert run(compile_into, **toy) == ("False", "")


# --- Numba ------------------------------------------------------------------------------------------------------------


def test_private_names_of_numba_are_used_in_one_file() -> None:
    """Elsewhere only what Numba documents for extending it."""
    extending = r"import (cgutils, types|cgutils)$|numba\.core\.(datamodel|imputils|typing\.templates) import"
    package = Path(bdis.__file__).parent
    used = [
        f"{path.relative_to(package)}: {line}"
        for path in package.rglob("*.py")
        if path != package / "vector/cache.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if "numba.core" in line and line != "from numba.core import types"
        if path.parent.name != "vector" or not re.search(extending, line)
    ]
    assert used == []


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
