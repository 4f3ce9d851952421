"""OpenCV's matchers, set up as their documentation and common practice recommend."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.optional import require
from ...matching.result import StereoResult
from .pair import check_max_disparity, finished, grey_pair

SGBM_BLOCK = 7
BM_BLOCK = 15  # without smoothing only a larger block tells places apart
MODES = {"sgbm": "STEREO_SGBM_MODE_SGBM", "sgbm-3way": "STEREO_SGBM_MODE_SGBM_3WAY", "bm": None}
FIXED_POINT = 16  # OpenCV's disparities are int16 in sixteenths of a pixel
MAX_RANGE_PX = 2000  # what fits that
MAX_VERTICAL_PX = 1.0  # a flow free to leave its row that does so by more than others do has lost the surface


class OpenCVStereo:
    """OpenCV's semi-global or block matcher.

    Parameters
    ----------
    kind : "sgbm" (five directions), "sgbm-3way" (three, faster) or "bm" (blocks)
    max_disparity : px; None: two fifths of the width, since time and false matches grow with the range

    Raises
    ------
    ImportError
        OpenCV is missing; the message says how to get it.
    ValueError, TypeError
        An unknown kind, or ``max_disparity`` is not a number above 0.

    Examples
    --------
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = OpenCVStereo("sgbm", max_disparity=32).match(texture[:, :-4], texture[:, 4:])
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    """

    def __init__(self, kind: str = "sgbm", max_disparity: float | None = None):
        if kind not in MODES:
            raise ValueError(f"unknown kind {kind!r}; there are {', '.join(MODES)}")
        self.kind, self.max_disparity = kind, check_max_disparity(max_disparity)
        _cv2()

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : (h, w) grey, (h, w, 3) RGB or (h, w, 4) RGBA; uint8, uint16, float32 or float64

        Returns
        -------
        StereoResult
            Probability is 1 where there is a disparity, variance None.

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair; the message says why.
        """
        cv2, pair = _cv2(), grey_pair(left, right)
        width = pair.left.shape[1]
        limit = min(self.max_disparity or 0.4 * width, width - 1, MAX_RANGE_PX)
        count = int(limit // 16 + 1) * 16  # OpenCV takes multiples of 16
        # OpenCV leaves out the left columns for which not every disparity is inside the image, and BM half a block on
        # either side.  Columns added there keep the whole width; what matches within them is dropped in the end.
        block = BM_BLOCK if self.kind == "bm" else SGBM_BLOCK
        added = count + block // 2, block // 2
        wide = [cv2.copyMakeBorder(image, 0, 0, *added, cv2.BORDER_REPLICATE) for image in pair[:2]]
        fixed = self._matcher(cv2, count).compute(*wide)[:, added[0] : added[0] + width]
        return finished(np.where(fixed > 0, fixed / np.float32(FIXED_POINT), np.nan), pair, limit)

    def _matcher(self, cv2: Any, count: int) -> Any:
        if self.kind == "bm":
            matcher = cv2.StereoBM.create(numDisparities=count, blockSize=BM_BLOCK)
            matcher.setUniquenessRatio(10)
            matcher.setSpeckleWindowSize(100)
            matcher.setSpeckleRange(FIXED_POINT)  # 1 px: this one is not multiplied by 16 as SGBM's is
            matcher.setDisp12MaxDiff(1)
            return matcher
        area = SGBM_BLOCK**2  # penalties as the documentation recommends for one channel
        return cv2.StereoSGBM.create(
            minDisparity=0, numDisparities=count, blockSize=SGBM_BLOCK, P1=8 * area, P2=32 * area, disp12MaxDiff=1,
            uniquenessRatio=10, speckleWindowSize=100, speckleRange=1, mode=getattr(cv2, str(MODES[self.kind])),
        )  # fmt: skip


class OpenCVFlow:
    """OpenCV's dense inverse search (DIS) optical flow, its horizontal part taken as disparity.

    Parameters
    ----------
    max_disparity : px; None: as far as the image goes

    Raises
    ------
    ImportError
        OpenCV is missing; the message says how to get it.
    ValueError, TypeError
        ``max_disparity`` is not a number above 0.

    Examples
    --------
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = OpenCVFlow().match(texture[:, :-4], texture[:, 4:])
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    """

    def __init__(self, max_disparity: float | None = None):
        self.max_disparity = check_max_disparity(max_disparity)
        _cv2()

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair; see :meth:`OpenCVStereo.match`."""
        cv2, pair = _cv2(), grey_pair(left, right)
        search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        flow: NDArray[np.float32] = search.calc(pair.left, pair.right, None)
        # What all rows are off by is the rig's fault and not the flow's; a sixteenth of the pixels tells it.
        sample = flow[::4, ::4, 1][pair.seen[::4, ::4]]
        usual = np.median(sample) if sample.size else np.float32(0)
        on_row = np.abs(flow[..., 1] - usual) <= MAX_VERTICAL_PX
        disparity = np.where(on_row, -flow[..., 0], np.float32(np.nan))
        return finished(disparity, pair, self.max_disparity or pair.left.shape[1])


def _cv2() -> Any:
    return require("cv2", "this matcher")
