"""StereoMatcher: the paper's Figure 1."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..vector.crew import Crew, Threads
from .images import check_pair, check_previous
from .result import StereoResult
from .settings import Settings, settings_for
from .stages import Stages


class StereoMatcher:
    """Dense disparity of a rectified stereo pair, with a probability for every pixel.

    Parameters
    ----------
    preset : name in ``bdis.PRESETS``
    **settings : any field of ``bdis.Settings`` to replace

    Examples
    --------
    >>> import numpy as np, bdis
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> left, right = texture[:, :-4], texture[:, 4:]
    >>> result = bdis.StereoMatcher("fast").match(left, right)
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    """

    def __init__(self, preset: str = "balanced", **settings: Any):
        self._prepare(settings_for(preset, settings))

    def _prepare(self, settings: Settings) -> None:
        self.settings = settings
        self._threads = Threads(settings.threads)
        self._stages: Stages | None = None
        self._busy = threading.Lock()

    def __getstate__(self) -> Settings:
        """A copy gets its own workspace and threads: kernels know arrays by their address."""
        return self.settings

    def __setstate__(self, settings: Settings) -> None:
        self._prepare(settings)

    def match(
        self,
        left: Any,
        right: Any,
        *,
        left_mask: Any = None,
        right_mask: Any = None,
        previous: StereoResult | None = None,
    ) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : (h, w) grey, (h, w, 3) RGB or (h, w, 4) RGBA, at least 32x32
            uint8, uint16, float32 or float64 (0..1, 0..255 or 0..65535).  Exactly black pixels count as not seen.
        left_mask, right_mask : (h, w) bool or integer, optional
            Nonzero where the camera saw something; joined with the black pixels.
        previous : result of the frame before, optional
            Video: takes less time and flickers less.  Where the picture has moved or changed it counts for nothing.
            Without a surface (``smoothing=0``) it is not used.

        Returns
        -------
        StereoResult

        Raises
        ------
        ValueError
            Sizes, shapes or values that are not those of a rectified pair.
        TypeError
            Pixels of an unsupported type.
        RuntimeError
            This matcher is at work in another thread.
        """
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("this matcher is busy in another thread; use one matcher per thread")
        try:
            return self._match(left, right, (left_mask, right_mask), previous)
        finally:
            self._busy.release()

    def _match(self, left: Any, right: Any, masks: tuple[Any, Any], previous: StereoResult | None) -> StereoResult:
        images = check_pair(left, right)
        if previous is not None:
            check_previous(previous, images[0])
        stages = self._stages_for(*images[0].shape[:2])
        stages.pyramid.read(images, masks)
        stages.bring_back(previous)
        arrays = stages.enlarge.new_result()
        try:
            self._threads.run(lambda crew: _solve(stages, crew))
        finally:
            stages.release()
        return stages.result(arrays, is_video=previous is not None)

    def compute(self, left: Any, right: Any) -> NDArray[np.int16]:
        """Disparity as ``cv2.StereoMatcher.compute`` gives it.

        Returns
        -------
        int16 (height, width), 16ths of a px; (min_disparity - 1) * 16 = unknown

        Examples
        --------
        >>> import numpy as np, bdis
        >>> black = np.zeros((48, 64), np.uint8)
        >>> int(bdis.StereoMatcher().compute(black, black).max())
        -16
        """
        disparity = self.match(left, right).disparity
        unknown = (int(np.floor(self.settings.min_disparity)) - 1) * 16
        fixed = np.nan_to_num(disparity * np.float32(16), nan=unknown)
        return np.asarray(np.rint(np.clip(fixed, -32768, 32767)), np.int16)

    def _stages_for(self, height: int, width: int) -> Stages:
        """Buffers are made once per image size."""
        if self._stages is None or self._stages.size != (height, width):
            self._stages = Stages(height, width, self.settings)
        return self._stages


def _solve(stages: Stages, crew: Crew) -> None:
    """The paper's Figure 1, and what goes beyond it.  Every thread runs this on its own share of the rows."""
    has_hidden = stages.pyramid.run(crew)  # levels by 2x2 means, and which pixels were seen
    if stages.start:
        stages.start.run(has_hidden, crew)  # beyond the paper: all disparities tried on the coarsest level
    for level in stages.levels_to_search(crew):  # coarse to fine
        level.search.run(has_hidden, crew)  # III-A and III-B: LK search of every patch, and its posterior
        level.fusion.run(crew)  # III-C and III-D: from patches to pixels, with what coarser levels say
        level.filter.run(crew)  # III-F: small segments are removed
    if stages.surface:
        stages.surface.run(has_hidden, crew)  # beyond the paper: a surface, and a second search along it
    for certainty in stages.certainty:
        certainty.run(has_hidden, crew)  # III-E, or the calibrated variance and probability
    stages.enlarge.run(has_hidden, crew)  # to the size of the image
