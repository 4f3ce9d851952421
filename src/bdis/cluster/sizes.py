"""By what a finished recording of a batch and its source are known again, without opening either."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..evaluation.datasets.folder import calibrations_in
from ..video.opened_source import SourceRequest, hashes_of
from ..video.recording import MANIFEST
from ..video.sources.fingerprint import fingerprint
from .jobs import Job


def sizes_of(job: Job) -> dict[str, Any]:
    """Sizes of the files of a recording and of its source.

    Parameters
    ----------
    job : Job
        The recording.

    Returns
    -------
    dict of str to list
        "source": for each view what tells its file, or those of its folder, from others; None for what is no file.
        "outputs": the name of each file with its size, of each folder with its number of files.

    Raises
    ------
    OSError
        Something cannot be read.

    Examples
    --------
    >>> from bdis.video.recording.run_request import RunRequest
    >>> sizes_of(Job("plane", RunRequest(SourceRequest("render:plane")), Path("out"), 25))
    {'source': [None], 'outputs': []}
    """
    # The manifest is written anew by whoever looks after the recording.
    outputs = [path for path in _visible(job.folder) if path.name != MANIFEST]
    return {
        "source": _sizes_of_source(job.request.source),
        "outputs": [[path.name, len(os.listdir(path)) if path.is_dir() else path.stat().st_size] for path in outputs],
    }


def state_of_source(request: SourceRequest) -> Any:
    """What changes when the files of a source or of its calibration are replaced by others.

    Parameters
    ----------
    request : SourceRequest
        The source.

    Returns
    -------
    object
        To be compared.

    Raises
    ------
    OSError
        Something cannot be read.

    Examples
    --------
    >>> state_of_source(SourceRequest("render:plane"))
    ([None], [])
    """
    return _sizes_of_source(request), hashes_of(request.cameras.calib)


def _sizes_of_source(request: SourceRequest) -> list[Any]:
    return [_size_of_view(Path(view)) for view in (request.source, request.right) if view is not None]


def _size_of_view(place: Path) -> Any:
    if place.is_file():
        return fingerprint([place], reads_whole=False)
    if not place.is_dir():
        return None
    files = [path for path in sorted(place.rglob("*")) if path.is_file()]
    return {**fingerprint(files, reads_whole=False), "calib_sha256": hashes_of(calibrations_in(place))}


def _visible(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")] if folder.is_dir() else []
