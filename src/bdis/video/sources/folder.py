"""Pairs of image files: left and right folders, names with left and right in them, or data sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...cameras.formats import read_calibration
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...evaluation.datasets import Dataset
from ...evaluation.datasets.folder import CALIBRATIONS
from ...evaluation.datasets.frame import in_order
from ...files.images import IMAGE_ENDINGS, read_image
from .source import NumberedSource
from .views import Splitter

FOLDERS = (
    ("left", "right"),
    ("Left", "Right"),
    ("l", "r"),
    ("cam0", "cam1"),
    ("image_0", "image_1"),
    ("image_2", "image_3"),
    ("image01", "image02"),
)
# A word of its own in a name: frame_left, left-0001, img.L, L0001; but not the l of "large".
_LEFT = re.compile(r"(?<![a-z])(left|l)(?![a-z])", re.IGNORECASE)
_RIGHT = re.compile(r"(?<![a-z])(right|r)(?![a-z])", re.IGNORECASE)
LOOKED_FOR = (
    f"left and right folders ({', '.join('/'.join(names) for names in FOLDERS)}), or images with left and right in "
    "their names (a_left.png, a_right.png; a_L.png, a_R.png)"
)
Pair = tuple[Path | None, Path | None]


class FolderSource(NumberedSource):
    """Pairs of image files, by the numbers in their names.

    Parameters
    ----------
    name : for people
    pairs : files of the left and the right view; None for one that is missing
    folder : where a calibration may lie, if anywhere
    fps : frames per second
    """

    def __init__(self, name: str, pairs: Sequence[Pair], folder: Path | None = None, fps: float = 25.0):
        super().__init__(name, len(pairs), fps)
        self._pairs, self._folder = pairs, folder

    @property
    def rig(self) -> Rig | None:
        return None if self._folder is None else rig_in(self._folder)

    def _load(self, index: int) -> tuple[Array, Array]:
        left, right = self._pairs[index]
        if left is None or right is None:
            missing, there = ("left", right) if left is None else ("right", left)
            raise ValueError(f"there is no {missing} image for {there}")
        return read_image(left), read_image(right)


class PictureSource(NumberedSource):
    """Images that hold both views each."""

    def __init__(self, name: str, files: Sequence[Path], splitter: Splitter, fps: float = 25.0):
        super().__init__(name, len(files), fps)
        self._files, self._splitter = files, splitter

    @property
    def layout(self) -> str | None:
        return self._splitter.used

    def _load(self, index: int) -> tuple[Array, Array]:
        return self._splitter(read_image(self._files[index]))


class DatasetSource(NumberedSource):
    """The frames of a data set, rectified as it has them, without their reference."""

    def __init__(self, data: Dataset, fps: float = 25.0):
        super().__init__(data.name, len(data), fps)
        self._data = data
        self._rig: Rig | None = None
        self._knows_rig = False

    @property
    def rig(self) -> Rig | None:
        if not self._knows_rig:
            self._load(0)
        return self._rig

    def _load(self, index: int) -> tuple[Array, Array]:
        frame = self._data[index].read()
        if not self._knows_rig:
            self._rig, self._knows_rig = frame.rig, True
        if frame.rig != self._rig:
            raise ValueError(f"{frame} was taken with other cameras than the frames before it; open it on its own")
        return frame.left, frame.right


def find_pairs(folder: Path) -> list[Pair]:
    """The pairs in a folder, in order; empty if there are none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a2_L.png", "a10_L.png", "a2_R.png", "a10_R.png"):
    ...         Path(folder, name).touch()
    ...     [(left.name, right.name) for left, right in find_pairs(Path(folder))]
    [('a2_L.png', 'a2_R.png'), ('a10_L.png', 'a10_R.png')]
    """
    for left, right in FOLDERS:
        if (folder / left).is_dir() and (folder / right).is_dir():
            return pairs_of(images_in(folder / left), images_in(folder / right))
    files = images_in(folder)
    lefts = [path for path in files if _LEFT.search(path.stem)]
    rights = [path for path in files if _RIGHT.search(path.stem) and not _LEFT.search(path.stem)]
    return pairs_of(lefts, rights) if lefts and rights else []


def pairs_of(lefts: Sequence[Path], rights: Sequence[Path]) -> list[Pair]:
    """Files that belong together: names that differ in nothing but left and right, or else one after the other.

    Raises
    ------
    ValueError
        The names have nothing in common, and the numbers of files differ.

    Examples
    --------
    >>> pairs_of([Path("left/1.png"), Path("left/2.png")], [Path("right/2.png")])
    [(PosixPath('left/1.png'), None), (PosixPath('left/2.png'), PosixPath('right/2.png'))]
    """
    left_by_key = {_key(path): path for path in lefts}
    right_by_key = {_key(path): path for path in rights}
    if left_by_key.keys().isdisjoint(right_by_key):
        if len(lefts) != len(rights):
            raise ValueError(
                f"{len(lefts)} left and {len(rights)} right images whose names have nothing in common: such as "
                f"{lefts[0].name if lefts else 'none'} and {rights[0].name if rights else 'none'}"
            )
        return list(zip(lefts, rights))
    keys = in_order(Path(key) for key in left_by_key.keys() | right_by_key.keys())
    return [(left_by_key.get(str(key)), right_by_key.get(str(key))) for key in keys]


def images_in(folder: Path) -> list[Path]:
    """The image files of a folder, in order."""
    return in_order(path for path in _visible(folder.iterdir()) if path.suffix.lower() in IMAGE_ENDINGS)


def rig_in(folder: Path) -> Rig | None:
    """The rig of a calibration file that lies beside the images, if there is one of rectified cameras."""
    for path in (folder / name for name in CALIBRATIONS):
        if path.is_file() and read_calibration(path).rectified is not None:
            return Rig.load(path)
    return None


def _visible(paths: Iterable[Path]) -> Iterable[Path]:
    return (path for path in paths if not path.name.startswith("."))


def _key(path: Path) -> str:
    """What the names of both views have in common."""
    return _RIGHT.sub("", _LEFT.sub("", path.stem)).lower() or path.stem
