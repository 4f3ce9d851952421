"""The computer that bdis runs on: measured times mean little without it."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGES = {
    "bdis": "bdis", "numpy": "numpy", "numba": "numba", "opencv-python-headless": "opencv", "av": "av",
    "torch": "torch", "onnxruntime": "onnxruntime",
}  # fmt: skip


def machine() -> dict[str, str]:
    """Describe the processor, the operating system, the versions of the packages and the commit.

    Returns
    -------
    dict of str to str
        Packages that are not installed are left out; ``commit`` is ``"unknown"`` outside a working copy.

    Examples
    --------
    >>> "cpu" in machine()
    True
    """
    return dict(_facts())


@functools.cache  # a third of the time of a short recording, of which a process may make thousands
def _facts() -> dict[str, str]:
    import llvmlite.binding

    found = {
        "cpu": _processor(),
        "llvm cpu": os.environ.get("NUMBA_CPU_NAME") or llvmlite.binding.get_host_cpu_name(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package, name in _PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    found["commit"] = _commit()
    return found


def usable_cores() -> int:
    """Count the processor cores that this process may use.

    Returns
    -------
    int
        At least 1.  Fewer than the machine has if the process is restricted to some of them, for example by ``taskset``
        or a container.

    Examples
    --------
    >>> usable_cores() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _processor() -> str:
    """Model name of the processor; outside Linux, its architecture."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Short hash of the commit of our working copy; a package that is installed in somebody's repository has none."""
    root = Path(__file__).parents[3]
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # set in hooks
    try:
        if not (root / ".git").exists() or 'name = "bdis"' not in (root / "pyproject.toml").read_text():
            return "unknown"
        git = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment)
    except OSError:
        return "unknown"
    return git.stdout.strip() or "unknown"
