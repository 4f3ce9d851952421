"""Are images raw or rectified already?  Told from their features, where a calibration could rectify them.

Nothing in an image file says whether it was rectified.  Taken for the wrong one of the two, every depth is wrong: by a
third, where cameras are turned towards each other.  But features of the scene lie in the same row of both images only
if these are rectified, so they are looked for once, and their rows are compared as they are and after rectification.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..common.arrays import Array
from ..matching.pictures import INEXACT_ROWS_PX
from .checks import UNRECTIFIED_PX
from .features import MIN_FEATURES, matched_features
from .rectifier import Rectifier, rectified_features
from .rig import Rig

Verdict = Literal["raw", "rectified", "alike", "unclear", "neither", "transposed"]

CLEARLY_SMALLER = 0.75  # ratio of row differences; rendered pairs with a little distortion alone have 0.5 to 0.7
MUCH_SMALLER = 0.4  # ratio of scatters if rows say the opposite; with a knock 0.1 to 0.3, in images of another size 0.5
CLEARLY_MORE = 4.0  # standard deviations by which the features of one opinion outnumber the others
SAME_DEPTH = 0.01  # a share: rectified or not, the depth is the same
# Ratio of the scatters with the rotation transposed and as it is.  Of 216 rendered pairs of cameras turned towards each
# other by .25 to 5 degrees, .02 to .6 where it is transposed by mistake, and more than 1.1 where it is not.
TRANSPOSED = 0.7
IN_FRONT = 0.9  # a share of the features; those of swapped images are not
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
    verdict : {"raw", "rectified", "alike", "unclear", "neither", "transposed"}
        What the images are: "alike" if it makes no difference to the depth, "neither" if rows differ in both cases, so
        that the calibration is not that of these images; "transposed" if they fit with the rotation between the cameras
        transposed, as if it led from right to left, and in no case better.
    transposed_px : float
        Median difference of the rows after rectification with that rotation, px; NaN with too few features.
    """

    features: int
    as_given_px: float
    rectified_px: float
    as_given_mm: float
    rectified_mm: float
    verdict: Verdict
    transposed_px: float = np.nan

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
        if self.verdict == "transposed":
            return (
                f"rows of {self.features} features differ by {self.rectified_px:.2f} px after rectification, by "
                f"{self.transposed_px:.2f} px with the transpose"
            )
        return (
            f"rows of {self.features} features differ by {self.as_given_px:.1f} px as they are, "
            f"by {self.rectified_px:.1f} px after rectification"
        )

    def about_rotation(self, name: str) -> str:
        """What to say of the calibration of this name if its rotation is transposed.

        Examples
        --------
        >>> RowEvidence(300, 0.4, 1.65, 31, 59, "transposed", 0.11).about_rotation("raw.yml").split(":")[0]
        'the rotation in raw.yml looks transposed'
        """
        return (
            f"the rotation in {name} looks transposed: {self.reason}; it must lead from left to right, so that a "
            "point x of the left camera is R x + T in the right one: transpose it, or the depth is wrong"
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
    transposed = _rows_transposed(before, after, rectifier)
    depths = [
        cameras.depth(np.asarray(places[:, 0] - others[:, 0], np.float32))
        for cameras, places, others in ((rig, before, after), (rectifier.rig, rectified_before, rectified_after))
    ]
    is_transposed = _fits_transposed(as_given, rectified, transposed)
    return RowEvidence(
        features=len(before),
        as_given_px=float(np.median(np.abs(as_given))),
        rectified_px=float(np.median(np.abs(rectified))),
        as_given_mm=_median(depths[0]),
        rectified_mm=_median(depths[1]),
        verdict="transposed" if is_transposed else _verdict(as_given, rectified, *depths),
        transposed_px=_median_size(transposed) if len(transposed) else np.nan,
    )


def _rows_transposed(before: Array, after: Array, rectifier: Rectifier) -> Array:
    """Row differences (n,) after rectification with the transposed rotation; empty if features are behind it then."""
    cameras = rectifier.cameras
    try:
        ours = replace(cameras, rotation=cameras.rotation.T)
        rectified_before, rectified_after, rig = rectified_features(ours, before, after)
    except ValueError:
        return np.empty(0)
    depth = rig.depth(np.asarray(rectified_before[:, 0] - rectified_after[:, 0], np.float32))
    if np.isfinite(depth).mean() < IN_FRONT:
        return np.empty(0)
    return np.asarray(rectified_before[:, 1] - rectified_after[:, 1])


def _fits_transposed(as_given: Array, rectified: Array, transposed: Array) -> bool:
    """Whether rows differ clearly less with the transposed rotation than with the rotation, nor more than as given."""
    if not len(transposed):
        return False
    given, ours, others = (np.abs(rows - np.median(rows)) for rows in (as_given, rectified, transposed))
    return bool(
        np.median(others) < TRANSPOSED * np.median(ours)
        and _is_clearly_smaller(others, ours)
        and np.median(others) <= np.median(given)
        and _median_size(transposed) <= UNRECTIFIED_PX
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
