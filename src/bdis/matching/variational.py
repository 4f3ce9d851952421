"""Every pixel moves to where both images agree best, held by its neighbours (beyond the paper)."""

import numpy as np

from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from . import kernels
from .kernels.layout import Map, map_stride
from .kernels.pyramid import Image, Seen
from .kernels.relaxation import HALF_SWEEPS, SLOTS, work_stride
from .kernels.slopes import slopes_shape
from .kernels.spans import SPAN_ROWS, Spans
from .kernels.variational import FEW, RefinementLines, RefinementSettings, split_stride
from .memory import Arena
from .settings import Settings


class VariationalRefinement:
    """Refines a disparity map, pixel by pixel.

    Parameters
    ----------
    left, right : Image
        The images of the level.
    seen_left, seen_right : Seen
        Which of their pixels the cameras saw; read only if some were not.
    disparity : Map
        px of the level, to refine in place; pixels that are NaN stay NaN.
    spans : Spans
        Which columns of it matter; the rest is refined only as far as these need it.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    disparity : Map
        The same.
    """

    def __init__(
        self, left: Image, right: Image, seen_left: Seen, seen_right: Seen, disparity: Map, spans: Spans,
        settings: Settings, arena: Arena,
    ):  # fmt: skip
        height, width = len(left.pixels), left.width
        self._images, self._seen, self.disparity = (left, right), (seen_left, seen_right), disparity
        self._settings = RefinementSettings(
            rounds=settings.refinement_rounds,
            root=settings.refinement_smoothing**-0.5,
            grey=float(settings.intensity_scale),
            follows_slopes=settings.refinement_slopes,
            across=arena.zeros(slopes_shape(height, width), np.float32),
            down=arena.zeros(slopes_shape(height, width), np.float32),
            spans=spans.columns,
        )
        self._lines = for_members([_lines(width, arena) for _ in range(settings.threads)])

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Refine the map."""
        kernels.refine_disparity(
            *self._images, *self._seen, self.disparity, self._lines, self._settings, has_hidden, crew
        )

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [kernels.refine_disparity]


def _lines(width: int, arena: Arena) -> RefinementLines:
    """Rows in work for one thread."""
    words, few = -(-width // 32), (FEW, split_stride(width))
    return RefinementLines(
        work=arena.zeros((SLOTS, work_stride(width)), np.float32),
        given=arena.zeros(few, np.float32),
        residual=arena.zeros(few, np.float32),
        grey=arena.zeros(few, np.float32),
        seen=arena.zeros((2, words), np.int32),
        border=arena.zeros((2 * HALF_SWEEPS, map_stride(width)), np.float32),
    )


def whole_spans(height: int, width: int, arena: Arena) -> Spans:
    """Every column matters, until others are found."""
    columns = arena.zeros((-(-height // SPAN_ROWS), 2), np.int32)
    columns[:] = 0, width
    return Spans(columns=columns)
