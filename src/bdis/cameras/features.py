"""Points of the scene that are found in both images."""

import numpy as np

from ..common.arrays import Array
from ..common.optional import require
from .rgb import as_rgb_bytes

MIN_FEATURES = 20  # with fewer matches there is no verdict on a pair


def matched_features(left: Array, right: Array) -> tuple[Array, Array]:
    """Find SIFT features that are each other's best match, anywhere in the other image.

    Parameters
    ----------
    left, right : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4)
        A pair, rectified or not.

    Returns
    -------
    left, right : ndarray of float64, shape (n, 2)
        Column and row of each feature in px.

    Raises
    ------
    ImportError
        OpenCV is not installed.

    Examples
    --------
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> before, after = matched_features(pair.left, pair.right)
    >>> len(before) >= MIN_FEATURES, bool(np.median(np.abs(before - after)[:, 1]) < 0.5)
    (True, True)
    """
    cv2 = require("cv2", "checking the images")
    finder = cv2.SIFT_create(nfeatures=2000, contrastThreshold=0.01)
    found = []
    for image in (_grey_bytes(left), _grey_bytes(right)):
        # The edge of the black border is not a feature of the scene.
        seen = cv2.erode((image > 0).astype(np.uint8), np.ones((15, 15), np.uint8), borderValue=0)
        found.append(finder.detectAndCompute(image, seen))
    (left_points, left_descriptors), (right_points, right_descriptors) = found
    if left_descriptors is None or right_descriptors is None or len(left_descriptors) < 2 or len(right_descriptors) < 2:
        return np.empty((0, 2)), np.empty((0, 2))
    matcher = cv2.BFMatcher(cv2.NORM_L2)
    back = {pair[0].queryIdx: pair[0].trainIdx for pair in matcher.knnMatch(right_descriptors, left_descriptors, k=1)}
    pairs = [
        (left_points[best.queryIdx].pt, right_points[best.trainIdx].pt)
        for best, second in matcher.knnMatch(left_descriptors, right_descriptors, k=2)
        if best.distance < 0.75 * second.distance and back[best.trainIdx] == best.queryIdx
    ]
    before, after = np.array(pairs, float).reshape(-1, 2, 2).swapaxes(0, 1)
    return before, after


def _grey_bytes(image: Array) -> Array:
    """8-bit grey image."""
    rgb = as_rgb_bytes(image)
    return np.asarray(np.rint(rgb @ np.array([0.299, 0.587, 0.114])), np.uint8)
