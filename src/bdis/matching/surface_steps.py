"""The surface of the finest level: fitted, and searched along (beyond the paper)."""

from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .fusion import empty_map
from .kernels.layout import Map
from .kernels.patches import Scratch
from .kernels.pyramid import Image, Views
from .kernels.segments import Runs
from .memory import Arena
from .settings import Settings
from .slanted import SlantedSearch
from .surface import SurfaceFit


class SurfaceSteps:
    """From the disparities of the finest level to a surface.

    Parameters
    ----------
    guide : Image
        Left image of the finest level.
    views : Views
        Both images of it.
    found : Map
        Disparities of the finest level.
    min_segment : int
        px, smaller segments of the second search are removed.
    scratch : Scratch
        Room for the search to work in.
    room : Runs
        To find segments in.
    settings : Settings
        Of the matcher.
    leaves_out_highlights : bool
        Patches of the second search that hold highlights do not count.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    fit : SurfaceFit
        The surface.
    wide : Map or None
        A surface that reaches across holes, if every pixel is to be filled.
    slanted : SlantedSearch or None
        The second search, along the surface.
    first_density : Map
        Density of the surface before the second search.
    """

    def __init__(
        self, guide: Image, views: Views, found: Map, min_segment: int,
        scratch: Scratch, room: Runs, settings: Settings, leaves_out_highlights: bool, arena: Arena,
    ):  # fmt: skip
        self._found = found
        self.fit = SurfaceFit(guide, settings.smoothing or settings.scatter_smoothing, settings, arena)
        surface = self.fit.surface
        self.first_density = Map(values=surface.density, width=surface.width)
        self.wide = empty_map(surface.height, surface.width, arena) if settings.dense else None
        self.slanted: SlantedSearch | None = None
        if settings.slanted and settings.smoothing > 0:
            self.slanted = SlantedSearch(
                views, surface, min_segment, scratch, room, settings, leaves_out_highlights, arena
            )
            self.first_density = empty_map(surface.height, surface.width, arena)

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fit the surface."""
        fit, slanted = self.fit, self.slanted
        if self.wide is not None:
            fit.fit_wide(self._found, self.wide, crew)
        fit.bind(crew)
        if slanted is None:
            fit.fit(self._found, crew)
            return
        fit.fit_once(self._found, False, crew)  # outliers are left to the second fit: no worse, and faster
        kernels.keep_density(fit.surface, self.first_density, crew)
        slanted.run(has_hidden, crew)
        fit.add(slanted.rest, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        found = self.fit.kernels()
        if self.wide is not None:
            found.append(kernels.keep_known)
        if self.slanted is not None:
            found += [kernels.keep_density, *self.slanted.kernels()]
        return found
