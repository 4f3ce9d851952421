"""Whether a recording is finished, and still as it was when it was finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .inventory import has_rig, take_inventory
from .manifest import finished_frames, read_manifest
from .outputs import RecordingPlan
from .recording import manifest_of


def is_complete(folder: Path, plan: RecordingPlan, about: dict[str, Any], *, has_content: bool = True) -> bool:
    """Whether a recording was finished, and still has all of its frames and its rig.

    Parameters
    ----------
    folder, plan, about
        As in :class:`bdis.video.recording.Recording`.
    has_content : bool
        Whether files of frames are read and compared with the checksums of the log, and not only their sizes.

    Returns
    -------
    bool
        True if there is nothing left to record.

    Raises
    ------
    ValueError
        There is no recording, or it was made with other settings.
    """
    earlier = read_manifest(folder)
    manifest_of(folder, plan, about).continue_from(earlier)
    finished = finished_frames(earlier)
    if finished is None:
        return False
    there = take_inventory(folder, plan.save, finished, has_content=has_content)
    has_records = len(there.records) == finished and not there.has_faulty_log
    return has_records and not there.lacking and has_rig(folder, plan.rig)
