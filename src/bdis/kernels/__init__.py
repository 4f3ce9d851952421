"""Compiled code: arrays and scalars in, arrays out.  Imports nothing else of bdis."""

from .filters import hide_unseen, remove_small_segments
from .fusion import fuse_rows, fuse_rows_by_residual, upsample_rows
from .pyramid import (
    gradient,
    halve_floats,
    halve_grey,
    halve_rgb,
    halve_rgba,
    halve_seen,
    halve_shorts,
    mark_seen_bytes,
    mark_seen_floats,
    usable,
)
from .search import search_rows

__all__ = [
    "fuse_rows",
    "fuse_rows_by_residual",
    "gradient",
    "halve_floats",
    "halve_grey",
    "halve_rgb",
    "halve_rgba",
    "halve_seen",
    "halve_shorts",
    "hide_unseen",
    "mark_seen_bytes",
    "mark_seen_floats",
    "remove_small_segments",
    "search_rows",
    "upsample_rows",
    "usable",
]
