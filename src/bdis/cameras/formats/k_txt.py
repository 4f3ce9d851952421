"""K.txt: the nine numbers of K, then the baseline in metres."""

from .base import CalibrationFile, CalibrationFormat, CalibrationText
from .matrices import check_camera_matrix, check_square_pixels, matrix_of, number_of, only_numbers, rectified_of


def _recognises(file: CalibrationText) -> bool:
    return bool(only_numbers(file.text))


def _read(file: CalibrationText) -> CalibrationFile:
    """Nine numbers of K or twelve of a 3x4 matrix, then the baseline unless the user stated it."""
    numbers = only_numbers(file.text) or []
    if len(numbers) == 12:  # 3x4, as in the rectified Hamlyn data set
        numbers = [number for place, number in enumerate(numbers) if place % 4 != 3]
    if len(numbers) not in (9, 10):
        raise ValueError(f"{len(numbers)} numbers; K.txt has the nine of K, then the baseline in m")
    matrix = matrix_of(numbers[:9], "K").reshape(3, 3)
    if len(numbers) == 10:
        millimetres, unit = file.millimetres("m", "K.txt convention")
        baseline_mm = number_of(numbers[9], "the baseline") * millimetres
    elif file.baseline_mm is not None:
        baseline_mm, unit = file.baseline_mm, "mm (given)"
    else:
        raise ValueError("the nine numbers of K without a baseline; state it (baseline_mm=..., --baseline)")
    if matrix[2].tolist() != [0, 0, 1]:
        raise ValueError(f"the third row of K is {matrix[2].tolist()}; expected 0 0 1")
    check_square_pixels(matrix)
    check_camera_matrix(matrix, "K")
    focal_px, cx, cy = matrix[0, 0], matrix[0, 2], matrix[1, 2]
    return CalibrationFile("K.txt", unit, None, rectified_of(focal_px, cx, cy, baseline_mm, cx))


FORMAT = CalibrationFormat("K.txt (nine numbers of K, then the baseline in m)", _recognises, _read)
