"""The folder that a command writes its files to, and what may already be in it."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..common.atomic import all_or_nothing
from ..common.reading import load_json
from . import terminal

SUMMARY = "run.json"
MAPS = ("disparity", "depth")  # each in several formats
OTHERS = ("result.npz", "preview.png", "cloud.ply")


@contextlib.contextmanager
def output_folder(folder: Path, inputs: Iterable[object] = ()) -> Iterator[Path]:
    """Context manager for writing the files of a command, all or none.

    What an earlier command wrote, as its ``run.json`` says, belongs to that result and not to the new one: it is
    removed, and that is told. A file that the command reads is neither removed nor replaced, and files that are not in
    ``run.json`` stay; if one of them looks like a result, there is a warning.

    Parameters
    ----------
    folder : Path
        Where the files shall appear; created if it does not exist.
    inputs : iterable
        Values of options; those that are paths are files that the command reads.

    Yields
    ------
    Path
        A temporary folder to write the files to, as in :func:`bdis.common.atomic.all_or_nothing`.

    Raises
    ------
    ValueError
        A file that the command reads would be replaced; nothing is written.
    OSError
        The folder cannot be written to.
    """
    read = {path.resolve() for path in inputs if isinstance(path, Path)}
    earlier = [name for name in files_of_earlier(folder) if (folder / name).resolve() not in read]
    with all_or_nothing(folder, instead_of=earlier) as stage:
        yield stage
        written = {path.name for path in stage.iterdir()}
        if own := sorted(name for name in written if (folder / name).resolve() in read):
            raise ValueError(
                f"{folder / own[0]}: this command would replace a file that it reads; choose another folder with -o"
            )
    if removed := sorted(set(earlier) - written):
        terminal.note(f"removed from {folder}, as it belonged to the run before: {', '.join(removed)}")
    strangers = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in written and _is_result(path) and path.resolve() not in read
    )
    if strangers:
        terminal.warn(f"{folder} also has {', '.join(strangers)}, which this command did not write")


def files_of_earlier(folder: Path) -> list[str]:
    """Names of the files that an earlier command wrote to this folder and that are still there."""
    try:
        summary = load_json(folder / SUMMARY)
        files = summary.get("files") if isinstance(summary, dict) and "bdis" in summary else None
        if not isinstance(files, list):
            return []
        plain = [name for name in files if isinstance(name, str) and name == Path(name).name]
        return [name for name in plain if (folder / name).is_file()]
    except (OSError, ValueError):  # no summary, a damaged one, or one with names that no file can have
        return []


def _is_result(path: Path) -> bool:
    return path.name in OTHERS or (path.stem in MAPS and path.is_file())
