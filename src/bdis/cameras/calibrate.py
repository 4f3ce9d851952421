"""Calibration of two cameras from pictures of a board that both see, with its errors and what makes it doubtful."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..common.arrays import Array, size_text
from ..common.optional import require
from .board_fit import Fit, Seen, disagreement_px, fit_cameras
from .boards import LEAST_CORNERS, PURPOSE, Board
from .calibration import StereoCalibration

LEAST_VIEWS, GOOD_VIEWS = 3, 10
MOST_TILT = 70.0  # degrees; corners of a board that is seen from the side are far from exact
LEAST_SPREAD = 15.0  # degrees between the most different boards; less leaves the focal length open
FAR_ABOVE = 3.0  # times the median error: such a view is left out
CLEARLY_APART_PX = 5.0  # before the common fit, which then tells more exactly
SMALL_ERROR_PX = 0.15  # of a view that is never left out
MOST_ERROR_PX = 1.0  # of all views; more is warned of
MOST_ROUNDS = 5
_TILT = "tilt the board by some 30 degrees, in all directions"
GRID = 8  # cells each way, for the coverage
LEAST_COVERAGE = 0.5
MOST_UNCERTAIN = 0.01  # standard deviation of focal length and baseline, relative


@dataclass(frozen=True)
class View:
    """A pair of pictures.

    Attributes
    ----------
    name : str
        For messages.
    why_left_out : str
        Empty if it was used.
    left_px, right_px : float
        Root mean square distance of the corners from where they should be, px; NaN if it was not used.
    rows_px : float
        Root mean square difference of rows after rectification, px.
    tilt_degrees : float
        Angle between the board and the image plane.
    corners : tuple of ndarray, shape (n, 2), or None
        Where they are in both pictures, px; None if they were not found in both.
    """

    name: str
    why_left_out: str = ""
    left_px: float = float("nan")
    right_px: float = float("nan")
    rows_px: float = float("nan")
    tilt_degrees: float = float("nan")
    corners: tuple[Array, Array] | None = field(default=None, repr=False)

    @property
    def is_used(self) -> bool:
        return not self.why_left_out


@dataclass(frozen=True)
class BoardCalibration:
    """Two cameras, calibrated.

    Attributes
    ----------
    cameras : StereoCalibration
        The cameras.
    views : list of View
        All pairs, in order.
    error_px : float
        Root mean square distance of all corners from where they should be.
    rows_px, most_rows_px : float
        Difference of rows after rectification: root mean square and largest.
    focal_sigma : (float, float)
        Standard deviation of the focal lengths of both cameras, px.
    baseline_sigma_mm : float
        Standard deviation of the distance between the cameras.
    coverage : (float, float)
        Share of both pictures that corners were seen in.
    warnings : list of str
        What makes the result doubtful.
    """

    cameras: StereoCalibration
    views: list[View]
    error_px: float
    rows_px: float
    most_rows_px: float
    focal_sigma: tuple[float, float]
    baseline_sigma_mm: float
    coverage: tuple[float, float]
    warnings: list[str]


def calibrate_stereo(
    pairs: Iterable[tuple[str, Array | None, Array | None]],
    board: Board,
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> BoardCalibration:
    """Calibrate two cameras from pictures of a board.

    The size of the result is that of ``board.square_mm``: nothing in the pictures tells whether it is right.

    Parameters
    ----------
    pairs : iterable of (str, ndarray or None, ndarray or None)
        A name, the left and the right picture; None for one that is missing.
    board : Board
        The board in them.
    progress : callable
        Called with the number of pairs that were looked at.

    Returns
    -------
    BoardCalibration

    Raises
    ------
    ValueError
        There are too few views, no board of this kind is in them, or left and right are swapped.
    ImportError
        OpenCV is not installed.
    """
    found, left_out, names, size = _find_all(pairs, board, progress)
    fit, kept, bad = _fit_without_bad_views(found, size, board)
    cameras = _cameras_of(fit, size)
    rectifier = cameras.rectify()
    views = {**left_out, **bad}
    rows = []
    for number, seen in enumerate(kept):
        left, right = rectifier.points(seen.left, seen.right)
        difference = left[:, 1] - right[:, 1]
        rows.append(difference)
        errors = fit.errors_px[number]
        views[seen.name] = View(
            seen.name, "", float(errors[0]), float(errors[1]), _rms(difference), fit.tilts[number],
            (seen.left, seen.right),
        )  # fmt: skip
    coverage = _coverage([seen.left for seen in kept], size), _coverage([seen.right for seen in kept], size)
    result = BoardCalibration(
        cameras, [views[name] for name in names], fit.error_px, _rms(np.concatenate(rows)),
        float(np.abs(np.concatenate(rows)).max()), fit.focal_sigma, fit.baseline_sigma, coverage, [],
    )  # fmt: skip
    return replace(result, warnings=_warnings(result, fit))


def _cameras_of(fit: Fit, size: tuple[int, int]) -> StereoCalibration:
    """The cameras; ValueError if these are not two side by side, with what may be the reason."""
    x, y, z = fit.translation
    is_open = fit.spread_degrees < LEAST_SPREAD
    if x > max(abs(y), abs(z)) and not is_open:
        raise ValueError(
            f"the right camera would be {x:.3g} mm to the left of the left one: left and right are swapped"
        )
    try:
        return StereoCalibration(
            fit.left_matrix,
            fit.left_distortion,
            fit.right_matrix,
            fit.right_distortion,
            fit.rotation,
            fit.translation,
            size,
        )
    except ValueError as error:
        reason = (
            f"all boards are within {fit.spread_degrees:.0f} degrees of each other; {_TILT}" if is_open else str(error)
        )
        raise ValueError(f"no two cameras side by side explain these pictures: {reason}") from error


def _find_all(
    pairs: Iterable[tuple[str, Array | None, Array | None]], board: Board, progress: Callable[[int], None]
) -> tuple[list[Seen], dict[str, View], list[str], tuple[int, int]]:
    """The corners of all pairs, the pairs without, the names of all in order, and the size of the pictures."""
    found: list[Seen] = []
    left_out: dict[str, View] = {}
    names: list[str] = []
    size: tuple[int, int] | None = None
    first: Array | None = None
    corners_mm = board.corners_mm
    for name, left, right in pairs:
        names.append(name)
        seen: Seen | str = "the left picture is missing" if left is None else "the right picture is missing"
        if left is not None and right is not None:
            first = left if first is None else first
            size = size or (left.shape[1], left.shape[0])
            shapes = {each.shape[1::-1] for each in (left, right)}
            if shapes == {size}:
                seen = _seen_in_both(name, board.find(left), board.find(right), corners_mm)
            else:
                other = next(shape for shape in shapes if shape != size)
                seen = f"it is {size_text(other[::-1])}, and the pictures before it are {size_text(size[::-1])}"
        if isinstance(seen, str):
            left_out[name] = View(name, seen)
        else:
            found.append(seen)
        progress(len(names))
    if size is None:
        raise ValueError("there are no pairs of pictures")
    if len(found) < LEAST_VIEWS:
        raise ValueError(_too_few(found, left_out, board, first))
    return found, left_out, names, size


def _seen_in_both(
    name: str, left: tuple[Array, Array] | None, right: tuple[Array, Array] | None, corners_mm: Array
) -> Seen | str:
    """The corners that both pictures have, or why there are none."""
    if left is None or right is None:
        sides = [side for side, found in (("left", left), ("right", right)) if found is None]
        return f"the board was not found in the {' or the '.join(sides)} picture"
    shared, ours, others = np.intersect1d(left[1], right[1], return_indices=True)
    if len(shared) < LEAST_CORNERS:
        return f"only {len(shared)} corners are in both pictures"
    left_px, right_px = left[0][ours], right[0][others]
    if len(shared) == len(corners_mm) and (left_px[-1] - left_px[0]) @ (right_px[-1] - right_px[0]) < 0:
        right_px = right_px[::-1]  # the detector began at the opposite end of the board
    return Seen(name, corners_mm[shared], left_px, np.ascontiguousarray(right_px))


def _too_few(found: list[Seen], left_out: dict[str, View], board: Board, first: Array | None) -> str:
    total = len(found) + len(left_out)
    what = "squares" if board.marker_mm is not None else "inner corners"
    if found:
        reasons = "; ".join(f"{name}: {view.why_left_out}" for name, view in list(left_out.items())[:3])
        return (
            f"{len(found)} of {total} pairs show the board in both pictures; at least {LEAST_VIEWS} are needed, better "
            f"{GOOD_VIEWS}. {reasons}"
        )
    other = None if first is None else board.guess_other(first)
    hint = "" if other is None else f"; a board of {other.columns}x{other.rows} is: count corners, not squares"
    return f"no board of {board.columns}x{board.rows} {what} was found in any of {total} pairs{hint}"


def _fit_without_bad_views(
    found: list[Seen], size: tuple[int, int], board: Board
) -> tuple[Fit, list[Seen], dict[str, View]]:
    """The cameras from all views but those that do not fit to the others."""
    cv2 = require("cv2", PURPOSE)
    kept, bad = [], {}
    apart = disagreement_px(cv2, found, size)
    for seen, error in zip(found, apart.tolist()):
        if error > max(FAR_ABOVE * float(np.median(apart)), CLEARLY_APART_PX):
            why = f"its right picture is {error:.0f} px from where the others say: not of the same moment, or turned?"
            bad[seen.name] = View(seen.name, why, corners=(seen.left, seen.right))
        else:
            kept.append(seen)
    if len(kept) < LEAST_VIEWS:
        raise ValueError(f"only {len(kept)} of {len(found)} views agree on where the cameras are to each other")
    for _ in range(MOST_ROUNDS):
        fit = fit_cameras(cv2, kept, size)
        worst = fit.errors_px.max(1)
        limit = max(FAR_ABOVE * float(np.median(worst)), SMALL_ERROR_PX)
        # One after the other: a view that is quite wrong spoils the errors of the others.
        number = int(np.argmax(worst))
        oblique = int(np.argmax(fit.tilts))
        if fit.tilts[oblique] > MOST_TILT:
            number, why = oblique, f"the board is tilted by {fit.tilts[oblique]:.0f} degrees, beyond {MOST_TILT:.0f}"
        elif worst[number] > limit:
            why = f"its error is {worst[number]:.2f} px, and that of the others {np.median(worst):.2f} px"
        else:
            break
        seen = kept.pop(number)
        bad[seen.name] = View(
            seen.name, why, float(fit.errors_px[number, 0]), float(fit.errors_px[number, 1]),
            tilt_degrees=fit.tilts[number], corners=(seen.left, seen.right),
        )  # fmt: skip
        if len(kept) < LEAST_VIEWS:
            raise ValueError(f"only {len(kept)} views fit together; the last one left out was {seen.name}: {why}")
    return fit, kept, bad


def _warnings(result: BoardCalibration, fit: Fit) -> list[str]:
    texts = []
    used = [view for view in result.views if view.is_used]
    if len(used) < GOOD_VIEWS:
        texts.append(f"{len(used)} views; {GOOD_VIEWS} and more give a calibration to rely on")
    if fit.spread_degrees < LEAST_SPREAD:
        texts.append(
            f"all boards are within {fit.spread_degrees:.0f} degrees of each other, which hardly determines the focal "
            f"length: {_TILT}"
        )
    for side, sigma, matrix in zip(
        ("left", "right"), result.focal_sigma, (result.cameras.left_matrix, result.cameras.right_matrix)
    ):
        if not sigma <= MOST_UNCERTAIN * matrix[0, 0]:
            texts.append(f"the focal length of the {side} camera is {matrix[0, 0]:.1f} +- {sigma:.1f} px")
    baseline = float(np.linalg.norm(result.cameras.translation_mm))
    if not result.baseline_sigma_mm <= MOST_UNCERTAIN * baseline:
        texts.append(f"the baseline is {baseline:.3g} +- {result.baseline_sigma_mm:.2g} mm")
    if result.error_px > MOST_ERROR_PX:
        texts.append(f"corners are off by {result.error_px:.2f} px; expected below {MOST_ERROR_PX:g}: are the board's "
                     "rows and columns right, is it flat, were both pictures taken at one moment?")  # fmt: skip
    for side, share in zip(("left", "right"), result.coverage):
        if share < LEAST_COVERAGE:
            texts.append(f"the board was in {share:.0%} of the {side} picture; distortion elsewhere is a guess")
    return texts


def _coverage(corners: list[Array], size: tuple[int, int]) -> float:
    """Share of the cells of a grid that have a corner."""
    places = np.concatenate(corners) / np.array(size) * GRID
    cells = np.unique(np.clip(places.astype(int), 0, GRID - 1), axis=0)
    return len(cells) / GRID**2


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def coverage_picture(result: BoardCalibration) -> Array:
    """Where corners were seen in both pictures: green in views that are used, red in those that are left out.

    Parameters
    ----------
    result : BoardCalibration

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
        RGB, left and right side by side.
    """
    cv2: Any = require("cv2", PURPOSE)
    width, height = result.cameras.size
    dot = max(2, round(width / 250))
    panels = []
    for side in (0, 1):
        panel = np.full((height, width, 3), 40, np.uint8)
        for cell in range(1, GRID):
            cv2.line(panel, (cell * width // GRID, 0), (cell * width // GRID, height), (70, 70, 70), 1)
            cv2.line(panel, (0, cell * height // GRID), (width, cell * height // GRID), (70, 70, 70), 1)
        for view in sorted(result.views, key=lambda view: view.is_used):
            if view.corners is None:
                continue
            places = np.rint(view.corners[side]).astype(int)
            color = (90, 220, 120) if view.is_used else (235, 70, 60)
            cv2.polylines(panel, [cv2.convexHull(places.astype(np.int32))], True, color, 1, cv2.LINE_AA)
            for x, y in places.tolist():
                cv2.circle(panel, (x, y), dot, color, -1, cv2.LINE_AA)
        text = f"{('left', 'right')[side]}: {result.coverage[side]:.0%} covered"
        cv2.putText(panel, text, (10, height - 12), cv2.FONT_HERSHEY_SIMPLEX, width / 1000 + 0.2, (255, 255, 255), 1,
                    cv2.LINE_AA)  # fmt: skip
        panels.append(panel)
    return np.hstack([panels[0], np.full((height, 4, 3), 255, np.uint8), panels[1]])
