"""Optional packages: imported when first needed, with a command that installs them in the error if they are missing.

The command installs the package itself, with the bounds that bdis declares, so that it works from an index, a wheel or
a clone. OpenCV is a case of its own: four wheels bring the same ``cv2``, only two of them with windows, and each
overwrites the others. So no extra but ``images`` brings one, and the version is checked here.
"""

import re
import sys
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from .typed import typed_program

_DISTRIBUTIONS = {  # what brings a package, if it is not called as the package is
    "cv2": "opencv-python-headless",
    "websockets": "viser",
    "msgspec": "viser",
    "foxglove": "foxglove-sdk",
    "dask_jobqueue": "dask-jobqueue",
}
OPENCV_WHEELS = (  # the first that is there is kept: it can do what the others can
    "opencv-contrib-python",
    "opencv-python",
    "opencv-contrib-python-headless",
    "opencv-python-headless",
)
OLDEST_OPENCV = (4, 11)  # of the bound in pyproject.toml, which holds for one of the wheels only


def opencv_wheels() -> dict[str, str]:
    """Return the installed wheels that brought ``cv2``, which should be one.

    Returns
    -------
    dict of str
        Version by name; empty if OpenCV is missing or came in another way, as from conda or Debian.

    Examples
    --------
    >>> set(opencv_wheels()) <= set(OPENCV_WHEELS)
    True
    """
    found = {}
    for name in OPENCV_WHEELS:
        try:
            wheel = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if any(path.parts[0] == "cv2" for path in wheel.files or ()):  # conda's packages only pretend to be wheels
            found[name] = wheel.version
    return found


def is_installed(package: str) -> bool:
    """Return whether a package can be found; it is not imported.

    Parameters
    ----------
    package : str
        Name that it is imported by.

    Returns
    -------
    bool
        True if it is there.

    Examples
    --------
    >>> is_installed("numpy"), is_installed("no_such_package")
    (True, False)
    """
    try:
        return find_spec(package) is not None
    except ValueError:  # sys.modules holds None for it: its import is blocked
        return False


def install_command(*packages: str) -> str:
    """Return the command that installs optional packages in the environment that this Python runs in.

    Parameters
    ----------
    *packages : str
        Names that they are imported by, such as ``"cv2"``.

    Returns
    -------
    str
        A ``pip install`` command. It runs as it is in the current folder, whether the environment is activated or not.

    Examples
    --------
    >>> install_command("scipy", "dask_jobqueue")  # doctest: +ELLIPSIS
    '...pip install ..."scipy...dask-jobqueue..."'
    """
    return " ".join([pip_command("install"), *(f'"{_requirement(package)}"' for package in packages)])


def pip_command(action: str) -> str:
    """Return the words before the packages in a command for the environment that this Python runs in.

    Parameters
    ----------
    action : str
        ``"install"`` or ``"uninstall"``.

    Returns
    -------
    str
        Such as ``python -m pip install``, with the path of that Python if its environment is not activated.

    Examples
    --------
    >>> "pip install" in pip_command("install")
    True
    """
    python = typed_program(sys.executable) if sys.executable else "python"  # unknown inside other programs
    if not is_installed("pip"):  # as in an environment that uv has made
        return f"uv pip {action} --python {python}"
    return f"{python} -m pip {action}"


def require(module: str, purpose: str) -> Any:
    """Import an optional module.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"matplotlib.figure"``.
    purpose : str
        What needs it, for the error message: ``"reading images"``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        The package is not installed, does not load, or is an OpenCV that is too old; the message says what needs it and
        how to install it.

    Examples
    --------
    >>> require("cv2", "reading images").__name__
    'cv2'
    """
    package = module.partition(".")[0]
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is installed, but something that it imports itself is not
        choice = " (opencv-python-headless, or opencv-python, which has windows as well)" if package == "cv2" else ""
        raise ImportError(f"{purpose} needs {package}{choice}: {install_command(package)}", name=package) from None
    except ImportError as error:
        choice = "; opencv-python-headless needs fewer libraries of the system" if package == "cv2" else ""
        message = f"{purpose} needs {package}, which is installed but does not load: {error}{choice}"
        raise ImportError(message, name=package) from error
    if package == "cv2":
        _check_opencv(found.__version__, purpose)
    return found


def _check_opencv(version: str, purpose: str) -> None:
    """Refuse a version that reads damaged pictures without a word; pip does not, as the wheel can be any of four."""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_OPENCV:
        oldest = ".".join(map(str, OLDEST_OPENCV))
        message = f"{purpose} needs OpenCV {oldest} or newer, found {version}: {install_command('cv2')}"
        raise ImportError(message, name="cv2")


def _requirement(package: str) -> str:
    """Name of the distribution with its bounds, such as ``"scipy>=1.11.2"``."""
    distribution = _DISTRIBUTIONS.get(package, package)
    installed = next(iter(opencv_wheels()), distribution) if package == "cv2" else distribution
    try:
        declared = metadata.requires("bdis") or []
    except metadata.PackageNotFoundError:  # the sources, run without being installed
        declared = []
    for line in declared:
        name, bounds = re.fullmatch(r"([\w.-]+)([^;]*).*", line, re.DOTALL).groups()  # type: ignore[union-attr]
        if name == distribution:
            return f"{installed}{bounds.strip()}"
    return installed
