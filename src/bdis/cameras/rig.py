"""A rectified stereo camera: from disparity in pixels to depth and points in millimetres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.atomic import Place
from ..matching.images import float_full_scale
from ..matching.result import StereoResult
from .cloud import Cloud
from .formats import Unit, check_size, read_calibration, write_own

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Rig:
    """Two parallel pinhole cameras with square pixels, as rectification makes them.

    Pixel centres have whole coordinates, (0, 0) is the centre of the first one, as in OpenCV.

    Parameters
    ----------
    focal_px : focal length of both cameras, px
    cx, cy : principal point of the left camera, px
    baseline_mm : distance between the cameras, mm
    cx_right : column of the right camera's principal point, px; None: as in the left one
    size : (width, height) of the images, px, or None if unknown

    Raises
    ------
    ValueError, TypeError
        A number that no camera has.

    Examples
    --------
    >>> import numpy as np
    >>> rig = Rig(focal_px=500, cx=320, cy=240, baseline_mm=5)
    >>> rig.depth(np.float32([[25, 50, np.nan]])).tolist()
    [[100.0, 50.0, nan]]
    """

    focal_px: float
    cx: float
    cy: float
    baseline_mm: float
    cx_right: float | None = None
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("focal_px", "cx", "cy", "baseline_mm", "cx_right"):
            value = getattr(self, name)
            if value is None and name == "cx_right":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise TypeError(f"{name} must be a number, but it is {value!r}")
            if not math.isfinite(value):
                raise ValueError(f"{name} must be finite, but it is {value}")
            object.__setattr__(self, name, float(value))
        if self.focal_px <= 0:
            raise ValueError(f"focal_px must be above 0, but it is {self.focal_px:g}")
        if self.baseline_mm <= 0:
            raise ValueError(
                f"baseline_mm must be above 0, but it is {self.baseline_mm:g}; are left and right swapped?"
            )
        object.__setattr__(self, "size", check_size(self.size))

    @property
    def doffs(self) -> float:
        """Disparity offset, px: how much further right the principal point of the right camera is."""
        return 0.0 if self.cx_right is None else self.cx_right - self.cx

    @property
    def Q(self) -> NDArray[np.float64]:
        """float64 (4, 4): OpenCV's matrix from (x, y, disparity, 1) to homogeneous points in mm.

        Examples
        --------
        >>> x, y, z, w = Rig(500, 320, 240, 5).Q @ [320, 240, 25, 1]
        >>> float(z / w)
        100.0
        """
        return np.array(
            [
                [1, 0, 0, -self.cx],
                [0, 1, 0, -self.cy],
                [0, 0, 0, self.focal_px],
                [0, 0, 1 / self.baseline_mm, self.doffs / self.baseline_mm],
            ]
        )

    def depth(self, result: StereoResult | Array) -> NDArray[np.float32]:
        """Depth of the left image's pixels, Z = f b / (d + doffs) [Eq. 14].

        Parameters
        ----------
        result : what a matcher returned, or its disparity (height, width) in px

        Returns
        -------
        float32 (height, width), mm; NaN = unknown, or not in front of the cameras

        Raises
        ------
        ValueError
            The size is not that of the rig.

        Examples
        --------
        >>> import numpy as np
        >>> verged = Rig(500, cx=320, cy=240, baseline_mm=5, cx_right=330)
        >>> verged.depth(np.float32([[15, -10]])).tolist()  # at infinity the disparity is -10 px
        [[100.0, nan]]
        """
        shift = self._shift(result)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(shift > 0, np.float32(self.focal_px * self.baseline_mm) / shift, np.float32(np.nan))

    def depth_variance(self, result: StereoResult) -> NDArray[np.float32]:
        """Variance of the depth, (f b)^2 / (d + doffs)^4 times that of the disparity [Eq. 19].

        Returns
        -------
        float32 (height, width), mm^2; NaN = unknown

        Raises
        ------
        ValueError
            The matcher was not asked for a variance, or the size is not that of the rig.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25]]), np.float32([[0.9]]), variance=np.float32([[0.01]]))
        >>> variance = Rig(500, 320, 240, 5).depth_variance(result)
        >>> f"{np.sqrt(variance[0, 0]):.3f} mm"  # of 0.1 px, at 100 mm
        '0.400 mm'
        """
        if result.variance is None:
            raise ValueError("the result has no variance; ask the matcher for it: StereoMatcher(..., variance=True)")
        shift = self._shift(result)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.float32(self.focal_px * self.baseline_mm) / (shift * shift)  # mm per px
            return np.where(shift > 0, slope * slope * result.variance, np.float32(np.nan))

    def disparity(self, depth_mm: Any) -> NDArray[np.float32]:
        """Disparity of points at ``depth_mm``; the inverse of :meth:`depth`.

        Returns
        -------
        float32, px, of the shape of ``depth_mm``; NaN where the depth is unknown or not above 0

        Examples
        --------
        >>> float(Rig(500, 320, 240, 5).disparity(100.0))
        25.0
        """
        depth_mm = np.asarray(depth_mm, np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.float32(self.focal_px * self.baseline_mm) / depth_mm
        return np.asarray(np.where(depth_mm > 0, shift - np.float32(self.doffs), np.nan), np.float32)

    def cloud(
        self,
        result: StereoResult,
        colors: Array | None = None,
        *,
        max_depth_mm: float | None = None,
        min_probability: float = 0.0,
        every: int = 1,
    ) -> Cloud:
        """The known pixels as points in the left camera's frame.

        Parameters
        ----------
        result : what a matcher returned
        colors : (height, width) grey or (height, width, 3 or 4) RGB(A), the left image, optional
        max_depth_mm : leave out what is further away
        min_probability : leave out what is less sure
        every : take only every so many rows and columns

        Returns
        -------
        Cloud
            With ``sigma_mm`` if the result has a variance.

        Raises
        ------
        ValueError
            Sizes that do not fit each other, or ``every`` below 1.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25, np.nan]]), np.float32([[0.9, 0]]))
        >>> Rig(500, cx=0, cy=0, baseline_mm=5).cloud(result).points.tolist()
        [[0.0, 0.0, 100.0]]
        """
        if every < 1:
            raise ValueError(f"every is {every}; expected 1 or more")
        depth = self.depth(result)
        if colors is not None and np.shape(colors)[:2] != depth.shape:
            raise ValueError(f"colors is {_size(np.shape(colors))} but the result is {_size(depth.shape)}")
        with np.errstate(invalid="ignore"):
            kept = np.isfinite(depth[::every, ::every])
            kept &= result.probability[::every, ::every] >= min_probability
            if max_depth_mm is not None:
                kept &= depth[::every, ::every] <= max_depth_mm
        rows, columns = (every * places for places in np.nonzero(kept))
        z = depth[rows, columns]
        scale = z / np.float32(self.focal_px)
        x, y = (columns - self.cx).astype(np.float32) * scale, (rows - self.cy).astype(np.float32) * scale
        sigma = None if result.variance is None else np.sqrt(self.depth_variance(result)[rows, columns])
        paint = None if colors is None else as_rgb_bytes(colors)[rows, columns]
        return Cloud(np.stack([x, y, z], -1), paint, sigma)

    def scaled(self, factor: float) -> Rig:
        """The rig of the same images resized by ``factor`` (0.5 = half as wide and high).

        Examples
        --------
        >>> Rig(500, 319.5, 239.5, 5, size=(640, 480)).scaled(0.5)
        Rig(focal_px=250.0, cx=159.5, cy=119.5, baseline_mm=5.0, cx_right=None, size=(320, 240))
        """
        if not factor > 0 or not math.isfinite(factor):
            raise ValueError(f"factor must be above 0, but it is {factor!r}")

        def place(x: float) -> float:
            return (x + 0.5) * factor - 0.5  # the picture's edge, half a pixel before the first centre, stays

        return Rig(
            self.focal_px * factor,
            place(self.cx),
            place(self.cy),
            self.baseline_mm,
            None if self.cx_right is None else place(self.cx_right),
            None if self.size is None else (round(self.size[0] * factor), round(self.size[1] * factor)),
        )

    def check_fits(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError if images of ``shape`` (height, width, ...) are not of the rig's size.

        Examples
        --------
        >>> Rig(500, 320, 240, 5, size=(640, 480)).check_fits((240, 320))
        Traceback (most recent call last):
        ValueError: the images are 320x240 but the calibration is for 640x480; if they were resized, use rig.scaled(0.5)
        """
        if self.size is None or (shape[1], shape[0]) == self.size:
            return
        width, height = self.size
        factor = shape[1] / width
        same_form = abs(shape[0] - height * factor) <= 1
        advice = f"if they were resized, use rig.scaled({factor:.6g})" if same_form else "they have another shape"
        raise ValueError(f"the images are {_size(shape)} but the calibration is for {width}x{height}; {advice}")

    @classmethod
    def load(
        cls, path: Place, right: Place | None = None, *, unit: Unit | None = None, baseline_mm: float | None = None
    ) -> Rig:
        """Read the rig of a rectified pair from a calibration file.

        OpenCV FileStorage (YAML, XML, JSON: P1 and P2, or Q; SERV-CT's files are such), a ROS camera_info pair,
        Middlebury calib.txt, K.txt (nine numbers, then the baseline in m), or what :meth:`save` wrote.

        Parameters
        ----------
        path : the file; of a ROS pair, the left camera's
        right : the right camera's file of a ROS pair; by default its name with right for left
        unit : "mm", "cm" or "m", if the file is not in the unit usual for its format: mm for OpenCV and Middlebury,
            m for ROS, Kalibr and K.txt
        baseline_mm : replaces the file's, or supplies one it lacks

        Raises
        ------
        ValueError
            Not a known format, something is missing in it, or it describes cameras that are not rectified.
        OSError
            The file cannot be read.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Rig(500, 320, 240, 5).save(f"{folder}/rig.toml")
        ...     Rig.load(f"{folder}/rig.toml").baseline_mm
        5.0
        """
        found = read_calibration(path, right, unit=unit, baseline_mm=baseline_mm)
        if found.rectified is None:
            raise ValueError(
                f"{path} ({found.format}) describes raw cameras, not rectified ones; "
                "StereoCalibration.load(path).rectify() rectifies their images and has their rig"
            )
        try:
            return cls(**found.rectified, size=found.size)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: Place) -> None:
        """Write the rig as TOML or JSON, by the ending of ``path``.

        Raises
        ------
        ValueError
            Another ending.
        OSError
            The file cannot be written; nothing half-written is left.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Rig(500, 320, 240, 5).save(f"{folder}/rig.json")
        ...     Rig.load(f"{folder}/rig.json") == Rig(500, 320, 240, 5)
        True
        """
        content: dict[str, Any] = {
            "format": "bdis-rig",
            "focal_px": self.focal_px,
            "cx": self.cx,
            "cy": self.cy,
            "baseline_mm": self.baseline_mm,
        }
        if self.cx_right is not None:
            content["cx_right"] = self.cx_right
        if self.size is not None:
            content["size"] = list(self.size)
        write_own(path, content)

    def _shift(self, result: StereoResult | Array) -> Array:
        """Disparity as parallel cameras with one principal point would see it, float32."""
        disparity = np.asarray(result.disparity if isinstance(result, StereoResult) else result, np.float32)
        if disparity.ndim >= 2:
            self.check_fits(disparity.shape)
        return disparity + np.float32(self.doffs)


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"


def as_rgb_bytes(image: Array) -> NDArray[np.uint8]:
    """A picture of any supported kind as uint8 (height, width, 3)."""
    image = np.asarray(image)
    if image.dtype == np.uint16:  # cameras with 10, 12 or 14 bits keep them at the low end
        bits = next(bits for bits in (10, 12, 14, 16) if image.max(initial=0) < 1 << bits)
        image = (image >> (bits - 8)).astype(np.uint8)
    elif image.dtype.kind == "f":
        white = float_full_scale(float(image.max(initial=0)), "colors")
        image = np.clip(np.rint(image * (255 / white)), 0, 255).astype(np.uint8)
    elif image.dtype != np.uint8:
        raise TypeError(f"colors has pixels of type {image.dtype}; expected uint8, uint16 or floats")
    if image.ndim == 2:
        image = image[..., None]
    if image.shape[2] == 1:
        image = image.repeat(3, 2)
    return image[..., :3]
