"""The ``bdis`` command.  Nothing heavy is imported until a command needs it."""

import sys


def main() -> None:
    """Run the command line in ``sys.argv`` and exit: 0 done, 1 bad data, 2 bad usage."""
    try:
        from .app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'error: the bdis command needs {error.name}: pip install "bdis[cli]"', file=sys.stderr)
        sys.exit(1)
    sys.exit(run(sys.argv[1:]))
