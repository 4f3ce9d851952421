"""The compiled twin of each stage: records of arrays and numbers in, arrays out.  Imports `bdis.vector` only."""

from .beside_unknown import leave_out_beside_unknown
from .bonds import bind
from .certainty import score_by_variance, score_dense, score_scatter, score_surface
from .covered import write_detail
from .detail import choose_candidates, compare_candidates
from .enlarge import (
    copy_map,
    copy_maps,
    enlarge_map,
    enlarge_maps,
    halve_disparity,
    hide_unseen,
    hide_unseen_variance,
)
from .filled import fill_unknown
from .fusion import fill_variance, fuse, fuse_by_residual, fuse_variance
from .highlights import leave_out_highlights, settle_highlights
from .label_claims import keep_what_both_see
from .label_images import describe_images
from .label_paths import pass_along_columns, pass_along_rows
from .labels import fill_from_background, offer_labels
from .law import apply_law
from .pyramid import (
    copy_floats,
    copy_grey,
    copy_rgb,
    copy_rgba,
    halve_floats,
    halve_grey,
    halve_image,
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
from .rows import leave_out_unseen, measure_rows, shift_rows, shift_seen
from .search import search_patches
from .segments import remove_small_segments
from .sides import take_sides
from .spans import find_spans
from .start import global_start
from .surface import keep_density, keep_known, smooth
from .variational import refine_disparity
from .video import compare_frames, draw_to_previous
from .warp import leave_out_beyond, warp_right_image

__all__ = [
    "apply_law",
    "bind",
    "choose_candidates",
    "compare_candidates",
    "compare_frames",
    "copy_floats",
    "copy_grey",
    "copy_map",
    "copy_maps",
    "copy_rgb",
    "copy_rgba",
    "describe_images",
    "draw_to_previous",
    "enlarge_map",
    "enlarge_maps",
    "fill_from_background",
    "fill_unknown",
    "fill_variance",
    "find_spans",
    "fuse",
    "fuse_by_residual",
    "fuse_variance",
    "global_start",
    "halve_disparity",
    "halve_floats",
    "halve_grey",
    "halve_image",
    "halve_pair",
    "halve_rgb",
    "halve_rgba",
    "halve_seen",
    "halve_views",
    "hide_unseen",
    "hide_unseen_variance",
    "keep_density",
    "keep_known",
    "keep_what_both_see",
    "leave_out_beside_unknown",
    "leave_out_beyond",
    "leave_out_highlights",
    "leave_out_unseen",
    "mark_seen_floats",
    "mark_seen_grey",
    "mark_seen_rgb",
    "mark_seen_rgba",
    "mark_usable",
    "measure_rows",
    "offer_labels",
    "pass_along_columns",
    "pass_along_rows",
    "refine_disparity",
    "remove_small_segments",
    "score_by_variance",
    "score_dense",
    "score_scatter",
    "score_surface",
    "search_patches",
    "settle_highlights",
    "shift_rows",
    "shift_seen",
    "smooth",
    "take_gradient",
    "take_sides",
    "warp_right_image",
    "write_detail",
]
