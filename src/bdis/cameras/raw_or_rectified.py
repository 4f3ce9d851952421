"""Are images raw or rectified already?  Told from their features, where a calibration could rectify them.

Nothing in an image file says whether it was rectified.  Taken for the wrong one of the two, every depth is wrong: by a
third, where cameras are turned towards each other.  But features of the scene lie in the same row of both images only
if these are rectified, so they are looked for once, and their rows are compared as they are and after rectification.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..common.arrays import Array
from ..matching.pictures import INEXACT_ROWS_PX
from .checks import UNRECTIFIED_PX
from .features import MIN_FEATURES, matched_features
from .rectifier import Rectifier
from .rig import Rig

Verdict = Literal["raw", "rectified", "alike", "unclear", "neither"]

CLEARLY_SMALLER = 0.75  # ratio of row differences; rendered pairs with a little distortion alone have 0.5 to 0.7
MUCH_SMALLER = 0.4  # ratio of scatters if rows say the opposite; with a knock 0.1 to 0.3, in images of another size 0.5
CLEARLY_MORE = 4.0  # standard deviations by which the features of one opinion outnumber the others
SAME_DEPTH = 0.01  # a share: rectified or not, the depth is the same
KNOCK_PX = 2.0  # by which a calibration may have aged in all rows
MAX_PAIRS = 8  # of a video that are looked at before there is no verdict


@dataclass(frozen=True)
class RowEvidence:
    """What the rows of features say of a pair, or of several frames of one video.

    Attributes
    ----------
    features : int
        Found in both images.
    as_given_px, rectified_px : float
        Median difference between the rows of a feature in left and right, in the images as they are and after
        rectification, px; NaN with too few features.
    as_given_mm, rectified_mm : float
        Median depth of the features in either case, mm; NaN if none is in front of the cameras.
    verdict : {"raw", "rectified", "alike", "unclear", "neither"}
        What the images are: "alike" if it makes no difference to the depth, "neither" if rows differ in both cases, so
        that the calibration is not that of these images.
    """

    features: int
    as_given_px: float
    rectified_px: float
    as_given_mm: float
    rectified_mm: float
    verdict: Verdict

    @property
    def reason(self) -> str:
        """The evidence in words.

        Examples
        --------
        >>> RowEvidence(300, 0.12, 5.6, 58.1, 69.9, "rectified").reason
        'rows of 300 features differ by 0.1 px as they are, by 5.6 px after rectification'
        """
        if self.features < MIN_FEATURES:
            return f"only {self.features} features are found in both images"
        return (
            f"rows of {self.features} features differ by {self.as_given_px:.1f} px as they are, "
            f"by {self.rectified_px:.1f} px after rectification"
        )


def weigh_rows(pairs: Iterable[tuple[Array, Array]], rectifier: Rectifier, rig: Rig | None = None) -> RowEvidence:
    """Tell raw images from rectified ones.

    Parameters
    ----------
    pairs : iterable of pairs of ndarray
        Images of the cameras; of a video further frames, which are taken only as long as there is no verdict.
    rectifier : Rectifier
        Of the cameras, if they are raw.
    rig : Rig, optional
        The cameras, if the images are rectified.  Default: that of the rectifier.

    Returns
    -------
    RowEvidence

    Raises
    ------
    ImportError
        OpenCV is not installed.

    Examples
    --------
    >>> from bdis import StereoCalibration
    >>> from bdis.synthetic.renderer import render
    >>> k = np.array([[300, 0, 159.5], [0, 300, 119.5], [0, 0, 1]])
    >>> verged = np.array([[0.999, 0, 0.04471], [0, 1, 0], [-0.04471, 0, 0.999]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), verged, [-5, 0, 0], size=(320, 240))
    >>> pair = render("tissue", 240, 320)
    >>> weigh_rows([(pair.left, pair.right)], cameras.rectify()).verdict
    'rectified'
    """
    before, after = np.empty((0, 2)), np.empty((0, 2))
    evidence = _weigh(before, after, rectifier, rig or rectifier.rig)
    for count, (left, right) in enumerate(pairs, 1):
        found = matched_features(left, right)
        before, after = np.concatenate([before, found[0]]), np.concatenate([after, found[1]])
        evidence = _weigh(before, after, rectifier, rig or rectifier.rig)
        if evidence.verdict != "unclear" or count == MAX_PAIRS:
            break
    return evidence


def _weigh(before: Array, after: Array, rectifier: Rectifier, rig: Rig) -> RowEvidence:
    """The evidence of features at ``before`` in the left images and ``after`` in the right ones, (n, 2) each."""
    if len(before) < MIN_FEATURES:
        return RowEvidence(len(before), np.nan, np.nan, np.nan, np.nan, "unclear")
    rectified_before, rectified_after = rectifier.points(before, after)
    as_given, rectified = before[:, 1] - after[:, 1], rectified_before[:, 1] - rectified_after[:, 1]
    depths = [
        cameras.depth(np.asarray(places[:, 0] - others[:, 0], np.float32))
        for cameras, places, others in ((rig, before, after), (rectifier.rig, rectified_before, rectified_after))
    ]
    return RowEvidence(
        features=len(before),
        as_given_px=float(np.median(np.abs(as_given))),
        rectified_px=float(np.median(np.abs(rectified))),
        as_given_mm=_median(depths[0]),
        rectified_mm=_median(depths[1]),
        verdict=_verdict(as_given, rectified, *depths),
    )


def _median(depth: Array) -> float:
    known = depth[np.isfinite(depth)]
    return float(np.median(known)) if len(known) else np.nan


def _verdict(as_given: Array, rectified: Array, depth_as_given: Array, depth_rectified: Array) -> Verdict:
    in_front = np.isfinite(depth_as_given) & np.isfinite(depth_rectified)
    if in_front.mean() > 0.9:
        change = np.abs(depth_as_given - depth_rectified)[in_front] / depth_rectified[in_front]
        if np.percentile(change, 90) < SAME_DEPTH:
            return "alike"
    # After a knock all rows of a camera differ by a constant.  So the scatter of the rows decides, and the rows
    # themselves only where they differ by more than a knock explains.
    scatters = [rows - np.median(rows) for rows in (as_given, rectified)]
    rows_px, scatters_px = (
        {"rectified": _median_size(ours), "raw": _median_size(others)}
        for ours, others in ((as_given, rectified), scatters)
    )
    verdict = _smaller(*scatters)
    if verdict is None and abs(rows_px["rectified"] - rows_px["raw"]) > KNOCK_PX:
        verdict = _smaller(as_given, rectified)
    if verdict is None:
        return "unclear"
    other: Verdict = "raw" if verdict == "rectified" else "rectified"
    if rows_px[verdict] > rows_px[other] and scatters_px[verdict] > MUCH_SMALLER * scatters_px[other]:
        return "neither" if rows_px[other] > INEXACT_ROWS_PX else "unclear"  # scatter and rows contradict each other
    return verdict if rows_px[verdict] <= UNRECTIFIED_PX else "neither"


def _median_size(rows: Array) -> float:
    return float(np.median(np.abs(rows)))


def _smaller(as_given: Array, rectified: Array) -> Literal["rectified", "raw"] | None:
    """What row differences (n,) speak for; None if neither are clearly smaller than the others."""
    if _is_clearly_smaller(np.abs(as_given), np.abs(rectified)):
        return "rectified"
    return "raw" if _is_clearly_smaller(np.abs(rectified), np.abs(as_given)) else None


def _is_clearly_smaller(ours: Array, others: Array) -> bool:
    """Whether row differences (n,) are smaller than others of the same features, on median and for most of them."""
    outnumbering = 2 * np.sqrt(len(ours)) * (np.mean(ours < others) - 0.5)
    return bool(np.median(ours) < CLEARLY_SMALLER * np.median(others) and outnumbering > CLEARLY_MORE)
