"""The rectified Hamlyn videos, as released with Endo-Depth-and-Motion; their depth was made by ELAS."""

from pathlib import Path

import numpy as np

from ...cameras.rig import Rig
from ...files.images import read_image
from ...files.maps import read_depth
from .frame import Dataset, Entry, Frame, WrongFolder, as_number, in_order, round_up

LOOKED_FOR = "rectifiedXX/{image01,image02}/*.jpg, depth01/*.png and intrinsics.txt"
MIN_DEPTH_MM, MAX_DEPTH_MM = 1.0, 300.0  # other references are not to be trusted
NEAREST_MM = 30.0


def find(folder: Path) -> list[Path]:
    """The videos in a folder, which may be one of them; some archives hold their folder twice."""
    if (folder / "image01").is_dir():
        return [folder]
    both = [*folder.glob("rectified*/image01"), *folder.glob("rectified*/rectified*/image01")]
    return in_order(path.parent for path in both if path.is_dir())


def detect(folder: Path) -> bool:
    return bool(find(folder))


def load(folder: Path, *, baseline_mm: float | None = None) -> Dataset:
    """Hamlyn rectified.

    Parameters
    ----------
    baseline_mm : distance between the cameras, which the set does not say (5.2 to 5.4); without it there is no rig,
        and no score
    """
    videos = find(folder)
    if not videos:
        raise WrongFolder(f"{folder} is not the rectified Hamlyn set: there is no {LOOKED_FOR}")
    baseline = None if baseline_mm is None else as_number("baseline_mm", baseline_mm)
    entries = []
    for video in videos:
        if not (video / "intrinsics.txt").is_file():
            raise WrongFolder(f"{video} has images but no intrinsics.txt; looked for {LOOKED_FOR}")
        rig = None if baseline is None else Rig.load(video / "intrinsics.txt", baseline_mm=baseline)
        entries += [_entry(video, left, rig) for left in in_order((video / "image01").glob("*.jpg"))]
    return Dataset("Hamlyn rectified", "hamlyn", entries)


def _entry(video: Path, left: Path, rig: Rig | None) -> Entry:
    group = f"Hamlyn {video.resolve().name}"

    def read() -> Frame:
        depth = None
        reference = video / "depth01" / f"{left.stem}.png"
        if reference.exists():
            depth = read_depth(reference)
            with np.errstate(invalid="ignore"):
                depth[~((depth >= MIN_DEPTH_MM) & (depth <= MAX_DEPTH_MM))] = np.nan
        return Frame(
            group, left.stem, read_image(left), read_image(video / "image02" / left.name), rig, depth,
            max_depth_mm=MAX_DEPTH_MM,
            max_disparity_px=None if rig is None else round_up(float(rig.disparity(NEAREST_MM))),
        )  # fmt: skip

    return Entry(group, left.stem, read)
