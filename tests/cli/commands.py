"""How the tests run commands."""

import subprocess
import sys

import pytest

from bdis.cli.app import run

HEIGHT, WIDTH = 240, 320  # of the pair in conftest.py
COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and limits of POSIX")


def fails(capsys, arguments, code, *words):
    """Run a command that must fail with ``code`` and one line that has these words."""
    assert run([str(argument) for argument in arguments]) == code
    said = capsys.readouterr()
    errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, said.err
    assert "Traceback" not in said.err
    for word in words:
        assert word in errors[0]
    return said


def bdis_command(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, **options
    )
