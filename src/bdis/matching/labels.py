"""Sixteen disparities at every pixel of a level, between which neighbours agree (beyond the paper)."""

import math

import numpy as np

from ..vector.array_types import LANES
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import for_members
from . import kernels
from .kernels.label_images import LabelImages, LabelLine
from .kernels.labels import ABREAST, SLOT, LabelCosts, PaddedMap
from .kernels.layout import Map, Maps, image_stride, map_stride
from .kernels.pyramid import Image, Seen
from .memory import Arena, SharedMemory
from .settings import Settings

# What halving and doubling each of these does was measured: docs/constants.md.
STEP, JUMP = 192, 960  # cost of a change by one label, and by more: 48 and 240 of 144 differing bits
JUMP_EDGE = 8.0  # grey levels between two pixels that make a jump half as expensive
WIDEST = 32_000  # px of a level: places in it are int16


def empty_padded_map(like: Map, arena: Arena) -> PaddedMap:
    """Room to fill what is unknown in a map."""
    values = arena.zeros((len(like.values), image_stride(like.width)), np.float32)
    return PaddedMap(values=values, width=like.width)


class Labels:
    """One level.

    Parameters
    ----------
    images : list of Image
        Left and right image of the level.
    seen : list of Seen
        Which of their pixels were seen.
    coarser : Map
        Disparity of the coarser level, NaN = unknown.
    maps : Maps
        Where to write the disparity of this level, and what it counts for.
    number : int
        The level.
    weight : float
        Gamma of the level (Eq. 12).
    settings : Settings
        Of the matcher.
    shared : SharedMemory
        To work in.

    Attributes
    ----------
    number : int
        The level.
    maps : Maps
        Disparity of the level, NaN where only one camera sees, and what it counts for.
    found : Map
        The disparity alone.
    """

    def __init__(
        self, images: list[Image], seen: list[Seen], coarser: Map, maps: Maps, number: int, weight: float,
        settings: Settings, shared: SharedMemory,
    ):  # fmt: skip
        arena = shared.arena()
        (height, _), width = images[0].pixels.shape, images[0].width
        padded, mapped = (height, image_stride(width)), (height, map_stride(width))
        px, grey = 2**number, settings.intensity_scale
        difference = 2 * grey * settings.label_noise  # stored differences are of pixels two columns apart
        self._images = LabelImages(
            left=images[0].pixels, right=images[1].pixels, seen_left=seen[0].mask, seen_right=seen[1].mask,
            codes_left=arena.zeros(padded, np.int16), codes_right=arena.zeros(padded, np.int16),
            evidence=arena.zeros(mapped, np.int16), jump_right=arena.zeros(mapped, np.int16),
            jump_down=arena.zeros(mapped, np.int16), width=width, noise=25 * difference**2, step=STEP, jump=JUMP,
            edge=round(JUMP_EDGE * grey),
        )  # fmt: skip
        smallest, largest = _limits(width, px, settings)
        self._coarser, self._filled = coarser, empty_padded_map(coarser, arena)
        self._costs = LabelCosts(
            tops=arena.zeros(coarser.values.shape, np.int32), top=arena.zeros(mapped, np.int16),
            costs=arena.zeros((height * width, LANES), np.int16), totals=arena.zeros((height * width, LANES), np.int16),
            sums=arena.zeros((2 * width, LANES), np.int16),
            row_paths=arena.zeros((ABREAST * settings.threads, SLOT), np.int16),
            column_paths=arena.zeros((width, SLOT), np.int16),
            smallest=smallest, largest=largest, probability=weight / 2,
            chosen=arena.zeros(padded, np.float32), label=arena.zeros(mapped, np.int16),
            least=arena.zeros(mapped, np.int16),
            claims=arena.zeros((3 * settings.threads, map_stride(width)), np.int32),
        )  # fmt: skip
        self._line = for_members(
            [LabelLine(sums=arena.zeros((1, map_stride(width) + 2 * LANES), np.float32))
             for _ in range(settings.threads)]
        )  # fmt: skip
        self.number, self.maps, self.found = number, maps, Map(values=maps.disparity, width=width)

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill ``found``."""
        kernels.fill_from_background(self._coarser, self._filled, crew)
        kernels.offer_labels(self._filled, self._costs, crew)
        kernels.describe_images(self._images, has_hidden, self._line, crew)
        kernels.pass_along_rows(self._images, self._costs, has_hidden, crew)
        kernels.pass_along_columns(self._images, self._costs, crew)
        kernels.keep_what_both_see(self._images, self._costs, self.maps, has_hidden, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls."""
        return [
            kernels.fill_from_background, kernels.offer_labels, kernels.describe_images, kernels.pass_along_rows,
            kernels.pass_along_columns, kernels.keep_what_both_see,
        ]  # fmt: skip


def _limits(width: int, px: int, settings: Settings) -> tuple[int, int]:
    """Smallest and largest disparity, px of the level; what lies beyond the image is cut, so that they fit int16."""
    furthest = width + LANES
    smallest = math.floor(settings.min_disparity / px)
    largest = width if settings.max_disparity is None else math.ceil(settings.max_disparity / px)
    return min(max(smallest, -furthest), furthest), min(max(largest, -furthest), furthest)
