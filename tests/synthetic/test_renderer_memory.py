"""No kernel of the renderer touches memory that is not its own, or relies on what uninitialised arrays hold.

To see one case again, under a debugger if need be: ``python -m tests.synthetic.test_renderer_memory SEED``
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bdis.synthetic import kernels, renderer, world
from tests import guard_pages

CASES = 40
TILE = 128  # texels along a side of the texture, fewer than usual: the cases take less time

pytestmark = pytest.mark.skipif(bool(guard_pages.MISSING), reason=guard_pages.MISSING or "-")


def random_options(rng: np.random.Generator, width: int) -> dict[str, Any]:
    """Options of `render`, about half of them drawn anew."""
    choices = {
        "focal_px": float(width * rng.choice([0.4, 0.85, 3])),
        "disparity_px": float(rng.uniform(1, 0.3 * width)),
        "lighting": str(rng.choice(["headlight", "diffuse"])),
        "texture": float(rng.choice([0, 1, 3])),
        "highlights": float(rng.choice([0, 1, 3])),
        "smoke": float(rng.choice([0, 0.5, 1])),
        "vertical_shift_px": float(rng.choice([-20, -0.5, 3.3, 20])),
    }
    return {name: value for name, value in choices.items() if rng.random() < 0.5}


def paint(rng_seed: int, size: int) -> np.ndarray:
    """A small texture, float32 (4, size, size), with vessels and mottling of any size."""
    rng = np.random.default_rng(rng_seed)
    tiles = np.zeros((4, size, size), np.float32)
    coarsest = int(rng.choice([1, 2, 8]))
    finest = coarsest * int(rng.choice([1, 4]))
    cells = sum(n * n for n in (1, 2, 4, 8, 16, 32) if coarsest <= n <= finest)
    kernels.paint_mottle(rng.uniform(-1, 1, (1, cells)), 1, coarsest, finest, 0.78, tiles)
    numbers = rng.uniform(0, 1, (1, int(rng.choice([16, 100, 5000]))))
    kernels.paint_vessels(numbers, 3, int(rng.integers(0, 9)), float(rng.choice([0.4, 3.2, 20])), tiles)
    return tiles


def run_case(seed: int) -> None:
    """Render a random scene, and paint a small texture, with and without guard pages."""
    rng = np.random.default_rng(seed)
    renderer.TILE = TILE
    height, width = (int(n) for n in rng.integers(32, 70, 2))
    scene, frame = str(rng.choice(list(renderer.SCENES))), int(rng.choice([0, 1, 77]))
    options, edge = random_options(rng, width), str(rng.choice(["end", "start"]))
    size = int(rng.choice([1, 2, 16, 64]))
    print(f"seed {seed}: {scene} {height=} {width=} {frame=} guard at the {edge}, {options}, {size=}", flush=True)

    def rendered() -> list[np.ndarray]:
        try:
            pair = renderer.render(scene, height, width, seed=seed % 3, frame=frame, **options)
        except ValueError as error:  # these cameras would touch the scene
            print(f"    {error}")
            return []
        return [pair.left, pair.right, pair.disparity, pair.full_disparity, pair.left_clean, pair.right_clean]

    renderer._texture.cache_clear()  # the texture too is painted at guard pages
    with guard_pages.guarded_kernels(edge, rng, renderer, world) as called:
        guarded = [*rendered(), paint(seed, size)]
    renderer._texture.cache_clear()
    usual = [*rendered(), paint(seed, size)]
    for one, other in zip(guarded, usual, strict=True):
        np.testing.assert_array_equal(one, other, err_msg="the result depends on where arrays lie or what they held")
    guard_pages.report(called)


@pytest.fixture(scope="module")
def fuzz() -> subprocess.CompletedProcess[str]:
    return guard_pages.run_child("tests.synthetic.test_renderer_memory", 0, CASES)


def test_no_access_outside_arrays(fuzz: subprocess.CompletedProcess[str]) -> None:
    guard_pages.assert_finished(fuzz, CASES)


def test_every_kernel_was_called(fuzz: subprocess.CompletedProcess[str]) -> None:
    assert guard_pages.called_kernels(fuzz) == guard_pages.kernels_in(kernels)


if __name__ == "__main__":
    guard_pages.main(run_case, sys.argv[1:])
