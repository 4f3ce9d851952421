"""The stages of a match on images of one size, each with its buffers, made once and used for every pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..vector.cache import Kernel
from ..vector.crew import Crew
from .certainty import PaperVariance, ScatterCertainty, SurfaceCertainty, empty_map
from .edges import Edges
from .enlarge import Enlarge
from .fusion import BayesianFusion, ResidualFusion, empty_maps, make_fusion
from .images import Image
from .kernels.layout import Map, Maps
from .levels import coarsest_level, halved, level_weights
from .memory import Arena
from .pyramid import Pyramid
from .refine import Refinement
from .result import StereoResult
from .search import Search, search_settings, thread_scratch
from .segments import SegmentFilter, room_for_segments
from .settings import Settings
from .slanted import SlantedSearch
from .start import Start
from .surface import SurfaceFit
from .video import PreviousFrame, memory_of

BYTES_PER_PIXEL = {False: 17, True: 44}  # what the buffers take for one thread, about; with a surface


class Level(NamedTuple):
    """The steps of one level of the pyramid."""

    search: Search
    fusion: BayesianFusion | ResidualFusion
    filter: SegmentFilter
    maps: Maps  # what is known then


class Stages:
    """Everything that a match of ``height`` x ``width`` px needs.

    Parameters
    ----------
    height, width : int
        px of the images.
    settings : Settings
        Of the matcher.

    Raises
    ------
    ValueError
        No patch fits the finest level.

    Attributes
    ----------
    pyramid : Pyramid
        Levels of both images.
    start : Start or None
        The coarsest level, if all disparities are tried there.
    levels : list of Level
        Those that are searched, coarsest first.
    surface : Refinement or None
        The surface of the finest level, if there is one.
    certainty : list
        What fills in variance and probability.
    previous : PreviousFrame or None
        For video.
    enlarge : Enlarge
        To the size of the image.
    """

    def __init__(self, height: int, width: int, settings: Settings):
        finest, px = settings.finest_level, 2**settings.finest_level
        self.size, self._settings = (height, width), settings
        if min(halved(height, width, finest)) < settings.patch_size:
            raise ValueError(
                f"the images are {width}x{height}; patch_size {settings.patch_size} on finest_level {finest} needs "
                f"{settings.patch_size * px} px on each side"
            )
        self._has_surface = settings.smoothing > 0 or settings.dense
        measures_scatter = settings.variance is True and not self._has_surface
        needs_surface = self._has_surface or measures_scatter
        self._arena = Arena(BYTES_PER_PIXEL[needs_surface] * height * width)
        self._coarsest = coarsest_level(height, width, settings)
        first = self._coarsest - 1 if settings.start == "global" else self._coarsest
        last_of_pyramid = max(self._coarsest, finest + measures_scatter)
        self.pyramid = Pyramid(
            height, width, last_of_pyramid, range(finest, first + 1), settings.intensity_scale, self._arena
        )
        finest_size = halved(height, width, finest)
        self._scratch = thread_scratch(finest_size[1], settings.threads, self._arena)
        self._room = room_for_segments(*finest_size, self._arena)
        self._weights = level_weights(range(finest, self._coarsest + 1), settings)
        self.start = self._make_start() if settings.start == "global" else None
        self.levels: list[Level] = []
        coarser = self.start.maps if self.start else empty_maps(1, 0, self._arena)
        for number in range(first, finest - 1, -1):
            self.levels.append(self._make_level(number, coarser))
            coarser = self.levels[-1].maps
        self.surface: Refinement | None = None
        self.previous: PreviousFrame | None = None
        self._fit: SurfaceFit | None = None
        self.certainty: list[SurfaceCertainty | ScatterCertainty | PaperVariance] = []
        searched: Level | SlantedSearch = self.levels[-1]
        if self._has_surface:
            searched = self._make_surface() or searched
        elif measures_scatter:
            guide = self.pyramid.images[0][finest]
            self.certainty.append(ScatterCertainty(guide, self.levels[-1].maps, settings, self._arena))
        if settings.variance == "paper":
            self.certainty.append(self._make_paper_variance(searched))
        variance = self.certainty[-1].variance if settings.variance else None
        seen = None if settings.dense else self.pyramid.seen[0][0]
        self.enlarge = Enlarge(self.levels[-1].maps, variance, finest, (height, width), seen, self._arena)

    def _make_start(self) -> Start:
        number = self._coarsest
        images = [levels[number - 1] for levels in self.pyramid.images]
        seen = [levels[number] for levels in self.pyramid.seen]
        return Start(images, seen, number, self._weights[number], self._settings, self._arena)

    def _make_level(self, number: int, coarser: Maps) -> Level:
        settings, arena, views = self._settings, self._arena, self.pyramid.views[number]
        maps = empty_maps(*halved(*self.size, number), arena)
        search = Search(
            views, coarser, search_settings(number, self._weights[number], settings), self._scratch, settings, arena
        )
        # A surface has its own probability, and its own threshold after that.
        is_last = number == settings.finest_level and settings.smoothing == 0
        fusion = make_fusion(views, search.patches, maps, settings.min_probability if is_last else 0.0, settings, arena)
        return Level(search, fusion, SegmentFilter(maps, self._min_segment(number), self._room), maps)

    def _min_segment(self, number: int) -> int:
        """Smaller segments of a level are removed [III-F], px."""
        return 4 ** (self._coarsest - number) if self._settings.segment_filter else 0

    def _make_surface(self) -> SlantedSearch | None:
        """The surface and all that belongs to it; returns the second search, if there is one."""
        settings, arena, maps = self._settings, self._arena, self.levels[-1].maps
        views = self.pyramid.views[settings.finest_level]
        fit = SurfaceFit(
            self.pyramid.images[0][settings.finest_level - 1], settings.smoothing or settings.scatter_smoothing, settings, arena
        )
        self._fit = fit
        size = fit.surface.height, fit.surface.width
        wide = empty_map(*size, arena) if settings.dense else None
        slanted = edges = None
        density = Map(values=fit.surface.density, width=fit.surface.width)
        if settings.slanted and settings.smoothing > 0:
            min_segment = self._min_segment(settings.finest_level)
            slanted = SlantedSearch(views, fit.surface, min_segment, self._scratch, self._room, settings, arena)
            edges = Edges(views, fit, settings, arena) if settings.sharpening else None
            density = empty_map(*size, arena)
            coarser = self._coarser_than_finest()
            if coarser is not None and not settings.dense:
                self.previous = PreviousFrame(coarser, fit.surface, density, arena)
        self.surface = Refinement(fit, maps, wide, edges, slanted, density, self.previous)
        self.certainty.append(
            SurfaceCertainty(
                fit.surface, density, slanted.views if slanted else views, wide, maps, self._room, settings, arena
            )
        )
        return slanted

    def _coarser_than_finest(self) -> Maps | None:
        if len(self.levels) > 1:
            return self.levels[-2].maps
        return self.start.maps if self.start else None

    def _make_paper_variance(self, searched: Level | SlantedSearch) -> PaperVariance:
        """Of the patches that were searched last."""
        patches, fusion, maps = searched.search.patches, searched.fusion, self.levels[-1].maps
        if isinstance(fusion, ResidualFusion):  # has no posterior to mix: sigma is half a patch everywhere
            fusion = BayesianFusion(patches, maps, 0.0, self._settings, self._arena)
        return PaperVariance(patches, fusion, maps, self._settings, self._arena)

    def levels_to_search(self, crew: Crew) -> Iterator[Level]:
        """Coarsest first; in a video the finest one is left out if the frame is as the previous one."""
        yield from self.levels[:-1]
        if self.previous is None or not self.previous.compare(crew):
            yield self.levels[-1]

    def release(self) -> None:
        """Let go of the images and the result of a match."""
        self.pyramid.release()
        self.enlarge.release()

    def result(self, arrays: list[Image], is_video: bool) -> StereoResult:
        """The filled ``arrays`` of the result, and in a video what the next frame starts from."""
        has_second_search = self.surface is not None and self._settings.slanted and self._settings.smoothing > 0
        memory = memory_of(self._fit.surface) if is_video and has_second_search and self._fit is not None else None
        return StereoResult(arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None, memory)

    def kernels(self) -> list[Kernel]:
        """All kernels that a match of 8-bit images calls, in that order, each once."""
        levels = [step for level in self.levels for step in (level.search, level.fusion, level.filter)]
        stages = [self.pyramid, self.start, *levels, self.surface, *self.certainty, self.enlarge]
        found = [kernel for stage in stages if stage is not None for kernel in stage.kernels()]
        return list(dict.fromkeys(found))
