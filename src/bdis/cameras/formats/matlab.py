"""MATLAB's ``stereoParameters``: a struct in a ``.mat`` or JSON file, or what ``stereoParametersToOpenCV`` gives.

MATLAB counts pixels from 1, older releases store matrices transposed (``[x y z] * R + t``), and lengths are in
``WorldUnits``.  Which is which is told by the names of fields and by where the zeros of a camera matrix are.
"""

from typing import Any

import numpy as np

from ...common.arrays import Array
from .base import CalibrationFile, CalibrationFormat, CalibrationText, Size, check_size
from .mat_file import MAT_5, MAT_73, MatlabObject, read_mat
from .matrices import matrix_of, pose_of, reshaped, rotation_of, short_repr

_UNITS = {
    "mm": 1.0, "millimeter": 1.0, "millimeters": 1.0, "cm": 10.0, "centimeter": 10.0, "centimeters": 10.0,
    "m": 1000.0, "meter": 1000.0, "meters": 1000.0, "in": 25.4, "inch": 25.4, "inches": 25.4,
}  # fmt: skip
_OPENCV = ("intrinsicMatrix1", "distortionCoefficients1", "intrinsicMatrix2", "distortionCoefficients2",
           "rotationOfCamera2", "translationOfCamera2")  # fmt: skip
_MOST_SKEW_PX = 0.01
_ADVICE = "in MATLAB: s = toStruct(stereoParams); save('stereo.mat', '-struct', 's')"


def _is_mat(file: CalibrationText) -> bool:
    return file.content.startswith((MAT_5, MAT_73))


def _is_json(file: CalibrationText) -> bool:
    return _parameters(file.values) is not None


def _parameters(values: dict[str, Any]) -> dict[str, Any] | None:
    """The struct: the variables themselves, or the only one of them that is such a struct."""
    if "CameraParameters1" in values or all(name in values for name in _OPENCV):
        return values
    found = [value for value in values.values() if isinstance(value, dict) and "CameraParameters1" in value]
    if len(found) > 1:
        raise ValueError(f"{len(found)} stereoParameters in one file; expected one")
    return found[0] if found else None


def _read_mat(file: CalibrationText) -> CalibrationFile:
    values = read_mat(file.content)
    parameters = _parameters(values)
    if parameters is None:
        objects = [value.class_name for value in values.values() if isinstance(value, MatlabObject)]
        what = f"the variables {', '.join(map(short_repr, list(values)[:10])) or 'none'}, and no stereoParameters"
        if objects:
            what = f"an object of class {short_repr(objects[0])}, which only MATLAB reads"
        raise ValueError(f"a .mat file with {what}; expected a struct, {_ADVICE}")
    return _read(parameters, file, "MATLAB .mat")


def _read_json(file: CalibrationText) -> CalibrationFile:
    parameters = _parameters(file.values)
    assert parameters is not None
    return _read(parameters, file, "MATLAB JSON")


def _read(values: dict[str, Any], file: CalibrationText, name: str) -> CalibrationFile:
    if "CameraParameters1" not in values:
        return _read_opencv(values, file, name)
    left, right = (_camera(values.get(f"CameraParameters{side}"), side) for side in (1, 2))
    rotation, translation = _extrinsics(values)
    _check_views(left, right, rotation)
    size = _size(left.get("ImageSize"))
    if size != _size(right.get("ImageSize")):
        raise ValueError("the two cameras have images of different sizes; a pair has one size")
    millimetres, unit, is_stated = _unit(left, file)
    raw = {
        "left_matrix": left["K"], "left_distortion": left["D"], "right_matrix": right["K"],
        "right_distortion": right["D"], "rotation": rotation, "translation_mm": translation * millimetres,
    }  # fmt: skip
    return CalibrationFile(f"{name} stereoParameters", unit, size, None, raw, states_unit=is_stated)


def _read_opencv(values: dict[str, Any], file: CalibrationText, name: str) -> CalibrationFile:
    """What stereoParametersToOpenCV gives: pixels are counted from 0, and matrices are as in OpenCV."""
    k1, d1, k2, d2, rotation, translation = (_matrix(values, each) for each in _OPENCV)
    millimetres, unit = file.millimetres("mm", "assumed: the file does not say")
    raw = {
        "left_matrix": _upper(k1, _OPENCV[0]), "left_distortion": d1.ravel(),
        "right_matrix": _upper(k2, _OPENCV[2]), "right_distortion": d2.ravel(),
        "rotation": reshaped(rotation, _OPENCV[4], (3, 3)),
        "translation_mm": reshaped(translation, _OPENCV[5], (3,)) * millimetres,
    }  # fmt: skip
    return CalibrationFile(f"{name} of stereoParametersToOpenCV", unit, _size(values.get("imageSize")), None, raw)


def _camera(values: Any, side: int) -> dict[str, Any]:
    """K as in OpenCV and the distortion D of one camera, with its other fields."""
    if isinstance(values, MatlabObject):
        raise ValueError(f"CameraParameters{side} is an object, which only MATLAB reads; expected a struct, {_ADVICE}")
    if not isinstance(values, dict):
        raise ValueError(f"stereoParameters without CameraParameters{side}")
    inner = values.get("Intrinsics")
    values = {**inner, **values} if isinstance(inner, dict) else values
    if "MappingCoefficients" in values:
        raise ValueError(f"CameraParameters{side} is of MATLAB's fisheye model, which bdis does not read")
    name = next((each for each in ("K", "IntrinsicMatrix") if values.get(each) is not None), None)
    if name is None:
        raise ValueError(f"CameraParameters{side} without K or IntrinsicMatrix")
    matrix = _upper(_matrix(values, name), f"{name} of CameraParameters{side}")
    matrix[:2, 2] -= 1  # MATLAB's first pixel is (1, 1)
    radial, tangential = (
        _matrix(values, each).ravel() if values.get(each) is not None else np.zeros(2)
        for each in ("RadialDistortion", "TangentialDistortion")
    )
    if len(radial) not in (2, 3) or len(tangential) != 2:
        raise ValueError(
            f"CameraParameters{side} with {len(radial)} radial and {len(tangential)} tangential coefficients; "
            "expected 2 or 3, and 2"
        )
    k1, k2, k3 = (*radial, 0.0)[:3]
    return {**values, "K": matrix, "D": np.array([k1, k2, *tangential, k3])}


def _matrix(values: dict[str, Any], name: str) -> Array:
    value = values.get(name)
    if value is None or isinstance(value, MatlabObject):
        raise ValueError(f"a MATLAB calibration without {name}")
    return matrix_of(value, name)


def _upper(matrix: Array, name: str) -> Array:
    """The camera matrix with zeros below its diagonal, as OpenCV has it; MATLAB's older ones have them above."""
    matrix = reshaped(matrix, name, (3, 3)).copy()
    below, above = np.tril(matrix, -1).any(), np.triu(matrix, 1).any()
    if below == above or matrix[2, 2] != 1:
        raise ValueError(f"{name} is no camera matrix: expected zeros below its diagonal or above it, and 1 at its end")
    matrix = matrix.T.copy() if below else matrix
    if abs(matrix[0, 1]) > _MOST_SKEW_PX:
        raise ValueError(f"{name} has a skew of {matrix[0, 1]:g} px, which bdis cannot rectify; calibrate without skew")
    matrix[0, 1] = 0
    return matrix


def _extrinsics(values: dict[str, Any]) -> tuple[Array, Array]:
    """Rotation and translation from left to right, as in OpenCV: x2 = R x1 + t."""
    found = []
    if values.get("RotationOfCamera2") is not None and values.get("TranslationOfCamera2") is not None:
        rotation = reshaped(_matrix(values, "RotationOfCamera2"), "RotationOfCamera2", (3, 3))
        translation = reshaped(_matrix(values, "TranslationOfCamera2"), "TranslationOfCamera2", (3,))
        found.append((rotation.T, translation))  # MATLAB: [x2 y2 z2] = [x1 y1 z1] * R + t
    pose = values.get("PoseCamera2")
    if isinstance(pose, dict) and (pose.get("A") is not None or pose.get("R") is not None):
        if pose.get("A") is not None:
            found.append(pose_of(_matrix(pose, "A"), "PoseCamera2"))
        else:
            translation = reshaped(_matrix(pose, "Translation"), "Translation", (3,))
            found.append((reshaped(_matrix(pose, "R"), "R", (3, 3)), translation))
    elif pose is not None and not isinstance(pose, dict | MatlabObject):
        found.append(pose_of(matrix_of(pose, "PoseCamera2"), "PoseCamera2"))
    if not found:
        raise ValueError(
            "stereoParameters without RotationOfCamera2 and TranslationOfCamera2, or PoseCamera2 as a struct or matrix"
        )
    for rotation, translation in found[1:]:
        if np.abs(rotation - found[0][0]).max() > 1e-6 or np.abs(translation - found[0][1]).max() > 1e-6:
            raise ValueError("RotationOfCamera2 and PoseCamera2 contradict each other; which is meant?")
    return found[0]


def _check_views(left: dict[str, Any], right: dict[str, Any], rotation: Array) -> None:
    """Raise ValueError if the boards of both cameras, where the file has them, say that the rotation is transposed."""
    try:
        ours, others = (reshaped(matrix_of(each["RotationVectors"], ""), "", (-1,)) for each in (left, right))
        ours, others = (each.reshape(-1, 3) for each in (ours, others))
        if len(ours) != len(others) or not len(ours):
            return
        between = [rotation_of(two) @ rotation_of(one).T for one, two in zip(ours, others)]
    except (KeyError, ValueError):
        return  # they are not there, or of another form: no evidence
    errors = [np.median([np.abs(each - guess).max() for each in between]) for guess in (rotation, rotation.T)]
    if 3 * errors[1] < errors[0]:
        raise ValueError(
            "the rotation between the cameras is the transposed one of what their RotationVectors say; was the file "
            "written by a program other than MATLAB?"
        )


def _size(value: Any) -> Size | None:
    """MATLAB's [rows, columns] as (width, height)."""
    if value is None or not np.size(value):
        return None
    numbers = matrix_of(value, "ImageSize").ravel().tolist()
    return check_size(numbers[1::-1] if len(numbers) >= 2 else numbers)


def _unit(camera: dict[str, Any], file: CalibrationText) -> tuple[float, str, bool]:
    """Length of the unit in mm, its name, and whether the file says it."""
    stated = camera.get("WorldUnits")
    if file.unit is not None or not isinstance(stated, str) or not stated:
        return *file.millimetres("mm", "assumed: the file has no WorldUnits"), False
    if stated.strip().lower() not in _UNITS:
        raise ValueError(f"WorldUnits is {short_repr(stated)}; give the unit: unit=... (--unit on the command line)")
    return _UNITS[stated.strip().lower()], f"{short_repr(stated)} (WorldUnits)", True


MAT = CalibrationFormat("MATLAB stereoParameters as a struct in .mat", _is_mat, _read_mat)
JSON = CalibrationFormat("MATLAB stereoParameters as JSON", _is_json, _read_json)
