"""The options that describe the cameras, and the calibration they stand for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from . import terminal
from .options import CalibRight, CalibScale, Unit
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.calibration import StereoCalibration
    from ..cameras.formats import CalibrationFile
    from ..cameras.formats import Unit as LengthUnit
    from ..cameras.rig import Rig
    from ..common.arrays import Array


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
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Calibration file of OpenCV, ROS, Kalibr, MATLAB, da Vinci, EndoVis, SCARED, NumPy, Middlebury or "
            "bdis, or K.txt; twice if there are two files, such as OpenCV's intrinsics and extrinsics.",
        ),
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

    @property
    def calib_files(self) -> list[Path]:
        """The calibration file, or the two of them; empty without one."""
        return [*(self.calib or []), *([] if self.calib_right is None else [self.calib_right])]

    @property
    def calib_name(self) -> str:
        """Name of the calibration file, for messages; empty without one."""
        return self.calib_files[0].name if self.calib_files else ""

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        from ..cameras.formats import is_plausible_baseline

        if len(self.calib_files) > 2:
            raise UsageError(f"--calib: {len(self.calib_files)} files are given; a calibration has one or two")
        if self.calib:
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

    def load(self, pairs: Iterable[tuple[Array, Array]]) -> LoadedCameras:
        """Find the calibration of images.

        Parameters
        ----------
        pairs : iterable of pairs of ndarray, shape (h, w) or (h, w, 3)
            The images; of a video further frames, of which as many are taken as it needs to tell whether they are
            rectified.

        Returns
        -------
        LoadedCameras

        Raises
        ------
        UsageError
            The options do not fit the calibration file.
        ValueError
            The calibration file cannot be read, is not of such images, or these may or may not be rectified.
        """
        from ..cameras.rig import Rig

        frames = iter(pairs)
        first = next(frames)
        height, width = first[0].shape[:2]
        if self.calib:
            return self._load_file(self.calib[0], (width, height), itertools.chain([first], frames))
        if self.focal is None or self.baseline is None:
            return LoadedCameras(None, None, [])
        centre = ((width - 1) / 2, (height - 1) / 2)
        cx, cy = (given if given is not None else middle for given, middle in zip((self.cx, self.cy), centre))
        return LoadedCameras(Rig(self.focal, cx, cy, self.baseline, size=(width, height)), None, [])

    def _load_file(self, file: Path, size: tuple[int, int], pairs: Iterable[tuple[Array, Array]]) -> LoadedCameras:
        """The calibration in ``--calib``, for images of this size."""
        from ..cameras.formats import read_calibration

        unit = cast("LengthUnit | None", self.unit)
        second = self.calib_files[1] if len(self.calib_files) > 1 else None
        found = read_calibration(file, second, unit=unit, baseline_mm=self.baseline)
        self._check_size(found, *size)
        remarks = [f"{found.format}, unit {found.unit}"]
        rig = self._rig_of(found, file, size)
        raw = self._raw_of(found, file, size)
        is_raw, reasons = self._are_raw(found, file, rig, raw, pairs)
        if is_raw:
            return LoadedCameras(None, raw, remarks + reasons)
        return LoadedCameras(rig or cast("StereoCalibration", raw).rectify().rig, None, remarks + reasons)

    def _rig_of(self, found: CalibrationFile, file: Path, size: tuple[int, int]) -> Rig | None:
        """The rectified cameras in the file, if there are any."""
        from ..cameras.rig import Rig

        if found.rectified is None:
            return None
        try:
            rig = Rig(**found.rectified, size=found.size).scaled(self.calib_scale)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file}: {error}") from error
        if not (0 < rig.cx < size[0] and 0 < rig.cy < size[1]):
            raise ValueError(
                f"{file} has its principal point at ({rig.cx:.1f}, {rig.cy:.1f}), outside the images of "
                f"{size[0]}x{size[1]}; if they were resized, add --calib-scale FACTOR"
            )
        return rig

    def _raw_of(self, found: CalibrationFile, file: Path, size: tuple[int, int]) -> StereoCalibration | None:
        """The cameras before rectification in the file, if there are any."""
        from ..cameras.calibration import StereoCalibration

        if found.raw is None:
            return None
        own_size = found.size or (round(size[0] / self.calib_scale), round(size[1] / self.calib_scale))
        try:
            return StereoCalibration(**found.raw, size=own_size).scaled(self.calib_scale)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file}: {error}") from error

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
            f"the images are {width}x{height} but {self.calib_files[0]} is for {found.size[0]}x{found.size[1]}"
            f"{'' if self.calib_scale == 1 else f' (times {self.calib_scale:g})'}; {advice}"
        )

    def _are_raw(
        self, found: CalibrationFile, file: Path, rig: Rig | None, raw: StereoCalibration | None, pairs: Iterable[Any]
    ) -> tuple[bool, list[str]]:
        """Whether the images have to be rectified, and why; ValueError if they should have been."""
        if rig is None:
            raise ValueError(
                f"{file} ({found.format}) describes unrectified cameras, but a disparity belongs to rectified images: "
                "give these and their calibration, as bdis rectify writes them"
            )
        return False, []


@dataclass(frozen=True)
class CameraOptions(RigOptions):
    """The options that describe the cameras, of images that may have to be rectified."""

    rectify: Annotated[
        bool | None,
        typer.Option(
            "--rectify/--no-rectify",
            help="Rectify the images before matching, or take them as rectified.  [default: told from their rows]",
        ),
    ] = None

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        super().check()
        if not self.calib and self.rectify:
            raise UsageError("--rectify needs --calib")

    def _are_raw(
        self, found: CalibrationFile, file: Path, rig: Rig | None, raw: StereoCalibration | None, pairs: Iterable[Any]
    ) -> tuple[bool, list[str]]:
        if raw is None or (self.rectify and found.raw_lacks):
            if self.rectify:
                lacking = f"lacks {found.raw_lacks}" if found.raw_lacks else "describes rectified cameras"
                raise ValueError(f"{file} ({found.format}) {lacking}: nothing to rectify with")
            return False, []
        if self.rectify is not None:
            return self.rectify, ["images rectified with it" if self.rectify else _taken_as_rectified(rig)]
        return _told_by_rows(found, file, rig, raw, pairs)


def _taken_as_rectified(rig: Rig | None) -> str:
    """What is said of rectified images whose cameras are known, or only the raw cameras before them."""
    if rig is not None:
        return "images taken as rectified"
    return "images taken as rectified by OpenCV's stereoRectify without zoom, as the file has no rectified cameras"


def _told_by_rows(
    found: CalibrationFile, file: Path, rig: Rig | None, raw: StereoCalibration, pairs: Iterable[tuple[Array, Array]]
) -> tuple[bool, list[str]]:
    """Whether the images are raw, and the evidence; ValueError if it can not be told and makes a difference."""
    from ..cameras.raw_or_rectified import weigh_rows

    with terminal.working("telling whether the images are rectified"):
        evidence = weigh_rows(pairs, raw.rectify(), rig)
    if evidence.verdict == "alike":
        return False, []
    if evidence.verdict == "rectified":
        if rig is None:
            terminal.warn(
                f"{file.name} is of raw cameras, but the images are rectified already; the depth is right only if this "
                "was done by OpenCV's stereoRectify without zoom. Better give the calibration of the rectified images"
            )
        return False, [f"{_taken_as_rectified(rig)}: {evidence.reason}"]
    if found.raw_lacks:
        raise ValueError(
            f"the images do not look rectified ({evidence.reason}), and {file.name} cannot rectify them: it lacks "
            f"{found.raw_lacks}. Give that file as well (--calib FILE twice), or --no-rectify if they are rectified"
        )
    if evidence.verdict == "raw":
        return True, [f"images rectified with it: {evidence.reason}"]
    if evidence.verdict == "neither":
        raise ValueError(
            f"{file.name} is not the calibration of these images: {evidence.reason}. If it is, say whether the images "
            "are to be rectified: --rectify or --no-rectify"
        )
    effect = ""
    if not (math.isnan(evidence.as_given_mm) or math.isnan(evidence.rectified_mm)):
        effect = f", and the depth would be {evidence.as_given_mm:.1f} mm or {evidence.rectified_mm:.1f} mm"
    raise ValueError(
        f"it cannot be told whether the images are rectified already: {evidence.reason}{effect}. "
        "Say whether they are to be rectified with the calibration: --rectify or --no-rectify"
    )
