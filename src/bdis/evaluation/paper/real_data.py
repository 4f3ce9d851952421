"""Tables II to V: SCARED, SERV-CT, and Hamlyn against ELAS."""

from __future__ import annotations

from collections.abc import Mapping

from ..report.comparison import beside_printed
from ..report.html import Table
from ..summary import counted
from . import printed
from .cells import Findings, number
from .plans import AGAINST, OUR_DIS, VARIANCE, WITH_GAMMA_OF_288_ROWS


def scared_test_table(found: Findings) -> Table:
    """Table II: the keyframes that the networks were not trained on."""
    return _by_frame(
        found, "SCARED", "SCARED, data sets 8 and 9: mean absolute depth error, mm (the paper's Table II)", "mean_mm",
        printed.SCARED_TEST_METHODS, printed.SCARED_TEST, printed.SCARED_TEST_AVERAGES,
    )  # fmt: skip


def scared_table(found: Findings) -> Table:
    """Table III: all keyframes with a correct calibration."""
    notes = ["The paper prints the two averages with their names exchanged; here they have the right ones."]
    return _by_frame(
        found, "SCARED", "SCARED, all keyframes: mean absolute depth error, mm (the paper's Table III)", "mean_mm",
        printed.SCARED_METHODS, printed.SCARED, printed.SCARED_AVERAGES, notes,
    )  # fmt: skip


def servct_table(found: Findings) -> Table:
    """Table IV: the first fifteen pairs."""
    notes = ["As in the paper, without pair 16, on which its ELAS found nothing."]
    return _by_frame(
        found, "SERV-CT", "SERV-CT: median absolute depth error, mm (the paper's Table IV)", "median_mm",
        printed.SERVCT_METHODS, {str(name): values for name, values in printed.SERVCT.items()},
        printed.SERVCT_AVERAGES, notes,
    )  # fmt: skip


def hamlyn_table(found: Findings) -> Table:
    """Table V: difference from ELAS, a line for each set here and for each group of the paper."""
    groups = list(dict.fromkeys(group for group, _ in found.all_frames if group.endswith(AGAINST)))
    known = [printed.METHOD_NAMES[name] for name in printed.HAMLYN_METHODS]
    hidden = (*printed.METHOD_NAMES.values(), VARIANCE, WITH_GAMMA_OF_288_ROWS)
    own = [
        name
        for name in dict.fromkeys(name for group, name in found.all_frames if group in groups)
        if name not in hidden
    ]
    names = [*printed.HAMLYN_METHODS, *own]
    lines = []
    for group in groups:
        rows = [found.all_frames.get((group, name)) for name in [*known, *own]]
        bdis = printed.HAMLYN_METHODS.index("BDIS")
        rows[bdis] = rows[bdis] or found.all_frames.get((group, WITH_GAMMA_OF_288_ROWS))
        cells = [
            number(getattr(row.score, metric) if row is not None and row.scored else None, "{:.2f}")
            for metric in ("median_mm", "mean_mm", "std_mm")
            for row in rows
        ]
        frames = next(row.frames for row in rows if row is not None)
        lines.append([f"{group.removesuffix(AGAINST)} here, {counted(frames, 'frame')}", *cells])
    if lines:
        for name, values_printed in printed.HAMLYN.items():
            cells = [text for values in values_printed for text in [*(f"{v:.2f}" for v in values), *[""] * len(own)]]
            lines.append([f"{name} printed", *cells])
    spans = [("", 1), *((metric, len(names)) for metric in ("median", "mean", "standard deviation"))]
    notes = [
        "Absolute difference in depth from ELAS, mm, where both predict. The paper groups its frames "
        f"({printed.HAMLYN_FRAMES}) by distance into Data 1 to 5 and does not say which frames are in which, so the "
        "printed rows are a range and not counterparts. "
        f"Here, {', '.join(f'{each} is {name}' for each, name in zip(printed.HAMLYN_METHODS, known))}, with the "
        f"paper's gamma of 0.25 on images of 288 rows; {OUR_DIS} is our own DIS.",
    ]
    return Table("Against ELAS on Hamlyn (the paper's Table V)", ["", *names * 3], lines, notes, spans=spans)


def _by_frame(
    found: Findings,
    group: str,
    title: str,
    metric: str,
    methods: tuple[str, ...],
    values: Mapping[str, tuple[float, ...]],
    averages: Mapping[str, tuple[float, ...]],
    notes: list[str] | None = None,
) -> Table:
    """A line for each printed frame that was run, then averages; printed numbers beside those from here."""
    frames, unscored = {}, []
    for record in found.records(group):
        frame = record["frame"]
        name = str(int(frame)) if group == "SERV-CT" and frame.isdecimal() else frame
        if name in values and "skipped" in record:
            unscored.append(f"{name} is left out: {record['skipped']}.")
        elif name in values:
            frames[name] = record["methods"]
    measured = [
        name
        for name in found.outcome.methods
        if name not in (VARIANCE, WITH_GAMMA_OF_288_ROWS) and any(name in each for each in frames.values())
    ]
    table = beside_printed(title, measured, frames, metric, methods, values, averages=averages)
    counts = [(words if words != "printed" else f"printed, {len(values)} frames", span) for words, span in table.spans]
    counts = [(f"here, {counted(len(frames), 'frame')}" if words == "here" else words, span) for words, span in counts]
    ours = ", ".join(f"{each} is {name}" for each, name in printed.METHOD_NAMES.items() if name in measured)
    said = [f"Here, {ours}; {OUR_DIS} is our own DIS. Validity: predicted pixels with a reference, thousands."]
    return Table(title, table.header, table.rows, [*said, *(notes or []), *unscored], spans=counts)
