"""The options that describe the cameras, and the calibration they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from . import terminal
from .options import CalibRight, CalibScale, Unit
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.formats import Unit as LengthUnit
    from ..cameras.given_cameras import GivenCameras, LoadedCameras
    from ..common.arrays import Array


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
        if self.baseline is not None and not is_plausible_baseline(self.baseline):
            raise UsageError(f"--baseline is {self.baseline:g} mm, which no stereo camera has; is it in another unit?")
        if self.calib:
            if not (self.focal is None and self.cx is None and self.cy is None):
                raise UsageError("--calib cannot be combined with --focal, --cx or --cy")
            return
        has_centre = self.cx is not None or self.cy is not None
        if (self.focal is None) != (self.baseline is None) or (self.focal is None and has_centre):
            raise UsageError("--focal (px) and --baseline (mm) must be given together; --cx and --cy are optional")
        if self.calib_right is not None or self.unit is not None or self.calib_scale != 1:
            raise UsageError("--calib-right, --unit and --calib-scale need --calib")

    def given(self) -> GivenCameras:
        """The cameras, without what belongs to a command line."""
        from ..cameras.given_cameras import GivenCameras

        return GivenCameras(
            tuple(self.calib_files), self.focal, self.baseline, self.cx, self.cy, self.calib_scale,
            cast("LengthUnit | None", self.unit), only_rectified=True,
        )  # fmt: skip

    def load(self, pairs: Iterable[tuple[Array, Array]]) -> LoadedCameras:
        """Find the calibration of images, see :meth:`bdis.cameras.given_cameras.GivenCameras.load`."""
        return self.given().load(pairs, warn=terminal.warn, working=terminal.working)


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

    def check(self, *, rectifies_without_file: bool = False) -> None:
        """Raise UsageError if options contradict each other.

        Parameters
        ----------
        rectifies_without_file : bool
            The source brings a calibration that its images can be rectified with.
        """
        super().check()
        if not self.calib and self.rectify and not rectifies_without_file:
            raise UsageError("--rectify needs --calib")

    def given(self) -> GivenCameras:
        return replace(super().given(), rectify=self.rectify, only_rectified=False)
