"""``bdis presets``, and settings given as ``NAME=VALUE``."""

from dataclasses import asdict, replace

from ..common.assignments import read_values, split_assignments
from ..common.declared import declarations, groups
from ..matching.settings import PRESET_SUMMARIES, PRESETS, Settings, settings_for
from . import terminal
from .terminal import UsageError

_NAME, _VALUE = max(map(len, declarations(Settings))), 21  # characters of a column, the same in all groups


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
    try:
        return settings_for(preset, read_values(split_assignments(assignments, "--set"), Settings))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def with_uncertainty(settings: Settings, assignments: list[str]) -> Settings:
    """The same settings with a variance for each pixel, unless the assignments set ``variance`` themselves."""
    if "variance" in split_assignments(assignments, "--set"):
        return settings
    return replace(settings, variance=True)


def run_presets(name: str | None) -> None:
    """Print all presets, or the settings of one."""
    if name is None:
        _print_overview()
    else:
        _print_preset(name)


def _print_overview() -> None:
    default = Settings()
    rows = [
        (preset, PRESET_SUMMARIES[preset], ", ".join(_differences(settings, default)))
        for preset, settings in PRESETS.items()
    ]
    terminal.table(rows, ("preset", "what it is", "differs from the default in"))
    terminal.say("\nEvery setting with its meaning: bdis presets NAME")
    terminal.give({preset: asdict(settings) for preset, settings in PRESETS.items()})


def _print_preset(name: str) -> None:
    settings = parse_settings(name, [])
    for group, members in groups(Settings).items():
        terminal.say(f"\n{group}")
        rows = []
        for each in members:
            value = getattr(settings, each.name)
            default = "" if value == each.default else f" (default {each.default})"
            choices = f" One of {', '.join(map(repr, each.choices))}." if each.choices else ""
            rows.append((each.name.ljust(_NAME), f"{value}{default}".ljust(_VALUE), each.description() + choices))
        terminal.table(rows)
    terminal.give(asdict(settings))


def _differences(settings: Settings, default: Settings) -> list[str]:
    values, defaults = asdict(settings), asdict(default)
    return [f"{name}={value}" for name, value in values.items() if value != defaults[name]]
