"""StereoMIS: in-vivo da Vinci sequences with poses and masks of instruments, raw; rectified when they are read.

There is no reference depth: the frames are for looking, for times and for exports.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from ...cameras.calibration import StereoCalibration
from ...cameras.rectifier import Rectifier
from ...common.arrays import Array, size_text
from ...files.images import read_image
from .forward_video import ForwardVideo
from .frame import Dataset, Entry, Frame, WrongFolder, as_number, in_order, round_up

CALIBRATION = "StereoCalibration.ini"
LOOKED_FOR = f"P1/{{{CALIBRATION}, video_frames/*l.png and *r.png or one .mp4 with left on top}}, optional masks/"
NEAREST_MM = 30.0


def find(folder: Path) -> list[Path]:
    """The sequences in a folder, which may itself be one."""
    if _is_sequence(folder):
        return [folder]
    return in_order(path.parent for path in folder.glob(f"*/{CALIBRATION}") if _is_sequence(path.parent))


def _is_sequence(folder: Path) -> bool:
    return (folder / CALIBRATION).is_file() and ((folder / "video_frames").is_dir() or bool(_videos(folder)))


def _videos(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.mp4") if not path.name.startswith("."))


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return bool(find(folder))


def load(folder: Path, *, every: int = 1, hide: Literal["none", "white", "black"] = "none") -> Dataset:
    """Open StereoMIS.

    Parameters
    ----------
    folder : Path
        See :func:`find`.
    every : int
        Take every n-th frame.
    hide : {"none", "white", "black"}
        Pixels of the masks that are left out, as if the camera had not seen them: releases differ in what they mean.

    Returns
    -------
    Dataset
    """
    if hide not in ("none", "white", "black"):
        raise ValueError(f"hide must be none, white or black, but it is {hide!r}")
    step = int(as_number("every", every))
    if step < 1:
        raise ValueError(f"every is {step}; expected 1 or more")
    found = find(folder)
    if not found:
        raise WrongFolder(f"{folder} is not StereoMIS: there is no {LOOKED_FOR}")
    entries: list[Entry] = []
    is_video = False
    for path in found:
        sequence = _Sequence(path, hide)
        is_video = is_video or sequence.video is not None
        entries += [_entry(sequence, number) for number in range(0, sequence.count, step)]
    return Dataset("StereoMIS", "stereomis", entries, forward_only=is_video)


def _entry(sequence: _Sequence, number: int) -> Entry:
    return Entry(sequence.group, sequence.name(number), lambda: sequence.frame(number))


class _Sequence:
    """The frames of one folder."""

    def __init__(self, path: Path, hide: str):
        self._path, self._hide = path, hide
        self.group = f"StereoMIS {path.resolve().name}"
        self._lefts = in_order((path / "video_frames").glob("*l.png"))
        videos = [] if self._lefts else _videos(path)
        if len(videos) > 1:
            raise WrongFolder(
                f"{path} has {len(videos)} videos, such as {videos[0].name} and {videos[1].name}; expected one"
            )
        self.video = ForwardVideo(videos[0]) if videos else None
        self.count = self.video.count if self.video is not None else len(self._lefts)

    def name(self, number: int) -> str:
        return f"{number:06d}" if self.video is not None else self._lefts[number].stem.removesuffix("l")

    def frame(self, number: int) -> Frame:
        left, right = self._pair(number)
        rectified_left, rectified_right = self._rectifier(left)(left, right)
        hidden = self._hidden(number, left)
        if hidden is not None:
            rectified_left[hidden] = 0
        rig = self._rectifier(left).rig
        most = round_up(float(rig.disparity(NEAREST_MM)))
        return Frame(self.group, self.name(number), rectified_left, rectified_right, rig, max_disparity_px=most)

    def _pair(self, number: int) -> tuple[Array, Array]:
        if self.video is None:
            left = self._lefts[number]
            return read_image(left), read_image(left.with_name(f"{left.stem.removesuffix('l')}r.png"))
        both = self.video.image(number)
        if len(both) % 2:
            raise ValueError(f"{self.video.path} has {len(both)} rows; expected the left view on top of the right one")
        return both[: len(both) // 2], both[len(both) // 2 :]

    def _rectifier(self, left: Array) -> Rectifier:
        """The maps are computed once; frames at another size than that of the calibration are refused."""
        if left.shape[:2][::-1] != self._cameras.size:
            width, height = self._cameras.size
            raise ValueError(
                f"{self._path}: a view is {size_text(left.shape)}, but {CALIBRATION} is for {width}x{height}"
            )
        return self._maps

    @cached_property
    def _cameras(self) -> StereoCalibration:
        return StereoCalibration.load(self._path / CALIBRATION)

    @cached_property
    def _maps(self) -> Rectifier:
        return self._cameras.rectify()

    def _hidden(self, number: int, left: Array) -> Array | None:
        """Pixels of the rectified left image that the mask leaves out; not every frame has a mask."""
        if self._hide == "none":
            return None
        names = (f"{self.name(number)}l.png", f"{self.name(number)}.png")
        file = next((self._path / "masks" / name for name in names if (self._path / "masks" / name).is_file()), None)
        if file is None:
            return None
        mask = read_image(file)
        if mask.shape[:2] != left.shape[:2]:
            raise ValueError(f"{file} is {size_text(mask.shape)}, but its image is {size_text(left.shape)}")
        is_white = (mask if mask.ndim == 2 else mask.max(2)) > 0
        left_out = np.where(is_white == (self._hide == "white"), np.uint8(255), np.uint8(0))
        return np.asarray(self._maps(left_out, left_out)[0] > 127)
