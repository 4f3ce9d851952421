"""A rectified stereo camera: from disparity in pixels to depth and points in millimetres."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, size_text, without_mask
from ..common.atomic import Place
from ..display.card import card
from ..matching.disparity_px import as_disparity_px
from ..matching.given_map import lone_mark
from ..matching.result import StereoResult
from ..matching.settings import PRESETS, Settings
from .calibration_doubts import check_inside, doubts_of, tell_python, told
from .cloud import Cloud
from .depth_pictures import plot_depth
from .formats import Unit, check_baseline, check_size, read_calibration, write_native
from .rgb import as_rgb_bytes

_RESIZED = (
    "if they were resized, use rig.scaled(factor); if they are a part of larger ones, give the rig their size: "
    "Rig(..., size=(width, height))"
)


@dataclass(frozen=True)
class Rig:
    """Two parallel pinhole cameras with square pixels, as after rectification.

    Pixel coordinates are those of OpenCV: the centre of the first pixel is (0, 0).

    Parameters
    ----------
    focal_px : float
        Focal length of both cameras in px.
    cx, cy : float
        Principal point of the left camera in px.
    baseline_mm : float
        Distance between the cameras in mm.
    cx_right : float, optional
        Column of the right camera's principal point in px.  Default: the same as ``cx``.
    size : tuple of int, optional
        (width, height) of the images in px.  If it is given, results of another size are refused; otherwise those
        outside of which the principal point lies.
    sigma_scale : float, optional
        The matcher's setting of that name that suits these cameras, above 0 and at most 100, as ``bdis certainty fit``
        finds it.  Commands and :meth:`bdis.StereoMatcher.for_rig` pass it to the matcher.
    sigma_scale_range : tuple of float, optional
        95 % confidence interval of ``sigma_scale``, (low, high).
    sigma_preset : str, optional
        The preset that ``sigma_scale`` was fitted with, a name in ``bdis.PRESETS``; others need another factor.

    Raises
    ------
    TypeError
        A parameter is not a number.
    ValueError
        A parameter is not finite, ``focal_px``, ``baseline_mm`` or ``size`` is not above 0, the baseline is below
        0.1 mm or above 3 m, ``sigma_scale`` is out of range, or what is said of it does not fit it.

    See Also
    --------
    StereoCalibration : Cameras before rectification.

    Examples
    --------
    >>> import numpy as np
    >>> rig = Rig(focal_px=500, cx=320, cy=240, baseline_mm=5)
    >>> float(rig.depth(np.full((480, 640), 25.0))[0, 0])
    100.0
    """

    focal_px: float
    cx: float
    cy: float
    baseline_mm: float
    cx_right: float | None = None
    size: tuple[int, int] | None = None
    sigma_scale: float | None = None
    sigma_scale_range: tuple[float, float] | None = None
    sigma_preset: str | None = None

    def __post_init__(self) -> None:
        for name in ("focal_px", "cx", "cy", "baseline_mm", "cx_right", "sigma_scale"):
            value = getattr(self, name)
            if value is None and name in ("cx_right", "sigma_scale"):
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
        check_baseline(self.baseline_mm, "baseline_mm")
        if self.sigma_scale is not None:
            Settings(sigma_scale=self.sigma_scale)  # refuses what a matcher would refuse
        self._check_origin_of_sigma()
        object.__setattr__(self, "size", check_size(self.size))

    def _check_origin_of_sigma(self) -> None:
        """Is what is said of the factor on sigma possible?"""
        about = {name: getattr(self, name) for name in ("sigma_scale_range", "sigma_preset")}
        given = [name for name, value in about.items() if value is not None]
        if given and self.sigma_scale is None:
            raise ValueError(f"{given[0]} is about sigma_scale, which is missing")
        if self.sigma_preset is not None and self.sigma_preset not in list(PRESETS):  # of whatever type
            raise ValueError(f"sigma_preset must be one of {', '.join(PRESETS)}, but it is {self.sigma_preset!r}")
        if self.sigma_scale_range is None or self.sigma_scale is None:
            return
        try:
            low, high = map(float, about["sigma_scale_range"])
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"sigma_scale_range must be two numbers, but it is {self.sigma_scale_range!r}") from None
        if not 0 < low <= self.sigma_scale <= high < math.inf:
            raise ValueError(
                f"sigma_scale_range must be two numbers around sigma_scale, {self.sigma_scale:g}, "
                f"but it is {low:g} to {high:g}"
            )
        object.__setattr__(self, "sigma_scale_range", (low, high))

    @property
    def doffs(self) -> float:
        """Disparity offset in px: column of the right camera's principal point minus that of the left."""
        return 0.0 if self.cx_right is None else self.cx_right - self.cx

    @property
    def Q(self) -> NDArray[np.float64]:
        """OpenCV's matrix from (x, y, disparity, 1) to homogeneous points in mm.

        Returns
        -------
        ndarray of float64, shape (4, 4)

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

    def depth(self, result: StereoResult | Array, *, max_depth_mm: float | None = None) -> NDArray[np.float32]:
        """Depth of the pixels of the left image, Z = f b / (d + doffs) [Eq. 14].

        Parameters
        ----------
        result : StereoResult or ndarray, shape (h, w)
            Result of a matcher, or its disparity in px.
        max_depth_mm : float, optional
            Above 0; depths above this become NaN.

        Returns
        -------
        ndarray of float32, shape (h, w)
            Depth in mm; NaN where the disparity is unknown or no point in front of the cameras has it.

        Raises
        ------
        TypeError
            The disparity holds no numbers.
        ValueError
            The size of the result is not that of the rig, or if that has none, its principal point is outside of it;
            ``max_depth_mm`` is not above 0; or the disparity is not in px: int16 as OpenCV's matchers and
            :meth:`StereoMatcher.compute` give it, or uint16 as KITTI stores it.

        Warns
        -----
        UserWarning
            Many pixels of a disparity map have the same disparity, which no others have or come near, and this rig
            gives it a depth: it may mark unknown pixels.

        Examples
        --------
        >>> import numpy as np
        >>> verged = Rig(500, cx=0, cy=0, baseline_mm=5, cx_right=10)
        >>> verged.depth(np.float32([[15, -10]])).tolist()  # points at infinity have a disparity of -10 px
        [[100.0, nan]]
        >>> Rig(500, 0, 0, 5).depth(np.float32([[25, 50]]), max_depth_mm=80).tolist()
        [[nan, 50.0]]
        """
        return self._depth(result, max_depth_mm)

    def _depth(self, result: StereoResult | Array, max_depth_mm: float | None) -> NDArray[np.float32]:
        if max_depth_mm is not None and not max_depth_mm > 0:
            raise ValueError(f"max_depth_mm must be above 0, but it is {max_depth_mm:g}")
        shift = self._disparity_from_infinity(result)
        if not isinstance(result, StereoResult) and shift.ndim >= 2:
            self._warn_of_marks(as_disparity_px(result))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            depth = np.where(shift > 0, np.float32(self.focal_px * self.baseline_mm) / shift, np.float32(np.nan))
            if max_depth_mm is not None:
                depth[depth > max_depth_mm] = np.nan
        return depth

    def depth_variance(self, result: StereoResult) -> NDArray[np.float32]:
        """Variance of the depth, (f b)^2 / (d + doffs)^4 times the variance of the disparity [Eq. 18].

        Parameters
        ----------
        result : StereoResult
            Result of a matcher with ``variance=True``.

        Returns
        -------
        ndarray of float32, shape (h, w)
            Variance in mm^2; NaN where the depth is unknown.

        Raises
        ------
        ValueError
            The result has no variance, or its size is not that of the rig.

        See Also
        --------
        depth_sigma : Its square root.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25]]), np.float32([[0.9]]), variance=np.float32([[0.01]]))
        >>> variance = Rig(500, 0, 0, 5).depth_variance(result)  # of 0.01 px^2, at 100 mm
        >>> f"{variance[0, 0]:.2f} mm^2"
        '0.16 mm^2'
        """
        variance = result.known_variance()
        shift = self._disparity_from_infinity(result)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = np.float32(self.focal_px * self.baseline_mm) / (shift * shift)  # mm per px
            return np.where(shift > 0, slope * slope * variance, np.float32(np.nan))

    def depth_sigma(self, result: StereoResult) -> NDArray[np.float32]:
        """Standard deviation of the depth.

        Parameters
        ----------
        result : StereoResult
            Result of a matcher with ``variance=True``.

        Returns
        -------
        ndarray of float32, shape (h, w)
            Standard deviation in mm; NaN where the depth is unknown.

        Raises
        ------
        ValueError
            The result has no variance, or its size is not that of the rig.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25]]), np.float32([[0.9]]), variance=np.float32([[0.01]]))
        >>> sigma = Rig(500, 0, 0, 5).depth_sigma(result)  # of 0.1 px, at 100 mm
        >>> f"{sigma[0, 0]:.3f} mm"
        '0.400 mm'
        """
        return np.sqrt(self.depth_variance(result))

    def depth_interval(
        self, result: StereoResult, share: float = 0.95
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Nearest and farthest depth between which a share of the true depths lies.

        It is exact also where the uncertainty is not small beside the disparity: there the far end is much further away
        than the near one, and `depth_sigma`, which is linear, covers too little.

        Parameters
        ----------
        result : StereoResult
            Result of a matcher with ``variance=True``.
        share : float
            Above 0 and below 1.

        Returns
        -------
        nearest, farthest : ndarray of float32, shape (h, w)
            Depth in mm; NaN where it is unknown.  The farthest is infinite where the point may be at infinity.

        Raises
        ------
        TypeError
            The share is no number.
        ValueError
            The result has no variance, its size is not that of the rig, or the share is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25]]), np.float32([[0.5]]), variance=np.float32([[25]]))
        >>> nearest, farthest = Rig(500, 0, 0, 5).depth_interval(result)  # 25 +- 9.2 px
        >>> f"{nearest[0, 0]:.0f} to {farthest[0, 0]:.0f} mm"
        '73 to 158 mm'
        """
        width = result.interval(share)
        shift = self._disparity_from_infinity(result)
        scale = np.float32(self.focal_px * self.baseline_mm)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            farthest = np.where(shift > width, scale / (shift - width), np.float32(np.inf))
            is_unknown = ~(shift > 0) | np.isnan(width)
            return (
                np.where(is_unknown, np.float32(np.nan), scale / (shift + width)),
                np.where(is_unknown, np.float32(np.nan), farthest),
            )

    def disparity(self, depth_mm: Any) -> NDArray[np.float32]:
        """Disparity of points at a given depth; the inverse of :meth:`depth`.

        Parameters
        ----------
        depth_mm : array_like
            Depth in mm, of any shape.

        Returns
        -------
        ndarray of float32, shape of ``depth_mm``
            Disparity in px; NaN where the depth is NaN, masked or not above 0.

        Examples
        --------
        >>> float(Rig(500, 320, 240, 5).disparity(100.0))
        25.0
        """
        depth_mm = np.asarray(without_mask(depth_mm), np.float32)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shift = np.float32(self.focal_px * self.baseline_mm) / depth_mm
        return np.asarray(np.where(depth_mm > 0, shift - np.float32(self.doffs), np.nan), np.float32)

    def disparity_range(self, *, near_mm: float | None = None, far_mm: float | None = None) -> tuple[float, float]:
        """Smallest and largest disparity of points between two depths, for the settings of a matcher.

        Parameters
        ----------
        near_mm : float, optional
            Depth of the nearest point in mm.  Default: the baseline; what is nearer is hardly seen by both cameras.
        far_mm : float, optional
            Depth of the farthest point in mm.  Default: infinitely far away.

        Returns
        -------
        smallest, largest : float
            Whole px, rounded outwards.

        Raises
        ------
        ValueError
            A depth is not above 0, or the nearest is not nearer than the farthest.

        See Also
        --------
        StereoMatcher.for_rig : A matcher with this range.

        Examples
        --------
        >>> verged = Rig(500, cx=320, cy=240, baseline_mm=5, cx_right=350)
        >>> verged.disparity_range()  # points at infinity have a disparity of -30 px
        (-30.0, 470.0)
        >>> verged.disparity_range(near_mm=50, far_mm=200)
        (-18.0, 20.0)
        """
        near = self.baseline_mm if near_mm is None else float(near_mm)
        far = math.inf if far_mm is None else float(far_mm)
        if not 0 < near < far:
            raise ValueError(f"near_mm must be above 0 and below far_mm, but they are {near:g} and {far:g} mm")
        scale = self.focal_px * self.baseline_mm
        return float(math.floor(scale / far - self.doffs)), float(math.ceil(scale / near - self.doffs))

    def cloud(
        self,
        result: StereoResult,
        colors: Array | None = None,
        *,
        max_depth_mm: float | None = None,
        min_probability: float = 0.0,
        every: int = 1,
        bgr: bool = False,
    ) -> Cloud:
        """Point cloud of the pixels with a known depth, in the coordinate frame of the left camera.

        Parameters
        ----------
        result : StereoResult
            Result of a matcher.
        colors : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4), optional
            Left image, grey, RGB or RGBA: the colours of the points.
        max_depth_mm : float, optional
            Above 0; leave out points further away.
        min_probability : float, optional
            Leave out points whose probability is lower; 0 to 1.
        every : int, optional
            Use only every n-th row and column.
        bgr : bool, optional
            The channels of ``colors`` are in the order blue, green, red, as ``cv2.imread`` returns them.

        Returns
        -------
        Cloud
            With ``colors`` if they are given, and with ``sigma_mm`` if the result has a variance.

        Raises
        ------
        ValueError
            ``every`` is below 1, ``max_depth_mm`` is not above 0, ``min_probability`` is not from 0 to 1, or the sizes
            of result, colours and rig differ.

        Examples
        --------
        >>> import numpy as np
        >>> result = StereoResult(np.float32([[25, np.nan]]), np.float32([[0.9, 0]]))
        >>> Rig(500, cx=0, cy=0, baseline_mm=5).cloud(result).points.tolist()
        [[0.0, 0.0, 100.0]]
        """
        if every < 1:
            raise ValueError(f"every is {every}; expected 1 or more")
        if not 0 <= min_probability <= 1:
            raise ValueError(f"min_probability must be from 0 to 1, but it is {min_probability!r}")
        depth = self.depth(result, max_depth_mm=max_depth_mm)
        if colors is not None and np.shape(colors)[:2] != depth.shape:
            raise ValueError(f"colors is {size_text(np.shape(colors))} but the result is {size_text(depth.shape)}")
        kept = np.isfinite(depth[::every, ::every])
        with np.errstate(invalid="ignore"):
            kept &= result.probability[::every, ::every] >= min_probability
        rows, columns = (every * places for places in np.nonzero(kept))
        z = depth[rows, columns]
        scale = z / np.float32(self.focal_px)
        x, y = (columns - self.cx).astype(np.float32) * scale, (rows - self.cy).astype(np.float32) * scale
        sigma = None if result.variance is None else self.depth_sigma(result)[rows, columns]
        rgb = None if colors is None else as_rgb_bytes(colors, bgr=bgr)[rows, columns]
        return Cloud(np.stack([x, y, z], -1), rgb, sigma)

    def points(self, result: StereoResult | Array, *, max_depth_mm: float | None = None) -> NDArray[np.float32]:
        """Points of all pixels of the left image, in the coordinate frame of the left camera.

        Parameters
        ----------
        result : StereoResult or ndarray, shape (h, w)
            Result of a matcher, or its disparity in px.
        max_depth_mm : float, optional
            Above 0; points further away become NaN.

        Returns
        -------
        ndarray of float32, shape (h, w, 3)
            x to the right, y down, z forward, in mm; all three are NaN where the depth is unknown.

        Raises
        ------
        TypeError
            The disparity holds no numbers.
        ValueError
            As for :meth:`depth`, or the disparity has other than two dimensions.

        See Also
        --------
        cloud : Only the known points, with colours.

        Examples
        --------
        >>> import numpy as np
        >>> Rig(500, cx=0, cy=0, baseline_mm=5).points(np.float32([[25, 50, np.nan]])).tolist()
        [[[0.0, 0.0, 100.0], [0.10000000149011612, 0.0, 50.0], [nan, nan, nan]]]
        """
        z = self._depth(result, max_depth_mm)
        if z.ndim != 2:
            raise ValueError(f"the disparity has shape {z.shape}; expected (height, width)")
        z[~np.isfinite(z)] = np.nan  # a disparity beside that of infinity
        rows, columns = np.ogrid[: z.shape[0], : z.shape[1]]
        scale = z / np.float32(self.focal_px)
        x, y = (columns - self.cx).astype(np.float32) * scale, (rows - self.cy).astype(np.float32) * scale
        return np.stack([x, y, z], -1)

    def plot_depth(
        self,
        result: StereoResult,
        left: Array | None = None,
        *,
        max_depth_mm: float | None = None,
        title: str | None = None,
        bgr: bool = False,
    ) -> Any:
        """Draw the depth and its standard deviation, or without a variance the probability, with Matplotlib.

        Unknown pixels are grey, the colours span 98 % of the values, and the warnings of the result stand above in red.
        Notebooks show the figure; in a script call ``matplotlib.pyplot.show()``, or save it.

        Parameters
        ----------
        result : StereoResult
            Result of a matcher.
        left : ndarray of uint8, uint16 or float, shape (h, w), (h, w, 3) or (h, w, 4), optional
            Left image, shown beside the maps.
        max_depth_mm : float, optional
            Pixels further away are shown as unknown.
        title : str, optional
            Above the maps.  Default: how many pixels have a depth.
        bgr : bool, optional
            The channels of ``left`` are in the order blue, green, red, as ``cv2.imread`` returns them.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (2,) or with ``left`` (3,)

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        ValueError
            The size of the result is not that of the rig, or that of ``left`` is another one.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones((40, 60), np.float32)
        >>> axes = Rig(500, cx=30, cy=20, baseline_mm=5).plot_depth(StereoResult(25 * one, one, variance=0.01 * one))
        >>> [axis.get_title(loc="left") for axis in axes]
        ['depth', 'standard deviation of the depth']
        >>> import matplotlib.pyplot as plt
        >>> plt.close(axes[0].figure)  # or axes[0].figure.savefig("depth.png")
        """
        return plot_depth(self, result, left, max_depth_mm, title, bgr)

    def _repr_html_(self) -> str:
        """For notebooks: the numbers, and what they mean for depth."""
        rows = [("focal length", f"{self.focal_px:.2f} px"), ("baseline", f"{self.baseline_mm:.3f} mm")]
        rows.append(("principal point", f"({self.cx:.2f}, {self.cy:.2f}) px"))
        if self.cx_right is not None:
            rows.append(("column of the right one", f"{self.cx_right:.2f} px"))
        if self.size is not None:
            width, height = self.size
            angles = (math.degrees(2 * math.atan(side / 2 / self.focal_px)) for side in self.size)
            rows.append(("images", f"{width}x{height} px, {' by '.join(f'{angle:.0f}' for angle in angles)} degrees"))
        if self.sigma_scale is not None:
            rows.append(("factor on sigma", self.about_sigma()))
        for depth_mm in (50, 100):
            per_px = depth_mm**2 / (self.focal_px * self.baseline_mm)
            rows.append((f"at {depth_mm} mm", f"a disparity that is 1 px off moves the depth by {per_px:.2f} mm"))
        return card("Rig: rectified cameras", rows)

    def scaled(self, factor: float) -> Rig:
        """Rig of the same images after resizing.

        Parameters
        ----------
        factor : float
            Scale of the images; 0.5 halves width and height.

        Returns
        -------
        Rig

        Raises
        ------
        ValueError
            The factor is not finite or not above 0.

        Examples
        --------
        >>> half = Rig(500, 319.5, 239.5, 5, size=(640, 480)).scaled(0.5)
        >>> half.focal_px, half.cx, half.cy, half.baseline_mm, half.size
        (250.0, 159.5, 119.5, 5.0, (320, 240))
        """
        if not factor > 0 or not math.isfinite(factor):
            raise ValueError(f"factor must be above 0, but it is {factor!r}")

        def place(x: float) -> float:
            return (x + 0.5) * factor - 0.5  # the image's edge, half a pixel before the first centre, stays at -0.5

        return replace(
            self,
            focal_px=self.focal_px * factor,
            cx=place(self.cx),
            cy=place(self.cy),
            cx_right=None if self.cx_right is None else place(self.cx_right),
            size=None if self.size is None else (round(self.size[0] * factor), round(self.size[1] * factor)),
        )

    def about_sigma(self) -> str:
        """The factor on sigma, how sure it is and what it is for, in words; "none" without one.

        Returns
        -------
        str

        Examples
        --------
        >>> Rig(500, 320, 240, 5, sigma_scale=1.31, sigma_scale_range=(1.1, 1.6), sigma_preset="fast").about_sigma()
        'x 1.31 (95 % confidence 1.1 to 1.6), fitted with preset fast'
        """
        if self.sigma_scale is None:
            return "none"
        text = f"x {self.sigma_scale:.3g}"
        if self.sigma_scale_range is not None:
            low, high = self.sigma_scale_range
            text += f" (95 % confidence {low:.3g} to {high:.3g})"
        return text if self.sigma_preset is None else f"{text}, fitted with preset {self.sigma_preset}"

    def check_fits(self, shape: tuple[int, ...]) -> None:
        """Raise an error if images are not of the size of the rig.

        Parameters
        ----------
        shape : tuple of int
            Shape of an image, (h, w) or (h, w, channels).

        Raises
        ------
        ValueError
            The rig has a size, and the image has another; or it has none, and its principal point is not in the image.

        Examples
        --------
        >>> Rig(500, 320, 240, 5, size=(640, 480)).check_fits((240, 320))
        Traceback (most recent call last):
        ValueError: the images are 320x240 but the calibration is for 640x480; if they were resized, use rig.scaled(0.5)
        """
        if self.size is None:
            check_inside(
                np.array([[self.cx, self.cy]]), (shape[1], shape[0]), "the rig has its principal point", _RESIZED
            )
            return
        if (shape[1], shape[0]) == self.size:
            return
        width, height = self.size
        factor = shape[1] / width
        same_form = abs(shape[0] - height * factor) <= 1
        advice = f"if they were resized, use rig.scaled({factor:.6g})" if same_form else "they have another shape"
        raise ValueError(f"the images are {size_text(shape)} but the calibration is for {width}x{height}; {advice}")

    @classmethod
    def load(
        cls, path: Place, second: Place | None = None, *, unit: Unit | None = None, baseline_mm: float | None = None
    ) -> Rig:
        """Read the rig of rectified cameras from a calibration file.

        The format is recognised: OpenCV FileStorage (YAML, XML or JSON with P1 and P2, or Q, as in SERV-CT), a pair of
        ROS camera_info files, Middlebury calib.txt, K.txt (nine numbers, then the baseline in m), NumPy's .npz, or a
        file written by :meth:`save`.

        Parameters
        ----------
        path : str or path-like
            Calibration file; of a ROS pair, that of the left camera.
        second : str or path-like, optional
            The second file: that of the right camera of a ROS pair, or the other one of OpenCV's intrinsics and
            extrinsics.  Default: found by its name, with "right" instead of "left", or the other of these two words.
        unit : {"mm", "cm", "m"}, optional
            Unit of length in the file.  Default: the usual one of the format, which is mm for OpenCV and Middlebury and
            m for ROS and K.txt.
        baseline_mm : float, optional
            Baseline in mm, instead of the one in the file.

        Returns
        -------
        Rig

        Raises
        ------
        ValueError
            The format is not known or has no second file, something is missing in the file, or it describes cameras
            that are not rectified, or images that are binned or a part of the sensor.
        OSError
            The file cannot be read.

        Warns
        -----
        UserWarning
            The file does not state its unit and has an unusual baseline, its focal length or principal point is that of
            hardly any camera with images of the size that it states, or its raw cameras have focal lengths along rows
            and columns that differ without a reason.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Rig(500, 320, 240, 5).save(f"{folder}/rig.toml")
        ...     Rig.load(f"{folder}/rig.toml").baseline_mm
        5.0
        """
        found = read_calibration(path, second, unit=unit, baseline_mm=baseline_mm)
        if found.rectified is None:
            raise ValueError(
                f"{path} ({found.format}) describes raw cameras, not rectified ones; "
                "StereoCalibration.load(path).rectify() rectifies their images and has their rig"
            )
        try:
            rig = cls(**found.rectified, size=found.size)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error
        told(doubts_of(found, str(path)), tell_python)
        return rig

    def save(self, path: Place) -> None:
        """Write the rig to a file that :meth:`load` reads.

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
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Rig(500, 320, 240, 5).save(f"{folder}/rig.json")
        ...     Rig.load(f"{folder}/rig.json") == Rig(500, 320, 240, 5)
        True
        """
        write_native(path, self.content())

    def content(self) -> dict[str, Any]:
        """Names and values of the file that :meth:`save` writes."""
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
        if self.sigma_scale is not None:
            content["sigma_scale"] = self.sigma_scale
        if self.sigma_scale_range is not None:
            content["sigma_scale_range"] = list(self.sigma_scale_range)
        if self.sigma_preset is not None:
            content["sigma_preset"] = self.sigma_preset
        return content

    def _warn_of_marks(self, disparity: Array) -> None:
        """Warn of unknown pixels that are marked by a number, which becomes a depth."""
        mark = lone_mark(disparity[disparity > -self.doffs])
        if mark is not None:
            depth = self.focal_px * self.baseline_mm / (mark[0] + self.doffs)
            text = (
                f"{mark[1]}, which is a depth of {depth:.4g} mm with this rig: if that means unknown, set them to NaN"
            )
            warnings.warn(text, stacklevel=4)  # where depth or points is called

    def _disparity_from_infinity(self, result: StereoResult | Array) -> Array:
        """Disparity plus doffs, float32: 0 for points at infinity."""
        disparity: Any = result.disparity if isinstance(result, StereoResult) else result
        if not (isinstance(result, StereoResult) and type(disparity) is np.ndarray and disparity.dtype == np.float32):
            disparity = as_disparity_px(disparity)
        if disparity.ndim >= 2:
            self.check_fits(disparity.shape)
        return np.asarray(disparity + np.float32(self.doffs))
