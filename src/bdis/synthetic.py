"""Rendered stereo pairs with exact depth, from formulas alone: tissue-like, and nothing to download.

A scene is a smooth surface Z = f(X, Y) in front of two parallel pinhole cameras, with vessels for texture, a head lamp
whose light falls off with distance, wet highlights that move with the viewpoint, and sensor noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class RenderedPair:
    """A rectified pair and what is exactly known about it.

    Attributes
    ----------
    left, right : uint8 (height, width, 3), RGB
    disparity : float32 (height, width), px, of the left image; NaN where the right camera does not see the point
    depth_mm : float32 (height, width), of the left image, everywhere
    focal_px, baseline_mm : float; depth_mm = focal_px * baseline_mm / disparity
    """

    left: Array
    right: Array
    disparity: Array
    depth_mm: Array
    focal_px: float
    baseline_mm: float


def render_tissue(
    height: int = 480,
    width: int = 640,
    *,
    seed: int = 0,
    depth_mm: float = 60.0,
    relief_mm: float = 24.0,
    texture: float = 1.0,
    noise: float = 1.5,
    highlights: float = 1.0,
    gain_difference: float = 0.0,
    baseline_mm: float = 5.0,
) -> RenderedPair:
    """Render folds of wet tissue under a head lamp.

    Parameters
    ----------
    height, width : px
    seed : same seed, same bits
    depth_mm, relief_mm : mean distance of the surface and height of its folds
    texture : strength of the vessels and mottling, 0 = none, 1 = usual
    noise : standard deviation of the sensor noise, grey levels
    highlights : strength of the wet reflections, 0 = none
    gain_difference : how much brighter the right camera is, 0.1 = 10 %
    baseline_mm : distance between the cameras

    Returns
    -------
    RenderedPair

    Raises
    ------
    ValueError
        A size under 32 px, or folds that would reach the cameras.

    Examples
    --------
    >>> pair = render_tissue(48, 64, seed=1)
    >>> pair.left.shape, bool((pair.disparity > 0).any())
    ((48, 64, 3), True)
    """
    if min(height, width) < 32:
        raise ValueError(f"the picture is {width}x{height}; expected at least 32x32 pixels")
    if not 0 <= relief_mm < depth_mm / 2:
        raise ValueError(f"relief_mm is {relief_mm:g}; expected 0 to half of depth_mm ({depth_mm:g})")
    focal_px = 0.85 * width
    rng = np.random.default_rng(seed)
    surface = _folds(rng, depth_mm, relief_mm)
    paint = _vessels(rng, depth_mm, texture)
    images, depths = [], []
    for camera_x, gain in ((0.0, 1.0), (baseline_mm, 1.0 + gain_difference)):
        x, y, z = _intersect(surface, height, width, focal_px, depth_mm, camera_x)
        lit = _shade(surface, paint(x, y), x, y, z, camera_x, highlights)
        noisy = 255 * gain * lit + rng.normal(0, noise, lit.shape)
        images.append(np.clip(np.rint(noisy), 1, 255).astype(np.uint8))  # never 0: black means "not seen"
        depths.append(z)
    disparity = _visible_disparity(depths[0], depths[1], focal_px * baseline_mm)
    return RenderedPair(
        left=images[0],
        right=images[1],
        disparity=disparity.astype(np.float32),
        depth_mm=depths[0].astype(np.float32),
        focal_px=focal_px,
        baseline_mm=baseline_mm,
    )


def _folds(rng: np.random.Generator, depth_mm: float, relief_mm: float) -> Callable[[Array, Array], Array]:
    """Z(X, Y): a tilted plane with a few long waves, the folds."""
    waves = 7
    angle = rng.uniform(0, np.pi, waves)
    length = rng.uniform(0.35, 1.1, waves) * depth_mm
    phase = rng.uniform(0, 2 * np.pi, waves)
    height = length**1.2
    height *= relief_mm / (2 * height.sum())
    tilt = rng.uniform(-0.15, 0.15, 2)

    def surface(x: Array, y: Array) -> Array:
        z = depth_mm + tilt[0] * x + tilt[1] * y
        for a, wave, p, h in zip(angle, length, phase, height):
            z = z + h * np.sin(2 * np.pi * (np.cos(a) * x + np.sin(a) * y) / wave + p)
        return np.asarray(z)

    return surface


def _vessels(rng: np.random.Generator, depth_mm: float, strength: float) -> Callable[[Array, Array], Array]:
    """Reflectance (h, w, 3) over the surface: dark winding vessels on mottled tissue."""
    noise = _Noise(rng)
    unit = depth_mm / 60
    pink = np.array([0.86, 0.47, 0.42])
    vessel = np.array([0.45, 0.10, 0.12])

    def paint(x: Array, y: Array) -> Array:
        x, y = x / unit, y / unit
        bend_x, bend_y = noise(x / 9, y / 9, 1), noise(x / 9, y / 9, 2)
        ridges = np.zeros_like(x)
        for octave, (scale, share) in enumerate(((11.0, 1.0), (5.0, 0.7), (2.2, 0.45))):
            wave = noise(x / scale + bend_x, y / scale + bend_y, 10 + octave)
            ridges = np.maximum(ridges, share * np.exp(-((wave / 0.09) ** 2)))
        mottle = np.zeros_like(x)
        for octave, (scale, share) in enumerate(((3.0, 0.5), (1.1, 0.35), (0.45, 0.25))):
            mottle += share * noise(x / scale, y / scale, 20 + octave)
        colour = pink + (vessel - pink) * (0.75 * strength * ridges)[..., None]
        return np.asarray(colour * (1 + 0.22 * strength * mottle)[..., None])

    return paint


class _Noise:
    """Smooth noise in [-1, 1] over the plane: random values on a grid, blended with continuous slope."""

    SIZE = 256

    def __init__(self, rng: np.random.Generator):
        self._values = rng.uniform(-1, 1, (32, self.SIZE, self.SIZE))

    def __call__(self, x: Array, y: Array, layer: int) -> Array:
        x0, y0 = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        fx, fy = x - x0, y - y0
        fx, fy = fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy)
        values, mask = self._values[layer], self.SIZE - 1
        a, b = values[y0 & mask, x0 & mask], values[y0 & mask, (x0 + 1) & mask]
        c, d = values[(y0 + 1) & mask, x0 & mask], values[(y0 + 1) & mask, (x0 + 1) & mask]
        return np.asarray((a + (b - a) * fx) * (1 - fy) + (c + (d - c) * fx) * fy)


def _intersect(
    surface: Callable[[Array, Array], Array],
    height: int,
    width: int,
    focal_px: float,
    depth_mm: float,
    camera_x: float,
) -> tuple[Array, Array, Array]:
    """Where each pixel's ray meets the surface (mm): secant steps along the ray, to machine precision."""
    across = (np.arange(width) - (width - 1) / 2) / focal_px
    down = (np.arange(height) - (height - 1) / 2) / focal_px
    ray_x, ray_y = np.broadcast_to(across, (height, width)), np.broadcast_to(down[:, None], (height, width))

    def gap(z: Array) -> Array:
        return surface(camera_x + z * ray_x, z * ray_y) - z

    before, z = np.full((height, width), depth_mm * 0.9), np.full((height, width), depth_mm)
    gap_before, gap_now = gap(before), gap(z)
    for _ in range(12):
        change = gap_now - gap_before
        step = np.where(np.abs(change) > 1e-12, gap_now * (z - before) / np.where(change == 0, 1, change), 0)
        before, gap_before = z, gap_now
        z = z - np.clip(step, -0.2 * depth_mm, 0.2 * depth_mm)
        gap_now = gap(z)
    return camera_x + z * ray_x, z * ray_y, z


def _shade(
    surface: Callable[[Array, Array], Array],
    reflectance: Array,
    x: Array,
    y: Array,
    z: Array,
    camera_x: float,
    highlights: float,
) -> Array:
    """Light from a lamp at the left camera: cosine law, inverse square, and a wet gloss seen from ``camera_x``."""
    small = 1e-3
    slope_x = (surface(x + small, y) - surface(x - small, y)) / (2 * small)
    slope_y = (surface(x, y + small) - surface(x, y - small)) / (2 * small)
    normal = np.stack([slope_x, slope_y, -np.ones_like(x)], -1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    to_lamp = np.stack([-x, -y, -z], -1)
    distance = np.linalg.norm(to_lamp, axis=-1, keepdims=True)
    to_lamp /= distance
    to_eye = np.stack([camera_x - x, -y, -z], -1)
    to_eye /= np.linalg.norm(to_eye, axis=-1, keepdims=True)
    half = to_lamp + to_eye
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    fall_off = (np.median(distance) / distance) ** 2
    diffuse = np.clip((normal * to_lamp).sum(-1, keepdims=True), 0, 1) * fall_off
    gloss = np.clip((normal * half).sum(-1, keepdims=True), 0, 1) ** 400
    rim = np.clip(1.25 - 0.9 * (x**2 + y**2)[..., None] / (z**2)[..., None], 0.15, 1)
    return np.asarray(np.clip(0.85 * reflectance * diffuse * rim + 0.5 * highlights * gloss, 0, 1))


def _visible_disparity(left_z: Array, right_z: Array, focal_baseline: float) -> Array:
    """Disparity of the left pixels; NaN where the point is outside the right picture or behind something there."""
    disparity = focal_baseline / left_z
    width = left_z.shape[1]
    place = np.arange(width) - disparity
    x0 = np.clip(np.floor(place).astype(np.int64), 0, width - 2)
    a = place - x0
    rows = np.arange(left_z.shape[0])[:, None]
    seen_z = right_z[rows, x0] * (1 - a) + right_z[rows, x0 + 1] * a
    hidden = (place < 0) | (place > width - 1) | (seen_z < 0.99 * left_z)
    return np.asarray(np.where(hidden, np.nan, disparity))
