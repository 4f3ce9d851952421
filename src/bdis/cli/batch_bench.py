"""``bdis batch bench``: methods and settings compared on data sets, the frames spread over a cluster."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.assignments import split_assignments
from . import terminal
from .bench import as_dict, kind_and_place, print_rows
from .cluster_options import ClusterOptions, say_connection, say_script
from .options import Debug, Json, Out
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cluster.bench import BenchRequest, DatasetRequest
    from ..cluster.cluster_choice import ClusterChoice
    from ..evaluation.runner import Outcome
    from ..evaluation.summary import Row


def bench(
    *,
    datasets: Annotated[
        list[str],
        typer.Argument(metavar="DATASET...", help="As of bdis bench: folder, KIND:FOLDER, or rendered scene."),
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Methods to compare, separated by commas; bdis bench --list shows them."),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Combine values of settings, such as patch_size=6,8,10; preset=fast,balanced sweeps presets; can be "
            "repeated. Every combination is a method.",
        ),
    ] = None,
    out: Out = Path("bdis-batch-bench"),
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Kind of the data sets, as of bdis bench.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Option of a data set, as of bdis bench.")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(metavar="N", help="Use at most N frames of each group, evenly spaced.")
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N", help="How often each frame is matched to measure the time, on this machine; 0 measures none."
        ),
    ] = 5,
    occluded: Annotated[
        bool, typer.Option("--occluded", help="Also score pixels that the right camera does not see.")
    ] = False,
    assess: Annotated[
        bool, typer.Option("--assess/--no-assess", help="Give methods without a confidence that of bdis assess.")
    ] = True,
    cluster: ClusterOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare methods or settings on data sets, the frames spread over all cores or machines.

    \b
    bdis batch bench /data/SERV-CT --methods bdis,sgbm -o serv-ct
    bdis batch bench render:colon,frames=20 --sweep patch_size=6,8,10 preset=fast,balanced -o sweep

    Writes what bdis bench writes; with --sweep also sweep.csv, and pareto-GROUP.png with error against time. Accuracy
    is measured by the workers; times on this machine afterwards, one match at a time. The same command goes on where an
    earlier one stopped.
    """
    from ..evaluation.sweep import swept_methods

    if sweep:  # --sweep patch_size=6,8 preset=fast,balanced: what follows the first one is meant for it too
        sweep = [*sweep, *(text for text in datasets if _is_sweep(text))]
        datasets = [text for text in datasets if not _is_sweep(text)]
    if not datasets:
        raise UsageError("no data sets are given")
    if not methods and not sweep:
        raise UsageError("give --methods, --sweep or both")
    if rounds < 0:
        raise UsageError("--rounds must not be negative")
    try:
        swept_methods(sweep or [])
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    request = _request(datasets, methods or [], sweep or [], kind, option or [], frames, rounds, occluded, assess)
    choice = cluster.choice()
    if cluster.dry_run:
        _show_plan(request, choice)
        return
    terminal.mode.interrupted = f"interrupted; the same command continues from here (finished work is in {out})"
    outcome = _measured(request, choice, out)
    _write(outcome, request, out)


def _is_sweep(text: str) -> bool:
    """
    >>> _is_sweep("preset=fast,balanced"), _is_sweep("patch_size=6,8"), _is_sweep("render:colon,frames=3")
    (True, True, False)
    """
    from ..common.declared import declarations
    from ..matching.settings import Settings

    name = text.partition("=")[0].strip()
    return "=" in text and (name == "preset" or name in declarations(Settings)) and not Path(text).exists()


def _request(
    datasets: list[str],
    methods: list[str],
    sweep: list[str],
    kind: str | None,
    options: list[str],
    frames: int | None,
    rounds: int,
    occluded: bool,
    assess: bool,
) -> BenchRequest:
    from ..cluster.bench import BenchRequest
    from ..evaluation.networks.methods import is_network
    from .other_methods import chosen_methods

    names = [each.name for each in chosen_methods(methods)] if methods else []
    if networks := [name for name in names if is_network(name)]:
        raise UsageError(f"{networks[0]} is a network, whose threads would share a core; compare it with bdis bench")
    places = tuple(_dataset(where, kind, options, frames) for where in datasets)
    if len({each.identity for each in places}) < len(places):
        raise UsageError("a data set is given twice")
    return BenchRequest(places, tuple(names), tuple(sweep), occluded, assess, rounds)


def _dataset(where: str, kind: str | None, options: list[str], frames: int | None) -> DatasetRequest:
    from ..cluster.bench import DatasetRequest
    from ..evaluation.datasets import RENDER, known_options, open_dataset

    kind, place = kind_and_place(where, kind)
    if place.startswith(RENDER):
        return DatasetRequest(place, place, None, (), frames)
    place = str(Path(place).resolve())
    found = kind or open_dataset(place).kind
    given = split_assignments(options, "--option")
    if unknown := sorted(set(given) - set(known_options(found))):
        raise UsageError(f"--option {', '.join(unknown)}: {place} ({found}) does not have it")
    here = tuple(sorted(given.items()))
    return DatasetRequest(f"{place} {found} {list(here)}", place, found, here, frames)


def _show_plan(request: BenchRequest, choice: ClusterChoice) -> None:
    """What would be done."""
    plan, script = request.plan(), say_script(choice)
    counts = {each.place: len(chosen.data) for each, chosen in zip(request.datasets, plan.choices)}
    methods = [each.name for each in plan.methods]
    terminal.table([(place, str(count)) for place, count in counts.items()], ("data set", "frames"))
    terminal.table([(name,) for name in methods], ("method",))
    terminal.give({"script": script, "frames": counts, "methods": methods})


def _measured(request: BenchRequest, choice: ClusterChoice, out: Path) -> Outcome:
    """Run the benchmark; frames that earlier runs have measured are kept."""
    from ..cluster.bench import BenchFrames
    from ..cluster.connection import check_workers, connected
    from ..cluster.journal import BenchProgress
    from ..evaluation.runner import run

    with terminal.working("opening the data sets"):
        plan = request.plan()
    place = out.resolve()

    def elsewhere(works: list[Any]) -> Any:
        if not works:
            return
        with connected(choice) as connection:
            say_connection(connection)
            check_workers(connection, place, choice.wait_s)
            yield from BenchFrames(request, works, choice).measured(connection)

    with BenchProgress(place) as told, terminal.progress_bar() as shown:

        def progress(part: str, done: int, total: int) -> None:
            shown(part, done, total)
            told.tell(part, done, total)

        return run(plan, place, progress, elsewhere)


def _write(outcome: Outcome, request: BenchRequest, out: Path) -> None:
    """Write and print tables, report and, of a sweep, the Pareto front."""
    from ..cluster.journal import REPORT
    from ..evaluation.report.comparison import frame_tables
    from ..evaluation.report.html import write_report
    from ..evaluation.summary import summarise, write_tables

    rows, command = summarise(outcome), shlex.join(["bdis", *sys.argv[1:]])
    tables = frame_tables(outcome)
    files = [REPORT, "summary.csv", "frames.csv", "results.json"]
    with terminal.working("writing the report"):
        write_tables(out, outcome, rows, command)
        write_report(
            out / REPORT, rows, outcome.samples, command, title="Stereo matching benchmark", tables=tables,
            notes=[], set_up=outcome.set_up,
        )  # fmt: skip
        if request.sweep:
            files += _write_sweep(rows, out)
    if request.sweep:
        _print_sweep(rows)
    else:
        print_rows(rows, tables, [])
    terminal.say(f"\nwritten to {out}: {', '.join(files)}")
    terminal.give({"folder": out, "summary": [as_dict(row) for row in rows], "files": files})


def _write_sweep(rows: list[Row], out: Path) -> list[str]:
    from ..common.atomic import write_whole
    from ..evaluation.report.plots import pareto_picture
    from ..evaluation.runner import file_name
    from ..evaluation.sweep import on_front, sweep_csv

    write_whole(out / "sweep.csv", sweep_csv(rows))
    files = ["sweep.csv"]
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        if any(on_front(members)):
            files.append(f"pareto-{file_name(group)}.png")
            write_whole(out / files[-1], pareto_picture(members, on_front(members)))
    return files


def _print_sweep(rows: list[Row]) -> None:
    from ..evaluation.sweep import sweep_table

    lines = [
        (group, method, f"{error:.3f} {unit}", f"{coverage:.1%}", f"{time_ms:.2f}", "best" if is_best else "")
        for group, method, error, unit, coverage, time_ms, is_best in sweep_table(rows)
    ]
    terminal.table(lines, ("group", "settings", "mean error", "coverage", "median ms", "error against time"))
