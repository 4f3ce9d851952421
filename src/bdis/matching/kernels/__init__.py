"""Compiled code: arrays and scalars in, arrays out.  Imports nothing else of bdis."""

from .certainty import judge, judge_scatter, keep_wide, thin
from .edges import sharpen
from .filters import hide_unseen
from .fusion import upsample_rows
from .levels import fuse_variance, prepare, remove_islands, solve
from .pyramid import (
    halve_floats,
    halve_grey,
    halve_rgb,
    halve_rgba,
    halve_seen,
    mark_seen_floats,
    mark_seen_grey,
    mark_seen_rgb,
    mark_seen_rgba,
    usable,
)
from .start import global_start
from .surface import bind, smooth
from .video import agreement, recall, settle
from .warp import warp

__all__ = [
    "agreement",
    "bind",
    "fuse_variance",
    "global_start",
    "halve_floats",
    "halve_grey",
    "halve_rgb",
    "halve_rgba",
    "halve_seen",
    "hide_unseen",
    "judge",
    "judge_scatter",
    "keep_wide",
    "mark_seen_floats",
    "mark_seen_grey",
    "mark_seen_rgb",
    "mark_seen_rgba",
    "prepare",
    "recall",
    "remove_islands",
    "settle",
    "sharpen",
    "smooth",
    "solve",
    "thin",
    "upsample_rows",
    "usable",
    "warp",
]
