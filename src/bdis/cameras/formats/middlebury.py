"""Middlebury calib.txt: ``cam0=[f 0 cx; ...]``, ``doffs=``, ``baseline=`` in millimetres."""

import re
from collections import Counter

from .base import CalibrationFile, CalibrationFormat, CalibrationText, check_size
from .matrices import check_rectified_pair, matrix_of, number_of, only_numbers, rectified_of, reshaped, short_repr

_MOST_DIFFERENCE_PX = 0.1  # between doffs and what it is the difference of; a file of the data set has 0.001


def _recognises(file: CalibrationText) -> bool:
    entries = _entries(file.text)
    return any(entries.get(name, "").startswith("[") for name in ("cam0", "cam1"))


def _entries(text: str) -> dict[str, str]:
    """Names and values of the lines ``name=value``."""
    lines = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, equals, value in lines if equals}


def _number(entries: dict[str, str], name: str) -> float:
    """The number under a name; ValueError with the name if it is none."""
    try:
        return number_of(float(entries[name]), name)
    except ValueError:
        raise ValueError(f"{name} must be a finite number, but it is {short_repr(entries[name])}") from None


def _read(file: CalibrationText) -> CalibrationFile:
    entries = _entries(file.text)
    counts = Counter(line.partition("=")[0].strip() for line in file.text.splitlines() if "=" in line)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"a Middlebury calib.txt with {', '.join(map(short_repr, twice[:5]))} more than once")
    if missing := [name for name in ("cam0", "cam1", "baseline") if name not in entries]:
        raise ValueError(f"a Middlebury calib.txt without {', '.join(missing)}")
    left, right = (
        reshaped(matrix_of(only_numbers(re.sub(r"[\[\];]", " ", entries[name])) or [], name), name, (3, 3))
        for name in ("cam0", "cam1")
    )
    check_rectified_pair(left, right, ("cam0", "cam1"), "cam0 and cam1")
    millimetres, unit = file.millimetres("mm", "Middlebury convention")
    cx = float(left[0, 2])
    between = float(right[0, 2] - left[0, 2])
    doffs = _number(entries, "doffs") if "doffs" in entries else between
    if abs(doffs - between) > _MOST_DIFFERENCE_PX:
        raise ValueError(
            f"doffs is {doffs:g}, but the centres of cam0 and cam1 are {between:g} px apart; which is right?"
        )
    baseline_mm = _number(entries, "baseline") * millimetres
    rectified = rectified_of(float(left[0, 0]), cx, float(left[1, 2]), baseline_mm, cx + doffs)
    size = [_number(entries, name) for name in ("width", "height")] if {"width", "height"} <= set(entries) else None
    return CalibrationFile("Middlebury calib.txt", unit, check_size(size), rectified)


FORMAT = CalibrationFormat("Middlebury calib.txt (cam0, cam1, doffs, baseline)", _recognises, _read)
