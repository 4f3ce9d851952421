"""What an earlier run has left of a recording: the frames of its log, and which of them each output really has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .frame_files import frame_file
from .frame_log import FRAME_LOG, FrameRecord, read_frame_log
from .outputs import OUTPUTS


@dataclass(frozen=True)
class Inventory:
    """The frames that a recording has.

    Attributes
    ----------
    records : list of FrameRecord
        The log of frames.
    lacking : dict of str to set of int
        Numbers of the frames in the source that each output does not have, or not completely; outputs that have all
        are left out.
    kept : dict of str to int
        How many frames of each video can be kept.
    """

    records: list[FrameRecord]
    lacking: dict[str, set[int]]
    kept: dict[str, int]

    @property
    def lost_frames(self) -> set[int]:
        """Numbers of the frames that some output lacks."""
        return set().union(*self.lacking.values())


def take_inventory(folder: Path, save: tuple[str, ...], finished_frames: int | None) -> Inventory:
    """Look at what is in the folder of a recording.

    Of the files of a frame, existence and size are checked; of a video or a bag, its frames are counted.

    Parameters
    ----------
    folder : Path
        Folder of the recording.
    save : tuple of str
        Names of its outputs.
    finished_frames : int or None
        How many frames it had when it was finished; None if it was not.  Then videos are cut to where they can be
        continued with the same bits.

    Returns
    -------
    Inventory
    """
    path = folder / FRAME_LOG
    records = read_frame_log(path) if path.is_file() else []
    lacking: dict[str, set[int]] = {}
    kept: dict[str, int] = {}
    files = {name: OUTPUTS[name].path for name in save if OUTPUTS[name].ending is not None}
    damaged = {record.index for record in records if not _has_files(folder, record, files)}
    for name in save:
        output = OUTPUTS[name]
        if output.is_video:
            frames = min(output.count_frames(folder / output.path), len(records)) if records else 0
            if frames != finished_frames:
                frames -= frames % output.continued_every
            kept[name] = frames
            missing = {record.index for record in records[frames:]}
        else:
            missing = damaged if name in files else set()
        if missing:
            lacking[name] = missing
    return Inventory(records, lacking, kept)


def _has_files(folder: Path, record: FrameRecord, files: dict[str, str]) -> bool:
    """Whether all files of a frame are there, and as large as they were when they were written."""
    try:
        sizes = [
            frame_file(folder / path, record.index, OUTPUTS[name].ending or "").stat().st_size
            for name, path in files.items()
        ]
    except OSError:
        return False
    return sum(sizes) == record.file_bytes
