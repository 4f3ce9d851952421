"""Video: a frame that is like the previous one starts from its surface, which saves the search of the finest level."""

import numpy as np

from ..common.arrays import Array
from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import Map, Maps
from .kernels.surface import Surface
from .levels import halved
from .memory import Arena
from .result import StereoResult

# Share of the picture that must be as in the previous frame: to skip the search of the finest level, and to draw the
# surface toward the previous one.  Never doing so raises flicker by 2 and 1 % (docs/constants.md).
MIN_ALIKE_TO_SKIP = 0.85
MIN_ALIKE_TO_DRAW = 0.5


class PreviousFrame:
    """What the previous frame left, and how much of it is still true.

    Parameters
    ----------
    coarse : Maps
        Disparity of the level above the finest.
    surface : Surface
        Of the finest level.
    first_density : Map
        Density of the surface before the second search; brought back with the previous surface.
    arena : Arena
        Where buffers come from.
    """

    def __init__(self, coarse: Maps, surface: Surface, first_density: Map, arena: Arena):
        self._coarse, self._surface, self._density = (
            Map(values=coarse.disparity, width=coarse.width),
            surface,
            first_density,
        )
        stride = first_density.values.shape[1]
        self._previous = Map(values=arena.zeros((surface.height, stride), np.float32), width=surface.width)
        coarse_height, _ = halved(surface.height, surface.width, 1)
        self._coarse_previous = Map(
            values=arena.zeros((coarse_height, coarse.disparity.shape[1]), np.float32), width=coarse.width
        )
        self._is_there = False
        self._share_alike = 0.0

    def bring_back(self, previous: StereoResult | None) -> None:
        """Take the surface of the previous frame, if there is one, made with the same settings."""
        memory = getattr(previous, "memory", None)
        height, width = self._surface.height, self._surface.width
        self._is_there = memory is not None and memory.shape == (2, height, width)
        self._share_alike = 0.0
        if self._is_there:
            assert memory is not None
            self._previous.values[:, :width], self._density.values[:height, :width] = memory
            self._previous.values[:, width:] = np.nan

    def compare(self, crew: Crew) -> bool:
        """Is this frame so much like the previous one that the finest level need not be searched from scratch?

        Needs the coarser levels.
        """
        if not self._is_there:
            return False
        kernels.halve_disparity(self._previous, self._coarse_previous, crew)
        self._share_alike = float(kernels.share_alike(self._coarse, self._coarse_previous))
        return self.skips_search

    @property
    def skips_search(self) -> bool:
        """Does the search begin along the previous surface?"""
        return self._share_alike >= MIN_ALIKE_TO_SKIP

    def lay_out(self, crew: Crew) -> None:
        """Put the previous surface in place of a first one, where the coarser levels agree with it."""
        kernels.lay_previous_surface(self._coarse, self._coarse_previous, self._previous, self._surface, crew)

    def draw_surface(self, crew: Crew) -> None:
        """Draw the surface toward the previous one where they are close."""
        if self._share_alike >= MIN_ALIKE_TO_DRAW:
            kernels.draw_to_previous(self._surface, self._previous, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that a frame with a previous one calls."""
        return [
            kernels.halve_disparity,
            kernels.share_alike,
            kernels.lay_previous_surface,
            kernels.draw_to_previous,
        ]


def memory_of(surface: Surface) -> Array:
    """Surface and density for the next frame, float32, shape (2, height, width) of the finest level."""
    height, width = surface.height, surface.width
    return np.stack([surface.disparity[:height, :width], surface.density[:height, :width]])
