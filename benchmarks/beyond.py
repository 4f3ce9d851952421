"""What goes beyond the paper: each step with its price, the uncertainty, depth edges and video."""

import math
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.evaluation.metrics import compare
from bdis.evaluation.metrics import score as score_of
from bdis.synthetic.renderer import RenderedPair, render

from .data import Frame, mean_score, score
from .measure import _grey, _timed, sgbm

STEPS = {
    "balanced": ("balanced", {}),
    "start at 0, as in the paper": ("balanced", {"start": "zero"}),
    "no surface (and nothing that needs it)": ("balanced", {"smoothing": 0.0, "min_probability": 0.05}),
    "no slanted second search": ("balanced", {"slanted": False}),
    "outliers keep their weight": ("balanced", {"smoothing_rounds": 0}),
    "outliers re-weighted twice": ("balanced", {"smoothing_rounds": 2}),
    "no regard for image edges": ("balanced", {"smoothing_edge": 1000.0}),
    "small islands stay": ("balanced", {"min_island": 0.0}),
    "level weights 1/n": ("balanced", {"level_weights": "1/n"}),
    "patches of 10 px": ("balanced", {"patch_size": 10}),
    "patches of 6 px": ("balanced", {"patch_size": 6}),
    "more overlap (0.6)": ("balanced", {"overlap": 0.6}),
    "depth edges sharpened": ("balanced", {"sharpening": 1}),
    "accurate": ("accurate", {}),
    "accurate, edges not sharpened": ("accurate", {"sharpening": 0}),
}
UNCERTAIN = {
    "balanced": ("balanced", {"variance": True}),
    "balanced, the paper's variance": ("balanced", {"variance": "paper"}),
    "balanced, dense": ("balanced", {"variance": True, "dense": True}),
    "accurate": ("accurate", {"variance": True}),
    "paper": ("paper", {"variance": True}),
    "paper, the paper's variance": ("paper", {"variance": "paper"}),
    "fast": ("fast", {"variance": True}),
}


def steps(sets: dict[str, list[Frame]], rounds: int) -> dict:
    """Each step switched off or changed by itself: error, coverage and time as a multiple of preset `paper`."""
    matchers = {name: bdis.StereoMatcher(preset, **changes) for name, (preset, changes) in STEPS.items()}
    pairs = [_grey(frame) for frame in next(iter(sets.values()))]
    reference = bdis.StereoMatcher("paper")
    out = {}
    for name, matcher in matchers.items():
        ratios = []
        for left, right in pairs * max(1, rounds // 3):
            taken = [_timed(lambda m=m: m.match(left, right)) for m in (reference, matcher)]
            ratios.append(taken[1] / taken[0])
        scores = {
            set_name: mean_score([score(matcher.match(f.left, f.right).disparity, f) for f in frames])
            for set_name, frames in sets.items()
        }
        out[name] = {"times_paper": float(np.median(ratios)), "scores": {k: vars(v) for k, v in scores.items()}}
    return out


def uncertainty(sets: dict[str, list[Frame]]) -> dict:
    """Calibration of variance and probability on each set, averaged over its frames."""
    return {
        name: {
            set_name: _calibration(bdis.StereoMatcher(preset, **changes), frames) for set_name, frames in sets.items()
        }
        for name, (preset, changes) in UNCERTAIN.items()
    }


def _calibration(matcher: bdis.StereoMatcher, frames: list[Frame]) -> dict:
    found = [compare(matcher.match(frame.left, frame.right), frame) for frame in frames]
    scores = [score_of(f) for f in found if len(f.error_px) > 1000]
    average, inside = mean_score(scores), [s.within_196sigma for s in scores]
    return {
        "within_196sigma": average.within_196sigma,
        "lowest_frame": min(inside),
        "highest_frame": max(inside),
        "within_1sigma": average.within_1sigma,
        "mean_sigma_px": float(
            np.mean([f.sigma_px.mean() for f in found if f.sigma_px is not None and len(f.sigma_px)])
        ),
        "nll": average.nll,
        "ause": average.ause,
        "reliability_error": average.reliability_error,
        "coverage": average.coverage,
    }


def reliability_plot(sets: dict[str, list[Frame]], path: Path) -> None:
    """Said and true: the share within 1 px over the probability, and the share within k sigma over k."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matcher, papers = bdis.StereoMatcher(variance=True), bdis.StereoMatcher("paper", variance="paper")
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for set_name, frames in sets.items():
        found = [compare(matcher.match(frame.left, frame.right), frame) for frame in frames]
        error = np.concatenate([np.abs(f.error_px) for f in found])
        said = np.concatenate([f.probability for f in found])
        bins = np.minimum((said * 10).astype(int), 9)
        points = [(said[bins == k].mean(), (error[bins == k] < 1).mean()) for k in range(10) if (bins == k).sum() > 500]
        axes[0].plot(*np.array(points).T, "o-", label=set_name)
        for kind, style in ((matcher, "-"), (papers, ":")):
            found = [compare(kind.match(frame.left, frame.right), frame) for frame in frames]
            z = np.concatenate([np.abs(f.error_px) / f.sigma_px for f in found])
            steps = np.linspace(0.05, 3, 60)
            label = set_name if style == "-" else f"{set_name}, the paper's"
            axes[1].plot(steps, [(z < k).mean() for k in steps], style, label=label)
    gauss = [math.erf(k / math.sqrt(2)) for k in np.linspace(0.05, 3, 60)]
    axes[1].plot(np.linspace(0.05, 3, 60), gauss, "k--", lw=1, label="Gaussian")
    axes[0].plot([0, 1], [0, 1], "k--", lw=1, label="ideal")
    axes[0].set(
        xlabel="probability", ylabel="share within 1 px", title="probability (balanced)", xlim=(0.3, 1), ylim=(0, 1)
    )
    axes[1].set(
        xlabel="k", ylabel="share of errors below k sigma", title="variance: balanced, and `paper` with Eq. 16-19"
    )
    for axis in axes:
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def near_edges(pair: RenderedPair, jump_px: float = 2.0, reach_px: int = 10) -> np.ndarray:
    """bool (h, w): pixels seen by both cameras within ``reach_px`` of a jump in disparity."""
    truth = pair.full_disparity
    steps = [np.abs(np.diff(truth, axis=axis, prepend=truth[:1] if axis == 0 else truth[:, :1])) for axis in (0, 1)]
    jump = (np.maximum(*steps) > jump_px).astype(np.uint8)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach_px + 1,) * 2)
    return (cv2.dilate(jump, disc) > 0) & ~np.isnan(pair.disparity)


def edges() -> dict:
    """Pixels off by more than 1 px within 10 px of a depth edge, each method at the coverage of SGBM."""
    scenes = [
        render("instruments", seed=seed, disparity_px=d, noise=n, **more)
        for seed, d, n, more in (
            (613, 40, 1.5, {}),
            (614, 20, 1.0, {"lighting": "diffuse"}),
            (615, 80, 2.0, {}),
            (616, 30, 1.0, {"vignetting_difference": 0.2}),
        )
    ]
    methods = {preset: bdis.StereoMatcher(preset, variance=True) for preset in ("balanced", "accurate")}
    bad = dict.fromkeys(["OpenCV SGBM", *methods], 0)
    kept = dict.fromkeys(bad, 0)
    zone = 0
    for pair in scenes:
        near, truth = near_edges(pair), pair.full_disparity
        zone += int(near.sum())
        count = int(np.ceil((truth.max() + 16) / 16)) * 16
        grey = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (pair.left, pair.right)]
        found = sgbm(count).compute(*grey) / 16.0
        known = {"OpenCV SGBM": (found, found > 0)}
        for name, matcher in methods.items():
            result = matcher.match(pair.left, pair.right)
            variance = np.where(result.known, result.variance, np.inf)
            limit = np.quantile(variance, known["OpenCV SGBM"][1].mean())
            known[name] = result.disparity, result.known & (variance <= limit)
        for name, (disparity, mask) in known.items():
            bad[name] += int((mask & near & (np.abs(disparity - truth) > 1)).sum())
            kept[name] += int((mask & near).sum())
    return {name: {"bad": bad[name], "predicted": kept[name], "zone": zone} for name in bad}


def video() -> dict:
    """A static scene with new sensor noise in each frame, and moving ones: fresh starts beside video mode."""
    out = {}
    scenes: dict[str, Callable[[], list[RenderedPair]]] = {
        **{f"{scene}, static": lambda s=scene: _exposures(s, 20) for scene in ("tissue", "colon", "instruments")},
        "colon, slow flight": lambda: _flight(1),
        "colon, fast flight": lambda: _flight(8),
    }
    for name, make in scenes.items():
        frames = make()
        fresh_matcher, video_matcher = bdis.StereoMatcher(), bdis.StereoMatcher()
        fresh, follow, ratios, previous = [], [], [], None
        for frame in frames:
            times = []
            times.append(_timed(lambda f=frame: fresh.append(fresh_matcher.match(f.left, f.right))))
            times.append(
                _timed(lambda f=frame, p=previous: follow.append(video_matcher.match(f.left, f.right, previous=p)))
            )
            previous = follow[-1]
            ratios.append(times[1] / times[0])
        out[name] = {
            "time_of_fresh": float(np.median(ratios[3:])),
            **{f"{kind}_{key}": value for kind, r in (("fresh", fresh), ("video", follow))
               for key, value in _video_figures(r, frames).items()},
        }  # fmt: skip
    return out


def _exposures(scene: str, count: int) -> list[RenderedPair]:
    pair = render(scene, seed=71, disparity_px=40, noise=2.0)
    return [pair.with_noise(2.0, noise_seed=k) for k in range(count)]


def _flight(step: int) -> list[RenderedPair]:
    return [render("colon", seed=33, frame=step * k, disparity_px=40, noise=2.0, noise_seed=k) for k in range(10)]


def _video_figures(results: list[bdis.StereoResult], frames: list[RenderedPair]) -> dict:
    stack = np.stack([r.disparity - f.full_disparity for r, f in zip(results[3:], frames[3:])])
    always = np.isfinite(stack).all(0)
    errors = [np.abs(r.disparity - f.disparity) for r, f in zip(results[3:], frames[3:])]
    return {
        "flicker_px": float(stack[:, always].std(0).mean()),
        "median_px": float(np.mean([np.nanmedian(e) for e in errors])),
        "mean_px": float(np.mean([np.nanmean(e) for e in errors])),
        "coverage": float(np.mean([r.coverage for r in results[3:]])),
    }
