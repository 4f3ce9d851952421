"""What other users may have written is not executed, and too little memory does not end the process."""

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bdis.matching import kernels
from bdis.vector import cache_folders, memory_room, safe_folders
from bdis.vector.cache_folders import choose_cache, digest, forget_old
from bdis.vector.safe_folders import make_folder, read_own, why_unsafe, write_own
from tests.vector.test_cache import HALVE, kernel_files, run

ROOM = Path(kernels.__file__).parent
STRANGER = 12345  # a user who is neither root nor this one

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")
as_root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A safe folder."""
    folder = tmp_path / "place"
    make_folder(folder)
    return folder


class Planted:
    """Pickled, this runs a command when it is loaded."""

    def __init__(self, mark: Path):
        self._mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self._mark}",)


def test_a_file_planted_in_a_folder_open_to_all_is_not_executed(place: Path, tmp_path: Path) -> None:
    """As another user would, who knows the names of the files."""
    mark = tmp_path / "was executed"
    assert run(HALVE, BDIS_CACHE_DIR=place, TMPDIR=tmp_path)[0] == "right"
    payload = pickle.dumps(Planted(mark))
    for file in kernel_files(place):
        file.write_bytes(digest(payload) + payload)
    place.chmod(0o777)
    output, complaints = run(HALVE, BDIS_CACHE_DIR=place, TMPDIR=tmp_path)
    assert output == "right"
    assert not mark.exists()
    assert complaints.startswith(f"other users may write to {place}, and what is kept in {place} is executed")
    assert "kept in" in complaints
    assert len(complaints.splitlines()) == 1


def test_a_safe_folder_is_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BDIS_CACHE_DIR", str(place))
    folder, unsafe = choose_cache(ROOM)
    assert folder is not None
    assert folder.parent == place
    assert unsafe == []


@pytest.mark.parametrize("mode", [0o777, 0o722, 0o1777])
def test_a_folder_that_others_may_write_to_is_unsafe(place: Path, mode: int) -> None:
    """Also with the sticky bit: others could add files."""
    assert why_unsafe(place) == ""
    place.chmod(mode)
    assert why_unsafe(place) == f"other users may write to {place}"


def test_every_folder_on_the_way_counts(place: Path) -> None:
    inner = place / "a/b"
    make_folder(inner)
    assert [folder.stat().st_mode & 0o777 for folder in (inner, inner.parent)] == [0o700, 0o700]
    (place / "a").chmod(0o777)
    assert why_unsafe(inner) == f"other users may write to {place / 'a'}"
    (place / "a").chmod(0o1777)  # as /tmp
    assert why_unsafe(inner) == ""


def test_a_link_counts_as_the_way_it_leads(place: Path, tmp_path: Path) -> None:
    inner, link, relative = place / "open/kept", tmp_path / "link", tmp_path / "relative"
    make_folder(inner)
    link.symlink_to(inner)
    relative.symlink_to("place/open")
    assert why_unsafe(link) == why_unsafe(relative / "kept") == ""
    inner.parent.chmod(0o777)
    assert why_unsafe(link) == why_unsafe(relative / "kept") == f"other users may write to {inner.parent}"
    link.unlink()
    link.symlink_to(link)
    assert "too many symbolic links" in why_unsafe(link)


@as_root
def test_what_belongs_to_another_user_is_unsafe(place: Path, tmp_path: Path) -> None:
    inner, link = place / "kept", tmp_path / "link"
    make_folder(inner)
    os.chown(place, STRANGER, STRANGER)
    assert why_unsafe(inner) == f"{place} belongs to another user"
    os.chown(place, 0, 0)
    link.symlink_to(inner)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert why_unsafe(link) == f"{link} belongs to another user"


@as_root
def test_the_cache_of_the_user_who_became_root_is_not_trusted(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with sudo, which may leave HOME as it is."""
    for name in ("BDIS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setattr(cache_folders.tempfile, "tempdir", str(tmp_path))
    os.chown(place, STRANGER, STRANGER)
    folder, (problem,) = choose_cache(ROOM)
    assert folder is not None
    assert folder.parent.parent == tmp_path
    assert problem.startswith(f"{place} belongs to another user")


def test_the_own_group_of_a_user_is_the_user(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.chmod(0o770)
    monkeypatch.setattr(safe_folders, "_is_own_group", lambda number: True)
    assert why_unsafe(place) == ""
    monkeypatch.setattr(safe_folders, "_is_own_group", lambda number: False)
    assert why_unsafe(place) == f"other users may write to {place}"


def test_a_file_that_others_may_write_to_is_not_read(place: Path) -> None:
    file, before = place / "kernel", os.umask(0)
    try:
        write_own(file, b"content")
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_own(file) == b"content"
    file.chmod(0o666)
    with pytest.raises(PermissionError, match="may write to it"):
        read_own(file)


def test_folders_of_others_with_names_of_sixteen_letters_stay(place: Path) -> None:
    """Not only the cache may be in the folder that BDIS_CACHE_DIR names."""
    current, notes, old = place / ("a" * 16), place / "my-research-2024", place / ("0" * 16)
    for folder in (current, notes, old):
        folder.mkdir()
        os.utime(folder, (0, 0))
    forget_old(current)
    assert [folder.exists() for folder in (current, notes, old)] == [True, True, False]


# --- Memory -----------------------------------------------------------------------------------------------------------

LITTLE_ADDRESS_SPACE = """
import re, resource
import bdis.matching.matcher
used = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
resource.setrlimit(resource.RLIMIT_AS, 2 * (used + 40_000_000,))
try:
    bdis.StereoMatcher().match(*np.random.default_rng(0).integers(1, 255, (2, 48, 64), dtype=np.uint8))
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_too_little_memory_for_kernels_says_so(place: Path) -> None:
    """LLVM would end the process."""
    output, complaints = run("import numpy as np, bdis\n" + LITTLE_ADDRESS_SPACE, BDIS_CACHE_DIR=place)
    assert output.startswith("bdis needs about 150 MB of memory to load its kernels, but the system does not give")
    assert complaints == ""


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "groups/outer/inner"
    inner.mkdir(parents=True)
    (tmp_path / "own").write_text("1:cpu:/elsewhere\n0::/outer/inner\n")
    for folder, limit in ((inner, "max"), (inner.parent, "500000000")):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("480000000\n")
        (folder / "memory.stat").write_text("anon 80000000\nfile 400000000\n")
    monkeypatch.setattr(memory_room, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory_room, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory_room, "_MEMORY_INFO", tmp_path / "none")
    memory_room.check_room(400, "to load its kernels")
    with pytest.raises(MemoryError, match=r"needs about 450 MB .* the memory limit of this container .* 420 MB left"):
        memory_room.check_room(450, "to load its kernels")


def test_a_machine_without_free_memory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "info").write_text("MemTotal: 9000000 kB\nMemAvailable: 90000 kB\nSwapFree: 10000 kB\n")
    monkeypatch.setattr(memory_room, "_MEMORY_INFO", tmp_path / "info")
    with pytest.raises(MemoryError, match="this machine has only 102 MB left"):
        memory_room.check_room(150, "to load its kernels")
