"""Work that Ctrl-C must not stop half way: Python raises KeyboardInterrupt in the main thread only."""

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

POLL_S = 0.05  # Windows does not deliver Ctrl-C to a thread that waits without a timeout


def uninterrupted(work: Callable[[threading.Event], Result]) -> Result:
    """Call ``work`` in a thread of its own, and wait for it.

    If the waiting is interrupted, the exception is raised at once and the work goes on to where it can stop: it is told
    by the event.  The thread is not a daemon: a process that ends waits for it, since memory that it works on would be
    freed under it.

    Parameters
    ----------
    work : callable
        Called with an event that is set if nobody waits for its result any more.

    Returns
    -------
    object
        What it returns; what it raises is raised here.

    Examples
    --------
    >>> uninterrupted(lambda is_unwanted: 2 + 2)
    4
    """
    is_unwanted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        return work(is_unwanted)
    answers: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put((work(is_unwanted), None))
        except BaseException as error:
            answers.put((None, error))

    try:
        threading.Thread(target=answer, name="bdis_uninterrupted").start()
        while True:
            try:
                result, error = answers.get(timeout=POLL_S)
                break
            except queue.Empty:
                continue
    except BaseException:
        is_unwanted.set()
        raise
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
