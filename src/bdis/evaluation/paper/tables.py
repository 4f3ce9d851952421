"""The paper's tables, measured again and shown beside the printed numbers, as far as the available data allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...matching.matcher import StereoMatcher
from ..baselines import METHODS, Method, method
from ..datasets import Dataset, Entry, Frame, open_dataset
from ..report.html import Table
from ..runner import BenchmarkPlan, DatasetChoice, Outcome, with_settings
from ..summary import Row, counted
from . import printed

SYNTHETIC_SETS = ("30", "31")
HAMLYN_SETS = ("6", "20", "21")
HAMLYN_MAX_MM = 300.0  # larger depths count as unknown, as in the rectified Hamlyn release
PUBLISHED = " (published depth)"
AGAINST = " against ELAS"
VARIANCE = "bdis-paper with variance"
ABLATIONS: dict[str, dict[str, Any]] = {
    "no sGMM": {"sigma_spatial": None},
    "no coarse-to-fine": {"propagate": False},
    "no dynamic sigma": {"sigma_r": 8.0},
}


def paper_plans(
    path: Path, extra: Sequence[Method], *, most: int | None, rounds: int, jobs: int, assess: bool = True
) -> tuple[BenchmarkPlan, BenchmarkPlan, list[str]]:
    """The runs behind the paper's tables.

    Parameters
    ----------
    path : Path
        The folder of the authors' data set.
    extra : sequence of Method
        Methods to compare beside those of the paper and the default one.
    most : int or None
        At most this many frames of each set.
    rounds, jobs : int
        As in :class:`bdis.evaluation.runner.BenchmarkPlan`.
    assess : bool
        As there.

    Returns
    -------
    comparison, ablation : BenchmarkPlan
        What to run.
    notes : list of str
        What is missing, in words.

    Raises
    ------
    ValueError
        There is neither a virtual colon nor a Hamlyn set.
    """
    found = [group.removeprefix("set ") for group in open_dataset(path, "authors").groups]
    synthetic = [name for name in SYNTHETIC_SETS if name in found]
    hamlyn = [name for name in HAMLYN_SETS if name in found]
    if not synthetic and not hamlyn:
        raise ValueError(f"{path} has sets {', '.join(found)}; the paper's tables need 30 and 31, or 6, 20 and 21")
    paper = method(printed.METHOD_NAMES["BDIS"])
    methods, notes = _available_methods()
    methods.append(_variant(paper, VARIANCE, {"variance": "paper"}))
    methods += [each for each in extra if each.name not in [known.name for known in methods]]

    choices = _synthetic_choices(path, synthetic, most) if synthetic else []
    ablation = list(choices)
    if missing := [name for name in (*SYNTHETIC_SETS, *HAMLYN_SETS) if name not in found]:
        notes.append(f"{path} has no set {', '.join(missing)}: left out")
    if hamlyn and "elas" in [each.name for each in methods]:
        data = _against(open_dataset(path, "authors", sets="+".join(hamlyn)).thinned(most), method("elas"))
        choices.append(DatasetChoice(f"{path.resolve()} against ELAS", data, without=("elas",)))
    elif hamlyn:
        notes.append("the table against ELAS on Hamlyn needs the method elas: left out")
    notes.append("GwcNet and PSMNet are networks and are not run; for SERV-CT and SCARED use: bdis bench FOLDER")
    without = [_variant(paper, name, changes) for name, changes in ABLATIONS.items()]
    return (
        BenchmarkPlan(choices, methods, rounds=rounds, jobs=jobs, assess=assess),
        BenchmarkPlan(ablation, [paper, *without], rounds=0, jobs=jobs, assess=assess),
        notes,
    )


def paper_tables(outcome: Outcome, rows: list[Row], ablation: list[Row]) -> list[Table]:
    """The tables, measured values beside the printed ones.

    Parameters
    ----------
    outcome : Outcome
        Result of the comparison.
    rows : list of Row
        Its summary.
    ablation : list of Row
        Summary of the ablation.

    Returns
    -------
    list of Table
        Those for which there is data.
    """
    found = {(row.group, row.method): row for row in rows}
    tables = [_synthetic(found), _hamlyn(found), _coverage(outcome)]
    tables += [_ablation({(row.group, row.method): row for row in ablation}), _times(found)]
    return [table for table in tables if table.rows]


# --- What is run ------------------------------------------------------------------------------------------------------


def _available_methods() -> tuple[list[Method], list[str]]:
    """The paper's methods and the default one, as far as they can run here, and notes on the others."""
    methods, notes = [], []
    for name in [*printed.METHOD_NAMES.values(), next(iter(METHODS))]:
        if METHODS[name].needs is not None:
            notes.append(f"method {name} needs {METHODS[name].needs}: its columns are empty")
        else:
            methods.append(METHODS[name])
    return methods, notes


def _synthetic_choices(path: Path, names: list[str], most: int | None) -> list[DatasetChoice]:
    """The virtual colon with exact and with published depth."""
    exact, published = (
        open_dataset(path, "authors", sets="+".join(names), decoding=decoding).thinned(most)
        for decoding in ("exact", "published")
    )
    where = path.resolve()
    return [DatasetChoice(f"{where} exact", exact), DatasetChoice(f"{where} published", published, timed=False)]


def _variant(of: Method, name: str, changes: dict[str, Any]) -> Method:
    """A method of bdis with some settings changed."""

    def make(max_disparity_px: float | None) -> StereoMatcher:
        matcher = of.make(max_disparity_px)
        assert isinstance(matcher, StereoMatcher)
        return with_settings(matcher, **changes)

    return Method(name, f"{of.name}, {changes}", None, make)


def _against(data: Dataset, reference: Method) -> Dataset:
    """The same frames with the result of a method as their reference."""

    def entry(of: Entry) -> Entry:
        group = of.group + AGAINST

        def read() -> Frame:
            frame = replace(of.read(), group=group, max_depth_mm=HAMLYN_MAX_MM)
            if frame.rig is None:
                return frame
            depth = frame.rig.depth(reference.make(frame.max_disparity_px).match(frame.left, frame.right))
            with np.errstate(invalid="ignore"):
                return replace(frame, reference_depth_mm=np.where(depth < HAMLYN_MAX_MM, depth, np.float32(np.nan)))

        return Entry(group, of.name, read)

    return Dataset(data.name, data.kind, [entry(each) for each in data])


# --- Tables -----------------------------------------------------------------------------------------------------------

RowsByName = dict[tuple[str, str], Row]  # by group and method


def _number(value: float | None, form: str = "{:.3f}") -> str:
    return "-" if value is None or math.isnan(value) else form.format(value)


def _median_and_mean(row: Row | None) -> list[str]:
    return ["-", "-"] if row is None else [_number(row.score.median_mm), _number(row.score.mean_mm)]


def _seconds(row: Row | None) -> str:
    return "-" if row is None or row.times is None else f"{row.times['median_ms'] / 1e3:.4f}"


def _own(found: RowsByName, group: str) -> list[str]:
    """Methods on a group that are not in the paper."""
    return [
        name for (where, name) in found if where == group and name not in (*printed.METHOD_NAMES.values(), VARIANCE)
    ]


def _synthetic(found: RowsByName) -> Table:
    header = ["", "method", *["median", "mean", "validity", "time"], *["median", "mean", "validity"] * 2, "time"]
    spans = [("", 2), ("printed", 4), ("here, published depth", 3), ("here, exact depth", 4)]
    lines = []
    for name in SYNTHETIC_SETS:
        group = f"set {name}"
        if not any(where == group for where, _ in found):
            continue
        block = f"{printed.LIGHT[name]} (set {name})"
        names = {**{known: printed.METHOD_NAMES.get(known) for known in printed.SYNTHETIC[name]}}
        names |= {ours: ours for ours in _own(found, group)}
        for known, ours in names.items():
            shown = printed.SYNTHETIC[name].get(known)
            median, mean, valid, seconds = shown if shown else (None,) * 4
            line = [block, known if ours in (None, known) else f"{known} = {ours}"]
            line += [_number(median), _number(mean), _number(valid, "{:.1f}"), _number(seconds)]
            for row in (found.get((group + PUBLISHED, ours or "")), found.get((group, ours or ""))):
                valid = None if row is None else row.score.valid / 1e3
                line += [*_median_and_mean(row), _number(valid, "{:.1f}")]
            lines.append([*line, _seconds(found.get((group, ours or "")))])
    notes = [
        "Median and mean absolute depth error, mm; validity: predicted pixels, thousands; time, s, printed for an "
        "i5-9400 and measured here on this machine, one core each.",
        "The published depth decoding is off by up to 0.4 mm, which makes most of the printed medians.",
    ]
    return Table("Synthetic colon (the paper's Table I)", header, lines, notes, spans=spans)


def _hamlyn(found: RowsByName) -> Table:
    groups = list(dict.fromkeys(group for group, _ in found if group.endswith(AGAINST)))
    ours = [printed.METHOD_NAMES[name] for name in printed.HAMLYN_METHODS]
    own = _own(found, groups[0]) if groups else []
    names = [*printed.HAMLYN_METHODS, *own]
    header = ["", *names * 3]
    spans = [("", 1), *((metric, len(names)) for metric in ("median", "mean", "standard deviation"))]
    lines = []
    for group in groups:
        rows = [found.get((group, name)) for name in [*ours, *own]]
        cells = [
            _number(getattr(row.score, metric) if row is not None and row.scored else None, "{:.2f}")
            for metric in ("median_mm", "mean_mm", "std_mm")
            for row in rows
        ]
        frames = next(row.frames for row in rows if row is not None)
        lines.append([f"{group.removesuffix(AGAINST)} here, {counted(frames, 'frame')}", *cells])
    if lines:
        for name, values_printed in printed.HAMLYN.items():
            cells = [text for values in values_printed for text in [*(f"{v:.2f}" for v in values), *["-"] * len(own)]]
            lines.append([f"{name} printed", *cells])
    notes = [
        "Absolute difference in depth from ELAS, mm, where both predict. The paper groups its frames by distance into "
        "Data 1 to 5 and does not say which frames are in which, so the printed rows are a range and not counterparts. "
        f"Here, {', '.join(f'{known} is {name}' for known, name in zip(printed.HAMLYN_METHODS, ours))}.",
    ]
    return Table("Against ELAS on Hamlyn (the paper's Table V)", header, lines, notes, spans=spans)


def _coverage(outcome: Outcome) -> Table:
    own = next(iter(METHODS))
    columns = [(VARIANCE, PUBLISHED), (VARIANCE, ""), (own, "")]
    found: dict[tuple[str, str, str], float] = {}
    for record in outcome.frames:
        for name, values in record["methods"].items():
            if "score" in values:
                found[record["group"], record["frame"], name] = 100 * values["within_196_sigma"]
    lines = []
    for name, letter in zip(SYNTHETIC_SETS, "Aa"):
        group = f"set {name}"
        frames = [record["frame"] for record in outcome.frames if record["group"] == group]
        block = [
            [
                printed.COVERAGE_SYNTHETIC.get(f"{letter}{frame}", math.nan),
                *(found.get((group + d, frame, m), math.nan) for m, d in columns),
            ]
            for frame in frames
        ]
        lines += [
            [group, f"{letter}{frame}", *(_number(v, "{:.1f}") for v in line)] for frame, line in zip(frames, block)
        ]
        if block:
            means = [np.array(column)[np.isfinite(column)] for column in np.array(block, float).T]
            lines.append([group, "mean", *(_number(float(v.mean()) if len(v) else None, "{:.1f}") for v in means)])
    header = ["", "frame", "printed", "published depth", "exact depth", "exact depth"]
    spans = [("", 3), (f"here, {VARIANCE}", 2), (f"here, {own}", 1)]
    notes = ["Share of the depth errors within 1.96 sigma, %; 95 is ideal. The paper prints ten frames of each set."]
    return Table("Coverage of the variance (the paper's Table VI)", header, lines, notes, spans=spans)


def _ablation(found: RowsByName) -> Table:
    paper = printed.METHOD_NAMES["BDIS"]
    lines = []
    for name in SYNTHETIC_SETS:
        for known, (median, mean) in printed.ABLATION[name].items():
            ours = paper if known == "BDIS" else known
            rows = [found.get((f"set {name}{d}", ours)) for d in (PUBLISHED, "")]
            if rows[1] is None:
                continue
            cells = [text for row in rows for text in _median_and_mean(row)]
            lines.append([f"{printed.LIGHT[name]} (set {name})", known, _number(median), _number(mean), *cells])
    header = ["", "", *["median", "mean"] * 3]
    spans = [("", 2), ("printed", 2), ("here, published depth", 2), ("here, exact depth", 2)]
    notes = [f"mm; here: {paper} with one part switched off."]
    return Table("Ablation (the paper's Table VII)", header, lines, notes, spans=spans)


def _times(found: RowsByName) -> Table:
    group = next((f"set {name}" for name in SYNTHETIC_SETS if any(g == f"set {name}" for g, _ in found)), None)
    if group is None or not any(row.times for row in found.values()):
        return Table("", [], [])
    names: dict[str, str | None] = {known: printed.METHOD_NAMES.get(known) for known in printed.TIME}
    names["BDIS with variance"] = VARIANCE
    names |= {ours: ours for ours in _own(found, group)}
    elas = found.get((group, "elas"))
    lines = []
    for known, ours in names.items():
        row = found.get((group, ours or ""))
        ratio = None
        if row is not None and row.times and elas is not None and elas.times:
            ratio = elas.times["median_ms"] / row.times["median_ms"]
        shown = printed.TIME.get(known)
        printed_ratio = printed.TIME["ELAS"][0] / shown[0] if shown else None
        lines.append(
            [
                known if ours in (None, known) else f"{known} = {ours}",
                _number(shown[0] if shown else None),
                _number(printed_ratio, "{:.1f}x"),
                _seconds(row),
                _number(row.times["p99_ms"] / 1e3 if row is not None and row.times else None, "{:.4f}"),
                _number(ratio, "{:.1f}x"),
            ]
        )
    header = ["", "s", "faster than ELAS", "median, s", "p99, s", "faster than ELAS"]
    spans = [("", 1), ("printed", 2), ("here", 3)]
    notes = [
        f"640x480, {group}; printed: i5-9400, networks on a GTX 1080 Ti; here: this machine, one core, one thread."
    ]
    return Table("Time (the paper's Table VIII)", header, lines, notes, spans=spans)
