"""What all formats of calibration files are brought to, and the checks they share."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Unit = Literal["mm", "cm", "m"]
Array = np.ndarray[Any, np.dtype[Any]]
Size = tuple[int, int]

MILLIMETRES = {"mm": 1.0, "cm": 10.0, "m": 1000.0}
FORMATS = (
    "OpenCV FileStorage YAML, XML or JSON, SCARED, SERV-CT (M1 or K1, D1, M2 or K2, D2, R, T; or P1, P2; or Q)",
    "a pair of ROS camera_info YAML files",
    "Kalibr camchain YAML",
    "Middlebury calib.txt (cam0, cam1, doffs, baseline)",
    "K.txt (nine numbers of K, then the baseline in m)",
    "bdis TOML or JSON",
)


@dataclass(frozen=True)
class CalibrationFile:
    """What a calibration file holds, in px and mm.

    Attributes
    ----------
    format : its format, in words
    unit : its unit of length and who says so, in words
    size : (width, height) of the images, px, or None
    rectified : arguments of :class:`bdis.Rig` but its size, or None
    raw : arguments of :class:`bdis.StereoCalibration` but its size, or None
    """

    format: str
    unit: str
    size: Size | None = None
    rectified: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None


@dataclass(frozen=True)
class Length:
    """The unit of a file's lengths: the user's word, or what is usual for the format."""

    given: Unit | None

    def resolve(self, usual: Unit, who: str) -> tuple[float, str]:
        """Millimetres per unit, and words for it."""
        if self.given is not None:
            return MILLIMETRES[self.given], f"{self.given} (as you say)"
        return MILLIMETRES[usual], f"{usual} ({who})"


def unknown_format(why: str) -> ValueError:
    """The error about a file that is of no known format."""
    return ValueError(f"not a calibration file bdis knows: {why}; it knows {'; '.join(FORMATS)}")


def check_size(size: Any) -> Size | None:
    """``size`` as (width, height), two whole numbers above 0, or None."""
    if size is None:
        return None
    numbers = list(size)
    if len(numbers) != 2 or any(int(number) != number or number <= 0 for number in numbers):
        raise ValueError(f"size must be (width, height) in px, but it is {size!r}")
    return int(numbers[0]), int(numbers[1])


def only_numbers(text: str) -> list[float] | None:
    """The numbers of a text that holds nothing else, or None."""
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        return None


def matrix_of(value: Any, name: str) -> Array:
    """An ``opencv-matrix`` or nested lists as an array of finite numbers."""
    rows = value.get("data") if isinstance(value, dict) else value
    try:
        array = np.array(rows, float)
        if isinstance(value, dict) and "rows" in value and "cols" in value:
            array = array.reshape(int(value["rows"]), int(value["cols"]))
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not a matrix of numbers") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values")
    return array


def shaped(matrices: dict[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    array = matrices[name]
    if shape != (-1,) and array.size != int(np.prod(shape)):
        raise ValueError(f"{name} has {array.size} numbers; expected {'x'.join(map(str, shape))}")
    return array.reshape(shape)


def check_square(matrix: Array) -> None:
    """Rectified cameras have square pixels."""
    fx, fy = float(matrix[0, 0]), float(matrix[1, 1])
    if fx <= 0 or abs(fx - fy) > 1e-3 * fx:
        raise ValueError(f"focal lengths {fx:g} and {fy:g} px; a rectified camera has one, above 0")


def unless_equal(cx_right: float, cx: float) -> float | None:
    return None if abs(cx_right - cx) < 1e-9 else cx_right
