"""Averages of per-frame metrics by data set and method, as in the paper, and the files they are written to."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..common.atomic import write_whole
from ..common.json_text import json_text
from ..common.machine import machine
from .metrics import Score, mean_score, time_summary
from .runner import Outcome

METRICS = [field.name for field in fields(Score)]


@dataclass(frozen=True)
class Row:
    """A method on a group of frames.

    Attributes
    ----------
    group, method : str
        Names of the group of frames and of the method.
    score : Score
        Averages over frames.
    frames, scored, failed : int
        Number of frames, of those with a score, and of those on which the method failed.
    lowest_within_95, highest_within_95 : float
        ``within_95`` of the frames where it is lowest and highest; NaN if the method claims no variance.
    predicted : float
        Share of all pixels with a disparity, whether or not there is a reference.
    equal_mean, equal_median : float
        Error at equal coverage, mm (px without a rig).
    has_confidence : bool
        Whether there is a confidence, by which the method can be reduced to a smaller coverage.
    assessed : bool
        Whether that confidence is not its own but that of :func:`bdis.assess`.
    curve : list of float
        Mean error at the coverages :data:`bdis.evaluation.confidence.CURVE`, NaN where not all frames reach them.
    reliability : dict of str to list of float, or None
        As :func:`bdis.evaluation.confidence.reliability` returns it, over all pixels of the group.
    times : dict of str to float, or None
        As :func:`bdis.evaluation.metrics.time_summary` returns it.
    in_px : bool
        Whether errors are in px, as there is no rig.
    """

    group: str
    method: str
    score: Score
    frames: int
    scored: int
    failed: int
    lowest_within_95: float
    highest_within_95: float
    predicted: float
    equal_mean: float
    equal_median: float
    has_confidence: bool
    assessed: bool
    curve: list[float]
    reliability: dict[str, list[float]] | None
    times: dict[str, float] | None
    in_px: bool


def summarise(outcome: Outcome) -> list[Row]:
    """Averages by group and method, in the order in which they were run.

    Parameters
    ----------
    outcome : Outcome
        What :func:`bdis.evaluation.runner.run` returned.

    Returns
    -------
    list of Row

    Examples
    --------
    >>> frame = {"group": "a", "frame": "1", "size": [4, 2], "methods": {"m": {"predicted": 6}}}
    >>> (row,) = summarise(Outcome(["m"], [frame]))
    >>> row.predicted, row.scored
    (0.75, 0)
    """
    groups = list(dict.fromkeys(record["group"] for record in outcome.frames))
    rows = []
    for group in groups:
        members = [record for record in outcome.frames if record["group"] == group]
        rows += [_row(outcome, group, method, members) for method in outcome.methods if method in members[0]["methods"]]
    return rows


def _row(outcome: Outcome, group: str, method: str, members: list[dict[str, Any]]) -> Row:
    found = [record["methods"][method] for record in members]
    scored = [each for each in found if "score" in each]
    equal = [each["equal"] for each in scored if each["equal"] is not None]
    shares = [each.get("predicted", 0) / math.prod(record["size"]) for each, record in zip(found, members)]
    scores = [Score(**each["score"]) for each in scored]
    inside = [each.within_95 for each in scores if not math.isnan(each.within_95)]
    times = outcome.times.get(group, {}).get(method)
    curves = np.array([each["curve"] for each in scored if np.isfinite(each["curve"]).any()], float)
    return Row(
        group,
        method,
        mean_score(scores),
        frames=len(members),
        scored=len(scored),
        failed=sum("failed" in each for each in found),
        lowest_within_95=min(inside, default=math.nan),
        highest_within_95=max(inside, default=math.nan),
        predicted=float(np.mean(shares)),
        equal_mean=float(np.mean([each["mean"] for each in equal])) if equal else math.nan,
        equal_median=float(np.mean([each["median"] for each in equal])) if equal else math.nan,
        has_confidence=len(curves) > 0,
        assessed=any(each["assessed"] for each in scored),
        curve=curves.mean(0).tolist() if len(curves) else [],
        reliability=_pooled([each["reliability"] for each in scored if each["reliability"]]),
        times=time_summary(times) if times else None,
        in_px=any(each["in_px"] for each in scored),
    )


def _pooled(tables: list[dict[str, list[float]]]) -> dict[str, list[float]] | None:
    """Reliability over all pixels of several frames."""
    if not tables:
        return None
    count = np.array([table["count"] for table in tables], float)
    total = count.sum(0)
    pooled: dict[str, list[float]] = {"count": total.tolist()}
    for name in ("probability", "within"):
        values = np.nan_to_num(np.array([table[name] for table in tables], float))
        with np.errstate(invalid="ignore"):
            pooled[name] = ((values * count).sum(0) / total).tolist()
    return pooled


def printable(text: str) -> str:
    """The text with escapes for what cannot be written: names of folders need not be text.

    Examples
    --------
    >>> printable("colon-\\udcff")
    'colon-\\\\udcff'
    """
    return text.encode(errors="backslashreplace").decode()


def counted(number: int, word: str) -> str:
    """A number and its noun, in the plural if need be.

    Examples
    --------
    >>> counted(1, "frame"), counted(2, "frame")
    ('1 frame', '2 frames')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


# --- Files ------------------------------------------------------------------------------------------------------------


def write_tables(folder: Path, outcome: Outcome, rows: list[Row], command: str) -> None:
    """Write results.json (everything), summary.csv (a line per group and method) and frames.csv (per frame as well).

    Parameters
    ----------
    folder : Path
        An existing folder.
    outcome : Outcome
        What :func:`bdis.evaluation.runner.run` returned.
    rows : list of Row
        What :func:`summarise` made of it.
    command : str
        The command that repeats the run.
    """
    content = {
        "command": command,
        "machine": machine(),
        "summary": [{**asdict(row), "score": asdict(row.score)} for row in rows],
        "frames": outcome.frames,
        "times_ms": outcome.times,
    }
    write_whole(folder / "results.json", f"{json_text(content)}\n".encode())
    write_whole(folder / "summary.csv", _csv(["group", "method", *SUMMARY_COLUMNS], map(_summary_line, rows)))
    header = ["group", "frame", "method", "failed", "assessed", *METRICS, "equal_mean", "equal_median"]
    write_whole(folder / "frames.csv", _csv(header, _frame_lines(outcome)))


SUMMARY_COLUMNS = [
    "frames", "scored", "failed", "assessed", "predicted", *METRICS, "lowest_within_95", "highest_within_95",
    "equal_mean", "equal_median", "min_ms", "median_ms", "p99_ms",
]  # fmt: skip


def _summary_line(row: Row) -> list[Any]:
    times = row.times or {}
    values = {**asdict(row), **asdict(row.score), **times}
    return [row.group, row.method, *(values.get(name, "") for name in SUMMARY_COLUMNS)]


def _frame_lines(outcome: Outcome) -> list[list[Any]]:
    lines = []
    for record in outcome.frames:
        for method, found in record["methods"].items():
            metrics, equal = found.get("score", {}), found.get("equal") or {}
            line = [record["group"], record["frame"], method, found.get("failed", record.get("skipped", ""))]
            line += [found.get("assessed", ""), *(metrics.get(name, "") for name in METRICS)]
            lines.append([*line, equal.get("mean", ""), equal.get("median", "")])
    return lines


def _csv(header: list[str], lines: Any) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for line in lines:
        writer.writerow(["" if isinstance(cell, float) and math.isnan(cell) else _short(cell) for cell in line])
    return printable(buffer.getvalue()).encode()


def _short(cell: Any) -> Any:
    return f"{cell:.6g}" if isinstance(cell, float) else cell
