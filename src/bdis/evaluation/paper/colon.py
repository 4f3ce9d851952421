"""Table I: the virtual colon; and its sets that have no table."""

from ..datasets.authors import MAX_DEPTH_MM
from ..report.html import Table
from ..summary import counted
from . import printed
from .cells import Findings, Line, RowsByName, median_and_mean, method_lines, number, seconds
from .plans import FURTHER_SETS, PUBLISHED, SYNTHETIC_SETS

_DECODING = "The published depth decoding is off by up to 0.4 mm, which makes most of the printed medians."
_UNITS = (
    "Median and mean absolute depth error, mm; validity: predicted pixels, thousands, "
    f"here those of less than {MAX_DEPTH_MM:g} mm"
)


def synthetic_table(found: Findings) -> Table:
    """Table I: the paper's ten frames of each light, then all frames if there are more."""
    header = ["", "method", *["median", "mean", "validity", "time"], *["median", "mean", "validity"] * 2, "time"]
    spans = [("", 2), (f"printed, {printed.FRAMES_OF_A_COLON} frames", 4), ("here, published depth", 3)]
    spans += [("here, exact depth", 4)]
    lines: list[list[str]] = []
    for name in SYNTHETIC_SETS:
        group = f"set {name}"
        if not found.has(group):
            continue
        measured = [method for where, method in found.all_frames if where == group]
        methods = method_lines(printed.SYNTHETIC[name], measured)
        theirs = next((row.frames for (where, _), row in found.papers_frames.items() if where == group), 0)
        total = next(row.frames for (where, _), row in found.all_frames.items() if where == group)
        times = {each.name: seconds(found.all_frames.get((group, each.name or ""))) for each in methods}
        if theirs:
            block = f"{group}, the paper's: {counted(theirs, 'frame')}"
            lines += [
                [
                    block,
                    each.label,
                    *_printed(name, each),
                    *_measured(found.papers_frames, group, each),
                    times[each.name],
                ]
                for each in methods
            ]
        if total > theirs:
            block = f"{group}, all: {counted(total, 'frame')}"
            lines += [
                [block, each.label, *[""] * 4, *_measured(found.all_frames, group, each), times[each.name]]
                for each in methods
                if each.name is not None
            ]
    notes = [
        f"{_UNITS}; time, s, printed for an i5-9400 and measured here on this machine, one core each.",
        "Set 30 is the paper's diffuse light, set 31 its non-Lambertian reflectance. It has ten frames of each, "
        "numbered from 1: taken to be frames 1 to 10.",
        "The paper's DIS is OpenCV's, here without pixels whose flow leaves the row; our own DIS keeps every pixel.",
        _DECODING,
    ]
    return Table("Synthetic colon (the paper's Table I)", header, lines, notes, spans=spans)


def further_table(found: Findings) -> Table:
    """Sets 32 and 33."""
    lines = []
    for name in FURTHER_SETS:
        group = f"set {name}"
        rows = [(method, row) for (where, method), row in found.all_frames.items() if where == group]
        measured = [line for line in method_lines(printed.METHOD_NAMES, [method for method, _ in rows]) if line.name]
        for line in measured:
            lines.append([f"{group}, {counted(rows[0][1].frames, 'frame')}", line.label,
                          *_measured(found.all_frames, group, line)])  # fmt: skip
    header = ["", "method", *["median", "mean", "validity"] * 2]
    spans = [("", 2), ("here, published depth", 3), ("here, exact depth", 3)]
    notes = [f"{_UNITS}. The authors publish these sets, but no table of them.", _DECODING]
    return Table("Further sets of the virtual colon (not in the paper)", header, lines, notes, spans=spans)


def _printed(name: str, line: Line) -> list[str]:
    values = printed.SYNTHETIC[name].get(line.known or "")
    if values is None:
        return ["-"] * 4
    median, mean, valid, time = values
    return [number(median), number(mean), number(valid, "{:.1f}"), number(time)]


def _measured(rows: RowsByName, group: str, line: Line) -> list[str]:
    cells = []
    for where in (group + PUBLISHED, group):
        row = rows.get((where, line.name or ""))
        cells += [*median_and_mean(row), number(None if row is None else row.score.valid / 1e3, "{:.1f}")]
    return cells
