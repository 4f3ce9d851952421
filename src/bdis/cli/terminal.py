"""Everything the commands print: results on stdout, as text or JSON; progress, warnings and errors on stderr."""

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
    """How the current command prints.

    Attributes
    ----------
    json : bool
        Print the result as JSON and no text.
    debug : bool
        Print the traceback of an error.
    interrupted : str
        The message after Ctrl-C.
    """

    json: bool = False
    debug: bool = False
    interrupted: str = "interrupted; nothing was written"


mode = Mode()
SLOW_S = 1.5
COMPILING = "compiling the kernels, once per machine, about 25 s"  # what a slow first match is busy with


def say(text: str = "") -> None:
    """Print a line of the result, unless it is printed as JSON."""
    if not mode.json:
        print(text, flush=True)


def warn(text: str) -> None:
    """Print a warning."""
    print(f"warning: {text}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a line about what is going on."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def working(text: str, if_slow: str | None = None) -> Iterator[None]:
    """Show what is being done: a spinner on a terminal, a line elsewhere.

    Parameters
    ----------
    text : str
        What is being done.
    if_slow : str, optional
        Replaces the text if it takes longer than ``SLOW_S`` seconds.
    """
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
    """Show how much is done: bars on a terminal, elsewhere a line after every tenth.

    Yields
    ------
    callable
        To be called with what is being done, how much of it is done, and how much there is; each text gets its own bar.
    """
    if not sys.stderr.isatty():
        printed: set[tuple[str, int]] = set()

        def line(what: str, done: int, of: int) -> None:
            tenth = 10 * done // max(of, 1)
            if (what, tenth) not in printed:
                printed.add((what, tenth))
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
    """Print rows in columns, unless the result is printed as JSON.

    Parameters
    ----------
    rows : iterable of tuple
        The cells.
    header : tuple of str, optional
        Titles of the columns.
    """
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
    # A pipe or a file has no width at which lines must be broken.
    Console(width=None if sys.stdout.isatty() else 200).print(shown)


def give(data: dict[str, Any]) -> None:
    """Print the result as JSON, if that was asked for."""
    if mode.json:
        print(json_text(data), flush=True)
