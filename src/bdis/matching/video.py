"""Video: where the picture stands still, disparities are averaged with those of the frame before (beyond the paper)."""

from dataclasses import replace

import numpy as np

from ..vector.cache import prepare
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import PAD, Maps
from .kernels.pyramid import Image
from .kernels.video import BLOCK, FrameChange, PreviousDisparity
from .memory import Arena
from .result import FrameMemory, StereoResult
from .settings import Settings


class VideoAverage:
    """Draws the result of a frame toward that of the frame before.

    Parameters
    ----------
    left : Image
        Left image of level 1.
    result : Maps
        The result, at the size of the image.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.
    """

    def __init__(self, left: Image, result: Maps, settings: Settings, arena: Arena):
        self._left, self._result = left, result
        self._settings = replace(settings, threads=1)  # their number does not change the result
        self._before = Image(pixels=arena.zeros(left.pixels.shape, np.int16), width=left.width)
        shape = left.pixels.shape[0] // BLOCK, left.width // BLOCK
        flags, before, trust = (arena.zeros(shape, kind) for kind in (np.uint8, np.float32, np.float32))
        self._change = FrameChange(flags=flags, before=before, trust=trust, grey=float(settings.intensity_scale))
        self._previous = PreviousDisparity(values=np.zeros((1, 1), np.float32))
        self._is_there = False

    def begin(self, previous: StereoResult | None) -> None:
        """Take the result of the frame before, if there is one, made with the same settings."""
        memory = None if previous is None else previous.memory
        self._is_there = memory is not None and memory.settings == self._settings
        if previous is None or memory is None or not self._is_there:
            return
        pixels, width = self._before.pixels, self._left.width
        pixels[:, PAD : PAD + width] = memory.left
        pixels[:, PAD - 1], pixels[:, PAD + width] = memory.left[:, 0], memory.left[:, -1]  # for the gradient
        self._change.before[:] = memory.trust
        disparity = np.asarray(previous.disparity, np.float32)
        if disparity.strides[1] != disparity.itemsize:
            disparity = np.ascontiguousarray(disparity)
        self._previous.update(values=disparity)

    def run(self, crew: Crew) -> None:
        """Compare both frames, and draw the result toward the one before."""
        if not self._is_there:
            self._change.trust.fill(0)
            return
        prepare([kernels.compare_frames, kernels.draw_to_previous])
        kernels.compare_frames(self._left, self._before, self._change, crew)
        kernels.draw_to_previous(self._result, self._previous, self._change, crew)

    def release(self) -> None:
        """Let go of the result of the frame before."""
        self._previous.release()

    def memory(self) -> FrameMemory:
        """What the next frame needs of this one."""
        width = self._left.width
        return FrameMemory(self._left.pixels[:, PAD : PAD + width].copy(), self._change.trust.copy(), self._settings)
