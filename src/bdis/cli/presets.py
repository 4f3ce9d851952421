"""``bdis presets``, and settings given as ``NAME=VALUE``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .options import Debug, Json, preset_names
from .terminal import UsageError

if TYPE_CHECKING:
    from ..matching.settings import Settings

_VALUE_WIDTH = 21  # characters of the column of values, the same in all groups


def parse_settings(preset: str, assignments: list[str]) -> Settings:
    """Settings of a preset with assignments from the command line.

    Parameters
    ----------
    preset : str
        Name in ``PRESETS``.
    assignments : list of str
        Such as ``"patch_size=6"``.

    Returns
    -------
    Settings

    Raises
    ------
    UsageError
        Unknown preset or setting, or a value that it cannot have.
    """
    from ..cameras.rig_settings import settings_of

    try:
        return settings_of(preset, assignments)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def _print_overview() -> None:
    from ..matching.settings import PRESET_SUMMARIES, PRESETS, Settings

    default = Settings()
    rows = [
        (preset, PRESET_SUMMARIES[preset], ", ".join(_differences(settings, default)))
        for preset, settings in PRESETS.items()
    ]
    terminal.table(rows, ("preset", "what it is", "differs from the default in"))
    terminal.say("\nEvery setting with its meaning: bdis presets NAME")
    terminal.give({preset: asdict(settings) for preset, settings in PRESETS.items()})


def _print_preset(name: str) -> None:
    from ..common.declared import declarations, groups
    from ..matching.settings import Settings

    settings = parse_settings(name, [])
    name_width = max(map(len, declarations(Settings)))
    for group, members in groups(Settings).items():
        terminal.say(f"\n{group}")
        rows = []
        for each in members:
            value = getattr(settings, each.name)
            default = "" if value == each.default else f" (default {each.default})"
            choices = f" One of {', '.join(map(repr, each.choices))}." if each.choices else ""
            shown = f"{value}{default}".ljust(_VALUE_WIDTH)
            rows.append((each.name.ljust(name_width), shown, each.description() + choices))
        terminal.table(rows)
    terminal.give(asdict(settings))


def _differences(settings: Settings, default: Settings) -> list[str]:
    values, defaults = asdict(settings), asdict(default)
    return [f"{name}={value}" for name, value in values.items() if value != defaults[name]]


def presets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show all settings of this preset.", autocompletion=preset_names),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show the presets and their settings.

    \b
    bdis presets
    bdis presets paper
    """
    if name is None:
        _print_overview()
    else:
        _print_preset(name)
