"""The arrays for one image size, allocated once and reused for every pair."""

from dataclasses import dataclass

import numpy as np

from .config import Settings
from .kernels.layout import PAD, SHIFTS, Level, Scratch, Search, plain_stride, row_stride

MIN_SIDE_PX = 32  # smallest image side
MIN_COARSEST_SIDE_PX = 12  # a coarser level has too few patches to say anything


@dataclass(frozen=True)
class LevelPlan:
    """One pyramid level: its arrays and everything about it that depends only on size and settings."""

    number: int  # n: a pixel is 2^n x 2^n image pixels
    width: int
    arrays: Level
    search: Search
    full_weight: np.ndarray  # float32 (1, plain stride), spatial weight if every patch were accepted
    covering: np.ndarray  # int32 (h, 2), first and last + 1 patch row over each pixel row
    row_weights: np.ndarray  # float32 (h, most patch rows over a pixel row), their spatial weights there
    min_segment: int  # px, smaller segments are removed

    @property
    def height(self) -> int:
        return self.arrays.left.shape[0]

    @property
    def patch_rows(self) -> int:
        return len(self.arrays.rows)


class Workspace:
    """Pyramid, patch grids and scratch for pairs of ``height`` x ``width`` pixels."""

    def __init__(self, height: int, width: int, settings: Settings):
        self.height, self.width = height, width
        coarsest = coarsest_level(height, width, settings)
        numbers = range(coarsest, settings.finest_level - 1, -1)
        weights = level_weights(numbers, settings)
        # Levels above the finest are only images on the way down; `below` starts with level 1.
        self.below = [_images(*_halved(height, width, n)) for n in range(1, settings.finest_level)]
        self.levels = [_plan(n, *_halved(height, width, n), coarsest, weights[n], settings) for n in numbers]
        stride = row_stride(width)
        size = settings.patch_size
        gaussian = np.zeros((1, 16), np.float32)
        gaussian[0, :size] = spatial_weights(settings)
        self.spatial = gaussian
        self.scratch = [
            Scratch(
                sums=np.zeros((10, stride), np.int32),
                whole=np.zeros((5, 16), np.int32),
                real=np.zeros((9, 16), np.float32),
                window=np.zeros((7, 16), np.float32),
                tables=np.zeros((3, 16 * SHIFTS + 16), np.float32),
                listed=np.zeros((1, width + 32), np.int32),
                start=np.zeros((1, width + 32), np.float32),
            )
            for _ in range(settings.threads)
        ]
        self.blended = [np.zeros((3, stride), np.float32) for _ in range(settings.threads)]
        finest = self.levels[-1]
        self.runs = np.zeros((finest.height * (finest.width + 1), 4), np.int32)
        self.row_starts = np.zeros((1, finest.height + 1), np.int32)
        self.enlarged = [
            tuple(np.zeros((h, plain_stride(w)), np.float32) for _ in range(2))
            for h, w in (_halved(height, width, n) for n in range(settings.finest_level - 1, 0, -1))
        ]
        # Which pixels were seen, left and right: of the image, then of each level from 1 up.
        sizes = [_halved(height, width, n) for n in range(1, coarsest + 1)]
        self.seen = [np.zeros((height, width), np.uint8) for _ in range(2)]
        self.seen_levels = [[np.zeros((h, row_stride(w)), np.uint8) for h, w in sizes] for _ in range(2)]


def coarsest_level(height: int, width: int, settings: Settings) -> int:
    """Coarsest level whose short side still holds a patch and 12 px, no coarser than the settings ask."""
    wanted = settings.coarsest_level or 10
    side = max(settings.patch_size, MIN_COARSEST_SIDE_PX)
    level = settings.finest_level
    while level < wanted and min(_halved(height, width, level + 1)) >= side:
        level += 1
    return level


def level_weights(numbers: range, settings: Settings) -> dict[int, float]:
    """Gamma of each level (Eq. 12), summing to 1; 1 for every level without propagation."""
    if not settings.propagate:
        return dict.fromkeys(numbers, 1.0)
    raw = {"1/n": lambda n: 1 / n, "2^n": lambda n: 2.0**n, "equal": lambda n: 1.0}[settings.level_weights]
    total = sum(raw(n) for n in numbers)
    return {n: raw(n) / total for n in numbers}


def spatial_weights(settings: Settings) -> np.ndarray:
    """Weight along one side of a patch (Eq. 9, separable), (patch_size,)."""
    size = settings.patch_size
    if settings.sigma_spatial is None:
        return np.ones(size, np.float32)
    offset = np.arange(size) - (size - 1) / 2
    return np.exp(-(offset**2) / (2 * settings.sigma_spatial**2)).astype(np.float32)


def patch_grid(length: int, settings: Settings) -> np.ndarray:
    """First pixel of each patch along a side of ``length`` px; the last patch ends with the image."""
    last = length - settings.patch_size
    regular = np.arange(0, last + 1, settings.stride)
    return regular if regular[-1] == last else np.append(regular, last)


def _halved(height: int, width: int, times: int) -> tuple[int, int]:
    for _ in range(times):
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


def _images(height: int, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    shape = height, row_stride(width)
    return np.zeros(shape, np.int16), np.zeros(shape, np.int16), width


def _plan(number, height, width, coarsest, weight, settings) -> LevelPlan:
    shape = height, row_stride(width)
    rows, cols = patch_grid(height, settings), patch_grid(width, settings)
    patches = len(rows), len(cols) + 16
    size = settings.patch_size
    arrays = Level(
        left=np.zeros(shape, np.int16),
        gradient=np.zeros(shape, np.int16),
        right=np.zeros(shape, np.int16),
        usable_left=np.zeros(shape, np.uint8),
        usable_right=np.zeros(shape, np.uint8),
        rows=rows.astype(np.int32),
        cols=np.append(cols, np.full(16, cols[-1])).astype(np.int32)[None],
        patch_disparity=np.zeros(patches, np.float32),
        patch_probability=np.zeros(patches, np.float32),
        spread=np.zeros((3 * len(rows), plain_stride(width)), np.float32),
        disparity=np.zeros((height, plain_stride(width)), np.float32),
        probability=np.zeros((height, plain_stride(width)), np.float32),
    )
    pixel_rows = np.arange(height)
    covering = np.stack(
        [np.searchsorted(rows + size, pixel_rows, "right"), np.searchsorted(rows, pixel_rows, "right")], 1
    )
    spatial = spatial_weights(settings)
    full = np.zeros((1, plain_stride(width)), np.float32)
    for col in cols:
        full[0, col : col + size] += spatial
    row_weights = np.zeros((height, int((covering[:, 1] - covering[:, 0]).max())), np.float32)
    for y, (first, last) in enumerate(covering):
        row_weights[y, : last - first] = spatial[y - rows[first:last]]
    scale = 2.0**number
    grey2 = float(settings.intensity_scale**2)
    search = Search(
        patch_size=size,
        max_iterations=settings.max_iterations,
        newton=settings.newton,
        stop=settings.stop_step,
        radius=settings.search_radius,
        window_step=settings.window_step,
        fixed_variance=0.0 if settings.sigma_r is None else settings.sigma_r**2 * grey2,
        min_variance=0.2,
        min_valid=settings.min_valid,
        level_weight=weight,
        min_disparity=settings.min_disparity / scale,
        max_disparity=np.inf if settings.max_disparity is None else settings.max_disparity / scale,
        posterior=settings.fusion == "bayes",
        propagate=settings.propagate,
    )
    return LevelPlan(
        number=number,
        width=width,
        arrays=arrays,
        search=search,
        full_weight=full,
        covering=covering.astype(np.int32),
        row_weights=row_weights,
        min_segment=4 ** (coarsest - number) if settings.segment_filter else 0,
    )
