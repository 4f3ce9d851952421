"""The ``bdis`` command. NumPy, Numba and other large packages are imported when a command needs them."""

import os
import signal
import sys
from types import FrameType

from ..common.optional import install_command, is_installed
from .signals import stopping_signals

# What the commands use: the extras cli and images. They are named together, so that nobody is sent for one at a time.
PACKAGES = ("typer", "rich", "cv2", "matplotlib", "av", "viser")


def main() -> None:
    """Run the command line in ``sys.argv`` and exit; the exit codes are those of :func:`bdis.cli.app.run`."""
    _prepare_streams()
    try:
        from .app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        missing = [package for package in PACKAGES if not is_installed(package)]
        print(f"error: the bdis command needs {error.name}: {install_command(*missing)}", file=sys.stderr)
        sys.exit(1)
    for number in stopping_signals():
        if number != signal.SIGINT:  # Python raises KeyboardInterrupt
            signal.signal(number, _stop)
    sys.exit(run(sys.argv[1:]))


def _prepare_streams() -> None:
    """Make the standard streams take anything that is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Closed, as by `>&-`: the next file that is opened would get this number, and what libraries print.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "w" if number else "r"))
    for stream in (sys.stdout, sys.stderr):
        if stream.errors == "strict":  # names of files need not be text
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _stop(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM and SIGHUP."""
    sys.exit(128 + number)  # an exception, so that unfinished files are removed
