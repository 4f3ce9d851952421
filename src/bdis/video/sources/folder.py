"""Pairs of image files: left and right folders, file names with left and right in them, or data sets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np

from ...cameras.given_cameras import GivenCameras
from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...evaluation.datasets import KINDS, Dataset, open_dataset
from ...evaluation.datasets.folder import calibrations_in
from ...evaluation.datasets.frame import in_order
from ...files.images import IMAGE_ENDINGS, read_image
from .fingerprint import fingerprint
from .source import DEFAULT_FPS, NumberedSource, OpenOptions, Source, SourceKind
from .views import Splitter

FOLDER_NAMES = (
    ("left", "right"),
    ("Left", "Right"),
    ("l", "r"),
    ("cam0", "cam1"),
    ("image_0", "image_1"),
    ("image_2", "image_3"),
    ("image01", "image02"),
)
# "left" or "l" as a word of its own in a file name: frame_left, left-0001, img.L, L0001; but not the l of "large".
_LEFT = re.compile(r"(?<![a-z])(left|l)(?![a-z])", re.IGNORECASE)
_RIGHT = re.compile(r"(?<![a-z])(right|r)(?![a-z])", re.IGNORECASE)
_EXPECTED = (
    f"left and right folders ({', '.join('/'.join(names) for names in FOLDER_NAMES)}), or images with left and right "
    "in their names (a_left.png, a_right.png; a_L.png, a_R.png)"
)
Pair = tuple[Path | None, Path | None]


class FolderSource(NumberedSource):
    """Pairs of image files.

    Parameters
    ----------
    name : str
        For messages.
    pairs : sequence of (Path or None, Path or None)
        Files of the left and right views; None for a missing one.
    folder : Path, optional
        Where to look for a calibration file.
    fps : float
        Frames per second.
    """

    def __init__(self, name: str, pairs: Sequence[Pair], folder: Path | None = None, fps: float = DEFAULT_FPS):
        super().__init__(name, len(pairs), fps)
        self._pairs = pairs
        self._calibrations = [] if folder is None else calibrations_in(folder)
        self._camera: Rectifier | Rig | None = None

    @property
    def rig(self) -> Rig | None:
        return self.camera if isinstance(self.camera, Rig) else None

    @property
    def camera(self) -> Rectifier | Rig | None:
        if self._camera is None and self._calibrations:
            loaded = GivenCameras((self._calibrations[0],)).load(self._readable_pairs())
            self._camera = loaded.rig if loaded.raw is None else loaded.raw.rectify()
        return self._camera

    @property
    def calibrations(self) -> list[Path]:
        return self._calibrations

    @property
    def remarks(self) -> list[str]:
        left, right = self._pairs[0]
        if len(self._pairs) == 1 or left is None or right is None or _key(left) == _key(right):
            return []
        return [f"the names of left and right differ: paired by their order, such as {left.name} and {right.name}"]

    @property
    def fingerprint(self) -> dict[str, Any]:
        return fingerprint([path for pair in self._pairs for path in pair])

    def _load(self, index: int) -> tuple[Array, Array]:
        left, right = self._pairs[index]
        if left is None or right is None:
            missing, other = ("left", right) if left is None else ("right", left)
            raise ValueError(f"there is no {missing} image for {other}")
        return read_image(left), read_image(right)

    def _readable_pairs(self) -> Iterator[tuple[Array, Array]]:
        count = 0
        for index in range(len(self._pairs)):
            try:
                pair = self._load(index)
            except (OSError, ValueError):
                continue  # it is lost, and told when it is read
            yield pair
            count += 1
        if not count:
            raise ValueError(f"{self.name} has no frames that can be used")


class PictureSource(NumberedSource):
    """Images that hold both views each.

    Parameters
    ----------
    name : str
        For messages.
    files : sequence of Path
        The images.
    splitter : Splitter
        Separates their views.
    fps : float
        Frames per second.
    """

    def __init__(self, name: str, files: Sequence[Path], splitter: Splitter, fps: float = DEFAULT_FPS):
        super().__init__(name, len(files), fps)
        self._files, self._splitter = files, splitter

    @property
    def layout(self) -> str | None:
        return self._splitter.used

    @property
    def fingerprint(self) -> dict[str, Any]:
        return fingerprint(self._files)

    def _load(self, index: int) -> tuple[Array, Array]:
        return self._splitter(read_image(self._files[index]))


class DatasetSource(NumberedSource):
    """The rectified images of a data set; its reference depth is not used.

    Parameters
    ----------
    data : Dataset
        As :func:`bdis.evaluation.datasets.open_dataset` returns it.
    fps : float
        Frames per second.
    """

    def __init__(self, data: Dataset, fps: float = DEFAULT_FPS):
        super().__init__(data.name, len(data), fps)
        self._data = data
        self._rig: Rig | None = None
        self._knows_rig = False

    @property
    def rig(self) -> Rig | None:
        if not self._knows_rig:
            self._load(0)
        return self._rig

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The names of the frames, and the pixels of the first one and, where it is found quickly, of the last one."""
        digest = hashlib.sha256("\0".join(f"{entry.group}/{entry.name}" for entry in self._data).encode())
        for entry in self._data[:1] if self._data.forward_only else (self._data[0], self._data[-1]):
            try:
                frame = entry.read()
            except (OSError, ValueError):
                continue  # it is lost, and not a reason to stop
            for view in (frame.left, frame.right):
                digest.update(f"{view.shape} {view.dtype.str} ".encode() + np.ascontiguousarray(view).tobytes())
        return {"sha256": digest.hexdigest()}

    def _load(self, index: int) -> tuple[Array, Array]:
        frame = self._data[index].read()
        if not self._knows_rig:
            self._rig, self._knows_rig = frame.rig, True
        if frame.rig != self._rig:
            raise ValueError(f"{frame} was taken with other cameras than the frames before it; open it separately")
        return frame.left, frame.right


def find_pairs(folder: Path) -> list[Pair]:
    """Find the stereo pairs in a folder.

    Parameters
    ----------
    folder : Path
        A folder with one of ``FOLDER_NAMES`` inside, or with images that have left and right in their names.

    Returns
    -------
    list of (Path or None, Path or None)
        In the order of the numbers in their names; None for a missing view.  Empty if there are no pairs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a2_L.png", "a10_L.png", "a2_R.png", "a10_R.png"):
    ...         Path(folder, name).touch()
    ...     [(left.name, right.name) for left, right in find_pairs(Path(folder))]
    [('a2_L.png', 'a2_R.png'), ('a10_L.png', 'a10_R.png')]
    """
    for left, right in FOLDER_NAMES:
        if (folder / left).is_dir() and (folder / right).is_dir():
            return pairs_of(images_in(folder / left), images_in(folder / right))
    files = images_in(folder)
    lefts = [path for path in files if _LEFT.search(path.stem)]
    rights = [path for path in files if _RIGHT.search(path.stem) and not _LEFT.search(path.stem)]
    return pairs_of(lefts, rights) if lefts and rights else []


def pairs_of(lefts: Sequence[Path], rights: Sequence[Path]) -> list[Pair]:
    """Pair the files of both views.

    Files whose names differ only in left and right belong together.  If there are no such files at all, the first
    left one and the first right one do, and so on, unless the numbers in their names say otherwise.

    Parameters
    ----------
    lefts, rights : sequence of Path
        Files of each view, in order.

    Returns
    -------
    list of (Path or None, Path or None)
        None for a missing view.

    Raises
    ------
    ValueError
        No names correspond, and there are more files of one view than of the other, or numbers in their names say that
        a frame is missing in each; or two files of a view have the same name but for their endings, so that it is not
        known which of them belongs to the other view.

    Examples
    --------
    >>> pairs_of([Path("left/1.png"), Path("left/2.png")], [Path("right/2.png")])
    [(PosixPath('left/1.png'), None), (PosixPath('left/2.png'), PosixPath('right/2.png'))]
    """
    left_by_key, right_by_key = ({_key(path): path for path in paths} for paths in (lefts, rights))
    if left_by_key.keys().isdisjoint(right_by_key):
        if len(lefts) != len(rights):
            raise ValueError(
                f"{len(lefts)} left and {len(rights)} right images whose names do not correspond, such as "
                f"{lefts[0].name if lefts else 'none'} and {rights[0].name if rights else 'none'}"
            )
        _check_numbers(lefts, rights)
        return list(zip(lefts, rights))
    for paths, by_key in ((lefts, left_by_key), (rights, right_by_key)):
        if twice := next((path for path in paths if by_key[_key(path)] != path), None):
            raise ValueError(
                f"{twice} and {by_key[_key(twice)].name} are both the same frame by their names, and it is not known "
                "which of them is meant: move one of them to another folder"
            )
    keys = in_order(Path(key) for key in left_by_key.keys() | right_by_key.keys())
    return [(left_by_key.get(str(key)), right_by_key.get(str(key))) for key in keys]


def images_in(folder: Path) -> list[Path]:
    """Image files of a folder in the order of the numbers in their names, without hidden ones."""
    files = (path for path in folder.iterdir() if not path.name.startswith("."))
    return in_order(path for path in files if path.suffix.lower() in IMAGE_ENDINGS)


def _check_numbers(lefts: Sequence[Path], rights: Sequence[Path]) -> None:
    """Refuse pairs by their order of which numbers, such as time stamps, say that they are of different moments."""
    left_numbers, right_numbers = _numbers_in(lefts), _numbers_in(rights)
    if left_numbers is None or right_numbers is None:
        return
    steps = [after - before for view in (left_numbers, right_numbers) for before, after in pairwise(view)]
    step, apart = median_low(steps), [right - left for left, right in zip(left_numbers, right_numbers)]
    # Numbers of both views that go over the same range are of the same clock; others, such as those of two counters,
    # are apart by something.
    is_one_clock = max(min(left_numbers), min(right_numbers)) <= min(max(left_numbers), max(right_numbers))
    usual = 0 if is_one_clock else median_low(apart)
    for left, right, each in zip(lefts, rights, apart):
        if 2 * abs(each - usual) > step > 0:
            raise ValueError(
                f"{left.name} and {right.name} would be a pair by their order, but not by their numbers, which are "
                f"{each} apart instead of about {usual}, in steps of {step}: a frame may be missing in each view. Give "
                "both files of every pair the same name"
            )


def _numbers_in(paths: Sequence[Path]) -> list[int] | None:
    """A number per file, of the digits in names that are not the same in all; None if there are none.

    >>> _numbers_in([Path("cam0_59-960.png"), Path("cam0_60-000.png")])
    [59960, 60000]
    """
    found = [re.findall(r"\d+", path.stem) for path in paths]
    if len({len(digits) for digits in found}) != 1:
        return None
    numbers = [0] * len(found)
    for column in zip(*found):
        if len(set(column)) > 1:
            width = max(map(len, column))
            numbers = [10**width * number + int(digits) for number, digits in zip(numbers, column)]
    return numbers if len(set(numbers)) > 1 else None


def _key(path: Path) -> str:
    """The part of a file name that is the same for both views; "." of left.png and right.png."""
    return _RIGHT.sub("", _LEFT.sub("", path.stem)).lower() or "."


def _open_images(places: list[str], options: OpenOptions) -> Source:
    files = [Path(place) for place in places]
    if len(files) == 2:
        return FolderSource(" and ".join(places), [(files[0], files[1])], fps=options.image_fps)
    return PictureSource(places[0], files, options.splitter, options.image_fps)


def _open_folders(places: list[str], options: OpenOptions) -> Source:
    folders, fps = [Path(place) for place in places], options.image_fps
    if len(folders) == 2:
        name = " and ".join(places)
        pairs = pairs_of(*(images_in(folder) for folder in folders))
        if not pairs:
            raise ValueError(f"there are no images in {name}")
        return FolderSource(name, pairs, fps=fps)
    folder = folders[0]
    if options.splitter.layout is None:
        kind = next((name for name, each in KINDS.items() if name != "folder" and each.detect(folder)), None)
        if kind is not None:
            return DatasetSource(open_dataset(folder, kind), fps)
        if pairs := find_pairs(folder):
            return FolderSource(str(folder), pairs, folder, fps)
    if files := images_in(folder):
        return PictureSource(str(folder), files, options.splitter, fps)
    raise ValueError(f"{folder} holds no pairs; looked for {_EXPECTED}, images with both views, or a data set")


def _is_image(place: str) -> bool:
    path = Path(place)
    return path.exists() and path.suffix.lower() in IMAGE_ENDINGS


FOLDER = SourceKind("a folder", lambda place: Path(place).is_dir(), _open_folders)
IMAGE = SourceKind("an image", _is_image, _open_images)
