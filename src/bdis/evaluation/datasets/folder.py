"""A user's own folder: left/ and right/ with files of the same names, and optional references and calibration."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...files.images import IMAGE_ENDINGS, read_image
from ...files.maps import read_depth, read_disparity
from .frame import Dataset, Entry, Frame, WrongFolder, as_number, in_order, round_up

CALIBRATIONS = (
    "rig.toml",
    "rig.json",
    "calibration.toml",
    "calibration.yaml",
    "calibration.json",
    "calib.txt",
    "K.txt",
)
LOOKED_FOR = (
    "left/ and right/ with images of the same names; if there, disparity/ (px) or depth/ (mm) with the same names as "
    f"TIFF, PFM, NPY or PNG, occluded/ (not 0 where hidden), and one of {', '.join(CALIBRATIONS)}"
)
_REFERENCES = (".tiff", ".tif", ".pfm", ".npy", ".png")
_Reader = Callable[[Path], Array]


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return (folder / "left").is_dir() and (folder / "right").is_dir()


def load(
    folder: Path, *, rig: str = "", scale: float = 256.0, depth_scale: float = 1.0, max_depth_mm: float | None = None
) -> Dataset:
    """Open a folder of pairs.

    Parameters
    ----------
    folder : Path
        Contains left/ and right/.
    rig : str
        Calibration file, if it is not one of ``CALIBRATIONS`` in the folder.
    scale : float
        Grey levels per px of a disparity PNG (KITTI 256; some tools 128).
    depth_scale : float
        Grey levels per mm of a depth PNG.
    max_depth_mm : float or None
        An estimate beyond this depth counts as not predicted.

    Returns
    -------
    Dataset
    """
    lefts = in_order(path for path in (folder / "left").glob("*") if path.suffix.lower() in IMAGE_ENDINGS)
    if not lefts:
        raise WrongFolder(f"{folder} is no folder of pairs: there is no {LOOKED_FOR}")
    files = [Path(rig)] if rig else calibrations_in(folder)
    camera = Rig.load(files[0]) if files else None
    group = folder.resolve().name
    readers: dict[str, _Reader] = {
        "disparity": partial(read_disparity, scale=as_number("scale", scale)),
        "depth": partial(read_depth, scale=as_number("depth_scale", depth_scale)),
    }
    most = None if max_depth_mm is None else as_number("max_depth_mm", max_depth_mm)
    return Dataset(group, "folder", [_entry(folder, group, left, camera, readers, most) for left in lefts])


def calibrations_in(folder: Path) -> list[Path]:
    """The calibration files of a folder; the first one is used."""
    return [folder / name for name in CALIBRATIONS if (folder / name).is_file()]


def _entry(
    folder: Path, group: str, left: Path, camera: Rig | None, readers: dict[str, _Reader], max_depth_mm: float | None
) -> Entry:
    def reference(kind: str) -> Array | None:
        places = [folder / kind / f"{left.stem}{ending}" for ending in _REFERENCES]
        path = next((place for place in places if place.is_file()), None)
        return None if path is None else readers[kind](path)

    def read() -> Frame:
        right = folder / "right" / left.name
        if not right.is_file():
            raise WrongFolder(f"{right} is missing; left/ and right/ must have files of the same names")
        hidden = folder / "occluded" / f"{left.stem}.png"
        frame = Frame(
            group, left.stem, read_image(left), read_image(right), camera, reference("depth"), reference("disparity"),
            read_image(hidden) > 0 if hidden.is_file() else None, max_depth_mm,
        )  # fmt: skip
        if frame.disparity is None or not (frame.disparity > 0).any():
            return frame
        most = round_up(float(frame.disparity[frame.disparity > 0].max()) + 1)
        return replace(frame, max_disparity_px=most)

    return Entry(group, left.stem, read)
