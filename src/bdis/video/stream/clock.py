"""The clock that plays a file at its own speed."""

import time

MAX_DELAY_S = 0.25  # a frame that is later than this moves the schedule instead of being followed in a hurry
MAX_WAIT_S = 10.0  # longer gaps between two frames are skipped


class PlaybackClock:
    """Says how long to wait before each frame of a file is shown.

    The first frame after :meth:`reset` is due at once, every later one as much later as its timestamp says.

    Examples
    --------
    >>> clock = PlaybackClock()
    >>> clock.wait_s(3.0) < 0.001  # the first frame is due at once
    True
    >>> 0.9 < clock.wait_s(4.0) <= 1.0
    True
    """

    def __init__(self) -> None:
        self._offset_s: float | None = None

    def reset(self) -> None:
        """Start a new schedule with the next frame; needed after a pause or a seek."""
        self._offset_s = None

    def wait_s(self, time_s: float) -> float:
        """Time until a frame is due.

        Parameters
        ----------
        time_s : float
            Timestamp of the frame, seconds.

        Returns
        -------
        float
            Seconds from now; negative if the frame is late by at most ``MAX_DELAY_S``.  A frame that is later than
            that is due now, and the frames after it are delayed as much.
        """
        now = time.perf_counter()
        if self._offset_s is None or not -MAX_DELAY_S <= self._offset_s + time_s - now <= MAX_WAIT_S:
            self._offset_s = now - time_s
        return self._offset_s + time_s - now
