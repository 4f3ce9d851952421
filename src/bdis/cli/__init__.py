"""The ``bdis`` command. NumPy, Numba and other large packages are imported when a command needs them."""

import signal
import sys
from types import FrameType

from .signals import stopping_signals


def main() -> None:
    """Run the command line in ``sys.argv`` and exit; the exit codes are those of :func:`bdis.cli.app.run`."""
    try:
        from .app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'error: the bdis command needs {error.name}: pip install "bdis[cli]"', file=sys.stderr)
        sys.exit(1)
    for number in stopping_signals():
        if number != signal.SIGINT:  # Python raises KeyboardInterrupt
            signal.signal(number, _stop)
    sys.exit(run(sys.argv[1:]))


def _stop(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM and SIGHUP."""
    sys.exit(128 + number)  # an exception, so that unfinished files are removed
