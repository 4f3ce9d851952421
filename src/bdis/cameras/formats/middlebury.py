"""Middlebury calib.txt: ``cam0=[f 0 cx; ...]``, ``doffs=``, ``baseline=`` in millimetres."""

import re

import numpy as np

from .base import CalibrationFile, CalibrationFormat, CalibrationText
from .matrices import check_square_pixels, only_numbers, rectified_of, reshaped


def _recognises(file: CalibrationText) -> bool:
    return re.search(r"^\s*cam[01]\s*=\s*\[", file.text, re.MULTILINE) is not None


def _read(file: CalibrationText) -> CalibrationFile:
    entries = dict(re.findall(r"^\s*(\w+)\s*=\s*(.*?)\s*$", file.text, re.MULTILINE))
    if missing := [name for name in ("cam0", "cam1", "baseline") if name not in entries]:
        raise ValueError(f"a Middlebury calib.txt without {', '.join(missing)}")
    left, right = (
        reshaped(np.array(only_numbers(re.sub(r"[\[\];]", " ", entries[name])) or []), name, (3, 3))
        for name in ("cam0", "cam1")
    )
    check_square_pixels(left)
    millimetres, unit = file.millimetres("mm", "Middlebury convention")
    cx = float(left[0, 2])
    doffs = float(entries["doffs"]) if "doffs" in entries else float(right[0, 2] - left[0, 2])
    baseline_mm = float(entries["baseline"]) * millimetres
    rectified = rectified_of(float(left[0, 0]), cx, float(left[1, 2]), baseline_mm, cx + doffs)
    size = (int(entries["width"]), int(entries["height"])) if {"width", "height"} <= set(entries) else None
    return CalibrationFile("Middlebury calib.txt", unit, size, rectified)


FORMAT = CalibrationFormat("Middlebury calib.txt (cam0, cam1, doffs, baseline)", _recognises, _read)
