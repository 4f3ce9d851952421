"""What the README shows must run as it stands; links, commands and paths in it are checked in test_docs.py."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
def test_snippet_runs(code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(README), "exec"), {})
    assert "known" in capsys.readouterr().out


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def test_it_is_short():
    assert len(README.read_text().splitlines()) <= 120, "the reference belongs into docs/"
