"""Fill a workspace's pyramid from a pair of images."""

from typing import Any

import numpy as np

from . import kernels
from .bands import Band
from .images import Image, Plain, PlainReader, check_mask
from .kernels.layout import PAD
from .settings import Settings
from .workspace import Workspace

_SIDES = "left", "right"
_HALVE = {1: kernels.halve_grey, 3: kernels.halve_rgb, 4: kernels.halve_rgba}
_MARK_SEEN = {1: kernels.mark_seen_grey, 3: kernels.mark_seen_rgb, 4: kernels.mark_seen_rgba}


class PyramidBuilder:
    """Level 1 of a pair, and which pixels the cameras saw."""

    def __init__(self, settings: Settings):
        self._scale = settings.intensity_scale
        self._reader = PlainReader()

    def read(self, images: tuple[Image, Image]) -> list[Plain]:
        """The pair as the kernels want it, checked."""
        return [self._reader.read(image, name) for image, name in zip(images, _SIDES)]

    def halve(self, plain: list[Plain], work: Workspace, band: Band) -> bool:
        """Fill one band of level 1 of both images, in integers; True if a pixel there is black."""
        is_black = False
        for image, levels in zip(plain, work.images):
            begin, end = band.rows(len(levels[0]))
            if image.channels:
                shift = 6 if self._scale == 16 else 7
                is_black |= _HALVE[image.channels](image.pixels, shift, levels[0], begin, end)
            else:
                white = 255 * self._scale
                factor = white / max(plain[0].full_scale, plain[1].full_scale)
                is_black |= kernels.halve_floats(image.pixels, factor, white, levels[0], begin, end)
        return is_black

    def mark_seen(self, work: Workspace, plain: list[Plain], masks: tuple[Any, Any]) -> None:
        """Find the unseen pixels of both images and carry them down the pyramid."""
        for side, (image, mask) in enumerate(zip(plain, masks)):
            finer = work.seen[side]
            if mask is None:
                finer.fill(1)
            else:
                np.not_equal(check_mask(mask, f"{_SIDES[side]}_mask", finer.shape), 0, out=finer.view(bool))
            if image.channels:
                _MARK_SEEN[image.channels](image.pixels, finer)
            else:
                kernels.mark_seen_floats(image.pixels, finer)
            pad, width = 0, work.width
            for coarser, coarser_width in zip(work.seen_levels[side], work.widths):
                kernels.halve_seen(finer, pad, width, coarser)
                finer, pad, width = coarser, PAD, coarser_width
        for level in work.levels:
            kernels.usable(work.seen_levels[0][level.number - 1], True, level.arrays.usable_left)
            kernels.usable(work.seen_levels[1][level.number - 1], False, level.arrays.usable_right)
