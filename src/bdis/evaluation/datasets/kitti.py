"""KITTI 2015: street scenes, as far from endoscopy as can be, and known to everyone."""

import re
from pathlib import Path

import numpy as np

from ...cameras.rig import Rig
from ...files.images import read_image
from ...files.maps import read_disparity
from .frame import Dataset, Entry, Frame, WrongFolder, in_order

LOOKED_FOR = "image_2/NNNNNN_10.png, image_3/NNNNNN_10.png and disp_occ_0/NNNNNN_10.png, also in a folder training"
MAX_DISPARITY_PX = 256.0  # what its files can hold


def find(folder: Path) -> Path | None:
    """Where image_2 is."""
    for place in (folder, folder / "training"):
        if (place / "image_2").is_dir():
            return place
    return None


def detect(folder: Path) -> bool:
    return find(folder) is not None


def load(folder: Path) -> Dataset:
    """KITTI 2015; with ``calib_cam_to_cam/NNNNNN.txt`` there is depth as well."""
    place = find(folder)
    lefts = in_order((place / "image_2").glob("*_10.png")) if place else []
    if place is None or not lefts or not (place / "image_3").is_dir():
        raise WrongFolder(f"{folder} is not KITTI 2015: there is no {LOOKED_FOR}")
    return Dataset("KITTI 2015", "kitti", [_entry(place, left) for left in lefts])


def _entry(place: Path, left: Path) -> Entry:
    def read() -> Frame:
        everywhere, visible = (place / folder / left.name for folder in ("disp_occ_0", "disp_noc_0"))
        disparity = read_disparity(everywhere) if everywhere.exists() else None
        occluded = None
        if disparity is not None and visible.exists():
            occluded = np.isfinite(disparity) & np.isnan(read_disparity(visible))
        calibration = place / "calib_cam_to_cam" / f"{left.stem.removesuffix('_10')}.txt"
        return Frame(
            "KITTI", left.stem, read_image(left), read_image(place / "image_3" / left.name),
            _rig(calibration) if calibration.exists() else None, reference_disparity=disparity, occluded=occluded,
            max_disparity_px=MAX_DISPARITY_PX,
        )  # fmt: skip

    return Entry("KITTI", left.stem, read)


def _rig(path: Path) -> Rig:
    """Of the 3x4 projections of the two colour cameras, in m."""
    entries = dict(re.findall(r"^(\w+):\s*(.*?)\s*$", path.read_text(), re.MULTILINE))
    if missing := [name for name in ("P_rect_02", "P_rect_03") if name not in entries]:
        raise ValueError(f"{path} has no {', '.join(missing)}; expected KITTI's calib_cam_to_cam")
    left, right = (np.array(entries[name].split(), float).reshape(3, 4) for name in ("P_rect_02", "P_rect_03"))
    focal = float(left[0, 0])
    return Rig(focal, left[0, 2], left[1, 2], float(left[0, 3] - right[0, 3]) / focal * 1000)
