"""``StereoCalibration.ini`` of da Vinci tools and StereoMIS: raw cameras, lengths in millimetres."""

import configparser

import numpy as np

from ...common.arrays import Array
from .base import CalibrationFile, CalibrationFormat, CalibrationText, check_size
from .matrices import matrix_of, number_of, short_repr

_SIDES = ("StereoLeft", "StereoRight")
_DISTORTION = 8  # kc_0 to kc_7: k1, k2, p1, p2, k3, k4, k5, k6 of OpenCV


def _recognises(file: CalibrationText) -> bool:
    return any(f"[{side}]" in file.text for side in _SIDES)


def _read(file: CalibrationText) -> CalibrationFile:
    """Both cameras; rotation and translation from left to right are in the section of the right one."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(file.text)
    except configparser.Error as error:
        raise ValueError(f"a StereoCalibration.ini that is damaged: {error.message.splitlines()[0]}") from None
    if missing := [side for side in _SIDES if side not in parser]:
        raise ValueError(f"a StereoCalibration.ini without section {' and '.join(missing)}")
    left, right = (_Section(parser[side]) for side in _SIDES)
    sizes = [check_size((each.number("res_x"), each.number("res_y"))) for each in (left, right)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"the left camera's size is {sizes[0]} and the right one's {sizes[1]}; a pair has one size")
    millimetres, unit = file.millimetres("mm", "da Vinci convention")
    raw = {
        "left_matrix": left.matrix(), "left_distortion": left.distortion(),
        "right_matrix": right.matrix(), "right_distortion": right.distortion(),
        "rotation": right.numbers("R", 9).reshape(3, 3), "translation_mm": right.numbers("T", 3) * millimetres,
    }  # fmt: skip
    return CalibrationFile("da Vinci StereoCalibration.ini", unit, sizes[0], None, raw)


class _Section:
    """The numbers of one section."""

    def __init__(self, section: configparser.SectionProxy):
        self._section = section

    def number(self, name: str) -> float:
        text = self._section.get(name)
        if text is None:
            raise ValueError(f"a StereoCalibration.ini without {name} in section {self._section.name}")
        try:
            return number_of(float(text), name)
        except ValueError:
            raise ValueError(f"{name} must be a finite number, but it is {short_repr(text)}") from None

    def numbers(self, name: str, count: int) -> Array:
        return matrix_of([self.number(f"{name}_{place}") for place in range(count)], name)

    def matrix(self) -> Array:
        fx, fy, cx, cy = (self.number(name) for name in ("fc_x", "fc_y", "cc_x", "cc_y"))
        return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])

    def distortion(self) -> Array:
        """As many as there are, four at least."""
        count = next((count for count in (_DISTORTION, 5) if f"kc_{count - 1}" in self._section), 4)
        return self.numbers("kc", count)


FORMAT = CalibrationFormat("da Vinci StereoCalibration.ini (StereoLeft, StereoRight)", _recognises, _read)
