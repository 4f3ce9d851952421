"""Does a pair look rectified, and is left really left?  Measured on matched features, told in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.optional import require
from ..matching.images import Image, check_pair
from ..matching.result import StereoResult
from .rig import as_rgb_bytes

INEXACT_PX = 1.0  # rows differ by more: worth a word; features of exact pairs differ by 0.2 to 0.6 px
UNRECTIFIED_PX = 2.5  # rows differ by more: not the work of a rectification
MIN_FEATURES = 20  # fewer say nothing
_SAME_PX = 3.0  # a feature and the result agree within this


@dataclass(frozen=True)
class RectificationCheck:
    """What matched features say about a pair.

    Attributes
    ----------
    features : number of features matched between the images
    vertical_px : median distance between the rows of a feature in left and right, px; NaN without features
    horizontal_px : median disparity of the features, px; NaN without features
    agreement : share of the features whose disparity the result has as well (within 3 px), where it has any; NaN
        without a result
    swapped : the features move the wrong way, and the result does not know them
    warnings : sentences for people; empty when all is well

    Examples
    --------
    >>> RectificationCheck(300, 3.2, 25.0, 0.7, False, ("rows differ",)).rectified
    False
    """

    features: int
    vertical_px: float
    horizontal_px: float
    agreement: float
    swapped: bool
    warnings: tuple[str, ...]

    @property
    def rectified(self) -> bool:
        """Whether the rows agree, as far as features can tell."""
        return not self.vertical_px > UNRECTIFIED_PX


def check_rectification(left: Any, right: Any, result: StereoResult | None = None) -> RectificationCheck:
    """Measure on matched features whether a pair is rectified and in the right order.

    Parameters
    ----------
    left, right : as for :meth:`bdis.StereoMatcher.match`
    result : what a matcher made of them; tells verged cameras (negative disparities it found) from swapped sides

    Returns
    -------
    RectificationCheck

    Raises
    ------
    ImportError
        OpenCV is not installed.
    ValueError, TypeError
        Images that are no pair.

    Examples
    --------
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> check_rectification(pair.left, pair.right).warnings
    ()
    >>> check_rectification(pair.right, pair.left).swapped
    True
    """
    images = check_pair(left, right)
    before, after = _matched_features(*(_grey_bytes(image) for image in images))
    if len(before) < MIN_FEATURES:
        few = f"only {len(before)} features match between the images: whether they are a rectified pair is not known"
        return RectificationCheck(len(before), np.nan, np.nan, np.nan, False, (few,))
    shift = before[:, 0] - after[:, 0]
    vertical = float(np.median(np.abs(before[:, 1] - after[:, 1])))
    horizontal = float(np.median(shift))
    agreement = np.nan if result is None else _agreement(before, shift, result)
    swapped = bool(np.mean(shift < 0) > 0.8) and not agreement > 0.5
    warnings = []
    if vertical > UNRECTIFIED_PX:
        warnings.append(f"rows differ by {vertical:.1f} px on median: this pair does not look rectified")
    elif vertical > INEXACT_PX:
        warnings.append(f"rows differ by {vertical:.1f} px on median: the rectification is not exact")
    if swapped:
        warnings.append(
            f"features move by {horizontal:.1f} px on median: left and right look swapped "
            "(or the cameras are verged: set min_disparity below that)"
        )
    elif vertical <= UNRECTIFIED_PX and agreement < 0.5:
        warnings.append(f"only {agreement:.0%} of the matched features have the disparity found: trust it little")
    return RectificationCheck(len(before), vertical, horizontal, agreement, swapped, tuple(warnings))


def _grey_bytes(image: Image) -> Image:
    rgb = as_rgb_bytes(image)
    return np.asarray(np.rint(rgb @ np.array([0.299, 0.587, 0.114])), np.uint8)


def _matched_features(left: Image, right: Image) -> tuple[Image, Image]:
    """Places (n, 2) of SIFT features in left and right that are each other's best match."""
    cv2 = require("cv2", "checking the rectification")
    finder = cv2.SIFT_create(nfeatures=2000, contrastThreshold=0.01)
    found = []
    for image in (left, right):
        # The edge of what the camera saw is no feature of the scene.
        seen = cv2.erode((image > 0).astype(np.uint8), np.ones((15, 15), np.uint8), borderValue=0)
        found.append(finder.detectAndCompute(image, seen))
    (left_points, left_words), (right_points, right_words) = found
    if left_words is None or right_words is None or len(left_words) < 2 or len(right_words) < 2:
        return np.empty((0, 2)), np.empty((0, 2))
    matcher = cv2.BFMatcher(cv2.NORM_L2)
    back = {pair[0].queryIdx: pair[0].trainIdx for pair in matcher.knnMatch(right_words, left_words, k=1)}
    pairs = [
        (left_points[best.queryIdx].pt, right_points[best.trainIdx].pt)
        for best, second in matcher.knnMatch(left_words, right_words, k=2)
        if best.distance < 0.75 * second.distance and back[best.trainIdx] == best.queryIdx
    ]
    before, after = np.array(pairs, float).reshape(-1, 2, 2).swapaxes(0, 1)
    return before, after


def _agreement(places: Image, shift: Image, result: StereoResult) -> float:
    """Share of the features whose shift is the result's disparity there; 0 if the result knows none of them."""
    columns, rows = np.rint(places).astype(int).T
    disparity = result.disparity[rows, columns]
    known = np.isfinite(disparity)
    return float(np.mean(np.abs(disparity[known] - shift[known]) < _SAME_PX)) if known.any() else 0.0
