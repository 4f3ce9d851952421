"""The pairs that are measured: rendered tissue, and the authors' virtual colon if it is there."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from bdis.datasets import Frame, open_dataset
from bdis.evaluation import Score, compare, mean_score
from bdis.evaluation import score as score_of
from bdis.result import StereoResult
from bdis.rig import Rig

__all__ = ["AUTHORS_SET", "Frame", "authors_frames", "frame_sets", "mean_score", "rendered_frames", "score"]
AUTHORS_SET = Path(
    os.environ.get("BDIS_AUTHORS_SET", Path(__file__).parents[2] / "shared" / "data" / "bdis-v2" / "dataset")
)


def authors_frames(set_name: str) -> list[Frame]:
    """Frames of one folder of the authors' set (30 and 31 have reference depth)."""
    return list(open_dataset(AUTHORS_SET, "authors", sets=set_name).frames())


def rendered_frames(count: int = 4, height: int = 480, width: int = 640) -> list[Frame]:
    """Tissue as the project renders it, with different shapes, textures and noise."""
    from bdis.synthetic import render

    frames = []
    for seed in range(count):
        pair = render("tissue", height, width, seed=seed, texture=0.6 + 0.2 * (seed % 3), noise=1.0 + seed % 3)
        rig = Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
        frame = Frame("rendered", str(seed), pair.left, pair.right, rig, pair.depth_mm, occluded=pair.occluded)
        frames.append(replace(frame.without_occluded(), max_depth_mm=200.0))
    return frames


def frame_sets() -> dict[str, list[Frame]]:
    """What to measure here: sets 30 and 31 where they are, and rendered tissue always."""
    sets = {f"set {name}": authors_frames(name) for name in ("30", "31") if (AUTHORS_SET / name).is_dir()}
    return {**sets, "rendered": rendered_frames()}


def score(disparity: np.ndarray, frame: Frame) -> Score:
    """Compare one frame's disparity (px, NaN = unknown) with its reference; what a method says of itself is ignored."""
    disparity = np.asarray(disparity, np.float32)
    return score_of(compare(StereoResult(disparity, np.isfinite(disparity).astype(np.float32)), frame))
