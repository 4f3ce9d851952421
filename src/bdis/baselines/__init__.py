"""Matchers behind one interface: bdis with each of its presets, and one of OpenCV."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..config import PRESETS
from ..matcher import StereoMatcher
from ..optional import require
from ..result import StereoResult

Array = np.ndarray[Any, np.dtype[Any]]


class Matcher(Protocol):
    """Anything that matches a rectified pair."""

    def match(self, left: Any, right: Any) -> StereoResult: ...


@dataclass(frozen=True)
class Method:
    """A way to match: its name, what it is, what it needs, and how to make it."""

    name: str
    summary: str
    needs: str | None
    make: Callable[[float | None], Matcher]


class _Sgbm:
    def __init__(self, max_disparity: float | None):
        self._cv2 = require("cv2", "SGBM")
        count = 16 * int(np.ceil((max_disparity or 256) / 16))
        self._matcher = self._cv2.StereoSGBM.create(
            minDisparity=0, numDisparities=count, blockSize=7, P1=392, P2=1568, disp12MaxDiff=1,
            uniquenessRatio=10, speckleWindowSize=100, speckleRange=1,
        )  # fmt: skip

    def match(self, left: Any, right: Any) -> StereoResult:
        grey = [
            image if image.ndim == 2 else self._cv2.cvtColor(image, self._cv2.COLOR_RGB2GRAY) for image in (left, right)
        ]
        fixed = self._matcher.compute(*grey)
        disparity = np.where(fixed > 0, fixed / np.float32(16), np.float32(np.nan)).astype(np.float32)
        return StereoResult(disparity, np.isfinite(disparity).astype(np.float32))


def _preset(name: str) -> Callable[[float | None], Matcher]:
    return lambda max_disparity: StereoMatcher(name, max_disparity=max_disparity)


def _all() -> list[Method]:
    default, *_ = PRESETS
    methods = [Method("bdis", f"this package, preset {default}", None, _preset(default))]
    methods += [Method(f"bdis-{name}", f"this package, preset {name}", None, _preset(name)) for name in PRESETS]
    methods += [Method("bdis-2021", "the preliminary BDIS", None, _preset("paper-2021"))]
    methods += [Method("dis", "dense inverse search", None, _preset("dis"))]
    return [*methods, Method("sgbm", "OpenCV's semi-global block matching", None, _Sgbm)]


METHODS = {each.name: each for each in _all()}


def method(name: str) -> Method:
    """The method of this name.

    Examples
    --------
    >>> method("sgbm").summary
    "OpenCV's semi-global block matching"
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
