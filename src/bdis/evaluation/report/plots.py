"""Plots of the report, as SVG to be placed in a page."""

import io
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...common.optional import require
from ..metrics import CURVE
from ..summary import Row

COLOURS = (
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


def colour_of(place: int) -> str:
    """The colour of a method, by its place in the list of methods."""
    return COLOURS[place % len(COLOURS)]


def error_coverage_plot(rows: list[Row]) -> str | None:
    """Mean error of the surest pixels over their coverage, a line per method; dots: all that it predicts."""
    scored = [row for row in rows if row.scored and math.isfinite(_error(row))]
    if not scored:
        return None

    def draw(axis: Any) -> None:
        for place, row in enumerate(rows):
            if row not in scored:
                continue
            end = 100 * row.score.coverage, _error(row)
            if row.curve and np.isfinite(row.curve).any():
                axis.plot(100 * CURVE, row.curve, color=colour_of(place), linewidth=1.8)
            axis.plot(*end, "o", color=colour_of(place), markersize=6)
        axis.set_xlabel("coverage, % of the pixels with a reference")
        axis.set_ylabel(f"mean error, {_unit(rows)}")
        axis.set_xlim(0, 102)
        axis.set_yscale("log")
        _plain_numbers(axis.yaxis)

    return _svg(draw)


def time_error_plot(rows: list[Row]) -> str | None:
    """Error over time per frame, both logarithmic; lower left is better."""
    timed = [row for row in rows if row.times is not None and row.scored and _error(row) > 0]
    if not timed:
        return None

    def draw(axis: Any) -> None:
        written: list[tuple[float, float]] = []
        for place, row in enumerate(rows):
            if row in timed and row.times is not None:
                x, y = math.log10(row.times["median_ms"]), math.log10(_error(row))
                near = sum(abs(x - a) < 0.6 and abs(y - b) < 0.05 for a, b in written)  # names that would be in the way
                written.append((x, y))
                axis.plot(10**x, 10**y, "o", color=colour_of(place), markersize=7)
                axis.annotate(
                    row.method, (10**x, 10**y), xytext=(7, 4 + 10 * near), textcoords="offset points",
                    fontsize=8, color=colour_of(place),
                )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.margins(x=0.3, y=0.2)
        _plain_numbers(axis.xaxis)
        _plain_numbers(axis.yaxis)
        axis.set_xlabel("median time per frame, ms, one core")
        axis.set_ylabel(f"mean error, {_unit(rows)}")

    return _svg(draw)


def reliability_plot(rows: list[Row]) -> str | None:
    """Of pixels reported with probability p, how many are within 1 px: on the diagonal the probability is honest."""
    if not any(row.reliability for row in rows):
        return None

    def draw(axis: Any) -> None:
        axis.plot([0, 1], [0, 1], color="#9aa1a8", linestyle="--", linewidth=1)
        for place, row in enumerate(rows):
            if row.reliability is not None:
                table = {name: np.array(values, float) for name, values in row.reliability.items()}
                enough = table["count"] > 0.001 * table["count"].sum()  # a handful of pixels says nothing
                axis.plot(
                    table["probability"][enough], table["within"][enough], "o-", color=colour_of(place),
                    markersize=4, linewidth=1.6,
                )  # fmt: skip
        axis.set_xlabel("probability the method reports")
        axis.set_ylabel("share within 1 px")
        axis.set_xlim(0, 1.02)
        axis.set_ylim(0, 1.02)

    return _svg(draw)


def _error(row: Row) -> float:
    return row.score.epe_px if row.in_px else row.score.mean_mm


def _unit(rows: list[Row]) -> str:
    return "px" if any(row.in_px for row in rows) else "mm"


def _plain_numbers(part: Any) -> None:
    """1, 2 and 5 times powers of ten, written out, on a logarithmic axis."""
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
    return _for_a_page(buffer.getvalue().decode())


def _for_a_page(svg: str) -> str:
    """Without what only a file of its own needs, so that the page holds no address at all."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
