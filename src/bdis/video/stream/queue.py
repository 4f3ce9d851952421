"""The queues between the threads of a stream: short, and closed from either end."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")
POLL_S = 0.5  # Windows does not deliver Ctrl-C to a thread that waits without a timeout


class QueueClosed(Exception):
    """The queue is closed and empty."""


class FrameQueue(Generic[Item]):
    """Hands items from one thread to the next, in order.

    Parameters
    ----------
    capacity : int
        How many items may wait.
    newest_only : bool
        What happens to an item that is put into a full queue.  True: the oldest waiting item is dropped and counted.
        False: :meth:`put` blocks until there is room.

    Attributes
    ----------
    dropped : int
        Number of items that were dropped.

    Examples
    --------
    >>> queue = FrameQueue(1, newest_only=True)
    >>> queue.put("old"), queue.put("new"), queue.get(), queue.dropped
    (True, True, 'new', 1)
    """

    def __init__(self, capacity: int, newest_only: bool = False):
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._capacity, self._newest_only = capacity, newest_only
        self._is_closed = False
        self._error: BaseException | None = None
        self.dropped = 0

    def put(self, item: Item) -> bool:
        """Append an item.

        Returns
        -------
        bool
            False if the queue is closed; the item is discarded then.
        """
        with self._changed:
            while not self._is_closed and len(self._items) >= self._capacity:
                if self._newest_only:
                    self._items.popleft()
                    self.dropped += 1
                else:
                    self._changed.wait(POLL_S)
            if self._is_closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self) -> Item:
        """Remove and return the oldest item; blocks until there is one.

        Raises
        ------
        QueueClosed
            The queue was closed and is empty.
        Exception
            The queue is empty and was closed with this error.
        """
        with self._changed:
            while not self._items and not self._is_closed:
                self._changed.wait(POLL_S)
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            raise QueueClosed

    def close(self, error: BaseException | None = None) -> None:
        """Refuse further items; those that wait can still be taken.

        Parameters
        ----------
        error : BaseException, optional
            Raised by :meth:`get` once the queue is empty.  Ignored if the queue is closed already.
        """
        with self._changed:
            if not self._is_closed:
                self._is_closed, self._error = True, error
                self._changed.notify_all()

    def clear(self) -> None:
        """Discard all items that wait, without counting them as dropped."""
        with self._changed:
            self._items.clear()
            self._changed.notify_all()
