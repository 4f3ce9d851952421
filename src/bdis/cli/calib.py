"""``bdis calib show``."""

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..cameras.calibration import StereoCalibration
from ..cameras.formats import Unit, read_calibration
from ..cameras.rig import Rig
from . import terminal
from .terminal import UsageError

DEPTHS_MM = (50, 100, 200)


def run_calib_show(
    file: Path, right: Path | None, unit: str | None, baseline_mm: float | None, size_text: str | None
) -> None:
    """Say what a calibration file is and what depth it can give."""
    if unit not in (None, "mm", "cm", "m"):
        raise UsageError(f"--unit is {unit!r}; expected mm, cm or m")
    found = read_calibration(file, right, unit=cast(Unit | None, unit), baseline_mm=baseline_mm)
    size = found.size or _parse_size(size_text)
    rows: list[tuple[object, ...]] = [("file", file), ("format", found.format), ("unit", found.unit)]
    rows.append(("image size", f"{size[0]}x{size[1]}" if size else "not said; give --size for the field of view"))
    data: dict[str, Any] = {"file": file, "format": found.format, "unit": found.unit, "size": size}
    if found.raw is not None:
        raw = found.raw
        rotation = np.clip((np.trace(raw["rotation"]) - 1) / 2, -1, 1)
        data["raw"] = {name: np.asarray(value).tolist() for name, value in raw.items()}
        for side in ("left", "right"):
            matrix, distortion = raw[f"{side}_matrix"], raw[f"{side}_distortion"]
            coefficients = " ".join(f"{number:.4g}" for number in distortion)
            rows.append((f"raw {side} camera", f"focal {matrix[0, 0]:.2f} x {matrix[1, 1]:.2f} px, "
                         f"centre ({matrix[0, 2]:.2f}, {matrix[1, 2]:.2f}), distortion {coefficients}"))  # fmt: skip
        shift = ", ".join(f"{number:.4g}" for number in raw["translation_mm"])
        rows.append(("between them", f"T = ({shift}) mm, turned by {math.degrees(math.acos(rotation)):.3f} degrees"))
    rig = Rig(**found.rectified, size=size) if found.rectified is not None else None
    if rig is None and size is not None and found.raw is not None:
        rig = StereoCalibration(**found.raw, size=size).rectify().rig
    if rig is not None:
        rows += _rig_rows(rig)
        data |= {"rig": {**asdict(rig), "doffs": rig.doffs}, "depth_resolution_mm_per_px": _resolution(rig)}
        if rig.size is not None:
            data["field_of_view_degrees"] = _field_of_view(rig)
    terminal.table(rows)
    terminal.give(data)


def _parse_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    numbers = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    if numbers is None:
        raise UsageError(f"--size is {text!r}; expected WIDTHxHEIGHT such as 640x480")
    return int(numbers[1]), int(numbers[2])


def _rig_rows(rig: Rig) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        ("rectified", f"focal {rig.focal_px:.2f} px, centre ({rig.cx:.2f}, {rig.cy:.2f}), doffs {rig.doffs:.2f} px"),
        ("baseline", f"{rig.baseline_mm:.4g} mm"),
    ]
    if rig.size is not None:
        across, down = _field_of_view(rig)
        rows.append(("field of view", f"{across:.1f} x {down:.1f} degrees"))
    for depth, step in _resolution(rig).items():
        shift = float(rig.disparity(float(depth)))
        rows.append((f"at {depth} mm", f"disparity {shift:.2f} px; an error of 0.1 px is {step / 10:.2g} mm of depth"))
    return rows


def _field_of_view(rig: Rig) -> list[float]:
    """Degrees across and down, of the left camera; pixels reach half a pixel beyond the centres of the outermost."""
    assert rig.size is not None
    angles = []
    for length, centre in zip(rig.size, (rig.cx, rig.cy)):
        low, high = math.atan((centre + 0.5) / rig.focal_px), math.atan((length - 0.5 - centre) / rig.focal_px)
        angles.append(math.degrees(low + high))
    return angles


def _resolution(rig: Rig) -> dict[str, float]:
    """mm of depth per px of disparity: Z^2 / (f b)."""
    return {str(depth): depth**2 / (rig.focal_px * rig.baseline_mm) for depth in DEPTHS_MM}
