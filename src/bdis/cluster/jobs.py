"""The recordings of a batch: what the given sources stand for, and the folder that each is recorded into."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path

from ..common.bad_request import BadRequest
from ..common.reading import MAX_TEXT_BYTES, read_text
from ..video.recording import FRAME_LOG, MANIFEST
from ..video.recording.run_request import RunRequest
from .patterns import files_matching

RECORDINGS = (".avi", ".bag", ".m4v", ".mkv", ".mov", ".mp4", ".mpg", ".mpeg", ".mts", ".ts", ".webm", ".wmv")
LIST = ".txt"
WORK_FOLDER = ".batch"  # in the folder of a batch: journal and unfinished pieces
PIECES = "pieces"  # in that folder: a folder for each recording that somebody has begun
LONGEST_NAME = 120  # characters


# Slots, also of all that is in it: pickling leaves a dict in every object that can have one, 0.3 kB per recording.
@dataclass(frozen=True, slots=True)
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
        return self.out / WORK_FOLDER / PIECES / self.name


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


def _expand(text: str, base: Path, *, is_line: bool = False) -> list[tuple[str, str | None]]:
    if "://" in text or text.startswith("render:"):
        return [(text, None)]
    path = base / text
    if not path.exists() and has_magic(text):
        kept = [each for each in files_matching(text, base) if not _is_result(each)]
        return [source for each in kept for source in _expand(str(each), Path(), is_line=is_line)]
    if path.is_dir():
        if not any(path.iterdir()):
            raise BadRequest(f"{path} is empty")
        videos = sorted(each for each in path.iterdir() if each.suffix.lower() in RECORDINGS and _is_meant(each))
        return [(str(each.resolve()), None) for each in videos or [path]]  # else a folder of images, one source
    if path.is_file() and path.suffix.lower() == LIST:
        if is_line:  # which may be the list itself, or one that doubles with each list that it names
            raise BadRequest(f"{path} is named in a list, but is a list itself; give both lists to the command")
        return [source for line in read_text(path, MAX_TEXT_BYTES).splitlines() for source in _line(line, path)]
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    return [(str(path.resolve()), None)]


def _is_meant(path: Path) -> bool:
    """Whether a file of a folder is a source: not hidden, as what macOS leaves on network drives, and not a result."""
    return path.is_file() and not path.name.startswith(".") and not _is_result(path)


def _is_result(path: Path) -> bool:
    """Whether a file or folder is of a recording: a pattern that found sources before a batch finds them after it."""
    return any((folder / MANIFEST).is_file() and (folder / FRAME_LOG).is_file() for folder in (path, path.parent))


def _line(line: str, path: Path) -> list[tuple[str, str | None]]:
    """The sources of a line of a list."""
    left, _, right = (part.strip() for part in line.partition("\t"))
    if not left or left.startswith("#"):
        return []
    if not right:
        return _expand(left, path.parent, is_line=True)
    views = [_expand(view, path.parent, is_line=True) for view in (left, right)]
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
        Two recordings would be written to the same folder, or a name is not UTF-8.
    FileNotFoundError
        There is no such calibration file.

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
    for request in map(_for_anywhere, requests):
        job = Job(name_of(request.source.source), request, Path(os.path.abspath(out)), piece_frames)
        _check_names(job)
        other = jobs.setdefault(job.name.casefold(), job)  # some file systems do not tell upper from lower case
        if other is not job:
            raise BadRequest(
                f"{other.request.source.source} and {request.source.source} would both be written to {job.name}; "
                "give them one after the other with different -o, or rename one"
            )
    return list(jobs.values())


def _check_names(job: Job) -> None:
    """Raise BadRequest if the names of a job cannot be sent to workers: Dask would try for ever."""
    source = job.request.source
    for place in (source.source, source.right, job.out, *source.cameras.calib):
        try:
            str(place).encode()
        except UnicodeEncodeError:
            raise BadRequest(f"{str(place)!r} is not UTF-8, and cannot be sent to workers; rename it") from None


def _for_anywhere(request: RunRequest) -> RunRequest:
    """The request with calibration files that are found from wherever a worker was started."""
    cameras = request.source.cameras
    for file in cameras.calib:
        if not file.is_file():
            raise FileNotFoundError(2, "no such file", str(file))
    calib = tuple(file.resolve() for file in cameras.calib)
    return replace(request, source=replace(request.source, cameras=replace(cameras, calib=calib)))


def _text(source: tuple[str, str | None]) -> str:
    return " and ".join(view for view in source if view is not None)
