"""The ``bdis`` command.  Nothing heavy is imported until a command needs it."""

import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line in ``sys.argv`` and exit: 0 done, 1 bad data, 2 bad usage."""
    try:
        from .app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'error: the bdis command needs {error.name}: pip install "bdis[cli]"', file=sys.stderr)
        sys.exit(1)
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run(sys.argv[1:]))


def _stop(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)  # an exception, so that unfinished files are removed
