"""Matrices in calibration files, and the rig that projection matrices describe."""

import math
import reprlib
from typing import Any

import numpy as np

from ...common.arrays import Array

_LARGEST = 1e12  # in any unit; the arithmetic with it stays far from where numbers overflow
_SMALLEST_FOCAL = 1e-3  # px, less than any camera's; likewise, as lengths are divided by it
_ROUNDED = 1e-6  # by which a number that must be 0 or 1 may differ from it
_MOST_SKEW = 1e-3  # a share of the focal length
_MOST_TURN = 1e-3  # by which R R^T may differ from the identity
_MOST_OBLIQUE = 0.01  # a share of the baseline by which the cameras of a rectified pair may stand above or behind


def only_numbers(text: str) -> list[float] | None:
    """Numbers of a text that contains nothing else, separated by spaces or commas; None for any other text."""
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        return None


def matrix_of(value: Any, name: str) -> Array:
    """Convert an ``opencv-matrix`` or nested lists to an array of finite numbers."""
    rows = value.get("data") if isinstance(value, dict) else value
    try:
        array = np.array(rows, float)
        if isinstance(value, dict) and "rows" in value and "cols" in value:
            shape = int(value["rows"]), int(value["cols"])
            if min(shape) < 0:  # NumPy takes -1 for "as many as there are"
                raise ValueError
            array = array.reshape(shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is not a matrix of numbers") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values")
    if array.size and np.abs(array).max() > _LARGEST:
        raise ValueError(f"{name} holds {array.flat[np.abs(array).argmax()]:g}, which no calibration does")
    return array


def reshaped(array: Array, name: str, shape: tuple[int, ...]) -> Array:
    """Reshape ``array``; ValueError with ``name`` if its number of elements does not fit.  (-1,) fits any."""
    if shape != (-1,) and array.size != int(np.prod(shape)):
        raise ValueError(f"{name} has {array.size} numbers; expected {'x'.join(map(str, shape))}")
    return array.reshape(shape)


def rotation_of(vector: Array) -> Array:
    """The rotation matrix of an axis times an angle (Rodrigues), shape (3,) to (3, 3)."""
    angle = float(np.linalg.norm(vector))
    if angle > 2 * math.pi:
        raise ValueError(f"a rotation by {angle:.4g} rad; is it in degrees?")
    if angle == 0:
        return np.eye(3)
    x, y, z = np.asarray(vector) / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation: Array = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return rotation


def number_of(value: Any, name: str) -> float:
    """``value`` as a finite number; ValueError with ``name`` if it is none."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= _LARGEST:
        raise ValueError(f"{name} must be a finite number, but it is {short_repr(value)}")
    return number


def short_repr(value: Any) -> str:
    """A value of a file in a message: its beginning, without characters that steer a terminal."""
    return reprlib.repr(value)


def check_camera_matrix(matrix: Array, name: str) -> None:
    """Raise ValueError unless ``matrix``, (3, 3), is fx 0 cx, 0 fy cy, 0 0 1, as all that use it take it to be.

    One that is multiplied by a number is refused and not divided by it: most programs look at fx, fy, cx and cy only,
    so that images of half the size often have 0.5 K with its 1 forgotten, and there these four are right.
    """
    expected = "expected fx 0 cx, 0 fy cy, 0 0 1"
    fx, fy = float(matrix[0, 0]), float(matrix[1, 1])
    if min(fx, fy) < _SMALLEST_FOCAL:
        raise ValueError(f"{name} has focal lengths {fx:g} and {fy:g} px; expected them above 0")
    below = float(np.abs(matrix[2, :2]).max())
    if below > _ROUNDED and not matrix[:2, 2].any():
        raise ValueError(f"{name} is transposed: its centre is in the last row; {expected}")
    if below > _ROUNDED or abs(matrix[1, 0]) > _MOST_SKEW * fx:
        raise ValueError(f"{name} is no camera matrix: below its diagonal it is not 0; {expected}")
    if abs(matrix[2, 2] - 1) > _ROUNDED:
        raise ValueError(
            f"{name} ends with {matrix[2, 2]:g} instead of 1; {expected}: divide all of it by that number, or only the "
            "last one, whichever is meant"
        )
    if abs(matrix[0, 1]) > _MOST_SKEW * fx:
        raise ValueError(f"{name} has a skew of {matrix[0, 1]:g} px, which bdis cannot rectify; calibrate without skew")


def check_rotation(matrix: Array, name: str) -> None:
    """Raise ValueError unless ``matrix``, (3, 3), is a rotation, with the error of rounded numbers."""
    if np.abs(matrix @ matrix.T - np.eye(3)).max() > _MOST_TURN:
        raise ValueError(f"{name} is not a rotation matrix: R R^T is not the identity")
    if np.linalg.det(matrix) < 0:
        raise ValueError(f"{name} is not a rotation matrix but a reflection: its determinant is -1; is a sign wrong?")


def pose_of(matrix: Array, name: str) -> tuple[Array, Array]:
    """Rotation (3, 3) and translation (3,) of a 4x4 matrix that is multiplied from the left."""
    matrix = reshaped(matrix, name, (4, 4))
    if matrix[3].tolist() != [0, 0, 0, 1]:
        raise ValueError(f"the last row of {name} is not 0 0 0 1; expected a matrix that is multiplied from the left")
    return matrix[:3, :3], matrix[:3, 3]


def check_square_pixels(matrix: Array) -> None:
    """Raise ValueError if the focal lengths of a rectified camera differ or are not above 0, or hardly."""
    fx, fy = float(matrix[0, 0]), float(matrix[1, 1])
    if fx < _SMALLEST_FOCAL or abs(fx - fy) > 1e-3 * fx:
        raise ValueError(f"focal lengths {fx:g} and {fy:g} px; a rectified camera has one, above 0")


def check_rectified_pair(left: Array, right: Array, names: tuple[str, str], both: str) -> None:
    """Raise ValueError unless two matrices (3, 3) are those of a rectified pair; their ``names`` are for messages."""
    for matrix, name in zip((left, right), names):
        check_square_pixels(matrix)
        check_camera_matrix(matrix, name)
    if abs(left[0, 0] - right[0, 0]) > 1e-3 * right[0, 0] or abs(left[1, 2] - right[1, 2]) > 0.5:
        raise ValueError(f"{both} differ in focal length or row of the centre: not of a rectified pair")


def rectified_of(focal_px: float, cx: float, cy: float, baseline_mm: float, cx_right: float) -> dict[str, Any]:
    """Arguments of :class:`bdis.Rig`; ``cx_right`` becomes None where it equals ``cx``."""
    return {
        "focal_px": focal_px, "cx": cx, "cy": cy, "baseline_mm": baseline_mm,
        "cx_right": None if abs(cx_right - cx) < 1e-9 else cx_right,
    }  # fmt: skip


def rectified_of_projections(left: Array, right: Array, millimetres: float) -> dict[str, Any]:
    """Arguments of :class:`bdis.Rig` from two 3x4 projection matrices, where right[0, 3] = -focal * baseline."""
    names = ("the left projection matrix", "the right projection matrix")
    check_rectified_pair(left[:, :3], right[:, :3], names, "the projection matrices")
    focal = float(right[0, 0])
    if abs(right[1, 3]) > abs(right[0, 3]):
        raise ValueError("the cameras stand above each other (P2[1,3]); expected them side by side")
    if left[0, 3] and not right[0, 3]:
        raise ValueError("the left projection matrix has the baseline: left and right are swapped")
    baseline = -float(right[0, 3] - left[0, 3]) / focal * millimetres
    if baseline == 0:
        raise ValueError("the right projection matrix has no baseline (P[0,3] is 0): not calibrated as a stereo pair")
    across, down, ahead = np.abs(right[:, 3] - left[:, 3]) * [1, 1, focal]
    if max(down, ahead) > _MOST_OBLIQUE * across:
        raise ValueError(
            f"the last column of the right projection matrix is {' '.join(f'{number:g}' for number in right[:, 3])}: "
            "the cameras of a rectified pair stand side by side, so that its second and third number are 0"
        )
    return rectified_of(focal, float(left[0, 2]), float(left[1, 2]), baseline, float(right[0, 2]))
