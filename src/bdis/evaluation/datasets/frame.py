"""What every data set is brought to: frames with a reference, read one at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
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
    group : what it is averaged with, such as "set 30"
    name : its name in the group
    left, right : (height, width) or (height, width, 3) RGB; exactly black pixels were not seen by the camera
    rig : Rig, or None if the data set does not say
    reference_depth_mm : float32 (height, width), mm, NaN = unknown; None: see ``reference_disparity``
    reference_disparity : float32 (height, width), px, NaN = unknown; None: see ``reference_depth_mm``
    occluded : bool (height, width), left pixels whose point the right camera does not see; None = not known
    max_depth_mm : an estimate further away counts as not predicted; None = no such rule
    max_disparity_px : what matchers that want to know may expect at most; None = not known
    min_reference : share of the pixels with a reference below which the frame is not scored

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
        """float32 (height, width): the reference depth, mm, NaN = unknown; None if there is none."""
        if self.reference_depth_mm is None and self.reference_disparity is not None and self.rig is not None:
            return self.rig.depth(self.reference_disparity)
        return self.reference_depth_mm

    @cached_property
    def disparity(self) -> NDArray[np.float32] | None:
        """float32 (height, width): the reference disparity, px, NaN = unknown; None if there is none."""
        if self.reference_disparity is None and self.reference_depth_mm is not None and self.rig is not None:
            return self.rig.disparity(self.reference_depth_mm)
        return self.reference_disparity

    @property
    def has_reference(self) -> bool:
        """Is there anything to compare with."""
        return self.reference_depth_mm is not None or self.reference_disparity is not None

    @property
    def seen(self) -> NDArray[np.bool_]:
        """bool (height, width): left pixels that are not exactly black."""
        return np.asarray(self.left != 0 if self.left.ndim == 2 else (self.left != 0).any(2))

    def without_occluded(self) -> Frame:
        """The same frame with no reference where the right camera does not see the point.

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
    """Frames of a data set, known by name and read when they are wanted.

    Attributes
    ----------
    name : of the data set, for people
    kind : its layout, a key of :data:`bdis.evaluation.datasets.KINDS`
    forward_only : reading a frame before the last one means starting from the beginning, as in a video

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
        """What frames are averaged over, in order."""
        return list(dict.fromkeys(entry.group for entry in self._entries))

    def thinned(self, most: int | None) -> Dataset:
        """At most ``most`` frames of each group, evenly spread over it.

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
            places = np.linspace(0, len(members) - 1, min(most, len(members)))
            kept += [members[place] for place in np.unique(np.rint(places).astype(int))]
        return Dataset(self.name, self.kind, kept, forward_only=self.forward_only)


class WrongFolder(ValueError):
    """A folder that does not hold what was looked for."""


def in_order(paths: Iterator[Path]) -> list[Path]:
    """By the numbers in their names, so that 2 comes before 10."""
    return sorted(paths, key=lambda path: [int(part) if part.isdigit() else part for part in _parts(path.name)])


def as_number(name: str, value: float | str) -> float:
    """An option that is a number, which a command line gives as text."""
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} must be a number, but it is {value!r}") from None


def round_up(disparity_px: float) -> float:
    """The next multiple of 16 px, which block matchers want."""
    return 16.0 * math.ceil(disparity_px / 16)


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)
