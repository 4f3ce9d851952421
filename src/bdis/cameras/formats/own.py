"""The project's own TOML and JSON: names with their units, in mm."""

import json
from pathlib import Path
from typing import Any

from ...common.atomic import Place, write_whole
from .record import CalibrationFile, Length, check_size, matrix_of

_OWN: dict[str, tuple[set[str], set[str]]] = {  # names that must be there, names that may
    "bdis-rig": ({"focal_px", "cx", "cy", "baseline_mm"}, {"cx_right", "size"}),
    "bdis-stereo-calibration": (
        {"left_matrix", "left_distortion", "right_matrix", "right_distortion", "rotation", "translation_mm", "size"},
        {"fisheye"},
    ),
}


def read_own(values: dict[str, Any], length: Length) -> CalibrationFile:
    """A rig or a stereo calibration; every name is known, or it is refused."""
    kind = values.get("format")
    if kind not in _OWN:
        raise ValueError(f"format is {kind!r}; expected {' or '.join(map(repr, _OWN))}")
    if length.given is not None:
        raise ValueError("a bdis file is in mm; unit is for files that do not say")
    needed, possible = _OWN[kind]
    found = set(values) - {"format"}
    if found - needed - possible or needed - found:
        wrong = [f"without {name}" for name in sorted(needed - found)]
        wrong += [f"with unknown {name}" for name in sorted(found - needed - possible)]
        raise ValueError(f"a {kind} file {', '.join(wrong)}")
    size = check_size(values.get("size"))
    content = {name: values[name] for name in found - {"size"}}
    content = {name: matrix_of(value, name) if isinstance(value, list) else value for name, value in content.items()}
    if kind == "bdis-rig":
        return CalibrationFile("bdis rig", "mm (as bdis has it)", size, rectified=content)
    return CalibrationFile("bdis stereo calibration", "mm (as bdis has it)", size, raw=content)


def write_own(path: Place, content: dict[str, Any]) -> None:
    """Write names with numbers, texts, booleans or lists of numbers as TOML or JSON, by the ending of ``path``."""
    ending = Path(path).suffix.lower()
    if ending == ".json":
        text = json.dumps(content, indent=2)
    elif ending == ".toml":  # a JSON number, text, boolean or list of numbers is one of TOML
        text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in content.items())
    else:
        raise ValueError(f"{path} ends with {ending!r}; a calibration is written as .toml or .json")
    write_whole(path, f"{text}\n".encode())
