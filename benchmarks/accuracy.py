"""Depth error and coverage: methods beside each other, and parts of the paper's method switched off."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np

import bdis
from bdis.evaluation.baselines import method
from bdis.evaluation.datasets import Frame
from bdis.evaluation.metrics import mean_score, score_result
from bdis.matching.result import StereoResult

from .methods import label, matcher_for, others

ABLATIONS = {
    "paper": ("paper", {}),
    "no sGMM": ("paper", {"sigma_spatial": None}),
    "no propagation": ("paper", {"propagate": False}),
    "fixed sigma_r = 8": ("paper", {"sigma_r": 8.0}),
    "weights 2^n as printed": ("paper", {"level_weights": "2^n"}),
    "s of Eq. 6 is the window": ("paper", {"likelihood_area": "window"}),
    "one Gaussian in Eq. 9": ("paper", {"spatial_sum": False}),
    "stride rounded up, 5 px": ("paper", {"stride_rounding": "up"}),
    "always 12 steps": ("paper", {"stop_step": 0.0}),
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


def accuracy(sets: dict[str, list[Frame]]) -> dict:
    """Metrics of each method on each set."""
    frames = [frame for members in sets.values() for frame in members]
    methods = [*(method(f"bdis-{preset}") for preset in bdis.PRESETS), *others()]
    return {
        label(each, frames): scores(sets, lambda frame: matcher_for(each, frame).match(frame.left, frame.right))
        for each in methods
    }


def ablation(sets: dict[str, list[Frame]]) -> dict:
    """Each part of the paper's method switched off or changed by itself."""
    found = {}
    for name, (preset, changes) in ABLATIONS.items():
        matcher = bdis.StereoMatcher(preset, **changes)
        found[name] = scores(sets, lambda frame: matcher.match(frame.left, frame.right))
    return found


def scores(sets: dict[str, list[Frame]], match: Callable[[Frame], StereoResult]) -> dict:
    """Metrics by set, averaged over its frames; those that are not defined are left out."""
    averages = {
        name: asdict(mean_score([score_result(match(frame), frame) for frame in frames]))
        for name, frames in sets.items()
    }
    return {name: {key: v for key, v in each.items() if np.isfinite(v)} for name, each in averages.items()}
