"""The options that describe the cameras, and the calibration they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from .options import CalibRight, CalibScale, Unit
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.calibration import StereoCalibration
    from ..cameras.formats import CalibrationFile
    from ..cameras.formats import Unit as LengthUnit
    from ..cameras.rig import Rig


class LoadedCameras(NamedTuple):
    """What is known about the cameras of a pair or a video.

    Attributes
    ----------
    rig : Rig or None
        Cameras of images that are rectified already; None if they are not, or without calibration.
    raw : StereoCalibration or None
        Cameras that the images have to be rectified with; None if they need not be.
    remarks : list of str
        What the user should know about the calibration.
    """

    rig: Rig | None
    raw: StereoCalibration | None
    remarks: list[str]


@dataclass(frozen=True)
class RigOptions:
    """The options that describe the cameras of rectified images."""

    calib: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Calibration file of OpenCV, ROS, Kalibr, Middlebury or bdis, or K.txt."),
    ] = None
    focal: Annotated[float | None, typer.Option(metavar="PX", help="Focal length; instead of --calib.")] = None
    baseline: Annotated[
        float | None,
        typer.Option(metavar="MM", help="Distance between the cameras; with --focal, or if the file does not have it."),
    ] = None
    cx: Annotated[
        float | None,
        typer.Option(metavar="PX", help="Column of the principal point; with --focal.  [default: image centre]"),
    ] = None
    cy: Annotated[
        float | None,
        typer.Option(metavar="PX", help="Row of the principal point; with --focal.  [default: image centre]"),
    ] = None
    calib_right: CalibRight = None
    calib_scale: CalibScale = 1.0
    unit: Unit = None

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        from ..cameras.formats import is_plausible_baseline

        if self.calib is not None:
            if not (self.focal is None and self.cx is None and self.cy is None):
                raise UsageError("--calib cannot be combined with --focal, --cx or --cy")
            return
        has_centre = self.cx is not None or self.cy is not None
        if (self.focal is None) != (self.baseline is None) or (self.focal is None and has_centre):
            raise UsageError("--focal (px) and --baseline (mm) must be given together; --cx and --cy are optional")
        if self.calib_right is not None or self.unit is not None or self.calib_scale != 1:
            raise UsageError("--calib-right, --unit and --calib-scale need --calib")
        if self.baseline is not None and not is_plausible_baseline(self.baseline):
            raise UsageError(f"--baseline is {self.baseline:g} mm, which no stereo camera has; is it in metres?")

    def load(self, shape: tuple[int, ...]) -> LoadedCameras:
        """Find the calibration of images.

        Parameters
        ----------
        shape : tuple of int
            Shape of one image: height, width.

        Returns
        -------
        LoadedCameras

        Raises
        ------
        UsageError
            The options do not fit the calibration file.
        ValueError
            The calibration file cannot be read, or is not of such images.
        """
        from ..cameras.rig import Rig

        height, width = shape[:2]
        if self.calib is not None:
            return self._load_file(self.calib, width, height)
        if self.focal is None or self.baseline is None:
            return LoadedCameras(None, None, [])
        centre = ((width - 1) / 2, (height - 1) / 2)
        cx, cy = (given if given is not None else middle for given, middle in zip((self.cx, self.cy), centre))
        return LoadedCameras(Rig(self.focal, cx, cy, self.baseline, size=(width, height)), None, [])

    def _load_file(self, file: Path, width: int, height: int) -> LoadedCameras:
        """The calibration in ``--calib``, for images of this size."""
        from ..cameras.calibration import StereoCalibration
        from ..cameras.formats import read_calibration
        from ..cameras.rig import Rig

        unit = cast("LengthUnit | None", self.unit)
        found = read_calibration(file, self.calib_right, unit=unit, baseline_mm=self.baseline)
        self._check_size(found, width, height)
        remarks = [f"{found.format}, unit {found.unit}"]
        if self._must_rectify(found, file):
            if found.raw is None:
                raise ValueError(f"{file} ({found.format}) describes rectified cameras: nothing to rectify with")
            size = found.size or (round(width / self.calib_scale), round(height / self.calib_scale))
            return LoadedCameras(None, StereoCalibration(**found.raw, size=size).scaled(self.calib_scale), remarks)
        rig = Rig.load(file, self.calib_right, unit=unit, baseline_mm=self.baseline).scaled(self.calib_scale)
        if not (0 < rig.cx < width and 0 < rig.cy < height):
            raise ValueError(
                f"{file} has its principal point at ({rig.cx:.1f}, {rig.cy:.1f}), outside the images of "
                f"{width}x{height}; if they were resized, add --calib-scale FACTOR"
            )
        return LoadedCameras(rig, None, remarks)

    def _check_size(self, found: CalibrationFile, width: int, height: int) -> None:
        """Raise ValueError if the calibration is for images of another size."""
        if found.size is None:
            return
        expected = (round(found.size[0] * self.calib_scale), round(found.size[1] * self.calib_scale))
        if expected == (width, height):
            return
        factor = width / found.size[0]
        advice = "their aspect ratios differ, so it is of another camera or video mode"
        if factor == 1 and height == found.size[1]:
            advice = "leave out --calib-scale"
        elif round(found.size[1] * factor) == height:
            advice = f"if they were resized, add --calib-scale {factor:.6g}"
        elif (2 * width, height) == expected or (width, 2 * height) == expected:
            advice = "if both views were squeezed into one image, add --squeezed"
        raise ValueError(
            f"the images are {width}x{height} but {self.calib} is for {found.size[0]}x{found.size[1]}"
            f"{'' if self.calib_scale == 1 else f' (times {self.calib_scale:g})'}; {advice}"
        )

    def _must_rectify(self, found: CalibrationFile, file: Path) -> bool:
        """Whether the images have to be rectified; ValueError if they should have been."""
        if found.rectified is None:
            raise ValueError(
                f"{file} ({found.format}) describes unrectified cameras, but a disparity belongs to rectified images: "
                "give these and their calibration, as bdis rectify writes them"
            )
        return False


@dataclass(frozen=True)
class CameraOptions(RigOptions):
    """The options that describe the cameras, of images that may have to be rectified."""

    rectify: Annotated[
        bool | None,
        typer.Option(
            "--rectify/--no-rectify",
            help="Rectify the images before matching.  [default: if the calibration is of unrectified cameras]",
        ),
    ] = None

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        super().check()
        if self.calib is None and self.rectify:
            raise UsageError("--rectify needs --calib")

    def _must_rectify(self, found: CalibrationFile, file: Path) -> bool:
        if found.rectified is None and self.rectify is False:
            raise UsageError(f"{file} ({found.format}) describes unrectified cameras: leave out --no-rectify")
        return found.rectified is None if self.rectify is None else self.rectify
