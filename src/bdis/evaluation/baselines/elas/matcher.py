"""ELAS, Efficient Large-Scale Stereo: support points, a triangulated prior, the most likely disparity of every pixel.

Written from the paper: Geiger, Roser, Urtasun, "Efficient Large-Scale Stereo Matching", ACCV 2010.
"""

from functools import cache
from typing import Any

import numpy as np

from ....common.arrays import Array
from ....common.optional import require
from ....matching.kernels.layout import map_stride
from ....matching.result import StereoResult
from ....vector.cache import kernels_in, prepare
from ..pair import finished, grey_pair
from . import kernels
from .kernels import cleanup, dense, support
from .kernels.descriptors import CENTRE, SIZE, elas_describe, elas_gradients
from .settings import elas_settings


@cache
def _prepare_kernels() -> None:
    """Load or compile all kernels at once, which takes less time than one after the other."""
    prepare(kernels_in(kernels))


class Elas:
    """Efficient Large-Scale Stereo Matching (Geiger, Roser, Urtasun, ACCV 2010).

    Parameters
    ----------
    setting : {"robotics", "middlebury"}
        Published set of values to start from.
    **changes
        Settings to replace; see :class:`~bdis.evaluation.baselines.elas.settings.ElasSettings`.

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
        self.settings = elas_settings(setting, changes)
        _spatial()  # if SciPy is missing, say so now and not at the first frame

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) or (h, w, 4)
            Grey, RGB or RGBA.

        Returns
        -------
        StereoResult
            The probability is 1 where there is a disparity; the variance is None.  A pair with fewer than three
            support points (dark, or without texture) has no disparities at all.

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair; the message says why.
        """
        pair = grey_pair(left, right)
        _prepare_kernels()
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
        """Points that match unambiguously and agree with their neighbours.

        Parameters
        ----------
        left, right : ndarray of uint8, shape (h, 16 w)
            Descriptors, see :func:`describe`.
        largest : int
            Largest disparity, px.

        Returns
        -------
        ndarray of int32, shape (n, 3)
            x and y in the left image, and the disparity, px.
        """
        chosen = self.settings
        height, width = left.shape[0], left.shape[1] // SIZE
        step = chosen.grid_step
        grid = np.empty((-(-height // step), -(-width // step)), np.int32)
        fours = np.empty((2, 1, left.shape[1] * 4), np.uint8)
        support.elas_match_support(
            left, right, step, largest, chosen.min_support_texture, chosen.max_ratio, chosen.max_difference,
            fours[0], fours[1], np.empty((1, largest + 1), np.int32), grid,
        )  # fmt: skip
        supported = np.empty_like(grid)
        support.elas_drop_unsupported(
            grid, chosen.support_window, chosen.support_tolerance, chosen.min_support, supported
        )
        for vertical in (False, True):
            support.elas_drop_redundant(supported, chosen.support_window, chosen.redundant_tolerance, vertical)
        rows, columns = np.nonzero(supported >= 0)
        points = np.stack([columns * step, rows * step, supported[rows, columns]], 1).astype(np.int32)
        return with_corners(points, height, width) if chosen.corners and len(points) else points

    def _most_likely(self, descriptors: tuple[Array, Array], side: int, points: Array, largest: int) -> Array:
        """Most likely disparity of each pixel of one image (side 0: left, 1: right).

        float32, shape (h, row length padded for the kernels); NaN where unknown.
        """
        chosen = self.settings
        ours, other = descriptors[side], descriptors[1 - side]
        height, width = ours.shape[0], ours.shape[1] // SIZE
        points = points - np.array([1, 0, 0], np.int32) * points[:, 2:] * side  # their position in this image
        plane = np.empty((height, width), np.float32)
        dense.elas_draw_planes(*self._planes(points, side), plane)

        cells = -(-height // chosen.cell_px), -(-width // chosen.cell_px)
        marks = np.zeros((cells[0] * cells[1], largest + 1), np.uint8)
        listed = np.empty((len(marks), largest + 2), np.int32)
        dense.elas_list_disparities(points, chosen.cell_px, cells[1], marks, listed)

        away = np.arange(max(largest, chosen.plane_radius) + 1)  # px
        prior = np.empty((2, len(away)), np.float32)
        prior[0] = -np.log(chosen.gamma + np.exp(-(away**2) / (2 * chosen.sigma**2)))
        prior[1] = chosen.beta
        step = 2 if chosen.subsampling else 1
        out = np.empty((-(-height // step), map_stride(-(-width // step))), np.float32)
        dense.elas_match_pixels(
            ours, other, 1 if side else -1, plane, listed, prior, chosen.plane_radius, chosen.cell_px, step, largest,
            chosen.min_texture, np.full((1, SIZE), CENTRE, np.uint8), out,
        )  # fmt: skip
        return out

    def _planes(self, points: Array, side: int) -> tuple[Array, Array]:
        """Corners, shape (n, 6), and planes, shape (n, 3), of the triangles between support points."""
        x, y, d = points[triangles(points[:, :2])].astype(np.float64).transpose(2, 1, 0)
        dx, dy, dd = (v[1:] - v[0] for v in (x, y, d))
        area = dx[0] * dy[1] - dx[1] * dy[0]
        flat = area == 0  # Qhull may return triangles without area
        area[flat] = 1
        a = (dd[0] * dy[1] - dd[1] * dy[0]) / area
        b = (dx[0] * dd[1] - dx[1] * dd[0]) / area
        planes = np.stack([a, b, d[0] - a * x[0] - b * y[0]], 1)
        # Disparity gradient, measured along the row half way between both images: people do not fuse surfaces with a
        # gradient above 1 (Burt and Julesz).
        steepness = np.abs(a) / np.maximum(np.abs(1 + (a if side else -a) / 2), 1e-9)
        planes[steepness >= self.settings.max_gradient, 0] = np.nan
        corners = np.stack([x, y], 1).transpose(2, 0, 1).reshape(-1, 6)
        return np.ascontiguousarray(corners[~flat]), np.ascontiguousarray(planes[~flat])

    def _cleaned(self, left: Array, right: Array, height: int, width: int) -> Array:
        """The disparities that pass the checks, filled and averaged; float32, shape (height, width)."""
        chosen = self.settings
        step = 2 if chosen.subsampling else 1
        rows, columns = len(left), -(-width // step)
        cleanup.elas_check_left_right(left, right, columns, step, chosen.max_difference)
        runs, run_rows = np.empty((rows * (columns + 1), 4), np.int32), np.empty((rows, 2), np.int32)
        cleanup.elas_remove_small_segments(
            left, right, columns, chosen.segment_tolerance, chosen.min_segment // step**2, runs, run_rows
        )
        cleanup.elas_fill_gaps(left, columns, chosen.max_gap, chosen.gap_tolerance)
        if chosen.mean_samples:
            before = chosen.mean_samples // 2
            after = chosen.mean_samples - before
            sums = np.empty((2, left.shape[1]), np.float32)
            cleanup.elas_mean(left, columns, before, after, chosen.mean_reach, False, sums, right)
            cleanup.elas_mean(right, columns, before, after, chosen.mean_reach, True, sums, left)
        return left.repeat(step, 0).repeat(step, 1)[:height, :width] if step > 1 else left[:, :width]


def _spatial() -> Any:
    return require("scipy.spatial", "ELAS")


def triangles(places: Array) -> Array:
    """Delaunay triangulation.

    Parameters
    ----------
    places : ndarray, shape (n, 2)

    Returns
    -------
    ndarray of int32, shape (m, 3)
        Indices of the corners of each triangle; no triangle if all points are on a line.

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
    """Descriptors of all pixels.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Grey image.

    Returns
    -------
    ndarray of uint8, shape (h, 16 w)
        That of pixel (y, x) is ``[y, 16 * x : 16 * x + 16]``.

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
    """Add the corners of the image, each with the disparity of the point nearest to it.

    Parameters
    ----------
    points : ndarray of int32, shape (n, 3)
        x, y and disparity, px.
    height, width : int
        Size of the image, px.

    Returns
    -------
    ndarray of int32, shape (n + 4, 3)

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
