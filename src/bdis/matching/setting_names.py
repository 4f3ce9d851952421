"""The settings as keyword arguments, for type checkers and editors, which read types and do not run code.

It repeats names and types of :class:`bdis.Settings`, which has all else; a test compares the two.
"""

from typing import Literal, TypedDict


class SettingNames(TypedDict, total=False):
    """Any of the settings, by name; ``help(bdis.Settings)`` says what they do."""

    bits: int | None
    patch_size: int
    overlap: float
    stride_rounding: Literal["down", "up"]
    finest_level: int
    coarsest_level: int | None
    start: Literal["global", "zero"]
    max_iterations: int
    newton: bool
    stop_step: float
    min_disparity: float
    max_disparity: float | None
    align_rows: Literal["auto", "off"]
    row_offset: float
    row_tilt: float
    fusion: Literal["bayes", "residual"]
    window_step: float
    sigma_r: float | None
    likelihood_area: Literal["patch", "window"]
    sigma_spatial: float | None
    spatial_sum: bool
    propagate: bool
    level_weights: Literal["1/n", "2^n", "equal"]
    smoothing: float
    smoothing_edge: float
    smoothing_rounds: int
    outlier_distance: float
    label_level: int | None
    label_noise: float
    slanted: bool
    slanted_overlap: float
    sides: bool
    refinement_rounds: int
    refinement_smoothing: float
    refinement_slopes: bool
    highlights: bool
    scatter_smoothing: float
    dense: bool
    variance: Literal[False, True, "paper"]
    sigma_scale: float
    min_valid: float
    min_support: float
    min_probability: float
    min_surface_probability: float
    min_island: float
    max_difference: float
    segment_filter: bool
    threads: int
