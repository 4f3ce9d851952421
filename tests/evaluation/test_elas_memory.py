"""No kernel of ELAS touches memory that is not its own, or relies on what uninitialised arrays hold.

To see one case again, under a debugger if need be: ``python -m tests.evaluation.test_elas_memory SEED``
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bdis.evaluation.baselines.elas import kernels, matcher
from bdis.evaluation.baselines.elas.settings import SETTINGS
from tests import guard_pages

CASES = 150

pytestmark = pytest.mark.skipif(bool(guard_pages.MISSING), reason=guard_pages.MISSING or "-")


def random_settings(rng: np.random.Generator) -> dict[str, Any]:
    """Changes of the settings, about half of them drawn anew."""
    choices = {
        "max_disparity": float(rng.choice([1, 7, 16.5, 31, 64, 255])),
        "grid_step": int(rng.choice([1, 3, 5, 8, 40])),
        "min_support_texture": int(rng.choice([0, 10, 100])),
        "max_ratio": float(rng.choice([0.5, 0.85, 1.0, 2.0])),
        "max_difference": int(rng.choice([0, 2, 300])),
        "support_window": int(rng.choice([0, 1, 5, 200])),
        "min_support": int(rng.choice([0, 1, 5])),
        "corners": bool(rng.integers(2)),
        "cell_px": int(rng.choice([1, 7, 20, 500])),
        "plane_radius": int(rng.choice([0, 2, 3, 40])),
        "max_gradient": float(rng.choice([0.1, 1.0, 1e6])),
        "gamma": float(rng.choice([1e-6, 3.0, 5.0])),
        "min_texture": int(rng.choice([0, 1, 200])),
        "min_segment": int(rng.choice([0, 1, 20, 200])),
        "max_gap": int(rng.choice([0, 1, 3, 5000])),
        "mean_samples": int(rng.choice([0, 1, 3, 8, 300])),
        "subsampling": bool(rng.integers(2)),
    }
    return {name: value for name, value in choices.items() if rng.random() < 0.5}


def random_pair(rng: np.random.Generator, height: int, width: int) -> list[np.ndarray]:
    """Blocks shifted by some pixels, with noise, smooth and black areas."""
    block, shift = int(rng.integers(1, 6)), int(rng.integers(0, 12))
    texture = rng.integers(0, 256, (height // block + 1, (width + shift) // block + 1), dtype=np.uint8)
    scene = texture.repeat(block, 0).repeat(block, 1)
    pair = [scene[:height, first : first + width].copy() for first in (0, shift)]
    for view in pair:
        if rng.random() < 0.3:
            view[: height // 3, width // 2 :] = rng.integers(256)
        if rng.random() < 0.3:
            view[rng.random(view.shape) < 0.2] = rng.integers(256)
    return pair


def run_case(seed: int) -> None:
    """Match a random pair at random settings, with and without guard pages."""
    rng = np.random.default_rng(seed)
    height, width = (int(n) for n in rng.integers(32, 100, 2))
    setting, changes = str(rng.choice(list(SETTINGS))), random_settings(rng)
    edge = str(rng.choice(["end", "start"]))
    print(f"seed {seed}: {height=} {width=} guard at the {edge}, {setting=} {changes}", flush=True)
    pair = random_pair(rng, height, width)
    elas = matcher.Elas(setting, **changes)
    with guard_pages.guarded_kernels(edge, rng, matcher) as called:
        guarded = elas.match(*pair).disparity
    usual = elas.match(*pair).disparity
    np.testing.assert_array_equal(guarded, usual, err_msg="the result depends on where arrays lie or what they held")
    guard_pages.report(called)


@pytest.fixture(scope="module")
def fuzz() -> subprocess.CompletedProcess[str]:
    pytest.importorskip("scipy")
    return guard_pages.run_child("tests.evaluation.test_elas_memory", 0, CASES)


def test_no_access_outside_arrays(fuzz: subprocess.CompletedProcess[str]) -> None:
    guard_pages.assert_finished(fuzz, CASES)


def test_every_kernel_was_called(fuzz: subprocess.CompletedProcess[str]) -> None:
    assert guard_pages.called_kernels(fuzz) == guard_pages.kernels_in(kernels)


if __name__ == "__main__":
    guard_pages.main(run_case, sys.argv[1:])
