"""The queues between the steps of a stream: short, and never in the way of stopping."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")
# Windows does not deliver Ctrl-C to a thread that waits without end.
PATIENCE_S = 0.5


class Ended(Exception):
    """Nothing more will come out of a lane."""


class Lane(Generic[Item]):
    """Hands items from one thread to the next.

    Parameters
    ----------
    capacity : how many may wait
    newest_only : a full lane throws its oldest item away and counts it, instead of letting the giver wait

    Examples
    --------
    >>> lane = Lane(1, newest_only=True)
    >>> lane.put("old"), lane.put("new"), lane.get(), lane.dropped
    (True, True, 'new', 1)
    """

    def __init__(self, capacity: int, newest_only: bool = False):
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._capacity, self._newest_only = capacity, newest_only
        self._is_over = False
        self._error: BaseException | None = None
        self.dropped = 0

    def put(self, item: Item) -> bool:
        """Hand an item over; False if nobody wants any more."""
        with self._changed:
            while not self._is_over and len(self._items) >= self._capacity:
                if self._newest_only:
                    self._items.popleft()
                    self.dropped += 1
                else:
                    self._changed.wait(PATIENCE_S)
            if self._is_over:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self) -> Item:
        """The oldest item, when there is one.

        Raises
        ------
        Ended
            There will be none.
        Exception
            What the giver ended with; what was handed over before comes first.
        """
        with self._changed:
            while not self._items and not self._is_over:
                self._changed.wait(PATIENCE_S)
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            raise Ended

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more will be put; what waits can still be had."""
        with self._changed:
            if not self._is_over:
                self._is_over, self._error = True, error
                self._changed.notify_all()

    def clear(self) -> None:
        """Throw away what waits."""
        with self._changed:
            self._items.clear()
            self._changed.notify_all()
