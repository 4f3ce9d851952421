"""The recordings of a batch: what the given sources stand for, and the folder that each is recorded into."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..common.bad_request import BadRequest
from ..common.reading import MAX_TEXT_BYTES, read_text
from ..video.recording.run_request import RunRequest

VIDEOS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpg", ".mpeg", ".mts", ".ts", ".webm", ".wmv")
LIST = ".txt"
WORK_FOLDER = ".batch"  # in the folder of a batch: journal and unfinished pieces
LONGEST_NAME = 120  # characters


@dataclass(frozen=True)
class Job:
    """One recording of a batch.

    Attributes
    ----------
    name : str
        Of its folder.
    request : RunRequest
        What to record.
    out : Path
        Folder of the batch; absolute, as workers are elsewhere.
    piece_frames : int
        Recorded frames of a piece.
    """

    name: str
    request: RunRequest
    out: Path
    piece_frames: int

    @property
    def folder(self) -> Path:
        """Where its files are in the end."""
        return self.out / self.name

    @property
    def work(self) -> Path:
        """Where its pieces are until then."""
        return self.out / WORK_FOLDER / "pieces" / self.name


def find_sources(given: Sequence[str]) -> list[tuple[str, str | None]]:
    """The sources that texts stand for, each once.

    Parameters
    ----------
    given : sequence of str
        Each is a source, a pattern such as ``"surgery/*.mp4"``, a folder of videos, or a list: a file that ends with
        .txt, with one source per line, or two, the left and the right view, with a tab between them.  Sources in a list
        are relative to its folder.

    Returns
    -------
    list of (str, str or None)
        Both views, or left and right; files as absolute paths.

    Raises
    ------
    BadRequest
        There are none, or one is given twice.
    ValueError, OSError
        A list cannot be read.

    Examples
    --------
    >>> find_sources(["render:plane,frames=3"])
    [('render:plane,frames=3', None)]
    """
    found = [source for text in given for source in _expand(text, Path())]
    if not found:
        raise BadRequest(f"no sources in {', '.join(given)}" if given else "no sources are given")
    seen: set[tuple[str, str | None]] = set()
    for source in found:
        if source in seen:
            raise BadRequest(f"{_text(source)} is given twice")
        seen.add(source)
    return found


def _expand(text: str, base: Path) -> list[tuple[str, str | None]]:
    if "://" in text or text.startswith("render:"):
        return [(text, None)]
    path = base / text
    if not path.exists() and glob.has_magic(text):
        return [(str(Path(each).resolve()), None) for each in sorted(glob.glob(str(path), recursive=True))]
    if path.is_dir():
        videos = sorted(each for each in path.iterdir() if each.suffix.lower() in VIDEOS and each.is_file())
        return [(str(each.resolve()), None) for each in videos or [path]]  # else a folder of images, one source
    if path.is_file() and path.suffix.lower() == LIST:
        return [source for line in read_text(path, MAX_TEXT_BYTES).splitlines() for source in _line(line, path)]
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    return [(str(path.resolve()), None)]


def _line(line: str, path: Path) -> list[tuple[str, str | None]]:
    """The sources of a line of a list."""
    left, _, right = (part.strip() for part in line.partition("\t"))
    if not left or left.startswith("#"):
        return []
    if not right:
        return _expand(left, path.parent)
    views = [_expand(view, path.parent) for view in (left, right)]
    if any(len(view) != 1 for view in views):
        raise BadRequest(f"{path}: {line!r} must name one left and one right view")
    return [(views[0][0][0], views[1][0][0])]


def name_of(source: str) -> str:
    """Name of the folder of a recording: that of its file without ending.

    Examples
    --------
    >>> name_of("/data/surgery 3.mp4"), name_of("render:colon,frames=60")
    ('surgery 3', 'render-colon-frames-60')
    """
    name = re.sub(r"[^\w.-]+", "-", source).strip("-") if ":" in source else Path(source).stem
    return name[:LONGEST_NAME].lstrip(".") or "recording"


def make_jobs(requests: Iterable[RunRequest], out: Path, piece_frames: int) -> list[Job]:
    """The jobs of a batch.

    Parameters
    ----------
    requests : iterable of RunRequest
        One for each recording.
    out : Path
        Folder of the batch.
    piece_frames : int
        Recorded frames of a piece.

    Returns
    -------
    list of Job

    Raises
    ------
    BadRequest
        Two recordings would be written to the same folder.

    Examples
    --------
    >>> from bdis.video.opened_source import SourceRequest
    >>> places = ["/data/a/left.mp4", "/data/b/left.mp4"]
    >>> make_jobs([RunRequest(SourceRequest(place)) for place in places], Path("out"), 1500)
    Traceback (most recent call last):
    bdis.common.bad_request.BadRequest: /data/a/left.mp4 and /data/b/left.mp4 would both be written to left; give them \
one after the other with different -o, or rename one
    """
    jobs: dict[str, Job] = {}
    for request in requests:
        job = Job(name_of(request.source.source), request, Path(os.path.abspath(out)), piece_frames)
        other = jobs.setdefault(job.name.casefold(), job)  # some file systems do not tell upper from lower case
        if other is not job:
            raise BadRequest(
                f"{other.request.source.source} and {request.source.source} would both be written to {job.name}; "
                "give them one after the other with different -o, or rename one"
            )
    return list(jobs.values())


def _text(source: tuple[str, str | None]) -> str:
    return " and ".join(view for view in source if view is not None)
