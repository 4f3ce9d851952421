"""Sharp depth edges: pixels near a jump of the surface choose the side they belong to (beyond the paper)."""

import numpy as np

from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from . import kernels
from .kernels.edges import EdgeCosts, EdgeLine
from .kernels.pyramid import Views
from .memory import Arena
from .settings import Settings
from .surface import SurfaceFit


class Edges:
    """Sharpens the jumps of a surface.

    Parameters
    ----------
    views : Views
        The images of its level.
    fit : SurfaceFit
        The surface.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.
    """

    def __init__(self, views: Views, fit: SurfaceFit, settings: Settings, arena: Arena):
        self._views, self._fit = views, fit
        self._rounds = settings.sharpening
        own, left, right, above, below, chosen = fit.scratch
        self._costs = EdgeCosts(
            own=own,
            left=left,
            right=right,
            above=above,
            below=below,
            chosen=chosen,
            right_gradient=arena.zeros(views.right.shape, np.int16),
            grey=float(settings.intensity_scale),
        )
        line = 5, own.shape[1] + 2 * LANES
        self._line = for_members([EdgeLine(sums=arena.zeros(line, np.float32)) for _ in range(settings.threads)])

    def run(self, crew: Crew) -> None:
        """Sharpen the surface, and weaken its bonds across the jumps that are left."""
        kernels.sharpen(self._views, self._fit.surface, self._costs, self._line, self._rounds, crew)
        self._fit.bind_across_jumps(crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.sharpen, kernels.bind]
