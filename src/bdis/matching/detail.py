"""Full resolution: the surface where tissue is smooth, labels where there are edges, refined pixel by pixel.

Beyond the paper, which stops at half resolution.
"""

import math

import numpy as np

from ..common.arrays import Array
from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from ..vector.repeated import Repeated, make_calls
from . import kernels
from .certainty import doubt_weights, fill_rules, largest_variance, unfitted_variance
from .enlarge import Enlarge
from .fusion import empty_map, empty_maps
from .kernels.beside_unknown import Differences
from .kernels.covered import CoveredLine, DetailRules
from .kernels.detail import BLOCK, Blocks, Candidates, DetailLine
from .kernels.doubt import KEPT, SUMS, Cues, DoubtLine
from .kernels.filled import FillLine, KnownBlocks
from .kernels.highlights import SATURATED, HighlightLine, Highlights
from .kernels.labels import PaddedMap
from .kernels.layout import PAD, Map, image_stride, map_stride
from .labels import Labels, empty_padded_map
from .levels import halved
from .memory import Arena, SharedMemory
from .pyramid import Pyramid
from .rows import RowAlignment
from .settings import Settings
from .variational import VariationalRefinement, whole_spans

AT_LIMIT = 0.25  # px: what lies so near to a limit of the search may lie beyond


class Detail:
    """From the surface and the labels of a level to every pixel of the image.

    Parameters
    ----------
    surface : Map
        Disparities of the surface, on the finest level that is searched.
    found : Map
        Disparities of the labels of that level.
    pyramid : Pyramid
        With the images themselves (level 0).
    result : Enlarge
        Has the result at the size of the image, and the variance of the surface; all of it is replaced.
    rows : RowAlignment or None
        Tells how uneven rows are.
    judges_given : bool
        Disparities are not found here but given by the user, and only judged.
    settings : Settings
        Of the matcher.
    shared : SharedMemory
        To work in.
    arena : Arena
        Where other buffers come from.

    Attributes
    ----------
    finer_labels : list of Labels
        Levels below the surface's on which labels are tried, coarsest first.
    refinement : VariationalRefinement or None
        Moves every pixel to where both images agree best.
    given : ndarray of float32, shape (h, w), or None
        px, the disparities to judge, NaN = unknown.
    """

    def __init__(
        self, surface: Map, found: Map, pyramid: Pyramid, result: Enlarge, rows: RowAlignment | None,
        judges_given: bool, settings: Settings, shared: SharedMemory, arena: Arena,
    ):  # fmt: skip
        left, right = (levels[0] for levels in pyramid.images)
        seen_left, seen_right = (levels[0] for levels in pyramid.seen)
        self._seen = seen_left
        height, width = len(left.pixels), left.width
        finest = settings.finest_level
        assert settings.label_level is not None
        self.finer_labels: list[Labels] = []
        for number in range(finest - 1, settings.label_level - 1, -1):
            images = [levels[number] for levels in pyramid.images]
            seen = [levels[number] for levels in pyramid.seen]
            maps = empty_maps(*halved(height, width, number), arena)
            self.finer_labels.append(Labels(images, seen, found, maps, number, 1.0, settings, shared))
            found = self.finer_labels[-1].found
        self._surface, self._images, self._found, self._rows = surface, (left, right), found, rows
        self._result, self._variance = result.result, result.result_variance
        arena = shared.arena()  # free again: labels are found
        self._filled = empty_padded_map(found, arena)
        planes = [arena.zeros((height, map_stride(width)), np.float32) for _ in range(3)]
        votes = arena.zeros((height, image_stride(width)), np.float32)
        gradients = [arena.zeros(left.pixels.shape, np.int16) for _ in range(2)]
        self._candidates = Candidates(
            surface=planes[0], labels=planes[1], gain=planes[2], votes=votes,
            gradient_left=gradients[0], gradient_right=gradients[1], width=width, surface_px=2**finest,
            labels_px=2 ** min(finest, settings.label_level), grey=float(settings.intensity_scale),
        )  # fmt: skip
        # Nobody votes any more when they are written.
        self._differences = Differences(sizes=votes, largest=settings.max_difference)
        down, across = -(-height // BLOCK), -(-width // BLOCK)
        low, high, texture = (arena.zeros((down, across), np.float32) for _ in range(3))
        self._blocks = Blocks(low=low, high=high, texture=texture)
        self._highlights = Highlights(
            is_bright=arena.zeros((down, across), np.uint8), count=arena.zeros((down, across), np.float32),
            total=arena.zeros((down, across), np.float32), gradient=gradients[0],
            threshold=round(SATURATED * settings.intensity_scale),
        )  # fmt: skip
        threads = range(settings.threads)
        sums = (4, map_stride(width) + 2 * LANES)
        self._lines = for_members([DetailLine(sums=arena.zeros(sums, np.float32)) for _ in threads])
        self._covered = for_members([covered_line(width, arena) for _ in threads])
        self._doubt = for_members([doubt_line(width, arena) for _ in threads])
        self._rings = for_members([HighlightLine(rows=arena.zeros((1, 32), np.int32)) for _ in threads])
        self._takes_sides = settings.sides and not judges_given
        self._leaves_out = not judges_given  # else every pixel keeps its disparity
        self._fills = settings.dense and not judges_given
        self._settles_highlights = settings.highlights and not judges_given
        self._disparity, self._spans = empty_map(height, width, arena), whole_spans(height, width, arena)
        self.refinement: VariationalRefinement | None = None
        self._weights = doubt_weights(judges_given, settings.sigma_scale)
        if settings.refinement_rounds and not judges_given:
            self.refinement = VariationalRefinement(
                left, right, seen_left, seen_right, self._disparity, self._spans, settings, arena
            )
        self._cues = Cues(
            surface=planes[0], labels=planes[1], gradient_left=gradients[0], gradient_right=gradients[1],
            grey=float(settings.intensity_scale), spans=self._spans.columns, uneven_rows=0.0,
        )  # fmt: skip
        # What is given stays as it is, in whatever range.
        smallest = -math.inf if judges_given else settings.min_disparity
        largest = math.inf if judges_given or settings.max_disparity is None else settings.max_disparity
        self._rules = DetailRules(
            smallest=smallest,
            largest=largest,
            # Nobody asked for the smallest of 0: it is that of what is infinitely far.
            reached_below=-math.inf if smallest == 0 else smallest + AT_LIMIT,
            reached_above=largest - AT_LIMIT,
            largest_variance=largest_variance(width),
            min_probability=0.0 if judges_given else settings.min_probability,
            min_surface_probability=settings.min_surface_probability,
            is_dense=self._fills,
            is_given=judges_given,
            has_variance=bool(settings.variance),
            judges_variance=settings.variance is True,
            unfitted=unfitted_variance(settings) * 4**finest,
        )
        self._fill_rules = fill_rules(settings, width)
        self._known = known_blocks(down, across, arena) if self._fills else None
        self._fill_lines = for_members([fill_line(width, arena) for _ in threads])
        self.given: Array | None = None
        self._calls = Repeated()
        self._given = empty_padded_map(self._disparity, arena) if judges_given else None

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Replace the result."""
        self._cues.update(uneven_rows=0.0 if self._rows is None else self._rows.uneven_px2)
        if self._given is None:
            self._calls.run(self._find_and_judge, has_hidden, crew)
        else:
            self._find_candidates(has_hidden, crew)
            self._take_given(self._given, crew)
            self._judge(has_hidden, crew)

    def _find_and_judge(self, has_hidden: bool, crew: Crew) -> None:
        self._find_candidates(has_hidden, crew)
        kernels.choose_candidates(self._candidates, self._blocks, self._disparity, self._lines, crew)
        self._judge(has_hidden, crew)

    def _find_candidates(self, has_hidden: bool, crew: Crew) -> None:
        for labels in self.finer_labels:
            labels.run(has_hidden, crew)
        kernels.fill_from_background(self._found, self._filled, crew)
        kernels.compare_candidates(
            self._surface, self._filled, self._found, *self._images, self._candidates, self._blocks, self._lines, crew
        )

    def _judge(self, has_hidden: bool, crew: Crew) -> None:
        if self._takes_sides:
            kernels.take_sides(self._candidates, self._blocks, self._images[0], self._disparity, self._lines, crew)
        kernels.find_spans(self._result, self._spans, crew)
        if self.refinement is not None:
            self.refinement.run(has_hidden, crew)
        if self._settles_highlights:
            kernels.settle_highlights(
                self._images[0], self._seen, has_hidden, self._result, self._disparity, self._highlights, self._lines,
                self._rings, crew,
            )  # fmt: skip
            kernels.find_spans(self._result, self._spans, crew)  # more is known now
        kernels.write_detail(
            self._disparity, self._cues, self._weights, self._rules, self._result, self._variance, self._differences,
            self._covered, self._doubt, crew,
        )  # fmt: skip
        if self._leaves_out:
            kernels.leave_out_beside_unknown(
                self._differences, self._result, self._variance, self._rules.has_variance, self._fills, crew
            )
        if self._known is not None:
            kernels.fill_unknown(
                self._result, self._variance, self._seen, self._known, self._fill_rules, self._fill_lines, has_hidden,
                crew,
            )  # fmt: skip

    def _take_given(self, filled: PaddedMap, crew: Crew) -> None:
        """What was given becomes the result; what is unknown around it lies with the background."""
        width = self._disparity.width
        assert self.given is not None
        self._result.disparity[:] = self._disparity.values[:, :width] = self.given
        kernels.fill_from_background(self._disparity, filled, crew)
        self._disparity.values[:, :width] = filled.values[:, PAD : PAD + width]

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        found = [kernel for labels in self.finer_labels for kernel in labels.kernels()]
        found += [kernels.fill_from_background, kernels.compare_candidates, kernels.choose_candidates]
        if self._takes_sides:
            found.append(kernels.take_sides)
        if self.refinement is not None:
            found += self.refinement.kernels()
        if self._settles_highlights:
            found.append(kernels.settle_highlights)
        if self._leaves_out:
            found.append(kernels.leave_out_beside_unknown)
        if self._fills:
            found.append(kernels.fill_unknown)
        return [*found, kernels.find_spans, kernels.write_detail, make_calls]


def covered_line(width: int, arena: Arena) -> CoveredLine:
    """Room for one thread to find out what is covered in a row of ``width`` px."""
    return CoveredLine(
        claims=arena.zeros((1, map_stride(width) + LANES), np.int32),
        is_covered=arena.zeros((1, map_stride(width)), np.uint8),
    )


def known_blocks(down: int, across: int, arena: Arena) -> KnownBlocks:
    """Room for what is known of a picture of so many blocks."""
    low, high, low_around, high_around, span, steps = (arena.zeros((down, across), np.float32) for _ in range(6))
    return KnownBlocks(
        low=low, high=high, low_around=low_around, high_around=high_around, range=span, steps=steps,
        slope=arena.zeros((1, 1), np.float32),
    )  # fmt: skip


def fill_line(width: int, arena: Arena) -> FillLine:
    """Room for one thread to fill a row of ``width`` px."""
    return FillLine(values=arena.zeros((2, map_stride(width) + LANES), np.float32))


def doubt_line(width: int, arena: Arena) -> DoubtLine:
    """Room for one thread to find the variance of a row of ``width`` px."""
    return DoubtLine(
        difference=arena.zeros((KEPT, map_stride(width)), np.float32),
        strength=arena.zeros((KEPT, map_stride(width)), np.float32),
        sums=arena.zeros((SUMS, map_stride(width) + 2 * LANES), np.float32),
        mismatch=arena.zeros((1, map_stride(width)), np.float32),
        size=arena.zeros((1, map_stride(width)), np.float32),
        variance=arena.zeros((1, map_stride(width)), np.float32),
    )
