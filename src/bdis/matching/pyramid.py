"""The image pyramid: levels of both images by 2x2 means, and which of their pixels the cameras saw."""

from typing import Any

import numpy as np

from ..common.arrays import Array
from ..vector.cache import Kernel, prepare
from ..vector.crew import Crew
from . import kernels
from .images import PixelReader, Pixels, check_mask
from .kernels.layout import PAD, image_stride
from .kernels.pyramid import ByteImage, FloatImage, Image, Seen, Views
from .levels import halved
from .memory import Arena

SIDES = "left", "right"
_HALVE = {1: kernels.halve_grey, 3: kernels.halve_rgb, 4: kernels.halve_rgba}
_MARK_SEEN = {1: kernels.mark_seen_grey, 3: kernels.mark_seen_rgb, 4: kernels.mark_seen_rgba}


class Pyramid:
    """Levels 1 to ``coarsest`` of a pair.

    Parameters
    ----------
    height, width : int
        px of the images.
    coarsest : int
        Last level.
    searched : range
        Levels on which patches are searched.
    intensity_scale : int
        Steps per 8-bit grey level.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    images : list of list of Image
        Left and right; each from level 1 on.
    seen : list of list of Seen
        Left and right; each from the image itself (level 0) on.
    views : dict of int to Views
        What the search reads, by level.
    """

    def __init__(self, height: int, width: int, coarsest: int, searched: range, intensity_scale: int, arena: Arena):
        self._scale = intensity_scale
        self._reader = PixelReader()
        sizes = [halved(height, width, n) for n in range(1, coarsest + 1)]
        self.images = [
            [Image(pixels=arena.zeros((h, image_stride(w)), np.int16), width=w) for h, w in sizes] for _ in SIDES
        ]
        self.seen = [
            [Seen(mask=arena.zeros((height, width), np.uint8), pad=0, width=width)]
            + [Seen(mask=arena.zeros((h, image_stride(w)), np.uint8), pad=PAD, width=w) for h, w in sizes]
            for _ in SIDES
        ]
        self._pairs = list(zip(*self.images))
        self.views = {n: self._views(n, arena) for n in searched}
        self._bytes = [ByteImage(pixels=np.zeros((1, 1), np.uint8)) for _ in SIDES]
        white = 255 * intensity_scale
        self._floats = [FloatImage(pixels=np.zeros((1, 1), np.float32), factor=1.0, white=white) for _ in SIDES]
        self._given: list[Pixels] = []
        self._masks: list[Array | None] = [None, None]

    def _views(self, number: int, arena: Arena) -> Views:
        left, right = (levels[number - 1] for levels in self.images)
        shape = left.pixels.shape
        return Views(
            left=left.pixels,
            gradient=arena.zeros(shape, np.int16),
            right=right.pixels,
            usable_left=arena.zeros(shape, np.uint8),
            usable_right=arena.zeros(shape, np.uint8),
            width=left.width,
        )

    def read(self, images: tuple[Array, Array], masks: tuple[Any, Any]) -> None:
        """Take a pair, checked, and what the user says was seen of it; before `run`."""
        self._given = [self._reader.read(image, name) for image, name in zip(images, SIDES)]
        self._masks = [
            None if mask is None else check_mask(mask, f"{name}_mask", images[0].shape[:2])
            for mask, name in zip(masks, SIDES)
        ]
        brightest = max(given.white for given in self._given)
        for side, given in enumerate(self._given):
            if given.channels:
                self._bytes[side].update(pixels=given.values)
            else:
                self._floats[side].update(pixels=given.values, factor=255 * self._scale / brightest)

    def release(self) -> None:
        """Let go of the pair."""
        for side, given in enumerate(self._given):
            (self._bytes if given.channels else self._floats)[side].release()
        self._given, self._masks = [], [None, None]

    def run(self, crew: Crew) -> bool:
        """Fill all levels; True if some pixels were not seen: masked, or exactly black."""
        is_black = self._halve_images(crew)
        if 1 in self.views:
            kernels.take_gradient(self.views[1], crew)
        for number, (finer, coarser) in enumerate(zip(self._pairs, self._pairs[1:]), 2):
            if number in self.views:
                kernels.halve_views(*finer, self.views[number], crew)
            else:
                kernels.halve_pair(*finer, *coarser, crew)
        has_hidden = is_black or any(mask is not None for mask in self._masks)
        if has_hidden:
            self._mark_seen()
        return has_hidden

    def _halve_images(self, crew: Crew) -> bool:
        """Level 1 of both images, in integers; True if a pixel is black."""
        is_black = False
        for side, given in enumerate(self._given):
            target = self.images[side][0]
            if given.channels:
                shift = 6 if self._scale == 16 else 7
                is_black |= _HALVE[given.channels](self._bytes[side], target, shift, crew)
            else:
                is_black |= kernels.halve_floats(self._floats[side], target, crew)
        return is_black

    def _mark_seen(self) -> None:
        """Find the unseen pixels of both images and carry them down the pyramid."""
        prepare(self._kernels_for_hidden())
        for side, (given, mask) in enumerate(zip(self._given, self._masks)):
            whole = self.seen[side][0]
            if mask is None:
                whole.mask.fill(1)
            else:
                np.not_equal(mask, 0, out=whole.mask.view(bool))
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
        has_unsearched = len(self._pairs) - 1 > len(self.views.keys() - {1})
        return [
            *(_HALVE[given.channels] if given.channels else kernels.halve_floats for given in self._given),
            *(self._kernels_for_hidden() if any(mask is not None for mask in self._masks) else []),
            *([kernels.take_gradient] if 1 in self.views else []),
            kernels.halve_views,
            *([kernels.halve_pair] if has_unsearched else []),
        ]
