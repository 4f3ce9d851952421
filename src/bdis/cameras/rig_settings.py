"""Settings of the matcher from what a user gives: a preset, changes to it as text, and the rig."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..common.assignments import read_values, split_assignments
from ..matching.settings import Settings, preset_of, settings_for
from .rig import Rig


def settings_of(preset: str, assignments: Sequence[str]) -> Settings:
    """Settings of a preset with changes.

    Parameters
    ----------
    preset : str
        Name in ``PRESETS``.
    assignments : sequence of str
        Such as ``"patch_size=6"``.

    Returns
    -------
    Settings

    Raises
    ------
    ValueError, TypeError
        Unknown preset or setting, or a value that it cannot have.

    Examples
    --------
    >>> settings_of("fast", ["patch_size=6"]).patch_size
    6
    """
    return settings_for(preset, read_values(split_assignments(assignments, "--set"), Settings))


def with_uncertainty(settings: Settings, assignments: Sequence[str]) -> Settings:
    """The same settings with a variance for each pixel, unless the assignments set ``variance`` themselves."""
    if "variance" in split_assignments(assignments, "--set"):
        return settings
    return replace(settings, variance=True)


def with_rig(
    settings: Settings, assignments: Sequence[str], rig: Rig | None, origin: str
) -> tuple[Settings, list[str]]:
    """The same settings with the rig's range of disparities and factor on sigma, where the assignments set neither.

    Parameters
    ----------
    settings : Settings
        Of the preset and the assignments.
    assignments : sequence of str
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
        remarks.append(f"sigma {rig.about_sigma()}, from {origin}")
        if rig.sigma_preset is not None and preset_of(settings) != rig.sigma_preset:
            remarks.append(
                f"sigma may be wrong: that factor is for preset {rig.sigma_preset} without other settings; "
                "bdis certainty fit finds the factor of these"
            )
    return replace(settings, **changes), remarks
