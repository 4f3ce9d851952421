"""Middlebury 2014: a folder per scene, or one scene."""

import re
from pathlib import Path

from ...cameras.rig import Rig
from ...common.reading import MAX_CALIBRATION_BYTES, read_text
from ...files.images import read_image
from ...files.maps import read_disparity
from .frame import Dataset, Entry, Frame, WrongFolder, in_order

LOOKED_FOR = "im0.png, im1.png, calib.txt and disp0.pfm, in the folder or in a folder per scene"


def find(folder: Path) -> list[Path]:
    """The scenes in a folder, which may be one of them."""
    if (folder / "im0.png").is_file():
        return [folder]
    return in_order(path.parent for path in folder.glob("*/im0.png"))


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return bool(find(folder))


def load(folder: Path) -> Dataset:
    """Open Middlebury 2014."""
    scenes = find(folder)
    if not scenes:
        raise WrongFolder(f"{folder} is not Middlebury 2014: there is no {LOOKED_FOR}")
    for scene in scenes:
        if missing := [name for name in ("im1.png", "calib.txt") if not (scene / name).is_file()]:
            raise WrongFolder(f"{scene} has no {', '.join(missing)}; looked for {LOOKED_FOR}")
    return Dataset("Middlebury 2014", "middlebury", [_entry(scene) for scene in scenes])


def _entry(scene: Path) -> Entry:
    name = scene.resolve().name

    def read() -> Frame:
        reference, mask = scene / "disp0.pfm", scene / "mask0nocc.png"
        calibration = read_text(scene / "calib.txt", MAX_CALIBRATION_BYTES)
        ndisp = re.search(r"^ndisp=(\d{1,9})$", calibration, re.MULTILINE)
        return Frame(
            "Middlebury", name, read_image(scene / "im0.png"), read_image(scene / "im1.png"),
            Rig.load(scene / "calib.txt"),
            reference_disparity=read_disparity(reference) if reference.exists() else None,
            occluded=read_image(mask) != 255 if mask.exists() else None,
            max_disparity_px=float(ndisp[1]) if ndisp else None,
        )  # fmt: skip

    return Entry("Middlebury", name, read)
