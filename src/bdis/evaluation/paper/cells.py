"""What the tables share: measured rows by group and method, which frames the paper has, and cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..runner import Outcome
from ..summary import Row, summarise
from . import printed
from .plans import OUR_DIS, PUBLISHED, SYNTHETIC_SETS, VARIANCE, WITH_GAMMA_OF_288_ROWS

RowsByName = dict[tuple[str, str], Row]  # by group and method


def by_name(rows: Iterable[Row]) -> RowsByName:
    """Rows by group and method."""
    return {(row.group, row.method): row for row in rows}


def is_in_the_paper(group: str, frame: str) -> bool:
    """Whether a frame is one of those in the paper's tables.

    The paper has ten frames of each colon, and names them A1 to A10 and a1 to a10: taken to be frames 1 to 10.

    Examples
    --------
    >>> is_in_the_paper("set 31", "10"), is_in_the_paper("set 31", "11"), is_in_the_paper("SERV-CT Experiment 2", "016")
    (True, False, False)
    """
    if group == "SCARED":
        return frame in printed.SCARED
    if group.startswith("SERV-CT"):
        return frame.isdecimal() and int(frame) in printed.SERVCT
    if group.removesuffix(PUBLISHED) in [f"set {name}" for name in SYNTHETIC_SETS]:
        return frame.isdecimal() and int(frame) <= printed.FRAMES_OF_A_COLON
    return False


@dataclass(frozen=True)
class Findings:
    """Results of a run, over all frames and over those that the paper has."""

    outcome: Outcome
    all_frames: RowsByName
    papers_frames: RowsByName

    @staticmethod
    def of(outcome: Outcome) -> Findings:
        """Averages of what was run."""
        theirs = [record for record in outcome.frames if is_in_the_paper(record["group"], record["frame"])]
        return Findings(
            outcome, by_name(summarise(outcome)), by_name(summarise(replace(outcome, frames=theirs, times={})))
        )

    def has(self, group: str) -> bool:
        """Whether a group was run."""
        return any(where == group for where, _ in self.all_frames)

    def records(self, group: str) -> list[dict[str, Any]]:
        """The frames of the groups whose name begins so."""
        return [record for record in self.outcome.frames if record["group"].startswith(group)]


@dataclass(frozen=True)
class Line:
    """A method in a table.

    Attributes
    ----------
    label : str
        How it is called there.
    known : str or None
        Its name in the paper.
    name : str or None
        Its name here.
    """

    label: str
    known: str | None
    name: str | None


def method_lines(known: Iterable[str], measured: Iterable[str]) -> list[Line]:
    """The paper's methods, our own DIS beside the paper's, then what else was measured."""
    lines, left = [], [name for name in measured if name not in (VARIANCE, WITH_GAMMA_OF_288_ROWS)]
    for each in known:
        name = printed.METHOD_NAMES.get(each)
        lines.append(Line(f"{each} = {name}" if name in left else each, each, name if name in left else None))
        if name in left:
            left.remove(name)
        if each == "DIS" and OUR_DIS in left:
            left.remove(OUR_DIS)
            lines.append(Line(f"our own DIS = {OUR_DIS}", None, OUR_DIS))
    others = [name for name in left if name not in printed.METHOD_NAMES.values()]
    return [*lines, *(Line(name, None, name) for name in others)]


def number(value: float | None, form: str = "{:.3f}") -> str:
    """A cell."""
    return "-" if value is None or math.isnan(value) else form.format(value)


def median_and_mean(row: Row | None) -> list[str]:
    """Two cells."""
    return ["-", "-"] if row is None else [number(row.score.median_mm), number(row.score.mean_mm)]


def seconds(row: Row | None, which: str = "median_ms") -> str:
    """A time."""
    return "-" if row is None or row.times is None else f"{row.times[which] / 1e3:.4f}"
