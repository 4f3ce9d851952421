"""The oracle: BDIS in slow, plain NumPy, to be read beside the paper.

`match` at the end of the file is the whole method: Figure 1 of the paper, and after it what goes beyond the paper.  Its
steps are in ``naive_steps.py`` (the paper's) and, beyond the paper, ``naive_labels.py``, ``naive_surface.py``,
``naive_detail.py``, ``naive_filled.py``, ``naive_highlights.py``, ``naive_variational.py`` and ``naive_video.py``.
Nothing here is shared with the kernels but the settings.  Images and maps are float64 arrays (height, width); unknown
is NaN.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tests import (
    naive_detail,
    naive_filled,
    naive_highlights,
    naive_labels,
    naive_rows,
    naive_surface,
    naive_variational,
    naive_video,
)
from tests.naive_rows import has_labels
from tests.naive_steps import (
    Pair,
    brightness,
    four_parents,
    fuse,
    fuse_by_residual,
    fuse_patches,
    fuse_variance,
    level_0,
    patch_grid,
    pyramid,
    remove_small_segments,
    search_level,
    seen_pyramid,
    upsample,
)

__all__ = [  # the steps that tests compare with one by one
    "Found", "Level", "Pair", "Result", "brightness", "four_parents", "fuse", "fuse_by_residual", "level_0", "match",
    "patch_grid", "pyramid", "remove_small_segments", "search_level", "seen_pyramid", "upsample",
]  # fmt: skip

# --- Levels ---------------------------------------------------------------------------------------------------------


def halved(height, width, times):
    """Size of a level."""
    for _ in range(times):
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


def coarsest_level(height, width, settings):
    """Coarsest level with room for a patch and 12 px on its short side (20 px where all disparities are tried), and no
    coarser than asked for.
    """
    level, side = settings.finest_level, max(settings.patch_size, 12)
    if settings.start == "global":
        level, side = settings.finest_level + 1, 20
    wanted = 10 if settings.coarsest_level is None else settings.coarsest_level
    while level < wanted and min(halved(height, width, level + 1)) >= side:
        level += 1
    return level


@dataclass
class Level:
    """One level of a pair."""

    number: int  # n: a pixel is 2^n x 2^n image pixels
    images: tuple[np.ndarray, np.ndarray]  # left and right, in steps of 1 / scale grey levels
    left_above: np.ndarray  # left image of the next coarser level
    seen: tuple[np.ndarray, np.ndarray]  # left and right, bool
    scale: int
    weight: float  # Gamma of Eq. 12
    min_segment: int  # px, smaller segments are removed [III-F]
    is_start: bool  # all disparities are tried here

    def moved(self, rows):
        """The level with the right image as it is now."""
        right, seen = rows.right[self.number], rows.seen[self.number]
        return replace(self, images=(self.images[0], right), seen=(self.seen[0], seen))

    @property
    def pair(self):
        return Pair.of(*self.images, *self.seen)

    @property
    def shape(self):
        return self.images[0].shape

    @property
    def has_hidden(self):
        return not (self.seen[0].all() and self.seen[1].all())


def levels_of(left, right, seen, settings):
    """The levels of a uint8 pair that are worked on, coarsest first; with labels down to the image itself."""
    coarsest, scale = coarsest_level(*left.shape[:2], settings), settings.intensity_scale
    images = [[level_0(image, scale), *pyramid(image, coarsest + 1, scale)] for image in (left, right)]
    masks = [[mask, *seen_pyramid(mask, coarsest + 1)] for mask in seen]
    numbers = range(coarsest, settings.finest_level - 1, -1)
    first = 1 if 0 in numbers else 0  # levels count from 1 in Eq. 12
    gamma = {
        n: {"1/n": lambda k: 1 / k, "2^n": lambda k: 2.0**k, "equal": lambda k: 1.0}[settings.level_weights](n + first)
        for n in numbers
    }
    return [
        Level(
            number=n,
            images=tuple(levels[n] for levels in images),
            left_above=images[0][n + 1],
            seen=tuple(levels[n] for levels in masks),
            scale=scale,
            weight=gamma.get(n, 0) / sum(gamma.values()) if settings.propagate else 1.0,
            min_segment=4 ** (coarsest - n) if settings.segment_filter else 0,
            is_start=n == coarsest and settings.start == "global",
        )
        for n in range(coarsest, -1 if has_labels(settings) else settings.finest_level - 1, -1)
    ]


class Found(NamedTuple):
    """What is known of a level."""

    disparity: np.ndarray  # px of the level
    probability: np.ndarray
    patches: list  # (y, x, disparity, probability) of those searched last
    pair: Pair  # in which they were searched
    variance: np.ndarray | None = None  # px^2 of the level
    surface: np.ndarray | None = None  # px of the level, before anything is dropped


def start_level(level, settings):
    """The level where all disparities are tried."""
    px, furthest = 2**level.number, max(level.shape[1] - 3, 0)
    largest = furthest if settings.max_disparity is None else int(np.ceil(settings.max_disparity / px))
    largest = int(np.clip(largest, -furthest, furthest))
    smallest = int(np.clip(np.floor(settings.min_disparity / px), -furthest, largest))
    disparity = naive_surface.global_start(
        *level.images, *level.seen, largest, largest - smallest + 1, 0.003 * level.scale**2
    )
    return Found(disparity, np.where(np.isnan(disparity), 0, level.weight / 2), [], level.pair)


def solve_level(level, parent, settings):
    """Search, fuse and filter a level from what is known of the coarser one (None at the coarsest)."""
    if level.is_start:
        return start_level(level, settings)
    pair = level.pair
    start = None if parent is None else (parent.disparity, parent.probability)
    patches = search_level(pair, start, pair.width, level.weight, level.scale, level.number, settings)  # [III-A, III-B]
    patches = without_highlights(patches, level, level.images[1], settings)
    is_last = level.number == settings.finest_level and not settings.smoothing  # a surface has its own threshold
    threshold = settings.min_probability if is_last else 0
    disparity, probability = fuse_patches(patches, pair, settings, level.scale, threshold)  # [III-C, III-D]
    disparity = remove_small_segments(disparity, level.min_segment)  # [III-F]
    return Found(disparity, np.where(np.isnan(disparity), 0, probability), patches, pair)


def without_highlights(patches, level, right, settings):
    """Beyond the paper: on the finest level patches that hold highlights do not count."""
    if not (settings.highlights and has_labels(settings) and level.number == settings.finest_level):
        return patches
    return naive_highlights.leave_out_highlights(patches, level.images[0], right, settings.patch_size, level.scale)


# --- Beyond the paper: every pixel chooses between disparities ------------------------------------------------------


def label_level(level, parent, settings):
    """A level on which every pixel chooses between sixteen disparities."""
    limits = naive_labels.limits_of(settings, level.number, level.shape[1])
    disparity = naive_labels.solve(
        *level.images, *level.seen, parent.disparity, *limits, level.scale, settings.label_noise
    )
    return Found(disparity, np.where(np.isnan(disparity), 0, level.weight / 2), [], level.pair)


def add_detail(levels, labels, surface, known, surface_variance, settings):
    """px of the image for each of its pixels, from the ``surface`` and the ``labels`` of the finest level that is
    searched, and from labels on finer levels; and the label of each pixel.  ``known`` are those of the surface.
    """
    number = settings.finest_level
    for level in levels:
        if settings.label_level <= level.number < settings.finest_level:
            labels, number = label_level(level, labels, settings), level.number
    image = levels[-1]
    left, right = image.images
    disparity, votes, nearest = naive_detail.choose(
        left, right, surface, labels.disparity, 2**settings.finest_level, 2**number, image.scale
    )
    if settings.sides:
        disparity, _ = naive_detail.take_sides(left, disparity, votes, nearest, image.scale)
    grey = left / image.scale, right / image.scale
    disparity = naive_variational.refine(
        *grey,
        *image.seen,
        disparity,
        settings.refinement_rounds,
        settings.refinement_smoothing,
        settings.refinement_slopes,
    )
    settled = naive_highlights.Settled(disparity, known, surface_variance, np.zeros(known.shape, bool))
    if settings.highlights:
        settled = naive_highlights.settle_highlights(left, *settled[:3], image.seen[0], image.scale)
    return settled, nearest


def judge_detail(settled, labels, image, surface, uneven_rows, settings):
    """Disparity and variance at full resolution, and by how much the images differ there; what the right camera does
    not see is unknown, or is a guess.
    """
    detail, known, surface_variance, is_blank = settled
    wide = naive_detail.enlarged(surface, 2**settings.finest_level, detail.shape)
    differences, strengths = naive_detail.gradient_differences(*image.images, detail, is_blank)
    mismatch = naive_detail.mismatch(differences, strengths, image.scale)
    precision = naive_detail.precision(strengths, image.scale)
    coherence = naive_detail.coherence(differences, strengths, image.scale)
    by_texture = naive_detail.noise_over_texture(differences, strengths, image.scale)
    variance = naive_detail.variance(
        detail,
        wide,
        labels,
        precision,
        surface_variance,
        mismatch,
        coherence,
        by_texture,
        uneven_rows,
        naive_surface.DETAIL_WEIGHTS,
    )
    disparity = np.where(known, np.clip(detail, settings.min_disparity, settings.max_disparity), np.nan)
    is_covered = naive_detail.covered(disparity, mismatch)
    is_guess = is_covered | naive_detail.unmatched(detail, mismatch)
    is_guess |= naive_detail.reaches_limits(detail, settings.min_disparity, settings.max_disparity)
    if settings.dense:
        disparity = naive_detail.fill_covered(disparity, is_covered)
        is_guess |= naive_detail.unmatched_by_surface(disparity, surface_variance, settings.min_surface_probability)
    else:
        disparity = np.where(is_guess, np.nan, disparity)
    return disparity, variance, naive_detail.sizes(differences, image.scale), is_guess


# --- Beyond the paper: the finest level once more, along a smooth surface --------------------------------------------


def has_surface(settings):
    """Is the result taken from a surface?"""
    return settings.smoothing > 0 or settings.dense


def follows_surface(settings):
    """Is the finest level searched again along its surface?"""
    return settings.smoothing > 0 and settings.slanted


def search_along(level, surface, settings):
    """Search the finest level again, with the right image brought under the left one along ``surface``.

    What is found is what the surface lacks.  Returns it and which pixels of the warped image may be used.
    """
    left, right = level.images
    pair, usable = Pair.of(left, naive_surface.warp(right, surface), level.seen[0]), np.ones(level.shape, bool)
    if level.has_hidden:
        inside = slice(Pair.pad, Pair.pad + pair.width)
        usable = naive_surface.warp_usable(level.pair.usable_right[:, inside], surface)
        pair.usable_right = np.pad(usable, ((0, 0), (Pair.pad, Pair.pad)), "edge")
    reach = settings.search_radius * 2**level.number
    settings = replace(settings, overlap=settings.slanted_overlap)
    near = replace(settings, min_disparity=-reach, max_disparity=reach, propagate=False)
    patches = search_level(pair, None, pair.width, 1.0, level.scale, level.number, near)
    patches = without_highlights(patches, level, pair.right[:, Pair.pad : Pair.pad + pair.width], settings)
    patches = naive_surface.leave_out_beyond(patches, surface, settings.patch_size)
    rest, probability = fuse_patches(patches, pair, settings, level.scale, 0)
    return Found(remove_small_segments(rest, level.min_segment), probability, patches, pair), usable


def fit_surface(level, found, settings):
    """A smooth surface through what was ``found``, improved by a second search along it.

    Returns
    -------
    surface : tuple of ndarray
        Its disparity, density and spread.
    first_density : ndarray
        Density of the first surface.
    searched : Found
        The second search, or ``found`` if there is none.
    usable : ndarray of bool
        Pixels that the second search could use.
    """
    left, _ = level.images
    sharpness = 1 / (settings.smoothing_edge * level.scale)
    strength = settings.smoothing or naive_surface.DEFAULT_STRENGTH
    bonds = naive_surface.bonds(left, strength, sharpness)
    reach = np.sqrt(settings.smoothing) if settings.smoothing else None
    robust = settings.smoothing_rounds, settings.outlier_distance, reach
    if not follows_surface(settings):
        surface, density, spread = naive_surface.fit_surface(found.disparity, bonds, *robust)
        return (surface, density, spread), density, found, np.ones(level.shape, bool)
    surface, density, _ = naive_surface.fit_surface(found.disparity, bonds, 0, 1, reach)
    rest, usable = search_along(level, surface, settings)
    return naive_surface.fit_surface(surface + rest.disparity, bonds, *robust), density, rest, usable


def solve_surface(level, found, settings):
    """Disparity, probability and variance of the finest level from a surface through what was ``found``."""
    (surface, density, spread), first_density, searched, usable = fit_surface(level, found, settings)
    density = np.minimum(density, first_density)
    weights = naive_surface.SURFACE_WEIGHTS if settings.smoothing else naive_surface.MEASURED_WEIGHTS
    variance = naive_surface.surface_variance(surface, density, spread, weights)
    disparity = surface
    if not settings.smoothing:  # the surface only fills holes and tells how far to trust the disparities
        disparity = found.disparity
        variance = variance + weights["rest"] * (disparity - surface) ** 2
    if settings.dense:
        wide = naive_surface.wide_surface(found.disparity)
        disparity = naive_surface.fill_holes(disparity, surface, density, wide)
        variance = np.where(np.isnan(variance), naive_surface.hole_variance(density, weights), variance)
    probability = naive_surface.probability_of(variance * 4**level.number)
    if not settings.dense:
        disparity = drop_doubtful(
            level, disparity, (probability >= settings.min_surface_probability) & usable, settings
        )
    known = ~np.isnan(disparity)
    return Found(
        disparity,
        np.where(known, probability, 0),
        searched.patches,
        searched.pair,
        np.where(known, variance, np.nan),
        surface,
    )


def drop_doubtful(level, disparity, good, settings):
    """Forget what is not ``good``, leads outside the right image or beyond the limits, or is a small island."""
    width, px = level.shape[1], 2**level.number
    place = np.arange(width) - disparity  # a pixel reaches half a px beyond its centre
    good = good & (place >= -0.5) & (place <= width - 0.5)
    highest = np.inf if settings.max_disparity is None else settings.max_disparity / px
    within = np.clip(disparity, settings.min_disparity / px, highest)  # a surface may swing a little beyond them
    disparity = np.where(good & (np.abs(disparity - within) <= 0.5), within, np.nan)
    return remove_small_segments(disparity, np.ceil(settings.min_island * disparity.size))


def measure_scatter(level, found, settings):
    """Variance without a surface: how far disparities scatter about one that is fitted on the level above only for
    this, and the probability that follows from it.
    """
    thinned, weights = naive_surface.thin(found.disparity), naive_surface.MEASURED_WEIGHTS
    sharpness = 1 / (settings.smoothing_edge * level.scale)
    bonds = naive_surface.bonds(level.left_above, naive_surface.DEFAULT_STRENGTH / 4, sharpness)
    surface, density, spread = naive_surface.fit_surface(thinned, bonds, 0, 1)
    variance = naive_surface.surface_variance(surface, density, spread, weights)
    variance = variance + weights["rest"] * (thinned - surface) ** 2
    variance = 2 * upsample(variance, np.zeros(variance.shape), *level.shape)[0]  # 4 px^2 are one of the level above
    variance = np.where(np.isnan(found.disparity), np.nan, variance)
    probability = np.nan_to_num(naive_surface.probability_of(variance * 4**level.number))
    return found._replace(variance=variance, probability=probability)


# --- Everything -----------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """As `bdis.StereoResult`."""

    disparity: np.ndarray
    probability: np.ndarray
    variance: np.ndarray | None = None
    memory: naive_video.Memory | None = None
    row_offset: float = 0.0
    row_tilt: float = 0.0


def enlarge(found, shape, settings):
    """From the finest level to the size of the image; px become twice as many and px^2 four times with every level."""
    disparity, probability = found.disparity, found.probability
    variance = np.full(disparity.shape, np.nan) if found.variance is None else found.variance
    for n in range(settings.finest_level - 1, -1, -1):
        size = halved(*shape, n)
        variance = 2 * upsample(variance, probability, *size)[0]
        disparity, probability = upsample(disparity, probability, *size)
    return disparity, probability, variance


def search(levels, rows, settings):
    """From coarse to fine [III-A to III-D, III-F]; beyond the paper from the beginning again if rows were far off.

    Returns the finest level, what its patches found, and its labels, if it has some.
    """
    *coarser, finest = levels
    found = labels = None
    for level in coarser:
        solve = label_level if found is not None and has_labels(settings) else solve_level
        found = solve(level.moved(rows), found, settings)
        if rows.look(level.number, found.disparity):
            return search(levels, rows, settings)
    if has_labels(settings) and found is not None:  # beyond the paper: the finest level has labels and patches
        labels = label_level(finest.moved(rows), found, settings)
        if rows.look(finest.number, labels.disparity):
            return search(levels, rows, settings)
    found = solve_level(finest.moved(rows), found, settings)
    if labels is None and rows.look(finest.number, found.disparity):
        return search(levels, rows, settings)
    return finest.moved(rows), found, labels


def match(left, right, settings, previous=None, masks=(None, None)):
    """Disparity, probability, variance and memory of a uint8 pair.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (h, w) or (h, w, 3)
        Rectified pair.
    settings : bdis.Settings
        What to do; ``threads`` does not matter.
    previous : Result or bdis.StereoResult, optional
        Result of the frame before.
    masks : tuple of ndarray of bool, shape (h, w), or None
        What the left and the right camera saw, besides black pixels.

    Returns
    -------
    Result
    """
    seen = [(brightness(image) > 0) & (True if mask is None else mask) for image, mask in zip((left, right), masks)]
    levels = levels_of(left, right, seen, settings)
    searched = [level for level in levels if level.number >= settings.finest_level]
    coarsest = max([level.number for level in searched[:-1] if not level.is_start], default=searched[-1].number)
    rows = naive_rows.Rows((left, right), seen, coarsest, settings, previous)  # beyond the paper
    finest, found, labels = search(searched, rows, settings)

    if has_surface(settings):  # beyond the paper
        found = solve_surface(finest, found, settings)
    elif settings.variance is True:  # beyond the paper
        found = measure_scatter(finest, found, settings)
    disparity, probability, variance = enlarge(found, left.shape[:2], settings)  # beyond the paper: of the law
    follows_law = settings.variance is True or has_surface(settings)
    if settings.variance == "paper":  # [III-E]
        of_paper = fuse_variance(found.patches, found.pair, settings, finest.scale)
        of_paper = found._replace(variance=np.where(np.isnan(found.disparity), np.nan, of_paper))
        *_, of_paper = enlarge(of_paper, left.shape[:2], settings)
    if not settings.dense:  # nothing is known of a pixel that the left camera did not see
        disparity = np.where(seen[0], disparity, np.nan)
    if labels is not None:  # beyond the paper
        surface = found.disparity if settings.dense else found.surface
        moved = [level.moved(rows) for level in levels]
        known = ~np.isnan(disparity)
        settled, nearest = add_detail(moved, labels, surface, known, variance, settings)
        disparity, variance, differences, is_guess = judge_detail(
            settled, nearest, moved[-1], surface, rows.uneven, settings
        )
        follows_law = True
    variance = settings.sigma_scale**2 * variance
    largest = (0.35 * left.shape[1]) ** 2  # nothing is known of it
    if labels is not None:
        variance = np.minimum(variance, largest)
    if labels is not None and settings.dense:
        is_guess |= ~seen[0] | (naive_surface.probability_of(variance) < settings.min_probability)
        sure = np.where(is_guess, np.nan, disparity)
        is_guess |= naive_detail.is_beside_unknown(sure, differences, settings.max_difference)
        disparity, of_guesses = naive_filled.fill(disparity, ~is_guess)
        variance = np.where(is_guess, np.minimum(settings.sigma_scale**2 * of_guesses, largest), variance)
    if follows_law:
        probability = naive_surface.probability_of(variance)
    if settings.smoothing and not settings.dense:
        disparity = np.where(probability >= settings.min_probability, disparity, np.nan)
        if labels is not None:
            is_unseen = naive_detail.is_beside_unknown(disparity, differences, settings.max_difference)
            disparity = np.where(is_unseen, np.nan, disparity)
    if settings.variance == "paper":
        unfitted = settings.patch_size**2 / 4 * 4**settings.finest_level  # of pixels in highlights
        variance = np.where(np.isnan(of_paper), unfitted, of_paper)
    probability = np.where(np.isnan(disparity), 0, probability)
    variance = np.where(np.isnan(disparity), np.nan, variance)
    memory = None
    if settings.smoothing:  # beyond the paper
        disparity, memory = naive_video.average(disparity, rows.left[1], settings, previous)
    variance = variance if settings.variance else None
    return Result(disparity, probability, variance, memory, rows.offset, rows.tilt)
