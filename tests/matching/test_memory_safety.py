"""No kernel touches memory that is not its own.

Vector loads and stores in the kernels are raw pointers without bounds checks.  Here every array a kernel is given lies
directly before or directly after a page that nobody may touch, so one byte too far ends the process: the user's images
and masks, the buffers of the stages, the results.  What lies within an array but was never written for this pair is no
better: buffers start as garbage, and the result must be that of a fresh matcher.  The fuzz runs in a child process; to
see one case again, under a debugger if need be:

    python -m tests.matching.test_memory_safety SEED
"""

import math
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import bdis.matching.images
import bdis.matching.matcher
import bdis.matching.memory
from bdis.matching import kernels
from bdis.matching.assess import Assessment
from bdis.matching.settings import PRESETS, Settings
from bdis.matching.stages import Stages
from bdis.vector.cache import kernels_in
from bdis.vector.records import Record
from tests import guard_pages
from tests.guard_pages import Arena, GuardedNumPy

CASES = 1000
MODULE = "tests.matching.test_memory_safety"
DIFFERS = "not the result of a fresh matcher"

pytestmark = pytest.mark.skipif(bool(guard_pages.MISSING), reason=guard_pages.MISSING or "-")


CONSTANT = {"rows", "cols", "weights", "full_weight", "covering", "row_weights", "lost", "barrier"}  # filled once


def records_in(value: Any, found: dict[int, Record]) -> dict[int, Record]:
    """All records that are reachable from ``value``, by their address."""
    if isinstance(value, Record):
        found[int(value)] = value
    elif isinstance(value, dict):
        records_in(list(value.values()), found)
    elif isinstance(value, list | tuple):
        for item in value:
            records_in(item, found)
    elif type(value).__module__.startswith("bdis.matching.") and hasattr(value, "__dict__"):
        records_in(vars(value), found)
    return found


def guard_stages(stages: Stages, arena: Arena, rng: np.random.Generator) -> None:
    """Move all arrays of ``stages`` to guard pages and fill them with garbage, unless they are constant."""
    moved: dict[int, np.ndarray] = {}
    kept = []  # ids stay unique while the arrays live
    for record in records_in(stages, {}).values():
        for name in record.fields:
            array = getattr(record, name)
            if isinstance(array, np.ndarray):
                if id(array) not in moved:
                    moved[id(array)] = arena.copy(array)
                    kept.append(array)
                    if name not in CONSTANT:
                        guard_pages.fill_with_garbage(moved[id(array)], rng)
                record.update(**{name: moved[id(array)]})


def random_settings(rng: np.random.Generator, shortest_side: int) -> dict[str, Any]:
    """Settings for images of ``shortest_side`` px, most fields drawn anew."""
    size = int(rng.choice([4, 6, 8, 10, 12, 14, 16]))
    finest = [level for level in range(5) if math.ceil(shortest_side / 2**level) >= size]
    settings: dict[str, Any] = {
        "patch_size": size,
        "finest_level": int(rng.choice(finest)),
        "coarsest_level": None,
        "threads": int(rng.integers(1, 4)),
    }
    if rng.random() < 0.3:
        settings["coarsest_level"] = int(rng.integers(settings["finest_level"], 11))
    lowest = float(rng.choice([0, 0, -1e4, -60, -7.3, -1, 0.4, 5, 30, 9e4]))
    highest = rng.choice([None, lowest + 1e-3, lowest + 0.5, lowest + 7, lowest + 64, 99_999.0])
    choices = {
        "overlap": float(rng.choice([0, 0.25, 0.4, 0.5, 0.55, 0.75, 0.9, 0.95])),
        "max_iterations": int(rng.choice([1, 2, 6, 12, 100])),
        "newton": bool(rng.integers(2)),
        "stop_step": float(rng.choice([0, 0.01, 1])),
        "window_step": float(rng.choice([0.1, 0.5, 1, 1.5, 1.9, 2])),
        "fusion": str(rng.choice(["bayes", "residual"])),
        "sigma_r": rng.choice([None, 0.01, 8.0]),
        "sigma_spatial": rng.choice([None, 0.1, 4.0]),
        "propagate": bool(rng.integers(2)),
        "min_valid": float(rng.choice([0, 0.25, 0.75, 1])),
        "min_support": float(rng.choice([0, 0.22, 1])),
        "min_probability": float(rng.choice([0, 0.05, 0.3])),
        "segment_filter": bool(rng.integers(2)),
        "start": str(rng.choice(["global", "zero"])),
        "smoothing": float(rng.choice([0, 0.5, 60, 1000])),
        "smoothing_edge": float(rng.choice([0.1, 8, 1000])),
        "smoothing_rounds": int(rng.integers(4)),
        "outlier_distance": float(rng.choice([0.01, 1.5, 100])),
        "slanted": bool(rng.integers(2)),
        "slanted_overlap": float(rng.choice([0, 0.5, 0.6, 0.95])),
        "label_level": rng.choice([None, 0, 1, 3]),
        "sides": bool(rng.integers(2)),
        "refinement_rounds": int(rng.choice([0, 1, 3])),
        "refinement_smoothing": float(rng.choice([0.01, 40, 10000])),
        "refinement_slopes": bool(rng.integers(2)),
        "highlights": bool(rng.integers(2)),
        "dense": bool(rng.integers(2)),
        "variance": [False, True, "paper"][int(rng.integers(3))],
        "min_island": float(rng.choice([0, 0.005, 0.5])),
        "max_difference": float(rng.choice([0, 0.6, 1000])),
        "align_rows": str(rng.choice(["auto", "off"])),
        "row_offset": float(rng.choice([0, 0, 0.3, -1.7, 50])),
        "row_tilt": float(rng.choice([0, 0, 0.004, -0.05])),
    }
    settings |= {name: value for name, value in choices.items() if rng.random() < 0.6}
    if rng.random() < 0.5:
        settings |= {"min_disparity": lowest, "max_disparity": highest}
    return settings


def random_pair(rng: np.random.Generator, height: int, width: int, kind: str) -> list[np.ndarray]:
    """A pair that can be matched in places: blocks shifted by a few pixels, noise, black borders and holes."""
    block = int(rng.integers(1, 7))
    shift = int(rng.integers(-6, 7))
    shape = height, width + 2 * abs(shift)
    texture = rng.random((math.ceil(shape[0] / block), math.ceil(shape[1] / block), 4), np.float32)
    scene = texture.repeat(block, 0).repeat(block, 1)[: shape[0], : shape[1]]
    noise = rng.choice([0, 0.02, 1])
    pair = []
    for first in (abs(shift), abs(shift) + shift):
        view = scene[:, first : first + width] + noise * rng.random((height, width, 4), np.float32)
        view = np.clip(view, 0.01, 1)
        if rng.random() < 0.05:
            view[...] = rng.choice([0, 0.5])
        if rng.random() < 0.3:
            border = int(rng.integers(1, 20))
            view[:, :border] = view[-border:] = 0
        if rng.random() < 0.3:
            view[rng.random((height, width)) < rng.choice([0.001, 0.05, 0.5])] = 0
        pair.append(view)
    dtype, channels = kind.split()
    full_scale = {"uint8": 255, "uint16": 65535, "float32": rng.choice([1, 255])}[dtype]
    pair = [(view * full_scale).astype(dtype) for view in pair]
    return [view[..., 0] if channels == "1" else view[..., : int(channels)] for view in pair]


def laid_out(image: np.ndarray, arena: Arena, layout: str, rng: np.random.Generator) -> np.ndarray:
    """``image`` against a guard page, its rows packed, apart, or in an order that is not that of memory."""
    if layout == "upside down":
        return arena.sealed_copy(image[::-1])[::-1]
    if layout == "mirrored":
        return arena.sealed_copy(image[:, ::-1])[:, ::-1]
    return arena.sealed_copy(image, int(rng.integers(1, 70)) if layout == "row gaps" else 0)


def run_case(seed: int) -> None:
    """Match random images at random settings, everything at guard pages; the last line printed tells which."""
    rng = np.random.default_rng(seed)
    edges = [32, 33, 47, 48, 49, 63, 64, 65, 96, 127, 128]
    height, width = (int(rng.choice(edges) if rng.random() < 0.3 else rng.integers(32, 151)) for _ in range(2))
    preset = str(rng.choice(list(PRESETS)))
    settings = random_settings(rng, min(height, width))
    arena = Arena(str(rng.choice(["end", "start"])))
    print(f"seed {seed}: {height=} {width=} guard at the {arena.edge}, {preset=} {settings}", flush=True)

    matcher = bdis.matching.matcher.StereoMatcher(preset, **settings)
    matcher._stages = Stages(height, width, matcher.settings)
    guard_stages(matcher._stages, arena, rng)
    previous, views = None, None
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        kind = str(rng.choice(["uint8 1", "uint8 3", "uint8 4", "uint16 1", "uint16 3", "float32 1", "float32 4"]))
        layout = str(rng.choice(["packed", "packed", "row gaps", "row gaps", "upside down", "mirrored"]))
        print(f"    images {kind}, {layout}", flush=True)
        views_before = views
        views = random_pair(rng, height, width, kind)
        if views_before is not None and rng.random() < 0.5:  # a video that stands still
            views = views_before
        pair = [laid_out(image, arena, layout, rng) for image in views]
        masks = {
            name: laid_out(rng.random((height, width)) < rng.choice([0, 0.1, 0.9, 1]), arena, layout, rng)
            for name in ("left_mask", "right_mask")
            if rng.random() < 0.2
        }
        bdis.matching.images.np = bdis.matching.memory.np = GuardedNumPy(arena)
        result = matcher.match(*pair, **masks, previous=previous)
        bdis.matching.images.np = bdis.matching.memory.np = np
        assert result.disparity.shape == result.probability.shape == (height, width)
        assert ((result.probability >= 0) & (result.probability <= 1)).all()
        assert arena.holds(result.disparity), "results are no longer allocated where this test can guard them"
        assert arena.holds(matcher._stages.levels[0].found.values), "the matcher no longer uses the guarded stages"
        assert arena.is_intact(), "a kernel wrote beside an array"
        alone = bdis.matching.matcher.StereoMatcher(preset, **{**settings, "threads": 1})
        fresh = alone.match(*pair, **masks, previous=previous)
        for name in ("disparity", "probability", "variance"):
            one, other = getattr(result, name), getattr(fresh, name)
            if one is not None and not np.array_equal(one, other, equal_nan=True):
                print(f"    {DIFFERS}: {name} of seed {seed}", flush=True)
        if rng.random() < 0.7:
            previous = result
    if rng.random() < 0.2:
        judge(views, arena, rng)
    guard_pages.report(newly_called())


def judge(views: list[np.ndarray], arena: Arena, rng: np.random.Generator) -> None:
    """Judge a map of garbage, everything at guard pages."""
    height, width = views[0].shape[:2]
    given = rng.uniform(-1.2 * width, 1.2 * width, (height, width)) * rng.choice([0, 0.05, 1])
    given = np.where(rng.random((height, width)) < rng.choice([0, 0.3, 1]), np.nan, given + 1e5 * (rng.random() < 0.1))
    settings = Settings(variance=True, threads=int(rng.integers(1, 4)), min_disparity=float(rng.choice([0, -64])))
    print(f"    judged, {settings.threads} threads", flush=True)
    try:
        guarded, fresh = (Assessment(height, width, settings) for _ in range(2))
    except ValueError:  # too small
        return
    guard_stages(guarded._stages, arena, rng)
    pair = [laid_out(image, arena, "packed", rng) for image in views]
    given = arena.sealed_copy(given.astype(np.float32))
    bdis.matching.images.np = bdis.matching.memory.np = GuardedNumPy(arena)
    result = guarded.run((pair[0], pair[1]), given, (None, None))
    bdis.matching.images.np = bdis.matching.memory.np = np
    assert arena.holds(result.disparity)
    assert arena.is_intact(), "a kernel wrote beside an array"
    usual = fresh.run((pair[0], pair[1]), given, (None, None))
    if not np.array_equal(result.variance, usual.variance, equal_nan=True):
        print(f"    {DIFFERS}: variance of what is judged", flush=True)


CALLED: set[str] = set()


def newly_called() -> set[str]:
    """Names of the kernels that were called for the first time."""
    called = {kernel.__name__ for kernel in kernels_in(kernels) if kernel._function is not None}
    new = called - CALLED
    CALLED.update(new)
    return new


@pytest.mark.parametrize("edge", ["end", "start"])
def test_guard_page_ends_a_process_that_oversteps(edge: str) -> None:
    """Else the fuzz below would prove nothing."""
    assert guard_pages.run_child(MODULE, "overstep", edge).returncode == -signal.SIGSEGV


@pytest.fixture(scope="module")
def fuzz() -> subprocess.CompletedProcess[str]:
    return guard_pages.run_child(MODULE, 0, CASES)


def test_no_access_outside_arrays(fuzz: subprocess.CompletedProcess[str]) -> None:
    guard_pages.assert_finished(fuzz, CASES)


def test_result_depends_on_nothing_but_the_pair(fuzz: subprocess.CompletedProcess[str]) -> None:
    """Not on what scratch held, on the pair before, on where the arrays lie or on the number of threads."""
    assert [line.strip() for line in fuzz.stdout.splitlines() if DIFFERS in line] == []


def test_every_kernel_was_called(fuzz: subprocess.CompletedProcess[str]) -> None:
    assert guard_pages.called_kernels(fuzz) == {kernel.__name__ for kernel in kernels_in(kernels)}


if __name__ == "__main__":
    guard_pages.main(run_case, sys.argv[1:])
