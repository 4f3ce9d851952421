"""Opens videos for reading, with every PyAV from 15.1 on."""

from __future__ import annotations

import os
from typing import Any


def open_container(av: Any, place: Any, **options: Any) -> Any:
    """Open a video that is read; in whatever encoding its title is, it keeps nobody from the frames.

    Parameters
    ----------
    av : module
        PyAV.
    place : str or file-like object
        What PyAV opens.
    **options
        Of ``av.open``.

    Returns
    -------
    av.container.InputContainer
        To be closed, or used in a ``with``.

    Raises
    ------
    av.FFmpegError
        It cannot be opened.
    """
    if int(av.__version__.partition(".")[0]) < 19:
        options["metadata_errors"] = "replace"  # later versions do so themselves, and have no such option
    if isinstance(place, str) and os.path.exists(place):
        place = os.path.join(os.getcwd(), place)  # else FFmpeg takes what is before a colon for a protocol
    return av.open(place, **options)
