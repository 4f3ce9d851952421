"""KITTI 2015: street scenes, far from endoscopy but widely known."""

from pathlib import Path

import numpy as np

from ...cameras.formats.matrices import matrix_of, rectified_of_projections, reshaped
from ...cameras.rig import Rig
from ...common.reading import MAX_CALIBRATION_BYTES, read_text
from ...files.images import read_image
from ...files.maps import read_disparity
from .frame import Dataset, Entry, Frame, WrongFolder, in_order

LOOKED_FOR = "image_2/NNNNNN_10.png, image_3/NNNNNN_10.png and disp_occ_0/NNNNNN_10.png, also in a folder training"
MAX_DISPARITY_PX = 256.0  # the largest value its files can store


def find(folder: Path) -> Path | None:
    """The folder that contains image_2, or None."""
    for place in (folder, folder / "training"):
        if (place / "image_2").is_dir():
            return place
    return None


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return find(folder) is not None


def load(folder: Path) -> Dataset:
    """Open KITTI 2015; with ``calib_cam_to_cam/NNNNNN.txt`` there is depth as well."""
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
    """The rig of the two colour cameras, from their 3x4 projection matrices in m."""
    lines = (line.partition(":") for line in read_text(path, MAX_CALIBRATION_BYTES).splitlines())
    entries = {name.strip(): value.split() for name, _, value in lines}
    if missing := [name for name in ("P_rect_02", "P_rect_03") if name not in entries]:
        raise ValueError(f"{path} has no {', '.join(missing)}; expected KITTI's calib_cam_to_cam")
    try:
        left, right = (reshaped(matrix_of(entries[name], name), name, (3, 4)) for name in ("P_rect_02", "P_rect_03"))
        return Rig(**rectified_of_projections(left, right, 1000))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
