"""``bdis doctor`` and ``bdis warmup``: examine the installation, and compile all kernels ahead of the first match."""

import importlib.metadata
import os
import platform
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import typer

from ..common.optional import OPENCV_WHEELS, install_command, opencv_wheels, pip_command, require
from . import terminal
from .options import Debug, Json

PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    *OPENCV_WHEELS,
    "matplotlib",
    "av",
    "viser",
    "typer",
    "rich",
)
VECTOR_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "neon", "sve")
SELF_TEST_S = 1.5
MAX_ERROR_PX = 0.25  # median, in the scene of the self-test; about 0.1 in a sound installation


def kernel_packages() -> dict[str, ModuleType]:
    """The packages with compiled code, by what they belong to."""
    from ..evaluation.baselines.elas import kernels as elas
    from ..matching import kernels as matcher
    from ..synthetic import kernels as renderer

    return {"matcher": matcher, "renderer": renderer, "ELAS": elas}


class CacheState(NamedTuple):
    """Compiled kernels of a package."""

    folder: Path | None
    unsafe: list[str]  # places where they are not kept, since other users may write there
    files: list[Path]
    kernels: int  # of the package, compiled or not


def cached_kernels(package: ModuleType) -> CacheState:
    """What the compile cache has of a package."""
    from ..vector import cache

    kernels = cache.kernels_in(package)
    folder, unsafe = cache.choose_cache(kernels[0].room)
    files = sorted(folder.glob("*.kernel")) if folder is not None else []
    return CacheState(folder, unsafe, files, len(kernels))


def run_doctor() -> bool:
    """Print what matters for speed and correctness; True if the self-test passed."""
    rows: list[tuple[object, ...]] = []
    with terminal.working("examining"):
        versions = _versions()
        processor, features = _processor()
    rows += [("python", f"{platform.python_version()}, {sys.platform} {platform.machine()}")]
    rows += [("packages", ", ".join(f"{name} {version}" for name, version in versions.items()))]
    rows += [("processor", f"{processor}, {os.cpu_count()} cores; vectors: {' '.join(features) or 'none known'}")]
    opencv, opencv_problem = _opencv()
    rows += [("OpenCV", opencv_problem or opencv)]
    with terminal.working("self-test, two seconds"):
        error_px, coverage, frame_ms = _self_test()
    folder, unsafe, files, count = cached_kernels(kernel_packages()["matcher"])
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    if folder is None:
        rows += [("compile cache", "NO WRITABLE PLACE: every process compiles anew; set BDIS_CACHE_DIR")]
    else:
        missing = "" if len(files) >= count else "; bdis warmup compiles the others"
        state = f"{len(files)} of {count} kernels of the matcher, {megabytes:.1f} MB{missing}"
        rows += [("compile cache", f"{folder}: {state}")]
    rows += [("compile cache", f"NOT SAFE: {problem}; correct its owner or mode") for problem in unsafe]
    passed = bool(error_px < MAX_ERROR_PX and coverage > 0.5)
    measured = f"{error_px:.3f} px median error, {coverage:.0%} known, {frame_ms:.2f} ms (320x240)"
    rows += [("self-test", f"{'passed' if passed else 'FAILED'}: {measured}")]
    terminal.table(rows)
    cache_state = {"folder": folder, "unsafe": unsafe, "kernels": len(files), "of": count, "megabytes": megabytes}
    self_test = {"passed": passed, "median_error_px": error_px, "coverage": coverage, "ms_per_frame": frame_ms}
    terminal.give(
        {
            "python": platform.python_version(),
            "platform": f"{sys.platform} {platform.machine()}",
            "packages": versions,
            "opencv": {"found": opencv, "problem": opencv_problem},
            "processor": processor,
            "vector_features": features,
            "cache": cache_state,
            "self_test": self_test,
        }
    )
    return passed


def run_warmup() -> None:
    """Compile or load every kernel: the matcher's, the renderer's and those of ELAS."""
    begin = time.perf_counter()
    with terminal.working("loading the kernels"):
        from ..vector.cache import kernels_in, prepare

        packages = kernel_packages()
        kernels = [kernel for package in packages.values() for kernel in kernels_in(package)]
        compiled = prepare(kernels)
    seconds = time.perf_counter() - begin
    found = {name: cached_kernels(package) for name, package in packages.items()}
    folder = found["matcher"].folder
    place = f"kept in {folder.parent}" if folder is not None else "not kept: no writable place, set BDIS_CACHE_DIR"
    terminal.say(f"{len(kernels)} kernels ready in {seconds:.1f} s, {compiled} of them compiled; {place}")
    terminal.give(
        {
            "kernels": len(kernels),
            "compiled": compiled,
            "seconds": seconds,
            "cache": folder.parent if folder is not None else None,
            "files": sum(len(state.files) for state in found.values()),
        }
    )


def _versions() -> dict[str, str]:
    from .. import __version__

    found = {"bdis": __version__}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _opencv() -> tuple[str | None, str | None]:
    """The OpenCV that is there, with its wheel, and what is wrong with it."""
    wheels = opencv_wheels()
    try:
        version = require("cv2", "reading images").__version__
    except ImportError as error:
        return None, f"NOT USABLE: {error}"
    found = ", ".join(f"{name} {each}" for name, each in wheels.items()) or f"{version}, not from a wheel"
    if len(wheels) < 2:
        return found, None
    remedy = f"{pip_command('uninstall')} {' '.join(wheels)}, then {install_command('cv2')}"
    return found, f"{len(wheels)} WHEELS THAT OVERWRITE EACH OTHER: {found}; to keep one: {remedy}"


def _processor() -> tuple[str, list[str]]:
    """Name and vector features of the processor the kernels are compiled for."""
    import llvmlite.binding as llvm
    import numba

    chosen: Any = numba.config
    name = chosen.CPU_NAME or llvm.get_host_cpu_name()
    if chosen.CPU_FEATURES is not None:
        present = {part[1:] for part in str(chosen.CPU_FEATURES).split(",") if part.startswith("+")}
    elif chosen.CPU_NAME:
        return str(name), ["as NUMBA_CPU_NAME says"]
    else:
        present = {feature for feature, here in llvm.get_host_cpu_features().items() if here}
    return str(name), [feature for feature in VECTOR_FEATURES if feature in present]


def _self_test() -> tuple[float, float, float]:
    """Median error in px, coverage and ms per frame on a rendered scene."""
    import numpy as np

    from ..matching.matcher import StereoMatcher
    from ..synthetic import render

    pair = render("tissue", 240, 320, seed=1)
    matcher = StereoMatcher()
    result = matcher.match(pair.left, pair.right)
    times = []
    end = time.perf_counter() + SELF_TEST_S
    while time.perf_counter() < end:
        begin = time.perf_counter()
        matcher.match(pair.left, pair.right)
        times.append(time.perf_counter() - begin)
    error = np.abs(result.disparity - pair.disparity)
    known = np.isfinite(error)
    median = float(np.median(error[known])) if known.any() else float("inf")
    return median, result.coverage, 1e3 * float(np.median(times))


def doctor(json: Json = False, debug: Debug = False) -> None:
    """Show versions, processor and kernel cache, and run a self-test.

    \b
    bdis doctor
    bdis doctor --json

    The exit code is 1 if the self-test fails.
    """
    if not run_doctor():
        raise typer.Exit(1)


def warmup(json: Json = False, debug: Debug = False) -> None:
    """Compile all kernels now, which is needed once per machine.

    \b
    bdis warmup

    Otherwise they are compiled when they are first needed, and the first match takes that much longer.
    """
    run_warmup()
