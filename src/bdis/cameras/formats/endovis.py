"""``camera_calibration.txt`` of the EndoVis challenges: raw cameras, lengths in millimetres."""

import numpy as np

from ...common.arrays import Array
from .base import CalibrationFile, CalibrationFormat, CalibrationText, check_size
from .matrices import matrix_of, only_numbers, reshaped, rotation_of, short_repr

_NEEDED = {f"Camera-{side}-{part}": count for side in (0, 1) for part, count in (("F", 2), ("C", 2), ("K", 5))} | {
    "Extrinsic-Omega": 3, "Extrinsic-T": 3,
}  # fmt: skip


def _recognises(file: CalibrationText) -> bool:
    return any(name in _NEEDED for name, _ in _entries(file.text))


def _entries(text: str) -> list[tuple[str, str]]:
    """Names and values of the lines ``name: value // comment``."""
    lines = (line.partition("//")[0].partition(":") for line in text.splitlines())
    return [(name.strip(), value.strip()) for name, colon, value in lines if colon]


def _read(file: CalibrationText) -> CalibrationFile:
    """Distortion is that of Bouguet's toolbox, k1, k2, p1, p2, k3, and the rotation an axis times an angle."""
    entries: dict[str, str] = {}
    for name, value in _entries(file.text):
        if name in entries:
            raise ValueError(f"{name[:40]!r} is there twice")
        entries[name] = value
    if missing := [name for name in _NEEDED if name not in entries]:
        raise ValueError(f"an EndoVis camera_calibration.txt without {', '.join(missing)}")
    numbers = {name: _numbers(entries[name], name, count) for name, count in _NEEDED.items()}
    for side in (0, 1):
        skew = _numbers(entries.get(f"Camera-{side}-Alpha", "0"), f"Camera-{side}-Alpha", 1)[0]
        if abs(skew) > 1e-6:
            raise ValueError(f"Camera-{side}-Alpha is {skew:g}: a skew, which bdis cannot rectify; expected 0")
    millimetres, unit = file.millimetres("mm", "EndoVis convention")
    size = None
    if "Width" in entries and "Height" in entries:
        size = check_size([_numbers(entries[name], name, 1)[0] for name in ("Width", "Height")])
    raw = {
        "left_matrix": _matrix(numbers, 0), "left_distortion": numbers["Camera-0-K"],
        "right_matrix": _matrix(numbers, 1), "right_distortion": numbers["Camera-1-K"],
        "rotation": rotation_of(numbers["Extrinsic-Omega"]), "translation_mm": numbers["Extrinsic-T"] * millimetres,
    }  # fmt: skip
    return CalibrationFile("EndoVis camera_calibration.txt", unit, size, None, raw)


def _numbers(text: str, name: str, count: int) -> Array:
    found = only_numbers(text)
    if found is None:
        raise ValueError(f"{name} must be {count} numbers, but it is {short_repr(text)}")
    return reshaped(matrix_of(found, name), name, (count,))


def _matrix(numbers: dict[str, Array], side: int) -> Array:
    (fx, fy), (cx, cy) = numbers[f"Camera-{side}-F"], numbers[f"Camera-{side}-C"]
    return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])


FORMAT = CalibrationFormat("EndoVis camera_calibration.txt (Camera-0-F, Extrinsic-T)", _recognises, _read)
