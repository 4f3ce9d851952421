"""What an earlier run has left of a recording: the frames of its log, and which of them each output really has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...cameras.rig import Rig
from .frame_files import crc32_of, frame_file
from .frame_log import FRAME_LOG, FrameRecord, gap_by_lines, read_frame_log
from .log_gaps import agreeing_frames, gap_by_numbers, gap_by_times
from .outputs import OUTPUTS
from .video_file import read_ticks

RIG_FILE = "rig.toml"


@dataclass(frozen=True)
class Inventory:
    """The frames that a recording has.

    Attributes
    ----------
    records : list of FrameRecord
        The log of frames, with one record of each, in order.
    lacking : dict of str to set of int
        Numbers of the frames in the source that each output does not have, or not completely; outputs that have all
        are left out.
    kept : dict of str to int
        How many frames of each video can be kept.
    has_faulty_log : bool
        The log had a frame more than once, of which the last record is kept, or not in its place.
    cut_off : int
        How many records came after a line that the log lacks: they are left out, and their frames made again.
    """

    records: list[FrameRecord]
    lacking: dict[str, set[int]]
    kept: dict[str, int]
    has_faulty_log: bool = False
    cut_off: int = 0

    @property
    def lacking_frames(self) -> set[int]:
        """Numbers of the frames that some output lacks."""
        return set().union(*self.lacking.values())


def take_inventory(
    folder: Path,
    save: tuple[str, ...],
    finished_frames: int | None,
    *,
    has_content: bool = True,
    every: int | None = None,
    is_from_start: bool = False,
) -> Inventory:
    """Look at what is in the folder of a recording.

    Of the files of a frame, existence, size and content are checked; of a video or a bag, its frames are counted.

    Parameters
    ----------
    folder : Path
        Folder of the recording.
    save : tuple of str
        Names of its outputs.
    finished_frames : int or None
        How many frames it had when it was finished; None if it was not.  Then videos are cut to where they can be
        continued with the same bits.
    has_content : bool
        Whether files of frames are read and compared with the checksums of the log.
    every : int, optional
        Only every so many frames were recorded.  Default: not known; then only the times in the depth video tell which
        line the log lacks.
    is_from_start : bool
        The recording begins with the first frame of its source.

    Returns
    -------
    Inventory
    """
    path = folder / FRAME_LOG
    logged = read_frame_log(path) if path.is_file() else []
    ordered = [record for _, record in sorted({record.index: record for record in logged}.items())]
    ticks = {name: read_ticks(folder / OUTPUTS[name].path, rate) for name in save if (rate := OUTPUTS[name].ticks)}
    records = ordered[: _first_gap(ordered, list(ticks.values()), finished_frames, every, is_from_start)]
    lacking: dict[str, set[int]] = {}
    kept: dict[str, int] = {}
    damaged = {record.index for record in records if not _has_files(folder, record, save, has_content)}
    for name in save:
        output = OUTPUTS[name]
        if output.is_video:
            if name in ticks:
                frames = agreeing_frames(records, ticks[name])
            else:
                frames = min(output.count_frames(folder / output.path), len(records)) if records else 0
            if frames != finished_frames:
                frames -= frames % output.continued_every
            kept[name] = frames
            missing = {record.index for record in records[frames:]}
        else:
            missing = damaged if output.ending is not None else set()
        if missing:
            lacking[name] = missing
    return Inventory(records, lacking, kept, ordered != logged, len(ordered) - len(records))


def _first_gap(
    records: list[FrameRecord], ticks: list[list[int]], finished_frames: int | None, every: int | None,
    is_from_start: bool,
) -> int | None:  # fmt: skip
    """How many records come before the first line that the log lacks; None if it lacks none."""
    if finished_frames is not None and len(records) >= finished_frames:
        return None
    gaps = [gap for video in ticks if (gap := gap_by_times(records, video)) is not None]
    if (gap := gap_by_lines(records)) is not None:
        gaps.append(gap)
    # Of an unfinished recording, numbers may be left out for reasons of the source; times in the video do not err.
    if not gaps and finished_frames is not None and every is not None:
        return gap_by_numbers(records, every, is_from_start=is_from_start)
    return min(gaps, default=None)


def files_of_frame(folder: Path, index: int, save: tuple[str, ...]) -> list[Path]:
    """The files that a frame of a recording has of its own, in the order of its outputs.

    >>> [path.name for path in files_of_frame(Path("out"), 7, ("depth", "video", "left"))]
    ['000007.tiff', '000007.png']
    """
    outputs = (OUTPUTS[name] for name in save)
    return [frame_file(folder / each.path, index, each.ending) for each in outputs if each.ending is not None]


def has_rig(folder: Path, rig: Rig | None) -> bool:
    """Whether the file of the rig says what it should; true if there should be none."""
    try:
        return rig is None or Rig.load(folder / RIG_FILE) == rig
    except (OSError, ValueError):
        return False


def find_foreign_files(folder: Path, save: tuple[str, ...]) -> list[Path]:
    """Files that are named like those of a frame, but of none that is in the log.

    Parameters
    ----------
    folder : Path
        Folder of a recording that is complete; in one that is not, they are of frames that were about to be logged.
    save : tuple of str
        Names of its outputs.

    Returns
    -------
    list of Path
        In order.
    """
    path = folder / FRAME_LOG
    known = {record.index for record in read_frame_log(path)} if path.is_file() else set()
    found = []
    for output in (OUTPUTS[name] for name in save):
        if output.ending is None or not (folder / output.path).is_dir():
            continue
        for file in sorted((folder / output.path).glob(f"*.{output.ending}")):
            number = file.stem
            if number.isascii() and number.isdigit() and len(number) >= 6 and int(number) not in known:
                found.append(file)
    return found


def _has_files(folder: Path, record: FrameRecord, save: tuple[str, ...], has_content: bool) -> bool:
    """Whether all files of a frame are there, and are as they were when they were written."""
    files = files_of_frame(folder, record.index, save)
    try:
        if sum(path.stat().st_size for path in files) != record.file_bytes:
            return False
        return not (has_content and record.file_crc32) or crc32_of(files) == record.file_crc32
    except OSError:
        return False
