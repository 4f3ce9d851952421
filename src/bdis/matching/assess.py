"""How far to trust a disparity map from anywhere: the law of error of our own matcher, for any other.

The paper names it as its next step.  The images are matched as always, up to the surface and the labels of every pixel;
then the given map takes the place of our own at full resolution and is judged by what tells of errors there: how far it
lies from our surface and labels and how sure these are, where it jumps and bends, where the images do not match under
it, and where two of its pixels claim the same place of the right image.
"""

import math
import threading
from dataclasses import replace
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..vector.cache import prepare
from ..vector.crew import Threads
from .disparity_px import FARTHEST, as_disparity_px
from .images import check_pair
from .matcher import match_in_stages
from .result import StereoResult
from .settings import Settings
from .stages import Stages


class Assessment:
    """Everything that judging a map of ``height`` x ``width`` px needs; used again for maps of the same size.

    Parameters
    ----------
    height, width : int
        px of the images.
    settings : Settings
        With a variance and with labels.
    """

    def __init__(self, height: int, width: int, settings: Settings):
        self._stages = Stages(height, width, settings, judges_given=True)
        if self._stages.detail is None:
            raise ValueError(f"the images are {width}x{height}, too small to judge disparities")
        self._detail = self._stages.detail
        self._threads = Threads(settings.threads)
        self._is_prepared = False  # are the kernels compiled?

    def run(self, images: tuple[Array, Array], disparity: Array, masks: tuple[Any, Any]) -> StereoResult:
        """Judge a map; all of it was checked."""
        stages = self._stages
        arrays = stages.begin(images, masks, None)
        self._detail.given = disparity
        if not self._is_prepared:
            prepare([*stages.kernels(), *self._threads.kernels()])
            self._is_prepared = True
        self._threads.run(lambda crew: match_in_stages(stages, crew))
        stages.release()
        self._detail.given = None
        result = stages.result(arrays)
        assert result.pictures is not None
        return replace(result, pictures=result.pictures._replace(is_given=True))


def check_disparity(disparity: Any, shape: tuple[int, ...], unknown: float | None) -> Array:
    """A disparity map as float32, NaN where unknown.

    Parameters
    ----------
    disparity : array_like, shape (h, w)
        px; NaN, infinite or masked = unknown.
    shape : tuple of int
        Height and width of the images.
    unknown : float or None
        A further value that means unknown.

    Raises
    ------
    TypeError
        It holds no real numbers.
    ValueError
        Another size than the images, or values that cannot be disparities in px.

    Examples
    --------
    >>> check_disparity(np.array([[-1.0, 2.5]]), (1, 2), -1).tolist()
    [[nan, 2.5]]
    """
    known = as_disparity_px(disparity, unknown=unknown, may_exceed_width=True)  # a warning tells
    if known.shape != shape:
        raise ValueError(f"disparity has the shape {known.shape}, but the images are {shape[1]}x{shape[0]}")
    farthest = max(np.nanmin(known, initial=0), np.nanmax(known, initial=0), key=abs)
    if abs(farthest) > FARTHEST:
        raise ValueError(f"disparity reaches {farthest:.9g} px; if that means unknown, pass unknown={farthest:.9g}")
    return known


def smallest_searched(disparity: Array) -> float:
    """Where our own search for disparities begins, so that a map of verged cameras is judged by a surface like it.

    Parameters
    ----------
    disparity : ndarray of float32, shape (h, w)
        px; NaN where unknown.

    Returns
    -------
    float
        px: 0, or a multiple of 16 below 0 if more than a few disparities are negative, so that the maps of a video have
        the same; never below minus the width.

    Examples
    --------
    >>> smallest_searched(np.full((2, 64), 3.5)), smallest_searched(np.full((2, 64), -20.5))
    (0.0, -32.0)
    """
    known = disparity[np.isfinite(disparity)]
    # A few negative ones are errors: to search there as well would only make ours worse.
    lowest = float(np.percentile(known, 5)) if known.size else 0.0
    return min(0.0, max(16.0 * math.floor(lowest / 16), -float(disparity.shape[1])))


_kept = threading.local()  # the last assessment of each thread, for maps of the same size


def assess(
    left: Any,
    right: Any,
    disparity: Any,
    *,
    unknown: float | None = None,
    left_mask: Any = None,
    right_mask: Any = None,
    sigma_scale: float = 1.0,
    threads: int = 1,
    bgr: bool = False,
) -> StereoResult:
    """How far to trust a disparity map from any matcher.

    Parameters
    ----------
    left, right : array_like, shape (h, w), (h, w, 3) or (h, w, 4)
        The rectified pair, as for :meth:`bdis.StereoMatcher.match`.
    disparity : array_like, shape (h, w)
        px; left pixel x matches right pixel x - disparity.  NaN, infinite or masked = unknown.
    unknown : float, optional
        A further value that means unknown, such as -1 or 0.
    left_mask, right_mask : array_like of bool or integers, shape (h, w), optional
        Nonzero where the camera saw something.
    sigma_scale : float
        Factor on the standard deviation.
    threads : int
        That share the rows of the image; the result does not depend on it.
    bgr : bool
        The channels are in the order blue, green, red, as ``cv2.imread`` returns them.

    Returns
    -------
    StereoResult
        The disparity as it was given, with a probability and a variance; :meth:`StereoResult.interval` works.  Its
        ``warnings`` say what looks wrong with the pair or with the map: if nothing is known, if a value looks like a
        mark of unknown pixels, or if the disparities do not fit the images.

    Raises
    ------
    ValueError, TypeError
        Not a rectified pair, or not a disparity map of it; the message says why.

    Examples
    --------
    >>> import numpy as np, bdis
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> given = np.full((256, 400), 4.0)
    >>> given[100:120, 100:120] = 30  # wrong
    >>> result = bdis.assess(texture[:, :-4], texture[:, 4:], given)
    >>> bool(result.probability[50, 200] > 0.95), bool(result.probability[110, 110] < 0.5)
    (True, True)
    """
    images = check_pair(left, right, bgr=bgr)
    height, width = images[0].shape[:2]
    checked = check_disparity(disparity, (height, width), unknown)
    settings = Settings(
        variance=True, sigma_scale=sigma_scale, threads=threads, min_disparity=smallest_searched(checked)
    )
    key = height, width, settings
    kept: tuple[object, Assessment] | None = getattr(_kept, "last", None)
    _kept.last = None  # until it is done: what an error or an interrupt leaves behind is not used again
    assessment = kept[1] if kept is not None and kept[0] == key else Assessment(*key)
    result = assessment.run(images, checked, (left_mask, right_mask))
    _kept.last = key, assessment
    return result
