"""``frame_data*.json`` of SCARED: the cameras of one frame, raw, lengths in millimetres.

Some have no distortion: it is that of the keyframe, in ``endoscope_calibration.yaml``.
"""

from pathlib import Path
from typing import Any

from ...common.reading import MAX_CALIBRATION_BYTES, read_text
from . import opencv
from .base import CalibrationFile, CalibrationFormat, CalibrationText
from .matrices import matrix_of, reshaped

_NAME = "camera-calibration"
_KEYFRAME = "endoscope_calibration.yaml"
_SHAPES = {"KL": (3, 3), "DL": (-1,), "KR": (3, 3), "DR": (-1,), "R": (3, 3), "T": (3,)}


def _recognises(file: CalibrationText) -> bool:
    return isinstance(file.values.get(_NAME), dict)


def _read(file: CalibrationText) -> CalibrationFile:
    values = _distortion_of_keyframe(file) | {
        name: value for name, value in file.values[_NAME].items() if value is not None
    }
    if missing := [name for name in _SHAPES if name not in values]:
        raise ValueError(
            f"a SCARED frame_data without {', '.join(missing)} in its {_NAME}; give the {_KEYFRAME} of its keyframe as "
            "the second file"
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


def _distortion_of_keyframe(file: CalibrationText) -> dict[str, Any]:
    """DL and DR from the file of the keyframe: the second file, or the one beside or above; empty if there is none."""
    above = [folder / _KEYFRAME for folder in list(file.path.absolute().parents)[:3]]
    path: Path | None = file.second or next((each for each in above if each.is_file()), None)
    if path is None:
        return {}
    keyframe = CalibrationText(path, read_text(path, MAX_CALIBRATION_BYTES))
    if not opencv.FORMAT.recognises(keyframe) or (raw := opencv.FORMAT.read(keyframe).raw) is None:
        raise ValueError(f"{path} is not the {_KEYFRAME} of a keyframe")
    return {"DL": raw["left_distortion"].tolist(), "DR": raw["right_distortion"].tolist()}


FORMAT = CalibrationFormat("SCARED frame_data*.json (camera-calibration)", _recognises, _read, takes_second=True)
