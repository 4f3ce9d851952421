"""ROS camera_info: a YAML file per camera, lengths in metres."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.reading import MAX_CALIBRATION_BYTES, read_text
from .base import CalibrationFile, CalibrationFormat, CalibrationText, Size, check_size
from .declared import FISHEYE, PINHOLE
from .matrices import matrix_of, number_of, rectified_of_projections, reshaped, short_repr
from .yaml_subset import parse_yaml


def _recognises(file: CalibrationText) -> bool:
    return _is_camera_info(file.values)


def _is_camera_info(values: dict[str, Any]) -> bool:
    """Whether it is one camera's file, as calibrators save it (camera_matrix) or as a message is printed (K and P)."""
    return "camera_matrix" in values or {"k", "p"} <= {name.lower() for name in values}


def _read(file: CalibrationText) -> CalibrationFile:
    return camera_info_pair(file.values, _right_values(file), *file.millimetres("m", "ROS convention"))


def camera_info_pair(left: dict[str, Any], right: dict[str, Any], millimetres: float, unit: str) -> CalibrationFile:
    """The cameras of two camera_info.

    Parameters
    ----------
    left, right : dict
        Names and values, as in a file or a message.
    millimetres : float
        Length of their unit in mm.
    unit : str
        Name of the unit, for messages.

    Returns
    -------
    CalibrationFile

    Raises
    ------
    ValueError
        Something is missing, the two are not of a pair, or their images are binned or a part of the sensor.
    """
    for side, values in (("left", left), ("right", right)):
        _check_whole(values, side)
    (k1, d1, r1, p1, size), (k2, d2, r2, p2, right_size) = map(_camera_info, (left, right))
    if size != right_size:
        raise ValueError(f"the left camera's size is {size} and the right one's {right_size}; a pair has one size")
    rectified = rectified_of_projections(p1, p2, millimetres)
    fisheye, is_right_fisheye = (
        _is_fisheye(each.get("distortion_model"), distortion, side)
        for each, distortion, side in ((left, d1, "left"), (right, d2, "right"))
    )
    if fisheye != is_right_fisheye and (d1.any() or d2.any()):
        raise ValueError("one camera has a fisheye lens and the other has not, which bdis cannot rectify")
    baseline = np.array([p2[0, 3] / p2[0, 0] * millimetres, 0, 0])
    raw = {
        "left_matrix": k1, "left_distortion": d1, "right_matrix": k2, "right_distortion": d2,
        "rotation": r2.T @ r1, "translation_mm": r2.T @ baseline, "fisheye": fisheye,
    }  # fmt: skip
    in_mm = np.array([1, 1, 1, millimetres])
    return CalibrationFile(
        "ROS camera_info pair", unit, size, rectified, raw, rectification=(r1, r2, p1 * in_mm, p2 * in_mm)
    )


def _is_fisheye(model: Any, distortion: Array, side: str) -> bool:
    """Whether this distortion model is a fisheye's; one without a name is plumb_bob."""
    name = "plumb_bob" if model is None else str(model).strip().lower().replace(" ", "_")
    if name not in PINHOLE + FISHEYE and distortion.any():
        raise ValueError(
            f"the {side} camera has the distortion model {short_repr(model)}, which is not known; expected "
            f"{', '.join(PINHOLE)}, or of a fisheye {' or '.join(FISHEYE)}"
        )
    return name in FISHEYE


def _right_values(file: CalibrationText) -> dict[str, Any]:
    """Names and values of the right camera's file, found by its name if the user did not give it."""
    right = file.second
    if right is None:
        name = re.sub("left", "right", file.path.name, flags=re.IGNORECASE)
        right = file.path.with_name(name)
        if name == file.path.name or not right.exists():
            wanted = "" if name == file.path.name else f" (there is no {right})"
            raise ValueError(f"a ROS camera_info of one camera; give the other camera's file as well{wanted}")
    return _checked(parse_yaml(read_text(right, MAX_CALIBRATION_BYTES)), right)


def _checked(values: Any, path: Path) -> dict[str, Any]:
    if not isinstance(values, dict) or not _is_camera_info(values):
        raise ValueError(f"{path} is not a ROS camera_info file")
    return values


def _camera_info(values: dict[str, Any]) -> tuple[Array, Array, Array, Array, Size | None]:
    """K, D, R, P and the image size of one camera."""

    def get(names: tuple[str, ...], shape: tuple[int, ...]) -> Array:
        for name in names:
            if values.get(name) is not None:
                return reshaped(matrix_of(values[name], name), name, shape)
        raise ValueError(f"a ROS camera_info without {names[0]}")

    width, height = _size(values)
    return (
        get(("camera_matrix", "K", "k"), (3, 3)),
        get(("distortion_coefficients", "D", "d"), (-1,)),
        get(("rectification_matrix", "R", "r"), (3, 3)),
        get(("projection_matrix", "P", "p"), (3, 4)),
        check_size((width, height)) if width and height else None,
    )


def _size(values: dict[str, Any]) -> tuple[Any, Any]:
    """Width and height as calibrators save them, or as in a message."""
    return values.get("image_width", values.get("width")), values.get("image_height", values.get("height"))


def _check_whole(values: dict[str, Any], side: str) -> None:
    """Raise ValueError if images have not the pixels that K and P are of: they are binned, or a part of the sensor.

    0 stands for "not binned" and for "all of the sensor"; what is left out is 0.
    """
    roi = values.get("roi") or {}
    if not isinstance(roi, dict):
        raise ValueError(f"roi must have x_offset, y_offset, width and height, but it is {short_repr(roi)}")
    part = [number_of(roi.get(name) or 0, f"{name} of roi") for name in ("x_offset", "y_offset", "width", "height")]
    binning = [number_of(values.get(name) or 0, name) for name in ("binning_x", "binning_y")]
    if max(binning) > 1 or (any(part) and part != [0, 0, *_size(values)]):
        raise ValueError(
            f"the camera_info of the {side} camera is of binned images or of a part of the sensor (roi), which bdis "
            "does not apply: give the calibration of the images as they are (--calib FILE)"
        )


FORMAT = CalibrationFormat("a pair of ROS camera_info YAML files", _recognises, _read, takes_second=True)
