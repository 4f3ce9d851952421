"""StereoMatcher: the paper's Figure 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .bands import Bands
from .config import Settings, settings_for
from .images import Image, check_pair
from .pyramid import PyramidBuilder
from .result import StereoResult
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
        self.settings: Settings = settings_for(preset, settings)
        self._bands = Bands(self.settings.threads)
        self._pyramid = PyramidBuilder(self.settings, self._bands)
        self._workspace: Workspace | None = None

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
        images = check_pair(left, right)
        work = self._workspace_for(*images[0].shape[:2])
        has_hidden = self._pyramid.build(work, images, (left_mask, right_mask))
        self._solve(work, has_hidden)
        disparity, probability = self._enlarge(work)
        if has_hidden:
            kernels.hide_unseen(work.seen[0], disparity, probability)
        return StereoResult(disparity, probability)

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

    def _solve(self, work: Workspace, has_hidden: bool) -> None:
        """Search, fuse and filter the levels, coarsest first.  With threads, each step in bands of rows."""
        if self.settings.threads == 1:
            kernels.solve_levels(
                work.table, work.numbers, has_hidden, work.spatial, work.scratch[0], work.runs, work.row_starts
            )
            return
        for k, level in enumerate(work.levels):
            self._bands.run(
                level.arrays.rows.shape[1],
                lambda band, begin, end: kernels.search_band(
                    work.table, work.numbers, k, has_hidden, work.spatial, work.scratch[band], begin, end
                ),
            )
            self._bands.run(
                level.height,
                lambda _, begin, end: kernels.fuse_band(work.table, work.numbers, k, begin, end),
            )
            kernels.filter_whole(work.table, work.numbers, k, work.runs, work.row_starts)

    def _enlarge(self, work: Workspace) -> tuple[Image, Image]:
        """Upsample the finest level to the image, one doubling at a time."""
        finest = work.levels[-1]
        source, width = (finest.arrays.disparity, finest.arrays.probability), finest.width
        shape = work.height, work.width
        out = np.empty(shape, np.float32), np.empty(shape, np.float32)
        steps = [*zip(work.enlarged, reversed(work.widths[: len(work.enlarged)])), (out, work.width)]
        for target, target_width in steps:
            self._bands.run(
                len(target[0]),
                lambda band, begin, end: kernels.upsample_rows(
                    *source, width, *target, target_width, work.blended[band], begin, end
                ),
            )
            source, width = target, target_width
        return out
