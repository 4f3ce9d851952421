"""Calibration boards, and their corners in images: checkerboards and ChArUco boards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from ..common.optional import require
from ..matching.images import full_scale

PURPOSE = "calibrating cameras"
LEAST_CORNERS = 6  # of a view that is used


@dataclass(frozen=True)
class Board:
    """A flat board with a regular pattern.

    Parameters
    ----------
    columns, rows : int
        Of a checkerboard the inner corners, where four squares meet; of a ChArUco board the squares.
    square_mm : float
        Side of a square.
    marker_mm : float, optional
        Side of a marker: it is a ChArUco board.
    dictionary : str
        Markers of a ChArUco board, as OpenCV names them.

    Raises
    ------
    ValueError
        No such board exists.

    Examples
    --------
    >>> Board(9, 6, 5.0).corners_mm.shape
    (54, 3)
    >>> Board(9, 6, 5.0, marker_mm=3.7).corners_mm.shape
    (40, 3)
    """

    columns: int
    rows: int
    square_mm: float
    marker_mm: float | None = None
    dictionary: str = "DICT_4X4_50"

    def __post_init__(self) -> None:
        if min(self.columns, self.rows) < 3 or max(self.columns, self.rows) > 100:
            raise ValueError(f"a board of {self.columns}x{self.rows}; expected 3 to 100 each way")
        if not (0 < self.square_mm < math.inf):
            raise ValueError(f"squares of {self.square_mm:g} mm; expected a length above 0")
        if self.marker_mm is not None and not 0 < self.marker_mm < self.square_mm:
            raise ValueError(
                f"markers of {self.marker_mm:g} mm in squares of {self.square_mm:g} mm; expected smaller ones"
            )

    @property
    def corners_mm(self) -> NDArray[np.float32]:
        """Places of the corners on the board, shape (n, 3), z = 0."""
        less = 0 if self.marker_mm is None else 1
        rows, columns = np.mgrid[: self.rows - less, : self.columns - less]
        flat = np.stack([columns, rows, np.zeros_like(rows)], -1).reshape(-1, 3)
        return (flat * self.square_mm).astype(np.float32)

    def find(self, image: Array) -> tuple[Array, NDArray[np.int64]] | None:
        """Find the corners of the board in an image.

        Parameters
        ----------
        image : ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
            Grey or RGB.

        Returns
        -------
        corners : ndarray of float32, shape (n, 2)
            Column and row in px.
        numbers : ndarray of int64, shape (n,)
            Which corners they are.
            None instead of both if the board was not found.
        """
        cv2 = require("cv2", PURPOSE)
        grey = _grey(cv2, image)
        if self.marker_mm is not None:
            return self._find_charuco(cv2, grey)
        flags = cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_EXHAUSTIVE
        there, corners = cv2.findChessboardCornersSB(grey, (self.columns, self.rows), flags=flags)
        if not there:
            return None
        grid = corners.reshape(self.rows, self.columns, 2)
        steps = [np.linalg.norm(np.diff(grid, axis=axis), axis=2).min() for axis in (0, 1)]
        return _refined(cv2, grey, corners, min(steps) / 3), np.arange(len(corners))

    def _find_charuco(self, cv2: Any, grey: Array) -> tuple[Array, NDArray[np.int64]] | None:
        if not hasattr(cv2, "aruco") or not hasattr(cv2.aruco, self.dictionary):
            known = [name for name in dir(getattr(cv2, "aruco", None)) if name.startswith("DICT_")]
            raise ValueError(f"{self.dictionary!r} are no markers of OpenCV; there are {', '.join(known)}")
        dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, self.dictionary))
        if len(dictionary.bytesList) < self.columns * self.rows // 2:
            raise ValueError(f"{self.dictionary} has {len(dictionary.bytesList)} markers, too few for such a board")
        board = cv2.aruco.CharucoBoard((self.columns, self.rows), self.square_mm, self.marker_mm, dictionary)
        # With an even number of rows, boards that OpenCV drew before 4.6 begin with the other colour.
        for is_older in (False, True):
            board.setLegacyPattern(is_older)
            corners, numbers, _, _ = cv2.aruco.CharucoDetector(board).detectBoard(grey)
            if corners is not None and len(corners) >= LEAST_CORNERS:
                corners, numbers = corners.reshape(-1, 2), numbers.ravel().astype(np.int64)
                return _refined(cv2, grey, corners, self._gap_px(corners)), numbers
        return None

    def _gap_px(self, corners: Array) -> float:
        """How far the markers of a ChArUco board are from its corners in an image, where it is smallest."""
        assert self.marker_mm is not None
        apart = np.linalg.norm(corners[:, None] - corners[None], axis=2)
        square = float(apart[apart > 0].min())
        return square * (self.square_mm - self.marker_mm) / (2 * self.square_mm)

    def guess_other(self, image: Array) -> Board | None:
        """The board with one row and column less, if that is in the image: people count squares.

        Returns
        -------
        Board or None
        """
        if self.marker_mm is not None or min(self.columns, self.rows) < 4:
            return None
        other = Board(self.columns - 1, self.rows - 1, self.square_mm)
        return other if other.find(image) is not None else None


def _refined(cv2: Any, grey: Array, corners: Array, reach_px: float) -> Array:
    """The corners where the gradients around them meet: twice as exact as the detectors leave them, or better.

    Within ``reach_px`` of a corner there is nothing else, neither another corner nor a marker.
    """
    half = int(np.clip(reach_px, 2, 15))  # of the window; with less there is no gradient to speak of
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 50, 1e-4)
    refined: Array = cv2.cornerSubPix(grey, corners.astype(np.float32), (half, half), (-1, -1), criteria)
    return refined.reshape(-1, 2)


def _grey(cv2: Any, image: Array) -> Array:
    """The image in 8-bit grey, as OpenCV's detectors want it."""
    if image.dtype != np.uint8:
        white = full_scale(float(image.max(initial=0)), "image", is_float=image.dtype.kind == "f")
        image = np.clip(np.rint(image * (255 / white)), 0, 255).astype(np.uint8)
    grey: Array = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else np.ascontiguousarray(image)
    return grey
