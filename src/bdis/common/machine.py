"""What figures were made on: a time without it says nothing."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGES = {"bdis": "bdis", "numpy": "numpy", "numba": "numba", "opencv-python-headless": "opencv", "av": "av"}


def machine() -> dict[str, str]:
    """Processor, versions and, in a working copy, the commit.

    Examples
    --------
    >>> "cpu" in machine()
    True
    """
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0] if models else cpu
    import llvmlite.binding

    found = {
        "cpu": cpu,
        "llvm cpu": os.environ.get("NUMBA_CPU_NAME") or llvmlite.binding.get_host_cpu_name(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package, name in (
        ("bdis", "bdis"),
        ("numpy", "numpy"),
        ("numba", "numba"),
        ("opencv-python-headless", "opencv"),
        ("av", "av"),
    ):
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    found["commit"] = _commit()
    return found


def _commit() -> str:
    """Of the working copy this package is in; installed ones have none."""
    here = Path(__file__).parent
    try:
        git = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return "unknown"
    return git.stdout.strip() or "unknown"
