"""Everything the commands print: results on stdout, as text or JSON; progress, warnings and errors on stderr.

Texts may come from files; none passes without :func:`bdis.common.printable.printable`, as it could steer the terminal.
"""

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import typer

from ..common.json_text import json_ready, json_text
from ..common.printable import printable
from ..common.typed import quoted, typed_program
from ..vector.progress import reporting_with

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
_spinner: Any = None  # the one on the terminal now: a bar takes its place meanwhile, as only one of them can be drawn


def say(text: str = "") -> None:
    """Print a line of the result, unless it is printed as JSON."""
    if not mode.json:
        _print_result(f"{printable(text)}\n")


def command_line(*words: object) -> str:
    """Return a command of bdis to try next, as it has to be typed in the current folder.

    Parameters
    ----------
    *words : object
        What follows ``bdis``: text or paths.

    Returns
    -------
    str
        The command with quotes where needed, and with the path of bdis if the shell does not find it by its name.

    Examples
    --------
    >>> command_line("match", "left image.png", "right.png")
    "bdis match 'left image.png' right.png"
    """
    is_script = Path(sys.argv[0]).stem == "bdis"
    return " ".join([typed_program(sys.argv[0]) if is_script else "bdis", *map(quoted, words)])


def warn(text: str) -> None:
    """Print a warning."""
    note(f"warning: {text}")


@contextlib.contextmanager
def showing_warnings() -> Iterator[None]:
    """Print the warnings that the library has for Python as those of a command; others stay as they are."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category is UserWarning:
            warn(str(message))
        else:
            before(message, category, *where, **more)

    setattr(warnings, "showwarning", show)  # noqa: B010  # mypy takes it for a constant
    try:
        yield
    finally:
        setattr(warnings, "showwarning", before)  # noqa: B010


def note(text: str) -> None:
    """Print a line about what is going on; that nobody can read it is no reason to end the work."""
    try:
        print(printable(text), file=sys.stderr, flush=True)
    except OSError:
        _send_nowhere(sys.stderr)


@contextlib.contextmanager
def working(text: str) -> Iterator[None]:
    """Show what is being done: a spinner on a terminal, a line elsewhere.

    If kernels have to be compiled meanwhile, a bar shows how far that is.

    Parameters
    ----------
    text : str
        What is being done.
    """
    global _spinner
    with contextlib.ExitStack() as stack:
        stack.enter_context(reporting_with(compiling_bar))
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.text import Text

            _spinner = stack.enter_context(Console(stderr=True).status(Text(f"{printable(text)} ...")))
        else:
            note(f"{text} ...")
        try:
            yield
        finally:
            _spinner = None


@contextlib.contextmanager
def compiling_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show how many kernels are compiled: a bar on a terminal, one line elsewhere.

    Yields
    ------
    callable
        To be called as ``report(done, total, names)``, see :mod:`bdis.vector.progress`.
    """
    spinner = _spinner
    if spinner is None and not sys.stderr.isatty():  # behind a spinner, rich has replaced sys.stderr
        is_said = False

        def line(done: int, total: int, names: str) -> None:
            nonlocal is_said
            if not is_said:
                note(f"compiling {total} kernel{'s' if total > 1 else ''}, once for this machine ...")
            is_said = True

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    if spinner is not None:
        spinner.stop()
    shown = (TextColumn("compiling kernels"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
             TextColumn("{task.description}"))  # fmt: skip
    try:
        with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, names: bar.update(task, completed=done, total=total, description=names)
    finally:
        if spinner is not None and spinner is _spinner:
            spinner.start()


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

    description = TextColumn("{task.description}", markup=False)
    shown = (description, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*shown, console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}

        def update(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(printable(what), total=of)
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
    lines = [[Text(printable(str(cell))) for cell in row] for row in rows]
    width = len(header) if header else max(map(len, lines), default=0)
    for column in range(width):
        shown.add_column(
            Text(printable(header[column])) if header else "", overflow="fold", style="cyan" if column == 0 else ""
        )
    for line in lines:
        shown.add_row(*line)
    # A pipe or a file has no width at which lines must be broken.
    console = Console(width=None if sys.stdout.isatty() else 400)
    with console.capture() as captured:
        console.print(shown)
    _print_result(captured.get())


def give(data: dict[str, Any]) -> None:
    """Print the result as JSON, if that was asked for."""
    if mode.json:
        _print_result(f"{json_text(data)}\n")


def give_line(data: dict[str, Any]) -> None:
    """Print an event as one line of JSON, if JSON was asked for."""
    if mode.json:
        _print_result(f"{json.dumps(json_ready(data))}\n")


def _print_result(text: str) -> None:
    """Print on stdout. A reader that has gone, such as ``head -1``, has read what it wanted; other failures raise."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        _send_nowhere(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise


def _send_nowhere(stream: TextIO) -> None:
    """Let all further output of a stream vanish: what could not be printed is tried again when Python ends."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
