"""The arrays for one image size, allocated once and reused for every pair."""

import math
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from . import certainty
from .config import Settings
from .images import Image
from .kernels.layout import (
    LANES,
    SHIFTS,
    Level,
    LevelSettings,
    Scratch,
    Surface,
    addresses,
    plain_stride,
    row_stride,
)

LARGE_PIXELS = 1_000_000  # a result of 8 MB does not stay in the caches anyway
MAX_HELD_RESULTS = 2  # one that the caller looks at while the next is made
BYTES_PER_PIXEL = 17  # what a workspace takes for one thread, about
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


class Arena:
    """Zeroed arrays side by side in a few large blocks.

    Every array starts on a cache line, so that the vectors of a row do not straddle two; and one large block, unlike
    many small ones, gets huge pages where the system has them: after another program swept the caches, looking up a
    thousand pages takes longer than searching a level.
    """

    LINE = 64  # bytes

    def __init__(self, expected_bytes: int):
        self._block_bytes = expected_bytes
        self._free = np.zeros(0, np.uint8)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Image:
        """As ``np.zeros``."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size > len(self._free):
            block = np.zeros(max(size, self._block_bytes) + self.LINE, np.uint8)
            self._free = block[-block.ctypes.data % self.LINE :]
        array = self._free[:size].view(dtype).reshape(shape)
        self._free = self._free[-(-size // self.LINE) * self.LINE :]
        return array


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


class Workspace:
    """Pyramid, patch grids and scratch for pairs of ``height`` x ``width`` pixels.

    Raises
    ------
    ValueError
        No patch fits the finest level.

    Attributes
    ----------
    levels : coarsest first; the first is only a start (``start``) if all disparities are tried there
    slanted : the finest level once more, with the right image along the surface; or None
    start, surface : what these steps need, or None
    images : left and right; each a list of int16 levels from 1 to the coarsest
    enlarged : two maps with their width, on the way from the finest level to the image
    remembers : can a frame start from the one before?
    seen, seen_levels : left and right; uint8 masks of the image, and of the levels from 1 on
    table, numbers : the arrays and settings of all levels as `kernels.solve` takes them
    images_table : the images of all levels, likewise
    """

    def __init__(self, height: int, width: int, settings: Settings):
        self.height, self.width = height, width
        if min(_halved(height, width, settings.finest_level)) < settings.patch_size:
            raise ValueError(
                f"the images are {width}x{height}; patch_size {settings.patch_size} on finest_level "
                f"{settings.finest_level} needs {settings.patch_size * 2**settings.finest_level} px on each side"
            )
        coarsest = coarsest_level(height, width, settings)
        tries_all = settings.start == "global"
        arena = Arena(expected_bytes=BYTES_PER_PIXEL * height * width)
        measured = settings.finest_level + only_measures(settings)
        sizes = [_halved(height, width, n) for n in range(1, max(coarsest, measured) + 1)]
        self.widths = [w for _, w in sizes]
        finest = settings.finest_level
        self.images = [[arena.zeros((h, row_stride(w)), np.int16) for h, w in sizes] for _ in range(2)]
        weights = level_weights(range(finest, coarsest + 1), settings)
        self.levels = [
            _plan(
                n,
                self.images[0][n - 1],
                self.images[1][n - 1],
                self.widths[n - 1],
                coarsest,
                weights[n],
                settings,
                arena,
                searched=n < coarsest or not tries_all,
            )
            for n in range(coarsest, finest - 1, -1)
        ]
        self.start = _start_plan(self.levels[0], weights[coarsest], settings, arena) if tries_all else None
        self.surface = _surface_plan(measured, sizes, settings, arena) if needs_surface(settings) else None
        self.slanted = (
            _slanted_plan(self.levels[-1], self.surface, settings)
            if self.surface and settings.slanted and settings.smoothing > 0
            else None
        )
        self.spatial = arena.zeros((1, 16), np.float32)
        self.spatial[0, : settings.patch_size] = spatial_weights(settings)
        self.scratch = [_scratch(self.widths[finest - 1], arena) for _ in range(settings.threads)]
        finest_height, finest_width = sizes[finest - 1]
        self.runs = arena.zeros((finest_height * (finest_width + 1), 4), np.int32)
        self.run_rows = arena.zeros((finest_height, 2), np.int32)
        # Half of it at level 1, a quarter at level 2: enlarging doubles what it is given.
        self.variance = arena.zeros(self.levels[-1].arrays.disparity.shape, np.float32)
        self.remembers = self.slanted is not None and len(self.levels) > 1 and not settings.dense
        self.enlarged = [
            ((arena.zeros((h, plain_stride(w)), np.float32), arena.zeros((h, plain_stride(w)), np.float32)), w)
            for h, w in reversed(sizes[: finest - 1])
        ]
        self.seen = [arena.zeros((height, width), np.uint8) for _ in range(2)]
        self.seen_levels = [[arena.zeros((h, row_stride(w)), np.uint8) for h, w in sizes] for _ in range(2)]
        # A large result is written past the caches; that needs rows that start on a cache line.
        self.streaming = height * width >= LARGE_PIXELS and width % (2 * Arena.LINE // 4) == 0
        self._results: list[tuple[Image, weakref.ref[Image]]] = []
        self.note_addresses()

    def result_arrays(self, count: int) -> list[Image]:
        """Room for ``count`` results, float32 (height, width), not in use by anybody.

        A large array would be new memory every time, in pages that the system first has to clear, which takes longer
        than filling them.  So large memory is used again once nobody refers to the arrays that were returned in it,
        nor to any view of them.  Small arrays come from memory that was freed last and is still in the caches.
        """
        shape = self.height, self.width
        if self.height * self.width < LARGE_PIXELS:
            return [np.empty(shape, np.float32) for _ in range(count)]
        size = 4 * count * self.height * self.width
        block = next((block for block, lease in self._results if lease() is None), None)
        if block is None:
            block = np.empty(size + Arena.LINE, np.uint8)
        # Every view of the result refers to the lease, so the lease lives as long as anybody can see the memory.
        part = block[-block.ctypes.data % Arena.LINE :][:size]
        lease = np.frombuffer(part.data, np.float32)
        others = [(held, other) for held, other in self._results if held is not block]
        self._results = [(block, weakref.ref(lease)), *others][:MAX_HELD_RESULTS]
        return list(lease.reshape(count, *shape))

    def note_addresses(self) -> None:
        """Write down where the arrays of all levels are, for kernels that work on several."""
        self.images_table = np.array(
            [[*addresses(pair), width] for *pair, width in zip(*self.images, self.widths)], np.int64
        )
        plans = [*self.levels, self.slanted] if self.slanted else self.levels
        self.table = np.array([addresses(level.arrays) for level in plans], np.int64)
        self.level_table = self.table[: len(self.levels)]
        self.numbers = np.array([level.settings for level in plans], np.float64)


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
    while level < wanted and min(_halved(height, width, level + 1)) >= side:
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


def _halved(height: int, width: int, times: int) -> tuple[int, int]:
    for _ in range(times):
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


def _scratch(width: int, arena: Arena) -> Scratch:
    return Scratch(
        sums=arena.zeros((10, row_stride(width)), np.int32),
        whole=arena.zeros((5, 16), np.int32),
        real=arena.zeros((10, 16), np.float32),
        tables=arena.zeros((3, 2 * 16 * (SHIFTS + 1)), np.float32),
        window=arena.zeros((7, 16), np.float32),
        listed=arena.zeros((1, width + 32), np.int32),
        start=arena.zeros((1, width + 32), np.float32),
    )


def _plan(
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


def _start_plan(level: LevelPlan, weight: float, settings: Settings, arena: Arena) -> StartPlan:
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


def _surface_plan(number: int, sizes: list[tuple[int, int]], settings: Settings, arena: Arena) -> SurfacePlan:
    (height, width), (spare_height, spare_width) = sizes[number - 1], sizes[settings.finest_level - 1]
    above_height, above_width = _halved(spare_height, spare_width, 1)
    stride, tiles = plain_stride(width), -(-height // LANES)
    shapes = [(tiles * stride, LANES)] * 2 + [(tiles * LANES, stride)] * (len(Surface._fields) - 2)
    weights = certainty.MEASURED if settings.smoothing == 0 else certainty.SURFACE
    maps = [arena.zeros((height, stride), np.float32) for _ in range(4)]
    return SurfacePlan(
        number=number,
        width=width,
        arrays=Surface(*(arena.zeros(shape, np.float32) for shape in shapes)),
        lines=[arena.zeros((2 * stride, LANES), np.float32) for _ in range(settings.threads)],
        density_before=maps[0],
        wide=maps[1],
        thinned=maps[2],
        variance=maps[3],
        spare=arena.zeros((spare_height, plain_stride(spare_width)), np.float32),
        before=arena.zeros((spare_height, plain_stride(spare_width)), np.float32),
        coarse_before=arena.zeros((above_height, plain_stride(above_width)), np.float32),
        warped=arena.zeros((height, row_stride(width)), np.int16),
        usable=arena.zeros((height, row_stride(width)), np.uint8),
        model=certainty.model(weights, width, number),
    )


def _slanted_plan(level: LevelPlan, surface: SurfacePlan, settings: Settings) -> LevelPlan:
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
