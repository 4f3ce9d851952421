"""The arrays for one image size, allocated once and reused for every pair."""

import weakref

import numpy as np

from .arena import Arena
from .images import Image
from .kernels.layout import SHIFTS, Scratch, addresses, plain_stride, row_stride
from .plans import (
    coarsest_level,
    halved,
    level_plan,
    level_weights,
    needs_surface,
    only_measures,
    slanted_plan,
    spatial_weights,
    start_plan,
    surface_plan,
)
from .settings import Settings

LARGE_PIXELS = 1_000_000  # a result of 8 MB does not stay in the caches anyway
MAX_HELD_RESULTS = 2  # one that the caller looks at while the next is made
BYTES_PER_PIXEL = {False: 17, True: 38}  # what a workspace takes for one thread, about; with a surface


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
        if min(halved(height, width, settings.finest_level)) < settings.patch_size:
            raise ValueError(
                f"the images are {width}x{height}; patch_size {settings.patch_size} on finest_level "
                f"{settings.finest_level} needs {settings.patch_size * 2**settings.finest_level} px on each side"
            )
        coarsest = coarsest_level(height, width, settings)
        tries_all = settings.start == "global"
        arena = Arena(expected_bytes=BYTES_PER_PIXEL[needs_surface(settings)] * height * width)
        measured = settings.finest_level + only_measures(settings)
        sizes = [halved(height, width, n) for n in range(1, max(coarsest, measured) + 1)]
        self.widths = [w for _, w in sizes]
        finest = settings.finest_level
        self.images = [[arena.zeros((h, row_stride(w)), np.int16) for h, w in sizes] for _ in range(2)]
        weights = level_weights(range(finest, coarsest + 1), settings)
        self.levels = [
            level_plan(
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
        self.start = start_plan(self.levels[0], weights[coarsest], settings, arena) if tries_all else None
        self.surface = surface_plan(measured, sizes, settings, arena) if needs_surface(settings) else None
        self.slanted = (
            slanted_plan(self.levels[-1], self.surface, settings)
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
