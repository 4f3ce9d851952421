"""StereoMatcher: the paper's Figure 1."""

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import certainty, kernels
from .bands import Bands
from .config import Settings, settings_for
from .images import Image, check_pair, check_previous
from .pyramid import PyramidBuilder
from .result import StereoResult
from .workspace import SurfacePlan, Workspace

Place = tuple[Image, int, int]  # barrier, band, number of bands
MIN_AGREEMENT = 0.8  # share of the picture that must be as in the frame before
WIDE_SMOOTHING = 1e4  # bonds of a surface that reaches a hundred pixels across holes


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

    def _match(
        self, left: Any, right: Any, masks: tuple[Any, Any], previous: StereoResult | None
    ) -> StereoResult:
        images = check_pair(left, right)
        if previous is not None:
            check_previous(previous, images[0])
        work = self._workspace_for(*images[0].shape[:2])
        plain = self._pyramid.read(images)
        has_hidden = any(mask is not None for mask in masks)
        if has_hidden:
            self._pyramid.mark_seen(work, plain, masks)
        results = work.result_arrays(3 if self.settings.variance else 2)
        before = self._memory_of(previous, work)

        def halve_and_solve(band: int) -> bool:
            is_black = self._pyramid.halve(plain, work, self._bands, band)
            return self._solve(band, work, is_black, has_hidden, before, results)

        if self._bands.run(halve_and_solve):
            has_hidden = True  # a pixel is black: not seen
            self._pyramid.mark_seen(work, plain, masks)
            self._bands.run(lambda band: self._solve(band, work, True, True, before, results))
        if has_hidden and not self.settings.dense:
            for known in results[::2]:  # disparity, and variance if there is one
                kernels.hide_unseen(work.seen[0], known, results[1])
        memory = self._memorise(work) if previous is not None and work.slanted else None
        return StereoResult(*results[:2], variance=results[2] if self.settings.variance else None, memory=memory)

    def _memory_of(self, previous: StereoResult | None, work: Workspace) -> bool:
        """Bring back the surface of the frame before; False if there is none, or one of other settings."""
        memory, surface = getattr(previous, "memory", None), work.surface
        if memory is None or surface is None or not work.slanted or len(work.levels) < 2 or self.settings.dense:
            return False
        height, width = len(surface.before), work.levels[-1].settings.width
        if memory.shape != (2, height, width):
            return False
        surface.before[:, :width], surface.density_before[:, :width] = memory
        return True

    def _memorise(self, work: Workspace) -> Image:
        """Surface and density for the next frame, float32 (2, height, width) of the finest level."""
        assert work.surface is not None
        height, width = len(work.surface.before), work.levels[-1].settings.width
        arrays = work.surface.arrays
        return np.stack([arrays.disparity[:height, :width], arrays.density[:height, :width]])

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
        self,
        band: int,
        work: Workspace,
        is_black: bool,
        has_hidden: bool,
        before: bool,
        results: list[Image],
    ) -> bool:
        """One band of rows from level 1 to the result; True if unseen pixels must be marked first."""
        place = self._bands.barrier, band, self._bands.count
        if kernels.prepare(work.images_table, work.level_table, is_black, has_hidden, *place):
            return True
        if work.start:
            self._try_all(work, has_hidden, place)
        first, finest = 1 if work.start else 0, len(work.levels) - 1
        self._search(work, first, finest, has_hidden, place)
        surface = work.surface
        recalled = before and self._recall(work, place)
        if not recalled:
            self._search(work, finest, finest + 1, has_hidden, place)
        if surface and surface.number > work.levels[-1].number:
            self._measure_scatter(work, surface, place)
        elif surface:
            self._fit_surface(work, surface, has_hidden, recalled, place)
        if self.settings.variance == "paper":
            last = len(work.table) - 1  # the finest level, or its slanted twin
            kernels.fuse_variance(
                work.table, work.numbers, last, work.spatial, 2.0 ** work.levels[-1].number, work.variance, *place
            )
        (disparity, probability), width = work.finest
        if self.settings.variance:
            self._enlarge(work, (work.variance, probability), width, results[:0:-1], place)
        self._enlarge(work, (disparity, probability), width, results[:2], place)
        return False

    def _try_all(self, work: Workspace, has_hidden: bool, place: Place) -> None:
        """Start: all disparities on the coarsest level."""
        start, level = work.start, work.levels[0]
        assert start is not None
        kernels.global_start(
            level.arrays.left, level.arrays.right, work.seen_levels[0][level.number - 1],
            work.seen_levels[1][level.number - 1], has_hidden, level.settings.width, start.largest, start.count,
            start.noise, start.probability, start.wide, start.sums, start.costs, start.path, start.totals,
            level.arrays.disparity, level.arrays.probability, *place,
        )  # fmt: skip

    def _search(self, work: Workspace, first: int, last: int, has_hidden: bool, place: Place) -> None:
        """Search, fuse and filter some levels."""
        scratch = work.scratch[place[1]]
        kernels.solve(
            work.table, work.numbers, first, last, has_hidden, work.spatial, scratch, work.runs, work.run_rows, *place
        )

    def _recall(self, work: Workspace, place: Place) -> bool:
        """Lay out the surface of the frame before, if the picture is still much the same."""
        surface, coarse, (barrier, band, bands) = work.surface, work.levels[-2], place
        assert surface is not None
        rows = self._bands.rows(band, len(surface.coarse_before))
        kernels.thin(surface.before, surface.coarse_before, coarse.settings.width, barrier, bands, *rows)
        # Every thread counts for itself: they must not part ways.
        if kernels.agreement(coarse.arrays.disparity, surface.coarse_before, coarse.settings.width) < MIN_AGREEMENT:
            return False
        rows = self._bands.rows(band, len(surface.before))
        kernels.recall(
            coarse.arrays.disparity, surface.coarse_before, surface.before, coarse.settings.width, surface.arrays,
            work.levels[-1].settings.width, barrier, bands, *rows,
        )  # fmt: skip
        return True

    def _fit_surface(
        self, work: Workspace, surface: SurfacePlan, has_hidden: bool, recalled: bool, place: Place
    ) -> None:
        """A smooth surface through the finest level, searched once more along it, and how sure each pixel is."""
        settings, level, (barrier, band, bands) = self.settings, work.levels[-1], place
        width, arrays, found = level.settings.width, surface.arrays, level.arrays.disparity
        left, line, rows = level.arrays.left, surface.lines[band], self._bands.rows(band, len(found))
        rounds, tolerance = settings.smoothing_rounds, settings.outlier_distance
        sharpness = 1 / (settings.smoothing_edge * settings.intensity_scale)
        strength = settings.smoothing or Settings.smoothing
        if settings.dense:
            kernels.bind(left, arrays, False, width, WIDE_SMOOTHING, 0.0, *place)
            kernels.smooth(found, False, arrays, line, width, 0, tolerance, False, *place)
            kernels.keep_wide(arrays, width, surface.wide, barrier, bands, *rows)
        kernels.bind(left, arrays, False, width, strength, sharpness, *place)
        if not recalled:
            last = not work.slanted
            kernels.smooth(found, False, arrays, line, width, rounds, tolerance, last, *place)
        if work.slanted:
            if settings.sharpening:
                kernels.sharpen(
                    level.arrays.gradient, level.arrays.right, surface.warped, arrays, line, width,
                    settings.intensity_scale, settings.sharpening, barrier, bands, *rows,
                )  # fmt: skip
                kernels.bind(left, arrays, True, width, strength, sharpness, *place)
            kernels.warp(
                level.arrays.right, level.arrays.usable_right, has_hidden, arrays, width, surface.warped,
                surface.usable, surface.density_before, not recalled, barrier, bands, *rows,
            )  # fmt: skip
            self._search(work, len(work.levels), len(work.levels) + 1, has_hidden, place)
            kernels.smooth(found, True, arrays, line, width, rounds, tolerance, True, *place)
        if recalled:
            kernels.settle(arrays, surface.before, width, barrier, bands, *rows)
        odds = certainty.ODDS_PER_PX2 * 2.0**level.number
        kernels.judge(
            arrays, surface.density_before, work.slanted is not None, found, settings.smoothing == 0, surface.wide,
            settings.dense, surface.usable, has_hidden and work.slanted is not None, width, surface.model,
            settings.min_probability, level.settings.min_disparity,
            level.settings.max_disparity, 2.0**level.number, found,
            level.arrays.probability, work.variance, barrier, bands, *rows,
        )  # fmt: skip
        if settings.min_island > 0 and not settings.dense:
            size = math.ceil(settings.min_island * width * len(found))
            kernels.remove_islands(work.table, len(work.levels) - 1, width, size, work.runs, work.run_rows, *place)
            if settings.variance:
                kernels.judge_scatter(found, work.variance, level.arrays.probability, width, odds, barrier, bands, *rows)

    def _measure_scatter(self, work: Workspace, surface: SurfacePlan, place: Place) -> None:
        """How far the disparities scatter about a surface through them, which is not used: on the level above."""
        settings, (barrier, band, bands), width = self.settings, place, surface.width
        (disparity, probability), finest_width = work.finest
        left = work.images[0][surface.number - 1]
        rows = self._bands.rows(band, len(surface.thinned))
        sharpness = 1 / (settings.smoothing_edge * settings.intensity_scale)
        kernels.thin(disparity, surface.thinned, width, barrier, bands, *rows)
        kernels.bind(left, surface.arrays, False, width, Settings.smoothing / 4, sharpness, *place)
        kernels.smooth(
            surface.thinned, False, surface.arrays, surface.lines[band], width, 0, 0.0, True, *place
        )
        kernels.judge(
            surface.arrays, surface.wide, False, surface.thinned, True, surface.wide, False, surface.usable, False, width,
            surface.model, 0.0,            -np.inf, np.inf, 2.0**surface.number, surface.thinned, surface.density_before, surface.variance, barrier, bands, *rows,
        )  # fmt: skip
        rows = self._bands.rows(band, len(disparity))
        kernels.upsample_rows(
            surface.variance, surface.density_before, width, work.variance, surface.spare, finest_width, False,
            barrier, bands, *rows,
        )  # fmt: skip
        odds = certainty.ODDS_PER_PX2 * 2.0 ** work.levels[-1].number
        kernels.judge_scatter(disparity, work.variance, probability, finest_width, odds, barrier, bands, *rows)

    def _enlarge(
        self, work: Workspace, maps: tuple[Image, Image], width: int, results: list[Image], place: Place
    ) -> None:
        """Two maps of the finest level, ``width`` px wide, at the size of the image; the first one doubles each time."""
        barrier, band, bands = place
        for target, target_width in work.enlarged:
            rows = self._bands.rows(band, len(target[0]))
            kernels.upsample_rows(*maps, width, *target, target_width, False, barrier, bands, *rows)
            maps, width = target, target_width
        rows = self._bands.rows(band, work.height)
        kernels.upsample_rows(*maps, width, *results, work.width, work.streaming, barrier, bands, *rows)
