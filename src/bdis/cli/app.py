"""Collects the commands, one file each, and turns errors into messages and exit codes."""

import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from . import terminal
from .assess import assess
from .batch import batch_app
from .bench import bench
from .calib import calib_app
from .calibrate import calibrate
from .certainty import certainty_app
from .demo import demo
from .doctor import doctor, warmup
from .export import export
from .match import match
from .networks import networks_app
from .option_groups import with_option_groups, with_usage_errors
from .presets import presets
from .rectify import rectify
from .render import render
from .ros import ros1, ros2
from .run import run as run_command
from .view import view

app = typer.Typer(
    name="bdis",
    help="Dense depth from a stereo endoscope, on one CPU core, with a probability for every pixel.",
    epilog="Start with: bdis demo",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
# In the order in which the help lists them. Their modules import nothing heavy at the top, so that help is instant.
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "match": match,
    "assess": assess,
    "run": run_command,
    "view": view,
    "export": export,
    "calibrate": calibrate,
    "ros1": ros1,
    "ros2": ros2,
    "rectify": rectify,
    "render": render,
    "bench": bench,
    "presets": presets,
    "doctor": doctor,
    "warmup": warmup,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(with_option_groups(with_usage_errors(_command)))
app.add_typer(batch_app, name="batch")
app.add_typer(calib_app, name="calib")
app.add_typer(certainty_app, name="certainty")
app.add_typer(networks_app, name="networks")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        from .. import __version__

        terminal.say(f"bdis {__version__}")
    elif context.invoked_subcommand is None:
        terminal.say(context.get_help())


def run(arguments: list[str]) -> int:
    """Run a command line.

    Parameters
    ----------
    arguments : list of str
        What follows ``bdis`` on the command line.

    Returns
    -------
    int
        Exit code: 0 if all went well, 1 for an error in the data or while working, 2 for an error in the command line,
        130 if interrupted.
    """
    # Looked for before parsing, so that errors of parsing are reported in the requested form too.
    terminal.mode = terminal.Mode("--json" in arguments, "--debug" in arguments)
    try:
        with terminal.showing_warnings():
            code = app(arguments or ["--help"], prog_name="bdis", standalone_mode=False)
        if code == 130:  # how newer versions of typer report an interruption
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except terminal.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "bdis"
        return _fail(f"{error.format_message()} ({where} --help)", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(terminal.mode.interrupted, 130)
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{name}{error.strerror or error}", 1)
    except MemoryError as error:
        return _fail(f"not enough memory: {error}".rstrip(": "), 1)
    except Exception as error:
        return _fail(str(error) or type(error).__name__, 1)


def _fail(message: str, code: int) -> int:
    """Report an error in one line; the exit code is returned."""
    if terminal.mode.debug:
        terminal.note(traceback.format_exc().rstrip())
    terminal.note(f"error: {' '.join(message.split())}")
    terminal.give({"error": message})
    return code
