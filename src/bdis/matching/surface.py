"""A smooth surface through the disparities of a level: robust, and weakly bound across edges of the image.

Beyond the paper.  The same solver serves a second surface that reaches across holes (``dense``), and one on the coarser
level that only tells how far disparities scatter.
"""

import math

import numpy as np

from ..common.arrays import Array
from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from . import kernels
from .kernels.bonds import Bonds
from .kernels.borders import STRIP, Borders
from .kernels.layout import Map, map_stride, whole_vectors
from .kernels.pyramid import Image
from .kernels.surface import FitSettings, Surface, SweepLines
from .memory import Arena
from .settings import Settings

# Bonds of a surface that reaches a hundred pixels across holes; half and double make no difference (docs/constants.md).
WIDE_SMOOTHING = 1e4


class SurfaceFit:
    """A surface over one level.

    Parameters
    ----------
    guide : Image
        Left image of the level: its edges weaken the bonds.
    strength : float
        Of the bonds between neighbours.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    surface : Surface
        The surface, its density and its spread.
    """

    def __init__(self, guide: Image, strength: float, settings: Settings, arena: Arena):
        height, width = len(guide.pixels), guide.width
        stride, rows = map_stride(width), whole_vectors(height)

        def plane() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            return arena.zeros((rows, stride), np.float32)

        self._guide = guide
        sharpness = 1 / (settings.smoothing_edge * settings.intensity_scale)
        self._bonds = Bonds(strength=strength, sharpness=sharpness)
        self._wide_bonds = Bonds(strength=WIDE_SMOOTHING, sharpness=0.0)
        self._robust = FitSettings(rounds=settings.smoothing_rounds, tolerance=settings.outlier_distance)
        self._once = FitSettings(rounds=0, tolerance=settings.outlier_distance)
        lost = arena.zeros((2, STRIP), np.float32)
        lost[0] = lost_at_border(strength)
        lost[1] = lost[0, ::-1]
        self._borders = Borders(is_level=settings.smoothing == 0, lost=lost)
        self._level_borders = Borders(is_level=True, lost=lost)  # of the wide surface, which has no slopes to keep
        bond_x, share_x = (arena.zeros((rows // LANES * stride, LANES), np.float32) for _ in range(2))
        self.surface = Surface(
            width=width, height=height, bond_x=bond_x, share_x=share_x, bond_y=plane(), share_y=plane(),
            disparity=plane(), density=plane(), spread=plane(), weight=plane(),
            support_inverse=plane(), target=plane(), total=plane(),
        )  # fmt: skip
        self._lines = for_members(
            [SweepLines(lines=arena.zeros((2 * stride, LANES), np.float32)) for _ in range(settings.threads)]
        )

    def bind(self, crew: Crew) -> None:
        """Bonds between neighbours, weaker across edges of the image."""
        kernels.bind(self._guide, self.surface, self._bonds, crew)

    def fit(self, found: Map, crew: Crew) -> None:
        """Through the disparities ``found``, with its spread."""
        kernels.smooth(found, self.surface, self._lines, self._robust, self._borders, False, True, crew)

    def fit_once(self, found: Map, has_spread: bool, crew: Crew) -> None:
        """The same without giving outliers less weight."""
        kernels.smooth(found, self.surface, self._lines, self._once, self._borders, False, has_spread, crew)

    def add(self, rest: Map, crew: Crew) -> None:
        """Through the present surface plus ``rest``: what a search along it found to be missing."""
        kernels.smooth(rest, self.surface, self._lines, self._robust, self._borders, True, True, crew)

    def fit_wide(self, found: Map, out: Map, crew: Crew) -> None:
        """A surface that reaches across holes, into ``out``; NaN where it does not reach."""
        kernels.bind(self._guide, self.surface, self._wide_bonds, crew)
        kernels.smooth(found, self.surface, self._lines, self._once, self._level_borders, False, False, crew)
        kernels.keep_known(self.surface, out, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that a fit calls."""
        return [kernels.bind, kernels.smooth]


def lost_at_border(strength: float) -> Array:
    """px that the border takes from a slope of 1, by the distance from it; float64, shape (STRIP,).

    Examples
    --------
    >>> [round(float(px), 1) for px in lost_at_border(60.0)[[0, 8, 16, 31]]]
    [7.7, 2.8, 1.0, 0.1]
    """
    reach = math.sqrt(strength)
    return reach * np.exp(-np.arange(STRIP) / reach)
