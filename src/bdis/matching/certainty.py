"""The error model behind ``variance`` and ``probability``, and where its numbers come from.

The variance of a pixel of the surface, in px^2 of the finest level, is

    FLOOR + SPREAD * spread + SLOPE * slope^2 + HOLE * ((1 - density) / density)^2

with ``spread`` the mean squared distance of the disparities around from the surface, ``density`` the share of them that
is there and agrees (0 to 1), and ``slope`` the surface's.  Each term is a way of being wrong: noise, steep walls that a
patch cannot follow, and guessing across a hole.

These weights were fitted to 17 rendered scenes.  At full resolution (`Detail`) more is known of a pixel, and its
variance is, in px^2 of the image,

    coherence * (DETAIL.joint / (1 / variance of the surface + precision) + DETAIL.jump * (jump * mismatch)^2
                 + (DETAIL.label * apart + DETAIL.near * disparity) * variance of the surface)
    + DETAIL.noise * noise / texture + DETAIL.rows * unevenness of rows + DETAIL.bend * bend^2
    + DETAIL.move * move^2 + DETAIL.hole * guessed * variance of the surface

see ``kernels/doubt.py`` for what these are.  Its weights were fitted together to the real pairs, sets 30 and 31, the
same at half and larger sizes, blurred and compressed, and rendered scenes of 4 to 80 px of disparity and noise of 0.3
to 3 grey levels: 95 % of the errors of each set shall lie in the interval of 95 %, of each rendered frame 88 to 99 %,
68 % in that of 68 %, and the probability shall be the share of pixels within 1 px; then the likelihood counts.

Where every pixel gets a disparity (``dense``), those that were not matched have a variance of their own, which grows
with the distance to the next known pixel, see ``kernels/filled.py``.  Its weights, ``FILLED``, were fitted to set 30,
rendered scenes and two real pairs: 95 % of the errors of the filled pixels alone shall lie in their intervals.

For disparities that another matcher gives (`bdis.assess`) there are other weights, ``GIVEN``, fitted to maps of SGBM,
BM, ELAS and DIS flow on the same pairs, and the variance of the surface stands alone in the first term.

Errors follow one law, Student's t with three degrees of freedom and that variance; the probability that a disparity is
off by less than 1 px of the image follows from it (``kernels/law.py``).

Where no surface is wanted (``smoothing=0``) it is fitted only to measure: on the level above, which takes a quarter of
the time, and once, without re-weighting outliers.  That has weights of its own, and one more term: the squared distance
of the disparity itself from the surface, ``REST``.
"""

import math
from typing import NamedTuple

import numpy as np

from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .fusion import BayesianFusion, ResidualFusion, empty_map
from .kernels.certainty import ErrorModel, Limits
from .kernels.doubt import DoubtWeights
from .kernels.filled import FillRules
from .kernels.fusion import VarianceMixture
from .kernels.layout import Map, Maps, map_stride
from .kernels.patches import Patches
from .kernels.pyramid import Image, Views
from .kernels.segments import Runs
from .kernels.surface import Surface
from .memory import Arena
from .segments import SegmentFilter
from .settings import Settings
from .surface import SurfaceFit


class Weights(NamedTuple):
    """Weights of the variance's terms, see above."""

    floor: float  # px^2 of the level
    spread: float
    slope: float
    hole: float
    rest: float


SURFACE = Weights(floor=3.6e-4, spread=0.94, slope=0.34, hole=1.17, rest=0.0)
MEASURED = Weights(floor=1.2e-3, spread=1.0, slope=0.42, hole=1.05, rest=3.8)
DETAIL = {
    "noise": 0.0044,
    "surface": 0.0,
    "joint": 1.0,
    "jump": 58.0,
    "bend": 7.0,
    "move": 0.0,
    "label": 0.3,
    "near": 0.0018,
    "hole": 0.4,
    "rows": 26.0,
    "unseen": 0.0,
    "coherent": 1.0,
}
GIVEN = {
    "noise": 0.0,
    "surface": 0.14,
    "joint": 0.0,
    "jump": 14.0,
    "bend": 0.2,
    "move": 2.3,
    "label": 0.3,
    "near": 0.0,
    "hole": 0.0,
    "rows": 13.0,
    "unseen": 0.6,
    "coherent": 0.0,
}
# Of pixels that were filled, see kernels/filled.py.  With 29, 0.23 and 14 the share inside the interval of 95 % is 1 %
# larger on set 30 and 1 % smaller on real pairs.
FILLED = {"floor": 0.02, "slope": 24.0, "range": 0.27, "cut": 8.0}
UNKNOWN_SURFACE = 30.0  # px^2, what is given where our own surface is unknown is judged by such a variance of it
LARGEST_HOLE = 0.2  # of the picture's width: how far the surface alone may be off across a hole
LARGEST_SIGMA = 0.35  # of the picture's width: likewise of a pixel that was filled; errors there reach half the width


def error_model(weights: Weights, width: int, level: int) -> ErrorModel:
    """The model as kernels take it, for a level that is ``width`` px wide.

    Examples
    --------
    >>> error_model(SURFACE, 320, 1).largest_hole
    64.0
    """
    return ErrorModel(**weights._asdict(), largest_hole=LARGEST_HOLE * width, image_px2=4.0**level)


def largest_variance(width: int) -> float:
    """px^2: nothing is known of a pixel but that it lies in an image of ``width`` px.

    Examples
    --------
    >>> largest_variance(640)
    50176.0
    """
    return (LARGEST_SIGMA * width) ** 2


def unfitted_variance(settings: Settings) -> float:
    """px^2 of the level, the paper's variance of pixels that no patch has one for: sigma is half a patch.

    Examples
    --------
    >>> unfitted_variance(Settings(patch_size=8))
    16.0
    """
    return settings.patch_size**2 / 4


def doubt_weights(is_given: bool, sigma_scale: float) -> DoubtWeights:
    """The weights of full resolution as kernels take them, for disparities that were found, or given by the user.

    Examples
    --------
    >>> doubt_weights(False, 2.0).bend / DETAIL["bend"]
    4.0
    """
    weights = GIVEN if is_given else DETAIL
    scaled = {name: weight * (1 if name == "coherent" else sigma_scale**2) for name, weight in weights.items()}
    return DoubtWeights(**scaled, largest_surface=UNKNOWN_SURFACE if is_given else math.inf)


def fill_rules(settings: Settings, width: int) -> FillRules:
    """How pixels of an image of ``width`` px are filled, as kernels take it.

    Examples
    --------
    >>> fill_rules(Settings(sigma_scale=2.0), 640).range / FILLED["range"]
    4.0
    """
    return FillRules(
        **{name: weight * settings.sigma_scale**2 for name, weight in FILLED.items()},
        largest_variance=largest_variance(width),
        judges_variance=settings.variance is True,
    )


class SurfaceCertainty:
    """Disparity, probability and variance of a surface.

    Parameters
    ----------
    surface : Surface
        Of the finest level.
    first_density : Map
        Density of the surface before the second search; the surface's own if there was none.
    views : Views
        Images along which the second search went.
    wide : Map or None
        A surface that reaches across holes: every pixel gets a disparity.
    maps : Maps
        Disparity and probability of the finest level, in and out.
    room : Runs
        To find islands in.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    variance : Map
        px^2 of the level, NaN = unknown.
    """

    def __init__(
        self,
        surface: Surface,
        first_density: Map,
        views: Views,
        wide: Map | None,
        maps: Maps,
        room: Runs,
        settings: Settings,
        arena: Arena,
    ):
        self._surface, self._first_density, self._views, self._wide = surface, first_density, views, wide
        self._maps = maps
        level, px = settings.finest_level, 2.0**settings.finest_level
        self._keep_found = settings.smoothing == 0
        weights = MEASURED if self._keep_found else SURFACE
        self._model = error_model(weights, surface.width, level)
        self._limits = Limits(
            min_probability=settings.min_surface_probability,
            lowest=settings.min_disparity / px,
            highest=math.inf if settings.max_disparity is None else settings.max_disparity / px,
        )
        self._checks_usable = settings.slanted and settings.smoothing > 0
        smallest = math.ceil(settings.min_island * surface.width * surface.height)
        self._islands = SegmentFilter(maps, smallest, room) if settings.min_island > 0 and wide is None else None
        self.variance = empty_map(surface.height, surface.width, arena)

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill the maps and ``variance``."""
        if self._wide is not None:
            kernels.score_dense(
                self._surface, self._first_density, self._wide, self._model, self._maps, self.variance,
                self._keep_found, crew,
            )  # fmt: skip
            return
        kernels.score_surface(
            self._surface, self._first_density, self._views, self._model, self._limits, self._maps, self.variance,
            has_hidden and self._checks_usable, crew,
        )  # fmt: skip
        if self._islands is not None:
            self._islands.run(crew)
            kernels.score_by_variance(self._maps, self.variance, self._model, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        if self._wide is not None:
            return [kernels.score_dense]
        if self._islands is None:
            return [kernels.score_surface]
        return [kernels.score_surface, *self._islands.kernels(), kernels.score_by_variance]


class ScatterCertainty:
    """Variance and probability of disparities without a surface: how far they scatter about one through them.

    The surface is fitted on the level above, which takes a quarter of the time.

    Parameters
    ----------
    guide : Image
        Left image of the level above.
    maps : Maps
        Disparity and probability of the finest level; the probability is replaced.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    variance : Map
        px^2 of the finest level, NaN = unknown.
    """

    def __init__(self, guide: Image, maps: Maps, settings: Settings, arena: Arena):
        self._maps, self._found = maps, Map(values=maps.disparity, width=maps.width)
        self._fit = SurfaceFit(guide, settings.scatter_smoothing / 4, settings, arena)
        surface, level = self._fit.surface, settings.finest_level
        self._coarse = empty_map(surface.height, surface.width, arena)
        self._coarse_variance = empty_map(surface.height, surface.width, arena)
        self._coarse_model = error_model(MEASURED, surface.width, level + 1)
        self._model = error_model(MEASURED, maps.width, level)
        self.variance = empty_map(len(maps.disparity), maps.width, arena)

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill ``variance`` and the probability of the maps."""
        kernels.halve_disparity(self._found, self._coarse, crew)
        self._fit.bind(crew)
        self._fit.fit_once(self._coarse, True, crew)
        kernels.score_scatter(self._fit.surface, self._coarse, self._coarse_model, self._coarse_variance, crew)
        kernels.enlarge_map(self._coarse_variance, self.variance, 4, False, crew)
        kernels.score_by_variance(self._maps, self.variance, self._model, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        scores = [kernels.score_scatter, kernels.enlarge_map, kernels.score_by_variance]
        return [kernels.halve_disparity, *self._fit.kernels(), *scores]


class PaperVariance:
    """The paper's variance [III-E, Eq. 15-18] of the patches that were searched last.

    Parameters
    ----------
    patches : Patches
        With their variance (Eq. 15-17).
    fusion : BayesianFusion or ResidualFusion
        How they were fused; without a posterior there is nothing to mix, and sigma is half a patch everywhere.
    maps : Maps
        Which pixels are known.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    variance : Map
        px^2 of the level, NaN = unknown.
    """

    def __init__(
        self, patches: Patches, fusion: BayesianFusion | ResidualFusion, maps: Maps, settings: Settings, arena: Arena
    ):
        self._patches, self._maps = patches, maps
        self._mixture = fusion.mixture if isinstance(fusion, BayesianFusion) else None
        self.variance = empty_map(len(maps.disparity), maps.width, arena)
        self._out = VarianceMixture(
            spread=arena.zeros((patches.rows.shape[1], map_stride(maps.width)), np.float32),
            variance=self.variance.values,
            unfitted=unfitted_variance(settings),
        )

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill ``variance``."""
        if self._mixture is None:
            kernels.fill_variance(self._maps, self._out, crew)
        else:
            kernels.fuse_variance(self._patches, self._mixture, self._maps, self._out, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.fill_variance if self._mixture is None else kernels.fuse_variance]
