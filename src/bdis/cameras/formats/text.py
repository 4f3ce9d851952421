"""Middlebury's calib.txt, and K.txt."""

import re

import numpy as np

from .record import CalibrationFile, Length, check_square, only_numbers, shaped, unless_equal


def read_middlebury(text: str, length: Length) -> CalibrationFile:
    """``cam0=[f 0 cx; ...]``, ``doffs=``, ``baseline=``."""
    entries = dict(re.findall(r"^\s*(\w+)\s*=\s*(.*?)\s*$", text, re.MULTILINE))
    if missing := [name for name in ("cam0", "cam1", "baseline") if name not in entries]:
        raise ValueError(f"a Middlebury calib.txt without {', '.join(missing)}")
    left, right = (
        shaped({name: np.array(only_numbers(re.sub(r"[\[\];]", " ", entries[name])) or [])}, name, (3, 3))
        for name in ("cam0", "cam1")
    )
    check_square(left)
    millimetres, unit = length.resolve("mm", "as Middlebury has it")
    doffs = float(entries["doffs"]) if "doffs" in entries else float(right[0, 2] - left[0, 2])
    rectified = {
        "focal_px": float(left[0, 0]), "cx": float(left[0, 2]), "cy": float(left[1, 2]),
        "baseline_mm": float(entries["baseline"]) * millimetres,
        "cx_right": unless_equal(float(left[0, 2]) + doffs, float(left[0, 2])),
    }  # fmt: skip
    size = (int(entries["width"]), int(entries["height"])) if {"width", "height"} <= set(entries) else None
    return CalibrationFile("Middlebury calib.txt", unit, size, rectified)


def read_plain_matrix(numbers: list[float], length: Length, baseline_mm: float | None) -> CalibrationFile:
    """Nine numbers of K, or twelve of a 3x4 matrix, then the baseline unless the user gives it."""
    if len(numbers) == 12:  # 3x4, as the rectified Hamlyn set has it
        numbers = [number for place, number in enumerate(numbers) if place % 4 != 3]
    if len(numbers) not in (9, 10):
        raise ValueError(f"{len(numbers)} numbers; K.txt has the nine of K, then the baseline in m")
    if len(numbers) == 9 and baseline_mm is None:
        raise ValueError("the nine numbers of K without a baseline; give it (baseline_mm=..., --baseline)")
    matrix = np.array(numbers[:9]).reshape(3, 3)
    if matrix[2].tolist() != [0, 0, 1]:
        raise ValueError(f"the third row of K is {matrix[2].tolist()}; expected 0 0 1")
    check_square(matrix)
    millimetres, unit = length.resolve("m", "as K.txt has it")
    if len(numbers) == 9:
        unit = "mm (as you say)"
    baseline = numbers[9] * millimetres if len(numbers) == 10 else baseline_mm
    return CalibrationFile(
        "K.txt", unit, None,
        {"focal_px": matrix[0, 0], "cx": matrix[0, 2], "cy": matrix[1, 2], "baseline_mm": baseline, "cx_right": None},
    )  # fmt: skip
