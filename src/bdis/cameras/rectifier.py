"""Rectification of the images of raw stereo cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, size_text
from ..common.optional import require
from ..display.card import card
from ..display.map_picture import MapPicture
from ..matching.images import as_image_array, unsupported_pixels
from .formats.matrices import check_rotation
from .rig import Rig

if TYPE_CHECKING:
    from .calibration import StereoCalibration

_LEAST_SEEN = 0.01  # a share of a rectified image
_ARE_THEY_RIGHT = "are its rotation and its distortion right, and is its size that of its camera matrices?"
_NO_RECTIFIED = "no rectified cameras follow from this calibration; are its matrices right?"
_REMAPPED = (np.uint8, np.uint16, np.int16, np.float32, np.float64)  # types of pixels that OpenCV remaps


class Rectifier:
    """Rectifies image pairs of one stereo camera; the maps are computed once.

    Parameters
    ----------
    cameras : StereoCalibration
        Calibration of the raw cameras.
    alpha : float, optional
        Zoom of the rectified images: 0 shows only pixels that the cameras saw, 1 keeps every pixel that they saw.
        Default: no zoom, as in ``cv2.stereoRectify``.
    onto : tuple of ndarray, optional
        Rotations R1 and R2, shape (3, 3), and projections P1 and P2, shape (3, 4), in px and mm, of the rectified
        cameras, where others have decided on them.  Default: as ``cv2.stereoRectify`` finds them.

    Attributes
    ----------
    cameras : StereoCalibration
        Calibration of the raw cameras.
    rig : Rig
        Rectified cameras.
    left_rotation : ndarray of float64, shape (3, 3)
        Rotation R1 from the coordinate frame of the raw left camera to that of the rectified one.
    left_seen, right_seen : ndarray of bool, shape (h, w)
        Pixels of the rectified image that the camera saw; the others are 0.

    Raises
    ------
    ImportError
        OpenCV is not installed.
    ValueError
        ``alpha`` is not from 0 to 1, no rectified cameras follow from the calibration, or ``onto`` is not of these; or
        hardly anything of an image is seen once it is rectified.

    See Also
    --------
    StereoCalibration.rectify

    Examples
    --------
    >>> import numpy as np
    >>> from bdis import StereoCalibration
    >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
    >>> left, right = cameras.rectify()(np.full((240, 320), 9, np.uint8), np.full((240, 320, 3), 9, np.uint8))
    >>> left.shape, right.shape, int(left.min())
    ((240, 320), (240, 320, 3), 9)
    """

    def __init__(
        self,
        cameras: StereoCalibration,
        *,
        alpha: float | None = None,
        onto: tuple[Array, Array, Array, Array] | None = None,
    ):
        if alpha is not None and not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be None or from 0 to 1, but it is {alpha!r}")
        self._cv2 = require("cv2", "rectifying images")
        self.cameras = cameras
        try:
            if onto is None:
                rotations, projections = _rectifying_matrices(self._cv2, cameras, alpha)
            else:
                rotations, projections = list(onto[:2]), list(onto[2:])
                _check_rectifies(rotations, cameras)
            self.rig = _rig_of(projections[0], projections[1], cameras.size)
        except (ArithmeticError, self._cv2.error) as error:
            raise ValueError(_NO_RECTIFIED) from error
        self.left_rotation = rotations[0]
        matrices = (cameras.left_matrix, cameras.right_matrix)
        distortions = (cameras.left_distortion, cameras.right_distortion)
        self._sides = sides = list(zip(matrices, distortions, rotations, projections))
        self._maps = [self._map(*side) for side in sides]
        self.left_seen, self.right_seen = (
            self._inside(*maps) & _is_distortion_valid(distortion, rotation, projection, cameras)
            for maps, (_, distortion, rotation, projection) in zip(self._maps, sides)
        )
        for side, seen in (("left", self.left_seen), ("right", self.right_seen)):
            if (share := float(seen.mean())) < _LEAST_SEEN:
                raise ValueError(
                    f"rectified with this calibration, {share:.1%} of the {side} image was seen by its camera; "
                    f"{_ARE_THEY_RIGHT}"
                )

    def __repr__(self) -> str:
        rig, kind = self.rig, "fisheye" if self.cameras.fisheye else "pinhole"
        seen = f"{self.left_seen.mean():.1%} of the left and {self.right_seen.mean():.1%} of the right image seen"
        size = size_text(self.left_seen.shape)
        return f"Rectifier({size} {kind}, focal {rig.focal_px:.1f} px, baseline {rig.baseline_mm:.2f} mm, {seen})"

    def _repr_html_(self) -> str:
        """For notebooks: the rectified cameras, and which pixels of their images were seen."""
        pictures = [
            MapPicture(f"seen by the {side} camera (white)", seen.astype(np.float32), "gray", (0.0, 1.0))
            for side, seen in (("left", self.left_seen), ("right", self.right_seen))
        ]
        return card(repr(self), pictures=pictures) + self.rig._repr_html_()

    def __call__(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Rectify a pair of images.

        Parameters
        ----------
        left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w) or (h, w, channels)
            Images of the size of the calibration.

        Returns
        -------
        left, right : ndarray
            Rectified images of the same types and shapes; pixels that the camera did not see are 0.

        Raises
        ------
        TypeError
            An image is None, has a mask, or has pixels of another type.
        ValueError
            Images of another size.
        """
        return self._apply(left, 0, self.left_seen, "left"), self._apply(right, 1, self.right_seen, "right")

    def points(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Where points of the raw images lie in the rectified ones.

        Parameters
        ----------
        left, right : ndarray of float64, shape (n, 2)
            Column and row in px.

        Returns
        -------
        left, right : ndarray of float64, shape (n, 2)

        Examples
        --------
        >>> import numpy as np
        >>> from bdis import StereoCalibration
        >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
        >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
        >>> place, _ = cameras.rectify().points(np.array([[20.0, 30.0]]), np.array([[10.0, 30.0]]))
        >>> np.round(place, 3).tolist()
        [[20.0, 30.0]]
        """
        return _rectified_points(self._cv2, self._sides, (left, right), is_fisheye=self.cameras.fisheye)

    def _map(self, matrix: Array, distortion: Array, rotation: Array, projection: Array) -> tuple[Array, Array]:
        """Column and row in the raw image of each pixel of the rectified image, float32 (h, w) each."""
        make = self._cv2.fisheye.initUndistortRectifyMap if self.cameras.fisheye else self._cv2.initUndistortRectifyMap
        across, down = make(matrix, distortion, rotation, projection[:, :3], self.cameras.size, self._cv2.CV_32FC1)
        return across, down

    def _inside(self, across: Array, down: Array) -> NDArray[np.bool_]:
        """Pixels (h, w) that come from within the raw image, which ends 0.5 px beyond the outermost pixel centres."""
        width, height = self.cameras.size
        return (across >= -0.5) & (across <= width - 0.5) & (down >= -0.5) & (down <= height - 0.5)

    def _apply(self, image: Array, side: int, seen: NDArray[np.bool_], name: str) -> Array:
        image = np.ascontiguousarray(as_image_array(image, name))
        width, height = self.cameras.size
        if image.shape[:2] != (height, width):
            if image.ndim < 2:
                raise ValueError(f"{name} has shape {image.shape}; expected (height, width) or (height, width, 3)")
            raise ValueError(
                f"{name} is {size_text(image.shape)} but the calibration is for {width}x{height}; "
                f"if it was resized, use calibration.scaled({image.shape[1] / width:.6g})"
            )
        if image.dtype.newbyteorder("=") not in _REMAPPED:
            raise unsupported_pixels(image, name)
        image = image.astype(image.dtype.newbyteorder("="), copy=False)
        # The border is replicated so that no seen pixel is mixed with black; pixels beyond it are set to 0 below.
        cv2 = self._cv2
        rectified: Array = cv2.remap(image, *self._maps[side], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        rectified[~seen] = 0
        return rectified


def rectified_features(cameras: StereoCalibration, left: Array, right: Array) -> tuple[Array, Array, Rig]:
    """Where points of raw images lie in rectified ones, and the rig of these, without the maps of a Rectifier.

    Parameters
    ----------
    cameras : StereoCalibration
    left, right : ndarray of float64, shape (n, 2)
        Column and row in px, n at least 1.

    Returns
    -------
    left, right : ndarray of float64, shape (n, 2)
    rig : Rig

    Raises
    ------
    ImportError
        OpenCV is not installed.
    ValueError
        No rectified cameras follow from the calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from bdis import StereoCalibration
    >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
    >>> place, _, rig = rectified_features(cameras, np.array([[20.0, 30.0]]), np.array([[10.0, 30.0]]))
    >>> np.round(place, 3).tolist(), rig.baseline_mm
    ([[20.0, 30.0]], 5.0)
    """
    cv2 = require("cv2", "rectifying images")
    try:
        rotations, projections = _rectifying_matrices(cv2, cameras, None)
        rig = _rig_of(projections[0], projections[1], cameras.size)
    except (ArithmeticError, cv2.error) as error:
        raise ValueError(_NO_RECTIFIED) from error
    matrices = (cameras.left_matrix, cameras.right_matrix)
    distortions = (cameras.left_distortion, cameras.right_distortion)
    sides = list(zip(matrices, distortions, rotations, projections))
    return (*_rectified_points(cv2, sides, (left, right), is_fisheye=cameras.fisheye), rig)


def _rectified_points(
    cv2: Any, sides: list[tuple[Array, Array, Array, Array]], points: tuple[Array, Array], *, is_fisheye: bool
) -> tuple[Array, Array]:
    """Points (n, 2) of both raw images in the rectified ones; ``sides`` as in Rectifier."""
    undistort = cv2.fisheye.undistortPoints if is_fisheye else cv2.undistortPoints
    left, right = (
        undistort(np.asarray(places, float).reshape(-1, 1, 2), matrix, distortion, R=rotation, P=projection)
        for places, (matrix, distortion, rotation, projection) in zip(points, sides)
    )
    return left.reshape(-1, 2), right.reshape(-1, 2)


def _rectifying_matrices(cv2: Any, cameras: StereoCalibration, alpha: float | None) -> tuple[list[Array], list[Array]]:
    """Rotations (3, 3) and projections (3, 4) of both cameras that make them parallel."""
    arguments = (
        cameras.left_matrix, cameras.left_distortion, cameras.right_matrix, cameras.right_distortion,
        cameras.size, cameras.rotation, cameras.translation_mm.reshape(3, 1),
    )  # fmt: skip
    if cameras.fisheye:
        balance = 0.0 if alpha is None else alpha
        found = cv2.fisheye.stereoRectify(*arguments, cv2.CALIB_ZERO_DISPARITY, balance=balance)
    else:
        found = cv2.stereoRectify(*arguments, flags=cv2.CALIB_ZERO_DISPARITY, alpha=-1 if alpha is None else alpha)
    return list(found[0:2]), list(found[2:4])


def _check_rectifies(rotations: list[Array], cameras: StereoCalibration) -> None:
    """Raise ValueError unless rotations make the cameras parallel, and the line between them horizontal."""
    for name, rotation in zip(("left", "right"), rotations):
        check_rotation(rotation, f"the {name} camera's R")
    left, right = rotations
    x, y, z = right @ cameras.translation_mm
    if np.abs(right @ cameras.rotation - left).max() > 1e-3 or np.hypot(y, z) > 1e-3 * abs(x):
        raise ValueError("the rotations of the rectified cameras do not fit those of the raw ones")


def _is_distortion_valid(
    distortion: Array, rotation: Array, projection: Array, cameras: StereoCalibration
) -> NDArray[np.bool_]:
    """Pixels (h, w) of the rectified image at whose angle the distortion still grows, as that of a lens does.

    Far outside the image the polynomial decreases and maps points back into the image, where they are not seen.
    """
    width, height = cameras.size
    rows, columns = np.mgrid[:height, :width]
    pixels = np.stack([columns, rows, np.ones_like(rows)], -1)
    x, y, z = np.moveaxis(pixels @ (np.linalg.inv(projection[:, :3]).T @ rotation), 2, 0)
    angle = np.arctan2(np.hypot(x, y), z)
    angles = np.linspace(0, np.pi / 2, 5001)[:-1]
    if cameras.fisheye:
        bent = angles * np.polyval([*distortion[::-1], 1], angles**2)
    else:
        k1, k2, _, _, k3, k4, k5, k6 = np.resize(np.append(distortion, np.zeros(8)), 8)
        square = np.tan(angles) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = np.tan(angles) * np.polyval([k3, k2, k1, 1], square) / np.polyval([k6, k5, k4, 1], square)
    turns_back = np.flatnonzero(~(np.diff(bent) > 0))
    return np.asarray(angle < (angles[turns_back[0]] if len(turns_back) else np.pi / 2))


def _rig_of(left: Array, right: Array, size: tuple[int, int]) -> Rig:
    """The rig that two 3x4 projection matrices describe."""
    focal, cx, cx_right = float(right[0, 0]), float(left[0, 2]), float(right[0, 2])
    return Rig(
        focal_px=focal,
        cx=cx,
        cy=float(left[1, 2]),
        baseline_mm=float(left[0, 3] - right[0, 3]) / focal,
        cx_right=None if cx_right == cx else cx_right,
        size=size,
    )
