"""The surface of the finest level: fitted, sharpened, searched along (beyond the paper)."""

from ..vector.cache import Kernel
from ..vector.crew import Crew
from . import kernels
from .edges import Edges
from .kernels.layout import Map, Maps
from .slanted import SlantedSearch
from .surface import SurfaceFit
from .video import PreviousFrame


class Refinement:
    """From the disparities of the finest level to a surface.

    Parameters
    ----------
    fit : SurfaceFit
        The surface.
    maps : Maps
        Disparities of the finest level.
    wide : Map or None
        Where a surface that reaches across holes goes, if every pixel is to be filled.
    edges : Edges or None
        Sharpens jumps, before the second search.
    slanted : SlantedSearch or None
        The second search, along the surface.
    first_density : Map
        Where the density before the second search goes.
    previous : PreviousFrame or None
        The previous frame of a video.
    """

    def __init__(
        self,
        fit: SurfaceFit,
        maps: Maps,
        wide: Map | None,
        edges: Edges | None,
        slanted: SlantedSearch | None,
        first_density: Map,
        previous: PreviousFrame | None,
    ):
        self._fit, self._found, self._wide = fit, Map(values=maps.disparity, width=maps.width), wide
        self._edges, self._slanted, self._first_density, self._previous = edges, slanted, first_density, previous

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fit the surface."""
        fit, slanted, previous = self._fit, self._slanted, self._previous
        if self._wide is not None:
            fit.fit_wide(self._found, self._wide, crew)
        fit.bind(crew)
        if slanted is None:
            fit.fit(self._found, True, crew)
            return
        if previous is not None and previous.skips_search:
            previous.lay_out(crew)
        else:
            fit.fit(self._found, False, crew)
            kernels.keep_density(fit.surface, self._first_density, crew)
        if self._edges is not None:
            self._edges.run(crew)
        slanted.run(has_hidden, crew)
        fit.add(slanted.rest, crew)
        if previous is not None:
            previous.draw_surface(crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls for a single pair."""
        found = self._fit.kernels()
        if self._wide is not None:
            found.append(kernels.keep_known)
        if self._slanted is not None:
            found += [kernels.keep_density, *self._slanted.kernels()]
        if self._edges is not None:
            found += self._edges.kernels()
        return found
