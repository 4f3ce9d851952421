"""The scenes: walls of tissue, and instruments in front of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..common.arrays import Array
from .options import RenderOptions
from .world import World

SHAFT, STEEL, BALL = 1.0, 2.0, 3.0  # materials of rods, as in kernels/paint.py


def _fold_wall(rng: np.random.Generator, depth: float, relief: float) -> Array:
    """Tissue with folds, Z = f(X, Y): a tilted plane plus a few long waves."""
    waves = 7
    angle, length = rng.uniform(0, np.pi, waves), rng.uniform(0.35, 1.1, waves) * depth
    phase = rng.uniform(0, 2 * np.pi, waves)
    height = length**1.2
    height *= relief / (2 * height.sum())
    tilt = rng.uniform(-0.15, 0.15, 2)
    wall = np.zeros((2 + waves, 8))
    wall[1, :3] = depth, tilt[0], tilt[1]
    number = 2 * np.pi / length
    wall[2:, :4] = np.stack([number * np.cos(angle), number * np.sin(angle), phase, height], 1)
    steepest = math.hypot(tilt[0], tilt[1]) + float((number * height).sum())
    wall[0, :5] = 0, 1 / math.hypot(1, steepest), 1e-3 * depth, 20 * depth, 1.6 * depth
    wall[0, 5] = (number**2 * height).sum()
    return wall


def _sway(frame: int, depth: float) -> Array:
    """Movement of a hand-held endoscope: 0 at frame 0, at most a tenth of the depth."""
    return 0.1 * depth * np.array([math.sin(0.11 * frame), math.sin(0.073 * frame), 0.4 * math.sin(0.05 * frame)])


def _depth_and_relief(options: RenderOptions, share: float) -> tuple[float, float]:
    """``depth_mm`` and ``relief_mm``; the default of the latter is a ``share`` of the former."""
    depth = 60.0 if options.depth_mm is None else options.depth_mm
    relief = share * depth if options.relief_mm is None else options.relief_mm
    if not 0 <= relief < depth / 2:
        raise ValueError(f"relief_mm is {relief:g}; expected 0 to half of depth_mm ({depth:g})")
    return depth, relief


def _tissue(rng: np.random.Generator, frame: int, options: RenderOptions) -> World:
    """Folds of tissue."""
    depth, relief = _depth_and_relief(options, 0.4)
    return World(_fold_wall(rng, depth, relief), np.zeros((0, 8)), depth, _sway(frame, depth), np.eye(3))


def _plane(rng: np.random.Generator, frame: int, options: RenderOptions) -> World:
    """A plane, Z = depth_mm on the optical axis, that recedes to the right by relief_mm over one depth_mm."""
    depth, relief = _depth_and_relief(options, 0.2)
    wall = np.zeros((2, 8))
    slope = relief / depth
    wall[0, :5] = 0, 1 / math.hypot(1, slope), 1e-3 * depth, 20 * depth, 1.6 * depth
    wall[1, :3] = depth, slope, 0
    return World(wall, np.zeros((0, 8)), depth, _sway(frame, depth), np.eye(3))


def _sphere(rng: np.random.Generator, frame: int, options: RenderOptions) -> World:
    """A ball of radius relief_mm at depth_mm; a plane is one radius behind it."""
    depth, radius = _depth_and_relief(options, 0.25)
    wall = np.zeros((2, 8))
    wall[0, :5] = 0, 1, 1e-3 * depth, 20 * depth, 1.6 * depth
    wall[1, 0] = depth + 2 * radius
    ball = np.array([[0, 0, depth, 0, 0, depth, radius, BALL]])
    return World(wall, ball, depth, _sway(frame, depth), np.eye(3))


def _instruments(rng: np.random.Generator, frame: int, options: RenderOptions) -> World:
    """Two instruments that enter from the sides, each a dark shaft with a steel wrist and two jaws."""
    depth, relief = _depth_and_relief(options, 0.3)
    wall = _fold_wall(rng, depth, relief)
    rods = []
    for side in (1.0, -1.0):
        place = rng.uniform(-1, 1, 5)
        moved = [0.05 * math.sin(0.09 * frame + place[3]) - 0.05 * math.sin(place[3]), 0.04 * math.sin(0.07 * frame)]
        tip = np.array(
            [side * (0.16 + 0.08 * place[0]) + moved[0], 0.05 + 0.12 * place[1] + moved[1], 0.70 + 0.05 * place[2]]
        )
        base = np.array([side * 0.85, 0.42 + 0.2 * place[4], 0.30])
        forward = (tip - base) / np.linalg.norm(tip - base)
        down = np.cross(forward, [0.0, 0.0, 1.0])
        down /= np.linalg.norm(down)
        wrist = tip + 0.085 * forward
        rods.append([*base, *tip, 0.042, SHAFT])
        rods.append([*tip, *wrist, 0.034, STEEL])
        for opening in (0.35, -0.35):
            jaw = wrist + 0.13 * (forward * math.cos(opening) + down * math.sin(opening))
            rods.append([*wrist, *jaw, 0.013, STEEL])
    scaled = np.array(rods)
    scaled[:, :7] *= depth
    return World(wall, scaled, depth, _sway(frame, depth), np.eye(3))


def _colon(rng: np.random.Generator, frame: int, options: RenderOptions) -> World:
    """A bending tunnel with folds; the cameras move along its centre line, a twentieth of its radius per frame."""
    radius = 22.0 if options.depth_mm is None else options.depth_mm / 2
    relief = 0.36 * radius if options.relief_mm is None else options.relief_mm
    if not 0 <= relief <= 0.5 * radius:
        raise ValueError(f"relief_mm is {relief:g}; expected 0 to a quarter of depth_mm ({2 * radius:g})")
    folds = 64
    wall = np.zeros((4 + folds, 8))
    steepest = 6.5 * relief / radius + 1.1  # slope of the side of a fold, in a bend
    wall[0, :5] = 1, 1.1 / math.hypot(1, steepest), 1e-3 * radius, 40 * radius, np.pi * radius
    wall[0, 5] = (60 * relief / radius + 8) / radius
    wall[1, :5] = radius, 0.85 * radius, 1 / (0.13 * radius), 0.07, 1 / (0.85 * radius)
    wall[2, :3] = 0.85 * radius, 1 / (7.3 * radius), rng.uniform(0, 1)
    wall[3, :3] = 0.70 * radius, 1 / (9.7 * radius), rng.uniform(0, 1)
    lean, crest = rng.uniform(0, 2 * np.pi, (2, folds))
    tilt = rng.uniform(0.0, 0.2, folds) * radius
    wall[4:, :3] = np.stack([rng.uniform(0.35, 0.65, folds), tilt * np.cos(lean), tilt * np.sin(lean)], 1)
    wall[4:, 3] = rng.uniform(0.7, 1.0, folds) * relief / radius
    wall[4:, 4:6] = np.stack([np.cos(crest), np.sin(crest)], 1)

    def centre_line(z: float) -> Array:
        turns = wall[2:4, 1] * z + wall[2:4, 2]
        turns -= np.floor(turns + 0.5)
        return np.array([*(wall[2:4, 0] * (8 * turns - 16 * turns * np.abs(turns))), z])

    here = 0.05 * radius * frame
    position = centre_line(here)
    forward = centre_line(here + 1.4 * radius) - position
    forward /= np.linalg.norm(forward)
    across = np.cross([0.0, 1.0, 0.0], forward)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(forward, across), forward])
    return World(wall, np.zeros((0, 8)), 2 * radius, position, axes, is_centred=True)


SCENES: dict[str, Callable[[np.random.Generator, int, RenderOptions], World]] = {
    "tissue": _tissue, "colon": _colon, "instruments": _instruments, "plane": _plane, "sphere": _sphere,
}  # fmt: skip
