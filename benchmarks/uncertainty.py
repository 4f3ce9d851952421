"""How honest the claimed uncertainty is: presets on all pairs, other settings mostly on those with exact depth."""

import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.common.arrays import Array
from bdis.common.law import share_within
from bdis.evaluation.confidence import WITHIN_PX, reliability, reliability_error
from bdis.evaluation.datasets import Frame
from bdis.evaluation.errors import Comparison, compare
from bdis.evaluation.metrics import mean_score, score

from .real import real_sets

PRESETS = "balanced", "accurate"
VARIANTS = {
    "balanced, the paper's variance": ("balanced", {"variance": "paper"}),
    "balanced, dense": ("balanced", {"variance": True, "dense": True}),
    "paper": ("paper", {"variance": True}),
    "paper, the paper's variance": ("paper", {"variance": "paper"}),
    "fast": ("fast", {"variance": True}),
}
ON_REAL_PAIRS = "paper", "fast"  # of these, also on the real pairs
# Standard deviation of references that are not exact: measured by structured light or CT, and in whole px.
REFERENCE_SIGMA_PX = {"scared-d5k1": 0.3, "phantom-22": 0.3, "tsukuba": 0.29, "aloe-half": 0.14}
BENT_PX = 0.0, 0.1, 0.2, 0.3, 0.5  # standard deviation by which a lens is not what its calibration says
BEND_PX = 60  # standard deviation of the Gaussian that makes it smooth
FEWEST_PIXELS = 1000  # a frame with fewer errors says nothing on shares of them


def honesty(sets: dict[str, list[Frame]]) -> dict:
    """Figures of the presets on each set, real pairs first; twice where the reference has errors of its own."""
    pairs = {**real_sets(), **sets}
    return {preset: _by_set(bdis.StereoMatcher(preset, variance=True), pairs) for preset in PRESETS}


def variants(sets: dict[str, list[Frame]]) -> dict:
    """The same figures for other settings."""
    pairs = {**real_sets(), **sets}
    return {
        name: _by_set(bdis.StereoMatcher(preset, **changes), pairs if name in ON_REAL_PAIRS else sets)
        for name, (preset, changes) in VARIANTS.items()
    }


def _by_set(matcher: bdis.StereoMatcher, sets: dict[str, list[Frame]]) -> dict:
    """Figures on each set; twice where the reference has errors of its own."""
    found = {}
    for name, frames in sets.items():
        found[name] = figures(_compared(matcher, frames))
        if any(frame.name in REFERENCE_SIGMA_PX for frame in frames):
            row = f"{name}, errors of the reference allowed for"
            found[row] = figures(_compared(matcher, frames, allows_for_reference=True))
    return found


def _compared(matcher: bdis.StereoMatcher, frames: list[Frame], allows_for_reference: bool = False) -> list[Comparison]:
    """Results and references; the variance of the references is added, as their errors are independent.

    The probability is then that of a distance from the reference below 1 px.
    """
    found = []
    for frame in frames:
        result = matcher.match(frame.left, frame.right)
        own = REFERENCE_SIGMA_PX.get(frame.name, 0.0) if allows_for_reference else 0.0
        if own:
            variance = result.variance + own**2
            probability = np.where(result.known, share_within(WITHIN_PX, variance), 0).astype(np.float32)
            result = replace(result, variance=variance, probability=probability)
        found.append(compare(result, frame))
    return found


def figures(found: list[Comparison]) -> dict:
    """Averages over the frames of a set that have enough pixels, and the shares of the worst and the best frame."""
    found = [each for each in found if len(each.error_px) >= FEWEST_PIXELS]
    scores = [score(each) for each in found]
    average, inside = mean_score(scores), [each.within_95 for each in scores]
    return {
        "within_68": average.within_68,
        "within_95": average.within_95,
        "lowest_within_95": min(inside, default=math.nan),
        "highest_within_95": max(inside, default=math.nan),
        "interval_95_px": average.interval_95,
        "log_score": average.log_score,
        "ause": average.ause,
        "ause_unit": "px" if all(each.in_px for each in found) else "mm",
        "reliability_error": average.reliability_error,
        "reliability_error_of_set": reliability_error(reliability(_pooled(found))) if found else math.nan,
        "coverage": average.coverage,
    }


def lenses(frames: list[Frame]) -> dict:
    """Figures of the default preset where the right lens is not what its calibration says, by how far: with rows
    measured, and without.
    """
    found: dict = {}
    for sigma_px in BENT_PX:
        pairs = [replace(frame, right=bent(frame.right, sigma_px, seed)) for seed, frame in enumerate(frames)]
        for name, align_rows in (("measured", "auto"), ("off", "off")):
            matcher = bdis.StereoMatcher(variance=True, align_rows=align_rows)
            found.setdefault(str(sigma_px), {})[name] = figures(_compared(matcher, pairs))
    return found


def bent(image: Array, sigma_px: float, seed: int) -> Array:
    """An image as through a lens that is not quite what its calibration says.

    Pixels lie ``sigma_px`` (standard deviation) off, along rows and columns alike, and smoothly.
    """
    rng = np.random.default_rng(seed)
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    fields = (cv2.GaussianBlur(rng.normal(size=(height, width)).astype(np.float32), (0, 0), BEND_PX) for _ in range(2))
    columns, rows = (place + np.float32(sigma_px) * field / field.std() for place, field in zip((x, y), fields))
    return np.asarray(cv2.remap(image, columns, rows, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT))


def reliability_plot(sets: dict[str, list[Frame]], path: Path) -> None:
    """Claimed against true: the share within 1 px over the probability, and the share within k sigma over k."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matchers = {
        "": bdis.StereoMatcher(variance=True),
        ", the paper's": bdis.StereoMatcher("paper", variance="paper"),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    k = np.linspace(0.05, 3, 60)
    for number, (set_name, frames) in enumerate(sets.items()):
        for kind, matcher in matchers.items():
            if kind and set_name.startswith("real/"):
                continue  # the picture is full enough
            found = _pooled([compare(matcher.match(frame.left, frame.right), frame) for frame in frames])
            if not kind:
                table = {name: np.array(values) for name, values in reliability(found).items()}
                enough = table["count"] > 500
                left.plot(
                    table["probability"][enough], table["within"][enough], "o-", color=f"C{number}", label=set_name
                )
            z = np.abs(found.error_px) / found.sigma_px
            style = {"linestyle": ":" if kind else "-", "color": f"C{number}"}
            right.plot(k, [(z < each).mean() for each in k], **style, label=f"{set_name}{kind}")
    left.plot([0, 1], [0, 1], "k--", lw=1, label="ideal")
    right.plot(k, share_within(k, 1.0), "k--", lw=1, label="ideal")
    left.set(xlabel="probability", ylabel="share within 1 px", title="probability (balanced)", xlim=(0, 1), ylim=(0, 1))
    right.set(
        xlabel="k", ylabel="share of errors below k sigma", title="variance: balanced, and `paper` with Eq. 15-18"
    )
    for axis in (left, right):
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _pooled(found: list[Comparison]) -> Comparison:
    """The pixels of several frames as one comparison, in px."""
    joined = {
        name: np.concatenate([getattr(each, name) for each in found])
        for name in ("error_px", "probability", "sigma_px")
    }
    nothing = np.full(len(joined["error_px"]), np.nan)  # real pairs have no rig, so no mm
    return Comparison(**joined, error_mm=nothing, sigma_mm=nothing, references=sum(each.references for each in found))
