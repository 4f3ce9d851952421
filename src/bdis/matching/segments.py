"""Small segments are removed [III-F]."""

import numpy as np

from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import Maps
from .kernels.segments import Runs
from .memory import Arena


class SegmentFilter:
    """Makes connected pieces of a map with fewer than ``min_size`` pixels unknown.

    Parameters
    ----------
    maps : Maps
        The map.
    min_size : int
        px; up to 1 nothing is removed.
    room : Runs
        To work in, see `room_for_segments`.
    """

    def __init__(self, maps: Maps, min_size: int, room: Runs):
        self._maps, self._min_size, self._room = maps, min_size, room

    def run(self, crew: Crew) -> None:
        """Filter the map in place."""
        if self._min_size > 1:
            kernels.remove_small_segments(self._maps, self._room, self._min_size, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.remove_small_segments] if self._min_size > 1 else []


def room_for_segments(height: int, width: int, arena: Arena) -> Runs:
    """Room to find segments in maps of up to ``height`` x ``width`` px."""
    return Runs(runs=arena.zeros((height * (width + 1), 4), np.int32), rows=arena.zeros((height, 2), np.int32))
