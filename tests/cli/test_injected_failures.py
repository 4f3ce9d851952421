"""A sample of the allocations and writes of commands fails; ``make torture`` lets each of them fail in turn."""

import pytest

from tests.cli.injected import COMMANDS, WAYS

SAMPLES = {"match": 3, "render": 2, "run": 3, "bench": 1}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_failed_allocation_or_write_is_one_line_and_leaves_nothing_unfinished(name, tmp_path, monkeypatch, capsys):
    command = COMMANDS[name](tmp_path, monkeypatch, capsys)
    for way, forever in WAYS:
        calls = command.count(way, forever)
        for part in range(SAMPLES[name]):
            command.fail_at(1 + (2 * part + 1) * (calls - 1) // (2 * SAMPLES[name]), way, forever)
    command.fail_at(command.count("writes", False), "writes", False)
