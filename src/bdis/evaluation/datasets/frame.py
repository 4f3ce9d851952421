"""The common form of all data sets: frames with a reference, read one at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import Rig
from ...common.arrays import Array, size_text


@dataclass(frozen=True)
class Frame:
    """A rectified pair and what is known about it.

    Attributes
    ----------
    group : str
        The group of frames it is averaged with, such as "set 30".
    name : str
        Its name within the group.
    left, right : ndarray, shape (h, w) or (h, w, 3) RGB
        The images; exactly black pixels were not seen by the camera.
    rig : Rig or None
        The cameras; None if the data set does not say.
    reference_depth_mm : ndarray of float32, shape (h, w), or None
        mm, NaN where unknown; None if the reference is ``reference_disparity``.
    reference_disparity : ndarray of float32, shape (h, w), or None
        px, NaN where unknown; None if the reference is ``reference_depth_mm``.
    occluded : ndarray of bool, shape (h, w), or None
        Left pixels whose point the right camera does not see; None if not known.
    max_depth_mm : float or None
        An estimate beyond this depth counts as not predicted; None for no limit.
    max_disparity_px : float or None
        The largest disparity to expect, for matchers that need it; None if not known.
    min_reference : float
        The frame is not scored if a smaller share of its pixels has a reference.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.full((32, 32), 9, np.uint8)
    >>> frame = Frame("made up", "1", image, image, Rig(500, 16, 16, 5), np.full((32, 32), 100, np.float32))
    >>> float(frame.disparity[0, 0]), frame.has_reference
    (25.0, True)
    """

    group: str
    name: str
    left: Array
    right: Array
    rig: Rig | None = None
    reference_depth_mm: NDArray[np.float32] | None = None
    reference_disparity: NDArray[np.float32] | None = None
    occluded: NDArray[np.bool_] | None = None
    max_depth_mm: float | None = None
    max_disparity_px: float | None = None
    min_reference: float = 0.0

    def __post_init__(self) -> None:
        size = self.left.shape[:2]
        for name in ("right", "reference_depth_mm", "reference_disparity", "occluded"):
            array = getattr(self, name)
            if array is not None and array.shape[:2] != size:
                raise ValueError(f"{self}: left is {size_text(size)} but {name} is {size_text(array.shape)}")

    def __str__(self) -> str:
        return f"{self.group}/{self.name}"

    @cached_property
    def depth_mm(self) -> NDArray[np.float32] | None:
        """The reference depth, float32 (h, w), mm, NaN where unknown; None if there is none."""
        if self.reference_depth_mm is None and self.reference_disparity is not None and self.rig is not None:
            return self.rig.depth(self.reference_disparity)
        return self.reference_depth_mm

    @cached_property
    def disparity(self) -> NDArray[np.float32] | None:
        """The reference disparity, float32 (h, w), px, NaN where unknown; None if there is none."""
        if self.reference_disparity is None and self.reference_depth_mm is not None and self.rig is not None:
            return self.rig.disparity(self.reference_depth_mm)
        return self.reference_disparity

    @cached_property
    def min_disparity_px(self) -> float:
        """The smallest disparity to expect: 0 px, or less if the cameras are verged.

        The largest one is told to all methods as well.  A few of the reference's disparities may be in error.
        """
        if self.disparity is None:
            return 0.0 if self.rig is None else min(0.0, self.rig.disparity_range()[0])
        known = self.disparity[np.isfinite(self.disparity)]
        lowest = float(np.percentile(known, 0.1)) if known.size else 0.0
        return min(0.0, 16.0 * math.floor(lowest / 16))  # in steps, so that matchers can be used again

    @property
    def has_reference(self) -> bool:
        """Whether there is a reference to compare with."""
        return self.reference_depth_mm is not None or self.reference_disparity is not None

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Left pixels that are not exactly black, bool (h, w)."""
        return np.asarray(self.left != 0 if self.left.ndim == 2 else (self.left != 0).any(2))

    def without_occluded(self) -> Frame:
        """The same frame without a reference where the right camera does not see the point.

        Returns
        -------
        Frame

        Examples
        --------
        >>> import numpy as np
        >>> image, depth = np.full((32, 32), 9, np.uint8), np.full((32, 32), 100, np.float32)
        >>> frame = Frame("made up", "1", image, image, Rig(500, 16, 16, 5), depth, occluded=np.eye(32, dtype=bool))
        >>> int(np.isnan(frame.without_occluded().depth_mm).sum())
        32
        """
        if self.occluded is None:
            return self
        hidden = self.occluded
        cut: dict[str, Any] = {
            name: np.where(hidden, np.float32(np.nan), array)
            for name in ("reference_depth_mm", "reference_disparity")
            if (array := getattr(self, name)) is not None
        }
        return replace(self, **cut)


@dataclass(frozen=True)
class Entry:
    """A frame that has not been read yet."""

    group: str
    name: str
    read: Callable[[], Frame]


class Dataset(Sequence[Entry]):
    """Frames of a data set, listed by name and read on demand.

    Parameters
    ----------
    name : str
        Name of the data set, for tables.
    kind : str
        Its layout, a key of :data:`bdis.evaluation.datasets.KINDS`.
    entries : sequence of Entry
        Its frames.
    forward_only : bool
        Whether frames can only be read in order, as in a video; going back means reading from the beginning.

    Examples
    --------
    >>> data = Dataset("made up", "folder", [Entry("made up", "1", lambda: None)])
    >>> len(data), [entry.name for entry in data], data.groups
    (1, ['1'], ['made up'])
    """

    def __init__(self, name: str, kind: str, entries: Sequence[Entry], *, forward_only: bool = False):
        self.name, self.kind, self.forward_only, self._entries = name, kind, forward_only, list(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: Any) -> Any:
        return self._entries[index]

    def frames(self) -> Iterator[Frame]:
        """Read the frames, one after the other."""
        return (entry.read() for entry in self._entries)

    @property
    def groups(self) -> list[str]:
        """Names of the groups of frames, in order."""
        return list(dict.fromkeys(entry.group for entry in self._entries))

    def thinned(self, most: int | None) -> Dataset:
        """At most ``most`` frames of each group, evenly spaced.

        Parameters
        ----------
        most : int or None
            None for all frames.

        Returns
        -------
        Dataset

        Raises
        ------
        ValueError
            ``most`` is below 1.

        Examples
        --------
        >>> data = Dataset("made up", "folder", [Entry("made up", str(i), lambda: None) for i in range(9)])
        >>> [entry.name for entry in data.thinned(3)]
        ['0', '4', '8']
        """
        if most is None:
            return self
        if most < 1:
            raise ValueError(f"at most {most} frames of a group; expected 1 or more")
        kept = []
        for group in self.groups:
            members = [entry for entry in self._entries if entry.group == group]
            indices = np.linspace(0, len(members) - 1, min(most, len(members)))
            kept += [members[index] for index in np.unique(np.rint(indices).astype(int))]
        return Dataset(self.name, self.kind, kept, forward_only=self.forward_only)


class WrongFolder(ValueError):
    """A folder that does not contain the files of a data set."""


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Paths sorted by the numbers in their names, so that 2 comes before 10."""
    return sorted(paths, key=lambda path: [int(part) if part.isdecimal() else part for part in _parts(path.name)])


def as_number(name: str, value: float | str) -> float:
    """The value of a numeric option, which the command line passes as text."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a number, but it is {value!r}")
    return number


def round_up(disparity_px: float) -> float:
    """The next multiple of 16 px, as block matchers take disparity ranges."""
    if not math.isfinite(disparity_px):
        raise ValueError(f"a disparity of {disparity_px} px; is the calibration that of these images?")
    return 16.0 * math.ceil(disparity_px / 16)


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)
