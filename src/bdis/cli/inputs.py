"""From the options of a command to a pair of images and its camera."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..cameras.calibration import StereoCalibration
from ..cameras.formats import CalibrationFile, Unit, is_plausible_baseline, read_calibration
from ..cameras.rectifier import Rectifier
from ..cameras.rig import Rig
from ..common.arrays import Array, size_text
from ..files.images import read_image
from ..matching.images import check_pair
from ..video.sources.views import LAYOUTS, Splitter
from .terminal import UsageError


@dataclass(frozen=True)
class Pair:
    """Where the images are."""

    left: Path
    right: Path | None
    layout: str | None = None
    mask: Path | None = None
    mask_right: Path | None = None

    def read(self) -> tuple[Array, Array]:
        """Both images, of one size and kind."""
        if self.layout is not None and self.layout not in LAYOUTS:
            raise UsageError(f"--layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")
        if self.layout is None:
            if self.right is None:
                raise UsageError(f"RIGHT is missing; if LEFT holds both views, add --layout {LAYOUTS[0]}")
            return check_pair(read_image(self.left), read_image(self.right))
        if self.right is not None:
            raise UsageError("--layout is for one image with both views, but RIGHT is given as well")
        try:
            return check_pair(*Splitter(self.layout)(read_image(self.left)))
        except ValueError as error:
            raise ValueError(f"{self.left}: {error}") from error

    def masks(self, shape: tuple[int, ...]) -> dict[str, Array]:
        """Keywords for ``match``: where the cameras saw something."""
        found = {}
        for name, path in (("left_mask", self.mask), ("right_mask", self.mask_right)):
            if path is not None:
                mask = read_image(path)
                if mask.shape[:2] != shape[:2]:
                    raise ValueError(f"{path} is {size_text(mask.shape)} but the images are {size_text(shape)}")
                found[name] = mask if mask.ndim == 2 else mask.max(2)
        return found


@dataclass(frozen=True)
class Camera:
    """What the user says about the cameras."""

    calib: Path | None = None
    calib_right: Path | None = None
    unit: str | None = None
    scale: float = 1.0
    rectify: bool | None = None
    focal: float | None = None
    baseline: float | None = None
    cx: float | None = None
    cy: float | None = None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.calib is not None and not (self.focal is None and self.cx is None and self.cy is None):
            raise UsageError("--calib and --focal, --cx, --cy exclude each other")
        if self.calib is None:
            if (self.focal is None) != (self.baseline is None) or (self.focal is None and (self.cx or self.cy)):
                raise UsageError("--focal (px) and --baseline (mm) belong together; --cx, --cy may be added")
            if self.rectify:
                raise UsageError("--rectify needs --calib")
            if self.calib_right is not None or self.unit is not None or self.scale != 1:
                raise UsageError("--calib-right, --unit and --calib-scale need --calib")
        if self.unit not in (None, "mm", "cm", "m"):
            raise UsageError(f"--unit is {self.unit!r}; expected mm, cm or m")
        if self.calib is None and self.baseline is not None and not is_plausible_baseline(self.baseline):
            raise UsageError(f"--baseline is {self.baseline:g} mm, which no stereo camera has; is it in metres?")
        if not self.scale > 0:
            raise UsageError(f"--calib-scale is {self.scale:g}; expected a factor above 0")

    def load(self, shape: tuple[int, ...]) -> tuple[Rig | None, StereoCalibration | None, list[str]]:
        """The rig of images of ``shape``, or the raw cameras they must be rectified with; and remarks in words."""
        height, width = shape[:2]
        if self.calib is None:
            if self.focal is None or self.baseline is None:
                return None, None, []
            centre = ((width - 1) / 2, (height - 1) / 2)
            cx, cy = (given if given is not None else middle for given, middle in zip((self.cx, self.cy), centre))
            return Rig(self.focal, cx, cy, self.baseline, size=(width, height)), None, []
        unit = cast(Unit | None, self.unit)
        found = read_calibration(self.calib, self.calib_right, unit=unit, baseline_mm=self.baseline)
        self._check_size(found, width, height)
        remarks = [f"{found.format}, unit {found.unit}"]
        if found.rectified is None and self.rectify is False:
            raise UsageError(f"{self.calib} ({found.format}) describes raw cameras: leave out --no-rectify")
        if found.rectified is None if self.rectify is None else self.rectify:
            if found.raw is None:
                raise ValueError(f"{self.calib} ({found.format}) describes rectified cameras: nothing to rectify with")
            size = found.size or (round(width / self.scale), round(height / self.scale))
            return None, StereoCalibration(**found.raw, size=size).scaled(self.scale), remarks
        rig = Rig.load(self.calib, self.calib_right, unit=unit, baseline_mm=self.baseline).scaled(self.scale)
        if not (0 < rig.cx < width and 0 < rig.cy < height):
            raise ValueError(
                f"{self.calib} has its principal point at ({rig.cx:.1f}, {rig.cy:.1f}), outside the images of "
                f"{width}x{height}; if they were resized, add --calib-scale FACTOR"
            )
        return rig, None, remarks

    def _check_size(self, found: CalibrationFile, width: int, height: int) -> None:
        if found.size is None:
            return
        expected = (round(found.size[0] * self.scale), round(found.size[1] * self.scale))
        if expected == (width, height):
            return
        factor = width / found.size[0]
        advice = "they have another shape"
        if factor == 1 and height == found.size[1]:
            advice = "leave out --calib-scale"
        elif round(found.size[1] * factor) == height:
            advice = f"if they were resized, add --calib-scale {factor:.6g}"
        elif (2 * width, height) == expected or (width, 2 * height) == expected:
            advice = "if both views were squeezed into one picture, add --squeezed"
        raise ValueError(
            f"the images are {width}x{height} but {self.calib} is for {found.size[0]}x{found.size[1]}"
            f"{'' if self.scale == 1 else f' (times {self.scale:g})'}; {advice}"
        )


def rectified(cameras: StereoCalibration, left: Array, right: Array) -> tuple[Array, Array, Rectifier]:
    """The pair as parallel cameras would see it, and what made it."""
    rectifier = cameras.rectify()
    return *rectifier(left, right), rectifier
