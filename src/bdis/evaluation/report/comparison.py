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
        _table(
            "SCARED keyframes: mean absolute depth error, mm (the paper's Table III)", outcome.methods, scared,
            "mean_mm", printed.SCARED_METHODS, printed.SCARED, printed.COVERAGE_SCARED,
        ),
        _table(
            "SERV-CT: median absolute depth error, mm (the paper's Table IV)", outcome.methods, servct,
            "median_mm", printed.SERVCT_METHODS, known, coverage,
        ),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _table(
    title: str,
    methods: list[str],
    frames: dict[str, dict[str, Any]],
    metric: str,
    printed_methods: tuple[str, ...],
    values: Mapping[str, tuple[float, ...]],
    coverage: Mapping[str, float],
) -> Table:
    """A line per frame: printed and measured errors, then printed and measured shares within 1.96 sigma."""
    unknown = (math.nan,) * len(printed_methods)
    within = {name: [100 * _within(found, name) for found in frames.values()] for name in methods}
    within = {name: shares for name, shares in within.items() if np.isfinite(shares).any()}
    columns: list[list[float]] = list(map(list, zip(*(values.get(frame, unknown) for frame in frames))))
    columns += [[_metric(found, name, metric) for found in frames.values()] for name in methods]
    columns += [[coverage.get(frame, math.nan) for frame in frames], *within.values()]
    errors = len(printed_methods) + len(methods)
    texts = [_column(column, "{:.3f}" if index < errors else "{:.1f}") for index, column in enumerate(columns)]
    rows = [[name, *cells] for name, *cells in zip([*frames, "mean of the above"], *texts)] if frames else []
    header = ["", *printed_methods, *methods, "printed", *within]
    spans = [
        ("", 1),
        ("printed", len(printed_methods)),
        ("here", len(methods)),
        ("within 1.96 sigma, %", 1 + len(within)),
    ]
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
