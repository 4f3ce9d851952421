"""The set the paper's authors publish: a virtual colon with depth (30 to 33), and Hamlyn videos without (others).

``<set>/images_rectified/{left,right}/<frame>.png`` and ``<set>/depth_<frame, 7 digits>.png``.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...files.images import read_image
from .frame import Dataset, Entry, Frame, WrongFolder, in_order

LOOKED_FOR = "<number>/images_rectified/left/*.png and right/*.png (depth_<7 digits>.png beside images_rectified)"
MAX_DEPTH_MM = 30.0  # the paper's protocol: a larger reference is unknown, a larger estimate not predicted
# With and without reference depth: 99 % of what both virtual cameras see is below 256 px, an eighth above 128.
MAX_DISPARITY_PX = {True: 256.0, False: 128.0}
_VIRTUAL = Rig(520, 320, 240, 0.5, size=(640, 480))
# The published set has no calibration files; 32 and 33 are of the same virtual camera as 30 and 31.
CAMERAS = {
    "30": _VIRTUAL, "31": _VIRTUAL, "32": _VIRTUAL, "33": _VIRTUAL,
    "6": Rig(695.8775809222639737, 280.4026432037353516, 252.3805904388427734, 5.379, size=(640, 480)),
    "20": Rig(343.7898110138030461, 362.9623012542724609, 155.5652084350585938, 5.200, size=(720, 288)),
}  # fmt: skip
_DEPTH_NUMBER_SHIFT = {"32": -1}  # its depth files are numbered from 0, its images from 1
_REPEATED = {("32", "16")}  # its images are those of 32/17
Decoding = Literal["exact", "published"]


def decode_depth(image: Array, decoding: Decoding = "exact") -> NDArray[np.float32]:
    """Depth in mm of the set's 8-bit RGB depth images.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w, 3)
        RGB; green is the whole millimetres as a percentage of 255, red the fraction.
    decoding : {"exact", "published"}
        "published" is the formula that comes with the set, off by up to 0.4 mm, which the paper's own table was made
        with.

    Returns
    -------
    ndarray of float32, shape (h, w)
        mm; NaN from 30 mm on, as in the paper's protocol.

    Raises
    ------
    ValueError
        Not an 8-bit RGB image, or an unknown decoding.

    Examples
    --------
    >>> import numpy as np
    >>> pixel = np.uint8([[[51, 31, 0]]])  # 12 mm and a fifth
    >>> round(float(decode_depth(pixel)[0, 0]), 2), round(float(decode_depth(pixel, "published")[0, 0]), 2)
    (12.2, 12.21)
    """
    if image.ndim != 3 or image.dtype != np.uint8:
        raise ValueError(f"a depth image of shape {image.shape}, {image.dtype}; expected uint8 (height, width, 3)")
    red, green, blue = np.moveaxis(image.astype(np.float64), 2, 0)
    if decoding == "exact":
        depth = np.round(green * 100 / 255) + red / 255
    elif decoding == "published":
        depth = (blue + 1) / 256 + 100 * (green + 1) / 256 + (red + 1) / 256 - 0.5
    else:
        raise ValueError(f"decoding must be 'exact' or 'published', but it is {decoding!r}")
    return np.where(depth < MAX_DEPTH_MM, depth, np.nan).astype(np.float32)


def find(folder: Path) -> list[Path]:
    """The sets in a folder, which may be one of them, hold them, or hold the ``dataset`` folder that does."""
    if (folder / "images_rectified" / "left").is_dir():
        return [folder]
    sets = in_order(path.parents[1] for path in folder.glob("*/images_rectified/left") if path.is_dir())
    return sets or (find(folder / "dataset") if (folder / "dataset").is_dir() else [])


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return bool(find(folder))


def load(folder: Path, *, sets: str = "", decoding: Decoding = "exact", rig: str = "") -> Dataset:
    """Open the authors' set.

    Parameters
    ----------
    folder : Path
        See :func:`find`.
    sets : str
        Names joined by +, such as "30+31"; empty for all.
    decoding : {"exact", "published"}
        Decoding of the reference depth, see :func:`decode_depth`.
    rig : str
        Calibration file for sets that are not in ``CAMERAS``.

    Returns
    -------
    Dataset
    """
    if decoding not in ("exact", "published"):
        raise ValueError(f"decoding must be 'exact' or 'published', but it is {decoding!r}")
    found = {path.resolve().name: path for path in find(folder)}
    if not found:
        raise WrongFolder(f"{folder} is not the authors' set: there is no {LOOKED_FOR}")
    wanted = sets.split("+") if sets else list(found)
    if missing := [name for name in wanted if name not in found]:
        raise WrongFolder(f"{folder} has no set {', '.join(missing)}; there are {', '.join(found)}")
    given = Rig.load(rig) if rig else None
    entries = []
    for name in wanted:
        camera = CAMERAS.get(name, given)
        for left in in_order((found[name] / "images_rectified" / "left").glob("*.png")):
            if left.stem.isdecimal() and (name, left.stem) not in _REPEATED:
                entries.append(_entry(found[name], name, left, camera, decoding))
    return Dataset("authors' set", "authors", entries)


def _entry(folder: Path, name: str, left: Path, camera: Rig | None, decoding: Decoding) -> Entry:
    group = f"set {name}" + (" (published depth)" if decoding == "published" else "")

    def read() -> Frame:
        right = folder / "images_rectified" / "right" / left.name
        number = int(left.stem) + _DEPTH_NUMBER_SHIFT.get(name, 0)
        reference = folder / f"depth_{number:07d}.png"
        is_virtual = reference.exists()
        depth = decode_depth(read_image(reference), decoding) if is_virtual else None
        return Frame(
            group, left.stem, read_image(left), read_image(right), camera, depth,
            max_depth_mm=MAX_DEPTH_MM if is_virtual else None,
            max_disparity_px=MAX_DISPARITY_PX[is_virtual],
        )  # fmt: skip

    return Entry(group, left.stem, read)
