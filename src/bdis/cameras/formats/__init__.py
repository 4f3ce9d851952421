"""Readers of calibration files, one module per tool, all converted to pixels and millimetres.

This package reads what a file says; :class:`bdis.Rig` and :class:`bdis.StereoCalibration` are made from it elsewhere.

To add a format, write a module with a ``FORMAT`` (see :class:`~.base.CalibrationFormat`) and add it to ``FORMATS``.
"""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ...common.atomic import Place
from ...common.printable import printable
from ...common.reading import MAX_CALIBRATION_BYTES, read_limited
from . import davinci, endovis, k_txt, kalibr, matlab, middlebury, native, npz, opencv, ros, scared_frame
from .base import (
    MILLIMETRES,
    CalibrationFile,
    CalibrationFormat,
    CalibrationText,
    Unit,
    UnknownFormatError,
    check_size,
)
from .native import RIG_OF_BDIS, write_native

__all__ = [
    "RIG_OF_BDIS", "CalibrationFile", "Unit", "check_baseline", "check_plausible", "check_size",
    "is_plausible_baseline", "read_calibration", "write_native",
]  # fmt: skip

# The first format that recognises a file reads it.  ROS files and OpenCV files share names, so OpenCV comes last.
_BINARY = (npz.FORMAT, matlab.MAT)
FORMATS = (
    *_BINARY, native.FORMAT, middlebury.FORMAT, davinci.FORMAT, endovis.FORMAT, scared_frame.FORMAT, matlab.JSON,
    k_txt.FORMAT, kalibr.FORMAT, ros.FORMAT, opencv.FORMAT,
)  # fmt: skip
_BINARY_ENDINGS, _MAX_BINARY_BYTES = (".mat", ".npz"), 2**24  # MATLAB keeps the corners of all boards as well
_PLAUSIBLE_BASELINE_MM = (0.1, 3000.0)
_SAME_BASELINE = 1e-3  # a share: files and users round


def read_calibration(
    path: Place, second: Place | None = None, *, unit: Unit | None = None, baseline_mm: float | None = None
) -> CalibrationFile:
    """Recognise the format of a calibration file and read it.

    Parameters
    ----------
    path, second, unit, baseline_mm
        As in :meth:`bdis.Rig.load`.

    Returns
    -------
    CalibrationFile
        Content of the file in px and mm.

    Raises
    ------
    ValueError
        The format is not known or of one file where two are given, something is missing in the file, or it has more
        than 1 MB (.mat and .npz: 16 MB).
    OSError
        The file cannot be read.
    ImportError
        It is a .mat file of version 7.3, and h5py is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "K.txt").write_text("500 0 320 0 500 240 0 0 1\\n0.005")
    ...     found = read_calibration(f"{folder}/K.txt")
    >>> found.rectified["baseline_mm"], found.unit
    (5.0, 'm (K.txt convention)')
    """
    if unit is not None and unit not in MILLIMETRES:
        raise ValueError(f"unit must be one of {', '.join(map(repr, MILLIMETRES))}, but it is {unit!r}")
    if baseline_mm is not None:
        check_baseline(baseline_mm, "baseline_mm")
    path = Path(path)
    try:
        is_binary = path.suffix.lower() in _BINARY_ENDINGS
        content = read_limited(path, _MAX_BINARY_BYTES if is_binary else MAX_CALIBRATION_BYTES)
        stated = (None if second is None else Path(second), unit, baseline_mm)
        file = CalibrationText(path, "", *stated, content)
        if not any(each.recognises(file) for each in _BINARY):
            file = CalibrationText(path, content.decode("utf-8-sig"), *stated)
        found = _read(file)
    except UnicodeDecodeError:
        raise _unknown_format(path, "it is not a text file, nor .mat or .npz") from None
    except UnknownFormatError as error:
        raise _unknown_format(path, str(error)) from error
    except (ValueError, ElementTree.ParseError) as error:
        raise ValueError(f"{path}: {printable(str(error))}") from error
    if baseline_mm is not None:
        found = _with_baseline(found, path, baseline_mm)
    try:
        check_plausible(found, _how_to_correct(found, unit))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return found if unit is None and baseline_mm is None else replace(found, states_unit=True)


def check_plausible(found: CalibrationFile, advice: str) -> None:
    """Raise ValueError if cameras are as far apart as those of no stereo camera.

    Parameters
    ----------
    found : CalibrationFile
    advice : str
        How the message ends: what to do.

    Raises
    ------
    ValueError
        They are less than 0.1 mm or more than 3 m apart.

    Examples
    --------
    >>> check_plausible(CalibrationFile("K.txt", "m", None, {"baseline_mm": 5000}), "is it in mm?")
    Traceback (most recent call last):
    ValueError: read in m, the cameras are 5000 mm apart, which no stereo camera is; is it in mm?
    """
    if not is_plausible_baseline(found.length_mm):
        raise ValueError(
            f"read in {found.unit}, the cameras are {found.length_mm:.4g} mm apart, which no stereo camera is; {advice}"
        )


def check_baseline(baseline_mm: float, name: str) -> None:
    """Raise ValueError if a number that was given is the baseline of no stereo camera.

    Parameters
    ----------
    baseline_mm : float
        Distance between the cameras in mm; negative if left and right are swapped.
    name : str
        What the number is, for the message.

    Raises
    ------
    ValueError
        They are less than 0.1 mm or more than 3 m apart.

    Examples
    --------
    >>> check_baseline(0.005, "baseline_mm")
    Traceback (most recent call last):
    ValueError: baseline_mm is 0.005, which no stereo camera has; is it in another unit than mm?
    """
    if not is_plausible_baseline(abs(baseline_mm)):
        raise ValueError(f"{name} is {baseline_mm:g}, which no stereo camera has; is it in another unit than mm?")


def is_plausible_baseline(baseline_mm: float) -> bool:
    """Tell whether a stereo camera can have this baseline; if not, its unit is probably wrong.

    Parameters
    ----------
    baseline_mm : float
        Distance between the cameras in mm.

    Returns
    -------
    bool
        True from 0.1 mm to 3 m.

    Examples
    --------
    >>> is_plausible_baseline(4.0), is_plausible_baseline(0.004)
    (True, False)
    """
    low, high = _PLAUSIBLE_BASELINE_MM
    return low <= baseline_mm <= high


def _how_to_correct(found: CalibrationFile, unit: Unit | None) -> str:
    """What to do about a baseline in a file that no stereo camera has: it depends on who stated its unit."""
    if unit is not None:
        return f"is {unit} really the unit of the file?"
    if found.states_unit:
        return "the file states its unit, so correct its baseline"
    return 'give the unit of the file: unit="mm", "cm" or "m" (--unit on the command line)'


def _read(file: CalibrationText) -> CalibrationFile:
    """What the file says; ValueError if there is a second one that its format has no use for."""
    found = _format_of(file)
    if file.second is not None and not found.takes_second:
        others = "; ".join(each.description for each in FORMATS if each.takes_second)
        raise ValueError(
            f"{found.description} is a format of one file, but {file.second} is given as well; formats that may have "
            f"two are: {others}"
        )
    return found.read(file)


def _with_baseline(found: CalibrationFile, path: Path, baseline_mm: float) -> CalibrationFile:
    """The same cameras with the baseline that the user stated."""
    if found.rectified is None:
        raise ValueError(f"{path}: baseline_mm is for rectified cameras, but these are raw ones with a baseline")
    own = found.rectified["baseline_mm"] if found.replaced_baseline_mm is None else found.replaced_baseline_mm
    raw = found.raw
    if raw is not None:
        translation = raw["translation_mm"]
        raw = {**raw, "translation_mm": translation * (baseline_mm / np.linalg.norm(translation))}
    return replace(
        found,
        rectified={**found.rectified, "baseline_mm": baseline_mm},
        raw=raw,
        replaced_baseline_mm=own if abs(own - baseline_mm) > _SAME_BASELINE * abs(baseline_mm) else None,
    )


def _format_of(file: CalibrationText) -> CalibrationFormat:
    for candidate in FORMATS:
        if candidate.recognises(file):
            return candidate
    raise UnknownFormatError(file.problem or "it has none of the names that the known formats use")


def _unknown_format(path: Path, reason: str) -> ValueError:
    known = "; ".join(each.description for each in FORMATS)
    return ValueError(f"{path}: not a calibration file bdis knows: {printable(reason)}. Known formats: {known}")
