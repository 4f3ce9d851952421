"""What a match on images of one size will need: the levels, where to start, the surface."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..vector.array_types import LANES
from . import certainty
from .arena import Arena
from .images import Image
from .kernels.layout import Level, LevelSettings, Surface, plain_stride, row_stride
from .settings import Settings

MIN_COARSEST_SIDE_PX = 12  # a coarser level has too few patches to say anything
MIN_START_SIDE_PX = 20  # short side of the level where all disparities are tried
MAX_START_CELLS = 1_000_000  # pixels times disparities there: 8 MB
START_WINDOW_RADIUS_PX = 2
START_NOISE = 0.003  # grey levels^2: what averaging leaves of the sensor's noise
MIN_VARIANCE = 0.2  # floor of the dynamic sigma_r^2 in scaled grey^2: the rounding of the images

_GAMMA: dict[str, Callable[[int], float]] = {
    "1/n": lambda n: 1 / n,
    "2^n": lambda n: 2.0**n,
    "equal": lambda n: 1.0,
}


@dataclass(frozen=True)
class LevelPlan:
    """One pyramid level: its arrays and settings."""

    number: int  # n: a pixel is 2^n x 2^n image pixels
    arrays: Level
    settings: LevelSettings


@dataclass(frozen=True)
class StartPlan:
    """The level where all disparities are tried: `kernels.global_start`."""

    largest: int  # px of the level, label 0
    count: int  # labels
    probability: float  # what a start counts for
    noise: float  # variance of the grey values as stored
    wide: Image
    sums: Image
    costs: Image
    path: Image
    totals: Image


@dataclass(frozen=True)
class SurfacePlan:
    """The surface over the finest level, and the search along it: `kernels.smooth`, `kernels.warp`."""

    number: int  # its level: the finest, or the one above if only the scatter is measured
    width: int  # px
    arrays: Surface
    lines: list[Image]  # per thread, float32 (2 plain strides, 16)
    density_before: Image  # of the first surface
    wide: Image  # px of the level, a surface that reaches across holes
    thinned: Image  # px of the level, disparities where only the scatter is measured
    variance: Image  # likewise, what is measured
    spare: Image  # of the finest level, for what nobody asks
    before: Image  # px of the finest level, the surface of the frame before
    coarse_before: Image  # px of the level above, likewise
    warped: Image  # int16, the right image along the first surface
    usable: Image  # uint8, likewise
    model: Image  # float32 (1, 7), see kernels/certainty.py


def needs_surface(settings: Settings) -> bool:
    """Is a surface asked for, or something that is measured by one?"""
    return settings.smoothing > 0 or settings.dense or settings.variance is True


def only_measures(settings: Settings) -> bool:
    """Is a surface only wanted to tell how far disparities scatter?"""
    return settings.variance is True and settings.smoothing == 0 and not settings.dense


def coarsest_level(height: int, width: int, settings: Settings) -> int:
    """Coarsest level whose short side still holds a patch and 12 px, or 20 px where all disparities are tried, no
    coarser than the settings ask.
    """
    wanted = settings.coarsest_level or 10
    if settings.start == "global":
        side, level = MIN_START_SIDE_PX, settings.finest_level + 1  # a start is for a finer level
    else:
        side, level = max(settings.patch_size, MIN_COARSEST_SIDE_PX), settings.finest_level
    while level < wanted and min(halved(height, width, level + 1)) >= side:
        level += 1
    return level


def level_weights(numbers: Iterable[int], settings: Settings) -> dict[int, float]:
    """Gamma of each level (Eq. 12), summing to 1; 1 for every level without propagation."""
    if not settings.propagate:
        return dict.fromkeys(numbers, 1.0)
    raw = {n: _GAMMA[settings.level_weights](n) for n in numbers}
    return {n: value / sum(raw.values()) for n, value in raw.items()}


def spatial_weights(settings: Settings) -> Image:
    """Weight along one side of a patch (Eq. 9, separable), float32 (patch_size,)."""
    size = settings.patch_size
    if settings.sigma_spatial is None:
        return np.ones(size, np.float32)
    offset = np.arange(size) - (size - 1) / 2
    return np.asarray(np.exp(-(offset**2) / (2 * settings.sigma_spatial**2)), np.float32)


def patch_grid(length: int, settings: Settings) -> Image:
    """First pixel of each patch along a side of ``length`` px; the last patch ends with the image."""
    last = length - settings.patch_size
    regular = np.arange(0, last + 1, settings.stride, dtype=np.int32)
    return regular if regular[-1] == last else np.append(regular, np.int32(last))


def halved(height: int, width: int, times: int) -> tuple[int, int]:
    for _ in range(times):
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


def level_plan(
    number: int,
    left: Image,
    right: Image,
    width: int,
    coarsest: int,
    weight: float,
    settings: Settings,
    arena: Arena,
    *,
    searched: bool,
) -> LevelPlan:
    return LevelPlan(
        number=number,
        arrays=_level_arrays(left, right, width, settings if searched else None, arena),
        settings=_level_settings(number, width, coarsest, weight, settings),
    )


def start_plan(level: LevelPlan, weight: float, settings: Settings, arena: Arena) -> StartPlan:
    """Which disparities are tried: those where the windows still overlap, as many as fit the memory."""
    px, width, height = 2**level.number, level.settings.width, len(level.arrays.left)
    furthest = max(width - 1 - START_WINDOW_RADIUS_PX, 0)
    largest = furthest if settings.max_disparity is None else math.ceil(settings.max_disparity / px)
    largest = min(max(largest, -furthest), furthest)
    smallest = min(max(math.floor(settings.min_disparity / px), -furthest), largest)
    smallest = max(smallest, largest + 1 - max(MAX_START_CELLS // (height * width), LANES))
    count = largest - smallest + 1
    labels = -(-count // LANES) * LANES
    return StartPlan(
        largest=largest,
        count=count,
        probability=weight / 2,
        noise=START_NOISE * settings.intensity_scale**2,
        wide=arena.zeros((2 * height, width + labels + abs(largest) + LANES), np.float32),
        sums=arena.zeros((6 * width, labels), np.float32),
        costs=arena.zeros((height * width, labels + 2 * LANES), np.float32),
        path=arena.zeros((2 * width, labels + 2 * LANES), np.float32),
        totals=arena.zeros((height * width, labels + 2 * LANES), np.float32),
    )


def surface_plan(number: int, sizes: list[tuple[int, int]], settings: Settings, arena: Arena) -> SurfacePlan:
    """Room for what these settings use; of the rest there is a single number."""
    size, finest = sizes[number - 1], sizes[settings.finest_level - 1]
    height, width = size
    stride, tiles = plain_stride(width), -(-height // LANES)
    shapes = [(tiles * stride, LANES)] * 2 + [(tiles * LANES, stride)] * (len(Surface._fields) - 2)
    weights = certainty.MEASURED if settings.smoothing == 0 else certainty.SURFACE
    measures, follows = only_measures(settings), settings.smoothing > 0 and settings.slanted

    def plain(size: tuple[int, int], needed: bool = True) -> Image:
        return arena.zeros((size[0], plain_stride(size[1])) if needed else (1, 1), np.float32)

    return SurfacePlan(
        number=number,
        width=width,
        arrays=Surface(*(arena.zeros(shape, np.float32) for shape in shapes)),
        lines=[arena.zeros((2 * stride, LANES), np.float32) for _ in range(settings.threads)],
        density_before=plain(size),
        wide=plain(size, settings.dense),
        thinned=plain(size, measures),
        variance=plain(size, measures),
        spare=plain(finest, measures),
        before=plain(finest, follows),
        coarse_before=plain(halved(*finest, 1), follows),
        warped=arena.zeros((height, row_stride(width)) if follows else (1, 1), np.int16),
        usable=arena.zeros((height, row_stride(width)) if follows else (1, 1), np.uint8),
        model=certainty.model(weights, width, number),
    )


def slanted_plan(level: LevelPlan, surface: SurfacePlan, settings: Settings) -> LevelPlan:
    """The finest level with the warped right image: disparities there are what is missing on the surface."""
    reach = settings.search_radius
    numbers = level.settings._replace(
        starts_at_zero=True, propagate=False, min_disparity=-reach, max_disparity=reach, level_weight=1.0
    )
    arrays = level.arrays._replace(right=surface.warped, usable_right=surface.usable)
    return LevelPlan(level.number, arrays, numbers)


def _level_arrays(left: Image, right: Image, width: int, settings: Settings | None, arena: Arena) -> Level:
    """Without settings there are no patches."""
    height, stride = len(left), plain_stride(width)
    if settings is None:
        size, rows, cols, spatial = 0, np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    else:
        size, spatial = settings.patch_size, spatial_weights(settings)
        rows, cols = patch_grid(height, settings), patch_grid(width, settings)
    pixel_rows = np.arange(height)
    covering = np.stack(
        [np.searchsorted(rows + size, pixel_rows, "right"), np.searchsorted(rows, pixel_rows, "right")], 1
    )
    row_weights = arena.zeros((height, max(int((covering[:, 1] - covering[:, 0]).max()), 1)), np.float32)
    for y, (first, last) in enumerate(covering):
        row_weights[y, : last - first] = spatial[y - rows[first:last]]
    full_weight = arena.zeros((1, stride), np.float32)
    for col in cols if size else ():
        full_weight[0, col : col + size] += spatial
    return Level(
        left=left,
        gradient=arena.zeros(left.shape, np.int16),
        right=right,
        usable_left=arena.zeros(left.shape, np.uint8),
        usable_right=arena.zeros(left.shape, np.uint8),
        rows=rows[None].astype(np.int32),
        cols=np.append(cols, np.full(16, cols[-1]))[None].astype(np.int32),
        patch_disparity=arena.zeros((len(rows), len(cols) + 16), np.float32),
        patch_probability=arena.zeros((len(rows), len(cols) + 16), np.float32),
        patch_variance=arena.zeros((len(rows), len(cols) + 16), np.float32),
        spread=arena.zeros((3 * len(rows), stride), np.float32),
        disparity=arena.zeros((height, stride), np.float32),
        probability=arena.zeros((height, stride), np.float32),
        full_weight=full_weight,
        covering=covering.astype(np.int32),
        row_weights=row_weights,
    )


def _level_settings(number: int, width: int, coarsest: int, weight: float, settings: Settings) -> LevelSettings:
    px = 2.0**number
    fixed = 0.0 if settings.sigma_r is None else (settings.sigma_r * settings.intensity_scale) ** 2
    return LevelSettings(
        width=width,
        patch_size=settings.patch_size,
        starts_at_zero=number == coarsest,
        max_iterations=settings.max_iterations,
        newton=settings.newton,
        stop=settings.stop_step,
        radius=settings.search_radius,
        window_step=settings.window_step,
        fixed_variance=fixed,
        min_variance=MIN_VARIANCE,
        min_valid=settings.min_valid,
        level_weight=weight,
        min_disparity=settings.min_disparity / px,
        max_disparity=np.inf if settings.max_disparity is None else settings.max_disparity / px,
        propagate=settings.propagate,
        posterior=settings.fusion == "bayes",
        min_support=settings.min_support,
        # A surface has its own probability, and its own threshold after that.
        min_probability=settings.min_probability if number == settings.finest_level and not settings.smoothing else 0.0,
        min_segment=4 ** (coarsest - number) if settings.segment_filter else 0,
        grey=settings.intensity_scale,
        variance=settings.variance == "paper" and number == settings.finest_level,
    )
