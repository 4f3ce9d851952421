"""Kalibr camchain: YAML, raw cameras, lengths in metres."""

from typing import Any

import numpy as np

from .base import CalibrationFile, CalibrationFormat, CalibrationText, check_size
from .matrices import matrix_of, pose_of


def _recognises(file: CalibrationText) -> bool:
    return isinstance(file.values.get("cam0"), dict)


def _read(file: CalibrationText) -> CalibrationFile:
    """Read the first two cameras of a chain."""
    cameras = [file.values["cam0"], file.values.get("cam1")]
    _check(cameras)
    models = {camera.get("distortion_model", "none") for camera in cameras}
    sizes = [check_size(camera["resolution"]) for camera in cameras]
    if "equidistant" in models and len(models) > 1:
        raise ValueError("one camera has a fisheye lens (equidistant) and the other has not, which bdis cannot rectify")
    if len(models - {"none"}) > 1 or sizes[0] != sizes[1]:
        raise ValueError("the two cameras have different distortion models or sizes; expected the same")
    millimetres, unit = file.millimetres("m", "Kalibr convention")
    rotation, translation = pose_of(matrix_of(cameras[1]["T_cn_cnm1"], "T_cn_cnm1"), "T_cn_cnm1")
    matrices = []
    for camera in cameras:
        fx, fy, cx, cy = matrix_of(camera["intrinsics"], "intrinsics")
        matrices.append(np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]))
    distortions = [
        matrix_of(camera.get("distortion_coeffs") or [0, 0, 0, 0], "distortion_coeffs") for camera in cameras
    ]
    raw = {
        "left_matrix": matrices[0], "left_distortion": distortions[0],
        "right_matrix": matrices[1], "right_distortion": distortions[1],
        "rotation": rotation, "translation_mm": translation * millimetres,
        "fisheye": models == {"equidistant"},
    }  # fmt: skip
    return CalibrationFile("Kalibr camchain", unit, sizes[0], None, raw)


def _check(cameras: list[Any]) -> None:
    """Raise ValueError unless there are two cameras with supported models and a transformation between them."""
    if not isinstance(cameras[1], dict):
        raise ValueError("a Kalibr camchain without cam1")
    for name, camera in zip(("cam0", "cam1"), cameras):
        if missing := [key for key in ("intrinsics", "resolution") if key not in camera]:
            raise ValueError(f"a Kalibr camchain without {', '.join(missing)} of {name}")
        if camera.get("camera_model", "pinhole") != "pinhole":
            raise ValueError(f"{name} has camera model {camera['camera_model']}; expected pinhole")
        if matrix_of(camera["intrinsics"], "intrinsics").shape != (4,):
            raise ValueError(f"intrinsics of {name} must be four numbers: fx, fy, cx, cy")
        if camera.get("distortion_model", "none") not in ("radtan", "equidistant", "none"):
            raise ValueError(f"{name} has distortion {camera['distortion_model']}; expected radtan or equidistant")
        if camera.get("distortion_model", "none") != "none" and not camera.get("distortion_coeffs"):
            raise ValueError(f"{name} has distortion {camera['distortion_model']}, but no distortion_coeffs")
        if check_size(camera["resolution"]) is None:
            raise ValueError(f"resolution of {name} must be [width, height]")
    if "T_cn_cnm1" not in cameras[1]:
        raise ValueError("a Kalibr camchain without T_cn_cnm1 of cam1")


FORMAT = CalibrationFormat("Kalibr camchain YAML", _recognises, _read)
