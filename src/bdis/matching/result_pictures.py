"""How a result is shown: its maps in px, and a comparison with a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array, size_text
from ..display.card import card
from ..display.colors import COLORMAPS, bulk_range, range_from_zero
from ..display.figure import plot_panels
from ..display.map_picture import MapPicture
from .disparity_px import as_disparity_px

if TYPE_CHECKING:
    from .result import StereoResult


_MOST_SAMPLES = 100_000  # pixels of which a repr takes the median: it must not be slow


def disparity_picture(disparity: Array, title: str = "disparity") -> MapPicture:
    """A disparity (h, w) in px as a picture."""
    return MapPicture(title, disparity, COLORMAPS["disparity"], bulk_range(disparity), "px")


def uncertainty_picture(result: StereoResult) -> MapPicture:
    """The standard deviation of the disparity, or without a variance the probability."""
    if result.variance is None:
        probability = np.where(result.known, result.probability, np.nan)
        return MapPicture("probability", probability, "viridis", (0.0, 1.0), "0 to 1")
    sigma = np.where(result.known, np.sqrt(result.variance), np.nan)
    return MapPicture("standard deviation", sigma, "magma", range_from_zero(sigma), "px")


def pictures_of(result: StereoResult) -> list[MapPicture]:
    """The disparity and its uncertainty, both in px."""
    return [disparity_picture(result.disparity), uncertainty_picture(result)]


def text_of(result: StereoResult) -> str:
    """A result in one line.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> text_of(StereoResult(np.float32([[20, np.nan]]), np.float32([[0.5, 0]]), np.float32([[0.04, np.nan]])))
    'StereoResult(2x1, 50.0% known, disparity 20.0 px and sigma 0.20 px on median)'
    """
    parts = [size_text(result.disparity.shape), f"{result.coverage:.1%} known"]
    every = max(1, int(np.sqrt(result.disparity.size / _MOST_SAMPLES)))
    sample = np.s_[::every, ::every]
    if result.known[sample].any():
        middle = f"disparity {np.nanmedian(result.disparity[sample]):.1f} px"
        if result.variance is not None:
            middle += f" and sigma {np.sqrt(np.nanmedian(result.variance[sample])):.2f} px"
        parts.append(f"{middle} on median")
    if result.match_ms is not None:
        parts.append(f"matched in {result.match_ms:.1f} ms")
    return f"StereoResult({', '.join(parts)})"


def card_of(result: StereoResult) -> str:
    """A result as HTML for a notebook."""
    return card(text_of(result), pictures=pictures_of(result), warnings=result.warnings)


def plot_result(result: StereoResult, title: str | None) -> Any:
    """Draw a result; see :meth:`bdis.StereoResult.plot`."""
    words = f"{result.coverage:.1%} of the pixels are known" if title is None else title
    return plot_panels(pictures_of(result), words, result.warnings)


def plot_comparison(result: StereoResult, reference: StereoResult | Array, title: str | None) -> Any:
    """Draw a result beside a reference; see :meth:`bdis.StereoResult.compare`."""
    wanted = as_disparity_px(getattr(reference, "disparity", reference), "reference")
    if wanted.shape != result.disparity.shape:
        raise ValueError(
            f"the reference is {size_text(wanted.shape) if wanted.ndim > 1 else wanted.shape} but the result is "
            f"{size_text(result.disparity.shape)}; they must show the same pixels"
        )
    error = np.abs(result.disparity - wanted)
    span = bulk_range(wanted if np.isfinite(wanted).any() else result.disparity)
    panels = [
        MapPicture("disparity", result.disparity, COLORMAPS["disparity"], span, "px"),
        MapPicture("reference", wanted, COLORMAPS["disparity"], span, "px"),
        MapPicture("absolute error", error, "magma", range_from_zero(error), "px"),
    ]
    return plot_panels(panels, _comparison_text(error, wanted) if title is None else title, result.warnings)


def _comparison_text(error: Array, reference: Array) -> str:
    """The figures of a comparison; they are of the pixels that both know."""
    references, both = int(np.isfinite(reference).sum()), np.isfinite(error)
    if not both.any():
        return "no pixel is known in both the result and the reference"
    found = error[both]
    return (
        f"median error {np.median(found):.2f} px, {np.mean(found < 1):.1%} of the errors below 1 px; "
        f"{found.size / references:.1%} of the pixels with a reference are known"
    )
