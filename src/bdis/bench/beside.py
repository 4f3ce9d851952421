"""SCARED and SERV-CT, frame by frame beside the numbers the paper prints."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import printed
from .html import Table
from .runner import Outcome


def frame_tables(outcome: Outcome) -> list[Table]:
    """The paper's tables of these data sets, if they are among what was run; the figures it prints beside ours."""
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
    figure: str,
    printed_methods: tuple[str, ...],
    values: Mapping[str, tuple[float, ...]],
    coverage: dict[str, float],
) -> Table:
    nothing = (math.nan,) * len(printed_methods)
    sure = [
        name
        for name in methods
        if any(
            _figure(each, name, "within_196sigma") == _figure(each, name, "within_196sigma") for each in frames.values()
        )
    ]
    numbers = []
    for frame, found in frames.items():
        line = [*values.get(frame, nothing), *(_figure(found, name, figure) for name in methods)]
        line += [coverage.get(frame, math.nan), *(100 * _figure(found, name, "within_196sigma") for name in sure)]
        numbers.append(line)
    names = list(frames)
    if numbers:
        names.append("mean of the above")
        numbers.append(
            [float(np.mean(kept)) if (kept := [v for v in column if v == v]) else math.nan for column in zip(*numbers)]
        )
    count = len(printed_methods) + len(methods)
    rows = [
        [name, *("-" if v != v else f"{v:.3f}" if place < count else f"{v:.1f}" for place, v in enumerate(line))]
        for name, line in zip(names, numbers)
    ]
    header = ["", *(f"printed: {name}" for name in printed_methods), *(f"here: {name}" for name in methods)]
    header += ["printed: within 1.96 sigma, %", *(f"{name}: within 1.96 sigma, %" for name in sure)]
    return Table(title, header, rows)


def _figure(found: dict[str, Any], method: str, figure: str) -> float:
    value = found.get(method, {}).get("score", {}).get(figure)
    return math.nan if value is None else float(value)
