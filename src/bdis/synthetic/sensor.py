"""From light to images: optical blur, gamma, differences between the cameras, noise and rounding."""

from __future__ import annotations

import math

import numpy as np

from ..common.arrays import Array
from .options import RenderOptions


def develop(light: Array, blur: float) -> Array:
    """Grey levels of linear light: optical blur, then the gamma of the camera.

    Parameters
    ----------
    light : ndarray of float32, shape (height, width, 3)
        1 is full scale.
    blur : float
        Standard deviation, px.

    Returns
    -------
    ndarray of float32, shape (height, width, 3)
        0 to 255.
    """
    if blur > 0:
        reach = math.ceil(3 * blur)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / blur) ** 2)
        weights = (weights / weights.sum()).astype(np.float32)
        light = np.minimum(light, np.float32(2))  # a highlight outshines its neighbours, but not without limit
        for axis in (0, 1):
            ends = [(reach, reach) if k == axis else (0, 0) for k in range(3)]
            padded = np.pad(light, ends, mode="edge")
            size = light.shape[axis]
            light = np.zeros_like(light)
            for k, weight in enumerate(weights):
                light += weight * (padded[k : k + size] if axis == 0 else padded[:, k : k + size])
    return np.asarray(np.float32(255) * np.clip(light, 0, 1) ** np.float32(1 / 2.2))


def right_gain(options: RenderOptions, height: int, width: int) -> Array:
    """Factor of the right camera's grey levels, shape (height, width, 1)."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    off_axis = ((x / (width - 1) - 0.5) ** 2 + (y / (height - 1) - 0.5) ** 2) * 2
    vignetting = 1 - np.float32(options.vignetting_difference) * off_axis
    return np.asarray((np.float32(1 + options.gain_difference) * vignetting)[..., None])


def expose(left: Array, right: Array, noise: float, seed: tuple[int, ...]) -> tuple[Array, Array]:
    """8-bit images with sensor noise.  No pixel becomes 0, because black means "not seen" to the matcher.

    Parameters
    ----------
    left, right : ndarray of float32, shape (height, width, 3)
        Grey levels, 0 to 255.
    noise : float
        Standard deviation, grey levels.
    seed : tuple of int
        The same seed gives the same bits.

    Returns
    -------
    left, right : ndarray of uint8, shape (height, width, 3)
    """
    images = []
    for side, clean in enumerate((left, right)):
        grain = np.random.default_rng([*seed, side]).standard_normal(clean.shape, np.float32)
        grain *= np.float32(noise)
        grain += clean
        images.append(np.clip(np.rint(grain), 1, 255).astype(np.uint8))
    return images[0], images[1]
