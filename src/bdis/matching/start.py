"""Where the search starts: all disparities tried on a coarse level (beyond the paper, which starts from zero)."""

import math

import numpy as np

from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import Maps, map_stride, whole_vectors
from .kernels.pyramid import Image, Seen
from .kernels.start import RADIUS, GlobalStart
from .memory import Arena
from .settings import Settings

MAX_CELLS = 1_000_000  # pixels times disparities: 8 MB of memory
NOISE = 0.003  # grey levels^2: what averaging leaves of the sensor's noise; half and double make no difference


class Start:
    """The coarsest level, where all disparities are tried.

    Parameters
    ----------
    images : list of Image
        Left and right image of the level.
    seen : list of Seen
        Which of their pixels were seen.
    number : int
        The level.
    weight : float
        Gamma of the level (Eq. 12).
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    maps : Maps
        Disparity and probability of the level.
    """

    def __init__(
        self, images: list[Image], seen: list[Seen], number: int, weight: float, settings: Settings, arena: Arena
    ):
        (height, _), width = images[0].pixels.shape, images[0].width
        largest, count = _labels(height, width, 2**number, settings)
        labels = whole_vectors(count)
        pixels, walled = height * width, labels + 2 * LANES
        self.maps = Maps(
            disparity=arena.zeros((height, map_stride(width)), np.float32),
            probability=arena.zeros((height, map_stride(width)), np.float32),
            width=width,
        )
        self._level = GlobalStart(
            left=images[0].pixels,
            right=images[1].pixels,
            seen_left=seen[0].mask,
            seen_right=seen[1].mask,
            width=width,
            largest=largest,
            count=count,
            noise=NOISE * settings.intensity_scale**2,
            probability=weight / 2,
            wide=arena.zeros((2 * height, width + labels + abs(largest) + LANES), np.float32),
            sums=arena.zeros((6 * width, labels), np.float32),
            costs=arena.zeros((pixels, walled), np.float32),
            path=arena.zeros((2 * width, walled), np.float32),
            totals=arena.zeros((pixels, walled), np.float32),
            from_right=arena.zeros((1, width), np.float32),
        )

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill ``maps``."""
        kernels.global_start(self._level, self.maps, has_hidden, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.global_start]


def _labels(height: int, width: int, px: int, settings: Settings) -> tuple[int, int]:
    """Largest disparity (px of the level) and how many are tried: those where windows still overlap, as many as fit the
    memory, of which the nearest points go without.
    """
    furthest = max(width - 1 - RADIUS, 0)
    largest = furthest if settings.max_disparity is None else math.ceil(settings.max_disparity / px)
    largest = min(max(largest, -furthest), furthest)
    smallest = min(max(math.floor(settings.min_disparity / px), -furthest), largest)
    largest = min(largest, smallest - 1 + max(MAX_CELLS // (height * width), LANES))
    return largest, largest - smallest + 1
