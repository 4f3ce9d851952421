"""Fill a workspace's pyramid from a pair of images."""

from typing import Any

import numpy as np

from . import kernels
from .bands import Bands
from .config import Settings
from .images import Image, Plain, PlainReader, check_mask
from .kernels.layout import PAD
from .workspace import Workspace

_SIDES = "left", "right"
_HALVE = {1: kernels.halve_grey, 3: kernels.halve_rgb, 4: kernels.halve_rgba}


class PyramidBuilder:
    """2x2 means down to the coarsest level, and which pixels the cameras saw."""

    def __init__(self, settings: Settings, bands: Bands):
        self._scale = settings.intensity_scale
        self._bands = bands
        self._reader = PlainReader()

    def build(self, work: Workspace, images: tuple[Image, Image], masks: tuple[Any, Any]) -> bool:
        """Fill the images of all levels; True if some pixel of either image was not seen."""
        plain = [self._reader.read(image, name) for image, name in zip(images, _SIDES)]
        full_scale = max(image.full_scale for image in plain)
        hidden = any(mask is not None for mask in masks)
        for side, image in enumerate(plain):
            hidden |= self._first_halving(image, full_scale, work.images[side][0])
        kernels.finish_pyramid(work.images_table, work.table, 0, 2)
        if hidden:
            self._mark_seen(work, plain, masks)
        return hidden

    def _first_halving(self, image: Plain, full_scale: float, out: Image) -> bool:
        """From the image to level 1, in integers; True if a pixel is black."""
        if image.channels:
            halve, shift = _HALVE[image.channels], 6 if self._scale == 16 else 7
            return self._bands.run(len(out), lambda _, begin, end: halve(image.pixels, shift, out, begin, end))
        factor = 255.0 * self._scale / full_scale
        return self._bands.run(
            len(out), lambda _, begin, end: kernels.halve_floats(image.pixels, factor, out, begin, end)
        )

    def _mark_seen(self, work: Workspace, plain: list[Plain], masks: tuple[Any, Any]) -> None:
        """Find the unseen pixels of both images and carry them down the pyramid."""
        for side, (image, mask) in enumerate(zip(plain, masks)):
            finer = work.seen[side]
            if mask is None:
                finer.fill(1)
            else:
                np.not_equal(check_mask(mask, f"{_SIDES[side]}_mask", finer.shape), 0, out=finer.view(bool))
            if image.channels:
                kernels.mark_seen_bytes(image.pixels, image.channels, finer)
            else:
                kernels.mark_seen_floats(image.pixels, finer)
            pad, width = 0, work.width
            for coarser, coarser_width in zip(work.seen_levels[side], work.widths):
                kernels.halve_seen(finer, pad, width, coarser)
                finer, pad, width = coarser, PAD, coarser_width
        for level in work.levels:
            kernels.usable(work.seen_levels[0][level.number - 1], True, level.arrays.usable_left)
            kernels.usable(work.seen_levels[1][level.number - 1], False, level.arrays.usable_right)
