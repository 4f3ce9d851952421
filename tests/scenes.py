"""Small pictures for tests."""

import numpy as np


def smooth_noise(height, width, rng, octaves=(2, 4, 8, 16)):
    """A picture with texture at several scales, uint8 between 30 and 225."""
    total = np.zeros((height, width))
    for step in octaves:
        coarse = rng.random((height // step + 3, width // step + 3))
        y, x = np.arange(height) / step, np.arange(width) / step
        y0, x0 = y.astype(int), x.astype(int)
        fy, fx = (y - y0)[:, None], (x - x0)[None]
        rows = coarse[y0] * (1 - fy) + coarse[y0 + 1] * fy
        total += rows[:, x0] * (1 - fx) + rows[:, x0 + 1] * fx
    total -= total.min()
    return (30 + 195 * total / total.max()).astype(np.uint8)


def warped_pair(height, width, seed, slope=0.05, offset=6.0):
    """A textured pair whose disparity grows linearly down the picture, and that disparity (at the left pixel)."""
    rng = np.random.default_rng(seed)
    margin = int(offset + slope * height) + 4
    wide = smooth_noise(height, width + 2 * margin, rng).astype(float)
    rows = np.arange(height)
    disparity = offset + slope * rows
    x = np.arange(width)
    right = wide[:, margin : margin + width]
    left = np.empty((height, width))
    for y in rows:
        left[y] = np.interp(margin + x - disparity[y], np.arange(wide.shape[1]), wide[y])
    pair = [np.clip(np.rint(image), 1, 255).astype(np.uint8) for image in (left, right)]
    return (*pair, np.repeat(disparity[:, None], width, 1))
