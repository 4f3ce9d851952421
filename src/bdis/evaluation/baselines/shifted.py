"""Verged cameras for matchers that know only disparities above 0."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ...common.arrays import Array
from ...matching.images import check_pair
from ...matching.result import StereoResult


class _Matcher(Protocol):
    def match(self, left: Any, right: Any) -> StereoResult:
        """Disparity of the left image."""


class Shifted:
    """Any matcher, with disparities below 0 as well: columns nobody saw are put before the left image.

    Parameters
    ----------
    matcher : object with ``match(left, right)``
        Knows disparities from 0 px up.
    columns : int
        How far below 0 the disparities go, px.

    Examples
    --------
    >>> from bdis.evaluation.baselines.opencv import OpenCVStereo
    >>> texture = np.random.default_rng(0).integers(1, 255, (48, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = Shifted(OpenCVStereo("sgbm", max_disparity=32), 16).match(texture[:, 4:], texture[:, :-4])
    >>> float(np.nanmedian(result.disparity))
    -4.0
    """

    def __init__(self, matcher: _Matcher, columns: int):
        self.matcher, self.columns = matcher, columns

    def match(self, left: Any, right: Any) -> StereoResult:
        """As the matcher does.

        Parameters
        ----------
        left, right : array_like
            As for the matcher.

        Returns
        -------
        StereoResult
        """
        left, right = check_pair(left, right)
        result = self.matcher.match(_padded(left, (self.columns, 0)), _padded(right, (0, self.columns)))
        inside = slice(self.columns, None)
        return replace(
            result,
            disparity=result.disparity[:, inside] - np.float32(self.columns),
            probability=result.probability[:, inside],
            variance=None if result.variance is None else result.variance[:, inside],
        )


def _padded(image: Array, columns: tuple[int, int]) -> Array:
    """The image with black columns before and after it."""
    return np.pad(image, [(0, 0), columns, (0, 0)][: image.ndim])
