"""Lines that a log of frames lacks: the n-th frame of a video is that of the n-th line, so later ones would be others.

How many lines there must be says the manifest of a finished recording, and which line is missing the times in the depth
video or, without one, the numbers of the frames.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ...common.atomic import Place
from .frame_log import REPAIRS, FrameRecord
from .video_file import tick_of

TICKS = 1000  # per second, of the times in the depth video


class FrameTimes:
    """Compares the times of the frames of a depth video with those of the log, one after the other.

    Examples
    --------
    >>> times, records = FrameTimes(), [FrameRecord(number, number / 25, 2, 0, 5, 1, 9, 0.9) for number in range(3)]
    >>> [times.agrees(record, tick) for record, tick in zip(records, [0, 40, 120])]
    [True, True, False]
    """

    def __init__(self) -> None:
        self._tick = -1

    def agrees(self, record: FrameRecord, tick: int) -> bool:
        """Whether the next frame, which is at ``tick`` in the video, may be that of the record."""
        self._tick = tick_of(record.time_s, TICKS, self._tick)
        return abs(tick - self._tick) <= 1

    def check(self, path: Place, number: int, record: FrameRecord, tick: int) -> None:
        """Raise ValueError unless it :meth:`agrees`; ``number`` counts the frames of the video from 0."""
        if not self.agrees(record, tick):
            raise ValueError(
                f"{path}: frame {number + 1} is at {tick / TICKS:.3f} s, and frames.csv says frame {record.index} at "
                f"{record.time_s:.3f} s; {REPAIRS}"
            )


def agreeing_frames(records: Sequence[FrameRecord], ticks: Sequence[int]) -> int:
    """How many frames of a depth video, from the first one on, are at the times of the log.

    Examples
    --------
    >>> records = [FrameRecord(number, number / 25, 2, 0, 5, 1, 9, 0.9) for number in (0, 1, 3)]
    >>> agreeing_frames(records, [0, 40, 80, 120])
    2
    """
    times = FrameTimes()
    pairs = enumerate(zip(records, ticks))
    differs = (number for number, (record, tick) in pairs if not times.agrees(record, tick))
    return next(differs, min(len(records), len(ticks)))


def gap_by_times(records: Sequence[FrameRecord], ticks: Sequence[int]) -> int | None:
    """How many lines come before the first missing one, as a depth video has its frame and those after it.

    Returns
    -------
    int or None
        None if no line is missing, or something else is wrong, such as that the video is of another recording.

    Examples
    --------
    >>> records = [FrameRecord(number, number / 25, 2, 0, 5, 1, 9, 0.9) for number in (0, 1, 3)]
    >>> gap_by_times(records, [0, 40, 80, 120]), gap_by_times(records, [0, 40, 60])
    (2, None)
    """
    before = agreeing_frames(records, ticks)
    if before == len(records) or before == len(ticks):
        return None
    tick = tick_of(records[before].time_s, TICKS, ticks[before - 1] if before else -1)
    return before if any(abs(later - tick) <= 1 for later in ticks[before + 1 :]) else None


def gap_by_numbers(records: Sequence[FrameRecord], every: int, *, is_from_start: bool) -> int | None:
    """How many lines come before the first missing one, as numbers are left out that were not lost in the source.

    Parameters
    ----------
    records : sequence of FrameRecord
        The log.
    every : int
        Only every so many frames were recorded.
    is_from_start : bool
        The recording begins with the first frame of its source.

    Returns
    -------
    int or None
        None if no line is missing, or only at the end.

    Examples
    --------
    >>> records = [FrameRecord(number, number / 25, 2, 0, 5, 1, 9, 0.9) for number in (0, 1, 3)]
    >>> gap_by_numbers(records, 1, is_from_start=True), gap_by_numbers(records, 2, is_from_start=True)
    (2, None)
    """
    if is_from_start and records and records[0].index > every * records[0].lost_before:
        return 0
    for number, (before, record) in enumerate(itertools.pairwise(records), 1):
        if record.index - before.index > every * (1 + record.lost_before):
            return number
    return None
