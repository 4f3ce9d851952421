"""The ledger of fuzzing: minutes add up until the code of a reader changes, or something is found."""

import pytest

from tests.fuzz import ledger
from tests.fuzz.ledger import LEDGER, PAGE, TABLE, Run, add, runs, total
from tests.fuzz.readers import READERS


def test_minutes_add_up_since_the_last_change_and_the_last_finding(tmp_path):
    path = tmp_path / "ledger.csv"
    assert runs(path) == []
    for run in (
        Run("image", "old", 300.0, 5, 0), Run("image", "new", 60.0, 7, 0), Run("image", "new", 10.0, 1, 1),
        Run("ply", "new", 9.0, 2, 0), Run("image", "new", 30.0, 3, 0), Run("image", "new", 300.0, 4, 0),
    ):  # fmt: skip
        add(run, path)
    assert total("image", "new", runs(path)) == Run("image", "new", 330.0, 7, 1)
    assert total("image", "newer", runs(path)).seconds == 0
    add(Run("image", "newer", 20.0, 1, 0), path)
    assert total("image", None, runs(path)) == Run("image", "", 350.0, 8, 1)


def test_a_reader_is_known_by_the_code_that_it_runs_and_not_by_comments(tmp_path, monkeypatch):
    pytest.importorskip("resource")  # forks
    before = ledger.sources_hashes(["kitti", "pipe_format"])
    assert before == ledger.sources_hashes(["pipe_format", "kitti"])
    assert len(set(before.values())) == 2


def test_the_ledger_and_its_table_are_about_readers_that_exist():
    assert {run.reader for run in runs(LEDGER)} <= set(READERS)
    shown = TABLE.search(PAGE.read_text())
    assert shown is not None
    assert all(f"| `{name}` |" in shown[0] for name in READERS), "python -m tests.fuzz.ledger"


def test_code_that_a_reader_does_not_run_does_not_count():
    source = "from .other import g\nLIMIT = {0}\ndef read():\n    return g(LIMIT)\ndef write():\n    return {1}\n"
    called = {"read"}
    assert ledger.code_of(source.format(1, 2), called) == ledger.code_of(source.format(1, 3), called)
    assert ledger.code_of(source.format(1, 2), called) != ledger.code_of(source.format(9, 2), called)
    compiled = "from numba import njit\n" + source  # nobody sees which compiled functions call each other
    assert ledger.code_of(compiled.format(1, 2), called) != ledger.code_of(compiled.format(1, 3), called)
