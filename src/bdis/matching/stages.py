"""The stages of a match on images of one size, each with its buffers, made once and used for every pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..common.arrays import Array
from ..vector.cache import Kernel
from ..vector.crew import Crew
from .certainty import PaperVariance, ScatterCertainty, SurfaceCertainty
from .enlarge import Enlarge
from .fusion import BayesianFusion, ResidualFusion, empty_maps, make_fusion
from .kernels.layout import Maps
from .levels import coarsest_level, halved, level_weights
from .memory import Arena
from .pyramid import Pyramid
from .refine import Refinement
from .result import StereoResult
from .search import Search, search_settings, thread_scratch
from .segments import SegmentFilter, room_for_segments
from .settings import Settings
from .start import Start

BYTES_PER_PIXEL = {False: 17, True: 44}  # what the buffers take for one thread, about; without and with a surface


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
    enlarge : Enlarge
        To the size of the image.
    """

    def __init__(self, height: int, width: int, settings: Settings):
        _check_size(height, width, settings)
        self.size, self._settings = (height, width), settings
        finest = settings.finest_level
        has_surface = settings.smoothing > 0 or settings.dense
        measures_scatter = settings.variance is True and not has_surface  # on the level above the finest
        self._arena = Arena(BYTES_PER_PIXEL[has_surface or measures_scatter] * height * width)
        self._coarsest = coarsest_level(height, width, settings)
        searched = range(finest, self._coarsest + (settings.start == "zero"))
        top = max(self._coarsest, finest + measures_scatter)
        self.pyramid = Pyramid(height, width, top, searched, settings.intensity_scale, self._arena)
        finest_height, finest_width = halved(height, width, finest)
        self._scratch = thread_scratch(finest_width, settings.threads, self._arena)
        self._room = room_for_segments(finest_height, finest_width, self._arena)

        weights = level_weights(range(finest, self._coarsest + 1), settings)
        self.start = self._make_start(weights[self._coarsest]) if settings.start == "global" else None
        self.levels: list[Level] = []
        for number in reversed(searched):
            self.levels.append(self._make_level(number, weights[number]))
        self.surface = self._make_surface() if has_surface else None
        self.certainty = self._make_certainty(measures_scatter)
        variance = self.certainty[-1].variance if settings.variance else None
        seen = None if settings.dense else self.pyramid.seen[0][0]
        self.enlarge = Enlarge(self.levels[-1].maps, variance, finest, self.size, seen, self._arena)

    def _make_start(self, weight: float) -> Start:
        number = self._coarsest
        images = [levels[number - 1] for levels in self.pyramid.images]
        seen = [levels[number] for levels in self.pyramid.seen]
        return Start(images, seen, number, weight, self._settings, self._arena)

    def _make_level(self, number: int, weight: float) -> Level:
        settings, arena, views = self._settings, self._arena, self.pyramid.views[number]
        maps = empty_maps(*halved(*self.size, number), arena)
        found = self._maps()
        coarser = found[-1] if found else empty_maps(1, 0, arena)
        search = Search(views, coarser, search_settings(number, weight, settings), self._scratch, settings, arena)
        # A surface has its own probability, and its own threshold after that.
        has_threshold = number == settings.finest_level and settings.smoothing == 0
        min_probability = settings.min_probability if has_threshold else 0.0
        fusion = make_fusion(views, search.patches, maps, min_probability, settings, arena)
        return Level(search, fusion, SegmentFilter(maps, self._min_segment(number), self._room), maps)

    def _maps(self) -> list[Maps]:
        """Disparities of the levels that were made, coarsest first."""
        return [*([self.start.maps] if self.start else []), *(level.maps for level in self.levels)]

    def _min_segment(self, number: int) -> int:
        """Smaller segments of a level are removed [III-F], px."""
        return 4 ** (self._coarsest - number) if self._settings.segment_filter else 0

    def _make_surface(self) -> Refinement:
        finest = self._settings.finest_level
        guide, views = self.pyramid.images[0][finest - 1], self.pyramid.views[finest]
        *coarser, last = self._maps()
        return Refinement(
            guide, views, last, coarser[-1] if coarser else None, self._min_segment(finest), self._scratch, self._room,
            self._settings, self._arena,
        )  # fmt: skip

    def _make_certainty(self, measures_scatter: bool) -> list[SurfaceCertainty | ScatterCertainty | PaperVariance]:
        settings, arena, last, surface = self._settings, self._arena, self.levels[-1], self.surface
        found: list[SurfaceCertainty | ScatterCertainty | PaperVariance] = []
        if surface is not None:
            views = surface.slanted.views if surface.slanted else self.pyramid.views[settings.finest_level]
            density, wide = surface.first_density, surface.wide
            found.append(
                SurfaceCertainty(surface.fit.surface, density, views, wide, last.maps, self._room, settings, arena)
            )
        if measures_scatter:
            found.append(ScatterCertainty(self.pyramid.images[0][settings.finest_level], last.maps, settings, arena))
        if settings.variance == "paper":
            searched = surface.slanted if surface is not None and surface.slanted else last
            found.append(PaperVariance(searched.search.patches, searched.fusion, last.maps, settings, arena))
        return found

    def begin(self, images: tuple[Array, Array], masks: tuple[Any, Any], previous: StereoResult | None) -> list[Array]:
        """Take a pair, checked, and in a video what the previous frame left; returns the arrays that will be filled."""
        self.pyramid.read(images, masks)
        if self.surface is not None and self.surface.previous is not None:
            self.surface.previous.bring_back(previous)
        return self.enlarge.new_result()

    def levels_to_search(self, crew: Crew) -> Iterator[Level]:
        """Coarsest first; in a video the finest one is left out if the frame is as the previous one."""
        yield from self.levels[:-1]
        previous = self.surface.previous if self.surface is not None else None
        if previous is None or not previous.compare(crew):
            yield self.levels[-1]

    def release(self) -> None:
        """Let go of the images and the result of a match."""
        self.pyramid.release()
        self.enlarge.release()

    def result(self, arrays: list[Array], is_video: bool) -> StereoResult:
        """The filled ``arrays`` of the result, and in a video what the next frame starts from."""
        memory = self.surface.memory() if is_video and self.surface is not None else None
        return StereoResult(arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None, memory)

    def kernels(self) -> list[Kernel]:
        """All kernels that a match of the pair taken by `begin` is sure to call, each once."""
        levels = [step for level in self.levels for step in (level.search, level.fusion, level.filter)]
        stages = [self.pyramid, self.start, *levels, self.surface, *self.certainty, self.enlarge]
        found = [kernel for stage in stages if stage is not None for kernel in stage.kernels()]
        return list(dict.fromkeys(found))


def _check_size(height: int, width: int, settings: Settings) -> None:
    if min(halved(height, width, settings.finest_level)) < settings.patch_size:
        raise ValueError(
            f"the images are {width}x{height}; patch_size {settings.patch_size} on finest_level "
            f"{settings.finest_level} needs {settings.patch_size * 2**settings.finest_level} px on each side"
        )
