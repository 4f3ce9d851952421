"""Pairs of left and right images, found by their stamps while they arrive."""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
RESET_NS = 1_000_000_000  # a stamp that is earlier by more than this is not late: the clock was set back


class Pair(NamedTuple, Generic[Item]):
    """Two items of one moment.

    Attributes
    ----------
    stamp_ns : int
        Of the left one.
    left, right : object
        As they were added.
    """

    stamp_ns: int
    left: Item
    right: Item


class StampPairs(Generic[Item]):
    """Finds for each image the one of the other camera with the nearest stamp.

    Parameters
    ----------
    tolerance_s : float
        By how much the stamps of a pair may differ.  Below half the time between frames, no image finds a wrong one.
    capacity : int
        How many images of each camera wait for their partner.

    Attributes
    ----------
    unpaired : int
        Images whose partner never came.
    late : int
        Images that came after a pair of the same or a later time.
    nearest_s : float or None
        By how much the stamps of left and right differed when an image last found no partner.

    Examples
    --------
    >>> pairs = StampPairs(tolerance_s=0.005)
    >>> pairs.add(0, 1_000_000_000, "left 1")
    >>> pairs.add(1, 1_002_000_000, "right 1")
    Pair(stamp_ns=1000000000, left='left 1', right='right 1')
    >>> pairs.add(0, 1_040_000_000, "left 2"), pairs.add(1, 1_060_000_000, "right 3"), pairs.nearest_s
    (None, None, 0.02)
    """

    def __init__(self, tolerance_s: float, capacity: int = 5):
        self._tolerance_ns = round(1e9 * tolerance_s)
        self._capacity = capacity
        self._waiting: tuple[deque[tuple[int, Item]], deque[tuple[int, Item]]] = (deque(), deque())
        self._last_ns: int | None = None
        self.unpaired = self.late = 0
        self.nearest_s: float | None = None

    def add(self, side: int, stamp_ns: int, item: Item) -> Pair[Item] | None:
        """Add an image.

        Parameters
        ----------
        side : {0, 1}
            0 for the left camera.
        stamp_ns : int
            When it was taken.
        item : object
            The image.

        Returns
        -------
        Pair or None
            The pair that it completes.
        """
        if self._last_ns is not None and stamp_ns <= self._last_ns + self._tolerance_ns:
            if stamp_ns > self._last_ns - RESET_NS:
                self.late += 1
                return None
            self.clear()
        others = self._waiting[1 - side]
        nearest = min(others, key=lambda other: abs(other[0] - stamp_ns), default=None)
        if nearest is None or abs(nearest[0] - stamp_ns) > self._tolerance_ns:
            if nearest is not None:
                self.nearest_s = abs(nearest[0] - stamp_ns) / 1e9
            self._wait(side, stamp_ns, item)
            return None
        left, right = ((stamp_ns, item), nearest) if side == 0 else (nearest, (stamp_ns, item))
        self._last_ns = max(left[0], right[0])
        others.remove(nearest)
        self._forget_until(self._last_ns)
        return Pair(left[0], left[1], right[1])

    def clear(self) -> None:
        """Forget what waits, and which stamps there were."""
        self.unpaired += sum(map(len, self._waiting))
        for queue in self._waiting:
            queue.clear()
        self._last_ns = None

    def _wait(self, side: int, stamp_ns: int, item: Item) -> None:
        queue = self._waiting[side]
        queue.append((stamp_ns, item))
        if len(queue) > self._capacity:
            queue.popleft()
            self.unpaired += 1

    def _forget_until(self, stamp_ns: int) -> None:
        """Images from before a pair have lost their turn."""
        for queue in self._waiting:
            for waiting in [each for each in queue if each[0] <= stamp_ns]:
                queue.remove(waiting)
                self.unpaired += 1
