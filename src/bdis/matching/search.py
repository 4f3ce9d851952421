"""The search on one level: fast LK inverse search of every patch [III-A] and its posterior [III-B]."""

import numpy as np

from ..common.arrays import Array
from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from . import kernels
from .kernels.highlights import AREA, SATURATED, BrightAreas, BrightColumns
from .kernels.layout import Maps, image_stride, map_stride
from .kernels.patches import SHIFTS, Patches, Scratch, SearchSettings
from .kernels.pyramid import Views
from .memory import Arena
from .settings import Settings

MIN_VARIANCE = 0.2  # least dynamic sigma_r^2, grey steps^2: the rounding of the images; half and double: no difference
WINDOW_SAMPLES = 5  # of the posterior: 0, one and two steps to either side


class Search:
    """All patches of a level.

    Parameters
    ----------
    views : Views
        The images of the level.
    coarser : Maps
        Where the patches start; of width 0: from zero.
    search_settings : SearchSettings
        In px of the level, see `search_settings`.
    scratch : Scratch
        Room to work in, see `thread_scratch`.
    settings : Settings
        Of the matcher.
    leaves_out_highlights : bool
        Patches that hold highlights do not count.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    patches : Patches
        The grid, and what was found.
    """

    def __init__(
        self,
        views: Views,
        coarser: Maps,
        search_settings: SearchSettings,
        scratch: Scratch,
        settings: Settings,
        leaves_out_highlights: bool,
        arena: Arena,
    ):
        self._views, self._coarser, self._settings, self._scratch = views, coarser, search_settings, scratch
        rows, cols = patch_grid(len(views.left), settings), patch_grid(views.width, settings)
        shape = len(rows), len(cols) + LANES
        self.patches = Patches(
            rows=rows[None],
            cols=np.append(cols, np.full(LANES, cols[-1], np.int32))[None],
            disparity=arena.zeros(shape, np.float32),
            probability=arena.zeros(shape, np.float32),
            variance=arena.zeros(shape if search_settings.variance else (1, 1), np.float32),
        )
        self._leaves_out_highlights = leaves_out_highlights
        if leaves_out_highlights:
            shape = -(-len(views.left) // AREA), -(-views.width // AREA)
            self._bright_areas = BrightAreas(
                counts=arena.zeros(shape, np.int32),
                patch_size=settings.patch_size,
                threshold=round(SATURATED * settings.intensity_scale),
            )
            room = (2, map_stride(views.width))
            self._bright_columns = for_members(
                [BrightColumns(counts=arena.zeros(room, np.int32)) for _ in range(settings.threads)]
            )

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Search every patch."""
        kernels.search_patches(
            self._views, self._coarser, self.patches, self._settings, self._scratch, has_hidden, crew
        )
        if self._leaves_out_highlights:
            kernels.leave_out_highlights(self._views, self.patches, self._bright_areas, self._bright_columns, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.search_patches, *([kernels.leave_out_highlights] if self._leaves_out_highlights else [])]


def patch_grid(length: int, settings: Settings) -> Array:
    """First pixel of each patch along a side of ``length`` px; the last patch ends with the image.

    Examples
    --------
    >>> patch_grid(19, Settings(patch_size=8, overlap=0.5)).tolist()
    [0, 4, 8, 11]
    """
    last = length - settings.patch_size
    regular = np.arange(0, last + 1, settings.stride, dtype=np.int32)
    return regular if regular[-1] == last else np.append(regular, np.int32(last))


def search_settings(number: int, level_weight: float, settings: Settings) -> SearchSettings:
    """Settings of the search on level ``number``, in its pixels."""
    px = 2.0**number
    fixed = 0.0 if settings.sigma_r is None else (settings.sigma_r * settings.intensity_scale) ** 2
    return SearchSettings(
        patch_size=settings.patch_size,
        max_iterations=settings.max_iterations,
        newton=settings.newton,
        stop=settings.stop_step,
        radius=settings.search_radius,
        window_step=settings.window_step,
        likelihood_area=WINDOW_SAMPLES**2 if settings.likelihood_area == "window" else settings.patch_size**2,
        fixed_variance=fixed,
        min_variance=MIN_VARIANCE,
        min_valid=settings.min_valid,
        level_weight=level_weight,
        min_disparity=settings.min_disparity / px,
        max_disparity=float("inf") if settings.max_disparity is None else settings.max_disparity / px,
        propagate=settings.propagate,
        posterior=settings.fusion == "bayes",
        variance=settings.variance == "paper" and number == settings.finest_level,
    )


def search_settings_along_surface(settings: Settings) -> SearchSettings:
    """The same for the second search of the finest level: disparities are what is missing on the surface."""
    found = search_settings(settings.finest_level, 1.0, settings)
    reach = settings.search_radius
    found.update(propagate=False, min_disparity=-reach, max_disparity=reach)
    return found


def thread_scratch(width: int, threads: int, arena: Arena) -> Scratch:
    """Room to work in, one for each thread, for levels of up to ``width`` px."""
    scratch = [
        Scratch(
            sums=arena.zeros((10, image_stride(width)), np.int32),
            whole=arena.zeros((5, LANES), np.int32),
            real=arena.zeros((10, LANES), np.float32),
            tables=arena.zeros((3, 2 * LANES * (SHIFTS + 1)), np.float32),
            window=arena.zeros((7, LANES), np.float32),
            listed=arena.zeros((1, width + 2 * LANES), np.int32),
            start=arena.zeros((1, width + 2 * LANES), np.float32),
        )
        for _ in range(threads)
    ]
    return for_members(scratch)
