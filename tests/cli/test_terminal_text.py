"""Nothing that a file or its name says steers the terminal."""

import json

import pytest

from bdis.cli import terminal
from bdis.cli.app import run

ESCAPE = "\x1b[2J\x1b]0;title\x07"


def assert_harmless(capfd):
    printed = capfd.readouterr()
    text = printed.out + printed.err
    assert text
    assert all(letter.isprintable() or letter == "\n" for letter in text), repr(text)
    return text


@pytest.fixture(autouse=True)
def prints_text(monkeypatch):
    """Another test of this process may have left the mode of a command that printed JSON."""
    monkeypatch.setattr(terminal.mode, "json", False)


@pytest.mark.parametrize("show", [terminal.say, terminal.warn, terminal.note])
def test_lines(show, capfd):
    show(f"set {ESCAPE}")
    assert "\\x1b[2J" in assert_harmless(capfd)


def test_tables(capfd):
    terminal.table([("name", f"set {ESCAPE}")], ("what", f"value{ESCAPE}"))
    assert "\\x1b[2J" in assert_harmless(capfd)


def test_progress(capfd):
    with terminal.progress_bar() as progress:
        progress(f"set {ESCAPE}", 1, 10)
    with terminal.working(f"set {ESCAPE}"):
        pass
    assert_harmless(capfd)


@pytest.mark.parametrize("more", [[], ["--json"], ["--debug"]])
def test_errors_about_a_calibration_and_its_name(more, tmp_path, capfd):
    path = tmp_path / f"rig{ESCAPE}.toml".replace("/", "")
    path.write_text(f'format = "bdis-{ESCAPE.encode("unicode_escape").decode()}"'.replace("\\x", "\\u00"))
    assert run(["calib", "show", str(path), *more]) == 1
    text = assert_harmless(capfd)
    if "--json" in more:
        assert "error" in json.JSONDecoder().raw_decode(text)[0]


def test_errors_about_the_command_line(capfd):
    assert run(["presets", "--set", f"{ESCAPE}=1"]) in (1, 2)
    assert_harmless(capfd)


def test_a_file_name_that_is_not_text_can_be_shown(tmp_path, capfd):
    """Such a name raised UnicodeEncodeError while the error was being printed."""
    assert run(["calib", "show", str(tmp_path / "caf\udce9.toml")]) == 1
    assert "caf\\udce9.toml" in assert_harmless(capfd)
