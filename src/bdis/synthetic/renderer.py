"""Rendered stereo pairs with exact depth, from formulas alone: looks like endoscopy, and nothing to download.

Two parallel pinhole cameras look at a wall of tissue, with or without instruments in front of it.  Rays are traced in
float64 by ``kernels/rays.py`` and coloured by ``paint.py`` and ``shade.py`` beside it; this module arranges scenes,
cameras and light, and models the sensor.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..common.arrays import Array
from . import kernels

SHAFT, STEEL, BALL = 1.0, 2.0, 3.0  # materials of rods, as kernels/paint.py knows them
TILE = 1024  # texels along a side of the periodic texture
COARSE = (48, 64)  # picture in which the baseline for a wanted disparity is found


@dataclass(frozen=True)
class RenderOptions:
    """What :func:`render` can be told; checked on construction."""

    # Geometry
    depth_mm: float | None = None  # distance of the surface (colon: its diameter), 1 to 1000; None: 60, colon 44
    relief_mm: float | None = None  # height of the folds (plane: its slant across the picture, sphere: its radius)
    focal_px: float | None = None  # 0.4 to 10 times the width; None: 0.85 times
    baseline_mm: float | None = None  # between the cameras; None: a twelfth of depth_mm
    disparity_px: float | None = None  # instead of baseline_mm: the wanted median disparity, 1 px to 0.9 widths

    # Light and tissue
    lighting: Literal["headlight", "diffuse"] = "headlight"  # lamp at the cameras with gloss, or even light without
    texture: float = 1.0  # strength of vessels and mottling, 0 (none) to 3
    highlights: float = 1.0  # strength of wet and metallic reflections in headlight, 0 to 3
    smoke: float = 0.0  # 0 (none) to 1 (hardly anything left to see)

    # Optics and sensor
    blur: float = 0.5  # px, standard deviation of the optical blur, 0 to 10
    noise: float = 1.5  # grey levels, standard deviation of the sensor noise, 0 to 50
    noise_seed: int | None = None  # None: follows seed and frame
    gain_difference: float = 0.0  # right camera brighter by this share, -0.9 to 3
    vignetting_difference: float = 0.0  # right camera darker by this share at the corners, 0 to 1
    vertical_shift_px: float = 0.0  # right picture lower by this much (rectification error), -20 to 20

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name == "lighting":
                if value not in ("headlight", "diffuse"):
                    raise ValueError(f"lighting must be 'headlight' or 'diffuse', but it is {value!r}")
            elif value is not None or "None" not in str(option.type):
                _check_number(option.name, value, whole=option.name == "noise_seed")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ValueError(f"{name} must be from {low:g} to {high:g}, but it is {value:g}")
        if self.baseline_mm is not None and self.disparity_px is not None:
            raise ValueError("baseline_mm and disparity_px both set the distance between the cameras; give one of them")


_RANGES = {
    "depth_mm": (1, 1000), "relief_mm": (0, 1000), "baseline_mm": (1e-3, 1000), "texture": (0, 3),
    "highlights": (0, 3), "smoke": (0, 1), "blur": (0, 10), "noise": (0, 50), "gain_difference": (-0.9, 3),
    "vignetting_difference": (0, 1), "vertical_shift_px": (-20, 20), "noise_seed": (0, 2**63),
}  # fmt: skip


def _check_number(name: str, value: object, whole: bool = False) -> None:
    kind, words = (numbers.Integral, "a whole number") if whole else (numbers.Real, "a number")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} must be {words}, but it is {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be {words}, but it is {value}")


@dataclass(frozen=True)
class RenderedPair:
    """A rectified pair and what is exactly known about it.

    Attributes
    ----------
    left, right : uint8 (height, width, 3), RGB
    disparity : float32 (height, width), px, of the left image; NaN where the right camera does not see the point
    full_disparity : float32 (height, width), px, everywhere
    depth_mm : float32 (height, width), of the left image, everywhere
    occluded : bool (height, width), left pixels whose point is hidden from the right camera or outside its picture
    focal_px, cx, cy, baseline_mm : float; the camera, depth_mm = focal_px * baseline_mm / full_disparity
    left_clean, right_clean : float32 (height, width, 3), the images before sensor noise and rounding, grey levels
    """

    left: Array
    right: Array
    disparity: Array
    depth_mm: Array
    focal_px: float
    baseline_mm: float
    cx: float
    cy: float
    occluded: Array
    full_disparity: Array
    left_clean: Array = field(repr=False)
    right_clean: Array = field(repr=False)

    def with_noise(self, noise: float, noise_seed: int) -> RenderedPair:
        """The same pair as another exposure of a sensor sees it: cheap, nothing is rendered again.

        Parameters
        ----------
        noise : standard deviation, grey levels
        noise_seed : same seed, same bits

        Raises
        ------
        ValueError, TypeError
            Noise outside 0 to 50 grey levels, or a seed that is no whole number from 0 on.

        Examples
        --------
        >>> pair = render("plane", 32, 48, noise=2.0)
        >>> again = pair.with_noise(2.0, noise_seed=5)
        >>> bool((again.left != pair.left).any()), again.depth_mm is pair.depth_mm
        (True, True)
        """
        RenderOptions(noise=noise, noise_seed=noise_seed)
        left, right = _exposed(self.left_clean, self.right_clean, noise, (int(noise_seed),))
        return replace(self, left=left, right=right)


def render(
    scene: str = "tissue", height: int = 480, width: int = 640, *, seed: int = 0, frame: int = 0, **options: Any
) -> RenderedPair:
    """Render a stereo pair of a scene with exact depth.

    Parameters
    ----------
    scene : "tissue" (folds), "colon" (a tunnel with haustral folds), "instruments" (rods and jaws in front of an
        organ), "plane" or "sphere" (a ball in front of a plane)
    height, width : px, at least 32
    seed : shape and paint; same arguments, same bits
    frame : place in the sequence: in "colon" the cameras move on along the tunnel, elsewhere they sway, and the
        instruments move; frame 0 of "plane" and "sphere" has the left camera on the axis
    **options
        Fields of :class:`RenderOptions`: depth_mm, relief_mm, focal_px, baseline_mm, disparity_px, lighting, texture,
        highlights, smoke, blur, noise, noise_seed, gain_difference, vignetting_difference, vertical_shift_px

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
    world = SCENES[scene](np.random.default_rng([seed, 1]), frame, chosen)
    focal = _focal(chosen, width)
    baseline = _baseline(chosen, world, focal, height, width)
    left, right = world.cameras(baseline, focal, height, width)
    right[4, 2] += chosen.vertical_shift_px
    world.check_free(left, right, baseline)

    views = [_trace(world, camera, height, width) for camera in (left, right)]
    unseen = np.empty((height, width), np.uint8)
    kernels.mark_unseen(world.wall, world.rods, left, right, views[0][0], views[1][0], unseen)
    light = world.light(left, right, chosen, frame)
    tiles = _tiles(seed)
    lit = []
    for camera, (depth, what) in zip((left, right), views):
        image = np.empty((height, 3 * width), np.float32)
        kernels.shade_view(world.wall, world.rods, camera, light, tiles, depth, what, image)
        lit.append(_developed(image.reshape(height, width, 3), chosen.blur))
    lit[1] *= _right_gain(chosen, height, width)

    depth = views[0][0]
    disparity = (focal * baseline / depth).astype(np.float32)
    hidden = unseen.astype(bool)
    noise_seed = (seed, frame, 2) if chosen.noise_seed is None else (chosen.noise_seed,)
    images = _exposed(lit[0], lit[1], chosen.noise, noise_seed)
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
        left_clean=lit[0],
        right_clean=lit[1],
    )


def check_scene(scene: str, height: int, width: int, seed: int, frame: int, options: dict[str, Any]) -> RenderOptions:
    """What :func:`render` will be told, checked before anything is rendered.

    Raises
    ------
    ValueError, TypeError
        As :func:`render`, but for cameras that would touch the scene.

    Examples
    --------
    >>> check_scene("colon", 480, 640, 0, 0, {"smoke": 0.3}).smoke
    0.3
    """
    known = [option.name for option in fields(RenderOptions)]
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"unknown option {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = RenderOptions(**options)
    for name, value in (("height", height), ("width", width), ("seed", seed), ("frame", frame)):
        _check_number(name, value, whole=True)
    if min(height, width) < 32:
        raise ValueError(f"the picture is {width}x{height}; expected at least 32x32 pixels")
    if min(seed, frame) < 0:
        raise ValueError(f"seed and frame must not be negative, but they are {seed} and {frame}")
    if scene not in SCENES:
        raise ValueError(f"unknown scene {scene!r}; there are {', '.join(SCENES)}")
    return chosen


# ---------------------------------------------------------------- scenes


@dataclass(frozen=True)
class _World:
    """A scene at one moment, in the arrays of kernels/rays.py, and where the cameras are."""

    wall: Array
    rods: Array
    size_mm: float  # typical distance: reference of the light, and of the default baseline
    position: Array  # of the left camera, or of the middle between both
    axes: Array  # rows: the cameras' x, y and z axis
    centred: bool = False

    def cameras(self, baseline: float, focal: float, height: int, width: int) -> tuple[Array, Array]:
        """Both cameras as kernels/rays.py wants them."""
        middle = [focal, (width - 1) / 2, (height - 1) / 2]
        start = self.position - (baseline / 2 if self.centred else 0.0) * self.axes[0]
        left = np.vstack([start, self.axes, middle])
        right = np.vstack([start + baseline * self.axes[0], self.axes, middle])
        return left, right

    def check_free(self, left: Array, right: Array, baseline: float) -> None:
        """Raise if a camera is in the tissue or in an instrument."""
        for name, camera in (("left", left), ("right", right)):
            if _trace(self, camera, 2, 2)[0].min() < 0.02 * self.size_mm:
                raise ValueError(
                    f"the {name} camera would touch the scene: baseline {baseline:.3g} mm is too long for it; ask for "
                    "a shorter one, a smaller disparity_px, or a larger depth_mm with a given baseline_mm"
                )

    def light(self, left: Array, right: Array, chosen: RenderOptions, frame: int) -> Array:
        """The lamp sits between the cameras, a little above them."""
        lamp = (left[0] + right[0]) / 2 - 0.03 * self.size_mm * self.axes[1]
        return np.array(
            [
                [*lamp, float(chosen.lighting == "headlight")],
                [*self.axes[2], self.size_mm],
                [chosen.highlights, chosen.texture, chosen.smoke, 0.01 * frame],
            ]
        )


def _fold_wall(rng: np.random.Generator, depth: float, relief: float) -> Array:
    """Z(X, Y): a tilted plane with a few long waves, the folds."""
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
    """The hand that holds the endoscope: 0 at frame 0, a tenth of the depth at most."""
    return 0.1 * depth * np.array([math.sin(0.11 * frame), math.sin(0.073 * frame), 0.4 * math.sin(0.05 * frame)])


def _depth_and_relief(chosen: RenderOptions, share: float) -> tuple[float, float]:
    depth = 60.0 if chosen.depth_mm is None else float(chosen.depth_mm)
    relief = share * depth if chosen.relief_mm is None else float(chosen.relief_mm)
    if not 0 <= relief < depth / 2:
        raise ValueError(f"relief_mm is {relief:g}; expected 0 to half of depth_mm ({depth:g})")
    return depth, relief


def _tissue(rng: np.random.Generator, frame: int, chosen: RenderOptions) -> _World:
    depth, relief = _depth_and_relief(chosen, 0.4)
    return _World(_fold_wall(rng, depth, relief), np.zeros((0, 8)), depth, _sway(frame, depth), np.eye(3))


def _plane(rng: np.random.Generator, frame: int, chosen: RenderOptions) -> _World:
    """Z = depth_mm on the axis; it recedes to the right by relief_mm over one depth_mm."""
    depth, relief = _depth_and_relief(chosen, 0.2)
    wall = np.zeros((2, 8))
    slope = relief / depth
    wall[0, :5] = 0, 1 / math.hypot(1, slope), 1e-3 * depth, 20 * depth, 1.6 * depth
    wall[1, :3] = depth, slope, 0
    return _World(wall, np.zeros((0, 8)), depth, _sway(frame, depth), np.eye(3))


def _sphere(rng: np.random.Generator, frame: int, chosen: RenderOptions) -> _World:
    """A ball of radius relief_mm at depth_mm, in front of a plane one radius behind its back."""
    depth, radius = _depth_and_relief(chosen, 0.25)
    wall = np.zeros((2, 8))
    wall[0, :5] = 0, 1, 1e-3 * depth, 20 * depth, 1.6 * depth
    wall[1, 0] = depth + 2 * radius
    ball = np.array([[0, 0, depth, 0, 0, depth, radius, BALL]])
    return _World(wall, ball, depth, _sway(frame, depth), np.eye(3))


def _instruments(rng: np.random.Generator, frame: int, chosen: RenderOptions) -> _World:
    """Two instruments from the sides: a dark shaft, a steel wrist and two jaws each."""
    depth, relief = _depth_and_relief(chosen, 0.3)
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
    return _World(wall, scaled, depth, _sway(frame, depth), np.eye(3))


def _colon(rng: np.random.Generator, frame: int, chosen: RenderOptions) -> _World:
    """A bending tunnel with folds; the cameras fly along its middle, a twentieth of its radius per frame."""
    radius = 22.0 if chosen.depth_mm is None else chosen.depth_mm / 2
    relief = 0.36 * radius if chosen.relief_mm is None else float(chosen.relief_mm)
    if not 0 <= relief <= 0.5 * radius:
        raise ValueError(f"relief_mm is {relief:g}; expected 0 to a quarter of depth_mm ({2 * radius:g})")
    folds = 64
    wall = np.zeros((4 + folds, 8))
    steepest = 6.5 * relief / radius + 1.1  # side of a fold, in a bend
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

    def middle(z: float) -> Array:
        turns = wall[2:4, 1] * z + wall[2:4, 2]
        turns -= np.floor(turns + 0.5)
        return np.array([*(wall[2:4, 0] * (8 * turns - 16 * turns * np.abs(turns))), z])

    here = 0.05 * radius * frame
    position = middle(here)
    forward = middle(here + 1.4 * radius) - position
    forward /= np.linalg.norm(forward)
    across = np.cross([0.0, 1.0, 0.0], forward)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(forward, across), forward])
    return _World(wall, np.zeros((0, 8)), 2 * radius, position, axes, centred=True)


SCENES: dict[str, Callable[[np.random.Generator, int, RenderOptions], _World]] = {
    "tissue": _tissue, "colon": _colon, "instruments": _instruments, "plane": _plane, "sphere": _sphere,
}  # fmt: skip


# ---------------------------------------------------------------- cameras, paint, sensor


def _focal(chosen: RenderOptions, width: int) -> float:
    focal = 0.85 * width if chosen.focal_px is None else float(chosen.focal_px)
    if not 0.4 * width <= focal <= 10 * width:
        raise ValueError(f"focal_px is {focal:g}; expected {0.4 * width:g} to {10 * width:g} for a width of {width}")
    return focal


def _baseline(chosen: RenderOptions, world: _World, focal: float, height: int, width: int) -> float:
    """The baseline asked for, in one way or the other."""
    if chosen.disparity_px is None:
        return world.size_mm / 12 if chosen.baseline_mm is None else float(chosen.baseline_mm)
    wanted = float(chosen.disparity_px)
    if not 1 <= wanted <= 0.9 * width:
        raise ValueError(f"disparity_px is {wanted:g}; expected 1 to {0.9 * width:g} for a width of {width}")
    rows, columns = COARSE
    baseline = 0.0
    for attempt in range(10 if world.centred else 1):  # where the left camera is may depend on the baseline
        camera, _ = world.cameras(baseline, focal, height, width)
        camera[4] *= columns / width
        camera[4, 1:] = (columns - 1) / 2, (rows - 1) / 2
        depth = _trace(world, camera, rows, columns)[0]
        fitting = wanted / float(np.median(focal / np.maximum(depth, 1e-9)))
        baseline = fitting if attempt == 0 else (baseline + fitting) / 2
    return baseline


def _trace(world: _World, camera: Array, height: int, width: int) -> tuple[Array, Array]:
    """Depth (mm) and what is seen at every pixel."""
    depth, what = np.empty((height, width)), np.empty((height, width), np.uint8)
    kernels.trace_view(world.wall, world.rods, camera, depth, what)
    return depth, what


@lru_cache(maxsize=2)
def _tiles(seed: int) -> Array:
    """Periodic texture (4, n, n), float32: vessels, mottling, vessels below the surface, bumps of the wet film."""
    rng = np.random.default_rng([seed, 3])
    tiles = np.zeros((4, TILE, TILE), np.float32)
    lattice = rng.uniform(-1, 1, (1, 2 * 256**2))
    kernels.paint_mottle(lattice, 1, 8, 256, 0.78, tiles)
    kernels.paint_mottle(lattice[:, ::-1].copy(), 3, 16, 64, 0.45, tiles)
    kernels.paint_vessels(rng.uniform(0, 1, (1, 100_000)), 0, 26, 3.2, tiles)
    kernels.paint_vessels(rng.uniform(0, 1, (1, 100_000)), 2, 8, 9.0, tiles)
    return tiles


def _developed(light: Array, blur: float) -> Array:
    """Grey levels 0 to 255 of linear light: optical blur, then the camera's gamma."""
    if blur > 0:
        reach = math.ceil(3 * blur)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / blur) ** 2)
        weights = (weights / weights.sum()).astype(np.float32)
        light = np.minimum(light, np.float32(2))  # a highlight outshines its neighbours, within reason
        for axis in (0, 1):
            ends = [(reach, reach) if k == axis else (0, 0) for k in range(3)]
            padded = np.pad(light, ends, mode="edge")
            size = light.shape[axis]
            light = np.zeros_like(light)
            for k, weight in enumerate(weights):
                light += weight * (padded[k : k + size] if axis == 0 else padded[:, k : k + size])
    return np.asarray(np.float32(255) * np.clip(light, 0, 1) ** np.float32(1 / 2.2))


def _right_gain(chosen: RenderOptions, height: int, width: int) -> Array:
    """What multiplies the right camera's grey levels, (height, width, 1)."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    off_axis = ((x / (width - 1) - 0.5) ** 2 + (y / (height - 1) - 0.5) ** 2) * 2
    return np.asarray(
        (np.float32(1 + chosen.gain_difference) * (1 - np.float32(chosen.vignetting_difference) * off_axis))[..., None]
    )


def _exposed(left: Array, right: Array, noise: float, seed: tuple[int, ...]) -> tuple[Array, Array]:
    """What the sensor makes of both images.  Never 0: black means "not seen"."""
    images = []
    for side, clean in enumerate((left, right)):
        grain = np.random.default_rng([*seed, side]).standard_normal(clean.shape, np.float32)
        grain *= np.float32(noise)
        grain += clean
        images.append(np.clip(np.rint(grain), 1, 255).astype(np.uint8))
    return images[0], images[1]
