"""Types that all calibration formats share: the text of a file, what is read from it, and a format itself."""

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...common.arrays import Array
from ...common.reading import check_pixels
from .yaml_subset import parse_yaml

Unit = Literal["mm", "cm", "m"]
Size = tuple[int, int]

MILLIMETRES = {"mm": 1.0, "cm": 10.0, "m": 1000.0}


class UnknownFormatError(ValueError):
    """The file is of none of the supported formats; the message says why."""


@dataclass(frozen=True)
class CalibrationFile:
    """Content of a calibration file, converted to px and mm.

    Attributes
    ----------
    format : str
        Name of the format, for messages.
    unit : str
        Unit of length in the file and where it is known from, for messages.
    size : tuple of int or None
        (width, height) of the images in px; None if the file does not state it.
    rectified : dict or None
        Arguments of :class:`bdis.Rig` except ``size``; None if the file describes no rectified cameras.
    raw : dict or None
        Arguments of :class:`bdis.StereoCalibration` except ``size``; None if the file describes no raw cameras.
    raw_lacks : str
        What must still be given to rectify raw images, for messages; empty if nothing.  Otherwise ``raw`` is only near
        the truth: enough to notice that images are raw.
    rectification : tuple of ndarray or None
        Rotations R1 and R2, shape (3, 3), and projections P1 and P2, shape (3, 4), in px and mm, by which ``rectified``
        follows from ``raw``; None if they are not known.
    states_unit : bool
        Whether the file, or the user, says in which unit of length it is.
    replaced_baseline_mm : float or None
        Baseline in the file, where the user stated another one, which replaced it.
    assumed : str
        What else the file does not say and was assumed, for messages; empty if nothing.
    lacks_distortion : bool
        Whether the raw cameras were taken to have no distortion because the file says nothing of it.
    """

    format: str
    unit: str
    size: Size | None = None
    rectified: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None
    raw_lacks: str = ""
    rectification: tuple[Array, Array, Array, Array] | None = None
    states_unit: bool = False
    replaced_baseline_mm: float | None = None
    assumed: str = ""
    lacks_distortion: bool = False

    @property
    def length_mm(self) -> float:
        """How far the cameras are apart, whichever of them is on the left.

        >>> CalibrationFile("Q", "mm", None, {"baseline_mm": -5.4}).length_mm
        5.4
        """
        if self.rectified is not None:
            return abs(float(self.rectified["baseline_mm"]))
        assert self.raw is not None
        return float(np.linalg.norm(self.raw["translation_mm"]))

    @property
    def focal_px(self) -> float:
        """Focal length of the left camera.

        >>> CalibrationFile("Q", "mm", None, {"focal_px": 500}).focal_px
        500.0
        """
        if self.rectified is not None:
            return float(self.rectified["focal_px"])
        assert self.raw is not None
        return float(np.asarray(self.raw["left_matrix"])[0, 0])

    @property
    def centres(self) -> Array:
        """Principal points (x, y) of the left and the right camera, px, shape (2, 2); of raw cameras if there are any.

        >>> CalibrationFile("K.txt", "m", None, {"cx": 320, "cy": 240, "cx_right": None}).centres.tolist()
        [[320.0, 240.0], [320.0, 240.0]]
        """
        if self.raw is not None:
            return np.array(
                [np.reshape(self.raw[f"{side}_matrix"], (3, 3))[:2, 2] for side in ("left", "right")], float
            )
        assert self.rectified is not None
        cx, cy, cx_right = (self.rectified.get(name) for name in ("cx", "cy", "cx_right"))
        return np.array([[cx, cy], [cx if cx_right is None else cx_right, cy]], float)

    def remarks_on_baseline(self, name: str) -> list[str]:
        """That the user's baseline replaced another one in the file of this name; empty if it did not.

        >>> rectified = {"focal_px": 500, "cx": 320, "cy": 240, "baseline_mm": 5.4}
        >>> CalibrationFile("K.txt", "mm (given)", None, rectified, replaced_baseline_mm=5).remarks_on_baseline("K.txt")
        ['baseline 5.4 mm as given, instead of the 5 mm in K.txt']
        """
        if self.replaced_baseline_mm is None or self.rectified is None:
            return []
        own = f"{self.replaced_baseline_mm:.4g} mm in {name}"
        return [f"baseline {self.rectified['baseline_mm']:g} mm as given, instead of the {own}"]


@dataclass(frozen=True)
class CalibrationText:
    """Text of a calibration file and what the user stated about it.

    Attributes
    ----------
    path : Path
        The file.
    text : str
        Its content; empty for a binary file.
    second : Path or None
        The second file of formats with two: that of the right camera, or OpenCV's other half.
    unit : str or None
        Unit of length, if the user stated it.
    baseline_mm : float or None
        Baseline, if the user stated it.
    content : bytes
        Content of a binary file; empty for text.
    """

    path: Path
    text: str
    second: Path | None = None
    unit: Unit | None = None
    baseline_mm: float | None = None
    content: bytes = b""

    @property
    def values(self) -> dict[str, Any]:
        """Names and values of a YAML or JSON file; empty for any other text."""
        return self._parsed[0]

    @property
    def problem(self) -> str:
        """Why the text is not YAML or JSON with names; empty if it is."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[dict[str, Any], str]:
        try:
            values = parse_yaml(self.text)
        except ValueError as error:
            return {}, str(error)
        return (values, "") if isinstance(values, dict) else ({}, "it holds no names with values")

    def millimetres(self, usual: Unit, reason: str) -> tuple[float, str]:
        """Length of the file's unit in mm, and the name of the unit for messages.

        Parameters
        ----------
        usual : {"mm", "cm", "m"}
            Unit to assume if the user stated none.
        reason : str
            Why it is assumed, for messages.
        """
        if self.unit is not None:
            return MILLIMETRES[self.unit], f"{self.unit} (given)"
        return MILLIMETRES[usual], f"{usual} ({reason})"


@dataclass(frozen=True)
class CalibrationFormat:
    """A format of calibration files.

    Attributes
    ----------
    description : str
        The format in a few words, for the message about files of no known format.
    recognises : callable
        Takes a :class:`CalibrationText`, tells whether it is of this format.
    read : callable
        Takes a :class:`CalibrationText`, returns a :class:`CalibrationFile`; raises ValueError if something is missing
        or wrong.
    takes_second : bool
        Whether a calibration of this format may be in two files.
    """

    description: str
    recognises: Callable[[CalibrationText], bool]
    read: Callable[[CalibrationText], CalibrationFile]
    takes_second: bool = False


def check_size(size: Any) -> Size | None:
    """Return ``size`` as (width, height), two whole numbers above 0, or None if it is None."""
    if size is None:
        return None
    try:
        width, height = (int(number) for number in size)
        is_whole = [width, height] == list(size) and min(width, height) > 0 and max(width, height) < 2**31
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise ValueError(f"size must be (width, height) in px, but it is {reprlib.repr(size)}")
    check_pixels(width, height, "size")
    return width, height
