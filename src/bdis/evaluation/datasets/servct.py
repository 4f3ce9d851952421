"""SERV-CT: sixteen ex-vivo pairs with a reference from CT, rectified, 720x576."""

from pathlib import Path
from typing import Literal

import numpy as np

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...files.images import read_image
from .frame import Dataset, Entry, Frame, WrongFolder, in_order, round_up

LOOKED_FOR = (
    "Experiment_1 and Experiment_2 with Left_rectified/NNN.png, Right_rectified/NNN.png, "
    "Rectified_calibration/NNN.json and Ground_truth_CT/{DepthL,Disparity,OcclusionL}/NNN.png"
)
SCALE = 256.0  # grey levels per mm of depth and per px of disparity in 16-bit files
NEAREST_MM = 30.0  # tissue is never nearer; gives the largest disparity
# Colours of OcclusionL, RGB.
NO_REFERENCE = (0, 0, 255)
NOT_IN_BOTH = ((255, 255, 0), (255, 0, 0), (0, 255, 0))  # outside the other view, occluded in right, in left


def find(folder: Path) -> list[Path]:
    """The experiments in a folder, which may be one of them, or hold SERV-CT."""
    if (folder / "Left_rectified").is_dir():
        return [folder]
    found = in_order(path.parent for path in folder.glob("Experiment_*/Left_rectified"))
    return found or in_order(path.parent for path in folder.glob("SERV-CT/Experiment_*/Left_rectified"))


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return bool(find(folder))


def load(folder: Path, *, reference: Literal["CT", "RGB"] = "CT") -> Dataset:
    """Open SERV-CT.

    Parameters
    ----------
    folder : Path
        See :func:`find`.
    reference : {"CT", "RGB"}
        "RGB" exists only for Experiment_2.

    Returns
    -------
    Dataset
    """
    if reference not in ("CT", "RGB"):
        raise ValueError(f"reference must be 'CT' or 'RGB', but it is {reference!r}")
    experiments = find(folder)
    if not experiments:
        raise WrongFolder(f"{folder} is not SERV-CT: there is no {LOOKED_FOR}")
    entries = []
    for experiment in experiments:
        truth = experiment / f"Ground_truth_{reference}"
        if truth.is_dir():
            entries += [
                _entry(experiment, truth, left) for left in in_order((experiment / "Left_rectified").glob("*.png"))
            ]
    if not entries:
        raise WrongFolder(f"{folder} has no Ground_truth_{reference}; looked in {', '.join(map(str, experiments))}")
    return Dataset("SERV-CT", "serv-ct", entries)


def _entry(experiment: Path, truth: Path, left: Path) -> Entry:
    group = f"SERV-CT {experiment.resolve().name.replace('_', ' ')}"
    name = left.name

    def read() -> Frame:
        calibration = Rig.load(experiment / "Rectified_calibration" / f"{left.stem}.json")
        depth, disparity = (_read_map(truth / kind / name) for kind in ("DepthL", "Disparity"))
        colours = read_image(truth / "OcclusionL" / name)
        if colours.ndim != 3:
            raise ValueError(f"{truth / 'OcclusionL' / name} is grey; expected the colours of the kinds of occlusion")
        unknown = (colours == NO_REFERENCE).all(2)
        hidden = np.any([(colours == colour).all(2) for colour in NOT_IN_BOTH], 0)
        depth, disparity = (np.where(unknown, np.float32(np.nan), array) for array in (depth, disparity))
        return Frame(
            group, left.stem, read_image(left), read_image(experiment / "Right_rectified" / name), calibration,
            depth, disparity, hidden, max_disparity_px=round_up(float(calibration.disparity(NEAREST_MM))),
        )  # fmt: skip

    return Entry(group, left.stem, read)


def _read_map(path: Path) -> Array:
    """Depth in mm or disparity in px; 8-bit files store whole numbers."""
    levels = read_image(path)
    if levels.ndim != 2:
        raise ValueError(f"{path} has {levels.shape[2]} channels; expected one")
    values = levels / np.float32(SCALE if levels.dtype == np.uint16 else 1)
    return np.where(levels > 0, values, np.float32(np.nan)).astype(np.float32)
