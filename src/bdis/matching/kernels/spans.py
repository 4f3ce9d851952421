"""Between which columns a result has known pixels: what lies far outside of them need not be computed.

A third of the pixels of an endoscope's image may be unknown: the right camera does not see what lies at the left
border, and there is nothing to see in the corners.
"""

from numba import int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Ints, Record, kernel
from ...vector.simd import LANES, any_lane, load
from .layout import Maps

SPAN_ROWS = 16  # rows that have a span in common


class Spans(Record):
    """Where a map is known.

    Attributes
    ----------
    columns : ndarray of int32, shape (h / 16, 2)
        First column and last + 1 of what is known in sixteen rows, to whole vectors; the width and 0 if nothing is.
    """

    columns: Ints


@inner
def add_row(values, row, width, first, last):
    """The span that holds ``first`` to ``last - 1`` and what is known in a row."""
    x = 0
    while x < first:
        value = load(values, row, uint64(min(x, width - LANES)))
        if any_lane(value == value):
            first = min(x, width - LANES)
        x += LANES
    x = width
    while x > last:
        value = load(values, row, uint64(max(x - LANES, 0)))
        if any_lane(value == value):
            last = x
        x -= LANES
    return first, last


@kernel
def find_spans(known: Maps, spans: Spans, crew: Crew) -> None:
    """The spans of a result, which is at least sixteen px wide."""
    height, width = known.disparity.shape[0], known.width
    begin, end = share(crew, height, SPAN_ROWS)
    for top in range(begin, end, SPAN_ROWS):
        first, last = width, 0
        for y in range(top, min(top + SPAN_ROWS, end)):
            first, last = add_row(known.disparity, uint64(y), width, first, last)
        spans.columns[top // SPAN_ROWS, 0] = int32(first)
        spans.columns[top // SPAN_ROWS, 1] = int32(last)
    meet(crew)


@inner
def columns_near(columns, top, bottom, margin, width):
    """First column, a multiple of 32, and last + 1 of all that is near what is known: rows ``top`` to ``bottom``, and
    ``margin`` more columns.
    """
    first, last = width, 0
    for k in range(max(top, 0) // SPAN_ROWS, min(bottom // SPAN_ROWS + 1, columns.shape[0])):
        first, last = min(first, columns[k, 0]), max(last, columns[k, 1])
    if first >= last:
        return 0, 0
    return max(first - margin, 0) // (2 * LANES) * (2 * LANES), min(last + margin, width)
