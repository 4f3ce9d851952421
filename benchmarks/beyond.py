"""What goes beyond the paper: the cost of each step, depth edges and video mode."""

from collections.abc import Callable

import cv2
import numpy as np

import bdis
from bdis.evaluation.baselines import METHODS
from bdis.evaluation.baselines.pair import grey_pair
from bdis.evaluation.datasets import Frame, frame_of
from bdis.synthetic import RenderedPair, render

from .accuracy import scores
from .methods import label, matcher_for
from .real import real_figures
from .timing import milliseconds

STEPS = {
    "balanced": ("balanced", {}),
    "start at 0, as in the paper": ("balanced", {"start": "zero"}),
    "no surface (and nothing that needs it)": ("balanced", {"smoothing": 0.0, "min_probability": 0.05}),
    "no slanted second search": ("balanced", {"slanted": False}),
    "no more patches in the second search": ("balanced", {"slanted_overlap": 0.4}),
    "outliers keep their weight": ("balanced", {"smoothing_rounds": 0}),
    "outliers re-weighted twice": ("balanced", {"smoothing_rounds": 2}),
    "image edges ignored": ("balanced", {"smoothing_edge": 1000.0}),
    "small islands stay": ("balanced", {"min_island": 0.0}),
    "level weights 1/n": ("balanced", {"level_weights": "1/n"}),
    "patches of 10 px": ("balanced", {"patch_size": 10}),
    "patches of 6 px": ("balanced", {"patch_size": 6}),
    "more overlap (0.6)": ("balanced", {"overlap": 0.6}),
    "no labels, no full resolution": ("balanced", {"label_level": None}),
    "labels without evidence": ("balanced", {"label_noise": 0.0}),
    "edges as windows draw them": ("balanced", {"sides": False}),
    "no refinement": ("balanced", {"refinement_rounds": 0}),
    "highlights where they seem to lie": ("balanced", {"highlights": False}),
    "refinement that takes slopes for steps": ("balanced", {"refinement_slopes": False, "refinement_smoothing": 36.0}),
    "what differs beside unknown pixels stays": ("balanced", {"max_difference": 1000.0}),
    "rows not aligned": ("balanced", {"align_rows": "off"}),
    "accurate": ("accurate", {}),
}


def steps(sets: dict[str, list[Frame]], rounds: int) -> dict:
    """Each step switched off or changed by itself: metrics, and time as a multiple of preset `paper`."""
    pairs = [grey_pair(frame.left, frame.right) for frame in next(iter(sets.values()))]
    reference = bdis.StereoMatcher("paper")
    out = {}
    for name, (preset, changes) in STEPS.items():
        matcher = bdis.StereoMatcher(preset, **changes)
        ratios = []
        for pair in pairs * max(1, rounds // 3):
            taken = [milliseconds(lambda: m.match(pair.left, pair.right)) for m in (reference, matcher)]
            ratios.append(taken[1] / taken[0])
        out[name] = {
            "times_paper": float(np.median(ratios)),
            "scores": scores(sets, lambda frame: matcher.match(frame.left, frame.right)),
            "real": real_figures(matcher),
        }
    return out


def near_edges(pair: RenderedPair, jump_px: float = 2.0, reach_px: int = 10) -> np.ndarray:
    """bool (h, w): pixels seen by both cameras within ``reach_px`` of a jump in disparity."""
    truth = pair.full_disparity
    steps = [np.abs(np.diff(truth, axis=axis, prepend=truth[:1] if axis == 0 else truth[:, :1])) for axis in (0, 1)]
    jump = (np.maximum(*steps) > jump_px).astype(np.uint8)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach_px + 1,) * 2)
    return (cv2.dilate(jump, disc) > 0) & ~np.isnan(pair.disparity)


def edges() -> dict:
    """Pixels off by more than 1 px within 10 px of a depth edge.

    bdis is reduced to the coverage of SGBM where its own is larger.
    """
    scenes = [
        render("instruments", seed=seed, disparity_px=disparity, noise=noise, **more)
        for seed, disparity, noise, more in (
            (613, 40, 1.5, {}),
            (614, 20, 1.0, {"lighting": "diffuse"}),
            (615, 80, 2.0, {}),
            (616, 30, 1.0, {"vignetting_difference": 0.2}),
        )
    ]
    frames = [frame_of(pair, "edges", "") for pair in scenes]
    sgbm = METHODS["sgbm"]
    sgbm_name = label(sgbm, frames)
    presets = {f"bdis {preset}": bdis.StereoMatcher(preset, variance=True) for preset in ("balanced", "accurate")}
    counts = {name: {"bad": 0, "predicted": 0, "zone": 0} for name in (sgbm_name, *presets)}
    for pair, frame in zip(scenes, frames):
        near, truth = near_edges(pair), pair.full_disparity
        reference = matcher_for(sgbm, frame).match(pair.left, pair.right)
        kept = {sgbm_name: (reference.disparity, reference.known)}
        for name, matcher in presets.items():
            result = matcher.match(pair.left, pair.right)
            variance = np.where(result.known, result.variance, np.inf)
            count = min(result.known.sum(), reference.known.sum())
            limit = np.sort(variance, axis=None)[count - 1]
            kept[name] = result.disparity, result.known & (variance <= limit)
        for name, (disparity, mask) in kept.items():
            counts[name]["zone"] += int(near.sum())
            counts[name]["predicted"] += int((mask & near).sum())
            counts[name]["bad"] += int((mask & near & (np.abs(disparity - truth) > 1)).sum())
    return counts


def video() -> dict:
    """Fresh starts beside video mode: static scenes with new sensor noise in each frame, and moving cameras."""
    scenes: dict[str, Callable[[], list[RenderedPair]]] = {
        **{f"{scene}, static": lambda s=scene: _exposures(s, 20) for scene in ("tissue", "colon", "instruments")},
        "colon, slow flight": lambda: _flight(1),
        "colon, fast flight": lambda: _flight(8),
    }
    return {name: _video(make()) for name, make in scenes.items()}


def _video(frames: list[RenderedPair]) -> dict:
    matchers = bdis.StereoMatcher(), bdis.StereoMatcher()
    fresh: list[bdis.StereoResult] = []
    follow: list[bdis.StereoResult] = []
    ratios = []
    for frame in frames:
        previous = follow[-1] if follow else None
        taken = [
            milliseconds(lambda: fresh.append(matchers[0].match(frame.left, frame.right))),
            milliseconds(lambda: follow.append(matchers[1].match(frame.left, frame.right, previous=previous))),
        ]
        ratios.append(taken[1] / taken[0])
    return {
        "time_of_fresh": float(np.median(ratios[3:])),
        **{f"fresh_{name}": value for name, value in _video_metrics(fresh, frames).items()},
        **{f"video_{name}": value for name, value in _video_metrics(follow, frames).items()},
    }


def _exposures(scene: str, count: int) -> list[RenderedPair]:
    pair = render(scene, seed=71, disparity_px=40, noise=2.0)
    return [pair.with_noise(2.0, noise_seed=k) for k in range(count)]


def _flight(step: int) -> list[RenderedPair]:
    return [render("colon", seed=33, frame=step * k, disparity_px=40, noise=2.0, noise_seed=k) for k in range(10)]


def _video_metrics(results: list[bdis.StereoResult], frames: list[RenderedPair]) -> dict:
    stack = np.stack([r.disparity - f.full_disparity for r, f in zip(results[3:], frames[3:])])
    always = np.isfinite(stack).all(0)
    errors = [np.abs(r.disparity - f.disparity) for r, f in zip(results[3:], frames[3:])]
    return {
        "flicker_px": float(stack[:, always].std(0).mean()),
        "median_px": float(np.mean([np.nanmedian(e) for e in errors])),
        "mean_px": float(np.mean([np.nanmean(e) for e in errors])),
        "coverage": float(np.mean([r.coverage for r in results[3:]])),
    }
