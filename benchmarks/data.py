"""The pairs that are measured: rendered tissue, and the authors' virtual colon if it is there."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

AUTHORS_SET = Path(
    os.environ.get("BDIS_AUTHORS_SET", Path(__file__).parents[2] / "shared" / "data" / "bdis-v2" / "dataset")
)
MAX_DEPTH_MM = 30.0  # the paper's protocol: further is unknown, an estimate beyond it not predicted


@dataclass(frozen=True)
class Frame:
    """A pair with exact depth."""

    set_name: str
    name: str
    left: np.ndarray  # uint8 (h, w, 3)
    right: np.ndarray
    depth_mm: np.ndarray | None  # float64 (h, w)
    focal_baseline: float  # px mm: depth = focal_baseline / disparity
    max_depth_mm: float


def authors_frames(set_name: str) -> list[Frame]:
    """Frames of one folder of the authors' set (30 and 31 have reference depth)."""
    import cv2

    folder = AUTHORS_SET / set_name
    frames = []
    for path in sorted((folder / "images_rectified" / "left").glob("*.png"), key=lambda p: int(p.stem)):
        left, right = (
            cv2.imread(str(folder / "images_rectified" / side / path.name))[..., ::-1] for side in ("left", "right")
        )
        reference = folder / f"depth_{int(path.stem):07d}.png"
        depth = None
        if reference.exists():
            _, green, red = np.moveaxis(cv2.imread(str(reference)).astype(np.float64), 2, 0)
            depth = np.round(green * 100 / 255) + red / 255
        frames.append(
            Frame(
                set_name, path.stem, left.copy(), right.copy(), depth, focal_baseline=260.0, max_depth_mm=MAX_DEPTH_MM
            )
        )
    return frames


def rendered_frames(count: int = 4, height: int = 480, width: int = 640) -> list[Frame]:
    """Tissue as the project renders it, with different shapes, textures and noise."""
    from bdis.synthetic import render

    frames = []
    for seed in range(count):
        pair = render("tissue", height, width, seed=seed, texture=0.6 + 0.2 * (seed % 3), noise=1.0 + seed % 3)
        depth = np.where(np.isnan(pair.disparity), np.inf, pair.depth_mm)
        product = pair.focal_px * pair.baseline_mm
        frames.append(Frame("rendered", str(seed), pair.left, pair.right, depth, product, max_depth_mm=200.0))
    return frames


def frame_sets() -> dict[str, list[Frame]]:
    """What to measure here: sets 30 and 31 where they are, and rendered tissue always."""
    sets = {f"set {name}": authors_frames(name) for name in ("30", "31") if (AUTHORS_SET / name).is_dir()}
    return {**sets, "rendered": rendered_frames()}


@dataclass(frozen=True)
class Score:
    """Depth error over the pixels a method predicts, as the paper counts it."""

    mean_mm: float
    median_mm: float
    valid: int
    bad_1px: float  # share of the predicted pixels more than 1 px off


def score(disparity: np.ndarray, frame: Frame) -> Score:
    """Compare one frame's disparity (px, NaN = unknown) with its reference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = frame.focal_baseline / disparity
    counted = np.isfinite(depth) & (depth > 0) & (depth <= frame.max_depth_mm) & (frame.depth_mm < frame.max_depth_mm)
    if not counted.any():
        return Score(np.nan, np.nan, 0, np.nan)
    error = np.abs(depth[counted] - frame.depth_mm[counted])
    error_px = np.abs(disparity[counted] - frame.focal_baseline / frame.depth_mm[counted])
    return Score(float(error.mean()), float(np.median(error)), int(counted.sum()), float((error_px > 1).mean()))


def mean_score(scores: list[Score]) -> Score:
    """Average of per-frame values, as the paper averages; frames without a prediction count only as coverage."""
    columns = np.array([(s.mean_mm, s.median_mm, s.valid, s.bad_1px) for s in scores], float)
    some = columns[columns[:, 2] > 0]
    if not len(some):
        return Score(np.nan, np.nan, 0, np.nan)
    mean, median, _, bad = some.mean(0)
    return Score(mean, median, round(columns[:, 2].mean()), bad)
