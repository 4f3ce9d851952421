"""What is measured.  Times of different methods are taken alternately in one process; the machine may be busy."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict

import cv2
import numpy as np

import bdis
from bdis.common.machine import machine
from bdis.evaluation.baselines import METHODS

from .data import Frame, mean_score, score

__all__ = ["accuracy", "ablation", "machine", "memory", "sizes", "start", "steady"]
PRESETS = ("paper", "fast", "balanced", "accurate")
OURS = ("dis",)  # a preset under its own name
ABLATIONS = {
    "paper": ("paper", {}),
    "no sGMM": ("paper", {"sigma_spatial": None}),
    "no propagation": ("paper", {"propagate": False}),
    "fixed sigma_r = 8": ("paper", {"sigma_r": 8.0}),
    "weights 2^n as printed": ("paper", {"level_weights": "2^n"}),
    "no segment filter": ("paper", {"segment_filter": False}),
    "no support filter": ("paper", {"min_support": 0.0}),
    "LK steps over their slope (newton), 6 steps": ("paper", {"newton": True, "max_iterations": 6}),
    "authors' own settings": (
        "paper",
        {"patch_size": 8, "overlap": 0.40, "window_step": 1.0, "min_valid": 0.25, "min_probability": 0.05},
    ),
    "paper-2021": ("paper-2021", {}),
    "dis": ("dis", {}),
}


def sgbm(disparities: int = 128) -> cv2.StereoSGBM:
    """OpenCV's semi-global matcher as its documentation recommends for blocks of 7."""
    area = 7 * 7
    return cv2.StereoSGBM.create(
        minDisparity=0, numDisparities=disparities, blockSize=7, P1=8 * area, P2=32 * area, disp12MaxDiff=1,
        uniquenessRatio=10, speckleWindowSize=100, speckleRange=1,
    )  # fmt: skip


def _sgbm_disparity(matcher: cv2.StereoSGBM, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    fixed = matcher.compute(left, right)
    return np.where(fixed > 0, fixed / 16.0, np.nan)


def _dis_disparity(flow: cv2.DISOpticalFlow, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    disparity = -flow.calc(left, right, None)[..., 0].astype(np.float64)
    return np.where(disparity > 0, disparity, np.nan)


def _grey(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    return cv2.cvtColor(frame.left, cv2.COLOR_RGB2GRAY), cv2.cvtColor(frame.right, cv2.COLOR_RGB2GRAY)


def _with_borders(left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """The pair as rectification leaves it: never seen along the sides."""
    out = [left.copy(), right.copy()]
    for image in out:
        image[:24] = image[-24:] = 0
        image[:, :32] = image[:, -32:] = 0
    return out


def _resized_grey(image: np.ndarray, width: int, height: int) -> np.ndarray:
    grey = cv2.resize(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), (width, height), interpolation=cv2.INTER_CUBIC)
    return np.maximum(grey, 1)  # black would mean "not seen"


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def _summary(times: list[float]) -> dict:
    low, median, high = np.percentile(times, [5, 50, 95])
    return {"median_ms": float(median), "min_ms": min(times), "p5_ms": float(low), "p95_ms": float(high)}


def steady(sets: dict[str, list[Frame]], rounds: int) -> dict:
    """Time per frame, methods taking turns on each frame, one thread each."""
    cv2.setNumThreads(1)
    names = [name for name in sets if name.startswith("set")] or list(sets)
    pairs = [(frame, *_grey(frame)) for name in names for frame in sets[name]]
    matchers = {preset: bdis.StereoMatcher(preset) for preset in PRESETS}
    semi_global, ultrafast = sgbm(), cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    methods: dict[str, Callable] = {
        "OpenCV SGBM (128, block 7)": lambda frame, left, right: semi_global.compute(left, right),
        "OpenCV DIS ultrafast": lambda frame, left, right: ultrafast.calc(left, right, None),
    }
    for preset, matcher in matchers.items():
        methods[f"bdis {preset}"] = lambda frame, left, right, m=matcher: m.match(left, right)
    for preset, kind in (("paper", "paper"), ("paper", True), ("balanced", True)):
        name = f"bdis {preset}, variance" + (" of Eq. 16-19" if kind == "paper" else "")
        matcher = bdis.StereoMatcher(preset, variance=kind)
        methods[name] = lambda frame, left, right, m=matcher: m.match(left, right)
    fast = matchers["fast"]
    bordered = {id(frame): _with_borders(left, right) for frame, left, right in pairs}
    methods["bdis fast, from RGB"] = lambda frame, left, right: fast.match(frame.left, frame.right)
    methods["bdis fast, black borders"] = lambda frame, left, right: fast.match(*bordered[id(frame)])
    for work in methods.values():
        work(*pairs[0])
    times: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for pair in pairs:
            for name, work in methods.items():
                times[name].append(_timed(lambda work=work, pair=pair: work(*pair)))
    reference, flow = (np.array(times[name]) for name in list(methods)[:2])
    paper = np.array(times["bdis paper"])
    size = pairs[0][1].shape
    return {
        "size": f"{size[1]}x{size[0]}",
        "frames": len(pairs),
        "rounds": rounds,
        "sets": names,
        "methods": {
            name: {
                **_summary(taken),
                "times_faster_than_sgbm": float(np.median(reference / np.array(taken))),
                "times_faster_than_dis_ultrafast": float(np.median(flow / np.array(taken))),
                "time_of_paper": float(np.median(np.array(taken) / paper)),
            }
            for name, taken in times.items()
        },
    }


def accuracy(sets: dict[str, list[Frame]]) -> dict:
    """Depth error and coverage of each method on each set."""
    semi_global = sgbm()
    flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    methods: dict[str, Callable[[Frame], np.ndarray]] = {
        "OpenCV SGBM (128, block 7)": lambda frame: _sgbm_disparity(semi_global, *_grey(frame)),
        "OpenCV DIS ultrafast": lambda frame: _dis_disparity(flow, *_grey(frame)),
    }
    for preset in bdis.PRESETS:
        matcher = bdis.StereoMatcher(preset)
        methods[f"bdis {preset}"] = lambda frame, m=matcher: m.match(frame.left, frame.right).disparity
    for name, method in METHODS.items():
        if method.needs is None and name not in OURS and not name.startswith("bdis"):
            methods[f"{name} (`bdis bench`)"] = lambda frame, m=method: (
                m.make(frame.max_disparity_px).match(frame.left, frame.right).disparity
            )
    return _scores(sets, methods)


def ablation(sets: dict[str, list[Frame]]) -> dict:
    """The paper's ablation and ours: each part switched off or changed by itself."""
    methods: dict[str, Callable[[Frame], np.ndarray]] = {}
    for name, (preset, changes) in ABLATIONS.items():
        matcher = bdis.StereoMatcher(preset, **changes)
        methods[name] = lambda frame, m=matcher: m.match(frame.left, frame.right).disparity
    return _scores(sets, methods)


def _scores(sets: dict[str, list[Frame]], methods: dict[str, Callable[[Frame], np.ndarray]]) -> dict:
    return {
        name: {
            set_name: _known(asdict(mean_score([score(method(frame), frame) for frame in frames])))
            for set_name, frames in sets.items()
        }
        for name, method in methods.items()
    }


def _known(figures: dict) -> dict:
    return {name: value for name, value in figures.items() if np.isfinite(value)}


_FIRST_MATCH = """
import sys, time
begin = time.perf_counter()
import bdis
imported = time.perf_counter()
import numpy as np
image = np.random.default_rng(0).integers(1, 255, (480, 640), dtype=np.uint8)
bdis.StereoMatcher(sys.argv[1]).match(image, image)
matched = time.perf_counter()
import json
print(json.dumps([imported - begin, matched - begin]))
"""


def start() -> dict:
    """A new process: nothing compiled yet on this machine, then with the kernels in the cache."""
    return {preset: _start(preset) for preset in ("balanced", "paper")}


def _start(preset: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "BDIS_CACHE_DIR": folder}
        command = [sys.executable, "-c", _FIRST_MATCH, preset]

        def run() -> list[float]:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            return json.loads(done.stdout)

        cold = run()
        warm = [run() for _ in range(7)]
    return {
        "import_s": float(np.median([w[0] for w in warm])),
        "cold_first_match_s": cold[1],
        "warm_first_match_s": float(np.median([w[1] for w in warm])),
        "warm_first_match_min_s": min(w[1] for w in warm),
    }


def sizes(rounds: int) -> dict:
    """Cost per pixel over the image size, the sizes taking turns frame by frame; and two threads against one."""
    from bdis.synthetic.renderer import render

    pair = render("tissue", 480, 640, seed=0)
    shapes = ((640, 480), (1280, 960), (1920, 1080), (3840, 2160))
    pairs = {shape: [_resized_grey(image, *shape) for image in (pair.left, pair.right)] for shape in shapes}
    matchers = {shape: bdis.StereoMatcher("fast") for shape in shapes}
    times: dict[tuple[int, int], list[float]] = {shape: [] for shape in shapes}
    for _ in range(5 + 2 * rounds):
        for shape in shapes:
            times[shape].append(_timed(lambda s=shape: matchers[s].match(*pairs[s])))
    return {
        f"{width}x{height}": {
            **_summary(times[width, height][2:]),
            "ns_per_pixel": float(np.median(times[width, height][2:])) * 1e6 / (width * height),
            "ns_per_pixel_min": min(times[width, height]) * 1e6 / (width * height),
            **_two_threads(pairs[width, height], 4, max(12, 100 * 640 * 480 // (width * height))),
        }
        for width, height in shapes
    }


def _two_threads(pair: list[np.ndarray], turns: int, frames: int) -> dict:
    """In turns of many frames, the first third not counted: in a video the second core is awake and its caches full."""
    matchers = {threads: bdis.StereoMatcher("fast", threads=threads) for threads in (1, 2)}
    times: dict[int, list[float]] = {threads: [] for threads in matchers}
    for _ in range(turns):
        for threads, matcher in matchers.items():
            turn = [_timed(lambda m=matcher: m.match(*pair)) for _ in range(frames)]
            times[threads].extend(turn[frames // 3 :])
    one, two = (np.array(times[threads]) for threads in (1, 2))
    return {
        "two_threads_speedup": float(np.median(one) / np.median(two)),
        "two_threads_speedup_of_minima": float(one.min() / two.min()),
    }


def memory() -> dict:
    """Bytes held beside the input and the result, per pixel, and allocated anew by a later frame."""
    grey = np.random.default_rng(0).integers(1, 255, (480, 640), dtype=np.uint8)
    inputs = {"uint8 grey": grey, "float64 RGB": np.repeat(grey[..., None] / 255.0, 3, 2)}
    out = {}
    for name, image in inputs.items():
        matcher = bdis.StereoMatcher("balanced")
        matcher.match(image[:64, :64], image[:64, :64])
        peaks = []
        for _ in range(2):
            gc.collect()
            tracemalloc.start()
            result = matcher.match(image, image)
            peaks.append(tracemalloc.get_traced_memory()[1] - result.disparity.nbytes - result.probability.nbytes)
            tracemalloc.stop()
            del result
        out[name] = {"first_frame_bytes_per_pixel": peaks[0] / grey.size, "later_frames_bytes": peaks[1]}
    return out
