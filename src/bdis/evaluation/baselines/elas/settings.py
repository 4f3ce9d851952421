"""Settings of ELAS, each declared once, and the two published sets of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....common.declared import check_names, check_settings, setting, with_attributes

_RANGE = "Range"
_SUPPORT = "Support points"
_ENERGY = "Prior and energy"
_CLEANING = "Cleaning of the result"
_MOST = 1e6  # no value above it makes sense, and all below it fit the integers of the kernels


@with_attributes
@dataclass(frozen=True)
class ElasSettings:
    """All settings of :class:`Elas`; the defaults are ``robotics``, which is published for outdoor robots.

    The values are checked on construction: a value of the wrong kind raises TypeError, one out of range ValueError.
    """

    # fmt: off
    max_disparity: float | None = setting(
        None, "Largest disparity.", group=_RANGE, unit="px", above=0, below=1e5, if_none="255 px"
    )

    grid_step: int = setting(
        5, "Distance between candidates for a support point.", group=_SUPPORT, unit="px", low=1, high=_MOST
    )
    min_support_texture: int = setting(
        10, "Texture that a support point needs: sum of |descriptor - 128|.", group=_SUPPORT, low=0, high=_MOST
    )
    max_ratio: float = setting(
        0.85, "Largest ratio of the best cost to the best cost of another disparity.", group=_SUPPORT, low=0, high=_MOST
    )
    max_difference: int = setting(
        2, "Largest difference between the disparity from left to right and back, here and in the end.", group=_SUPPORT,
        unit="px", low=0, high=_MOST,
    )
    support_window: int = setting(
        5, "Distance up to which other points must agree with a point.", group=_SUPPORT, unit="grid steps", low=0,
        high=_MOST,
    )
    support_tolerance: int = setting(
        5, "Difference up to which two points agree.", group=_SUPPORT, unit="px", low=0, high=_MOST
    )
    min_support: int = setting(
        5, "Number of points that must agree with a point.", group=_SUPPORT, low=0, high=_MOST
    )
    redundant_tolerance: int = setting(
        1, "Difference up to which a point only repeats its neighbours in its row or column and is dropped.",
        group=_SUPPORT, unit="px", low=0, high=_MOST,
    )
    corners: bool = setting(
        False, "Add the corners of the image with the disparity of the nearest point: every pixel gets a prior.",
        group=_SUPPORT,
    )

    cell_px: int = setting(
        20, "Side of the cells in which the disparities of support points are collected.", group=_ENERGY, unit="px",
        low=1, high=_MOST,
    )
    plane_radius: int = setting(
        2, "Disparities up to this far from the plane of the prior are tried.", group=_ENERGY, unit="px", low=0,
        high=_MOST,
    )
    max_gradient: float = setting(
        1.0, "Disparity gradient (change per cyclopean distance) from which on a plane is too steep.", group=_ENERGY,
        low=0, high=_MOST,
    )
    beta: float = setting(0.02, "Weight of the distance between descriptors.", group=_ENERGY, low=0, high=_MOST)
    gamma: float = setting(
        3.0, "How likely disparities far from the plane are.", group=_ENERGY, low=1e-6, high=_MOST
    )
    sigma: float = setting(
        1.0, "Standard deviation of disparities around the plane.", group=_ENERGY, unit="px", low=1e-3, high=_MOST
    )
    min_texture: int = setting(
        1, "Texture that a pixel needs: sum of |descriptor - 128|.", group=_ENERGY, low=0, high=_MOST
    )

    segment_tolerance: float = setting(
        1.0, "Largest difference between neighbours of one segment.", group=_CLEANING, unit="px", low=0, high=_MOST
    )
    min_segment: int = setting(
        200, "Segments with fewer pixels are removed.", group=_CLEANING, unit="px", low=0, high=_MOST
    )
    max_gap: int = setting(
        3, "Gaps up to this long are filled by interpolation.", group=_CLEANING, unit="px", low=0, high=_MOST
    )
    gap_tolerance: float = setting(
        3.0, "Difference up to which the ends of a gap agree.", group=_CLEANING, unit="px", low=0, high=_MOST
    )
    mean_samples: int = setting(
        8, "Number of neighbours in a row and a column over which is averaged; 0: none.", group=_CLEANING, low=0,
        high=_MOST,
    )
    mean_reach: float = setting(
        4.0, "Neighbours whose disparity differs by this or more are left out of that mean.", group=_CLEANING,
        unit="px", low=1e-3, high=_MOST,
    )
    subsampling: bool = setting(
        False, "Compute every second pixel of every second row only, and copy it to the others.", group=_CLEANING
    )
    # fmt: on

    def __post_init__(self) -> None:
        check_settings(self)


SETTINGS = {
    "robotics": ElasSettings(),
    "middlebury": ElasSettings(max_ratio=0.95, corners=True, plane_radius=3, gamma=5.0, max_gap=5000),
}  # as published for outdoor robots, and for dense benchmark results


def elas_settings(name: str, changes: dict[str, Any]) -> ElasSettings:
    """A published set of values with some of them replaced.

    Parameters
    ----------
    name : {"robotics", "middlebury"}
    changes : dict
        New values by name of the setting.

    Returns
    -------
    ElasSettings

    Raises
    ------
    ValueError, TypeError
        An unknown name, or a value that a setting cannot have.

    Examples
    --------
    >>> elas_settings("middlebury", {"beta": 0.03}).gamma
    5.0
    """
    if name not in SETTINGS:
        raise ValueError(f"unknown setting {name!r}; there are {', '.join(SETTINGS)}")
    check_names(changes, ElasSettings)
    return replace(SETTINGS[name], **changes)
