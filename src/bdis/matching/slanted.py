"""The finest level searched once more, with patches that lie on the surface (beyond the paper).

The right image is brought under the left one along the surface, so that slanted patches match as flat ones do; what the
search finds there is what is still missing on the surface.
"""

from dataclasses import replace

import numpy as np

from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .fusion import empty_maps, make_fusion
from .kernels.layout import Map
from .kernels.patches import Scratch
from .kernels.pyramid import Views
from .kernels.segments import Runs
from .kernels.surface import Surface
from .memory import Arena
from .search import Search, search_settings_along_surface
from .segments import SegmentFilter
from .settings import Settings


class SlantedSearch:
    """Search, fusion and filter along a surface.

    Parameters
    ----------
    views : Views
        The images of the finest level.
    surface : Surface
        To search along.
    min_segment : int
        px, smaller segments are removed.
    scratch : Scratch
        Room for the search to work in.
    room : Runs
        To find segments in.
    settings : Settings
        Of the matcher.
    leaves_out_highlights : bool
        Patches that hold highlights do not count.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    views : Views
        The same with the right image as seen along the surface.
    rest : Map
        px of the level, what is missing on the surface; NaN = unknown.
    """

    def __init__(
        self,
        views: Views,
        surface: Surface,
        min_segment: int,
        scratch: Scratch,
        room: Runs,
        settings: Settings,
        leaves_out_highlights: bool,
        arena: Arena,
    ):
        settings = replace(settings, overlap=settings.slanted_overlap)
        self._flat, self._surface, self._patch_size = views, surface, settings.patch_size
        self.views = Views(
            left=views.left,
            gradient=views.gradient,
            right=arena.zeros(views.right.shape, np.int16),
            usable_left=views.usable_left,
            usable_right=arena.zeros(views.right.shape, np.uint8),
            width=views.width,
        )
        maps, nothing = empty_maps(surface.height, surface.width, arena), empty_maps(1, 0, arena)
        along = search_settings_along_surface(settings)
        self.search = Search(self.views, nothing, along, scratch, settings, leaves_out_highlights, arena)
        self.fusion = make_fusion(self.views, self.search.patches, maps, 0.0, settings, arena)
        self._filter = SegmentFilter(maps, min_segment, room)
        self.rest = Map(values=maps.disparity, width=maps.width)

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill ``rest``."""
        kernels.warp_right_image(self._flat, self._surface, self.views, has_hidden, crew)
        self.search.run(has_hidden, crew)
        kernels.leave_out_beyond(self._surface, self.search.patches, self._patch_size, crew)
        self.fusion.run(crew)
        self._filter.run(crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        found = [kernels.warp_right_image, *self.search.kernels(), kernels.leave_out_beyond]
        return [*found, *self.fusion.kernels(), *self._filter.kernels()]
