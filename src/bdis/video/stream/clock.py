"""Playing a file at its own speed."""

import time

LATE_S = 0.25  # who is later than this gives up catching up
LONGEST_WAIT_S = 10.0  # longer gaps between frames are not waited for


class Pace:
    """Knows when the frames of a file are due.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.wait_s(3.0) < 0.001  # the first frame is due at once
    True
    >>> 0.9 < pace.wait_s(4.0) <= 1.0
    True
    """

    def __init__(self) -> None:
        self._offset_s: float | None = None

    def reset(self) -> None:
        """Forget when frames were due: after a pause or a jump."""
        self._offset_s = None

    def wait_s(self, time_s: float) -> float:
        """How long to wait for the frame of ``time_s``; one that is too late delays all that follow."""
        now = time.perf_counter()
        if self._offset_s is None or not -LATE_S <= self._offset_s + time_s - now <= LONGEST_WAIT_S:
            self._offset_s = now - time_s
        return self._offset_s + time_s - now
