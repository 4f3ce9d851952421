"""Hashes of results, to see whether a change of the code leaves them the same, bit by bit.

    python -m benchmarks.hashes write before.json      # on the code before the change
    python -m benchmarks.hashes compare before.json    # after it: lists what differs, exit code 1 if anything does

Covered are all presets with all kinds of variance, dense results, video mode, masks, black pixels, one and three
threads, all pixel types, odd, small and large sizes, other finest levels, negative disparities, and single settings
changed.  The images are rendered, and taken from the shared data where it lies beside the repository.

Bits can only be compared on the same type of machine, with the same versions of Numba, LLVM and NumPy: another
processor has other vector instructions, and the compiler may round sums in another order.  The file records the
machine, and ``compare`` says so if it was another one.  That the images have not changed is checked first.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import bdis
from bdis.common.machine import machine
from bdis.synthetic import render

from .data import AUTHORS_SET, authors_frames

THREADS = (1, 3)
VARIANCES = (False, True, "paper")
Pair = tuple[np.ndarray, np.ndarray]
Case = tuple[str, Callable[[], str]]  # name, and the function that computes its hash

# Single settings of `balanced` changed.
CHANGES: tuple[dict[str, Any], ...] = (
    {"patch_size": 4},
    {"patch_size": 12},
    {"patch_size": 14, "overlap": 0.7},
    {"patch_size": 16},
    {"overlap": 0.9},
    {"coarsest_level": 3, "level_weights": "equal"},
    {"start": "zero"},
    {"newton": False, "stop_step": 0.0},
    {"sigma_spatial": None},
    {"sigma_r": 5.0},
    {"propagate": False},
    {"fusion": "residual"},
    {"fusion": "residual", "smoothing": 0.0},
    {"smoothing": 0.0, "start": "global"},
    {"smoothing_rounds": 3},
    {"smoothing_edge": 1.0, "outlier_distance": 0.3},
    {"label_level": None},
    {"slanted": False},
    {"slanted": False, "smoothing_rounds": 0, "dense": True},
    {"min_valid": 0.9},
    {"min_island": 0.0},
    {"max_difference": 1000.0},
    {"segment_filter": False},
)


# --- Images -----------------------------------------------------------------------------------------------------------


@cache
def rendered(name: str) -> Pair:
    """A rendered pair by name."""
    scene, height, width, options = {
        "tissue": ("tissue", 480, 640, {"seed": 1, "disparity_px": 40, "noise": 1.5}),
        "colon": ("colon", 480, 640, {"seed": 2, "disparity_px": 60, "noise": 2.0}),
        "next": ("colon", 480, 640, {"seed": 2, "frame": 1, "disparity_px": 60, "noise": 2.0, "noise_seed": 1}),
        "odd": ("instruments", 283, 411, {"seed": 3, "disparity_px": 25, "noise": 1.0}),
        "small": ("tissue", 65, 97, {"seed": 4, "disparity_px": 8}),
        "smallest": ("plane", 32, 32, {"seed": 5, "disparity_px": 3}),
        "flat": ("tissue", 40, 700, {"seed": 6, "disparity_px": 20}),
        "large": ("tissue", 720, 1280, {"seed": 7, "disparity_px": 90, "noise": 1.0}),
    }[name]
    pair = render(scene, height, width, **options)
    return pair.left, pair.right


def pixel_types(pair: Pair) -> dict[str, Pair]:
    """An RGB pair in the other pixel types and numbers of channels that a matcher takes."""
    grey = [np.ascontiguousarray(image[..., 1]) for image in pair]
    kinds = {
        "grey": grey,
        "uint16": [image.astype(np.uint16) * 257 for image in grey],
        "RGB uint16": [image.astype(np.uint16) * 257 for image in pair],
        "float32": [(image / 255).astype(np.float32) for image in grey],
        "RGB float64": [image / 1.0 for image in pair],
        "RGBA": [np.dstack([image, np.full(image.shape[:2], 255, np.uint8)]) for image in pair],
        "rows upside down": [image[::-1] for image in pair],
    }
    return {name: (left, right) for name, (left, right) in kinds.items()}


def masks(pair: Pair) -> dict[str, np.ndarray]:
    """Masks with holes, a boolean and an integer one."""
    height, width = pair[0].shape[:2]
    left, right = np.ones((height, width), bool), np.ones((height, width), np.uint8)
    left[height // 6 : height // 2, width // 7 : width // 2] = False
    left[:, :15] = False
    right[-height // 4 :, -width // 4 :] = 0
    return {"left_mask": left, "right_mask": right}


def with_black(pair: Pair) -> Pair:
    """A pair with a black rectangle in the left image and a single black pixel in the right one."""
    left, right = pair[0].copy(), pair[1].copy()
    left[10:40, 300:350] = 0
    right[100, 200] = 0
    return left, right


# --- Cases ------------------------------------------------------------------------------------------------------------


def digest(*arrays: np.ndarray | None) -> str:
    """Hash of arrays; all kinds of NaN count as the same."""
    found = hashlib.sha256()
    for array in arrays:
        if array is None:
            found.update(b"none")
            continue
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
        found.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def digest_result(result: bdis.StereoResult) -> str:
    """Hash of a result."""
    return digest(result.disparity, result.probability, result.variance)


def case(
    name: str, preset: str, pair: Pair, arguments: dict[str, Any] | None = None, **settings: Any
) -> Iterator[Case]:
    """One match, with each number of threads."""
    for threads in THREADS:

        def compute(threads: int = threads) -> str:
            matcher = bdis.StereoMatcher(preset, threads=threads, **settings)
            return digest_result(matcher.match(*pair, **(arguments or {})))

        yield f"{preset}, {name}, threads {threads}", compute


def cases() -> Iterator[Case]:
    """All cases; images are made when they are first needed."""
    for preset in bdis.PRESETS:
        yield from _inputs(preset)
        yield from _settings(preset)
        yield from _video(preset)
    for changes in CHANGES:
        for variance in (True, "paper"):
            name = ", ".join(f"{key} {value}" for key, value in {**changes, "variance": variance}.items())
            yield from case(name, "balanced", rendered("odd"), **{**changes, "variance": variance})
    yield "compute", lambda: digest(bdis.StereoMatcher().compute(*rendered("odd")))
    yield from _shared_data()


def _inputs(preset: str) -> Iterator[Case]:
    odd = rendered("odd")
    for variance in VARIANCES:
        for name in ("colon", "odd", "small"):
            yield from case(f"{name}, variance {variance}", preset, rendered(name), variance=variance)
    for name in ("tissue", "smallest", "flat", "large"):
        yield from case(name, preset, rendered(name))
    for name, pair in pixel_types(odd).items():
        yield from case(name, preset, pair, variance=True)
    yield from case("black pixels", preset, with_black(rendered("tissue")), variance=True)
    yield from case("masks", preset, odd, masks(odd), variance=True)
    yield from case("masks, dense", preset, odd, masks(odd), variance=True, dense=True)
    yield from case("left mask, variance paper", preset, odd, {"left_mask": masks(odd)["left_mask"]}, variance="paper")


def _settings(preset: str) -> Iterator[Case]:
    odd = rendered("odd")
    yield from case("dense", preset, odd, dense=True)
    yield from case("dense, variance", preset, rendered("colon"), dense=True, variance=True)
    for level in (0, 2, 3):
        yield from case(f"finest_level {level}", preset, rendered("colon"), finest_level=level, variance=True)
    yield from case("negative disparities", preset, odd[::-1], min_disparity=-60, max_disparity=5, variance=True)
    yield from case("range", preset, odd, min_disparity=3, max_disparity=30)


def _video(preset: str) -> Iterator[Case]:
    """A sequence: the same frame again, one row shifted, another frame, back again, and with a mask."""
    for threads in THREADS:

        def compute(threads: int = threads) -> str:
            first, other = rendered("colon"), rendered("next")
            shifted = np.roll(first[0], 1, 0), np.roll(first[1], 1, 0)
            matcher = bdis.StereoMatcher(preset, threads=threads, variance=True)
            previous, found = None, []
            for pair in (first, first, shifted, other, other, first):
                previous = matcher.match(*pair, previous=previous)
                found.append(digest_result(previous))
            seen = np.ones(first[0].shape[:2], bool)
            found.append(digest_result(matcher.match(*first, previous=previous, left_mask=seen)))
            return " ".join(found)

        yield f"{preset}, video, threads {threads}", compute


def _shared_data() -> Iterator[Case]:
    """Real and published images, where they are available."""
    for name in ("6", "20", "30", "31"):
        if not (AUTHORS_SET / name).is_dir():
            continue
        frame = authors_frames(name)[0]
        for preset in bdis.PRESETS:
            yield from case(f"set {name}", preset, (frame.left, frame.right), variance=True)
        yield from case(f"set {name}, dense", "balanced", (frame.left, frame.right), dense=True, variance=True)


# --- Commands ---------------------------------------------------------------------------------------------------------


def compute_all(chosen: Iterable[Case]) -> dict[str, str]:
    """Hashes by name of the case, with progress on standard error."""
    found = {}
    for count, (name, compute) in enumerate(chosen, 1):
        found[name] = compute()
        if count % 50 == 0:
            print(f"{count} hashes ...", file=sys.stderr, flush=True)
    return found


def input_hashes() -> dict[str, str]:
    """Hashes of the rendered images: if they change, nothing can be said about the matcher."""
    return {name: digest(*rendered(name)) for name in ("tissue", "colon", "next", "odd", "small", "flat", "large")}


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """One line per case that differs or that only one of the two has.

    Examples
    --------
    >>> differences({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"})
    ['differs: b', 'new: c']
    """
    lines = [f"differs: {name}" for name in before if name in now and before[name] != now[name]]
    lines += [f"missing: {name}" for name in before if name not in now]
    return lines + [f"new: {name}" for name in now if name not in before]


def main() -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hashes", description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="JSON file with the hashes")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    options = parser.parse_args()
    chosen = [each for each in cases() if options.only in each[0]]
    here = {name: value for name, value in machine().items() if name not in ("bdis", "commit", "cores")}
    if options.command == "write":
        content = {"machine": here, "inputs": input_hashes(), "hashes": compute_all(chosen)}
        options.file.write_text(json.dumps(content, indent=1) + "\n")
        print(f"{len(content['hashes'])} hashes written to {options.file}")
        return 0
    before = json.loads(options.file.read_text())
    if other := [name for name in here if before["machine"].get(name) != here[name]]:
        print(f"note: {', '.join(other)} differ from those the file was written with; bits may differ for that reason")
    if changed := differences(before["inputs"], input_hashes()):
        print("the rendered images have changed, so the results cannot be compared:", *changed, sep="\n  ")
        return 1
    expected = {name: value for name, value in before["hashes"].items() if options.only in name}
    lines = differences(expected, compute_all(chosen))
    print(*lines, f"{len(expected)} hashes compared, {len(lines)} differences", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
