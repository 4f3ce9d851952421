"""Progress of a batch: a bar with the time left on a terminal, elsewhere a line every 10 seconds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from .terminal import note

if TYPE_CHECKING:
    from ..cluster.journal import RecordingState

LINE_EVERY_S, UPDATE_EVERY_S = 10.0, 0.5


@contextlib.contextmanager
def batch_progress(states: Mapping[str, RecordingState]) -> Iterator[Callable[[], None]]:
    """Show how far the recordings of a batch are.

    Parameters
    ----------
    states : mapping of str to RecordingState
        Changes while the batch runs.

    Yields
    ------
    callable
        To be called often.
    """
    begin, before = time.monotonic(), _share(states)
    due = begin

    def text() -> str:
        counts = Counter(state.state for state in states.values())
        parts = [f"{counts['done']} of {len(states)} recordings"]
        parts += [f"{counts[kind]} {kind}" for kind in ("working", "failed") if counts[kind]]
        parts.append(time_left(_share(states), before, time.monotonic() - begin))
        return ", ".join(part for part in parts if part)

    if not sys.stderr.isatty():

        def line() -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + LINE_EVERY_S
                note(f"batch: {text()}")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1.0)

        def update() -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + UPDATE_EVERY_S
                bar.update(task, completed=_share(states), description=text())

        yield update
        bar.update(task, completed=_share(states), description=text())


def time_left(share: float, before: float, elapsed_s: float) -> str:
    """The time that the rest will take, if it goes on as it did.

    Parameters
    ----------
    share, before : float
        Part of the work that is done, 0 to 1, now and when it began.
    elapsed_s : float
        Seconds between the two.

    Returns
    -------
    str
        Empty if it cannot be told yet.

    Examples
    --------
    >>> time_left(0.5, 0.25, 600.0), time_left(0.25, 0.25, 600.0)
    ('0:20:00 left', '')
    """
    if share <= before or share >= 1:
        return ""
    seconds = round((1 - share) / (share - before) * elapsed_s)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} left"


def _share(states: Mapping[str, RecordingState]) -> float:
    return sum(state.share for state in states.values()) / len(states)
