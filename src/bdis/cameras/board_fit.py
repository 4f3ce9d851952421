"""The cameras that explain the corners of a board in many pictures best, and how well they are determined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.arrays import Array

_INTRINSICS = 9  # of each camera: fx, fy, cx, cy, k1, k2, p1, p2, k3
_NO_CAMERAS = "no cameras explain these corners: is it the right board, and do its views differ?"
_SHARED = 2 * _INTRINSICS + 6  # and rotation and translation between them


@dataclass(frozen=True)
class Seen:
    """A board as both cameras saw it.

    Attributes
    ----------
    name : str
        Of the pair of pictures.
    corners_mm : ndarray of float32, shape (n, 3)
        Corners on the board.
    left, right : ndarray of float32, shape (n, 2)
        The same corners in both pictures, px.
    """

    name: str
    corners_mm: Array
    left: Array
    right: Array


@dataclass(frozen=True)
class Fit:
    """Two cameras, and the boards that they see.

    Attributes
    ----------
    left_matrix, left_distortion, right_matrix, right_distortion, rotation, translation : ndarray
        As in :class:`bdis.StereoCalibration`.
    error_px : float
        Root mean square distance of all corners from where they should be.
    errors_px : ndarray, shape (views, 2)
        The same of each view, in the left and the right picture.
    tilts : list of float
        Angle between each board and the image plane, degrees.
    spread_degrees : float
        Largest angle between two boards.
    focal_sigma : (float, float)
        Standard deviation of the focal lengths, px.
    baseline_sigma : float
        Standard deviation of the distance between the cameras, in the unit of the board.
    """

    left_matrix: Array
    left_distortion: Array
    right_matrix: Array
    right_distortion: Array
    rotation: Array
    translation: Array
    error_px: float
    errors_px: Array
    tilts: list[float]
    spread_degrees: float
    focal_sigma: tuple[float, float]
    baseline_sigma: float


def disagreement_px(cv2: Any, views: list[Seen], size: tuple[int, int]) -> Array:
    """How far each view is from what most views say about where the cameras are to each other.

    Each camera is calibrated by itself, which a right picture of another moment does not disturb.  Then every view has
    its own position of the right camera; the median of all is right if most views are.

    Parameters
    ----------
    cv2, views, size
        As in :func:`fit_cameras`.

    Returns
    -------
    ndarray of float64, shape (views,)
        Root mean square distance of the corners in the right picture from where they should be, px.
    """
    boards = [view.corners_mm for view in views]
    try:
        _, _, _, own, moves = cv2.calibrateCamera(boards, [view.left for view in views], size, None, None)
        _, k2, d2, others, there = cv2.calibrateCamera(boards, [view.right for view in views], size, None, None)
    except cv2.error as error:
        raise ValueError(_NO_CAMERAS) from error
    lefts, rights = ([cv2.Rodrigues(turn)[0] for turn in turns] for turns in (own, others))
    between = [right @ left.T for left, right in zip(lefts, rights)]
    turn = np.median([cv2.Rodrigues(each)[0].ravel() for each in between], axis=0)
    move = np.median([b.ravel() - each @ a.ravel() for each, a, b in zip(between, moves, there)], axis=0)
    errors = []
    for view, left, place in zip(views, own, moves):
        seen_turn, seen_move = cv2.composeRT(left.ravel(), place.ravel(), turn, move)[:2]
        expected = cv2.projectPoints(view.corners_mm.astype(float), seen_turn, seen_move, k2, d2)[0].reshape(-1, 2)
        errors.append(np.sqrt(np.mean(np.sum((expected - view.right) ** 2, axis=1))))
    return np.array(errors)


def fit_cameras(cv2: Any, views: list[Seen], size: tuple[int, int]) -> Fit:
    """Fit both cameras and all boards at once, beginning with each camera by itself.

    Parameters
    ----------
    cv2 : module
        OpenCV.
    views : list of Seen
        Three at least.
    size : (int, int)
        Width and height of the pictures, px.

    Raises
    ------
    ValueError
        No cameras explain these corners.
    """
    boards = [view.corners_mm for view in views]
    lefts, rights = ([np.ascontiguousarray(getattr(view, side)) for view in views] for side in ("left", "right"))
    try:
        _, k1, d1, _, _ = cv2.calibrateCamera(boards, lefts, size, None, None)
        _, k2, d2, _, _ = cv2.calibrateCamera(boards, rights, size, None, None)
        rms, k1, d1, k2, d2, rotation, translation, _, _, turns, moves, errors = cv2.stereoCalibrateExtended(
            boards, lefts, rights, k1, d1, k2, d2, size, np.eye(3), np.zeros((3, 1)),
            flags=cv2.CALIB_USE_INTRINSIC_GUESS,
            # OpenCV 4 ends before the minimum with less: 0.7 % of the baseline, after 100 steps
            criteria=(cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 1000, 1e-12),
        )  # fmt: skip
    except cv2.error as error:
        raise ValueError(_NO_CAMERAS) from error
    values = np.concatenate([k1.ravel(), d1.ravel(), k2.ravel(), d2.ravel(), rotation.ravel(), translation.ravel()])
    if not np.isfinite(values).all():
        raise ValueError(_NO_CAMERAS)
    normals = np.array([cv2.Rodrigues(turn)[0][:, 2] for turn in turns])
    normals *= np.sign(normals[:, 2:3] + 1e-12)
    between = np.degrees(np.arccos(np.clip(normals @ normals.T, -1, 1)))
    focal_sigma, baseline_sigma = _sigmas(cv2, views, (k1, d1, k2, d2, rotation, translation), turns, moves)
    return Fit(
        k1, d1.ravel()[:5], k2, d2.ravel()[:5], rotation, translation.ravel(), float(rms), np.asarray(errors),
        np.degrees(np.arccos(np.clip(normals[:, 2], -1, 1))).tolist(), float(between.max()), focal_sigma,
        baseline_sigma,
    )  # fmt: skip


def _sigmas(
    cv2: Any, views: list[Seen], cameras: tuple[Array, ...], turns: Any, moves: Any
) -> tuple[tuple[float, float], float]:
    """Standard deviations of the focal lengths and of the baseline, from the curvature of the sum of squares.

    Boards are eliminated one by one (Schur complement), so that what remains is what all views say about the cameras.
    """
    k1, d1, k2, d2, rotation, translation = cameras
    turn = cv2.Rodrigues(rotation)[0].ravel()
    shared = np.concatenate([_intrinsics(k1, d1), _intrinsics(k2, d2), turn, translation.ravel()])
    information, squares, count = np.zeros((_SHARED, _SHARED)), 0.0, 0
    for view, own_turn, own_move in zip(views, turns, moves):
        start = np.concatenate([shared, np.ravel(own_turn), np.ravel(own_move)])
        slopes = _slopes(lambda values, view=view: _project(cv2, view.corners_mm, values), start)
        residual = _project(cv2, view.corners_mm, start) - np.concatenate([view.left.ravel(), view.right.ravel()])
        squares, count = squares + float(residual @ residual), count + residual.size
        normal = slopes.T @ slopes
        ours, both, board = normal[:_SHARED, :_SHARED], normal[:_SHARED, _SHARED:], normal[_SHARED:, _SHARED:]
        information += ours - both @ np.linalg.pinv(board) @ both.T
    variance = squares / max(count - _SHARED - 6 * len(views), 1)
    covariance = variance * np.linalg.pinv(information, rcond=1e-14, hermitian=True)
    sigmas = np.sqrt(np.maximum(np.diag(covariance), 0))
    direction = translation.ravel() / np.linalg.norm(translation)
    baseline = float(np.sqrt(max(direction @ covariance[-3:, -3:] @ direction, 0)))
    return (float(sigmas[0]), float(sigmas[_INTRINSICS])), baseline


def _intrinsics(matrix: Array, distortion: Array) -> Array:
    return np.concatenate([[matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]], distortion.ravel()[:5]])


def _project(cv2: Any, corners_mm: Array, values: Array) -> Array:
    """Where both cameras see the corners, px, from the shared values and the pose of the board."""
    left, right, between, own = np.split(values, [_INTRINSICS, 2 * _INTRINSICS, _SHARED])
    turn, move = cv2.composeRT(own[:3], own[3:], between[:3], between[3:])[:2]
    seen = []
    for each, (a, b) in ((left, (own[:3], own[3:])), (right, (turn, move))):
        matrix = np.array([[each[0], 0, each[2]], [0, each[1], each[3]], [0, 0, 1]])
        seen.append(cv2.projectPoints(corners_mm.astype(float), a, b, matrix, each[4:])[0].ravel())
    return np.concatenate(seen)


def _slopes(function: Any, start: Array) -> Array:
    """Derivatives by central differences, shape (residuals, values)."""
    columns = []
    for place in range(len(start)):
        step = 1e-5 * max(1.0, abs(start[place]))
        ahead, behind = start.copy(), start.copy()
        ahead[place] += step
        behind[place] -= step
        columns.append((function(ahead) - function(behind)) / (2 * step))
    return np.stack(columns, 1)
