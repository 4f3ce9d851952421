"""Progress through a video or a training: a bar with the time left on a terminal, elsewhere a line every 10 seconds."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator

from .terminal import note

LINE_EVERY_S, UPDATE_EVERY_S = 10.0, 0.1


@contextlib.contextmanager
def frame_progress(
    total: int | None, before: int, fps: Callable[[], float], *, what: str = "matching", unit: str = "frames"
) -> Iterator[Callable[[int], None]]:
    """Show the progress through a video, or through anything else that takes long and consists of like steps.

    Parameters
    ----------
    total : int or None
        Number of frames, None if it is not known.
    before : int
        Number of frames done in an earlier run.
    fps : callable
        Returns the current speed in frames per second.
    what, unit : str
        What is being done, and what is counted.

    Yields
    ------
    callable
        To be called with the number of frames done.
    """
    if not sys.stderr.isatty():
        yield _limited(LINE_EVERY_S, total, lambda done: note(_line(what, done, total, fps(), unit)))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total, completed=before)

        def update(done: int) -> None:
            progress.update(task, completed=done, description=_speed(done, total, fps(), unit))

        yield _limited(UPDATE_EVERY_S, total, update)


def _limited(every_s: float, total: int | None, show: Callable[[int], None]) -> Callable[[int], None]:
    """Call ``show`` at most once in ``every_s`` seconds, and at the end."""
    due = 0.0

    def progress(done: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due or done == total:
            due = now + every_s
            show(done)

    return progress


def _line(what: str, done: int, total: int | None, fps: float, unit: str) -> str:
    of = "" if total is None else f" of {total}"
    return f"{what}: {done}{of} {unit} {_speed(done, total, fps, unit)}".rstrip()


def _speed(done: int, total: int | None, fps: float, unit: str = "frames") -> str:
    """
    >>> _speed(100, 1000, 50.0), _speed(1, 4, 0.05, "steps")
    ('50.0 frames/s, 0:00:18 left', '0.05 steps/s, 0:01:00 left')
    """
    if not fps > 0 or math.isinf(fps):
        return ""
    shown = f"{fps:.1f}" if fps >= 1 else f"{fps:.2g}"
    if total is None or done >= total:
        return f"{shown} {unit}/s"
    seconds = round((total - done) / fps)
    return f"{shown} {unit}/s, {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} left"
