"""Raw stereo cameras, before rectification: their calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.arrays import Array, size_text
from ..common.atomic import Place
from .calibration_doubts import check_inside, doubts_of, tell_python, told, without_distortion
from .formats import Unit, check_baseline, check_size, read_calibration, write_native
from .formats.matrices import check_camera_matrix, check_rotation
from .rectifier import Rectifier

_SHAPES = {
    "left_matrix": (3, 3), "left_distortion": (-1,), "right_matrix": (3, 3), "right_distortion": (-1,),
    "rotation": (3, 3), "translation_mm": (3,),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class StereoCalibration:
    """Calibration of two raw cameras, with lens distortion and in any relative position.

    A point x in the coordinate frame of the left camera is ``rotation @ x + translation_mm`` in that of the right
    camera, as in OpenCV.

    Parameters
    ----------
    left_matrix, right_matrix : array_like, shape (3, 3)
        Camera matrix K of each camera in px: fx 0 cx, 0 fy cy, 0 0 1.
    left_distortion, right_distortion : array_like, shape (4,), (5,), (8,), (12,) or (14,)
        Distortion coefficients of OpenCV; four for a fisheye.
    rotation : array_like, shape (3, 3)
        Rotation R between the cameras.
    translation_mm : array_like, shape (3,)
        Translation T between the cameras in mm; the first number is negative.
    size : tuple of int
        (width, height) of the images in px.
    fisheye : bool, optional
        Whether the distortion is that of OpenCV's fisheye model (Kalibr: equidistant).

    Raises
    ------
    ValueError
        A matrix has another shape or form, contains NaN, is no rotation, the left camera's principal point is outside
        its images, the cameras are not side by side, or they are less than 0.1 mm or more than 3 m apart.

    See Also
    --------
    Rig : Cameras after rectification.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.array([[500, 0, 159.5], [0, 500, 119.5], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(320, 240))
    >>> cameras.rectify().rig.baseline_mm
    5.0
    >>> cameras
    StereoCalibration(320x240 pinhole, focal 500.0 and 500.0 px, 5.00 mm apart)
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
        for name in ("left_matrix", "right_matrix"):
            check_camera_matrix(getattr(self, name), name)
        check_inside(
            self.left_matrix[None, :2, 2],
            size,
            "left_matrix has the principal point",
            "is it, or size, of other images?",
        )
        check_rotation(self.rotation, "rotation")
        x, y, z = self.translation_mm
        if x >= 0 or abs(y) > -x or abs(z) > -x:
            raise ValueError(
                f"translation_mm is ({x:g}, {y:g}, {z:g}); expected mainly a negative first number: "
                "cameras side by side, the left one on the left (are they swapped?)"
            )
        check_baseline(float(np.linalg.norm(self.translation_mm)), "the length of translation_mm")

    def __repr__(self) -> str:
        kind, size = "fisheye" if self.fisheye else "pinhole", size_text(self.size[::-1])
        focal = f"focal {self.left_matrix[0, 0]:.1f} and {self.right_matrix[0, 0]:.1f} px"
        return f"StereoCalibration({size} {kind}, {focal}, {np.linalg.norm(self.translation_mm):.2f} mm apart)"

    def rectify(self, *, alpha: float | None = None) -> Rectifier:
        """Compute the maps that rectify images of these cameras.

        Parameters
        ----------
        alpha : float, optional
            Zoom of the rectified images: 0 shows only pixels that the cameras saw, 1 keeps every pixel that they saw.
            Default: no zoom, as in ``cv2.stereoRectify``.

        Returns
        -------
        Rectifier

        Raises
        ------
        ImportError
            OpenCV is not installed.
        ValueError
            ``alpha`` is not from 0 to 1.

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
        second: Place | None = None,
        *,
        unit: Unit | None = None,
        size: tuple[int, int] | None = None,
    ) -> StereoCalibration:
        """Read the calibration of raw cameras from a file.

        The format is recognised: OpenCV FileStorage (YAML, XML or JSON with M1 or K1, D1, M2 or K2, D2, R and T, as in
        SCARED), a pair of ROS camera_info files, a Kalibr camchain, MATLAB's stereoParameters (a struct in .mat or
        JSON), da Vinci's StereoCalibration.ini, EndoVis's camera_calibration.txt, SCARED's frame_data, NumPy's .npz, or
        a file written by :meth:`save`.

        Parameters
        ----------
        path : str or path-like
            Calibration file; of a ROS pair, that of the left camera.
        second : str or path-like, optional
            The second file: that of the right camera of a ROS pair, or the other one of OpenCV's intrinsics and
            extrinsics.  Default: found by its name, with "right" instead of "left", or the other of these two words.
        unit : {"mm", "cm", "m"}, optional
            Unit of length in the file.  Default: the usual one of the format, which is mm for OpenCV and m for ROS and
            Kalibr.
        size : tuple of int, optional
            (width, height) of the images in px, if the file does not state it.

        Returns
        -------
        StereoCalibration

        Raises
        ------
        ValueError
            The format is not known or has no second file, something is missing in the file, it describes rectified
            cameras only, or its images have another size, are binned or a part of the sensor.
        OSError
            The file cannot be read.

        Warns
        -----
        UserWarning
            The file does not state its unit and has an unusual baseline, its focal length or principal point is that of
            hardly any camera with images of the size that it states, its focal lengths along rows and columns differ
            without a reason, or it says nothing of the distortion.

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
        found = read_calibration(path, second, unit=unit)
        if found.raw is None:
            raise ValueError(f"{path} ({found.format}) describes rectified cameras; Rig.load(path) reads it")
        if found.raw_lacks:
            raise ValueError(f"{path} ({found.format}) lacks {found.raw_lacks}: give that file as second")
        if found.size is None and size is None:
            raise ValueError(f"{path} ({found.format}) does not say how large the images are; give size=(w, h)")
        if found.size is not None and size is not None and tuple(size) != found.size:
            raise ValueError(
                f"{path} is for images of {found.size[0]}x{found.size[1]}, not {size[0]}x{size[1]}; "
                "if they were resized, use StereoCalibration.load(path).scaled(factor)"
            )
        try:
            cameras = cls(**found.raw, size=found.size or size)  # type: ignore[arg-type]  # one of them is not None
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error
        told([*doubts_of(found, str(path), size), without_distortion(found, str(path))], tell_python)
        return cameras

    def scaled(self, factor: float) -> StereoCalibration:
        """Calibration of the same images after resizing.

        Parameters
        ----------
        factor : float
            Scale of the images; 0.5 halves width and height.

        Returns
        -------
        StereoCalibration

        Raises
        ------
        ValueError
            The factor is not above 0.

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
        """Write the calibration to a file that :meth:`load` reads.

        Parameters
        ----------
        path : str or path-like
            File ending with ``.toml`` or ``.json``, which is the format that is written.

        Raises
        ------
        ValueError
            Another ending.
        OSError
            The file cannot be written; no partial file is left.

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
        write_native(path, self.content())

    def content(self) -> dict[str, Any]:
        """Names and values of the file that :meth:`save` writes."""
        numbers = {name: getattr(self, name).tolist() for name in _SHAPES}
        return {"format": "bdis-stereo-calibration", "size": list(self.size), **numbers, "fisheye": self.fisheye}
