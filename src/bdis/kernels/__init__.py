"""Compiled code: arrays and scalars in, arrays out.  Imports nothing else of bdis."""

from .certainty import judge, judge_scatter, keep_wide, thin
from .filters import hide_unseen
from .fusion import upsample_rows
from .levels import fuse_variance, prepare, remove_islands, solve
from .paint import paint_mottle, paint_vessels
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
from .rays import mark_unseen, trace_view
from .recall import agreement, recall, settle
from .shade import shade_view
from .sharpen import sharpen
from .start import global_start
from .surface import bind, smooth
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
    "mark_unseen",
    "paint_mottle",
    "paint_vessels",
    "prepare",
    "recall",
    "remove_islands",
    "settle",
    "shade_view",
    "sharpen",
    "smooth",
    "solve",
    "thin",
    "trace_view",
    "upsample_rows",
    "usable",
    "warp",
]
