"""The columns of the tables: which metric each shows, how it is formatted, and which direction is better."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..confidence import reliability_error
from ..summary import Row

NOTHING = "-"
ASSESSED = "^"
ASSESSED_NOTE = "confidence of bdis.assess, because the method has none of its own; not in its times"
# Where the columns are split over two tables, the second one starts with the first of these that is shown.
SECOND_TABLE = ("inside 68 %", "AUSE", "p error %", "predicted %", "min ms")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
        Its header.
    explained : str
        What it shows, for the legend.
    better : int
        -1 if smaller values are better, 1 if larger ones are, 0 if neither.
    value : callable
        Takes a row and returns its value, or None.
    form : str
        Format of the value.
    mark : callable or None
        Takes a row and returns text to append to the value.
    """

    title: str
    explained: str
    better: int
    value: Callable[[Row], float | None]
    form: str = "{:.3f}"
    mark: Callable[[Row], str] | None = None

    def text(self, row: Row) -> str:
        """The value as it is written in a table; "-" if there is none."""
        value = self.value(row)
        if value is None or math.isnan(value):
            return NOTHING
        return self.form.format(value) + (self.mark(row) if self.mark is not None else "")


def columns(rows: list[Row]) -> list[Column]:
    """The columns in which at least one of these rows has a value."""
    return [column for column in COLUMNS if any(column.text(row) != NOTHING for row in rows)]


def best(column: Column, rows: list[Row]) -> list[bool]:
    """For each row, whether it is the best in this column; all False if there is nothing to compare."""
    values = [column.value(row) for row in rows]
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not column.better or len(known) < 2:
        return [False] * len(rows)
    top = max(known) if column.better > 0 else min(known)
    return [value == top for value in values]


def _time(name: str) -> Callable[[Row], float | None]:
    return lambda row: None if row.times is None else row.times[name]


def _percent(name: str) -> Callable[[Row], float | None]:
    return lambda row: 100 * float(getattr(row.score, name))


def _if_scored(value: Callable[[Row], float]) -> Callable[[Row], float | None]:
    return lambda row: value(row) if row.scored else None


def _own_or_assessed(row: Row) -> str:
    return ASSESSED if row.assessed else ""


def _probability_error(row: Row) -> float | None:
    return None if row.reliability is None else 100 * reliability_error(row.reliability)


COLUMNS = [
    Column("mean mm", "mean absolute depth error", -1, lambda row: row.score.mean_mm),
    Column("median mm", "median absolute depth error", -1, lambda row: row.score.median_mm, "{:.4f}"),
    Column("valid k-px", "predicted pixels that have a reference, thousands", 1,
           _if_scored(lambda row: row.score.valid / 1e3), "{:.1f}"),
    Column("coverage %", "their share of the pixels that have a reference", 1,
           _if_scored(lambda row: 100 * row.score.coverage), "{:.1f}"),
    Column("equal cov.", "mean error (mm; px without a rig) with each method reduced, by its own confidence, to the "
           f"smallest coverage of all; {ASSESSED} by the confidence of bdis.assess; * has none and is unchanged", -1,
           lambda row: row.equal_mean, mark=lambda row: _own_or_assessed(row) if row.has_confidence else "*"),
    Column("RMSE mm", "root of the mean squared depth error", -1, lambda row: row.score.rmse_mm),
    Column("EPE px", "mean absolute disparity error", -1, lambda row: row.score.epe_px, "{:.2f}"),
    Column("bad 0.5 %", "predicted pixels more than 0.5 px off", -1, _percent("bad_05px"), "{:.1f}"),
    Column("bad 1 %", "more than 1 px off", -1, _percent("bad_1px"), "{:.1f}"),
    Column("bad 2 %", "more than 2 px off", -1, _percent("bad_2px"), "{:.1f}"),
    Column("bad 3 %", "more than 3 px off", -1, _percent("bad_3px"), "{:.1f}"),
    Column("inside 68 %", "errors inside the interval that shall hold 68 % of them, %", 0,
           _percent("within_68"), "{:.1f}", _own_or_assessed),
    Column("inside 95 %", "errors inside the interval that shall hold 95 % of them, %", 0,
           _percent("within_95"), "{:.1f}", _own_or_assessed),
    Column("worst frame %", "inside 95 %, of the frame where it is lowest", 0,
           lambda row: 100 * row.lowest_within_95, "{:.1f}", _own_or_assessed),
    Column("best frame %", "inside 95 %, of the frame where it is highest", 0,
           lambda row: 100 * row.highest_within_95, "{:.1f}", _own_or_assessed),
    Column("95 % +- px", "mean half width of the interval of 95 %", 0,
           lambda row: row.score.interval_95, "{:.2f}", _own_or_assessed),
    Column("log score", "mean negative log density of the disparity error under the claimed law, nats (density per px)",
           -1, lambda row: row.score.log_score, "{:.2f}", _own_or_assessed),
    Column("AUSE", "area under the sparsification error, mm (px without a rig); 0 if the confidence orders the "
           "pixels by their errors", -1, lambda row: row.score.ause, mark=_own_or_assessed),
    Column("p error %", "mean distance of the probability from the share of pixels within 1 px", -1,
           _probability_error, "{:.1f}", _own_or_assessed),
    Column("predicted %", "pixels with a disparity, with or without reference", 0,
           lambda row: 100 * row.predicted, "{:.1f}"),
    Column("min ms", "shortest time per frame", -1, _time("min_ms"), "{:.2f}"),
    Column("median ms", "median time per frame", -1, _time("median_ms"), "{:.2f}"),
    Column("p99 ms", "99th percentile of the time per frame", -1, _time("p99_ms"), "{:.2f}"),
]  # fmt: skip
