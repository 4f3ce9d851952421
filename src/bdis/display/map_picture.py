"""A map with all that is needed to show it."""

from dataclasses import dataclass

from ..common.arrays import Array
from .colors import Range


@dataclass(frozen=True)
class MapPicture:
    """A map to be shown.

    Attributes
    ----------
    title : str
        What it is, such as "disparity".
    values : ndarray, shape (h, w)
        NaN where unknown.
    colormap : str
        As for :func:`bdis.display.colors.color_table`.
    span : (float, float)
        Values of the first and the last colour.
    unit : str
        Such as "px"; empty: it is no measure, and needs no colour bar.
    marked : ndarray of bool, shape (h, w), optional
        Regions that a figure outlines; ``title`` says what they are.
    """

    title: str
    values: Array
    colormap: str
    span: Range
    unit: str = ""
    marked: Array | None = None
