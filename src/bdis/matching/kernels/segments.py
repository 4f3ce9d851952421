"""Small segments are removed [III-F]: pieces of connected pixels, found by joining runs within rows."""

from ...vector.crew import Crew, meet, share, share_of
from ...vector.records import Ints, Record, kernel
from ...vector.segments import find_runs, join_rows, remove_small_runs
from .layout import ROWS, Maps

# Neighbours of a segment differ by no more, px of their level [III-F]; 0.5 loses 6 to 9 % of coverage, 2 raises the
# error of `fast` by 8 to 14 % (docs/constants.md).
TOLERANCE_PX = 1.0


class Runs(Record):
    """Room to find the segments of a map of h rows and w columns; nothing in it outlives a call.

    Attributes
    ----------
    runs : ndarray of int32, shape (h * (w + 1), 4)
        Stretches of connected pixels within a row.
    rows : ndarray of int32, shape (h, 2)
        First and last + 1 run of each row.
    """

    runs: Ints
    rows: Ints


@kernel
def remove_small_segments(maps: Maps, room: Runs, min_size: int, crew: Crew) -> None:
    """Make segments of fewer than ``min_size`` pixels unknown.

    Each thread finds the runs of its rows, the first joins those of different threads, each cleans up its rows.
    """
    height, runs, rows = maps.disparity.shape[0], room.runs, room.rows
    begin, end = share(crew, height, ROWS)
    find_runs(maps.disparity, maps.width, TOLERANCE_PX, runs, rows, begin, end)
    if not meet(crew):
        return
    if crew.member == 0:
        for other in range(1, crew.count):
            seam, last = share_of(other, crew, height, ROWS)
            if seam < last:
                join_rows(maps.disparity, seam, TOLERANCE_PX, runs, rows)
    if not meet(crew):
        return
    remove_small_runs(maps.disparity, maps.probability, min_size, runs, rows, begin, end)
    meet(crew)
