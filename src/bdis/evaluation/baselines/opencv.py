"""OpenCV's matchers, set up as its documentation and its sample programs recommend.

Penalties are 8 and 32 times the channels (one: both images are grey) times the area of a block; uniqueness is in the
recommended range of 5 to 15 %, speckle windows in that of 50 to 200 px.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.optional import require
from ...matching.result import StereoResult
from .pair import GreyPair, check_max_disparity, finished, grey_pair

SGBM_BLOCK = 7
BM_BLOCK = 15  # without smoothing only a larger block is distinctive
UNIQUENESS = 10  # %
SPECKLE_WINDOW = 100  # px, smaller regions are removed
MODES = {"sgbm": "STEREO_SGBM_MODE_SGBM", "sgbm-3way": "STEREO_SGBM_MODE_SGBM_3WAY", "bm": None}
FLOW_PRESETS = {"medium": "DISOPTICAL_FLOW_PRESET_MEDIUM", "ultrafast": "DISOPTICAL_FLOW_PRESET_ULTRAFAST"}
FIXED_POINT = 16  # OpenCV's disparities are int16 in sixteenths of a pixel
MAX_RANGE_PX = 2000  # the largest disparity that fits that
DEFAULT_RANGE = 0.4  # of the image width, where no largest disparity is given
MAX_VERTICAL_PX = 1.0  # flow that leaves the common row offset by more has lost the surface

_CHECKS = (
    f"uniqueness {UNIQUENESS} %, left-right check 1 px, regions below {SPECKLE_WINDOW} px removed (1 px between "
    "neighbours), image padded so that the left margin is matched too"
)
SGBM_DETAILS = f"grey, P1 {8 * SGBM_BLOCK**2}, P2 {32 * SGBM_BLOCK**2}, {_CHECKS}"
BM_DETAILS = f"grey, {_CHECKS}"
FLOW_DETAILS = (
    f"grey, horizontal part of the flow; unknown where it is more than {MAX_VERTICAL_PX:g} px off the common row"
)


def disparity_count(max_disparity_px: float) -> int:
    """The number of disparities that OpenCV tries: multiples of 16.

    Examples
    --------
    >>> disparity_count(128), disparity_count(128.5)
    (128, 144)
    """
    return 16 * math.ceil(max_disparity_px / 16)


class _Kept:
    """Keeps OpenCV's object from one frame to the next, since it owns buffers; copies make their own."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": {}}


class OpenCVStereo(_Kept):
    """OpenCV's semi-global or block matcher.

    Parameters
    ----------
    kind : {"sgbm", "sgbm-3way", "bm"}
        Semi-global with five directions, with three (faster), or block matching.
    max_disparity : float or None
        px; None for two fifths of the width, since time and false matches grow with the range.
    whole_width : bool
        Pad the images, so that the left columns, for which not every disparity is inside the image, are matched too.
        OpenCV leaves them unknown otherwise.
    uniqueness : int
        %, by how much the best cost must win.

    Raises
    ------
    ImportError
        OpenCV is not installed; the message says how to install it.
    ValueError, TypeError
        An unknown kind, or ``max_disparity`` is not a number above 0.

    Examples
    --------
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = OpenCVStereo("sgbm", max_disparity=32).match(texture[:, :-4], texture[:, 4:])
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    """

    def __init__(
        self,
        kind: str = "sgbm",
        max_disparity: float | None = None,
        whole_width: bool = True,
        uniqueness: int = UNIQUENESS,
    ):
        if kind not in MODES:
            raise ValueError(f"unknown kind {kind!r}; there are {', '.join(MODES)}")
        super().__init__()
        self.kind, self.max_disparity, self.whole_width = kind, check_max_disparity(max_disparity), whole_width
        self.uniqueness = uniqueness
        _cv2()

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
            The images, at least 32x32.

        Returns
        -------
        StereoResult
            Probability is 1 where there is a disparity; variance is None.

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair; the message says why.
        """
        pair = grey_pair(left, right)
        fixed = self.run_opencv(pair.left, pair.right)
        disparity = np.where(fixed > 0, fixed / np.float32(FIXED_POINT), np.nan)
        return finished(disparity, pair, self._limit(pair.left.shape[1]))

    def run_opencv(self, left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int16]:
        """OpenCV's own work on a grey pair, without input checks and conversions: what speed comparisons time.

        Parameters
        ----------
        left, right : ndarray of uint8, shape (h, w)
            The images.

        Returns
        -------
        ndarray of int16, shape (h, w)
            Disparity in sixteenths of a pixel, 0 or less where unknown.
        """
        cv2, width = _cv2(), left.shape[1]
        count = disparity_count(self._limit(width))
        if count not in self._made:
            self._made = {count: self._matcher(cv2, count)}
        matcher = self._made[count]
        if not self.whole_width:
            return np.asarray(matcher.compute(left, right))
        # BM leaves out half a block on either side as well.  What matches within the padding is dropped afterwards.
        block = BM_BLOCK if self.kind == "bm" else SGBM_BLOCK
        padding = count + block // 2, block // 2
        padded = [cv2.copyMakeBorder(image, 0, 0, *padding, cv2.BORDER_REPLICATE) for image in (left, right)]
        return np.asarray(matcher.compute(*padded)[:, padding[0] : padding[0] + width])

    def _limit(self, width: int) -> float:
        """Largest disparity in an image of this width, px."""
        return min(self.max_disparity or DEFAULT_RANGE * width, width - 1, MAX_RANGE_PX)

    def _matcher(self, cv2: Any, count: int) -> Any:
        if self.kind == "bm":
            matcher = cv2.StereoBM.create(numDisparities=count, blockSize=BM_BLOCK)
            matcher.setUniquenessRatio(self.uniqueness)
            matcher.setSpeckleWindowSize(SPECKLE_WINDOW)
            matcher.setSpeckleRange(FIXED_POINT)  # 1 px: unlike SGBM's, this one is not multiplied by 16
            matcher.setDisp12MaxDiff(1)
            return matcher
        area = SGBM_BLOCK**2
        return cv2.StereoSGBM.create(
            minDisparity=0, numDisparities=count, blockSize=SGBM_BLOCK, P1=8 * area, P2=32 * area, disp12MaxDiff=1,
            uniquenessRatio=self.uniqueness, speckleWindowSize=SPECKLE_WINDOW, speckleRange=1,
            mode=getattr(cv2, str(MODES[self.kind])),
        )  # fmt: skip


class OpenCVFlow(_Kept):
    """OpenCV's dense inverse search (DIS) optical flow, its horizontal part taken as disparity.

    Parameters
    ----------
    max_disparity : float or None
        px; None for the image width.
    quality : {"medium", "ultrafast"}
        OpenCV's preset.

    Raises
    ------
    ImportError
        OpenCV is not installed; the message says how to install it.
    ValueError, TypeError
        An unknown quality, or ``max_disparity`` is not a number above 0.

    Examples
    --------
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = OpenCVFlow().match(texture[:, :-4], texture[:, 4:])
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    """

    def __init__(self, max_disparity: float | None = None, quality: str = "medium"):
        if quality not in FLOW_PRESETS:
            raise ValueError(f"unknown quality {quality!r}; there are {', '.join(FLOW_PRESETS)}")
        super().__init__()
        self.max_disparity, self.quality = check_max_disparity(max_disparity), quality
        _cv2()

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair; see :meth:`OpenCVStereo.match`."""
        pair = grey_pair(left, right)
        flow = self.run_opencv(pair.left, pair.right)
        disparity = np.where(_is_on_row(flow, pair), -flow[..., 0], np.float32(np.nan))
        return finished(disparity, pair, self.max_disparity or pair.left.shape[1])

    def run_opencv(self, left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float32]:
        """OpenCV's own work on a grey pair, without input checks and conversions: what speed comparisons time.

        Parameters
        ----------
        left, right : ndarray of uint8, shape (h, w)
            The images.

        Returns
        -------
        ndarray of float32, shape (h, w, 2)
            Flow in x and y, px.
        """
        if not self._made:
            cv2 = _cv2()
            self._made = {0: cv2.DISOpticalFlow.create(getattr(cv2, FLOW_PRESETS[self.quality]))}
        return np.asarray(self._made[0].calc(left, right, None))


def _is_on_row(flow: NDArray[np.float32], pair: GreyPair) -> NDArray[np.bool_]:
    """bool (h, w): the flow stays on its row, apart from the offset between the rows of the whole pair."""
    sample = flow[::4, ::4, 1][pair.seen[::4, ::4]]  # a sixteenth of the pixels is enough for a median
    offset = np.median(sample) if sample.size else np.float32(0)
    return np.asarray(np.abs(flow[..., 1] - offset) <= MAX_VERTICAL_PX)


def _cv2() -> Any:
    return require("cv2", "this matcher")
