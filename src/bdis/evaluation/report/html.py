"""The report: one HTML page with everything in it, without references to other files or sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from ...cameras.rgb import highlights
from ...common.atomic import write_whole
from ...common.machine import machine
from ..samples import Sample
from ..summary import Row, counted, printable
from . import pictures
from .columns import ASSESSED, COLUMNS, NOTHING, SECOND_TABLE, Column, best, columns
from .plots import color_of, error_coverage_plot, reliability_plot, time_error_plot

STYLE = Path(__file__).with_name("report.css")


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes
    ----------
    title : str
        Its heading.
    header : list of str
        A name per column.
    rows : list of list of str
        Cells; consecutive rows with the same first cell form a block.
    notes : list of str
        Remarks below it.
    strong : frozenset of tuple of int
        Cells in bold, as (row, column).
    spans : list of tuple of str and int
        A line above the header: text and the number of columns it spans; may be empty.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    strong: frozenset[tuple[int, int]] = frozenset()
    spans: list[tuple[str, int]] = field(default_factory=list)

    def one_line_header(self) -> list[str]:
        """Header and spans in one line, for output that cannot show spans.

        Examples
        --------
        >>> Table("", ["", "mean", "time"], [], spans=[("", 1), ("printed", 2)]).one_line_header()
        ['', 'printed: mean', 'time']
        """
        names, column = list(self.header), 0
        for words, count in self.spans:
            if words:
                names[column] = f"{words}: {names[column]}"
            column += count
        return names


def write_report(
    path: Path,
    rows: list[Row],
    samples: dict[str, Path],
    command: str,
    *,
    title: str = "Stereo matching benchmark",
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
    set_up: Mapping[str, str] | None = None,
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
        The HTML file.
    rows : list of Row
        What :func:`bdis.evaluation.summary.summarise` returned.
    samples : dict of str to Path
        By group, files that :func:`bdis.evaluation.samples.pack_sample` made.
    command : str
        The command that makes this report again.
    title : str
        Title of the page.
    tables : sequence of Table
        Shown before everything else.
    notes : sequence of str
        Remarks, such as what was left out.
    set_up : mapping of str to str, optional
        By method, how it is set up, in words.

    Raises
    ------
    ImportError
        Matplotlib is not installed.
    OSError
        The file cannot be written; no incomplete file is left.

    Examples
    --------
    >>> import tempfile
    >>> from bdis.evaluation.runner import Outcome
    >>> from bdis.evaluation.summary import summarise
    >>> frame = {"group": "a", "frame": "1", "size": [4, 2], "methods": {"m": {"predicted": 6}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     write_report(path, summarise(Outcome(["m"], [frame])), {}, "bdis bench ...")
    ...     "1 method on 1 frame of 1 data set." in path.read_text()
    True
    """
    groups = list(dict.fromkeys(row.group for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    parts = [_head(title, command, groups, methods, rows, notes)]
    parts += [_section(table.title, _table(table)) for table in tables]
    words = (
        "Median and mean of the absolute depth error in mm, valid pixels in thousands, median time in s; best in bold."
    )
    parts.append(_section("All data sets", _table(paper_form(rows)), words))
    for group in groups:
        parts.append(_group(group, [row for row in rows if row.group == group], samples.get(group)))
    parts.append(_legend(rows))
    parts.append(_settings({name: words for name, words in (set_up or {}).items() if name in methods}))
    page = _PAGE.format(title=escape(title), style=STYLE.read_text(), body="\n".join(parts))
    write_whole(path, printable(page).encode())


def paper_form(rows: list[Row]) -> Table:
    """The layout of the paper's tables: metrics down, methods across, a block per data set."""
    methods = list(dict.fromkeys(row.method for row in rows))
    wanted = [column for column in COLUMNS if column.title in ("median mm", "mean mm", "valid k-px")]
    wanted.sort(key=lambda column: ["median mm", "mean mm", "valid k-px"].index(column.title))
    lines: list[list[str]] = []
    strong: set[tuple[int, int]] = set()
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        column_of = {row.method: 2 + methods.index(row.method) for row in members}
        for column, name in zip(wanted, ("Median", "Mean", "Validity")):
            if all(column.text(row) == NOTHING for row in members):
                continue
            tops = [row for row, top in zip(members, best(column, members)) if top and name != "Validity"]
            strong |= {(len(lines), column_of[row.method]) for row in tops}
            lines.append([group, name, *_across(methods, {row.method: column.text(row) for row in members})])
        if any(row.times for row in members):
            seconds = {row.method: f"{row.times['median_ms'] / 1e3:.4f}" for row in members if row.times}
            lines.append([group, "Time", *_across(methods, seconds)])
    return Table("", ["", "", *methods], lines, strong=frozenset(strong))


def _across(methods: list[str], cells: dict[str, str]) -> list[str]:
    return [cells.get(method, NOTHING) for method in methods]


def _head(
    title: str, command: str, groups: list[str], methods: list[str], rows: list[Row], notes: Sequence[str]
) -> str:
    frames = sum({row.group: row.frames for row in rows}.values())
    facts = ", ".join(f"{name} {value}" for name, value in machine().items())
    remarks = "".join(f"<li>{escape(note)}</li>" for note in notes)
    remarks = f"<ul class='notes'>{remarks}</ul>" if remarks else ""
    scope = f"{counted(len(methods), 'method')} on {counted(frames, 'frame')} of {counted(len(groups), 'data set')}."
    return f"""<header><h1>{escape(title)}</h1>
<p class="lead">{scope}</p>
<pre>{escape(command)}</pre>
<p class="small">{escape(facts)}. Metrics are averages over frames. Times are measured with the methods taking turns on
each frame, in one process with one thread.{_assessed_in_words(rows)}</p>{remarks}</header>"""


def _assessed_in_words(rows: list[Row]) -> str:
    """Which methods have no confidence of their own, in a sentence of HTML; empty if all have one."""
    names = dict.fromkeys(row.method for row in rows if row.assessed)
    if not names:
        return ""
    return (
        f" Methods without a confidence of their own ({escape(', '.join(names))}) are given that of bdis.assess, "
        f"outside the measured times; numbers marked {ASSESSED} and dashed lines depend on it."
    )


def _section(title: str, content: str, lead: str = "") -> str:
    lead = f"<p>{escape(lead)}</p>" if lead else ""
    return f"<section><h2>{escape(title)}</h2>{lead}{content}</section>"


def _table(table: Table) -> str:
    above = "".join(f"<th colspan={count}>{escape(words)}</th>" for words, count in table.spans)
    above = f"<tr class=spans>{above}</tr>" if above else ""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    names = [row[0] for row in table.rows]
    has_blocks = len(set(names)) < len(names)
    lines = []
    for number, row in enumerate(table.rows):
        is_new = number == 0 or names[number - 1] != row[0]
        shown = row if is_new else ["", *row[1:]]  # the name of a block is shown once
        cells = [_cell(cell, (number, column) in table.strong) for column, cell in enumerate(shown)]
        mark = " class=block" if has_blocks and is_new and number else ""
        lines.append(f"<tr{mark}>{''.join(cells)}</tr>")
    notes = "".join(f"<p class='small'>{escape(note)}</p>" for note in table.notes)
    body = f"<thead>{above}<tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f"<div class='scroll'><table>{body}</table></div>{notes}"


def _cell(text: str, is_best: bool) -> str:
    is_number = text.rstrip(f"x*%{ASSESSED}").replace(".", "", 1).lstrip("-").isdigit() or text in ("", NOTHING)
    kind = "best" if is_best else "" if is_number else "words"
    return f"<td{f' class={kind}' if kind else ''}>{escape(text)}</td>"


def _group(group: str, rows: list[Row], sample: Path | None) -> str:
    shown = columns(rows)
    strong = frozenset(
        (line, 1 + index) for index, column in enumerate(shown) for line, top in enumerate(best(column, rows)) if top
    )
    cells = [[row.method, *(column.text(row) for column in shown)] for row in rows]
    tables = "".join(_table(part) for part in _halves(shown, cells, strong))
    plots = [
        ("Error against coverage", "Lines: the most certain pixels first. Dots: all pixels that a method predicts.",
         error_coverage_plot(rows)),
        ("Time against error", "Lower left is better; both axes are logarithmic.", time_error_plot(rows)),
        ("Reliability", "On the diagonal the probability equals the share of correct pixels.", reliability_plot(rows)),
    ]  # fmt: skip
    drawn = "".join(
        f"<figure class='plot'><figcaption><b>{name}</b><br>{words}</figcaption>{svg}</figure>"
        for name, words, svg in plots
        if svg is not None
    )
    dots = "".join(f"{_dot(index)}{escape(row.method)} &ensp; " for index, row in enumerate(rows))
    names = f"<p class='methods'>{dots}</p>"
    skipped = rows[0].frames - rows[0].scored
    lead = counted(rows[0].frames, "frame") + (f", {skipped} of them without a score" if skipped else "")
    failed = [f"{row.method} failed on {row.failed}" for row in rows if row.failed]
    lead += f"; {', '.join(failed)}" if failed else ""
    views = _sample(Sample(sample), rows) if sample is not None and sample.is_file() else ""
    return _section(group, f"{tables}{names if drawn else ''}<div class='plots'>{drawn}</div>{views}", lead + ".")


def _halves(shown: list[Column], cells: list[list[str]], strong: frozenset[tuple[int, int]]) -> list[Table]:
    """Errors in one table, confidence and time in another: all columns in one would be too wide."""
    split = next((index for index, column in enumerate(shown) if column.title in SECOND_TABLE), len(shown))
    out = []
    for begin, end in ((0, split), (split, len(shown))):
        if begin < end:
            marks = frozenset((line, column - begin) for line, column in strong if begin < column <= end)
            header = ["method", *(column.title for column in shown[begin:end])]
            out.append(Table("", header, [[line[0], *line[1 + begin : 1 + end]] for line in cells], strong=marks))
    return out


def _sample(sample: Sample, rows: list[Row]) -> str:
    """Pictures of one frame: a row per method with its depth, its error and its surface."""
    unit = "px" if sample.rig is None else "mm"
    like = sample.reference if sample.reference is not None else next(iter(sample.maps.values()), None)
    if like is None:
        return ""
    low, high = pictures.bulk(like)
    colors = "turbo" if sample.rig is None else "turbo_r"
    what = "disparity" if sample.rig is None else "depth"
    cells = [_picture("left image", pictures.photograph(sample.left))]
    if sample.reference is not None:
        cells.append(_picture(f"reference {what}", pictures.colored(sample.reference, low, high, colors)))
        if sample.rig is not None:
            cells.append(
                _picture("reference surface", pictures.surface(sample.reference, sample.rig, sample.left, like))
            )
    lines = [f"<div class='views'>{''.join(cells)}</div>"]
    errors = {}
    if sample.reference is not None:
        errors = {name: np.abs(each - sample.reference) for name, each in sample.maps.items()}
    tops = [pictures.bulk(error, 0, 90)[1] for error in errors.values() if np.isfinite(error).any()]
    top = float(np.median(tops)) if tops else 1.0
    index_of = {row.method: index for index, row in enumerate(rows)}
    for name, each in sample.maps.items():
        cells = [_picture(what, pictures.colored(each, low, high, colors), f"{what} of {name}")]
        if name in errors:
            known = errors[name][np.isfinite(errors[name])]
            words = f"error, mean {known.mean():.3f} {unit}" if known.size else "error: nothing predicted"
            shown = pictures.colored(errors[name], 0, top, "inferno", highlights(sample.left))
            cells.append(_picture(words, shown, f"{words}, of {name}"))
        if sample.rig is not None:
            surface = pictures.surface(each, sample.rig, sample.left, like)
            cells.append(_picture("surface", surface, f"surface of {name}"))
        lines.append(f"<h4>{_dot(index_of[name])}{escape(name)}</h4><div class='views'>{''.join(cells)}</div>")
    scale = (
        f"<p class='small scale'>{what} {low:.3g} <span class='{colors}'></span> {high:.3g} {unit}"
        + (
            f" &emsp; error 0 <span class='inferno'></span> {top:.2g} {unit} and more, highlights outlined"
            if errors
            else ""
        )
        + " &emsp; grey: unknown</p>"
    )
    return f"<h3>Frame {escape(sample.name)}</h3>{scale}{''.join(lines)}"


def _dot(index: int) -> str:
    return f"<i style='background:{color_of(index)}'></i>"


def _picture(words: str, address: str, alt: str = "") -> str:
    """A picture with a caption; ``alt`` is for those who do not see which row it stands in."""
    image = f"<img alt='{escape(alt or words)}' src='{address}'>"
    return f"<figure>{image}<figcaption>{escape(words)}</figcaption></figure>"


def _legend(rows: list[Row]) -> str:
    items = "".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.explained)}</dd>" for c in columns(rows))
    return _section("What the columns are", f"<dl>{items}</dl>")


def _settings(set_up: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in set_up.items())
    return _section("How the methods are set up", f"<dl>{items}</dl>") if items else ""


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head>
<body><main>
{body}
</main></body></html>
"""
