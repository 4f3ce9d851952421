"""The stages of a match on images of one size, each with its buffers, made once and used for every pair."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..common.arrays import Array
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.repeated import Repeated, make_calls
from .certainty import PaperVariance, ScatterCertainty, SurfaceCertainty
from .detail import Detail
from .enlarge import Enlarge
from .fusion import BayesianFusion, ResidualFusion, empty_maps, make_fusion
from .kernels.law import Law
from .kernels.layout import Map, Maps
from .labels import WIDEST, Labels
from .levels import coarsest_level, halved, level_weights
from .memory import Arena, SharedMemory
from .pyramid import Pyramid
from .result import StereoResult
from .rows import MeasuredRows, RowAlignment
from .search import Search, search_settings, thread_scratch
from .segments import SegmentFilter, room_for_segments
from .settings import Settings
from .start import Start
from .surface_steps import SurfaceSteps
from .video import VideoAverage

# What the buffers take for one thread, about; by whether level 0 is searched, without and with a surface.
BYTES_PER_PIXEL = {False: {False: 17, True: 42}, True: {False: 54, True: 130}}
LABEL_BYTES_PER_PIXEL = {False: 8, True: 16}  # what labels and detail find; by whether level 0 has labels
SHARED_BYTES_PER_PIXEL = {False: 36, True: 88}  # what they work in


class PatchLevel(NamedTuple):
    """The steps of one level of the pyramid, as in the paper."""

    number: int
    search: Search
    fusion: BayesianFusion | ResidualFusion
    filter: SegmentFilter
    found: Map  # px of the level, what is known then
    maps: Maps  # the same, with its probability

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Search, fuse and filter the level."""
        self.search.run(has_hidden, crew)  # III-A, III-B
        self.fusion.run(crew)  # III-C, III-D
        self.filter.run(crew)  # III-F

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [*self.search.kernels(), *self.fusion.kernels(), *self.filter.kernels()]


class Step(Protocol):
    """A part of a match."""

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Do it."""

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""


class Together:
    """Steps that only call kernels, always the same ones: run as one.

    Parameters
    ----------
    steps : list of Step
        In their order.
    """

    def __init__(self, steps: list[Step]):
        self._steps, self._calls = steps, Repeated()

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Do all of them."""
        self._calls.run(self._run_steps, has_hidden, crew)

    def _run_steps(self, has_hidden: bool, crew: Crew) -> None:
        for step in self._steps:
            step.run(has_hidden, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [make_calls, *(kernel for step in self._steps for kernel in step.kernels())]


class Stages:
    """Everything that a match of ``height`` x ``width`` px needs.

    Parameters
    ----------
    height, width : int
        px of the images.
    settings : Settings
        Of the matcher.
    judges_given : bool
        The result is not what is found but what `Detail` is given, judged by it.

    Raises
    ------
    ValueError
        No patch fits the finest level, or it is too wide for labels.

    Attributes
    ----------
    pyramid : Pyramid
        Levels of both images.
    rows : RowAlignment or None
        Moves the right image, if its rows may differ from those of the left one.
    start : Start or None
        The coarsest level, if all disparities are tried there.
    levels : list of PatchLevel or Labels
        Those that are searched, coarsest first.
    maps : Maps
        Disparity and probability of the finest level.
    surface : SurfaceSteps or None
        The surface of the finest level, if there is one.
    certainty : list
        What fills in variance and probability.
    enlarge : Enlarge
        To the size of the image.
    detail : Detail or None
        Every pixel of the image, if labels are tried.
    video : VideoAverage or None
        Averages the frames of a video, if there is a surface.
    steps : list of Step
        What comes between the pyramid and the video, in its order.
    """

    def __init__(self, height: int, width: int, settings: Settings, *, judges_given: bool = False):
        _check_size(height, width, settings)
        self.size, self._settings = (height, width), settings
        finest = settings.finest_level
        has_surface = settings.smoothing > 0 or settings.dense
        measures_scatter = settings.variance is True and not has_surface  # on the level above the finest
        self._has_labels = has_labels(settings)
        self._leaves_out_highlights = settings.highlights and self._has_labels and not judges_given
        finest_image = 0 if self._has_labels else finest
        bytes_per_pixel = BYTES_PER_PIXEL[finest == 0][has_surface or measures_scatter]
        shared_bytes = 0
        if self._has_labels:
            is_full = 0 in (finest, settings.label_level)
            shared_bytes = SHARED_BYTES_PER_PIXEL[is_full] * height * width
            bytes_per_pixel += LABEL_BYTES_PER_PIXEL[is_full]
        self._arena = Arena(bytes_per_pixel * height * width + shared_bytes)
        self._shared = SharedMemory(shared_bytes, self._arena)
        self._coarsest = coarsest_level(height, width, settings)
        searched = range(finest, self._coarsest + (settings.start == "zero"))
        top = max(self._coarsest, finest + measures_scatter)
        self.pyramid = Pyramid(height, width, finest_image, top, searched, settings, self._arena)
        finest_height, finest_width = halved(height, width, finest)
        self._scratch = thread_scratch(finest_width, settings.threads, self._arena)
        self._room = room_for_segments(finest_height, finest_width, self._arena)

        weights = level_weights(range(finest, self._coarsest + 1), settings)
        self.start = self._make_start(weights[self._coarsest]) if settings.start == "global" else None
        self.levels: list[PatchLevel | Labels] = []
        for number in reversed(searched):
            self._add_level(number, weights[number])
        self.rows = self._make_rows()
        self.maps = self.levels[-1].maps
        self.surface = self._make_surface() if has_surface else None
        self.certainty = self._make_certainty(measures_scatter)
        self.enlarge = self._make_enlarge(has_surface or measures_scatter)
        self.detail = self._make_detail(judges_given)
        self.video: VideoAverage | None = None
        if settings.smoothing > 0 and not judges_given:
            self.video = VideoAverage(self.pyramid.images[0][1], self.enlarge.result, settings, self._arena)
        self.steps = self._in_order()

    def _in_order(self) -> list[Step]:
        """Everything between the pyramid and the result; where Python has nothing to decide, several steps as one."""
        steps: list[Step] = []
        together: list[Step] = [self.start] if self.start else []  # beyond the paper: all disparities tried
        for level in self.levels:  # coarse to fine
            together.append(level)  # III-A to III-D and III-F with patches; beyond the paper with labels
            if self.rows and self.rows.measures(level.number, level.found):
                # Beyond the paper: do the rows agree?
                search = Together(together)
                steps += [search, MeasuredRows(self.rows, level.number, level.found, search)]
                together = []
        if self.surface:
            together.append(self.surface)  # beyond the paper: a surface, and a second search along it
        together += self.certainty  # III-E, or the calibrated variance and probability
        together.append(self.enlarge)  # to the size of the image
        steps.append(Together(together))
        if self.detail:
            steps.append(self.detail)  # beyond the paper: every pixel of the image by itself
        return steps

    def _make_rows(self) -> RowAlignment | None:
        settings, pyramid = self._settings, self.pyramid
        if settings.align_rows == "off" and (settings.row_offset, settings.row_tilt) == (0.0, 0.0):
            return None
        seen_left, seen_right = (dict(enumerate(levels)) for levels in pyramid.seen)
        found = {level.number: level.found for level in reversed(self.levels)}  # with labels, these
        return RowAlignment(
            pyramid.images, (seen_left, seen_right), pyramid.views, found, self.size[1], settings, self._arena
        )

    def _make_start(self, weight: float) -> Start:
        number = self._coarsest
        images = [levels[number] for levels in self.pyramid.images]
        seen = [levels[number] for levels in self.pyramid.seen]
        return Start(images, seen, number, weight, self._settings, self._arena)

    def _add_level(self, number: int, weight: float) -> None:
        """A level with labels, with patches as in the paper, or the finest one with both."""
        before = [*([self.start] if self.start else []), *self.levels]
        coarser = before[-1].maps if before else empty_maps(1, 0, self._arena)
        has_labels = self._has_labels and bool(before)
        if has_labels:
            self.levels.append(self._make_labels(number, coarser, weight))
        if number == self._settings.finest_level or not has_labels:
            self.levels.append(self._make_patches(number, coarser, weight))

    def _make_labels(self, number: int, coarser: Maps, weight: float) -> Labels:
        images = [levels[number] for levels in self.pyramid.images]
        seen = [levels[number] for levels in self.pyramid.seen]
        maps = empty_maps(*halved(*self.size, number), self._arena)
        start = Map(values=coarser.disparity, width=coarser.width)
        return Labels(images, seen, start, maps, number, weight, self._settings, self._shared)

    def _make_patches(self, number: int, coarser: Maps, weight: float) -> PatchLevel:
        settings, arena, views = self._settings, self._arena, self.pyramid.views[number]
        maps = empty_maps(*halved(*self.size, number), arena)
        of_level = search_settings(number, weight, settings)
        leaves_out = self._leaves_out_highlights and number == settings.finest_level
        search = Search(views, coarser, of_level, self._scratch, settings, leaves_out, arena)
        # A surface has its own probability, and its own threshold after that.
        has_threshold = number == settings.finest_level and settings.smoothing == 0
        min_probability = settings.min_probability if has_threshold else 0.0
        fusion = make_fusion(views, search.patches, maps, min_probability, settings, arena)
        found = Map(values=maps.disparity, width=maps.width)
        return PatchLevel(
            number, search, fusion, SegmentFilter(maps, self._min_segment(number), self._room), found, maps
        )

    def _min_segment(self, number: int) -> int:
        """Smaller segments of a level are removed [III-F], px."""
        return 4 ** (self._coarsest - number) if self._settings.segment_filter else 0

    def _make_surface(self) -> SurfaceSteps:
        finest = self._settings.finest_level
        guide, views = self.pyramid.images[0][finest], self.pyramid.views[finest]
        return SurfaceSteps(
            guide, views, self.levels[-1].found, self._min_segment(finest), self._scratch, self._room, self._settings,
            self._leaves_out_highlights, self._arena,
        )  # fmt: skip

    def _make_certainty(self, measures_scatter: bool) -> list[SurfaceCertainty | ScatterCertainty | PaperVariance]:
        settings, arena, surface = self._settings, self._arena, self.surface
        found: list[SurfaceCertainty | ScatterCertainty | PaperVariance] = []
        if surface is not None:
            views = surface.slanted.views if surface.slanted else self.pyramid.views[settings.finest_level]
            density, wide = surface.first_density, surface.wide
            found.append(
                SurfaceCertainty(surface.fit.surface, density, views, wide, self.maps, self._room, settings, arena)
            )
        if measures_scatter:
            found.append(
                ScatterCertainty(self.pyramid.images[0][settings.finest_level + 1], self.maps, settings, arena)
            )
        if settings.variance == "paper":
            searched = surface.slanted if surface is not None and surface.slanted else self._patches()
            found.append(PaperVariance(searched.search.patches, searched.fusion, self.maps, settings, arena))
        return found

    def _make_enlarge(self, follows_law: bool) -> Enlarge:
        settings = self._settings
        judged = self.certainty[0].variance if follows_law else None
        papers = self.certainty[-1].variance if settings.variance == "paper" else None
        law = None
        if follows_law and not self._has_detail():  # that applies the law itself
            is_kept = settings.dense or settings.smoothing == 0  # without a surface the posterior decides
            law = Law(
                scale=settings.sigma_scale**2, min_probability=0.0 if is_kept else settings.min_probability,
                has_variance=settings.variance is True,
            )  # fmt: skip
        seen = None if settings.dense else self.pyramid.seen[0][0]
        return Enlarge(
            self.maps, papers, judged, bool(settings.variance), law, settings.finest_level, self.size, seen, self._arena
        )

    def _has_detail(self) -> bool:
        return self.surface is not None and any(isinstance(level, Labels) for level in self.levels)

    def _patches(self) -> PatchLevel:
        """The finest level with patches."""
        return [level for level in self.levels if isinstance(level, PatchLevel)][-1]

    def _make_detail(self, judges_given: bool) -> Detail | None:
        if not self._has_detail() or self.surface is None:
            return None
        labels = [level.found for level in self.levels if isinstance(level, Labels)]
        surface = self.surface.fit.surface
        # Where every pixel gets a disparity the maps have no holes, and the surface does not reach across them.
        values = self.maps.disparity if self._settings.dense else surface.disparity
        drawn = Map(values=values, width=surface.width)
        return Detail(
            drawn, labels[-1], self.pyramid, self.enlarge, self.rows, judges_given, self._settings, self._shared,
            self._arena,
        )  # fmt: skip

    def begin(self, images: tuple[Array, Array], masks: tuple[Any, Any], previous: StereoResult | None) -> list[Array]:
        """Take a pair, checked, and in a video what the previous frame left; returns the arrays that will be filled."""
        self.pyramid.read(images, masks)
        if self.rows is not None:
            self.rows.begin(previous)
        if self.video is not None:
            self.video.begin(previous)
        return self.enlarge.new_result()

    def release(self) -> None:
        """Let go of the images and the result of a match."""
        self.pyramid.release()
        self.enlarge.release()
        if self.video is not None:
            self.video.release()

    def result(self, arrays: list[Array], match_ms: float | None = None) -> StereoResult:
        """The filled ``arrays`` of the result, and what the next frame of a video needs of this one."""
        memory = None if self.video is None else self.video.memory()
        row_offset, row_tilt = (0.0, 0.0) if self.rows is None else (self.rows.offset, self.rows.tilt)
        variance = arrays[2] if len(arrays) > 2 else None
        bits, pictures = self.pyramid.bits, self.pyramid.small_pair({} if self.rows is None else self.rows.moved)
        return StereoResult(arrays[0], arrays[1], variance, row_offset, row_tilt, memory, bits, pictures, match_ms)

    def kernels(self) -> list[Kernel]:
        """All kernels that a match of the pair taken by `begin` is sure to call, each once."""
        found = [kernel for step in (self.pyramid, self.rows, *self.steps) if step for kernel in step.kernels()]
        return list(dict.fromkeys(found))


def has_labels(settings: Settings) -> bool:
    """Does every pixel choose between disparities?  That is for a surface: without one the patches are the result."""
    return settings.label_level is not None and settings.smoothing > 0


def _check_size(height: int, width: int, settings: Settings) -> None:
    if min(halved(height, width, settings.finest_level)) < settings.patch_size:
        raise ValueError(
            f"the images are {width}x{height}; patch_size {settings.patch_size} on finest_level "
            f"{settings.finest_level} needs {settings.patch_size * 2**settings.finest_level} px on each side"
        )
    if has_labels(settings) and settings.label_level is not None:
        finest = min(settings.label_level, settings.finest_level)
        if halved(height, width, finest)[1] > WIDEST:
            raise ValueError(
                f"the images are {width} px wide; label_level {settings.label_level} on finest_level "
                f"{settings.finest_level} is for at most {WIDEST * 2**finest} px"
            )
