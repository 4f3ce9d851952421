"""K.txt: the nine numbers of K, then the baseline in metres."""

from .base import MILLIMETRES, CalibrationFile, CalibrationFormat, CalibrationText
from .matrices import check_camera_matrix, check_square_pixels, matrix_of, number_of, only_numbers, rectified_of


def _recognises(file: CalibrationText) -> bool:
    return bool(only_numbers(file.text))


def _read(file: CalibrationText) -> CalibrationFile:
    """Nine numbers of K or twelve of a 3x4 matrix, then the baseline unless the user stated it."""
    numbers = only_numbers(file.text) or []
    shift = 0.0
    if len(numbers) == 12:  # 3x4, as in the rectified Hamlyn data set
        shift = number_of(numbers[3], "the fourth column")
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
    rectified = rectified_of(focal_px, cx, cy, baseline_mm, cx)
    return CalibrationFile("K.txt", unit, None, rectified, replaced_baseline_mm=_of_projection(shift, focal_px, file))


def _of_projection(shift: float, focal_px: float, file: CalibrationText) -> float | None:
    """The baseline in mm of a right camera's projection, -focal * baseline; None of a left one's, where it is 0.

    Its unit is whichever brings it nearest to the baseline that the user stated.
    """
    if shift == 0 or file.baseline_mm is None:
        return None
    stated = file.baseline_mm
    units = MILLIMETRES.values() if file.unit is None else [MILLIMETRES[file.unit]]
    return float(min((abs(shift) / focal_px * each for each in units), key=lambda own: abs(own - stated)))


FORMAT = CalibrationFormat("K.txt (nine numbers of K, then the baseline in m)", _recognises, _read)
