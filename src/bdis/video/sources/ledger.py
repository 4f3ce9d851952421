"""The ledger of a video file: every frame that the file promises is delivered or counted as lost."""

from __future__ import annotations

from dataclasses import dataclass

from .source import BadFrame

# A frame this far from its regular time, in frames, shows that the video has a variable frame rate: then a gap between
# two times does not mean missing frames.
IRREGULAR = 0.25
SAME_TIME_S = 1e-6
# Share of the frames of a video with a variable rate that may be missing at its end before that is said: there, the
# number of frames is only estimated from the duration.
ESTIMATE_ERROR = 0.01


@dataclass(frozen=True)
class Promise:
    """How many frames a file says it has.

    Attributes
    ----------
    frames : int or None
        None if it does not say.
    is_counted : bool
        The number is in its header, or else is computed from a duration.
    is_certain : bool
        The number is about this video, and not about the longest stream of the file.
    """

    frames: int | None
    is_counted: bool = False
    is_certain: bool = True


class FrameLedger:
    """Numbers the frames of a video by their times, and finds those that are missing between them.

    If the header has the number of frames, that is what must be accounted for: a gap between two times may have been
    there from the beginning.  Else every place in the regular sequence of times must be.

    Parameters
    ----------
    fps : float
        Frames per second.
    promise : Promise
        What the file says.
    has_times : bool
        The file has the time of every frame; else they are counted.

    Attributes
    ----------
    delivered, lost : int
        Frames since the beginning, or since the last seek.
    last_index : int or None
        Number of the last frame.

    Examples
    --------
    >>> ledger = FrameLedger(25.0, Promise(5))
    >>> ledger.take(0.0)
    0
    >>> print(ledger.loss_before(0.12), ledger.loss_before(0.12), sep="; ")
    2 frames are missing after frame 0; None
    >>> ledger.take(0.12)
    3
    >>> print(ledger.loss_at_end())
    the file is cut off after frame 3: 1 frame is missing
    >>> ledger.delivered + ledger.lost
    5
    """

    def __init__(self, fps: float, promise: Promise, *, has_times: bool = True):
        self._fps, self._promise, self._has_times = fps, promise, has_times
        self._is_regular = True
        self.begin()

    def begin(self, index: int | None = None, *, is_sought: bool = False) -> None:
        """Start anew, after opening the file or, with the number of the next frame if it is known, after a seek."""
        self.delivered = self.lost = 0
        self.last_index: int | None = None
        self._accounted = -1  # number of the last frame that was delivered or counted as lost
        self._first = index if index is not None or is_sought else 0
        self._is_sought, self._damaged = is_sought, []  # type: tuple[bool, list[float]]
        self._is_finished = False

    def note_damage(self, time_s: float) -> None:
        """Remember that the frame at ``time_s`` could not be decoded; the decoder may show it nevertheless."""
        self._damaged.append(time_s)

    def is_plausible(self, time_s: float) -> bool:
        """Whether a time is before the promised end; damaged files have wrong times as well."""
        if self._promise.frames is None or self._promise.is_counted or not self._promise.is_certain:
            return True
        return round(time_s * self._fps) < self._promise.frames

    def loss_before(self, time_s: float) -> BadFrame | None:
        """The next loss between the last frame and that at ``time_s``; None if all are accounted for."""
        damaged = sorted(time for time in self._damaged if time < time_s - SAME_TIME_S)
        place = time_s * self._fps
        self._is_regular = self._is_regular and abs(place - round(place)) < IRREGULAR
        if not self._counts_gaps:
            return self._damaged_frame(damaged)
        if self.last_index is None and self._is_sought:
            self._damaged.clear()
            return None
        missing = round(place) - self._accounted - 1
        if missing <= 0:
            self._damaged = [time for time in self._damaged if time not in damaged]
            return None
        if damaged:
            return self._damaged_frame(damaged)
        return self._missing(missing, f"{_frames(missing)} missing {self._position}")

    def take(self, time_s: float) -> int:
        """Number of the frame at ``time_s``, which is delivered now; :meth:`loss_before` was called until None."""
        index = round(time_s * self._fps)
        if self.last_index is None and self._first:
            index = self._first
        self._first = index if self._first is None else self._first
        if self.last_index is not None:
            index = max(index, self._accounted + 1)
        self._damaged = [time for time in self._damaged if time > time_s + SAME_TIME_S]
        self.last_index = self._accounted = index
        self.delivered += 1
        return index

    def loss_of_late(self, time_s: float) -> BadFrame | None:
        """The loss of a frame that comes after later ones; None if its place is accounted for."""
        if self._counts_gaps:
            return None
        return self._missing(1, f"the frame at {time_s:.3f} s comes too late {self._position}")

    def take_back(self) -> None:
        """The frame that was taken last turned out to be damaged: it is lost."""
        self.delivered -= 1
        self.lost += 1

    def loss_at_end(self, why: str = "") -> BadFrame | None:
        """The next loss between the last frame and the end of the file; None if all are accounted for."""
        damaged = sorted(self._damaged)
        promised, missing = self._promise.frames, self.missing_at_end()
        if damaged and (missing is None or missing > 0):
            return self._damaged_frame(damaged)
        if self._is_finished or missing is None or promised is None:
            return None
        self._is_finished = True
        if missing < 0:
            return BadFrame(
                f"the file says that it has {promised} frames, but {promised - missing} came or were lost: "
                "the number that it says is not reliable", 0,
            )  # fmt: skip
        if missing == 0:
            return None
        if not self._has_times and self.lost:  # then the missing frames may be those after any of the lost ones
            return self._missing(missing, f"{_frames(missing)} missing; it is not known where{why}")
        return self._missing(missing, f"the file is cut off {self._position}: {_frames(missing)} missing{why}")

    @property
    def is_regular(self) -> bool:
        """Whether all times so far are those of a constant rate."""
        return self._is_regular

    @property
    def _counts_gaps(self) -> bool:
        return self._is_regular and not self._promise.is_counted

    @property
    def _position(self) -> str:
        return "at the beginning" if self.last_index is None else f"after frame {self.last_index}"

    def missing_at_end(self) -> int | None:
        """Frames that are promised and not accounted for; negative if there were more; None if that is not known."""
        promised = self._promise.frames
        if promised is None or not self._promise.is_certain or (self._is_sought and self.last_index is None):
            return None
        if self._promise.is_counted:
            missing = promised - (self._first or 0) - self.delivered - self.lost
        else:
            missing = promised - 1 - self._accounted
        is_exact = self._is_regular or (self._promise.is_counted and not self._is_sought)
        if not is_exact and missing <= max(2, ESTIMATE_ERROR * promised):
            return None
        return missing

    def _damaged_frame(self, damaged: list[float]) -> BadFrame | None:
        if not damaged:
            return None
        time_s = damaged[0]
        self._damaged.remove(time_s)
        return self._missing(1, f"frame {round(time_s * self._fps)} at {time_s:.3f} s is damaged")

    def _missing(self, count: int, message: str) -> BadFrame:
        self.lost += count
        if self._counts_gaps:
            self._accounted += count
        return BadFrame(message, count)


def _frames(count: int) -> str:
    return "1 frame is" if count == 1 else f"{count} frames are"
