"""Rendered stereo pairs with exact depth, computed from formulas: they look like endoscopy, and need no data.

Two parallel pinhole cameras look at a wall of tissue, with or without instruments in front of it.  ``scenes.py`` builds
the scene, ``world.py`` places the cameras and the lamp, rays are traced in float64 by ``kernels/rays.py`` and coloured
by ``kernels/paint.py`` and ``kernels/shade.py``, and ``sensor.py`` turns light into images.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.declared import check_names
from ..vector.cache import kernels_in, prepare
from . import kernels
from .options import FrameOptions, RenderOptions
from .pair import RenderedPair
from .scenes import SCENES
from .sensor import develop, expose, right_gain
from .world import baseline_length, focal_length

TILE = 1024  # texels along a side of the periodic texture


def render(
    scene: str = "tissue", height: int = 480, width: int = 640, *, seed: int = 0, frame: int = 0, **options: Any
) -> RenderedPair:
    """Render a stereo pair of a scene with exact depth.

    Parameters
    ----------
    scene : {"tissue", "colon", "instruments", "plane", "sphere"}
        Folds, a tunnel with haustral folds, instruments in front of an organ, a plane, or a ball in front of a plane.
    height, width : int
        Size of the images, px, at least 32.
    seed : int
        Seed of shape and texture; the same arguments give the same bits.
    frame : int
        Number in the sequence: in "colon" the cameras move on along the tunnel, elsewhere they sway, and the
        instruments move.  In frame 0 of "plane" and "sphere" the left camera is on the axis.
    **options
        See :class:`RenderOptions`: depth_mm, relief_mm, focal_px, baseline_mm, disparity_px, lighting, texture,
        highlights, smoke, blur, noise, noise_seed, gain_difference, vignetting_difference, vertical_shift_px.

    Returns
    -------
    RenderedPair

    Raises
    ------
    ValueError, TypeError
        An unknown scene or option, a value out of range, or cameras that would touch the scene.

    Examples
    --------
    >>> pair = render("instruments", 48, 64, seed=1, disparity_px=8, lighting="diffuse")
    >>> pair.left.shape, 7 < float(np.median(pair.full_disparity)) < 9, bool(pair.occluded.any())
    ((48, 64, 3), True, True)
    """
    chosen = check_scene(scene, height, width, seed, frame, options)
    _prepare_kernels()
    world = SCENES[scene](np.random.default_rng([seed, 1]), frame, chosen)
    focal = focal_length(chosen, width)
    baseline = baseline_length(chosen, world, focal, height, width)
    left, right = world.cameras(baseline, focal, height, width)
    right[4, 2] += chosen.vertical_shift_px
    world.check_distance(left, right, baseline)

    views = [world.trace(camera, height, width) for camera in (left, right)]
    unseen = np.empty((height, width), np.uint8)
    kernels.mark_unseen(world.wall, world.rods, left, right, views[0][0], views[1][0], unseen)
    light = world.light(left, right, chosen, frame)
    texture = _texture(seed)
    clean = []
    for camera, (depth, seen) in zip((left, right), views):
        image = np.empty((height, 3 * width), np.float32)
        kernels.shade_view(world.wall, world.rods, camera, light, texture, depth, seen, image)
        clean.append(develop(image.reshape(height, width, 3), chosen.blur))
    clean[1] *= right_gain(chosen, height, width)

    depth = views[0][0]
    disparity = (focal * baseline / depth).astype(np.float32)
    hidden = unseen.astype(bool)
    noise_seed = (seed, frame, 2) if chosen.noise_seed is None else (chosen.noise_seed,)
    images = expose(clean[0], clean[1], chosen.noise, noise_seed)
    return RenderedPair(
        left=images[0],
        right=images[1],
        disparity=np.where(hidden, np.float32(np.nan), disparity),
        full_disparity=disparity,
        depth_mm=depth.astype(np.float32),
        occluded=hidden,
        focal_px=focal,
        baseline_mm=baseline,
        cx=float(left[4, 1]),
        cy=float(left[4, 2]),
        left_clean=clean[0],
        right_clean=clean[1],
    )


def check_scene(scene: str, height: int, width: int, seed: int, frame: int, options: dict[str, Any]) -> RenderOptions:
    """Check the arguments of :func:`render` without rendering anything.

    Parameters
    ----------
    scene, height, width, seed, frame, options
        As in :func:`render`.

    Returns
    -------
    RenderOptions

    Raises
    ------
    ValueError, TypeError
        As :func:`render`, except for cameras that would touch the scene.

    Examples
    --------
    >>> check_scene("colon", 480, 640, 0, 0, {"smoke": 0.3}).smoke
    0.3
    """
    check_names(options, RenderOptions, what="option")
    chosen = RenderOptions(**options)
    FrameOptions(height=height, width=width, seed=seed, frame=frame)
    if scene not in SCENES:
        raise ValueError(f"unknown scene {scene!r}; there are {', '.join(SCENES)}")
    return chosen


@lru_cache(maxsize=1)
def _prepare_kernels() -> None:
    """Load or compile all kernels at once, which takes less time than one after the other."""
    prepare(kernels_in(kernels))


@lru_cache(maxsize=2)
def _texture(seed: int) -> Array:
    """Periodic tiles of texture, float32, shape (4, n, n).

    Vessels, mottling, vessels below the surface, and bumps of the wet film.
    """
    rng = np.random.default_rng([seed, 3])
    tiles = np.zeros((4, TILE, TILE), np.float32)
    lattice = rng.uniform(-1, 1, (1, 2 * 256**2))
    kernels.paint_mottle(lattice, 1, 8, 256, 0.78, tiles)
    kernels.paint_mottle(lattice[:, ::-1].copy(), 3, 16, 64, 0.45, tiles)
    kernels.paint_vessels(rng.uniform(0, 1, (1, 100_000)), 0, 26, 3.2, tiles)
    kernels.paint_vessels(rng.uniform(0, 1, (1, 100_000)), 2, 8, 9.0, tiles)
    return tiles
