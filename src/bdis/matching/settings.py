"""Settings of the matcher, each declared once, and the presets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..common.declared import check_names, check_settings, setting, with_attributes

_IMAGES = "Images"
_PATCHES = "Patches and pyramid"
_SEARCH = "Search [III-A]"
_ROWS = "Rows that differ (not in the paper)"
_FUSION = "Posterior [III-B] and fusion [III-C]"
_SURFACE = "Surface through the disparities (not in the paper)"
_OUTPUT = "Additional output"
_REJECTION = "What is rejected [III-F]"
_EXECUTION = "Execution"


@with_attributes
@dataclass(frozen=True)
class Settings:
    """All settings of :class:`bdis.StereoMatcher`; the defaults are the preset ``balanced``.

    The values are checked on construction: a value of the wrong kind raises TypeError, one out of range ValueError.
    A pixel of pyramid level n covers 2^n x 2^n pixels of the image; "px of a level" are pixels of the level in work.
    Numbers in brackets are sections of the paper.
    """

    # fmt: off
    bits: int | None = setting(
        None, "Bits that the pixels use of 16-bit images, or of floats above 255.", group=_IMAGES, low=8, high=16,
        if_none="told from the brightest pixel: 8, 10, 12, 14 or 16",
    )

    patch_size: int = setting(
        8, "Side of a square patch.", group=_PATCHES, unit="px of a level", low=4, high=16, step=2
    )
    overlap: float = setting(
        0.40, "Share of a patch that its neighbour covers; the stride is patch_size * (1 - overlap).",
        group=_PATCHES, low=0, high=0.95, step=0.05,
    )
    stride_rounding: Literal["down", "up"] = setting(
        "down", "How that stride becomes whole px of a level.", group=_PATCHES
    )
    finest_level: int = setting(
        1, "Finest pyramid level that is searched; 0 is the image itself.", group=_PATCHES, low=0, high=4
    )
    coarsest_level: int | None = setting(
        None, "Coarsest pyramid level, where the search starts.", group=_PATCHES, low="finest_level", high=10,
        if_none="as coarse as the image allows",
    )

    start: Literal["global", "zero"] = setting(
        "global",
        "Disparity at which the search starts: 'global' tries all on a coarse level, 'zero' is 0 as in the paper.",
        group=_SEARCH,
    )
    max_iterations: int = setting(5, "Largest number of Lucas-Kanade steps of a patch.", group=_SEARCH, low=1, high=100)
    newton: bool = setting(
        True, "Divide each step by its slope: reaches the same disparities in half the steps.", group=_SEARCH
    )
    stop_step: float = setting(
        0.04, "A step smaller than this ends the search of a patch.", group=_SEARCH, unit="px of a level", low=0,
        high=1, step=0.01,
    )
    min_disparity: float = setting(
        0.0, "Smallest disparity; negative if the cameras are turned towards each other. What reaches it is unknown "
        "likewise, unless it is 0.", group=_SEARCH, unit="px", above=-1e5, below=1e5, step=0.5,
    )
    max_disparity: float | None = setting(
        None, "Largest disparity; what reaches it may lie beyond, and is unknown if label_level is set.", group=_SEARCH,
        unit="px", above="min_disparity", below=1e5, step=0.5, if_none="as large as the image allows",
    )

    align_rows: Literal["auto", "off"] = setting(
        "auto",
        "Whether rows that differ between the images are found out and corrected; the result says by how much.",
        group=_ROWS,
    )
    row_offset: float = setting(
        0.0, "How much lower the right image is known to lie, at its centre; this is corrected in any case.",
        group=_ROWS, unit="px", low=-50, high=50, step=0.1,
    )
    row_tilt: float = setting(
        0.0, "What is added to row_offset with every column to the right.", group=_ROWS, unit="px per px", low=-0.05,
        high=0.05, step=0.001,
    )

    fusion: Literal["bayes", "residual"] = setting(
        "bayes", "How patches are fused: by the paper's mixture, or by their residuals as in DIS (Eq. 2).",
        group=_FUSION,
    )
    window_step: float = setting(
        1.0, "Distance between the five samples from which the posterior of a patch is computed.", group=_FUSION,
        unit="px of a level", low=0.1, high=2, step=0.1,
    )
    sigma_r: float | None = setting(
        None, "Standard deviation of the image noise, sigma_r of Eq. 6.", group=_FUSION, unit="grey levels", above=0,
        high=1000, step=0.5, if_none="estimated for each patch from its residual",
    )
    likelihood_area: Literal["patch", "window"] = setting(
        "patch", "What s of Eq. 6 is the side of: 'patch' the patch, 'window' the window of five samples.",
        group=_FUSION,
    )
    sigma_spatial: float | None = setting(
        4.0, "Standard deviation of the spatial weight of a patch, sigma_s of Eq. 9.", group=_FUSION,
        unit="px of a level", low=0.1, high=1000, step=0.5, if_none="all pixels of a patch weigh the same",
    )
    spatial_sum: bool = setting(
        False, "Sum that weight over all pixels of the patch, as Eq. 9 is printed, instead of one about its centre.",
        group=_FUSION,
    )
    propagate: bool = setting(True, "Add the probability of the coarser levels [III-D].", group=_FUSION)
    level_weights: Literal["1/n", "2^n", "equal"] = setting(
        "2^n", "Weight of level n in that sum, Gamma of Eq. 12.", group=_FUSION
    )

    smoothing: float = setting(
        60.0, "How strongly neighbouring pixels are bound to each other; 0: no surface.", group=_SURFACE, low=0,
        high=1000, step=0.5,
    )
    smoothing_edge: float = setting(
        8.0, "Difference in brightness that weakens the bond of two neighbours to 1/e.", group=_SURFACE,
        unit="grey levels", low=0.1, high=1000, step=0.5,
    )
    smoothing_rounds: int = setting(
        1, "Number of times that the surface is fitted again with less weight on outliers.", group=_SURFACE, low=0,
        high=10,
    )
    outlier_distance: float = setting(
        1.5, "Distance from the surface at which a disparity keeps a quarter of its weight.", group=_SURFACE,
        unit="px of a level", low=0.01, high=100, step=0.1,
    )
    label_level: int | None = setting(
        1,
        "Finest level on which every pixel chooses between sixteen disparities; the surface, which it needs, is drawn "
        "through them.",
        group=_SURFACE, low=0, high=4, if_none="patches on all levels, as in the paper",
    )
    label_noise: float = setting(
        0.25, "Texture at which a pixel has half a say in its label, less texture leaves it to the neighbours.",
        group=_SURFACE, unit="grey levels per px", low=0, high=100, step=0.05,
    )
    slanted: bool = setting(
        True, "Search the finest level a second time, with patches slanted as the surface.", group=_SURFACE
    )
    slanted_overlap: float = setting(
        0.60, "As overlap, in that second search.", group=_SURFACE, low=0, high=0.95, step=0.05
    )
    sides: bool = setting(
        True, "Near depth edges a pixel lies on the side of those that look like it; needs label_level.", group=_SURFACE
    )
    refinement_rounds: int = setting(
        2, "Number of times that every pixel moves to where both images agree best; needs label_level.", group=_SURFACE,
        low=0, high=20,
    )
    refinement_smoothing: float = setting(
        25.0, "How strongly neighbouring pixels hold each other in that.", group=_SURFACE, low=0.001, high=10000,
        step=0.5,
    )
    refinement_slopes: bool = setting(
        True, "They hold each other at the slope of the surface around them, not level.", group=_SURFACE
    )
    highlights: bool = setting(
        True, "Highlights, which move with the cameras, go to the surface around them; needs label_level.",
        group=_SURFACE,
    )
    scatter_smoothing: float = setting(
        60.0,
        "If smoothing is 0: how strongly neighbours are bound in a surface that only measures the scatter.",
        group=_SURFACE, above=0, high=1000, step=0.5,
    )

    dense: bool = setting(
        False,
        "Give every pixel a disparity, if any was found: unknown ones are filled from their surroundings.",
        group=_OUTPUT,
    )
    variance: Literal[False, True, "paper"] = setting(
        False, "Compute a variance for each pixel: True a calibrated one, 'paper' that of Eq. 15 to 18.", group=_OUTPUT
    )
    sigma_scale: float = setting(
        1.0, "Factor on the standard deviation, and so on intervals; fitted to a rig by 'bdis certainty fit'.",
        group=_OUTPUT, above=0, high=100, step=0.05,
    )

    min_valid: float = setting(
        0.25, "Share of the pixels of a patch that both cameras must have seen.", group=_REJECTION, low=0, high=1,
        step=0.05,
    )
    min_support: float = setting(
        0.22, "Share of the spatial weight at a pixel that accepted patches must hold.", group=_REJECTION, low=0,
        high=1, step=0.01,
    )
    min_probability: float = setting(
        0.15, "Pixels with a lower probability are unknown; without a surface it is the paper's posterior.",
        group=_REJECTION, low=0, high=1, step=0.01,
    )
    min_surface_probability: float = setting(
        0.41, "Pixels whose surface alone has a lower probability are unknown.", group=_REJECTION, low=0, high=1,
        step=0.01,
    )
    min_island: float = setting(
        0.005, "Pieces of the surface smaller than this share of the image are removed.", group=_REJECTION, low=0,
        high=1, step=0.001,
    )
    max_difference: float = setting(
        0.6,
        "Pixels whose gradients differ by more between the images, times the share of unknown pixels around them and "
        "beyond noise, are unknown: one camera does not see them; needs label_level. 1000: all stay.",
        group=_REJECTION, unit="grey levels per px", low=0, high=1000, step=0.1,
    )
    segment_filter: bool = setting(
        True, "On each level n, remove segments smaller than 4^(coarsest_level - n) pixels.", group=_REJECTION
    )

    threads: int = setting(
        1, "Number of threads that share the rows of the image; the result does not depend on it.", group=_EXECUTION,
        low=1, high=256,
    )
    # fmt: on

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def stride(self) -> int:
        """Distance between patches, px of a level."""
        exact = self.patch_size * (1 - self.overlap)
        return max(1, math.ceil(exact - 1e-9) if self.stride_rounding == "up" else math.floor(exact + 1e-9))

    @property
    def search_radius(self) -> float:
        """Largest distance of a search from its start, px of a level.

        Half a patch, or less if the five samples around the end would not fit the 16 shifts that are tabulated.
        """
        return min(self.patch_size / 2, 7 - 2 * self.window_step)

    @property
    def intensity_scale(self) -> int:
        """Steps per 8-bit grey level in the integer images: as many as let sums over a patch fit 32-bit integers."""
        return 16 if self.patch_size <= 10 else 8


_WITHOUT_SURFACE: dict[str, Any] = {
    "start": "zero", "align_rows": "off", "smoothing": 0.0, "label_level": None, "slanted": False,
    "refinement_rounds": 0, "level_weights": "1/n", "min_probability": 0.05,
}  # fmt: skip
_PAPER: dict[str, Any] = {
    **_WITHOUT_SURFACE, "patch_size": 10, "overlap": 0.55, "coarsest_level": 5, "max_iterations": 12, "stop_step": 0.01,
    "newton": False, "window_step": 0.5, "spatial_sum": True, "min_valid": 0.75, "min_probability": 0.15,
}  # fmt: skip

PRESETS: dict[str, Settings] = {
    "balanced": Settings(),
    "accurate": Settings(
        label_level=0, overlap=0.6, refinement_rounds=3, min_probability=0.07, min_surface_probability=0.397
    ),
    "fast": Settings(**_WITHOUT_SURFACE),
    # Follows the print wherever that loses no accuracy.  What differs: level_weights, likelihood_area, stop_step,
    # min_support, the segment filter of every level, the exponential.  Why, and what the print gives: docs/paper.md.
    "paper": Settings(**_PAPER),
    "paper-2021": Settings(**{**_PAPER, "overlap": 0.6, "sigma_r": 8.0, "propagate": False}),
    "dis": Settings(**{**_PAPER, "fusion": "residual", "propagate": False, "min_support": 0.0,
                       "min_probability": 0.0, "segment_filter": False}),
}  # fmt: skip

PRESET_SUMMARIES: dict[str, str] = {
    "balanced": "the default: full resolution, sharp depth edges, aligned rows and a probability for every pixel",
    "accurate": "labels at full resolution, more patches and refinement: the sharpest depth edges, in twice the time",
    "fast": "no surface, and a search that stops at a 25th of a pixel",
    "paper": "Section IV-A of the BDIS paper",
    "paper-2021": "the preliminary BDIS of 2021: fixed sigma_r, no propagation between levels",
    "dis": "dense inverse search with its deterministic fusion (Eq. 2)",
}


def settings_for(preset: str | Settings, overrides: dict[str, Any]) -> Settings:
    """Settings of a preset with some of them replaced.

    Parameters
    ----------
    preset : str or Settings
        Name in ``PRESETS``, or the settings to start from.
    overrides : dict
        New values by name of the setting.

    Returns
    -------
    Settings

    Raises
    ------
    ValueError
        Unknown preset, unknown setting, or a value out of range.
    TypeError
        A value of the wrong kind.

    Examples
    --------
    >>> settings_for("paper", {"patch_size": 8}).patch_size
    8
    >>> settings_for(Settings(patch_size=12), {"dense": True}).patch_size
    12
    """
    if not isinstance(preset, Settings):
        if not isinstance(preset, str) or preset not in PRESETS:  # type: ignore[redundant-expr]  # nobody checks callers
            raise ValueError(f"unknown preset {preset!r}; there are {', '.join(PRESETS)}")
        preset = PRESETS[preset]
    check_names(overrides, Settings)
    return replace(preset, **overrides)


# What a preset leaves to the user and the cameras: changing it makes no other preset.
NOT_OF_PRESETS = "variance", "threads", "sigma_scale", "min_disparity", "max_disparity", "bits"


def preset_of(settings: Settings) -> str | None:
    """The preset that these settings are, but for `NOT_OF_PRESETS`; None if they are none.

    Examples
    --------
    >>> preset_of(settings_for("fast", {"threads": 2})), preset_of(settings_for("fast", {"patch_size": 6}))
    ('fast', None)
    """
    name, changed = nearest_preset(settings)
    return None if set(changed) - set(NOT_OF_PRESETS) else name


def nearest_preset(settings: Settings) -> tuple[str, dict[str, Any]]:
    """The preset that settings differ least from, and the settings that differ: what to write to get them.

    Examples
    --------
    >>> nearest_preset(settings_for("fast", {"variance": True}))
    ('fast', {'variance': True})
    """
    differences = {
        name: {each: value for each, value in vars(settings).items() if value != getattr(preset, each)}
        for name, preset in PRESETS.items()
    }
    nearest = min(differences, key=lambda name: len(differences[name]))
    return nearest, differences[nearest]
