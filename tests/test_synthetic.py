"""Rendered pairs: exact where a formula says so, consistent between the cameras everywhere, and the same every time."""

import numpy as np
import pytest

from bdis.synthetic import SCENES, render

SIZE = (72, 96)


def rays(pair):
    """Directions (h, w, 3) with depth 1 through the pixels of the left image."""
    height, width = pair.depth_mm.shape
    y, x = np.mgrid[:height, :width]
    return np.stack([(x - pair.cx) / pair.focal_px, (y - pair.cy) / pair.focal_px, np.ones((height, width))], -1)


def sampled(image, x):
    """Values of image rows at fractional columns ``x`` (h, w)."""
    x0 = np.clip(np.floor(x).astype(int), 0, image.shape[1] - 2)
    a = x - x0
    rows = np.arange(image.shape[0])[:, None]
    return image[rows, x0] * (1 - a) + image[rows, x0 + 1] * a


def test_plane_is_exact():
    pair = render("plane", *SIZE, depth_mm=50, relief_mm=20)
    reference = 50 / (1 - 0.4 * rays(pair)[..., 0])
    assert np.abs(pair.depth_mm - reference).max() < 1e-4


@pytest.mark.parametrize("scene", SCENES)
def test_same_arguments_same_bits(scene):
    first, second = (render(scene, *SIZE, seed=3, frame=2) for _ in range(2))
    for name in ("left", "right", "disparity", "full_disparity", "depth_mm", "occluded"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.parametrize("scene", SCENES)
def test_diffuse_light_looks_the_same_from_both_cameras(scene):
    pair = render(scene, 120, 160, seed=4, lighting="diffuse", noise=0)
    grey_left, grey_right = (image.mean(2) for image in (pair.left_clean, pair.right_clean))
    x = np.arange(160) - np.nan_to_num(pair.disparity)
    difference = np.abs(grey_left - sampled(grey_right, x))[~pair.occluded]
    assert np.median(difference) < 1.0
    assert np.percentile(difference, 95) < 5.0
