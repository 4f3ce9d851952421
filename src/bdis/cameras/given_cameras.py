"""The cameras that a user has given, by a calibration file or by numbers, and what they mean for the images at hand."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..common.arrays import Array
from .calibration import StereoCalibration
from .calibration_doubts import (
    centres_of,
    check_inside,
    doubts_of,
    off_middle,
    told,
    unusual_focal,
    without_distortion,
)
from .formats import CalibrationFile, Unit, read_calibration
from .raw_or_rectified import weigh_rows
from .rig import Rig

_log = logging.getLogger(__name__)
Working = Callable[[str], AbstractContextManager[None]]
_GIVEN_CENTRE = "--cx and --cy put the principal point", "--focal, --cx and --cy are in px of these images"
_SCALE = "if they were resized, add --calib-scale FACTOR (in Python, Rig.load(FILE).scaled(FACTOR))"


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


@dataclass(frozen=True, slots=True)
class GivenCameras:
    """The cameras as a user gives them: a calibration file, or focal length and baseline, or nothing.

    Attributes
    ----------
    calib : tuple of Path
        The calibration file, or the two of them.
    focal, baseline : float, optional
        Focal length in px and distance between the cameras in mm.
    cx, cy : float, optional
        Principal point, px.  Default: the image centre.
    calib_scale : float
        Size of the images relative to those of the calibration.
    unit : {"mm", "cm", "m"}, optional
        Of lengths in the calibration file.  Default: the usual one of its format.
    rectify : bool, optional
        Rectify the images, or take them as rectified.  Default: told from their rows.
    only_rectified : bool
        Images cannot be rectified here; cameras before rectification are refused.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((48, 64), np.uint8)
    >>> GivenCameras(focal=50, baseline=4).load([(image, image)]).rig.cx
    31.5
    """

    calib: tuple[Path, ...] = ()
    focal: float | None = None
    baseline: float | None = None
    cx: float | None = None
    cy: float | None = None
    calib_scale: float = 1.0
    unit: Unit | None = None
    rectify: bool | None = None
    only_rectified: bool = False

    @property
    def are_given(self) -> bool:
        """Whether anything is given, so that what the source says of its cameras does not count."""
        return bool(self.calib) or self.focal is not None

    @property
    def calib_name(self) -> str:
        """Name of the calibration file, for messages; empty without one."""
        return self.calib[0].name if self.calib else ""

    def load(
        self,
        pairs: Iterable[tuple[Array, Array]],
        *,
        warn: Callable[[str], None] = _log.warning,
        working: Working = lambda text: contextlib.nullcontext(),
    ) -> LoadedCameras:
        """Find the calibration of images.

        Parameters
        ----------
        pairs : iterable of pairs of ndarray, shape (h, w) or (h, w, 3)
            The images; of a video further frames, of which as many are taken as it needs to tell whether they are
            rectified.
        warn : callable
            Called with what the user must know.  Default: it is logged.
        working : callable
            Called with what is being done; returns a context manager in which it is done.

        Returns
        -------
        LoadedCameras

        Raises
        ------
        ValueError
            There are no images, the calibration cannot be read or is not of such images, or these may or may not be
            rectified.
        """
        frames = iter(pairs)
        first = next(frames, None)
        if first is None:
            raise ValueError("there are no images to find the calibration of")
        height, width = first[0].shape[:2]
        if self.calib:
            return self._load_file(self.calib[0], (width, height), itertools.chain([first], frames), warn, working)
        if self.focal is None or self.baseline is None:
            return LoadedCameras(None, None, [])
        return self._of_numbers(self.focal, self.baseline, (width, height), warn)

    def _of_numbers(
        self, focal: float, baseline: float, size: tuple[int, int], warn: Callable[[str], None]
    ) -> LoadedCameras:
        """The calibration by numbers, for images of this size."""
        cx, cy = ((length - 1) / 2 if given is None else given for given, length in zip((self.cx, self.cy), size))
        check_inside(np.array([[cx, cy]]), size, *_GIVEN_CENTRE)
        rig = Rig(focal, cx, cy, baseline, size=size)
        doubts = (
            off_middle(rig, size, *_GIVEN_CENTRE),
            unusual_focal(focal, size, "--focal gives", "it is in px of these images; is it in mm?"),
        )
        return LoadedCameras(rig, None, told(doubts, warn))

    def _load_file(
        self,
        file: Path,
        size: tuple[int, int],
        pairs: Iterable[tuple[Array, Array]],
        warn: Callable[[str], None],
        working: Working,
    ) -> LoadedCameras:
        """The calibration in the file, for images of this size."""
        second = self.calib[1] if len(self.calib) > 1 else None
        found = read_calibration(file, second, unit=self.unit, baseline_mm=self.baseline)
        self._check_size(found, *size)
        remarks = [f"{found.format}, unit {found.unit}", *found.remarks_on_baseline(file.name)]
        remarks += [found.assumed] if found.assumed else []
        rig = self._rig_of(found, file, size)
        raw = None if self.only_rectified else self._raw_of(found, file, size, can_do_without=rig is not None)
        is_raw, reasons = self._are_raw(
            found, file, rig, raw, lambda: _told_by_rows(found, file, rig, raw, pairs, warn, working)
        )
        remarks += reasons
        if raw is not None and self.rectify:
            _warn_if_transposed(file, raw, pairs, warn, working)
        if rig is None or is_raw:
            assert raw is not None
            remarks += self._doubts(found, file, raw, size, warn)
            return LoadedCameras(None, raw, remarks) if is_raw else LoadedCameras(raw.rectify().rig, None, remarks)
        return LoadedCameras(rig, None, remarks + self._doubts(found, file, rig, size, warn))

    def _doubts(
        self,
        found: CalibrationFile,
        file: Path,
        cameras: Rig | StereoCalibration,
        size: tuple[int, int],
        warn: Callable[[str], None],
    ) -> list[str]:
        """Warn of what may be wrong with the cameras in the file; the remarks on it."""
        own_size = round(size[0] / self.calib_scale), round(size[1] / self.calib_scale)
        doubts = doubts_of(found, file.name, own_size)
        if isinstance(cameras, StereoCalibration):
            doubts.append(without_distortion(found, file.name))
        if found.size is None:
            origin = f"{file.name} does not say how large its images are, and has its principal point"
            doubts.append(off_middle(cameras, size, origin, f"{_SCALE}, or the depth is wrong by that factor"))
        return [remark for remark in told(doubts, warn) if remark != found.assumed]

    def _rig_of(self, found: CalibrationFile, file: Path, size: tuple[int, int]) -> Rig | None:
        """The rectified cameras in the file, if there are any."""
        if found.rectified is None:
            return None
        try:
            rig = Rig(**found.rectified, size=found.size).scaled(self.calib_scale)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file}: {error}") from error
        check_inside(centres_of(rig)[:1], size, f"{file} has its principal point", _SCALE)
        return rig

    def _raw_of(
        self, found: CalibrationFile, file: Path, size: tuple[int, int], *, can_do_without: bool
    ) -> StereoCalibration | None:
        """The cameras before rectification in the file, if there are any."""
        if found.raw is None:
            return None
        own_size = found.size or (round(size[0] / self.calib_scale), round(size[1] / self.calib_scale))
        if found.size is None:
            try:
                check_inside(
                    (found.centres + 0.5) * self.calib_scale - 0.5, size, f"{file} has its principal point", _SCALE
                )
            except ValueError:
                if can_do_without and not self.rectify:
                    return None  # rectification changed the size: these images cannot be those before it
                raise
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
            advice = _SCALE.replace("FACTOR", f"{factor:.6g}")
        elif (2 * width, height) == expected or (width, 2 * height) == expected:
            advice = "if both views were squeezed into one image, add --squeezed"
        elif (width, height) in ((2 * expected[0], expected[1]), (expected[0], 2 * expected[1])):
            advice = "if it is of the views as they were squeezed into one image, leave out --squeezed"
        raise ValueError(
            f"the images are {width}x{height} but {self.calib[0]} is for {found.size[0]}x{found.size[1]}"
            f"{'' if self.calib_scale == 1 else f' (times {self.calib_scale:g})'}; {advice}"
        )

    def _are_raw(
        self,
        found: CalibrationFile,
        file: Path,
        rig: Rig | None,
        raw: StereoCalibration | None,
        tell: Callable[[], tuple[bool, list[str]]],
    ) -> tuple[bool, list[str]]:
        """Whether the images have to be rectified, and why; ValueError if they should have been."""
        if self.only_rectified:
            if rig is None:
                raise ValueError(
                    f"{file} ({found.format}) describes unrectified cameras, but a disparity belongs to rectified "
                    "images: give these and their calibration, as bdis rectify writes them"
                )
            return False, []
        if raw is None or (self.rectify and found.raw_lacks):
            if self.rectify:
                lacking = f"lacks {found.raw_lacks}" if found.raw_lacks else "describes rectified cameras"
                raise ValueError(f"{file} ({found.format}) {lacking}: nothing to rectify with")
            return False, []
        if self.rectify is not None:
            return self.rectify, ["images rectified with it" if self.rectify else _taken_as_rectified(rig)]
        return tell()


def _taken_as_rectified(rig: Rig | None) -> str:
    """What is said of rectified images whose cameras are known, or only the raw cameras before them."""
    if rig is not None:
        return "images taken as rectified"
    return "images taken as rectified by OpenCV's stereoRectify without zoom, as the file has no rectified cameras"


def _told_by_rows(
    found: CalibrationFile,
    file: Path,
    rig: Rig | None,
    raw: StereoCalibration | None,
    pairs: Iterable[tuple[Array, Array]],
    warn: Callable[[str], None],
    working: Working,
) -> tuple[bool, list[str]]:
    """Whether the images are raw, and the evidence; ValueError if it can not be told and makes a difference."""
    assert raw is not None
    with working("telling whether the images are rectified"):
        evidence = weigh_rows(pairs, raw.rectify(), rig)
    if evidence.verdict == "alike":
        return False, []
    if evidence.verdict == "rectified":
        if rig is None:
            warn(
                f"{file.name} is of raw cameras, but the images are rectified already; the depth is right only if this "
                "was done by OpenCV's stereoRectify without zoom. Better give the calibration of the rectified images"
            )
        return False, [f"{_taken_as_rectified(rig)}: {evidence.reason}"]
    if found.raw_lacks:
        raise ValueError(
            f"the images do not look rectified ({evidence.reason}), and {file.name} cannot rectify them: it lacks "
            f"{found.raw_lacks}. Give that file as well (--calib FILE twice), or --no-rectify if they are rectified"
        )
    if evidence.verdict == "transposed":
        raise ValueError(
            f"{evidence.about_rotation(file.name)}. If it is right, say whether the images are to be rectified: "
            "--rectify or --no-rectify"
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


def _warn_if_transposed(
    file: Path,
    raw: StereoCalibration,
    pairs: Iterable[tuple[Array, Array]],
    warn: Callable[[str], None],
    working: Working,
) -> None:
    """Where the user has decided that the images are rectified, the first pair still tells one mistake."""
    with working("looking at the rows of the images"):
        evidence = weigh_rows(itertools.islice(pairs, 1), raw.rectify())
    if evidence.verdict == "transposed":
        warn(evidence.about_rotation(file.name))
