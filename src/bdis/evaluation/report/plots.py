"""Plots of the report, as SVG elements of an HTML page, and of the certainty, as PNG."""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...common.optional import require
from ..certainty_fit import SHARES, ReliabilityCurves
from ..confidence import CURVE
from ..summary import Row, printable

COLORS = (
    "#0b6fa4", "#d1495b", "#3a7d44", "#e09f3e", "#6a4c93", "#2a9d8f", "#8d5524", "#5c677d", "#d63384", "#7cb518",
    "#14213d", "#00b4d8", "#b5838d", "#606c38", "#ff7b00", "#9d4edd",
)  # fmt: skip
_STYLE = {
    "svg.fonttype": "none",  # text stays text, in the page's font
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a9097",
    "axes.labelcolor": "#30363c", "xtick.color": "#5c636a", "ytick.color": "#5c636a", "axes.grid": True,
    "grid.color": "#e6e9ec", "grid.linewidth": 0.8, "axes.axisbelow": True, "legend.frameon": False,
    "font.family": "sans-serif",
}  # fmt: skip


def color_of(index: int) -> str:
    """The colour of a method, by its index in the list of methods."""
    return COLORS[index % len(COLORS)]


def error_coverage_plot(rows: list[Row]) -> str | None:
    """Mean error of the most certain pixels over coverage, a line per method; dots: all pixels it predicts."""
    scored = [row for row in rows if row.scored and math.isfinite(_error(row))]
    if not scored:
        return None

    def draw(axis: Any) -> None:
        for index, row in enumerate(rows):
            if row not in scored:
                continue
            end = 100 * row.score.coverage, _error(row)
            if row.curve and np.isfinite(row.curve).any():
                axis.plot(100 * CURVE, row.curve, color=color_of(index), linewidth=1.8, linestyle=_line_of(row))
            axis.plot(*end, "o", color=color_of(index), markersize=6)
        axis.set_xlabel("coverage, % of the pixels with a reference")
        axis.set_ylabel(f"mean error, {_unit(rows)}")
        axis.set_xlim(0, 102)
        axis.set_yscale("log")
        _decimal_labels(axis.yaxis)

    return _svg(draw)


def time_error_plot(rows: list[Row]) -> str | None:
    """Error over time per frame, both logarithmic; lower left is better."""
    timed = [row for row in rows if row.times is not None and row.scored and _error(row) > 0]
    if not timed:
        return None

    def draw(axis: Any) -> None:
        written: list[tuple[float, float]] = []
        for index, row in enumerate(rows):
            if row in timed and row.times is not None:
                x, y = math.log10(row.times["median_ms"]), math.log10(_error(row))
                near = sum(abs(x - a) < 0.6 and abs(y - b) < 0.05 for a, b in written)  # labels that would overlap
                written.append((x, y))
                axis.plot(10**x, 10**y, "o", color=color_of(index), markersize=7)
                axis.annotate(
                    row.method, (10**x, 10**y), xytext=(7, 4 + 10 * near), textcoords="offset points",
                    fontsize=8, color=color_of(index),
                )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.margins(x=0.3, y=0.2)
        _decimal_labels(axis.xaxis)
        _decimal_labels(axis.yaxis)
        axis.set_xlabel("median time per frame, ms, one core")
        axis.set_ylabel(f"mean error, {_unit(rows)}")

    return _svg(draw)


def pareto_picture(rows: Sequence[Row], on_front: Sequence[bool]) -> bytes:
    """Error over time per frame of many settings, and the front that none of them beats.

    Parameters
    ----------
    rows : sequence of Row
        Of one group of frames.
    on_front : sequence of bool
        What :func:`bdis.evaluation.sweep.on_front` says of them.

    Returns
    -------
    bytes
        Content of a PNG file.
    """
    matplotlib, figure_module = require("matplotlib", "a diagram"), require("matplotlib.figure", "a diagram")
    points = [
        (row.times["median_ms"], _error(row), f"{row.method}, {row.score.coverage:.0%} known", is_best)
        for row, is_best in zip(rows, on_front)
        if row.times is not None and row.scored
    ]
    with matplotlib.rc_context(_STYLE):
        figure = figure_module.Figure(figsize=(8, 5), layout="constrained", facecolor="white")
        axis = figure.subplots()
        front = sorted(point for point in points if point[3])
        axis.plot([x for x, *_ in front], [y for _, y, *_ in front], "-o", color=color_of(0), label="best")
        others = [point for point in points if not point[3]]
        axis.plot(
            [x for x, *_ in others], [y for _, y, *_ in others], "o", color="#9aa1a8", label="beaten by one of them"
        )
        for number, (x, y, name, _) in enumerate(front, 1):  # names would cover each other
            axis.plot([x], [y], "o", color=color_of(0), label=f"{number}: {printable(name)}")
            axis.annotate(str(number), (x, y), xytext=(5, 5), textcoords="offset points")
        axis.set_xlabel("median time per frame, ms, one core")
        axis.set_ylabel(f"mean error, {_unit(list(rows))}")
        axis.set_title(printable(rows[0].group), parse_math=False)
        for text in figure.legend(loc="outside lower center", fontsize=8, ncols=2).get_texts():
            text.set_parse_math(False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def reliability_plot(rows: list[Row]) -> str | None:
    """Share of pixels within 1 px over the reported probability; ideal is the diagonal."""
    if not any(row.reliability for row in rows):
        return None

    def draw(axis: Any) -> None:
        axis.plot([0, 1], [0, 1], color="#9aa1a8", linestyle="--", linewidth=1)
        for index, row in enumerate(rows):
            if row.reliability is not None:
                _draw_reliability(axis, row.reliability, color_of(index), style=_line_of(row))
        axis.set_xlabel("reported probability")
        axis.set_ylabel("share within 1 px")
        axis.set_xlim(0, 1.02)
        axis.set_ylim(0, 1.02)

    return _svg(draw)


def certainty_picture(curves: Mapping[str, ReliabilityCurves], title: str) -> bytes:
    """Reliability of intervals and probabilities, a line for each name; ideal is the diagonal.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurves
        Such as "before" and "after".
    title : str
        Above both diagrams.

    Returns
    -------
    bytes
        Content of a PNG file.

    Examples
    --------
    >>> import numpy as np
    >>> table = {"count": [9], "probability": [0.9], "within": [0.8]}
    >>> certainty_picture({"before": ReliabilityCurves(np.sqrt(SHARES), table)}, "made up")[1:4]
    b'PNG'
    """
    matplotlib, figure_module = require("matplotlib", "a diagram"), require("matplotlib.figure", "a diagram")
    with matplotlib.rc_context(_STYLE):
        figure = figure_module.Figure(figsize=(9.2, 4.4), layout="constrained", facecolor="white")
        figure.suptitle(printable(title), fontsize=11, parse_math=False)
        intervals, probabilities = figure.subplots(1, 2)
        for axis in (intervals, probabilities):
            axis.plot([0, 1], [0, 1], color="#9aa1a8", linestyle="--", linewidth=1, label="ideal")
            axis.set_xlim(0, 1.02)
            axis.set_ylim(0, 1.02)
        for index, (name, each) in enumerate(curves.items()):
            intervals.plot(SHARES, each.inside, color=color_of(index), linewidth=1.8, label=name)
            _draw_reliability(probabilities, each.probability, color_of(index), name)
        intervals.set_xlabel("share of the errors an interval claims to hold")
        intervals.set_ylabel("share it holds, mean of the frames")
        probabilities.set_xlabel("probability of an error below 1 px")
        probabilities.set_ylabel("share within 1 px, all pixels")
        intervals.legend(loc="upper left")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _draw_reliability(
    axis: Any, reliability: Mapping[str, list[float]], color: str, label: str | None = None, style: str = "-"
) -> None:
    table = {name: np.array(values, float) for name, values in reliability.items()}
    enough = table["count"] > 0.001 * table["count"].sum()  # a share of a few pixels is mere noise
    x, y = table["probability"][enough], table["within"][enough]
    axis.plot(x, y, "o", color=color, markersize=4, linewidth=1.6, linestyle=style, label=label)


def _line_of(row: Row) -> str:
    """Style of a line that depends on the confidence: dashed if it is not the method's own."""
    return "--" if row.assessed else "-"


def _error(row: Row) -> float:
    return row.score.epe_px if row.in_px else row.score.mean_mm


def _unit(rows: list[Row]) -> str:
    return "px" if any(row.in_px for row in rows) else "mm"


def _decimal_labels(part: Any) -> None:
    """Label 1, 2 and 5 times powers of ten on a logarithmic axis, as decimal numbers."""
    part.set_major_formatter(lambda value, _: f"{value:g}")
    part.set_minor_formatter(lambda value, _: f"{value:g}" if _leading(value) in (2, 5) else "")


def _leading(value: float) -> int:
    return int(f"{value:e}"[0]) if value > 0 else 0


def _svg(draw: Callable[[Any], None]) -> str:
    matplotlib, figure_module = require("matplotlib", "a report"), require("matplotlib.figure", "a report")
    with matplotlib.rc_context(_STYLE):
        figure = figure_module.Figure(figsize=(4.6, 3.4), layout="constrained")
        draw(figure.subplots())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", transparent=True)
    return _inline(buffer.getvalue().decode())


def _inline(svg: str) -> str:
    """Remove what only a separate SVG file needs, such as the addresses of name spaces."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
