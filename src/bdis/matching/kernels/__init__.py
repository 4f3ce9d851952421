"""The compiled twin of each stage: records of arrays and numbers in, arrays out.  Imports `bdis.vector` only."""

from .bonds import bind
from .certainty import score_by_variance, score_dense, score_scatter, score_surface
from .edges import sharpen
from .enlarge import enlarge_maps, enlarge_variance, halve_disparity, hide_unseen, hide_unseen_variance
from .fusion import fill_variance, fuse, fuse_by_residual, fuse_variance
from .pyramid import (
    halve_floats,
    halve_grey,
    halve_pair,
    halve_rgb,
    halve_rgba,
    halve_seen,
    halve_views,
    mark_seen_floats,
    mark_seen_grey,
    mark_seen_rgb,
    mark_seen_rgba,
    mark_usable,
    take_gradient,
)
from .search import search_patches
from .segments import remove_small_segments
from .start import global_start
from .surface import keep_density, keep_known, smooth
from .video import draw_to_previous, lay_previous_surface, share_alike
from .warp import warp_right_image

__all__ = [
    "bind",
    "draw_to_previous",
    "enlarge_maps",
    "enlarge_variance",
    "fill_variance",
    "fuse",
    "fuse_by_residual",
    "fuse_variance",
    "global_start",
    "halve_disparity",
    "halve_floats",
    "halve_grey",
    "halve_pair",
    "halve_rgb",
    "halve_rgba",
    "halve_seen",
    "halve_views",
    "hide_unseen",
    "hide_unseen_variance",
    "keep_density",
    "keep_known",
    "lay_previous_surface",
    "mark_seen_floats",
    "mark_seen_grey",
    "mark_seen_rgb",
    "mark_seen_rgba",
    "mark_usable",
    "remove_small_segments",
    "score_by_variance",
    "score_dense",
    "score_scatter",
    "score_surface",
    "search_patches",
    "share_alike",
    "sharpen",
    "smooth",
    "take_gradient",
    "warp_right_image",
]
