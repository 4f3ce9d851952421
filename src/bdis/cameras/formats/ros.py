"""ROS camera_info: a YAML file per camera, lengths in metres."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from .opencv import from_projections
from .record import Array, CalibrationFile, Length, Size, check_size, matrix_of, shaped
from .yaml_subset import parse_yaml


def is_camera_info(values: dict[str, Any]) -> bool:
    """Whether it is one camera's file, as calibrators save it or as a message is printed."""
    return "camera_matrix" in values or {"k", "p"} <= {name.lower() for name in values}


def read_ros_pair(path: Path, left: dict[str, Any], right: Path | None, length: Length) -> CalibrationFile:
    """Both cameras of a pair; the right one's file is found by its name if it is not given."""
    if right is None:
        name = re.sub("left", "right", path.name, flags=re.IGNORECASE)
        right = path.with_name(name)
        if name == path.name or not right.exists():
            wanted = "" if name == path.name else f" (there is no {right})"
            raise ValueError(f"a ROS camera_info of one camera; give the other camera's file as well{wanted}")
    other = parse_yaml(right.read_text("utf-8"))
    if not isinstance(other, dict) or not is_camera_info(other):
        raise ValueError(f"{right} is not a ROS camera_info file")
    (k1, d1, r1, p1, size), (k2, d2, r2, p2, right_size) = map(_camera_info, (left, other))
    if size != right_size:
        raise ValueError(f"the left camera's size is {size} and the right one's {right_size}; a pair has one size")
    millimetres, unit = length.resolve("m", "as ROS has it")
    rectified = from_projections(p1, p2, millimetres)
    fisheye = str(left.get("distortion_model", "")) in ("equidistant", "fisheye")
    baseline = np.array([p2[0, 3] / p2[0, 0] * millimetres, 0, 0])
    raw = {
        "left_matrix": k1, "left_distortion": d1, "right_matrix": k2, "right_distortion": d2,
        "rotation": r2.T @ r1, "translation_mm": r2.T @ baseline, "fisheye": fisheye,
    }  # fmt: skip
    return CalibrationFile("ROS camera_info pair", unit, size, rectified, raw)


def _camera_info(values: dict[str, Any]) -> tuple[Array, Array, Array, Array, Size | None]:
    def get(names: tuple[str, ...], shape: tuple[int, ...]) -> Array:
        for name in names:
            if values.get(name) is not None:
                return shaped({name: matrix_of(values[name], name)}, name, shape)
        raise ValueError(f"a ROS camera_info without {names[0]}")

    width = values.get("image_width", values.get("width"))
    height = values.get("image_height", values.get("height"))
    return (
        get(("camera_matrix", "K", "k"), (3, 3)),
        get(("distortion_coefficients", "D", "d"), (-1,)),
        get(("rectification_matrix", "R", "r"), (3, 3)),
        get(("projection_matrix", "P", "p"), (3, 4)),
        check_size((width, height)) if width and height else None,
    )
