"""From patches to pixels: the spatial mixture [III-C, III-D] or the deterministic fusion of DIS [Eq. 2]."""

import numpy as np

from ..common.arrays import Array
from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .kernels.fusion import Mixture, ResidualMixture
from .kernels.layout import Map, Maps, map_stride
from .kernels.patches import Patches
from .kernels.pyramid import Views
from .memory import Arena
from .settings import Settings


class BayesianFusion:
    """Mean of the patches over each pixel, weighted by their probability and distance (Eq. 9-13).

    Parameters
    ----------
    patches : Patches
        What the search found.
    maps : Maps
        Where the result goes.
    min_probability : float
        Pixels below are unknown.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    mixture : Mixture
        Spatial weights, and the patches spread along their rows.
    """

    def __init__(self, patches: Patches, maps: Maps, min_probability: float, settings: Settings, arena: Arena):
        self._patches, self._maps = patches, maps
        height, stride = maps.disparity.shape
        rows, cols = patches.rows[0], patches.cols[0, :-LANES]
        size, spatial = settings.patch_size, spatial_weights(settings)
        pixel_rows = np.arange(height)
        covering = np.stack(
            [np.searchsorted(rows + size, pixel_rows, "right"), np.searchsorted(rows, pixel_rows, "right")], 1
        ).astype(np.int32)
        row_weights = arena.zeros((height, int((covering[:, 1] - covering[:, 0]).max())), np.float32)
        for y, (first, last) in enumerate(covering):
            row_weights[y, : last - first] = spatial[y - rows[first:last]]
        full_weight = arena.zeros((1, stride), np.float32)
        for col in cols:
            full_weight[0, col : col + size] += spatial
        weights = arena.zeros((1, LANES), np.float32)
        weights[0, :size] = spatial
        self.mixture = Mixture(
            weights=weights,
            spread=arena.zeros((3 * len(rows), stride), np.float32),
            full_weight=full_weight,
            covering=covering,
            row_weights=row_weights,
            min_support=settings.min_support,
            min_probability=min_probability,
        )

    def run(self, crew: Crew) -> None:
        """Fill the maps."""
        kernels.fuse(self._patches, self.mixture, self._maps, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.fuse]


class ResidualFusion:
    """Mean of the patches over each pixel, weighted by the inverse of its squared grey residual (Eq. 2).

    Parameters
    ----------
    views : Views
        The images of the level.
    patches : Patches
        What the search found.
    maps : Maps
        Where the result goes.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.
    """

    def __init__(self, views: Views, patches: Patches, maps: Maps, settings: Settings, arena: Arena):
        self._views, self._patches, self._maps = views, patches, maps
        shape = maps.disparity.shape
        self._sums = ResidualMixture(
            weighted=arena.zeros(shape, np.float32),
            weight=arena.zeros(shape, np.float32),
            patch_size=settings.patch_size,
            grey=float(settings.intensity_scale),
        )

    def run(self, crew: Crew) -> None:
        """Fill the maps."""
        kernels.fuse_by_residual(self._views, self._patches, self._sums, self._maps, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.fuse_by_residual]


def make_fusion(
    views: Views, patches: Patches, maps: Maps, min_probability: float, settings: Settings, arena: Arena
) -> BayesianFusion | ResidualFusion:
    """The fusion that the settings ask for."""
    if settings.fusion == "bayes":
        return BayesianFusion(patches, maps, min_probability, settings, arena)
    return ResidualFusion(views, patches, maps, settings, arena)


def empty_map(height: int, width: int, arena: Arena) -> Map:
    """A map for a level of ``height`` x ``width`` px."""
    return Map(values=arena.zeros((height, map_stride(width)), np.float32), width=width)


def empty_maps(height: int, width: int, arena: Arena) -> Maps:
    """Maps for a level of ``height`` x ``width`` px."""
    shape = height, map_stride(width)
    return Maps(disparity=arena.zeros(shape, np.float32), probability=arena.zeros(shape, np.float32), width=width)


def spatial_weights(settings: Settings) -> Array:
    """Weight along one side of a patch (Eq. 9, separable; its sum over a square too), float32, shape (patch_size,).

    Examples
    --------
    >>> spatial_weights(Settings(patch_size=4, sigma_spatial=None)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> weights = spatial_weights(Settings(patch_size=4, sigma_spatial=1.0, spatial_sum=True))
    >>> [round(float(weight), 2) for weight in weights]
    [1.75, 2.35, 2.35, 1.75]
    """
    size = settings.patch_size
    if settings.sigma_spatial is None:
        return np.ones(size, np.float32)
    places = np.arange(size)
    centres = places if settings.spatial_sum else np.array([(size - 1) / 2])
    squares = (places[:, None] - centres) ** 2
    return np.asarray(np.exp(-squares / (2 * settings.sigma_spatial**2)).sum(1), np.float32)
