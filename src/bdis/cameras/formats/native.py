"""The format of bdis itself: TOML or JSON with the argument names of Rig or StereoCalibration, lengths in mm."""

import json
import tomllib
from pathlib import Path
from typing import Any

from ...common.atomic import Place, write_whole
from .base import CalibrationFile, CalibrationFormat, CalibrationText, check_size
from .matrices import matrix_of, number_of, short_repr

RIG_OF_BDIS = "bdis rig"
_MAX_TOML = 10_000  # characters; a file that write_native made has some 1000
_OF_SIGMA = "sigma_scale", "sigma_scale_range", "sigma_preset"
_NAMES: dict[str, tuple[set[str], set[str]]] = {  # required names, optional names
    "bdis-rig": ({"focal_px", "cx", "cy", "baseline_mm"}, {"cx_right", "size", *_OF_SIGMA}),
    "bdis-stereo-calibration": (
        {"left_matrix", "left_distortion", "right_matrix", "right_distortion", "rotation", "translation_mm", "size"},
        {"fisheye"},
    ),
}


def _recognises(file: CalibrationText) -> bool:
    return file.path.suffix.lower() == ".toml" or str(file.values.get("format", "")).startswith("bdis-")


def _read(file: CalibrationText) -> CalibrationFile:
    """Read a rig or a stereo calibration; unknown names are refused, as they may be misspelt ones."""
    values = _parse_toml(file.text) if file.path.suffix.lower() == ".toml" else file.values
    kind = values.get("format")
    if not isinstance(kind, str) or kind not in _NAMES:
        raise ValueError(f"format is {short_repr(kind)}; expected {' or '.join(map(repr, _NAMES))}")
    if file.unit is not None:
        raise ValueError("a bdis file is in mm; unit is for files that do not state theirs")
    required, optional = _NAMES[kind]
    found = set(values) - {"format"}
    if found - required - optional or required - found:
        wrong = [f"without {name}" for name in sorted(required - found)]
        wrong += [f"with unknown {name}" for name in sorted(found - required - optional)]
        raise ValueError(f"a {kind} file {', '.join(wrong)}")
    size = check_size(values.get("size"))
    content = {name: values[name] for name in found - {"size"}}
    if kind == "bdis-rig":
        rectified = {name: _rig_value(value, name) for name, value in content.items()}
        return CalibrationFile(RIG_OF_BDIS, "mm (bdis convention)", size, rectified=rectified, states_unit=True)
    fisheye = content.pop("fisheye", False)
    if not isinstance(fisheye, bool):
        raise ValueError(f"fisheye must be true or false, but it is {short_repr(fisheye)}")
    raw: dict[str, Any] = {name: matrix_of(value, name) for name, value in content.items()}
    raw |= {"fisheye": fisheye}
    return CalibrationFile("bdis stereo calibration", "mm (bdis convention)", size, raw=raw, states_unit=True)


def _rig_value(value: Any, name: str) -> float | str | tuple[float, float]:
    """A value of a rig file that has the type of that name."""
    if name == "sigma_preset":
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text, but it is {short_repr(value)}")
        return value
    if name == "sigma_scale_range":
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(f"{name} must be two numbers, but it is {short_repr(value)}")
        return number_of(value[0], name), number_of(value[1], name)
    return number_of(value, name)


def _parse_toml(text: str) -> dict[str, Any]:
    if len(text) > _MAX_TOML:  # Python's parser takes time that grows with the square of the longest name
        raise ValueError(f"{len(text)} characters; a bdis file has at most {_MAX_TOML}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def native_text(path: Place, content: dict[str, Any]) -> str:
    """Text of a calibration as TOML or JSON, by the ending of ``path``; parameters as in :func:`write_native`."""
    ending = Path(path).suffix.lower()
    if ending == ".json":
        text = json.dumps(content, indent=2)
    elif ending == ".toml":  # JSON's notation of numbers, texts, booleans and lists is valid TOML as well
        text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in content.items())
    else:
        raise ValueError(f"{path} ends with {ending!r}; a calibration is written as .toml or .json")
    return f"{text}\n"


def write_native(path: Place, content: dict[str, Any]) -> None:
    """Write a calibration as TOML or JSON, by the ending of ``path``.

    Parameters
    ----------
    path : str or path-like
        File ending with ``.toml`` or ``.json``.
    content : dict
        Names with numbers, texts, booleans or lists of numbers; ``format`` is one of them.

    Raises
    ------
    ValueError
        Another ending.
    OSError
        The file cannot be written; no partial file is left.
    """
    write_whole(path, native_text(path, content).encode())


FORMAT = CalibrationFormat("bdis TOML or JSON", _recognises, _read)
