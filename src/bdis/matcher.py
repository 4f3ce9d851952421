"""StereoMatcher: the paper's Figure 1."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from . import kernels
from .config import Settings, settings_for
from .images import Plain, PlainReader, check_mask, check_pair
from .kernels.layout import PAD
from .result import StereoResult
from .workspace import LevelPlan, Workspace

_MIN_ROWS_PER_THREAD = 8


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
        self.settings: Settings = settings_for(preset, settings)
        self._reader = PlainReader()
        self._workspace: Workspace | None = None
        self._pool = ThreadPoolExecutor(self.settings.threads - 1) if self.settings.threads > 1 else None

    def match(self, left: Any, right: Any, *, left_mask: Any = None, right_mask: Any = None) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : (h, w) grey, (h, w, 3) RGB or (h, w, 4) RGBA, at least 32x32
            uint8, uint16, float32 or float64 (0..1, 0..255 or 0..65535).  Exactly black pixels count as not seen.
        left_mask, right_mask : (h, w) bool or integer, optional
            Nonzero where the camera saw something; joined with the black pixels.

        Returns
        -------
        StereoResult

        Raises
        ------
        ValueError
            Sizes, shapes or values that are not those of a rectified pair.
        TypeError
            Pixels of an unsupported type.
        """
        left, right = check_pair(left, right)
        work = self._workspace_for(left)
        has_hidden = self._build_pyramid(work, left, right, left_mask, right_mask)
        coarser = None
        for level in work.levels:
            self._search(work, level, coarser, has_hidden)
            self._fuse(work, level)
            self._filter(work, level)
            coarser = level
        disparity, probability = self._enlarge(work)
        if has_hidden:
            kernels.hide_unseen(work.seen[0], disparity, probability)
        return StereoResult(disparity, probability)

    def compute(self, left: Any, right: Any) -> np.ndarray:
        """Disparity as ``cv2.StereoMatcher.compute`` gives it: int16, 16ths of a px, (min_disparity - 1) * 16 = unknown.

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
        return np.rint(np.clip(fixed, -32768, 32767)).astype(np.int16)

    def _workspace_for(self, image: np.ndarray) -> Workspace:
        height, width = image.shape[:2]
        work = self._workspace
        if work is None or (work.height, work.width) != (height, width):
            work = self._workspace = Workspace(height, width, self.settings)
        return work

    def _build_pyramid(
        self, work: Workspace, left: np.ndarray, right: np.ndarray, left_mask: Any, right_mask: Any
    ) -> bool:
        """Fill the images of all levels; True if some pixel of either image was not seen."""
        finest = work.levels[-1]
        targets = [(below[0], below[1], below[2]) for below in work.below]
        targets += [(level.arrays.left, level.arrays.right, level.width) for level in reversed(work.levels)]
        plain = [self._reader.read(left, "left"), self._reader.read(right, "right")]
        full_scale = max(p.full_scale for p in plain)
        has_hidden = left_mask is not None or right_mask is not None
        for side, image in enumerate(plain):
            has_hidden |= self._first_halving(image, full_scale, targets[0][side])
            for finer, coarser in zip(targets, targets[1:]):
                kernels.halve_shorts(finer[side], finer[2], coarser[side])
        for level in work.levels:
            kernels.gradient(level.arrays.left, level.arrays.gradient)
        if has_hidden:
            self._mark_hidden(work, plain, (left_mask, right_mask))
        return has_hidden

    def _first_halving(self, image: Plain, full_scale: float, out: np.ndarray) -> bool:
        scale = self.settings.intensity_scale
        if image.pixels.dtype == np.uint8:
            halve = {1: kernels.halve_grey, 3: kernels.halve_rgb, 4: kernels.halve_rgba}[image.channels]
            shift = 6 if scale == 16 else 7
            return self._in_bands(len(out), lambda _, begin, end: halve(image.pixels, shift, out, begin, end))
        factor = 255.0 * scale / full_scale
        return self._in_bands(
            len(out), lambda _, begin, end: kernels.halve_floats(image.pixels, factor, out, begin, end)
        )

    def _mark_hidden(self, work: Workspace, plain: list[Plain], masks: tuple[Any, Any]) -> None:
        """Find the unseen pixels of both images and carry them down the pyramid."""
        for side, (image, mask) in enumerate(zip(plain, masks)):
            seen = work.seen[side]
            if mask is None:
                seen.fill(1)
            else:
                name = f"{('left', 'right')[side]}_mask"
                np.not_equal(check_mask(mask, name, seen.shape), 0, out=seen.view(bool))
            if image.pixels.dtype == np.uint8:
                kernels.mark_seen_bytes(image.pixels, image.channels, seen)
            else:
                kernels.mark_seen_floats(image.pixels, seen)
            finer, pad, width = seen, 0, work.width
            for coarser in work.seen_levels[side]:
                kernels.halve_seen(finer, pad, width, coarser)
                finer, pad, width = coarser, PAD, (width + 1) // 2
        for level in work.levels:
            kernels.usable(work.seen_levels[0][level.number - 1], True, level.arrays.usable_left)
            kernels.usable(work.seen_levels[1][level.number - 1], False, level.arrays.usable_right)

    def _search(self, work: Workspace, level: LevelPlan, coarser: LevelPlan | None, has_hidden: bool) -> None:
        parent = coarser or level
        self._in_bands(
            level.patch_rows,
            lambda thread, begin, end: kernels.search_rows(
                level.arrays, parent.arrays, level.width, coarser is None, has_hidden, level.search,
                work.spatial, work.scratch[thread], begin, end,
            ),
        )  # fmt: skip

    def _fuse(self, work: Workspace, level: LevelPlan) -> None:
        settings = self.settings
        if settings.fusion == "residual":
            self._in_bands(
                level.height,
                lambda _, begin, end: kernels.fuse_rows_by_residual(
                    level.arrays, settings.patch_size, settings.intensity_scale, begin, end
                ),
            )
            return
        threshold = settings.min_probability if level.number == settings.finest_level else 0.0
        self._in_bands(
            level.height,
            lambda _, begin, end: kernels.fuse_rows(
                level.arrays,
                level.row_weights,
                level.full_weight,
                level.covering,
                settings.min_support,
                threshold,
                begin,
                end,
            ),
        )

    def _filter(self, work: Workspace, level: LevelPlan) -> None:
        if level.min_segment > 1:
            kernels.remove_small_segments(
                level.arrays.disparity,
                level.arrays.probability,
                level.width,
                1.0,
                level.min_segment,
                work.runs,
                work.row_starts,
            )

    def _enlarge(self, work: Workspace) -> tuple[np.ndarray, np.ndarray]:
        """Upsample the finest level to the image, one doubling at a time."""
        finest = work.levels[-1]
        source, width = (finest.arrays.disparity, finest.arrays.probability), finest.width
        out = np.empty((work.height, work.width), np.float32), np.empty((work.height, work.width), np.float32)
        widths = [below[2] for below in reversed(work.below)] + [work.width]
        for target, target_width in zip([*work.enlarged, out], widths):
            self._in_bands(
                len(target[0]),
                lambda thread, begin, end: kernels.upsample_rows(
                    *source, width, *target, target_width, work.blended[thread], begin, end
                ),
            )
            source, width = target, target_width
        return out

    def _in_bands(self, rows: int, work: Callable[[int, int, int], Any]) -> bool:
        """Call ``work(thread, begin, end)`` over bands of rows, one per thread; True if any call returned True."""
        count = min(self.settings.threads, rows // _MIN_ROWS_PER_THREAD)
        if count <= 1 or self._pool is None:
            return bool(work(0, 0, rows))
        edges = [rows * k // count for k in range(count + 1)]
        others = [self._pool.submit(work, k, edges[k], edges[k + 1]) for k in range(1, count)]
        flags = [work(0, 0, edges[1])]
        return any([flags[0], *(other.result() for other in others)])
