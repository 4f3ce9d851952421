"""Real pairs with reference, where they are available: tissue, Middlebury, Scene Flow."""

import os
from pathlib import Path

import numpy as np

import bdis
from bdis.evaluation.baselines import METHODS
from bdis.evaluation.datasets import Frame, open_dataset
from bdis.evaluation.errors import Comparison, compare

from .data import SHARED_DATA
from .methods import label, matcher_for

REAL_PAIRS = Path(os.environ.get("BDIS_REAL_PAIRS", SHARED_DATA / "real"))
SETS = "tissue", "middlebury", "sceneflow", "other"  # the last: further pairs, if there are some
PRESETS = "bdis", "bdis-accurate"
OTHERS = "sgbm", "sgbm-3way", "bm", "dis-flow", "elas"


def real_sets() -> dict[str, list[Frame]]:
    """Frames by set, of the sets that are available; pixels that only the left camera sees have no reference."""
    return {
        f"real/{name}": [frame.without_occluded() for frame in open_dataset(REAL_PAIRS / name).frames()]
        for name in SETS
        if (REAL_PAIRS / name).is_dir()
    }


def real_figures(matcher: bdis.StereoMatcher) -> dict[str, dict]:
    """Error, gross errors and coverage of visible pixels by set."""
    return {
        name: _figures([compare(matcher.match(frame.left, frame.right), frame) for frame in frames])
        for name, frames in real_sets().items()
    }


def real() -> dict:
    """Error, gross errors and coverage of visible pixels; presets also at the coverage of each other method.

    At equal coverage the least certain pixels of the preset are left out, by its own variance.
    """
    sets = real_sets()
    found: dict = {}
    for set_name, frames in sets.items():
        compared = {name: [_compare(name, frame) for frame in frames] for name in (*PRESETS, *OTHERS)}
        for name, comparisons in compared.items():
            row = found.setdefault(label(METHODS[name], [f for each in sets.values() for f in each]), {})
            row[set_name] = _figures(comparisons)
            if name in OTHERS:
                row[set_name]["equal"] = {
                    preset: _figures(
                        [_cut(mine, len(other.error_px)) for mine, other in zip(compared[preset], comparisons)]
                    )
                    for preset in PRESETS
                }
    return found


def _compare(name: str, frame: Frame) -> Comparison:
    method = METHODS[name]
    matcher = bdis.StereoMatcher(method.preset, variance=True) if method.preset else matcher_for(method, frame)
    return compare(matcher.match(frame.left, frame.right), frame)


def _cut(found: Comparison, count: int) -> Comparison:
    """The ``count`` most certain pixels."""
    confidence = found.confidence
    if confidence is None or count >= len(found.error_px):
        return found
    kept = np.argsort(-confidence, kind="stable")[:count]
    return Comparison(found.error_mm[kept], found.error_px[kept], found.probability[kept], None, None, found.references)


def _figures(found: list[Comparison]) -> dict:
    """Averages over the pairs."""
    errors = [np.abs(each.error_px) for each in found]
    return {
        "epe_px": float(np.mean([e.mean() for e in errors])),
        "bad_1px": float(np.mean([(e > 1).mean() for e in errors])),
        "median_px": float(np.mean([np.median(e) for e in errors])),
        "coverage": float(np.mean([len(each.error_px) / each.references for each in found])),
    }
