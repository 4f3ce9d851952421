"""Compiled code: arrays and scalars in, arrays out.  Imports nothing else of bdis."""

from .filters import hide_unseen
from .fusion import upsample_rows
from .levels import solve
from .pyramid import (
    halve_floats,
    halve_grey,
    halve_rgb,
    halve_rgba,
    halve_seen,
    mark_seen_bytes,
    mark_seen_floats,
    usable,
)

__all__ = [
    "halve_floats",
    "halve_grey",
    "halve_rgb",
    "halve_rgba",
    "halve_seen",
    "hide_unseen",
    "mark_seen_bytes",
    "mark_seen_floats",
    "solve",
    "upsample_rows",
    "usable",
]
