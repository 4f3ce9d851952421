"""What the commands say: to people, or as JSON to machines; results on stdout, all else on stderr."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import typer

from ..common.json_text import json_text

UsageError: type[Any] = typer.BadParameter.__bases__[0]  # typer has its own copy of click, and no public name for this


@dataclass
class Mode:
    """How to speak; set from the options of a command."""

    json: bool = False
    debug: bool = False
    interrupted: str = "interrupted; nothing was written"  # what to say then


mode = Mode()
SLOW_S = 1.5
COMPILING = "compiling the kernels, once per machine, about 25 s"  # what a slow first match is busy with


def say(text: str = "") -> None:
    """A line for people."""
    if not mode.json:
        print(text, flush=True)


def warn(text: str) -> None:
    """A line for people about something they should look at."""
    print(f"warning: {text}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A line for people about what is going on."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def working(text: str, if_slow: str | None = None) -> Iterator[None]:
    """Show that something takes a while: a spinner on a terminal, a line elsewhere; ``if_slow`` replaces the text."""
    show: Callable[[str], None]
    with contextlib.ExitStack() as stack:
        if sys.stderr.isatty():
            from rich.console import Console

            show = stack.enter_context(Console(stderr=True).status(f"{text} ...")).update
        else:
            show = note
            note(f"{text} ...")
        if if_slow is not None:
            timer = threading.Timer(SLOW_S, show, [f"{if_slow} ..."])
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
        yield


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal; elsewhere a line at every tenth."""
    if not sys.stderr.isatty():
        said: set[tuple[str, int]] = set()

        def line(what: str, done: int, of: int) -> None:
            tenth = 10 * done // max(of, 1)
            if (what, tenth) not in said:
                said.add((what, tenth))
                note(f"{what}: {done} of {of}")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*shown, console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}

        def update(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=of)
            progress.update(tasks[what], completed=done)

        yield update


def table(rows: Iterable[tuple[object, ...]], header: tuple[str, ...] | None = None) -> None:
    """Rows for people, in columns."""
    if mode.json:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, show_header=header is not None, padding=(0, 2, 0, 1), header_style="bold")
    lines = [[Text(str(cell)) for cell in row] for row in rows]
    width = len(header) if header else max(map(len, lines), default=0)
    for column in range(width):
        shown.add_column(Text(header[column]) if header else "", overflow="fold", style="cyan" if column == 0 else "")
    for line in lines:
        shown.add_row(*line)
    # A pipe or a file has no width to break lines at.
    Console(width=None if sys.stdout.isatty() else 200).print(shown)


def give(data: dict[str, Any]) -> None:
    """The whole answer, for machines."""
    if mode.json:
        print(json_text(data), flush=True)
