"""A confidence for methods that have none of their own, so that all can be compared at equal coverage."""

from dataclasses import replace

from ..matching.assess import assess
from ..matching.result import StereoResult
from .datasets.frame import Frame


def with_assessed_confidence(result: StereoResult, frame: Frame) -> StereoResult | None:
    """The result of a method without a confidence, with the probability and the variance of :func:`bdis.assess`.

    Parameters
    ----------
    result : StereoResult
        The result of a matcher.
    frame : Frame
        The frame it was computed from.

    Returns
    -------
    StereoResult or None
        The same disparities; None if the method has a confidence (a variance, or probabilities that differ), if it
        predicts nothing, or if the map cannot be assessed, such as one of images that are too small or too wide.

    Examples
    --------
    >>> import numpy as np
    >>> from bdis.synthetic import render
    >>> pair = render("plane", 64, 96)
    >>> frame = Frame("made up", "1", pair.left, pair.right)
    >>> constant = StereoResult(pair.full_disparity, np.ones((64, 96), np.float32))
    >>> assessed = with_assessed_confidence(constant, frame)
    >>> assessed.variance.shape, with_assessed_confidence(assessed, frame)
    ((64, 96), None)
    """
    reported = result.probability[result.known]
    if result.variance is not None or not reported.size or reported.min() < reported.max():
        return None
    try:
        found = assess(frame.left, frame.right, result.disparity)
    except ValueError:
        return None
    return replace(result, probability=found.probability, variance=found.variance)
