"""Presets to look at, and settings given as ``name=value``."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from . import terminal
from .options import Debug, Json, preset_names
from .terminal import UsageError

if TYPE_CHECKING:
    from ..matching.settings import Settings

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_settings(preset: str, assignments: list[str]) -> Settings:
    """Settings of a preset with ``name=value`` applied; UsageError if there is no such thing."""
    from ..matching.settings import settings_for

    try:
        return settings_for(preset, dict(_parse(assignment) for assignment in assignments))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def with_uncertainty(settings: Settings, assignments: list[str]) -> Settings:
    """The same with a variance for every pixel, unless the user decides about it."""
    if any(assignment.partition("=")[0].strip() == "variance" for assignment in assignments):
        return settings
    return replace(settings, variance=True)


def _parse(assignment: str) -> tuple[str, Any]:
    from ..matching.settings import Settings

    name, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
        raise ValueError(f"--set {assignment}: expected NAME=VALUE")
    types = get_type_hints(Settings)
    if name not in types:
        return name, text  # refused by settings_for, in words
    for choice in get_args(types[name]) or (types[name],):  # int | None, Literal["a", "b"], or a plain type
        if isinstance(choice, str) and text == choice:
            return name, choice
        if isinstance(choice, bool) and _BOOLEANS.get(text.lower()) is choice:  # one of several choices
            return name, choice
        if choice is type(None) and text.lower() == "none":
            return name, None
        if choice is bool and text.lower() in _BOOLEANS:
            return name, _BOOLEANS[text.lower()]
        if choice in (int, float):
            try:
                return name, choice(text)
            except ValueError:
                continue
    return name, text


def run_presets(name: str | None) -> None:
    """Print one preset, or what makes each differ from the default."""
    from ..matching.settings import PRESETS

    if name is not None:
        settings = asdict(parse_settings(name, []))
        terminal.table(settings.items())
        terminal.give(settings)
        return
    default, *_ = PRESETS
    rows = [(default, "the default")]
    for other in PRESETS:
        if other != default:
            rows.append((other, ", ".join(_differences(PRESETS[other], PRESETS[default]))))
    terminal.table(rows, ("preset", "differs from the default in"))
    terminal.give({preset: asdict(settings) for preset, settings in PRESETS.items()})


def _differences(settings: Settings, default: Settings) -> list[str]:
    names = [field.name for field in fields(settings)]
    return [f"{name}={getattr(settings, name)}" for name in names if getattr(settings, name) != getattr(default, name)]


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
    run_presets(name)
