"""The steps of a match on one band of rows; `StereoMatcher` puts them in order."""

import math

import numpy as np

from . import certainty, kernels
from .bands import Band
from .images import Image
from .plans import StartPlan, SurfacePlan
from .result import StereoResult
from .settings import Settings
from .workspace import Workspace

MIN_AGREEMENT = 0.85  # share of the picture that must be as in the frame before, to search along its surface
MIN_LIKENESS = 0.5  # likewise, to settle toward it
WIDE_SMOOTHING = 1e4  # bonds of a surface that reaches a hundred pixels across holes


def try_all(work: Workspace, start: StartPlan, has_hidden: bool, band: Band) -> None:
    """Start: all disparities on the coarsest level."""
    level = work.levels[0]
    seen_left, seen_right = (levels[level.number - 1] for levels in work.seen_levels)
    kernels.global_start(
        level.arrays.left, level.arrays.right, seen_left, seen_right, has_hidden, level.settings.width, start.largest,
        start.count, start.noise, start.probability, start.wide, start.sums, start.costs, start.path, start.totals,
        level.arrays.disparity, level.arrays.probability, *band,
    )  # fmt: skip


def search(work: Workspace, levels: range, has_hidden: bool, band: Band) -> None:
    """Search, fuse and filter some levels, counted from the coarsest; the one after the finest is its slanted twin."""
    kernels.solve(
        work.table, work.numbers, levels.start, levels.stop, has_hidden, work.spatial, work.scratch[band.number],
        work.runs, work.run_rows, *band,
    )  # fmt: skip


def remember(work: Workspace, previous: StereoResult | None) -> bool:
    """Bring back the surface of the frame before; False if there is none, or one of other settings."""
    surface, memory = work.surface, getattr(previous, "memory", None)
    if memory is None or surface is None or not work.remembers:
        return False
    height, width = len(surface.before), surface.width
    if memory.shape != (2, height, width):
        return False
    surface.before[:, :width], surface.density_before[:, :width] = memory
    surface.before[:, width:] = np.nan
    return True


def memorise(work: Workspace) -> Image:
    """Surface and density for the next frame, float32 (2, height, width) of the finest level."""
    assert work.surface is not None
    arrays, height, width = work.surface.arrays, len(work.surface.before), work.surface.width
    return np.stack([arrays.disparity[:height, :width], arrays.density[:height, :width]])


def agreement(work: Workspace, band: Band) -> float:
    """Share of the picture that is as in the frame before; every thread counts for itself: they must not part ways."""
    surface, level = work.surface, work.levels[-2]
    assert surface is not None
    width = level.settings.width
    kernels.thin(surface.before, surface.coarse_before, width, *band.meeting(len(surface.coarse_before)))
    return float(kernels.agreement(level.arrays.disparity, surface.coarse_before, width))


def recall(work: Workspace, band: Band) -> None:
    """Lay out the surface of the frame before."""
    surface, level = work.surface, work.levels[-2]
    assert surface is not None
    kernels.recall(
        level.arrays.disparity, surface.coarse_before, surface.before, level.settings.width, surface.arrays,
        surface.width, *band.meeting(len(surface.before)),
    )  # fmt: skip


def fit_surface(
    work: Workspace, surface: SurfacePlan, settings: Settings, has_hidden: bool, likeness: float, band: Band
) -> None:
    """A smooth surface through the finest level, searched once more along it, and how sure each pixel is.

    ``likeness``: share of the picture that is as in the frame before, 0 if there is none.
    """
    recalled = likeness >= MIN_AGREEMENT
    level = work.levels[-1]
    arrays, line, width = surface.arrays, surface.lines[band.number], surface.width
    left, found = level.arrays.left, level.arrays.disparity
    meeting = band.meeting(len(found))
    rounds, tolerance = settings.smoothing_rounds, settings.outlier_distance
    bonds = settings.smoothing or Settings.smoothing, 1 / (settings.smoothing_edge * settings.intensity_scale)
    if settings.dense:
        kernels.bind(left, arrays, False, width, WIDE_SMOOTHING, 0.0, *band)
        kernels.smooth(found, False, arrays, line, width, 0, tolerance, False, *band)
        kernels.keep_wide(arrays, width, surface.wide, *meeting)
    kernels.bind(left, arrays, False, width, *bonds, *band)
    if not recalled:
        is_last = work.slanted is None
        kernels.smooth(found, False, arrays, line, width, rounds, tolerance, is_last, *band)
    if work.slanted:
        if settings.sharpening:
            kernels.sharpen(
                level.arrays.gradient, level.arrays.right, surface.warped, arrays, line, width,
                settings.intensity_scale, settings.sharpening, *meeting,
            )  # fmt: skip
            kernels.bind(left, arrays, True, width, *bonds, *band)
        kernels.warp(
            level.arrays.right, level.arrays.usable_right, has_hidden, arrays, width, surface.warped, surface.usable,
            surface.density_before, not recalled, *meeting,
        )  # fmt: skip
        search(work, range(len(work.levels), len(work.levels) + 1), has_hidden, band)
        kernels.smooth(found, True, arrays, line, width, rounds, tolerance, True, *band)
    if likeness >= MIN_LIKENESS:
        kernels.settle(arrays, surface.before, width, *meeting)
    judge(work, surface, settings, has_hidden, band)


def judge(work: Workspace, surface: SurfacePlan, settings: Settings, has_hidden: bool, band: Band) -> None:
    """Disparity, probability and variance of the finest level from its surface."""
    level, arrays, is_slanted = work.levels[-1], surface.arrays, work.slanted is not None
    width, found, probability = surface.width, level.arrays.disparity, level.arrays.probability
    meeting = band.meeting(len(found))
    kernels.judge(
        arrays, surface.density_before, is_slanted, found, settings.smoothing == 0, surface.wide, settings.dense,
        surface.usable, has_hidden and is_slanted, width, surface.model, settings.min_probability,
        level.settings.min_disparity, level.settings.max_disparity, 2.0**level.number, found, probability,
        work.variance, *meeting,
    )  # fmt: skip
    if settings.min_island > 0 and not settings.dense:
        size = math.ceil(settings.min_island * width * len(found))
        kernels.remove_islands(work.table, len(work.levels) - 1, width, size, work.runs, work.run_rows, *band)
        if settings.variance:
            odds = certainty.ODDS_PER_PX2 * 2.0**level.number
            kernels.judge_scatter(found, work.variance, probability, width, odds, *meeting)


def measure_scatter(work: Workspace, surface: SurfacePlan, settings: Settings, band: Band) -> None:
    """How far the disparities scatter about a surface through them, which is not used: on the level above."""
    level, arrays, width = work.levels[-1], surface.arrays, surface.width
    disparity, probability = level.arrays.disparity, level.arrays.probability
    left, thinned, meeting = work.images[0][surface.number - 1], surface.thinned, band.meeting(len(surface.thinned))
    sharpness = 1 / (settings.smoothing_edge * settings.intensity_scale)
    kernels.thin(disparity, thinned, width, *meeting)
    kernels.bind(left, arrays, False, width, Settings.smoothing / 4, sharpness, *band)
    kernels.smooth(thinned, False, arrays, surface.lines[band.number], width, 0, 0.0, True, *band)
    kernels.judge(
        arrays, surface.wide, False, thinned, True, surface.wide, False, surface.usable, False, width, surface.model,
        0.0, -np.inf, np.inf, 2.0**surface.number, thinned, surface.density_before, surface.variance, *meeting,
    )  # fmt: skip
    meeting = band.meeting(len(disparity))
    kernels.upsample_rows(
        surface.variance, surface.density_before, width, work.variance, surface.spare, level.settings.width, False,
        *meeting,
    )  # fmt: skip
    odds = certainty.ODDS_PER_PX2 * 2.0**level.number
    kernels.judge_scatter(disparity, work.variance, probability, level.settings.width, odds, *meeting)


def fuse_variance(work: Workspace, band: Band) -> None:
    """The paper's variance (Eq. 19) of the patches searched last: the finest level's, or its slanted twin's."""
    scale = 2.0 ** work.levels[-1].number
    kernels.fuse_variance(work.table, work.numbers, len(work.table) - 1, work.spatial, scale, work.variance, *band)


def enlarge(work: Workspace, values: Image, out_values: Image, out_probability: Image, band: Band) -> None:
    """Values and probability of the finest level at the size of the image; the values double with every level."""
    level = work.levels[-1]
    maps, width = (values, level.arrays.probability), level.settings.width
    for target, target_width in work.enlarged:
        kernels.upsample_rows(*maps, width, *target, target_width, False, *band.meeting(len(target[0])))
        maps, width = target, target_width
    kernels.upsample_rows(
        *maps, width, out_values, out_probability, work.width, work.streaming, *band.meeting(work.height)
    )
