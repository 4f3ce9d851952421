"""Raw stereo cameras: their calibration, and the rectification of their images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.atomic import Place
from ..common.optional import require
from .formats import Unit, check_size, read_calibration, write_own
from .rig import Rig

Array = np.ndarray[Any, np.dtype[Any]]
_SHAPES = {
    "left_matrix": (3, 3), "left_distortion": (-1,), "right_matrix": (3, 3), "right_distortion": (-1,),
    "rotation": (3, 3), "translation_mm": (3,),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class StereoCalibration:
    """Two cameras as they are, with distortion, neither parallel nor aligned.

    A point x in the left camera's frame is rotation @ x + translation_mm in the right one's, as in OpenCV.

    Parameters
    ----------
    left_matrix, right_matrix : (3, 3), K of each camera, px
    left_distortion, right_distortion : (4, 5, 8, 12 or 14), OpenCV's coefficients; 4 of a fisheye
    rotation : (3, 3), R
    translation_mm : (3,), T; the first is below 0 when left is left of right
    size : (width, height) of the images, px
    fisheye : the distortion is OpenCV's fisheye model (Kalibr's equidistant)

    Raises
    ------
    ValueError
        Matrices of another shape, or that no camera has.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
    >>> cameras.rectify().rig.baseline_mm
    5.0
    """

    left_matrix: Array
    left_distortion: Array
    right_matrix: Array
    right_distortion: Array
    rotation: Array
    translation_mm: Array
    size: tuple[int, int]
    fisheye: bool = False

    def __post_init__(self) -> None:
        for name, shape in _SHAPES.items():
            array = np.asarray(getattr(self, name), np.float64)
            expected = int(np.prod(shape))
            if shape != (-1,) and array.size != expected:
                raise ValueError(f"{name} has {array.size} numbers; expected {expected}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds NaN or infinite values")
            object.__setattr__(self, name, array.reshape(shape))
        size = check_size(self.size)
        if size is None:
            raise ValueError("size must be (width, height) in px, but it is None")
        object.__setattr__(self, "size", size)
        for name in ("left_distortion", "right_distortion"):
            count, allowed = len(getattr(self, name)), (4,) if self.fisheye else (4, 5, 8, 12, 14)
            if count == 0 or (self.fisheye and count > 4 and not getattr(self, name)[4:].any()):
                object.__setattr__(self, name, np.resize(getattr(self, name), 4) if count else np.zeros(4))
            elif count not in allowed:
                raise ValueError(f"{name} has {count} numbers; expected {' or '.join(map(str, allowed))}")
        if np.abs(self.rotation @ self.rotation.T - np.eye(3)).max() > 1e-3:
            raise ValueError("rotation is not a rotation matrix: R R^T is not the identity")
        x, y, z = self.translation_mm
        if x >= 0 or abs(y) > -x or abs(z) > -x:
            raise ValueError(
                f"translation_mm is ({x:g}, {y:g}, {z:g}); expected mainly a negative first number: "
                "cameras side by side, the left one on the left (are they swapped?)"
            )

    def rectify(self, *, alpha: float | None = None) -> Rectifier:
        """Make the maps that rectify images of these cameras.

        Parameters
        ----------
        alpha : 0 = zoom until nothing unseen is in the picture, 1 = keep every pixel that was seen; None: as
            ``cv2.stereoRectify`` does by default, no zoom

        Raises
        ------
        ImportError
            OpenCV is not installed.
        ValueError
            alpha is not between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
        >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
        >>> cameras.rectify(alpha=0).rig.size
        (320, 240)
        """
        return Rectifier(self, alpha=alpha)

    @classmethod
    def load(
        cls,
        path: Place,
        right: Place | None = None,
        *,
        unit: Unit | None = None,
        size: tuple[int, int] | None = None,
    ) -> StereoCalibration:
        """Read the calibration of raw cameras.

        OpenCV FileStorage (YAML, XML, JSON with M1 or K1, D1, M2 or K2, D2, R and T; SCARED's files are such), a ROS
        camera_info pair, a Kalibr camchain, or what :meth:`save` wrote.

        Parameters
        ----------
        path, right, unit : as in :meth:`bdis.Rig.load`
        size : (width, height) of the images, if the file does not say

        Raises
        ------
        ValueError
            Not a known format, something is missing in it, or it describes rectified cameras only.
        OSError
            The file cannot be read.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
        >>> cameras = StereoCalibration(
        ...     k, np.zeros(5), k, np.zeros(5), np.eye(3), np.array([-5, 0, 0]), size=(320, 240)
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cameras.save(f"{folder}/cameras.toml")
        ...     StereoCalibration.load(f"{folder}/cameras.toml").translation_mm.tolist()
        [-5.0, 0.0, 0.0]
        """
        found = read_calibration(path, right, unit=unit)
        if found.raw is None:
            raise ValueError(f"{path} ({found.format}) describes rectified cameras; Rig.load(path) reads it")
        if found.size is None and size is None:
            raise ValueError(f"{path} ({found.format}) does not say how large the images are; give size=(w, h)")
        if found.size is not None and size is not None and tuple(size) != found.size:
            raise ValueError(
                f"{path} is for images of {found.size[0]}x{found.size[1]}, not {size[0]}x{size[1]}; "
                "if they were resized, use StereoCalibration.load(path).scaled(factor)"
            )
        try:
            return cls(**found.raw, size=found.size or size)  # type: ignore[arg-type]  # one of them is there
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error

    def scaled(self, factor: float) -> StereoCalibration:
        """The calibration of the same images resized by ``factor`` (0.5 = half as wide and high).

        Examples
        --------
        >>> import numpy as np
        >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
        >>> cameras = StereoCalibration(
        ...     k, np.zeros(5), k, np.zeros(5), np.eye(3), np.array([-5, 0, 0]), size=(320, 240)
        ... )
        >>> cameras.scaled(0.5).left_matrix[0].tolist()
        [250.0, 0.0, 79.5]
        """
        if not factor > 0:
            raise ValueError(f"factor must be above 0, but it is {factor!r}")
        to_scaled = np.array([[factor, 0, 0.5 * factor - 0.5], [0, factor, 0.5 * factor - 0.5], [0, 0, 1]])
        return StereoCalibration(
            to_scaled @ self.left_matrix,
            self.left_distortion,
            to_scaled @ self.right_matrix,
            self.right_distortion,
            self.rotation,
            self.translation_mm,
            (round(self.size[0] * factor), round(self.size[1] * factor)),
            self.fisheye,
        )

    def save(self, path: Place) -> None:
        """Write the calibration as TOML or JSON, by the ending of ``path``.

        Raises
        ------
        ValueError
            Another ending.
        OSError
            The file cannot be written; nothing half-written is left.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
        >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cameras.save(f"{folder}/cameras.json")
        ...     StereoCalibration.load(f"{folder}/cameras.json").size
        (320, 240)
        """
        numbers = {name: getattr(self, name).tolist() for name in _SHAPES}
        content = {"format": "bdis-stereo-calibration", "size": list(self.size), **numbers, "fisheye": self.fisheye}
        write_own(path, content)


class Rectifier:
    """Rectifies pairs of one camera; the maps are computed once.

    Attributes
    ----------
    rig : Rig of the rectified images
    left_rotation : float64 (3, 3), R1: turns points of the raw left camera into the rectified one's frame
    left_seen, right_seen : bool (height, width), where the camera saw something

    Examples
    --------
    >>> import numpy as np
    >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
    >>> left, right = cameras.rectify()(np.full((240, 320), 9, np.uint8), np.full((240, 320, 3), 9, np.uint8))
    >>> left.shape, right.shape, int(left.min())
    ((240, 320), (240, 320, 3), 9)
    """

    def __init__(self, cameras: StereoCalibration, *, alpha: float | None = None):
        if alpha is not None and not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be None or from 0 to 1, but it is {alpha!r}")
        self._cv2 = require("cv2", "rectifying images")
        self.cameras = cameras
        rotations, projections = _parallel(self._cv2, cameras, alpha)
        self.rig = _rig(projections[0], projections[1], cameras.size)
        self.left_rotation = rotations[0]
        matrices = (cameras.left_matrix, cameras.right_matrix)
        distortions = (cameras.left_distortion, cameras.right_distortion)
        sides = list(zip(matrices, distortions, rotations, projections))
        self._maps = [self._map(*side) for side in sides]
        self.left_seen, self.right_seen = (
            self._inside(*maps) & _unfolded(distortion, rotation, projection, cameras)
            for maps, (_, distortion, rotation, projection) in zip(self._maps, sides)
        )

    def __call__(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Rectify a pair.

        Parameters
        ----------
        left, right : (height, width) or (height, width, channels) of the calibration's size; uint8, uint16 or float32

        Returns
        -------
        two arrays of the same kinds; pixels the camera never saw are exactly 0

        Raises
        ------
        ValueError
            Images of another size.
        """
        return self._apply(left, 0, self.left_seen, "left"), self._apply(right, 1, self.right_seen, "right")

    def _map(self, matrix: Array, distortion: Array, rotation: Array, projection: Array) -> tuple[Array, Array]:
        make = self._cv2.fisheye.initUndistortRectifyMap if self.cameras.fisheye else self._cv2.initUndistortRectifyMap
        across, down = make(matrix, distortion, rotation, projection[:, :3], self.cameras.size, self._cv2.CV_32FC1)
        return across, down

    def _inside(self, across: Array, down: Array) -> NDArray[np.bool_]:
        """Where a pixel comes from within the picture, its outermost pixels being squares as all others."""
        width, height = self.cameras.size
        return (across >= -0.5) & (across <= width - 0.5) & (down >= -0.5) & (down <= height - 0.5)

    def _apply(self, image: Array, side: int, seen: NDArray[np.bool_], name: str) -> Array:
        image = np.ascontiguousarray(image)
        width, height = self.cameras.size
        if image.shape[:2] != (height, width):
            came = "x".join(map(str, image.shape[1::-1]))
            factor = image.shape[1] / width
            advice = f"; if it was resized, use calibration.scaled({factor:.6g})" if image.ndim >= 2 else ""
            raise ValueError(f"{name} is {came} but the calibration is for {width}x{height}{advice}")
        # The border is repeated so that no seen pixel is mixed with black; what lies beyond is blacked out below.
        cv2 = self._cv2
        rectified: Array = cv2.remap(image, *self._maps[side], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        rectified[~seen] = 0
        return rectified


def _parallel(cv2: Any, cameras: StereoCalibration, alpha: float | None) -> tuple[list[Array], list[Array]]:
    """Rotations (3, 3) and projections (3, 4) that make the cameras parallel."""
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


def _unfolded(distortion: Array, rotation: Array, projection: Array, cameras: StereoCalibration) -> NDArray[np.bool_]:
    """Where the distortion is that of a lens.

    Far outside the picture its polynomial turns around and leads back into it, to things that are not there.
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


def _rig(left: Array, right: Array, size: tuple[int, int]) -> Rig:
    focal, cx, cx_right = float(right[0, 0]), float(left[0, 2]), float(right[0, 2])
    return Rig(
        focal_px=focal,
        cx=cx,
        cy=float(left[1, 2]),
        baseline_mm=-float(right[0, 3]) / focal,
        cx_right=None if cx_right == cx else cx_right,
        size=size,
    )
