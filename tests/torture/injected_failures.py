"""Every allocation and every write of a command fails in turn: one line of error, nothing half-written, nothing lost.

Not part of ``make test``, which has a sample of it; run it with ``make torture``.
"""

import time

import pytest

from tests.cli.injected import COMMANDS, WAYS
from tests.torture.figures import figure

EVERY = 1  # call


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize(("way", "forever"), WAYS)
def test_every_failure(name, way, forever, tmp_path, monkeypatch, capsys):
    begin = time.perf_counter()
    command = COMMANDS[name](tmp_path, monkeypatch, capsys)
    calls = range(1, command.count(way, forever) + 1, EVERY)
    for number in calls:
        command.fail_at(number, way, forever)
    with capsys.disabled():
        later = ", and all later ones" if forever else ""
        figure(f"bdis {name}", f"{len(calls)} {way} failed in turn{later}, {time.perf_counter() - begin:.0f} s")
