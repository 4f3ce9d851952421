"""The page of all commands with their help, from the typer app."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

_HEAD = """# Help of all commands

What `bdis COMMAND --help` prints, for reading and searching. What each command is for, with examples, is in
[commands](../commands.md).
"""


def write(path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _HEAD + "".join(f"\n{section}" for section in _sections())
    if not path.exists() or path.read_text() != text:  # an unchanged page is not read again
        path.write_text(text)


def _sections() -> Iterator[str]:
    import typer

    from bdis.cli.app import app

    for name, command in _leaves("bdis", typer.main.get_command(app)):
        context = command.make_context(name, [], resilient_parsing=True)
        yield _section(name, command, context)


def _leaves(name: str, command) -> Iterator[tuple[str, object]]:
    """The commands without commands of their own, such as ``bdis calib show``."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from _leaves(f"{name} {word}", inner)


def _section(name: str, command, context) -> str:
    """One command: what it does, how it is called, and its arguments and options."""
    usage = command.get_usage(context).removeprefix("Usage: ")
    about = "\n\n".join(map(_paragraph, re.split(r"\n\s*\n", (command.help or "").strip())))
    rows = [record for parameter in command.params if (record := parameter.get_help_record(context))]
    terms = "\n".join(f"`{' '.join(names.split())}`\n: {_paragraph(text) or '-'}\n" for names, text in rows)
    return f"## {name}\n\n{about}\n\n```text\n{' '.join(usage.split())}\n```\n\n{terms}"


def _paragraph(text: str) -> str:
    """A paragraph of the help; after a ``\\b`` it is kept as it is, line by line."""
    if "\b" in text:
        return f"```text\n{inspect.cleandoc(text.replace(chr(8), ''))}\n```"
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    """Text as it is: what has a meaning in Markdown is escaped."""
    return re.sub(r"([\\`*_<>\[\]$|{}])", r"\\\1", text)
