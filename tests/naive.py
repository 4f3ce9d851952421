"""The oracle: BDIS in slow, plain NumPy, to be read beside the paper.

`match` at the end of the file is the whole method: Figure 1 of the paper, and after it what goes beyond the paper.  Its
steps are in ``naive_steps.py`` (the paper's) and ``naive_surface.py`` (beyond the paper).  Nothing here is shared with
the kernels but the settings.  Images and maps are float64 arrays (height, width); unknown is NaN.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tests import naive_surface
from tests.naive_steps import (
    Pair,
    brightness,
    four_parents,
    fuse,
    fuse_by_residual,
    fuse_patches,
    fuse_variance,
    halve,
    patch_grid,
    pyramid,
    remove_small_segments,
    search_level,
    seen_pyramid,
    upsample,
)

__all__ = [  # the steps that tests compare with one by one
    "Found", "Level", "Pair", "Result", "brightness", "four_parents", "fuse", "fuse_by_residual", "match", "patch_grid",
    "pyramid", "remove_small_segments", "search_level", "seen_pyramid", "upsample",
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
    while level < (settings.coarsest_level or 10) and min(halved(height, width, level + 1)) >= side:
        level += 1
    return level


@dataclass
class Level:
    """One level of a pair."""

    number: int  # n: a pixel is 2^n x 2^n image pixels
    images: tuple[np.ndarray, np.ndarray]  # left and right, in steps of 1 / scale grey levels
    seen: tuple[np.ndarray, np.ndarray]  # left and right, bool
    scale: int
    weight: float  # Gamma of Eq. 12
    min_segment: int  # px, smaller segments are removed [III-F]
    is_start: bool  # all disparities are tried here

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
    """The levels of a uint8 pair that are worked on, coarsest first."""
    coarsest, scale = coarsest_level(*left.shape[:2], settings), settings.intensity_scale
    images = [pyramid(image, coarsest, scale) for image in (left, right)]
    masks = [seen_pyramid(mask, coarsest) for mask in seen]
    numbers = range(coarsest, settings.finest_level - 1, -1)
    gamma = {n: {"1/n": 1 / n, "2^n": 2.0**n, "equal": 1.0}[settings.level_weights] for n in numbers}
    return [
        Level(
            number=n,
            images=tuple(levels[n - 1] for levels in images),
            seen=tuple(levels[n - 1] for levels in masks),
            scale=scale,
            weight=gamma[n] / sum(gamma.values()) if settings.propagate else 1.0,
            min_segment=4 ** (coarsest - n) if settings.segment_filter else 0,
            is_start=n == coarsest and settings.start == "global",
        )
        for n in numbers
    ]


class Found(NamedTuple):
    """What is known of a level."""

    disparity: np.ndarray  # px of the level
    probability: np.ndarray
    patches: list  # (y, x, disparity, probability) of all that were searched
    pair: Pair  # in which they were searched


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
    is_last = level.number == settings.finest_level and not settings.smoothing  # a surface has its own threshold
    threshold = settings.min_probability if is_last else 0
    disparity, probability = fuse_patches(patches, pair, settings, level.scale, threshold)  # [III-C, III-D]
    disparity = remove_small_segments(disparity, level.min_segment)  # [III-F]
    return Found(disparity, np.where(np.isnan(disparity), 0, probability), patches, pair)


# --- Beyond the paper: the finest level once more, along a smooth surface --------------------------------------------


def has_surface(settings):
    """Is the result taken from a surface?"""
    return settings.smoothing > 0 or settings.dense


def follows_surface(settings):
    """Is the finest level searched again along its surface?"""
    return settings.smoothing > 0 and settings.slanted


def can_remember(settings):
    """Can a frame start from the surface of the one before?"""
    return follows_surface(settings) and not settings.dense


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
    near = replace(settings, min_disparity=-reach, max_disparity=reach, propagate=False)
    patches = search_level(pair, None, pair.width, 1.0, level.scale, level.number, near)
    rest, probability = fuse_patches(patches, pair, settings, level.scale, 0)
    return Found(remove_small_segments(rest, level.min_segment), probability, patches, pair), usable


def fit_surface(level, found, recalled, settings):
    """The surface through what was ``found``, or that of the frame before (``recalled``), improved by a second search.

    Returns the surface (disparity, density, spread), the density of the first one, and the second search with the
    pixels it could use.
    """
    left, right = level.images
    sharpness = 1 / (settings.smoothing_edge * level.scale)
    strength = settings.smoothing or naive_surface.DEFAULT_STRENGTH
    bonds = naive_surface.bonds(left, strength, sharpness)
    robust = settings.smoothing_rounds, settings.outlier_distance
    first = naive_surface.fit_surface(found.disparity, bonds, *robust) if recalled is None else recalled
    if not follows_surface(settings):
        return first, first[1], found, np.ones(level.shape, bool)
    surface = first[0]
    for _ in range(settings.sharpening):
        surface = naive_surface.sharpen(left, right, surface, level.scale)
    if settings.sharpening:
        bonds = naive_surface.bonds(left, strength, sharpness, surface)
    rest, usable = search_along(level, surface, settings)
    return naive_surface.fit_surface(surface + rest.disparity, bonds, *robust), first[1], rest, usable


def judge_surface(level, surface, density, spread, found, usable, settings):
    """Disparity, probability and variance (px^2 of the level) of the finest level from its surface."""
    weights = naive_surface.SURFACE_WEIGHTS if settings.smoothing else naive_surface.MEASURED_WEIGHTS
    variance = naive_surface.surface_variance(surface, density, spread, weights)
    disparity = surface
    if not settings.smoothing:  # the surface only fills holes and tells how far to trust the disparities
        disparity = found
        variance = variance + weights["rest"] * (found - surface) ** 2
    if settings.dense:
        wide = naive_surface.wide_surface(found)
        disparity = naive_surface.fill_holes(disparity, surface, density, wide)
        variance = np.where(np.isnan(variance), naive_surface.hole_variance(density, weights), variance)
        variance[np.isnan(disparity)] = np.nan
        probability = np.nan_to_num(naive_surface.probability_of(variance * 4**level.number))
        return disparity, probability, variance
    probability = naive_surface.probability_of(variance * 4**level.number)
    width = level.shape[1]
    place = np.arange(width) - disparity
    known = (place >= -0.5) & (place <= width - 0.5) & (probability >= settings.min_probability) & usable
    highest = np.inf if settings.max_disparity is None else settings.max_disparity / 2**level.number
    within = np.clip(disparity, settings.min_disparity / 2**level.number, highest)
    disparity = np.where(known & (np.abs(disparity - within) <= 0.5), within, np.nan)
    disparity = remove_small_segments(disparity, np.ceil(settings.min_island * surface.size))
    known = ~np.isnan(disparity)
    return disparity, np.where(known, probability, 0), np.where(known, variance, np.nan)


def measured_variance(above, found, sharpness):
    """How far disparities scatter about a surface that is not used otherwise, measured on the level above the finest.

    ``above``: left image there.  Returns px^2 of the finest level.
    """
    thinned = naive_surface.thin(found)
    weights = naive_surface.MEASURED_WEIGHTS
    bonds = naive_surface.bonds(above, naive_surface.DEFAULT_STRENGTH / 4, sharpness)
    surface, density, spread = naive_surface.fit_surface(thinned, bonds, 0, 1)
    variance = naive_surface.surface_variance(surface, density, spread, weights)
    variance = variance + weights["rest"] * (thinned - surface) ** 2
    variance = 2 * upsample(variance, np.zeros(variance.shape), *found.shape)[0]
    return np.where(np.isnan(found), np.nan, variance)


# --- Everything -----------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """As `bdis.StereoResult`."""

    disparity: np.ndarray
    probability: np.ndarray
    variance: np.ndarray | None = None
    memory: np.ndarray | None = None


def enlarge(found, probability, variance, shape, settings):
    """From the finest level to the size of the image; px become twice as many and px^2 four times with every level."""
    for n in range(settings.finest_level - 1, -1, -1):
        size = halved(*shape, n)
        variance = 2 * upsample(variance, probability, *size)[0]
        found, probability = upsample(found, probability, *size)
    return found, probability, variance


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
    *coarser, finest = levels_of(left, right, seen, settings)

    # Coarse to fine [III-A to III-D, III-F].  In a video that stands nearly still the finest level is searched only
    # along the surface of the frame before.
    found = None
    for level in coarser:
        found = solve_level(level, found, settings)
    memory = naive_surface.usable_memory(previous, finest.shape) if coarser and can_remember(settings) else None
    likeness = 0.0 if memory is None else naive_surface.agreement(found.disparity, memory[0])
    recalled = None
    if likeness >= naive_surface.MIN_AGREEMENT:
        recalled = naive_surface.recall(found.disparity, memory[0]), memory[1], None
    else:
        found = solve_level(finest, found, settings)

    # Beyond the paper: a surface through the disparities, and what it says about their errors.
    disparity, probability, searched, to_remember = found.disparity, found.probability, found, None
    variance = np.full(finest.shape, np.nan)
    if has_surface(settings):
        (surface, density, spread), first_density, searched, usable = fit_surface(finest, found, recalled, settings)
        if likeness >= naive_surface.MIN_LIKENESS:
            surface = naive_surface.settle(surface, memory[0])
        to_remember = np.stack([surface, density])
        disparity, probability, variance = judge_surface(
            finest, surface, np.minimum(density, first_density), spread, found.disparity, usable, settings
        )
    elif settings.variance is True:
        above = halve(finest.images[0])
        variance = measured_variance(above, disparity, 1 / (settings.smoothing_edge * finest.scale))
        probability = np.nan_to_num(naive_surface.probability_of(variance * 4**finest.number))
    if settings.variance == "paper":  # [III-E]
        variance = fuse_variance(searched.patches, searched.pair, settings, finest.scale)
        variance[np.isnan(disparity)] = np.nan

    disparity, probability, variance = enlarge(disparity, probability, variance, left.shape[:2], settings)
    if not settings.dense:
        disparity, variance = (np.where(seen[0], values, np.nan) for values in (disparity, variance))
        probability = np.where(seen[0], probability, 0)
    return Result(
        disparity,
        probability,
        variance if settings.variance else None,
        to_remember if previous is not None and follows_surface(settings) else None,
    )
