"""Where a recording that is continued begins again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...matching.result import StereoResult
from .checkpoint import read_checkpoints
from .frame_log import FrameRecord
from .inventory import Inventory


@dataclass(frozen=True)
class Restart:
    """Where a recording that is continued begins again.

    Attributes
    ----------
    at : FrameRecord or None
        The frame to begin with; None for the first one.
    result : StereoResult or None
        The result of that frame, if it is kept: then the frame after it is the first to be matched.
    unusable : tuple of str
        Files with kept results that are damaged, and were not used.
    """

    at: FrameRecord | None = None
    result: StereoResult | None = None
    unusable: tuple[str, ...] = ()


def find_restart(folder: Path, there: Inventory, remembers: bool) -> Restart:
    """Where to begin so that every missing frame is made again, with the same bits."""
    missing = there.lacking_frames
    first = next((number for number, record in enumerate(there.records) if record.index in missing), len(there.records))
    if not remembers:  # any frame can be made without those before it
        return Restart(there.records[first - 1] if first else None)
    complete = {record.index: record for record in there.records[:first]}
    found, unusable = read_checkpoints(folder)
    for checkpoint in found:
        if checkpoint.index in complete:
            return Restart(complete[checkpoint.index], checkpoint.result, tuple(unusable))
    return Restart(unusable=tuple(unusable))
