"""``bdis presets``, and settings given as ``NAME=VALUE``."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.assignments import read_values, split_assignments
from . import terminal
from .options import Debug, Json, preset_names
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.rig import Rig
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
    from ..matching.settings import Settings, settings_for

    try:
        return settings_for(preset, read_values(split_assignments(assignments, "--set"), Settings))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def with_uncertainty(settings: Settings, assignments: list[str]) -> Settings:
    """The same settings with a variance for each pixel, unless the assignments set ``variance`` themselves."""
    if "variance" in split_assignments(assignments, "--set"):
        return settings
    return replace(settings, variance=True)


def with_rig(settings: Settings, assignments: list[str], rig: Rig | None, origin: str) -> tuple[Settings, list[str]]:
    """The same settings with the rig's range of disparities and factor on sigma, where the assignments set neither.

    Parameters
    ----------
    settings : Settings
        Of the preset and the assignments.
    assignments : list of str
        Such as ``"patch_size=6"``.
    rig : Rig or None
        The rectified cameras, if they are known.
    origin : str
        Where the rig comes from, for the remarks.

    Returns
    -------
    settings : Settings
    remarks : list of str
        A line for each change; none about the range where it is the usual one, from 0 px up.

    Examples
    --------
    >>> from bdis import Rig, Settings
    >>> settings, remarks = with_rig(Settings(), [], Rig(500, 320, 240, 5, cx_right=350, sigma_scale=1.31), "rig.toml")
    >>> settings.min_disparity, settings.sigma_scale
    (-30.0, 1.31)
    >>> remarks
    ['disparities from -30 to 470 px are searched, as points at infinity have -30 px', 'sigma x 1.31, from rig.toml']
    """
    if rig is None:
        return settings, []
    given = split_assignments(assignments, "--set")
    changes: dict[str, Any] = {}
    remarks = []
    if not {"min_disparity", "max_disparity"} & set(given):
        smallest, largest = rig.disparity_range()
        changes = {"min_disparity": smallest, "max_disparity": largest}
        if smallest:
            remarks.append(
                f"disparities from {smallest:g} to {largest:g} px are searched, "
                f"as points at infinity have {-rig.doffs:.4g} px"
            )
    if rig.sigma_scale is not None and "sigma_scale" not in given and settings.variance != "paper":
        changes["sigma_scale"] = rig.sigma_scale  # the paper's variance has no factor
        remarks.append(f"sigma x {rig.sigma_scale:.3g}, from {origin}")
    return replace(settings, **changes), remarks


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
