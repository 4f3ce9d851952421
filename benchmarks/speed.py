"""Time per frame in a running program, of methods and over image sizes."""

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

import bdis
from bdis.evaluation.baselines import METHODS
from bdis.evaluation.baselines.pair import GreyPair, grey_pair
from bdis.evaluation.datasets import Frame
from bdis.evaluation.runner import single_threaded_opencv
from bdis.synthetic import render

from .methods import bare_call, label, matcher_for, unpadded_sgbm, unpadded_sgbm_label
from .timing import milliseconds, summary

PRESETS = ("paper", "fast", "balanced", "accurate")
OTHERS = ("sgbm", "sgbm-3way", "bm", "dis-flow", "dis-flow-ultrafast", "elas")
SIZES = ((640, 480), (1280, 960), (1920, 1080), (3840, 2160))
# Other methods than bdis take ten to a hundred times longer, and their times vary less: fewer rounds are enough.
OTHERS_EVERY = 5
# SGBM's time grows with its range.  These frames hold larger disparities, but 128 is what most programs try, and the
# comparison is not made easier for bdis by a larger one.
SGBM_DISPARITIES = 128

Work = Callable[[Frame, GreyPair], Any]


def steady(sets: dict[str, list[Frame]], rounds: int) -> dict:
    """Time per frame, methods taking turns on each frame, one thread each."""
    names = [name for name in sets if name.startswith("set")] or list(sets)
    pairs = [(frame, grey_pair(frame.left, frame.right)) for name in names for frame in sets[name]]
    frames = [frame for frame, _ in pairs]
    times = _times({**_other_works(frames), **_bdis_works(pairs)}, pairs, rounds)
    references = {
        "times_faster_than_sgbm": unpadded_sgbm_label([SGBM_DISPARITIES]),
        "times_faster_than_dis_ultrafast": label(METHODS["dis-flow-ultrafast"], frames),
    }
    height, width = pairs[0][1].left.shape
    return {
        "size": f"{width}x{height}",
        "frames": len(pairs),
        "rounds": rounds,
        "sets": names,
        "methods": {
            name: {
                **summary(list(taken.values())),
                **{key: _median_ratio(times[reference], taken) for key, reference in references.items()},
                "time_of_paper": _median_ratio(taken, times["bdis paper"]),
            }
            for name, taken in times.items()
        },
    }


def _times(works: dict[str, Work], pairs: list[tuple[Frame, GreyPair]], rounds: int) -> dict[str, dict[Any, float]]:
    """Milliseconds by method, and by round and frame."""
    times: dict[str, dict[Any, float]] = {name: {} for name in works}
    with single_threaded_opencv():
        for work in works.values():
            work(*pairs[0])
        for turn in range(rounds):
            for index, pair in enumerate(pairs):
                for name, work in works.items():
                    if name.startswith("bdis") or turn % OTHERS_EVERY == 0:
                        times[name][turn, index] = milliseconds(lambda: work(*pair))
    return times


def _median_ratio(times: dict[Any, float], others: dict[Any, float]) -> float:
    """Median of the ratios of measurements that were taken on the same frame in the same round."""
    return float(np.median([times[key] / others[key] for key in times if key in others]))


def _other_works(frames: list[Frame]) -> dict[str, Work]:
    """The methods that bdis is compared with, on grey images."""
    sgbm = unpadded_sgbm(SGBM_DISPARITIES)
    works: dict[str, Work] = {
        unpadded_sgbm_label([SGBM_DISPARITIES]): lambda frame, pair: sgbm.run_opencv(pair.left, pair.right)
    }
    for name in OTHERS:
        method = METHODS[name]
        works[label(method, frames)] = lambda frame, pair, m=method: bare_call(matcher_for(m, frame))(
            pair.left, pair.right
        )
    return works


def _bdis_works(pairs: list[tuple[Frame, GreyPair]]) -> dict[str, Work]:
    """The presets on grey images, with variances, from RGB, and with the black borders that rectification leaves."""
    works: dict[str, Work] = {}
    variants: list[tuple[str, str, dict]] = [(f"bdis {preset}", preset, {}) for preset in PRESETS]
    variants += [
        ("bdis paper, variance of Eq. 15-18", "paper", {"variance": "paper"}),
        ("bdis paper, variance", "paper", {"variance": True}),
        ("bdis balanced, variance", "balanced", {"variance": True}),
    ]
    for name, preset, changes in variants:
        matcher = bdis.StereoMatcher(preset, **changes)
        works[name] = lambda frame, pair, m=matcher: m.match(pair.left, pair.right)
    fast = bdis.StereoMatcher("fast")
    bordered = {id(frame): [_with_border(image) for image in pair[:2]] for frame, pair in pairs}
    works["bdis fast, from RGB"] = lambda frame, pair: fast.match(frame.left, frame.right)
    works["bdis fast, black borders"] = lambda frame, pair: fast.match(*bordered[id(frame)])
    return works


def _with_border(image: np.ndarray) -> np.ndarray:
    """The image as rectification leaves it: black along the sides, where the camera saw nothing."""
    out = np.zeros_like(image)
    out[24:-24, 32:-32] = image[24:-24, 32:-32]
    return out


def sizes(rounds: int) -> dict:
    """Cost per pixel over the image size, the sizes taking turns; and two threads against one."""
    pair = render("tissue", 480, 640, seed=0)
    pairs = {size: [_resized_grey(image, *size) for image in (pair.left, pair.right)] for size in SIZES}
    found = {}
    for preset in ("fast", "balanced", "accurate"):
        matchers = {size: bdis.StereoMatcher(preset) for size in SIZES}
        times: dict[tuple[int, int], list[float]] = {size: [] for size in SIZES}
        for _ in range(5 + 2 * rounds if preset == "fast" else 4 + rounds):
            for size in SIZES:
                times[size].append(milliseconds(lambda: matchers[size].match(*pairs[size])))
        for size in SIZES:
            pixels, taken = size[0] * size[1], times[size][2:]
            frames = {"fast": 100, "balanced": 24, "accurate": 12}[preset] * 640 * 480 // pixels
            found[f"`{preset}`, {size[0]}x{size[1]}"] = {
                **summary(taken),
                "ns_per_pixel": float(np.median(taken)) * 1e6 / pixels,
                "ns_per_pixel_min": min(taken) * 1e6 / pixels,
                **_two_threads(preset, pairs[size], 4, max(6, frames)),
            }
    return found


def _two_threads(preset: str, pair: list[np.ndarray], turns: int, frames: int) -> dict:
    """Many frames in a row, the first third not counted: in a video the second core is awake and its caches filled."""
    matchers = {threads: bdis.StereoMatcher(preset, threads=threads) for threads in (1, 2)}
    times: dict[int, list[float]] = {threads: [] for threads in matchers}
    for _ in range(turns):
        for threads, matcher in matchers.items():
            turn = [milliseconds(lambda: matcher.match(*pair)) for _ in range(frames)]
            times[threads].extend(turn[frames // 3 :])
    one, two = (np.array(times[threads]) for threads in (1, 2))
    return {
        "two_threads_speedup": float(np.median(one) / np.median(two)),
        "two_threads_speedup_of_minima": float(one.min() / two.min()),
    }


def _resized_grey(image: np.ndarray, width: int, height: int) -> np.ndarray:
    grey = cv2.resize(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), (width, height), interpolation=cv2.INTER_CUBIC)
    return np.maximum(grey, 1)  # black would mean "not seen"
