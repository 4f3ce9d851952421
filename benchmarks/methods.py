"""The methods of the registry as they are measured here."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from bdis.evaluation.baselines import METHODS, Matcher, Method
from bdis.evaluation.baselines.opencv import OpenCVStereo
from bdis.evaluation.datasets import Frame


def matcher_for(method: Method, frame: Frame) -> Matcher:
    """A matcher for a frame; other methods than bdis are told its largest disparity, which helps them."""
    return _made(method.name, None if method.preset else frame.max_disparity_px)


@cache
def _made(name: str, max_disparity_px: float | None) -> Matcher:
    return METHODS[name].make(max_disparity_px)


def label(method: Method, frames: Iterable[Frame]) -> str:
    """Name and settings of a method as it runs on these frames."""
    return method.describe(frame.max_disparity_px for frame in frames)


@cache
def unpadded_sgbm(max_disparity_px: float | None) -> OpenCVStereo:
    """The registry's SGBM without the padding that makes OpenCV match the left margin too.

    Padding doubles its time.  Accuracy is measured with it, as all methods should predict the whole image; but most
    programs do without it, so speed is compared with this faster one.
    """
    return OpenCVStereo("sgbm", max_disparity_px, whole_width=False)


def unpadded_sgbm_label(max_disparities_px: Iterable[float | None]) -> str:
    """Its name and settings."""
    return f"{METHODS['sgbm'].describe(max_disparities_px)}, left margin not matched"


def others() -> list[Method]:
    """The methods of the registry that are not presets of bdis and can run here."""
    return [method for method in METHODS.values() if method.preset is None and method.needs is None]


def bare_call(matcher: Matcher) -> Callable[[Any, Any], object]:
    """What is timed on grey images: OpenCV's own call, without the checks and conversions that bdis adds to it."""
    return getattr(matcher, "run_opencv", matcher.match)
