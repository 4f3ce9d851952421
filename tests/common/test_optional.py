"""Optional packages: what the errors say when one is missing, too old or does not load."""

import os
import re
import shlex
import subprocess
import sys
import types
from importlib import metadata
from pathlib import Path

import pytest

import bdis
from bdis.common import optional
from bdis.common.optional import install_command, opencv_wheels, require
from bdis.common.typed import typed_program


def wheel(folder, name, version, file="cv2/__init__.py"):
    """A wheel's entry in a folder of installed packages."""
    entry = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    entry.mkdir(parents=True)
    (entry / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (entry / "RECORD").write_text(f"{file},,\n")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).touch()  # from Python 3.12 on, files that are not there are not listed


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Only the packages in this folder are installed."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def test_the_command_names_the_packages_themselves_with_our_bounds(monkeypatch):
    declared = ["numpy>=1.26", "bdis[plots]; extra == 'cli'", "viser>=1.1; extra == 'viewer'", "dask-jobqueue<2,>=0.9"]
    monkeypatch.setattr(metadata, "requires", lambda name: declared)
    assert install_command("msgspec", "dask_jobqueue").endswith(' -m pip install "viser>=1.1" "dask-jobqueue<2,>=0.9"')


def test_a_newer_rosbags_brought_no_zstandard_and_the_command_of_the_error_did_not_either():
    """What we import is declared by us, or by a package that is."""
    sources = "".join(path.read_text("utf-8") for path in Path(bdis.__file__).parent.rglob("*.py"))
    for package in sorted(set(re.findall(r"""\brequire\(\s*"(\w+)""", sources))):
        requirement = re.search(r'"([^"]+)"$', install_command(package))[1]
        name = re.match(r"[\w.-]+", requirement)[0]
        assert requirement != name, f"{package} is not declared"  # with a bound
        brought = optional._DISTRIBUTIONS.get(package)
        if brought == "viser" and optional.is_installed("viser"):
            assert any(line.startswith(package) for line in metadata.requires("viser"))


def test_without_metadata_the_command_has_no_bounds(installed):
    assert install_command("cv2", "scipy").endswith(' "opencv-python-headless" "scipy"')


def test_the_command_runs_as_it_is_printed(tmp_path):
    """In whatever environment this is, activated or not; a package that is there already needs no download."""
    command = install_command("scipy").replace(" install ", " install --dry-run --no-index ")
    if not optional.is_installed("pip"):
        pytest.skip("an environment without pip")
    done = subprocess.run(command, shell=True, cwd=os.getcwd(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Requirement already satisfied: scipy>=" in done.stdout


def test_an_environment_without_pip_is_installed_into_with_uv(monkeypatch):
    monkeypatch.setattr(optional, "is_installed", lambda package: package != "pip")
    assert re.fullmatch(r'uv pip install --python \S+ "torch>=\S+"', install_command("torch"))


def test_a_program_is_typed_by_name_only_if_the_shell_finds_that_one(tmp_path, monkeypatch):
    for folder in ("one", "two words"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "one"))
    assert typed_program(tmp_path / "one" / "tool") == "tool"
    assert shlex.split(typed_program(tmp_path / "two words" / "tool")) == [str(tmp_path / "two words" / "tool")]
    monkeypatch.chdir(tmp_path)
    assert shlex.split(typed_program(tmp_path / "two words" / "tool")) == [os.path.join("two words", "tool")]


def test_a_removed_folder_or_an_unknown_python_is_no_error(tmp_path, monkeypatch):
    """Commands are put together when modules are imported, so that an error there would be one of the import."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert install_command("torch").startswith(sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", None)
    assert install_command("torch").startswith("python -m pip install ")


# --- OpenCV, which comes in four wheels -------------------------------------------------------------------------------


def test_a_missing_opencv_leaves_the_choice(monkeypatch, installed):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r'needs cv2 \(.*, or opencv-python, .*\): .*"opencv-python-headless"$'):
        require("cv2", "reading images")


def test_an_old_opencv_is_refused_with_a_newer_version_of_the_same_wheel(monkeypatch, installed):
    """It would read a JPEG that is cut short and say nothing; the headless wheel would take the windows away."""
    wheel(installed, "opencv-python", "4.10.0.84")
    old = types.ModuleType("cv2")
    old.__version__ = "4.10.0"
    monkeypatch.setitem(sys.modules, "cv2", old)
    with pytest.raises(ImportError, match=r'needs OpenCV 4.11 or newer, found 4.10.0: .* install .*"opencv-python"'):
        require("cv2", "reading images")
    for version in ("4.11.0", "5.0.0-dev"):
        old.__version__ = version
        assert require("cv2", "reading images") is old


def test_a_package_that_does_not_load_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "cv2").mkdir()
    (tmp_path / "cv2" / "__init__.py").write_text("raise ImportError('libGL.so.1: cannot open', name='cv2')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cv2", raising=False)
    with pytest.raises(ImportError, match=r"cv2, which is installed but does not load: libGL.so.1: .*-headless needs"):
        require("cv2", "reading images")


def test_wheels_are_those_that_brought_the_module(installed):
    """Conda's OpenCV has entries of wheels, so that pip is content, but no files in them."""
    wheel(installed, "opencv-python", "4.12.0.88")
    wheel(installed, "opencv-python-headless", "4.12.0.88", file="opencv_python_headless-4.12.0.88.dist-info/METADATA")
    assert opencv_wheels() == {"opencv-python": "4.12.0.88"}
    wheel(installed, "opencv-contrib-python-headless", "4.12.0.88")
    assert list(opencv_wheels()) == ["opencv-python", "opencv-contrib-python-headless"]
