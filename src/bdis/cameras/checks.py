"""Check on matched features whether a pair is rectified and its images are not swapped."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..matching.images import check_pair
from ..matching.pictures import INEXACT_ROWS_PX as INEXACT_PX
from ..matching.pictures import differing_rows
from ..matching.result import StereoResult
from .features import MIN_FEATURES, matched_features
from .row_trend import zoomed_or_turned

# Median difference between the rows of a feature in left and right.  In exactly rectified pairs it is 0.2 to 0.6 px.
UNRECTIFIED_PX = 2.5  # above this: the pair is not rectified
_AGREEMENT_PX = 3.0  # a feature and the result agree if their disparities differ by less


@dataclass(frozen=True)
class RectificationCheck:
    """Outcome of :func:`bdis.check_rectification`.

    Attributes
    ----------
    features : int
        Number of features matched between the images.
    vertical_px : float
        Median absolute difference between the rows of a feature in left and right, px; NaN with too few features.
    horizontal_px : float
        Median disparity of the features, px; NaN with too few features.
    agreement : float
        Share of the features whose disparity agrees with the result within 3 px, among those where the result has a
        disparity; NaN without a result.
    swapped : bool
        Whether left and right look swapped: the features have negative disparities, and the result does not have them.
    warnings : tuple of str
        Messages for the user; empty if nothing is wrong.

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
        """Whether the rows of the features agree; True if there are too few features to tell."""
        return not self.vertical_px > UNRECTIFIED_PX


def check_rectification(
    left: Any, right: Any, result: StereoResult | None = None, *, bgr: bool = False
) -> RectificationCheck:
    """Check on matched features whether a pair is rectified and its images are not swapped.

    Parameters
    ----------
    left, right : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA images, as for :meth:`bdis.StereoMatcher.match`.
    result : StereoResult, optional
        Result of a matcher for this pair.  It tells verged cameras, whose negative disparities the matcher found, from
        swapped images; and its own warnings come first.
    bgr : bool, optional
        The channels are in the order blue, green, red, as ``cv2.imread`` returns them.

    Returns
    -------
    RectificationCheck

    Raises
    ------
    ImportError
        OpenCV is not installed.
    ValueError
        The images differ in size or have an unsupported shape.
    TypeError
        The images differ in pixel type or have an unsupported one.

    Examples
    --------
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> check_rectification(pair.left, pair.right).warnings
    ()
    >>> check_rectification(pair.right, pair.left).swapped
    True
    """
    before, after = matched_features(*check_pair(left, right, bgr=bgr))
    said = () if result is None else result.warnings
    if len(before) < MIN_FEATURES:
        few = f"only {len(before)} features match between the images: whether they are a rectified pair is not known"
        return RectificationCheck(len(before), np.nan, np.nan, np.nan, False, (*said, few))
    shift = before[:, 0] - after[:, 0]
    vertical = float(np.median(np.abs(before[:, 1] - after[:, 1])))
    horizontal = float(np.median(shift))
    agreement = np.nan if result is None else _agreement(before, shift, result)
    swapped = bool(np.mean(shift < 0) > 0.8) and not agreement > 0.5
    warnings = list(said)
    corrected = "" if result is None else differing_rows(result)
    is_said = any("not look rectified" in text for text in said)
    if vertical > UNRECTIFIED_PX and not is_said:
        text = f"rows differ by {vertical:.1f} px on median: this pair does not look rectified"
        warnings = [text, *(each for each in warnings if each != corrected)]  # which says less
    elif not corrected and not is_said and (trend := zoomed_or_turned(before, after, np.shape(left))):
        warnings.append(trend)
    elif vertical > INEXACT_PX and not corrected and not is_said:
        warnings.append(f"rows differ by {vertical:.1f} px on median: the rectification is not exact")
    if swapped and not any("swapped" in text for text in said):
        warnings.append(
            f"features move by {horizontal:.1f} px on median: left and right look swapped "
            "(or the cameras are verged: set min_disparity below that)"
        )
    elif not swapped and vertical <= UNRECTIFIED_PX and agreement < 0.5:
        warnings.append(
            f"only {agreement:.0%} of the matched features agree with the disparity of the result; it is probably wrong"
        )
    return RectificationCheck(len(before), vertical, horizontal, agreement, swapped, tuple(warnings))


def _agreement(places: Array, shift: Array, result: StereoResult) -> float:
    """Share of the features whose shift agrees with the disparity of the result; 0 if the result has none there."""
    columns, rows = np.rint(places).astype(int).T
    disparity = result.disparity[rows, columns]
    known = np.isfinite(disparity)
    return float(np.mean(np.abs(disparity[known] - shift[known]) < _AGREEMENT_PX)) if known.any() else 0.0
