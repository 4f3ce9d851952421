"""ELAS, Efficient Large-Scale Stereo: support points, a triangulated prior, the most likely disparity of every pixel.

Written from the paper: Geiger, Roser, Urtasun, "Efficient Large-Scale Stereo Matching", ACCV 2010.
"""

import numbers
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ....common.arrays import Array
from ....common.optional import require
from ....matching.kernels.layout import plain_stride
from ....matching.result import StereoResult
from ..pair import check_max_disparity, finished, grey_pair
from .kernels import cleanup as elas_after
from .kernels import dense as elas_dense
from .kernels import support as elas_support
from .kernels.descriptors import CENTRE, SIZE, elas_describe, elas_gradients


@dataclass(frozen=True)
class ElasSettings:
    """Everything that can be set; the defaults are ``robotics``, the published setting for outdoor robots."""

    max_disparity: float | None = None  # px; None: 255

    # Support points
    grid_step: int = 5  # px between candidates
    min_support_texture: int = 10  # sum of |descriptor - 128|
    max_ratio: float = 0.85  # best cost / best cost of another disparity
    max_difference: int = 2  # px between the disparity from left to right and back, here and in the end
    support_window: int = 5  # grid steps around a point in which others must agree with it
    support_tolerance: int = 5  # px within which two points agree
    min_support: int = 5  # other points that must agree
    redundant_tolerance: int = 1  # px within which a point repeats its neighbours along its row or column
    corners: bool = False  # the nearest point's disparity at each corner of the image: every pixel gets a prior

    # Prior and energy
    cell_px: int = 20  # side of a cell that collects disparities
    plane_radius: int = 2  # px around the plane's disparity that are tried
    max_gradient: float = 1.0  # disparity over cyclopean distance from which a plane is too steep
    beta: float = 0.02  # weight of a descriptor's distance
    gamma: float = 3.0  # how likely disparities off the plane are
    sigma: float = 1.0  # px, how far from the plane disparities scatter
    min_texture: int = 1  # sum of |descriptor - 128| a pixel needs

    # Afterwards
    segment_tolerance: float = 1.0  # px between neighbours of one segment
    min_segment: int = 200  # px, smaller ones are removed
    max_gap: int = 3  # px, longer gaps stay
    gap_tolerance: float = 3.0  # px within which the ends of a gap agree
    mean_samples: int = 8  # neighbours along a row and a column that are averaged, 0: none
    mean_reach: float = 4.0  # px of disparity from which on a neighbour does not count
    subsampling: bool = False  # evaluate every second pixel and row, and spread them over the others

    def __post_init__(self) -> None:
        check_max_disparity(self.max_disparity)
        for field in fields(self):
            name: str = field.name
            value: Any = getattr(self, name)
            if name == "max_disparity":
                continue
            kind, words = _KINDS[str(getattr(field.type, "__name__", field.type))]
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise TypeError(f"{name} must be {words}, but it is {value!r}")
            if kind is not bool and not _LEAST.get(name, 0) <= value <= 1e6:
                raise ValueError(f"{name} must be from {_LEAST.get(name, 0)} to 1e6, but it is {value:g}")


_KINDS: dict[str, tuple[Any, str]] = {
    "int": (numbers.Integral, "a whole number"),
    "float": (numbers.Real, "a number"),
    "bool": (bool, "True or False"),
}
_LEAST: dict[str, float] = {
    "grid_step": 1,
    "cell_px": 1,
    "gamma": 1e-6,
    "sigma": 1e-3,
    "mean_reach": 1e-3,
}  # the others: 0


SETTINGS = {
    "robotics": ElasSettings(),
    "middlebury": ElasSettings(max_ratio=0.95, corners=True, plane_radius=3, gamma=5.0, max_gap=5000),
}  # what is published for outdoor robots, and for dense benchmark results


class Elas:
    """Efficient Large-Scale Stereo Matching (Geiger, Roser, Urtasun, ACCV 2010).

    Parameters
    ----------
    setting : "robotics" or "middlebury", a name in ``SETTINGS``
    **changes : fields of :class:`ElasSettings` to replace

    Raises
    ------
    ImportError
        SciPy is missing; the message says how to get it.
    ValueError, TypeError
        An unknown setting, or a value that it cannot have.

    Examples
    --------
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    >>> result = Elas(max_disparity=32).match(texture[:, :-4], texture[:, 4:])
    >>> round(float(np.nanmedian(result.disparity)), 2)
    4.0
    """

    def __init__(self, setting: str = "robotics", **changes: Any):
        if setting not in SETTINGS:
            raise ValueError(f"unknown setting {setting!r}; there are {', '.join(SETTINGS)}")
        known = [field.name for field in fields(ElasSettings)]
        if unknown := sorted(set(changes) - set(known)):
            raise ValueError(f"unknown setting {', '.join(unknown)}; there are {', '.join(known)}")
        self.settings = replace(SETTINGS[setting], **changes)
        _spatial()  # missing now rather than at the first frame

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : (h, w) grey, (h, w, 3) RGB or (h, w, 4) RGBA; uint8, uint16, float32 or float64

        Returns
        -------
        StereoResult
            Probability is 1 where there is a disparity, variance None.  Nothing is known of a pair
            with fewer than three support points (dark, or without texture).

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair; the message says why.
        """
        pair = grey_pair(left, right)
        height, width = pair.left.shape
        limit = self.settings.max_disparity or 255.0
        largest = int(min(np.ceil(limit), width - 1))
        descriptors = describe(pair.left), describe(pair.right)
        points = self.support_points(*descriptors, largest)
        disparity = np.full((height, width), np.nan, np.float32)
        if len(points) >= 3:
            ours, back = (self._most_likely(descriptors, side, points, largest) for side in (0, 1))
            disparity = self._cleaned(ours, back, height, width)
        return finished(disparity, pair, limit)

    def support_points(self, left: Array, right: Array, largest: int) -> Array:
        """int32 (n, 3): x and y in the left image and disparity, px, of points that are beyond doubt."""
        chosen = self.settings
        height, width = left.shape[0], left.shape[1] // SIZE
        step = chosen.grid_step
        grid = np.empty((-(-height // step), -(-width // step)), np.int32)
        fours = np.empty((2, 1, left.shape[1] * 4), np.uint8)
        elas_support.elas_match_support(
            left, right, step, largest, chosen.min_support_texture, chosen.max_ratio, chosen.max_difference,
            fours[0], fours[1], np.empty((1, largest + 1), np.int32), grid,
        )  # fmt: skip
        supported = np.empty_like(grid)
        elas_support.elas_drop_unsupported(
            grid, chosen.support_window, chosen.support_tolerance, chosen.min_support, supported
        )
        for vertical in (False, True):
            elas_support.elas_drop_redundant(supported, chosen.support_window, chosen.redundant_tolerance, vertical)
        rows, columns = np.nonzero(supported >= 0)
        points = np.stack([columns * step, rows * step, supported[rows, columns]], 1).astype(np.int32)
        return with_corners(points, height, width) if chosen.corners and len(points) else points

    def _most_likely(self, descriptors: tuple[Array, Array], side: int, points: Array, largest: int) -> Array:
        """Disparity of the pixels of one image (0: left, 1: right), float32 (h, plain stride), NaN = unknown."""
        chosen = self.settings
        ours, other = descriptors[side], descriptors[1 - side]
        height, width = ours.shape[0], ours.shape[1] // SIZE
        points = points - np.array([1, 0, 0], np.int32) * points[:, 2:] * side  # where they are in this image
        plane = np.empty((height, width), np.float32)
        elas_dense.elas_draw_planes(*self._planes(points, side), plane)

        cells = -(-height // chosen.cell_px), -(-width // chosen.cell_px)
        marks = np.zeros((cells[0] * cells[1], largest + 1), np.uint8)
        listed = np.empty((len(marks), largest + 2), np.int32)
        elas_dense.elas_list_disparities(points, chosen.cell_px, cells[1], marks, listed)

        away = np.arange(max(largest, chosen.plane_radius) + 1)  # px
        prior = np.empty((2, len(away)), np.float32)
        prior[0] = -np.log(chosen.gamma + np.exp(-(away**2) / (2 * chosen.sigma**2)))
        prior[1] = chosen.beta
        step = 2 if chosen.subsampling else 1
        out = np.empty((-(-height // step), plain_stride(-(-width // step))), np.float32)
        elas_dense.elas_match_pixels(
            ours, other, 1 if side else -1, plane, listed, prior, chosen.plane_radius, chosen.cell_px, step, largest,
            chosen.min_texture, np.full((1, SIZE), CENTRE, np.uint8), out,
        )  # fmt: skip
        return out

    def _planes(self, points: Array, side: int) -> tuple[Array, Array]:
        """Corners (n, 6) and planes (n, 3) of the triangles between support points."""
        x, y, d = points[triangles(points[:, :2])].astype(np.float64).transpose(2, 1, 0)
        dx, dy, dd = (v[1:] - v[0] for v in (x, y, d))
        area = dx[0] * dy[1] - dx[1] * dy[0]
        flat = area == 0  # qhull may leave triangles without an inside
        area[flat] = 1
        a = (dd[0] * dy[1] - dd[1] * dy[0]) / area
        b = (dx[0] * dd[1] - dx[1] * dd[0]) / area
        planes = np.stack([a, b, d[0] - a * x[0] - b * y[0]], 1)
        # Half way between both images, along the row: beyond a gradient of 1 no surface is fused (Burt and Julesz).
        steepness = np.abs(a) / np.maximum(np.abs(1 + (a if side else -a) / 2), 1e-9)
        planes[steepness >= self.settings.max_gradient, 0] = np.nan
        corners = np.stack([x, y], 1).transpose(2, 0, 1).reshape(-1, 6)
        return np.ascontiguousarray(corners[~flat]), np.ascontiguousarray(planes[~flat])

    def _cleaned(self, left: Array, right: Array, height: int, width: int) -> Array:
        """What is left after the checks, filled and averaged, float32 (height, width)."""
        chosen = self.settings
        step = 2 if chosen.subsampling else 1
        rows, columns = len(left), -(-width // step)
        elas_after.elas_check_left_right(left, right, columns, step, chosen.max_difference)
        runs, run_rows = np.empty((rows * (columns + 1), 4), np.int32), np.empty((rows, 2), np.int32)
        elas_after.elas_remove_small_segments(
            left, right, columns, chosen.segment_tolerance, chosen.min_segment // step**2, runs, run_rows
        )
        elas_after.elas_fill_gaps(left, columns, chosen.max_gap, chosen.gap_tolerance)
        if chosen.mean_samples:
            before = chosen.mean_samples // 2
            after = chosen.mean_samples - before
            sums = np.empty((2, left.shape[1]), np.float32)
            elas_after.elas_mean(left, columns, before, after, chosen.mean_reach, False, sums, right)
            elas_after.elas_mean(right, columns, before, after, chosen.mean_reach, True, sums, left)
        return left.repeat(step, 0).repeat(step, 1)[:height, :width] if step > 1 else left[:, :width]


def _spatial() -> Any:
    return require("scipy.spatial", "ELAS")


def triangles(places: Array) -> Array:
    """Delaunay triangulation of points (n, 2): int32 (m, 3), the corners of each triangle; none if all are on a line.

    Examples
    --------
    >>> len(triangles(np.array([[0, 0], [9, 0], [0, 9], [9, 8]]))), len(triangles(np.array([[0, 0], [1, 1], [2, 2]])))
    (2, 0)
    """
    spatial = _spatial()
    try:
        return np.asarray(spatial.Delaunay(places).simplices)
    except spatial.QhullError:
        return np.empty((0, 3), np.int32)


def describe(image: Array) -> Array:
    """Descriptors of a grey image, uint8 (h, w): uint8 (h, 16 w), those of pixel (y, x) at ``[y, 16 x : 16 x + 16]``.

    Examples
    --------
    >>> describe(np.full((8, 9), 77, np.uint8)).shape
    (8, 144)
    """
    dx, dy = np.full_like(image, CENTRE), np.full_like(image, CENTRE)
    elas_gradients(image, dx, dy)
    descriptors = np.full((image.shape[0], SIZE * image.shape[1]), CENTRE, np.uint8)
    elas_describe(dx, dy, descriptors)
    return descriptors


def with_corners(points: Array, height: int, width: int) -> Array:
    """``points``, int32 (n, 3), and the corners of the image with the disparity of the point nearest to each.

    Examples
    --------
    >>> with_corners(np.array([[5, 5, 3], [30, 20, 7]], np.int32), 24, 40)[2:].tolist()
    [[0, 0, 3], [39, 0, 7], [0, 23, 3], [39, 23, 7]]
    """
    corners = np.array([[x, y, 0] for y in (0, height - 1) for x in (0, width - 1)], np.int32)
    for corner in corners:
        nearest = np.square(points[:, :2] - corner[:2]).sum(1).argmin()
        corner[2] = points[nearest, 2]
    return np.concatenate([points, corners])
