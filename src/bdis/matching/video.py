"""Video: where the picture stands still, disparities are averaged with those of the frame before (beyond the paper)."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..common.arrays import Array, size_text
from ..vector.cache import prepare
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import PAD, Maps
from .kernels.pyramid import Image
from .kernels.video import BLOCK, FrameChange, PreviousDisparity
from .memory import Arena
from .result import FrameMemory, StereoResult
from .rows import MAX_OFFSET, MAX_TILT
from .settings import Settings

TAMPERED = "give the result as StereoMatcher.match returned it, or leave it out"


def check_previous(previous: Any, left: Array) -> None:
    """Check what was given as the result of the frame before; its memory is left to `VideoAverage.begin`.

    Parameters
    ----------
    previous : StereoResult
        What was given.
    left : ndarray, shape (h, w) or (h, w, channels)
        The left image of this frame.

    Raises
    ------
    TypeError
        Something else than a result.
    ValueError
        A result of another size, or one that no match returns.

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> check_previous(StereoResult(one, one, row_tilt=np.nan), one)
    Traceback (most recent call last):
    ...
    ValueError: previous has row_offset 0.0 and row_tilt nan, which no match returns; give the result as ...
    """
    if not isinstance(previous, StereoResult):
        raise TypeError(f"previous must be the result of the frame before, but it is {type(previous).__name__}")
    disparity: Any = previous.disparity
    if not isinstance(disparity, np.ndarray) or disparity.dtype.kind != "f":
        kind = getattr(disparity, "dtype", type(disparity).__name__)
        raise TypeError(f"previous.disparity must be an array of float32, but it is {kind}; {TAMPERED}")
    if disparity.shape != left.shape[:2]:
        raise ValueError(
            f"the images are {size_text(left.shape)} but previous has shape {disparity.shape}; "
            "leave it out where the size changes"
        )
    offset, tilt = previous.row_offset, previous.row_tilt
    if not (abs(offset) <= MAX_OFFSET and abs(tilt) <= MAX_TILT):  # nor if one of them is NaN
        raise ValueError(f"previous has row_offset {offset} and row_tilt {tilt}, which no match returns; {TAMPERED}")


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
        """Take the result of the frame before, if there is one, made with the same settings.

        Raises
        ------
        ValueError
            Its memory is none that `memory` returned.
        """
        memory = None if previous is None else previous.memory
        self._is_there = memory is not None and memory.settings == self._settings
        if previous is None or memory is None or not self._is_there:
            return
        pixels, width, before = self._before.pixels, self._left.width, self._change.before
        _check_array(memory.left, "left", np.int16, (len(pixels), width))
        _check_array(memory.trust, "trust", np.float32, before.shape)
        pixels[:, PAD : PAD + width] = memory.left
        pixels[:, PAD - 1], pixels[:, PAD + width] = memory.left[:, 0], memory.left[:, -1]  # for the gradient
        before[:] = memory.trust
        if not (before.min(initial=1) >= 0 and before.max(initial=0) <= 1):  # nor if there is a NaN
            raise ValueError(f"previous.memory.trust must be 0 to 1 everywhere, but it is not; {TAMPERED}")
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


def _check_array(given: Any, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    """Check an array of the memory of a frame."""
    if not isinstance(given, np.ndarray) or given.dtype != dtype or given.shape != shape:
        found = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ValueError(
            f"previous.memory.{name} must be {np.dtype(dtype)} of shape {shape}, but it is {found}; {TAMPERED}"
        )
