"""StereoMatcher: the paper's Figure 1."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels, steps
from .bands import Band, Bands
from .images import Image, check_pair, check_previous
from .pyramid import PyramidBuilder
from .result import StereoResult
from .settings import Settings, settings_for
from .workspace import Workspace


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
        self._bands = Bands(self.settings.threads)
        self._pyramid = PyramidBuilder(self.settings)
        self._workspace: Workspace | None = None
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
        work = self._workspace_for(*images[0].shape[:2])
        plain = self._pyramid.read(images)
        has_hidden = any(mask is not None for mask in masks)
        if has_hidden:
            self._pyramid.mark_seen(work, plain, masks)
        results = work.result_arrays(3 if self.settings.variance else 2)
        remembers = steps.remember(work, previous)

        def halve_and_solve(band: Band) -> bool:
            is_black = self._pyramid.halve(plain, work, band)
            return self._solve(band, work, is_black, has_hidden, remembers, results)

        if self._bands.run(halve_and_solve):
            has_hidden = True  # a pixel is black: not seen
            self._pyramid.mark_seen(work, plain, masks)
            self._bands.run(lambda band: self._solve(band, work, True, True, remembers, results))
        if has_hidden and not self.settings.dense:
            for known in results[::2]:  # disparity, and variance if there is one
                kernels.hide_unseen(work.seen[0], known, results[1])
        variance = results[2] if self.settings.variance else None
        memory = steps.memorise(work) if previous is not None and work.slanted else None
        return StereoResult(results[0], results[1], variance, memory)

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

    def _workspace_for(self, height: int, width: int) -> Workspace:
        work = self._workspace
        if work is None or (work.height, work.width) != (height, width):
            work = self._workspace = Workspace(height, width, self.settings)
        return work

    def _solve(
        self, band: Band, work: Workspace, is_black: bool, has_hidden: bool, remembers: bool, results: list[Image]
    ) -> bool:
        """One band of rows from level 1 to the result; True if unseen pixels must be marked first."""
        settings, finest = self.settings, len(work.levels) - 1
        if kernels.prepare(work.images_table, work.level_table, is_black, has_hidden, *band):
            return True
        if work.start:
            steps.try_all(work, work.start, has_hidden, band)
        first = 1 if work.start else 0
        likeness = 0.0
        if remembers:
            steps.search(work, range(first, finest), has_hidden, band)
            likeness, first = steps.agreement(work, band), finest
        if likeness >= steps.MIN_AGREEMENT:
            steps.recall(work, band)
        else:
            steps.search(work, range(first, finest + 1), has_hidden, band)
        if work.surface and work.surface.number == settings.finest_level:
            steps.fit_surface(work, work.surface, settings, has_hidden, likeness, band)
        elif work.surface:
            steps.measure_scatter(work, work.surface, settings, band)
        if settings.variance == "paper":
            steps.fuse_variance(work, band)
        if settings.variance:
            steps.enlarge(work, work.variance, results[2], results[1], band)
        steps.enlarge(work, work.levels[-1].arrays.disparity, results[0], results[1], band)
        return False
