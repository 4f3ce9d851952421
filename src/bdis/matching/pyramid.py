"""The image pyramid: levels of both images by 2x2 means, and which of their pixels the cameras saw."""

import math
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..vector.cache import Kernel, prepare
from ..vector.crew import Crew
from ..vector.records import address_of_uint8
from ..vector.repeated import Repeated, make_calls
from . import kernels
from .images import PixelReader, Pixels, check_mask, is_plain
from .kernels.layout import PAD, image_stride
from .kernels.pyramid import ByteImage, FloatImage, Image, Seen, Views
from .levels import halved
from .memory import Arena
from .picture_quality import Strips, rows_of_strips, strips_of
from .pictures import SHORT_SIDE_PX, SmallPair
from .settings import Settings

SIDES = "left", "right"
_COPY = {1: kernels.copy_grey, 3: kernels.copy_rgb, 4: kernels.copy_rgba}
_HALVE = {1: kernels.halve_grey, 3: kernels.halve_rgb, 4: kernels.halve_rgba}
_MARK_SEEN = {1: kernels.mark_seen_grey, 3: kernels.mark_seen_rgb, 4: kernels.mark_seen_rgba}


class Pyramid:
    """Levels of a pair; level 0 is the image itself in whole grey steps.

    Parameters
    ----------
    height, width : int
        px of the images.
    finest : int
        First level whose images are needed; a stage may need level 0 although it is not searched.
    coarsest : int
        Last level.
    searched : range
        Levels on which patches are searched.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    images : list of dict of int to Image
        Left and right, each by level: from ``finest`` on, and level 1 in any case, from which coarser ones are made.
    seen : list of list of Seen
        Left and right; each from level 0 on.
    views : dict of int to Views
        What the search reads, by level.
    bits : int or None
        Of the pixels of the present pair; None for floats within 0..1.
    """

    def __init__(
        self,
        height: int,
        width: int,
        finest: int,
        coarsest: int,
        searched: range,
        settings: Settings,
        arena: Arena,
    ):
        intensity_scale = settings.intensity_scale
        self._scale, self._settings = intensity_scale, settings
        self._reader = PixelReader()
        sizes = [halved(height, width, n) for n in range(max(coarsest, 1) + 1)]
        made = range(min(finest, 1), len(sizes))
        self.images = [{n: _empty_image(*sizes[n], arena) for n in made} for _ in SIDES]
        self.seen = [[_empty_seen(*size, arena) for size in sizes] for _ in SIDES]
        self._has_level_0 = 0 in self.images[0]
        self._halved = range(2, len(sizes))  # levels that are made from the one before
        self.views = {n: self._views(n, arena) for n in searched}
        # Levels that are made from the images as given and are searched: their gradient is taken apart.
        self._searched_of_given: list[int] = [number for number in (0, 1) if number in self.views]
        self._coarser_levels = Repeated()
        self._bytes = [ByteImage(pixels=np.zeros((1, 1), np.uint8)) for _ in SIDES]
        white = 255 * intensity_scale
        self._floats = [FloatImage(pixels=np.zeros((1, 1), np.float32), factor=1.0, white=white) for _ in SIDES]
        self._given: list[Pixels] = []
        self._taken: list[ByteImage] | list[FloatImage] = self._bytes  # those of the two that have the pair
        self._masks: list[Array | None] = [None, None]
        self.bits: int | None = None
        self._told_white: float | None = None
        self._is_float = False
        # Without a law of error nobody is told how sure a pixel is.
        has_law = settings.variance is True or settings.smoothing > 0
        self._strip_rows = rows_of_strips(height) if has_law else None
        self._strips: Strips | None = None
        self._colors: Array | None = None
        # The coarsest level that still shows what the pictures are.
        large = [n for n in self.images[0] if min(sizes[n]) >= SHORT_SIDE_PX]
        number = max(large, default=min(self.images[0]))
        self._small_level = number
        self._small = [image.pixels[:, PAD : PAD + image.width] for image in self._pair(number)]
        largest = math.inf if settings.max_disparity is None else settings.max_disparity
        self._small_facts = intensity_scale, 2**number, settings.min_disparity, largest

    def _views(self, number: int, arena: Arena) -> Views:
        left, right = self._pair(number)
        shape = left.pixels.shape
        return Views(
            left=left.pixels,
            gradient=arena.zeros(shape, np.int16),
            right=right.pixels,
            usable_left=arena.zeros(shape, np.uint8),
            usable_right=arena.zeros(shape, np.uint8),
            width=left.width,
        )

    def _pair(self, number: int) -> tuple[Image, Image]:
        """Left and right image of a level."""
        left, right = self.images
        return left[number], right[number]

    def read(self, images: tuple[Array, Array], masks: tuple[Any, Any]) -> None:
        """Take a pair, checked, and what the user says was seen of it; before `run`."""
        if is_plain(images[0]) and is_plain(images[1]):
            self._take_plain(*images)
        else:
            self._take(images)
        if self._strip_rows is not None:
            self._strips = strips_of(*images, self._strip_rows, max(given.white for given in self._given))
        self._masks = [None, None]
        if masks[0] is not None or masks[1] is not None:
            self._masks = [
                None if mask is None else check_mask(mask, f"{name}_mask", images[0].shape[:2])
                for mask, name in zip(masks, SIDES)
            ]

    def _take_plain(self, left: Array, right: Array) -> None:
        """As `_take`, with nothing to ask."""
        self._given = [Pixels(left, 1, 255.0), Pixels(right, 1, 255.0)]
        self.bits, self._told_white, self._is_float, self._colors = 8, None, False, None
        self._taken, address_of = self._bytes, address_of_uint8.function
        self._bytes[0].aim("pixels", left, address_of(left))
        self._bytes[1].aim("pixels", right, address_of(right))

    def _take(self, images: tuple[Array, Array]) -> None:
        """Hand the kernels a pair that they can read, with what was told from its pixels."""
        read, bits = self._reader.read, self._settings.bits
        self._given = [read(images[0], "left", bits), read(images[1], "right", bits)]
        brightest = max(self._given[0].white, self._given[1].white)
        self.bits = None if brightest == 1 else int(brightest).bit_length()
        is_told = bits is None and images[0].dtype != np.uint8 and brightest > 1
        self._told_white, self._is_float = brightest if is_told else None, images[0].dtype.kind == "f"
        self._colors = _some_colors(images[0], brightest)
        for given, as_bytes, as_floats in zip(self._given, self._bytes, self._floats):
            if given.channels:
                as_bytes.update(pixels=given.values)
            else:
                as_floats.update(pixels=given.values, factor=255 * self._scale / brightest)
        self._taken = self._bytes if self._given[0].channels else self._floats

    def release(self) -> None:
        """Let go of the pair."""
        for record in self._taken:
            record.release()
        self._given, self._masks = [], [None, None]

    def small_pair(self, moved: dict[int, tuple[float, float]]) -> SmallPair:
        """Copies of a coarse level, after `run`; ``moved`` are offset and tilt of rows by which levels are moved."""
        left, right = self._small
        by = moved.get(self._small_level, (0.0, 0.0))
        return SmallPair(
            left.copy(),
            right.copy(),
            *self._small_facts,
            self._colors,
            moved=by,
            told_white=self._told_white,
            is_float=self._is_float,
            strips=self._strips,
        )

    def run(self, crew: Crew) -> bool:
        """Fill all levels; True if some pixels were not seen: masked, or exactly black."""
        if self._has_level_0:
            self._copy_images(crew)
        is_black = self._halve_images(crew)
        self._coarser_levels.run(self._fill_coarser_levels, False, crew)
        has_hidden = is_black or self._masks[0] is not None or self._masks[1] is not None
        if has_hidden:
            self._mark_seen()
        return has_hidden

    def _copy_images(self, crew: Crew) -> None:
        """Level 0 of both images, in integers."""
        for side, given in enumerate(self._given):
            target = self.images[side][0]
            if given.channels:
                _COPY[given.channels](self._bytes[side], target, 4 if self._scale == 16 else 5, crew)
            else:
                kernels.copy_floats(self._floats[side], target, crew)

    def _halve_images(self, crew: Crew) -> bool:
        """Level 1 of both images, in integers; True if a pixel is black."""
        is_black = False
        for side, given in enumerate(self._given):
            target = self.images[side][1]
            if given.channels:
                shift = 6 if self._scale == 16 else 7
                is_black |= _HALVE[given.channels](self._bytes[side], target, shift, crew)
            else:
                is_black |= kernels.halve_floats(self._floats[side], target, crew)
        return is_black

    def _fill_coarser_levels(self, _has_hidden: bool, crew: Crew) -> None:
        """Those above level 1, and the gradients."""
        for number in self._searched_of_given:
            kernels.take_gradient(self.views[number], crew)
        for number in self._halved:
            if number in self.views:
                kernels.halve_views(*self._pair(number - 1), self.views[number], crew)
            else:
                kernels.halve_pair(*self._pair(number - 1), *self._pair(number), crew)

    def _mark_seen(self) -> None:
        """Find the unseen pixels of both images and carry them down the pyramid."""
        prepare(self._kernels_for_hidden())
        for side, (given, mask) in enumerate(zip(self._given, self._masks)):
            whole = self.seen[side][0]
            if mask is None:
                whole.mask.fill(1)
            else:
                inside = whole.mask[:, PAD : PAD + whole.width]
                np.not_equal(mask, 0, out=inside.view(bool))
            if given.channels:
                _MARK_SEEN[given.channels](self._bytes[side], whole)
            else:
                kernels.mark_seen_floats(self._floats[side], whole)
            for finer, coarser in zip(self.seen[side], self.seen[side][1:]):
                kernels.halve_seen(finer, coarser)
        for number, views in self.views.items():
            kernels.mark_usable(self.seen[0][number], self.seen[1][number], views)

    def _kernels_for_hidden(self) -> list[Kernel]:
        marks = [_MARK_SEEN[given.channels] if given.channels else kernels.mark_seen_floats for given in self._given]
        return [*marks, kernels.halve_seen, kernels.mark_usable, kernels.hide_unseen]

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` calls for the present pair; further ones if a pixel is black."""
        found: list[Kernel] = [address_of_uint8, make_calls]
        found += [_HALVE[given.channels] if given.channels else kernels.halve_floats for given in self._given]
        if self._has_level_0:
            found += [_COPY[given.channels] if given.channels else kernels.copy_floats for given in self._given]
        if any(mask is not None for mask in self._masks):
            found += self._kernels_for_hidden()
        if self._searched_of_given:
            found.append(kernels.take_gradient)
        return found + [kernels.halve_views if number in self.views else kernels.halve_pair for number in self._halved]


def _some_colors(image: Array, white: float) -> Array | None:
    """A few hundred pixels (n, 3) of an image, in 0 to 255; None if it is grey."""
    if image.ndim == 2:
        return None
    every = max(1, min(image.shape[:2]) // 16)
    colors = np.array(image[every // 2 :: every, every // 2 :: every, :3]).reshape(-1, 3)
    return colors if image.dtype == np.uint8 else colors * np.float32(255 / white)


def _empty_image(height: int, width: int, arena: Arena) -> Image:
    return Image(pixels=arena.zeros((height, image_stride(width)), np.int16), width=width)


def _empty_seen(height: int, width: int, arena: Arena) -> Seen:
    return Seen(mask=arena.zeros((height, image_stride(width)), np.uint8), width=width)
