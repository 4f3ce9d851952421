"""Options that several commands share, and the checks of their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import UsageError

LAYOUTS = ("side-by-side", "top-bottom")
UNITS = ("mm", "cm", "m")


def must_be(expected: str, is_valid: Callable[[Any], bool]) -> Callable[..., Any]:
    """Callback of an option that refuses values for which ``is_valid`` is false.

    Parameters
    ----------
    expected : str
        What the option accepts, to complete the message "--port is 70000; expected ...".
    is_valid : callable
        Takes the value. It is not called for an option without value.

    Returns
    -------
    callable
        For the ``callback`` argument of ``typer.Option``.
    """

    def check(parameter: typer.CallbackParam, value: Any) -> Any:
        if value is not None and not is_valid(value):
            shown = f"{value:g}" if isinstance(value, float) else repr(str(value) if isinstance(value, Path) else value)
            raise UsageError(f"{parameter.opts[0]} is {shown}; expected {expected}")
        return value

    return check


def parse_names(option: str, given: list[str], allowed: tuple[str, ...]) -> list[str]:
    """Names from an option that may be repeated and takes comma-separated lists.

    Parameters
    ----------
    option : str
        The option, for the message.
    given : list of str
        The values of the option.
    allowed : tuple of str
        The names that exist.

    Returns
    -------
    list of str
        Each name once, in the order given.

    Raises
    ------
    UsageError
        A name is not among ``allowed``.

    Examples
    --------
    >>> parse_names("--format", ["tiff,PLY", "tiff"], ("tiff", "ply"))
    ['tiff', 'ply']
    """
    names = [name.strip().lower() for text in given for name in text.split(",")]
    for name in names:
        if name not in allowed:
            raise UsageError(f"{option} {name!r}: expected one or more of {', '.join(allowed)}")
    return list(dict.fromkeys(names))


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from a text such as ``640x480``.

    Parameters
    ----------
    text : str
        The value of ``--size``.

    Returns
    -------
    width, height : int

    Raises
    ------
    UsageError
        The text has another form.

    Examples
    --------
    >>> parse_size("640x480")
    (640, 480)
    """
    width, times, height = text.strip().lower().partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size is {text!r}; expected WIDTHxHEIGHT such as 640x480")
    return int(width), int(height)


def split_assignment(option: str, text: str) -> tuple[str, str]:
    """Name and value of ``NAME=VALUE``, without surrounding spaces.

    Parameters
    ----------
    option : str
        The option, for the message.
    text : str
        The value of the option.

    Returns
    -------
    name, value : str

    Raises
    ------
    UsageError
        There is no ``=``.

    Examples
    --------
    >>> split_assignment("--set", "smoke = 0.4")
    ('smoke', '0.4')
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"{option} {text}: expected NAME=VALUE")
    return name, value


def preset_names() -> list[str]:
    """Names of the presets, for completion in the shell."""
    from ..matching.settings import PRESETS

    return list(PRESETS)


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback if there is an error.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Output folder.")]
Layout = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How one image holds both views: side-by-side (left view first) or top-bottom (left view on top).",
        autocompletion=lambda: list(LAYOUTS),
        callback=must_be(" or ".join(LAYOUTS), lambda layout: layout in LAYOUTS),
    ),
]
Squeezed = Annotated[
    bool,
    typer.Option("--squeezed", help="Each view was squeezed to half its width or height to fit into one image."),
]
CalibRight = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Second calibration file, if it is not found by its name: of the right camera (ROS), or the other one of "
        "OpenCV's intrinsics and extrinsics.",
    ),
]
CalibScale = Annotated[
    float,
    typer.Option(
        metavar="FACTOR",
        help="Size of the images relative to those of the calibration, if they were resized since.",
        callback=must_be("a factor above 0", lambda scale: scale > 0),
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(UNITS),
        help="Unit of lengths in the calibration file, if not the usual one of its format.",
        callback=must_be("mm, cm or m", lambda unit: unit in UNITS),
    ),
]
Preset = Annotated[
    str, typer.Option(metavar="NAME", help="Preset of settings; bdis presets lists them.", autocompletion=preset_names)
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Change a setting of the preset; can be repeated (see bdis presets NAME)."
    ),
]
MaxDepth = Annotated[
    float | None,
    typer.Option(
        metavar="MM",
        help="Depths beyond this are marked unknown.",
        callback=must_be("a number of mm above 0", lambda depth: depth > 0),
    ),
]
AverageFrames = Annotated[
    bool,
    typer.Option(
        "--average-frames/--no-average-frames",
        help="Average disparities over time where the picture stands still, or match every frame by itself. Presets "
        "without a surface, such as fast, never average.",
    ),
]
Start = Annotated[
    str | None, typer.Option(metavar="TIME", help="Where to start: a frame number, or a time such as 90s or 1:30.")
]
