"""Calibration files of several tools: what they hold, brought to pixels and millimetres.

Only what a file says is read here; :class:`bdis.Rig` and :class:`bdis.StereoCalibration` are made of it elsewhere.
"""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ...common.atomic import Place
from .kalibr import read_kalibr
from .opencv import parse_opencv_xml, read_opencv
from .own import read_own, write_own
from .record import MILLIMETRES, CalibrationFile, Length, Unit, check_size, only_numbers, unknown_format
from .ros import is_camera_info, read_ros_pair
from .text import read_middlebury, read_plain_matrix
from .yaml_subset import parse_yaml

__all__ = ["CalibrationFile", "Unit", "check_size", "read_calibration", "write_own"]

_PLAUSIBLE_BASELINE_MM = (0.1, 3000.0)


def read_calibration(
    path: Place, right: Place | None = None, *, unit: Unit | None = None, baseline_mm: float | None = None
) -> CalibrationFile:
    """Recognise a calibration file and read it.  Parameters as in :meth:`bdis.Rig.load`.

    Raises
    ------
    ValueError
        Not a known format, or something is missing in it.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "K.txt").write_text("500 0 320 0 500 240 0 0 1\\n0.005")
    ...     found = read_calibration(f"{folder}/K.txt")
    >>> found.rectified["baseline_mm"], found.unit
    (5.0, 'm (as K.txt has it)')
    """
    if unit is not None and unit not in MILLIMETRES:
        raise ValueError(f"unit must be one of {', '.join(map(repr, MILLIMETRES))}, but it is {unit!r}")
    path = Path(path)
    length = Length(unit)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        found = _recognise(path, text, Path(right) if right is not None else None, length, baseline_mm)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: {unknown_format('it is not a text file')}") from None
    except (ValueError, ElementTree.ParseError) as error:
        raise ValueError(f"{path}: {error}") from error
    if baseline_mm is not None:
        if found.rectified is None:
            raise ValueError(f"{path}: baseline_mm is for rectified cameras, but these are raw ones with a baseline")
        found = replace(found, rectified={**found.rectified, "baseline_mm": baseline_mm})
    if unit is None and baseline_mm is None:
        _check_plausible(found, path)
    return found


def is_plausible_baseline(baseline_mm: float) -> bool:
    """Could stereo cameras be so far apart?

    Examples
    --------
    >>> is_plausible_baseline(4.0), is_plausible_baseline(0.004)
    (True, False)
    """
    low, high = _PLAUSIBLE_BASELINE_MM
    return low <= baseline_mm <= high


def _check_plausible(found: CalibrationFile, path: Path) -> None:
    """A unit that was assumed and not stated must at least give a baseline cameras have."""
    if found.rectified is not None:
        baseline = abs(found.rectified["baseline_mm"])
    else:
        assert found.raw is not None
        baseline = float(np.linalg.norm(found.raw["translation_mm"]))
    if not is_plausible_baseline(baseline):
        raise ValueError(
            f"{path}: read in {found.unit}, the cameras are {baseline:.4g} mm apart, which no stereo camera is; "
            'give the unit of the file: unit="mm", "cm" or "m" (--unit on the command line)'
        )


def _recognise(path: Path, text: str, right: Path | None, length: Length, baseline_mm: float | None) -> CalibrationFile:
    if path.suffix.lower() == ".toml":
        return read_own(tomllib.loads(text), length)
    if text.lstrip().startswith("<"):
        return read_opencv(parse_opencv_xml(text), "OpenCV FileStorage XML", length)
    if re.search(r"^\s*cam[01]\s*=\s*\[", text, re.MULTILINE):
        return read_middlebury(text, length)
    numbers = only_numbers(text)
    if numbers:
        return read_plain_matrix(numbers, length, baseline_mm)
    try:
        values = parse_yaml(text)
    except ValueError as error:
        raise unknown_format(str(error)) from error
    if not isinstance(values, dict):
        raise unknown_format("it holds no names with values")
    kind = "JSON" if text.lstrip().startswith("{") else "YAML"
    if str(values.get("format", "")).startswith("bdis-"):
        return read_own(values, length)
    if isinstance(values.get("cam0"), dict):
        return read_kalibr(values, length)
    if is_camera_info(values):
        return read_ros_pair(path, values, right, length)
    return read_opencv(values, f"OpenCV FileStorage {kind}", length)
