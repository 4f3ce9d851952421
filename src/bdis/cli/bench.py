"""``bdis bench``: compare methods on data sets."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..common.assignments import split_assignments
from ..common.machine import usable_cores
from . import terminal
from .options import Debug, Json, Out
from .other_methods import NetworkOption
from .terminal import UsageError

NARROW = ("mean mm", "median mm", "valid k-px", "bad 1 %", "inside 95 %", "median ms")
SHOWN = (*NARROW, "coverage %", "equal cov.", "EPE px")
WIDE = 120  # characters a terminal needs for all columns of SHOWN


@dataclass(frozen=True)
class Request:
    """The arguments of the command line."""

    datasets: list[str]
    methods: list[str]
    out: Path
    kind: str | None
    options: list[str]
    frames: int | None
    rounds: int
    jobs: int | None
    occluded: bool
    assess: bool
    paper: Path | None
    scared: Path | None
    servct: Path | None
    weights: list[str]
    network_options: list[str]

    def chosen_methods(self) -> list[Any]:
        """The requested methods, after each network among them was loaded once."""
        from .other_methods import chosen_methods, introduce_networks

        found = chosen_methods(self.methods, self.weights, self.network_options, default=self.paper is None)
        introduce_networks(found)
        return found


def run_list() -> None:
    """Show the methods, how they are set up, and what is missing for those that cannot run here."""
    from ..evaluation.baselines import METHODS

    rows = [
        (name, method.summary, "" if method.needs is None else f"needs: {method.needs}")
        for name, method in METHODS.items()
    ]
    terminal.table(rows, ("method", "what it is", ""))
    terminal.give(
        {
            name: {
                "summary": method.summary,
                "needs": method.needs,
                "settings": ", ".join(filter(None, (method.settings, method.details))),
            }
            for name, method in METHODS.items()
        }
    )


def run_bench(request: Request) -> None:
    """Run the benchmark, write tables and report, and print the main columns."""
    from ..evaluation.report.comparison import frame_tables
    from ..evaluation.report.html import write_report
    from ..evaluation.runner import BenchmarkPlan, run
    from ..evaluation.summary import summarise, write_tables

    if bool(request.datasets) == (request.paper is not None):
        raise UsageError("give data sets (folders, or render:SCENE), or --paper PATH")
    if request.paper is None and (request.scared or request.servct):
        raise UsageError("--scared and --serv-ct belong to --paper PATH; alone, give the folder as a data set")
    if request.rounds < 0 or (request.jobs is not None and request.jobs < 1):
        raise UsageError("--rounds must not be negative, and --jobs at least 1")
    jobs = request.jobs or usable_cores()
    command = shlex.join(["bdis", *sys.argv[1:]])
    terminal.mode.interrupted = f"interrupted; the same command continues from here (finished work is in {request.out})"
    if request.paper is not None:
        outcome, rows, tables, notes = _paper(request, request.paper, jobs)
        title = "The BDIS paper's tables, rerun"
    else:
        choices, methods = _dataset_choices(request), request.chosen_methods()
        plan = BenchmarkPlan(choices, methods, request.occluded, request.rounds, jobs, request.assess)
        with terminal.progress_bar() as progress:
            outcome = run(plan, request.out, progress)
        rows, tables, notes = summarise(outcome), frame_tables(outcome), []
        title = "Stereo matching benchmark"
    with terminal.working("writing the report"):
        write_tables(request.out, outcome, rows, command)
        write_report(
            request.out / "report.html",
            rows,
            outcome.samples,
            command,
            title=title,
            tables=tables,
            notes=notes,
            set_up=outcome.set_up,
        )
    print_rows(rows, tables, notes)
    names = "report.html, summary.csv, frames.csv, results.json"
    terminal.say(f"\nwritten to {request.out}: {names}")
    terminal.give({"folder": request.out, "summary": [as_dict(row) for row in rows], "notes": notes})


def _paper(request: Request, path: Path, jobs: int) -> tuple[Any, list[Any], list[Any], list[str]]:
    """Run the paper's comparison and its ablation; returns outcome, rows, tables and notes."""
    from ..evaluation.paper.plans import PaperData, paper_plans
    from ..evaluation.paper.tables import paper_tables
    from ..evaluation.runner import run
    from ..evaluation.summary import summarise

    where = PaperData(path, request.scared, request.servct)
    plan, ablation, notes = paper_plans(
        where, request.chosen_methods(), most=request.frames, rounds=request.rounds, jobs=jobs, assess=request.assess
    )
    with terminal.progress_bar() as progress:
        outcome = run(plan, request.out, progress)
        parts = run(ablation, request.out / "ablation", lambda what, done, of: progress(f"ablation, {what}", done, of))
    return outcome, summarise(outcome), paper_tables(outcome, parts), notes


def _dataset_choices(request: Request) -> list[Any]:
    from ..evaluation.datasets import RENDER, known_options, open_dataset
    from ..evaluation.runner import DatasetChoice

    try:
        options = split_assignments(request.options, "--option")
    except ValueError as error:
        raise UsageError(str(error)) from error
    choices, used = [], set()
    for where in request.datasets:
        kind, place = kind_and_place(where, request.kind)
        if place.startswith(RENDER):
            choices.append(DatasetChoice(place, open_dataset(place).thinned(request.frames)))
            continue
        here = dict(options)
        if len(request.datasets) > 1:  # an option applies to the data sets that have it
            found = kind or open_dataset(place).kind
            here = {name: value for name, value in options.items() if name in known_options(found)}
        used |= set(here)
        data = open_dataset(place, kind, **here).thinned(request.frames)
        choices.append(DatasetChoice(f"{Path(place).resolve()} {data.kind} {sorted(here.items())}", data))
    if unused := sorted(set(options) - used):
        raise UsageError(f"--option {', '.join(unused)}: none of these data sets has it")
    groups = [group for choice in choices for group in choice.data.groups]
    if twice := sorted({group for group in groups if groups.count(group) > 1}):
        raise UsageError(f"{', '.join(twice)} is given twice; run each into a folder of its own")
    return choices


def kind_and_place(where: str, default_kind: str | None) -> tuple[str | None, str]:
    """Split KIND:PATH; without a known kind in front, the whole text is the path.

    Examples
    --------
    >>> kind_and_place("hamlyn:rectified01", None), kind_and_place("colon", None)
    (('hamlyn', 'rectified01'), (None, 'colon'))
    """
    from ..evaluation.datasets import KINDS

    head, colon, tail = where.partition(":")
    return (head, tail) if colon and head in KINDS else (default_kind, where)


def print_rows(rows: list[Any], tables: list[Any], notes: list[str]) -> None:
    """Print the main columns of a benchmark."""
    from ..evaluation.report.columns import ASSESSED, ASSESSED_NOTE, columns
    from ..evaluation.summary import counted

    for table in tables:
        terminal.say(f"\n{table.title}")
        terminal.table([tuple(row) for row in table.rows], tuple(table.one_line_header()))
        for note in table.notes:
            terminal.say(f"  {note}")
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        is_wide = not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE
        wanted = (SHOWN if is_wide else NARROW) if members[0].scored else ("predicted %", "median ms")
        shown = [column for column in columns(members) if column.title in wanted]
        terminal.say(f"\n{group}, {counted(members[0].frames, 'frame')}")
        lines = [(row.method, *(column.text(row) for column in shown)) for row in members]
        terminal.table(lines, ("method", *(column.title for column in shown)))
        if any(row.assessed for row in members):
            terminal.say(f"  {ASSESSED} {ASSESSED_NOTE}")
    for row in rows:
        if row.failed:
            terminal.warn(
                f"{row.method} failed on {row.failed} of {counted(row.frames, 'frame')} of {row.group}; "
                "frames.csv says why"
            )
    for note in notes:
        terminal.warn(note)


def as_dict(row: Any) -> dict[str, Any]:
    """A row for JSON, without its curves."""
    from dataclasses import asdict

    return {name: value for name, value in asdict(row).items() if name not in ("curve", "reliability")}


def bench(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATASET", help="Folder, KIND:FOLDER, or rendered scene such as render:colon,frames=4,smoke=0.3."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Methods to compare, separated by commas; --list shows them.  [default: all that can run here]",
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK=FILE",
            help="Weights of psmnet, gwcnet-g or gwcnet-gc; can be repeated. They join the methods.",
        ),
    ] = None,
    network_option: NetworkOption = None,
    out: Out = Path("bdis-bench"),
    list_: Annotated[bool, typer.Option("--list", help="List the methods and what they need, and exit.")] = False,
    paper: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Repeat the tables of the BDIS paper on its authors' data set in PATH."),
    ] = None,
    scared: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --paper: SCARED, for its tables II, III, VI and VII.")
    ] = None,
    serv_ct: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --paper: SERV-CT, for its tables IV and VI.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Kind of the data sets, if it is not recognised: authors, serv-ct, scared, stereomis, hamlyn, "
            "middlebury, kitti, rendered or folder.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of a data set, such as decoding=published, baseline_mm=5.3 or sets=30+31; can be repeated.",
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(metavar="N", help="Use at most N frames of each group, evenly spaced.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="N", help="How often each frame is matched to measure the time; 0 measures none.")
    ] = 5,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Frames to match at the same time, except while times are measured.  [default: one per processor]",
        ),
    ] = None,
    occluded: Annotated[
        bool, typer.Option("--occluded", help="Also score pixels that the right camera does not see.")
    ] = False,
    assess: Annotated[
        bool,
        typer.Option(
            "--assess/--no-assess",
            help="Give methods without a confidence that of bdis assess, so that all are compared at equal coverage. "
            "It does not count in their times.",
        ),
    ] = True,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare methods on data sets: tables and a report.

    \b
    bdis bench --list
    bdis bench render:colon render:instruments --methods bdis,sgbm -o colon
    bdis bench /data/SERV-CT --methods bdis,bdis-paper,elas -o serv-ct
    bdis bench hamlyn:/data/rectified01 --option baseline_mm=5.3 --frames 50
    bdis bench --paper /data/bdis-v2 --scared /data/SCARED --serv-ct /data/SERV-CT -o paper
    bdis bench render:colon --methods bdis,psmnet --weights psmnet=pretrained_model_KITTI2015.tar --rounds 1
    bdis bench /data/SERV-CT --methods bdis,onnx:network.onnx --network-option pixels=0..1

    Files written: report.html, summary.csv, frames.csv and results.json. If the same command is given again, an
    interrupted run continues where it stopped.
    """
    if list_:
        return run_list()
    request = Request(
        datasets or [], methods or [], out, kind, option or [], frames, rounds, jobs, occluded, assess, paper,
        scared, serv_ct, weights or [], network_option or [],
    )  # fmt: skip
    run_bench(request)
