"""``bdis batch``: many recordings on many cores or machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .batch_bench import bench
from .batch_progress import batch_progress
from .camera_options import CameraOptions
from .cluster_options import ClusterOptions, say_connection, say_script
from .option_groups import with_option_groups, with_usage_errors
from .options import Debug, Json, Out
from .record_options import RecordOptions
from .signals import StopOnSignal
from .terminal import UsageError
from .video_source import ViewOptions

if TYPE_CHECKING:
    from ..cluster.cluster_choice import ClusterChoice
    from ..cluster.jobs import Job
    from ..cluster.journal import RecordingState

MOST_LISTED = 20  # recordings in the summary
PIECE_FRAMES = 1500  # a minute of video

batch_app = typer.Typer(rich_markup_mode=None)


@batch_app.callback()
def batch() -> None:
    """Process many recordings on many cores or machines."""


def run(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Videos, folders of videos, folders of image pairs, patterns such as 'day*/*.mp4', rendered scenes, "
            "or lists: text files (.txt) with a source per line, or left and right view with a tab between them.",
        ),
    ],
    camera_options: CameraOptions,
    out: Out = Path("bdis-batch"),
    recorded: RecordOptions,
    views: ViewOptions,
    piece_frames: Annotated[
        int,
        typer.Option(metavar="N", help="Recordings are cut into pieces of so many frames, a multiple of 25."),
    ] = PIECE_FRAMES,
    cluster: ClusterOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the depth of many recordings: bdis run for each, on all cores or machines.

    \b
    bdis batch run 'surgeries/*.mp4' --calib endoscope.yaml -o depth
    bdis batch run surgeries.txt --calib endoscope.yaml -o depth --scheduler tcp://node1:8786
    bdis batch run surgeries --calib endoscope.yaml -o depth --slurm partition=cpu,cores=16,memory=32GB,time=08:00:00

    Each recording gets a folder in DIR with what bdis run writes. After an interruption, of whatever kind, the same
    command goes on from there. --json prints a line for every event.
    """
    from ..cluster.jobs import find_sources, make_jobs
    from ..video.opened_source import SourceRequest, brings_cameras
    from ..video.recording.preview_video import PREVIEW_PART

    if piece_frames < 1 or piece_frames % PREVIEW_PART:
        raise UsageError(f"--piece-frames is {piece_frames}; expected a multiple of {PREVIEW_PART}")
    if any(text.partition("=")[0].strip() == "threads" for text in recorded.set_ or []):
        raise UsageError("--set threads: in a batch, one core runs one match")
    found = find_sources(sources)
    camera_options.check(rectifies_without_file=all(brings_cameras(left) for left, _ in found))
    choice, cameras = cluster.choice(), camera_options.given()
    requests = [recorded.request(SourceRequest(left, right, **asdict(views), cameras=cameras)) for left, right in found]
    jobs = make_jobs(requests, out, piece_frames)
    if cluster.dry_run:
        _show_plan(jobs, choice)
        return
    states = _process(jobs, choice, out)
    _report(states, out)


def _process(jobs: list[Job], choice: ClusterChoice, out: Path) -> dict[str, RecordingState]:
    """Do all jobs; the outcome of each is returned."""
    from ..cluster.batch import Batch
    from ..cluster.connection import check_workers, compile_kernels, connect
    from ..cluster.journal import Journal
    from ..cluster.sizes import sizes_of

    terminal.mode.interrupted = f"interrupted; what is done is in {out}, and the same command goes on from there"
    by_name = {job.name: job for job in jobs}
    with Journal(out, _options_of(jobs[0]), by_name, lambda name: sizes_of(by_name[name])) as journal:
        before = sum(state.state == "done" for state in journal.states.values())
        if before:
            terminal.note(f"{before} of {len(jobs)} recordings are in {out} already")
        if before == len(jobs):
            return journal.states
        with terminal.working("connecting to the workers"):
            connection = connect(choice)
        try:
            say_connection(connection)
            with terminal.working("checking the workers"):
                check_workers(connection, jobs[0].out, choice.wait_s)
            with terminal.working("loading the kernels, once on every machine"):
                compile_kernels(connection, jobs[0].request.settings())
            with batch_progress(journal.states) as shown:

                def told(event: dict[str, Any]) -> None:
                    terminal.give_line(event)
                    if event["event"] == "failed":
                        terminal.warn(f"{event['recording']}: {event['reason']}")
                    for text in event.get("warnings", []):
                        terminal.warn(f"{event['recording']}: {text}")

                work = Batch(jobs, journal, choice, told, shown)

                def stop() -> None:
                    work.is_stopping = True

                with StopOnSignal(stop) as stopped:
                    connection = work.run(connection)
                if stopped.signal is not None:
                    raise KeyboardInterrupt
        finally:
            connection.close()
        return journal.states


def _options_of(job: Job) -> dict[str, Any]:
    """Everything that decides the results, but for the source."""
    from ..cluster.journal import CALIBRATION
    from ..video.opened_source import hashes_of

    asked = asdict(job.request)
    source = asked.pop("source")
    cameras = source.pop("cameras")
    views = {name: value for name, value in source.items() if name not in ("source", "right")}
    return {**asked, **views, **cameras, "piece_frames": job.piece_frames, CALIBRATION: hashes_of(cameras["calib"])}


def _show_plan(jobs: list[Job], choice: ClusterChoice) -> None:
    """What would be done."""
    script = say_script(choice)
    terminal.table([(job.request.source.source, str(job.folder)) for job in jobs], ("source", "written to"))
    terminal.give(
        {"script": script, "recordings": [{"source": job.request.source.source, "folder": job.folder} for job in jobs]}
    )


def _report(states: dict[str, RecordingState], out: Path) -> None:
    """Tell how it went; ends the command with 1 if a recording failed."""
    failed = {name: state for name, state in states.items() if state.state == "failed"}
    done = [state for state in states.values() if state.state == "done"]
    rows = [("recordings", f"{len(done)} of {len(states)} in {out}, {sum(state.frames for state in done)} frames")]
    rows += [("failed", f"{name}: {state.reason}") for name, state in list(failed.items())[:MOST_LISTED]]
    if len(failed) > MOST_LISTED:
        rows.append(("failed", f"and {len(failed) - MOST_LISTED} more; bdis batch status {out} --json lists all"))
    terminal.table(rows)
    terminal.give_line(
        {
            "event": "end", "folder": out, "done": len(done),
            "failed": {name: each.reason for name, each in failed.items()},
            "frames": sum(state.frames for state in done),
        }
    )  # fmt: skip
    if failed:
        raise typer.Exit(1)


def status(
    *,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of bdis batch run or bench.")],
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show how far a batch is, from any terminal that sees its folder.

    \b
    bdis batch status depth
    """
    from ..cluster.journal import REPORT, read_bench_progress, read_status

    bench = read_bench_progress(out)
    if bench is not None:
        if bench["is_finished"]:
            terminal.say(f"the benchmark in {out} has ended: {out / REPORT}")
        else:
            running = "is running" if bench["is_running"] else "is not running; its command resumes it"
            terminal.say(f"the benchmark in {out} {running}: {bench['part']}, {bench['done']} of {bench['total']}")
        terminal.give(bench)
        return
    found = read_status(out)
    states: dict[str, RecordingState] = found["recordings"]
    counts = {kind: [name for name, each in states.items() if each.state == kind]
              for kind in ("done", "working", "waiting", "failed")}  # fmt: skip
    is_over = not counts["working"] and not counts["waiting"]
    running = (
        "is running" if found["is_running"] else "has ended" if is_over else "is not running; its command resumes it"
    )
    terminal.say(f"the batch in {out} {running}")
    rows = [(kind, f"{len(names)} of {len(states)} recordings") for kind, names in counts.items() if names]
    rows += [
        ("working", f"{name}: {states[name].pieces_done} of {states[name].pieces} pieces")
        for name in counts["working"][:MOST_LISTED]
    ]
    rows += [("failed", f"{name}: {states[name].reason}") for name in counts["failed"][:MOST_LISTED]]
    rows += [
        ("warning", f"{name}: {text}")
        for name, each in list(states.items())[:MOST_LISTED]
        for text in each.warnings[:3]
    ]
    terminal.table(rows)
    terminal.give({**found, "recordings": {name: asdict(state) for name, state in states.items()}})


COMMANDS: dict[str, Callable[..., None]] = {"run": run, "bench": bench, "status": status}
for _name, _command in COMMANDS.items():
    batch_app.command(_name)(with_option_groups(with_usage_errors(_command)))
