"""SCARED and SERV-CT frame by frame, beside the numbers printed in the paper."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..paper import printed
from ..runner import Outcome
from .html import Table


def frame_tables(outcome: Outcome) -> list[Table]:
    """The paper's tables of SCARED and SERV-CT, as far as these were run: printed numbers beside the measured ones.

    Parameters
    ----------
    outcome : Outcome
        What :func:`bdis.evaluation.runner.run` returned.

    Returns
    -------
    list of Table
    """
    scared, servct = {}, {}
    for record in outcome.frames:
        if record["group"] == "SCARED":
            scared[record["frame"]] = record["methods"]
        elif record["group"].startswith("SERV-CT") and record["frame"].isdigit():
            servct[str(int(record["frame"]))] = record["methods"]
    known = {str(number): values for number, values in printed.SERVCT.items()}
    coverage = {str(number): value for number, value in printed.COVERAGE_SERVCT.items()}
    tables = [
        beside_printed(
            "SCARED keyframes: mean absolute depth error, mm (the paper's Table III)", outcome.methods, scared,
            "mean_mm", printed.SCARED_METHODS, printed.SCARED, printed.COVERAGE_SCARED,
        ),
        beside_printed(
            "SERV-CT: median absolute depth error, mm (the paper's Table IV)", outcome.methods, servct,
            "median_mm", printed.SERVCT_METHODS, known, coverage,
        ),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


AVERAGES = {"mean_mm": "average mean error", "median_mm": "average median error", "valid": "validity, thousands"}


def beside_printed(
    title: str,
    methods: list[str],
    frames: dict[str, dict[str, Any]],
    metric: str,
    printed_methods: tuple[str, ...],
    values: Mapping[str, tuple[float, ...]],
    coverage: Mapping[str, float] | None = None,
    averages: Mapping[str, tuple[float, ...]] | None = None,
) -> Table:
    """A line per frame with printed and measured errors.

    Parameters
    ----------
    title : str
        Heading of the table.
    methods : list of str
        The methods that were run.
    frames : dict of str to dict
        Their results by frame, as in :class:`bdis.evaluation.runner.Outcome`.
    metric : str
        The error, a field of :class:`bdis.evaluation.metrics.Score`.
    printed_methods : tuple of str
        The paper's methods.
    values : mapping of str to tuple of float
        By frame, what it prints of each.
    coverage : mapping of str to float or None
        By frame, the printed share within 1.96 sigma; None for no columns with such shares.
    averages : mapping of str to tuple of float or None
        The printed averages, by keys of ``AVERAGES``; None for no such lines.

    Returns
    -------
    Table
        Without lines if there are no frames.
    """
    unknown = (math.nan,) * len(printed_methods)
    within = {name: [100 * _within(found, name) for found in frames.values()] for name in methods}
    within = {name: shares for name, shares in within.items() if coverage is not None and np.isfinite(shares).any()}
    columns: list[list[float]] = list(map(list, zip(*(values.get(frame, unknown) for frame in frames))))
    columns += [[_metric(found, name, metric) for found in frames.values()] for name in methods]
    errors = len(columns)
    spans = [("", 1), ("printed", len(printed_methods)), ("here", len(methods))]
    header = ["", *printed_methods, *methods]
    if coverage is not None:
        columns += [[coverage.get(frame, math.nan) for frame in frames], *within.values()]
        spans.append(("within 1.96 sigma, %", 1 + len(within)))
        header += ["printed", *within]
    texts = [_column(column, "{:.3f}" if index < errors else "{:.1f}") for index, column in enumerate(columns)]
    rows = [[name, *cells] for name, *cells in zip([*frames, "mean of the above"], *texts)] if frames else []
    for key, shown in averages.items() if averages and frames else ():
        form, unit = ("{:.2f}", 1e-3) if key == "valid" else ("{:.3f}", 1.0)
        measured = [[_metric(found, name, key) * unit for found in frames.values()] for name in methods]
        rows.append([AVERAGES[key], *map(form.format, shown), *(_column(column, form)[-1] for column in measured)])
    return Table(title, header, rows, spans=spans)


def _column(numbers: list[float], form: str) -> list[str]:
    """The numbers and their mean, formatted."""
    known = [number for number in numbers if math.isfinite(number)]
    mean = float(np.mean(known)) if known else math.nan
    return [form.format(number) if math.isfinite(number) else "-" for number in (*numbers, mean)]


def _metric(found: dict[str, Any], method: str, metric: str) -> float:
    value = found.get(method, {}).get("score", {}).get(metric)
    return math.nan if value is None else float(value)


def _within(found: dict[str, Any], method: str) -> float:
    """Share of the errors within 1.96 sigma; NaN if the method claims no variance or has no score."""
    return float(found.get(method, {}).get("within_196_sigma", math.nan))
