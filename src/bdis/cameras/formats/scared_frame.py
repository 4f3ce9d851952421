"""``frame_data*.json`` of SCARED: the cameras of one frame, raw, lengths in millimetres."""

from .base import CalibrationFile, CalibrationFormat, CalibrationText
from .matrices import matrix_of, reshaped

_NAME = "camera-calibration"
_SHAPES = {"KL": (3, 3), "DL": (-1,), "KR": (3, 3), "DR": (-1,), "R": (3, 3), "T": (3,)}


def _recognises(file: CalibrationText) -> bool:
    return isinstance(file.values.get(_NAME), dict)


def _read(file: CalibrationText) -> CalibrationFile:
    values = file.values[_NAME]
    if missing := [name for name in _SHAPES if values.get(name) is None]:
        raise ValueError(
            f"a SCARED frame_data without {', '.join(missing)} in its {_NAME}; the endoscope_calibration.yaml of its "
            "keyframe has all"
        )
    kl, dl, kr, dr, rotation, translation = (
        reshaped(matrix_of(values[name], name), name, shape) for name, shape in _SHAPES.items()
    )
    millimetres, unit = file.millimetres("mm", "SCARED convention")
    raw = {
        "left_matrix": kl, "left_distortion": dl, "right_matrix": kr, "right_distortion": dr,
        "rotation": rotation, "translation_mm": translation * millimetres,
    }  # fmt: skip
    return CalibrationFile("SCARED frame_data", unit, None, None, raw)


FORMAT = CalibrationFormat("SCARED frame_data*.json (camera-calibration)", _recognises, _read)
