"""Tables VI to VIII: coverage of the variance, ablation and time."""

from __future__ import annotations

import math

import numpy as np

from ..baselines import METHODS
from ..report.html import Table
from ..summary import counted
from . import printed
from .cells import Findings, median_and_mean, method_lines, number, seconds
from .plans import PUBLISHED, SYNTHETIC_SETS, TIME_AT, TIMED_SIZES, VARIANCE


def coverage_table(found: Findings) -> Table:
    """Table VI: the share of the errors within 1.96 sigma, frame by frame."""
    own = next(iter(METHODS))
    shares: dict[tuple[str, str, str], float] = {}
    for record in found.outcome.frames:
        for name, values in record["methods"].items():
            if "score" in values:
                shares[record["group"], record["frame"], name] = 100 * values["within_196_sigma"]
    lines: list[list[str]] = []
    for title, group, frame_names in _coverage_blocks(found):
        block = []
        for name, frame, where in frame_names:
            published = shares.get((where + PUBLISHED, frame, VARIANCE), math.nan)
            exact = shares.get((where, frame, VARIANCE), math.nan)
            block.append([group.get(name, math.nan), published, exact, shares.get((where, frame, own), math.nan)])
        table = np.array(block, float)
        lines += [[title, name, *_shares(row)] for (name, _, _), row in zip(frame_names, table)]
        theirs = table[np.isfinite(table[:, 0])]
        if len(theirs):
            lines.append([title, f"mean of the paper's: {counted(len(theirs), 'frame')}", *_shares(_means(theirs))])
        if len(table) > len(theirs):
            lines.append([title, f"mean of all: {counted(len(table), 'frame')}", "-", *_shares(_means(table[:, 1:]))])
    header = ["", "frame", "printed", "published depth", "exact depth", "exact depth"]
    spans = [("", 3), (f"here, {VARIANCE}", 2), (f"here, {own}", 1)]
    notes = [
        "Share of the depth errors within 1.96 sigma, %; 95 is ideal. The paper prints ten frames of each light, 15 "
        "pairs of SERV-CT and 34 keyframes of SCARED. On the virtual colon its numbers were made with the published "
        "depth, whose own errors count as the matcher's. SCARED and SERV-CT have one reference, shown as exact.",
    ]
    return Table("Coverage of the variance (the paper's Table VI)", header, lines, notes, spans=spans)


def _coverage_blocks(found: Findings) -> list[tuple[str, dict[str, float], list[tuple[str, str, str]]]]:
    """Title, printed shares by name, and name, frame and group of the frames that were run."""
    blocks = []
    for name, letter in zip(SYNTHETIC_SETS, "Aa"):
        group = f"set {name}"
        frames = [record["frame"] for record in found.outcome.frames if record["group"] == group]
        blocks.append((group, printed.COVERAGE_SYNTHETIC, [(f"{letter}{frame}", frame, group) for frame in frames]))
    servct = {f"S{number}": value for number, value in printed.COVERAGE_SERVCT.items()}
    for group, values in (("SERV-CT", servct), ("SCARED", printed.COVERAGE_SCARED)):
        frames = [(record["frame"], record["group"]) for record in found.records(group)]
        names = [f"S{int(frame)}" if group == "SERV-CT" and frame.isdecimal() else frame for frame, _ in frames]
        blocks.append((group, values, [(name, *each) for name, each in zip(names, frames)]))
    return [block for block in blocks if block[2]]


def _shares(values: np.ndarray) -> list[str]:
    return [number(float(value), "{:.1f}") for value in values]


def _means(table: np.ndarray) -> np.ndarray:
    known = [column[np.isfinite(column)] for column in table.T]
    return np.array([column.mean() if len(column) else math.nan for column in known])


def ablation_table(found: Findings) -> Table:
    """Table VII: the paper's frames with the depth that it used, and all frames with exact depth."""
    paper = printed.METHOD_NAMES["BDIS"]
    lines = []
    for name, values in printed.ABLATION.items():
        is_colon = name in SYNTHETIC_SETS
        group = f"set {name}" if is_colon else name
        title = f"{printed.LIGHT[name]} (set {name})" if is_colon else name
        for known, (median, mean) in values.items():
            ours = paper if known == "BDIS" else known
            theirs = found.papers_frames.get((group + PUBLISHED if is_colon else group, ours))
            every = found.all_frames.get((group, ours))
            if every is None:
                continue
            lines.append([title, known, number(median), number(mean), str(34 if name == "SCARED" else 10)])
            lines[-1] += [*median_and_mean(theirs), str(theirs.scored if theirs else 0)]
            lines[-1] += [*median_and_mean(every), str(every.scored)]
    header = ["", "", *["median", "mean", "frames"] * 3]
    spans = [("", 2), ("printed", 3), ("here, the paper's frames, published depth", 3), ("here, all, exact depth", 3)]
    notes = [f"mm; here: {paper} with one part switched off. SCARED has one reference depth, used in both places."]
    return Table("Ablation (the paper's Table VII)", header, lines, notes, spans=spans)


def time_table(found: Findings) -> Table:
    """Table VIII: three sizes."""
    colon = next((f"set {name}" for name in SYNTHETIC_SETS if found.has(f"set {name}")), None)
    groups = [colon, *(TIME_AT + size for size in TIMED_SIZES)]
    rows = found.all_frames
    if not any(row.times for (group, _), row in rows.items() if group in groups):
        return Table("", [], [])
    measured = dict.fromkeys(name for group, name in rows if group in groups)
    methods = [(line.label, line.known, line.name) for line in method_lines(printed.METHOD_NAMES, measured)]
    methods.insert(
        [known for _, known, _ in methods].index("BDIS") + 1, ("BDIS with variance", "BDIS with variance", VARIANCE)
    )
    lines = []
    for label, known, name in methods:
        line = [label]
        for index, group in enumerate(groups):
            shown = printed.TIME.get(known or "")
            row, elas = (rows.get((group or "", each)) for each in (name or "", "elas"))
            ratio = None
            if row is not None and row.times and elas is not None and elas.times:
                ratio = elas.times["median_ms"] / row.times["median_ms"]
            line += [number(shown[index] if shown else None), seconds(row), seconds(row, "p99_ms")]
            line += [number(printed.TIME["ELAS"][index] / shown[index] if shown else None, "{:.1f}x")]
            line += [number(ratio, "{:.1f}x")]
        lines.append(line)
    header = ["", *["printed, s", "here, s", "p99, s", "printed, x", "here, x"] * 3]
    titles = [f"640x480{f', {colon}' if colon else ''}", *(f"{size}, rendered" for size in TIMED_SIZES)]
    spans = [("", 1), *((title + _matches(found, group), 5) for title, group in zip(titles, groups))]
    notes = [
        "Printed: the average of 10 runs, i5-9400, networks on a GTX 1080 Ti; its sizes are those of the virtual "
        "colon, SCARED and SERV-CT. Here: this machine, one core, one thread, median; the two larger sizes are "
        "rendered tissue, so that they are measured without those data sets too. x: how much faster than ELAS."
    ]
    return Table("Time (the paper's Table VIII)", header, lines, notes, spans=spans)


def _matches(found: Findings, group: str | None) -> str:
    """How many times stand behind each number."""
    most = max(map(len, found.outcome.times.get(group or "", {}).values()), default=0)
    return f", {counted(most, 'run')}" if most else ""
