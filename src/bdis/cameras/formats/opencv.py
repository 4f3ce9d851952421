"""OpenCV FileStorage: YAML, XML and JSON, as in SCARED, SERV-CT and many other data sets."""

from typing import Any
from xml.etree import ElementTree

import numpy as np

from ...common.arrays import Array
from ...common.reading import MAX_CALIBRATION_BYTES, read_text
from .base import CalibrationFile, CalibrationFormat, CalibrationText, Size, Unit, UnknownFormatError, check_size
from .declared import says_fisheye, unit_stated
from .matrices import matrix_of, rectified_of, rectified_of_projections, reshaped
from .spellings import DISTORTION, is_empty, like_distortion, of_both_sides, shown
from .yaml_subset import scalar_of

# The distortion has many more names.
_SPELLINGS = {
    "K1": ("M1", "K1", "cameraMatrix1"), "K2": ("M2", "K2", "cameraMatrix2"), "R": ("R",), "T": ("T",),
    "P1": ("P1",), "P2": ("P2",), "Q": ("Q",),
}  # fmt: skip

_ROUNDED = 1e-6  # by which a number of Q that must be 0 or 1 may differ from it
_MOST_DIFFERENCE, _MOST_DIFFERENCE_PX = 0.01, 0.5  # between Q and P1 with P2: a share of lengths; px of the centre


def _is_xml(file: CalibrationText) -> bool:
    return file.text.lstrip().startswith("<")


def _recognises(file: CalibrationText) -> bool:
    return _is_xml(file) or any(name in file.values for names in _SPELLINGS.values() for name in names)


def _read(file: CalibrationText) -> CalibrationFile:
    """Read raw cameras (K1, D1, K2, D2, R, T), rectified ones (P1 and P2, or Q), or both."""
    kind = "XML" if _is_xml(file) else "JSON" if file.text.lstrip().startswith("{") else "YAML"
    name = f"OpenCV FileStorage {kind}"
    values = _values(file)
    matrices = _matrices(values)
    if (other := _other_half(file, matrices)) is not None:
        name += f" with {other.path.name}"
        values = {**_values(other), **values}
        matrices = _merged(matrices, _matrices(_values(other)), other.path.name)
    if "K1" in matrices and "D1" not in matrices and (unclear := like_distortion(_with_numbers(values))):
        raise ValueError(
            f"{', '.join(map(shown, unclear[:5]))}, but no distortion of both cameras; expected it as D1 and D2"
        )
    fisheye = says_fisheye(values) if "K1" in matrices else None
    unit = unit_stated(values) if file.unit is None else None
    return cameras_of(name, matrices, _size(values), file, fisheye=fisheye, unit=unit)


def cameras_of(
    name: str,
    matrices: dict[str, Array],
    size: Size | None,
    file: CalibrationText,
    *,
    lacking: str = "",
    fisheye: bool | None = None,
    unit: Unit | None = None,
) -> CalibrationFile:
    """Cameras from matrices with OpenCV's names and meaning.

    Parameters
    ----------
    name : str
        Name of the format, for messages.
    matrices : dict
        Any of K1, D1, K2, D2, R, T of raw cameras, and P1, P2, Q of rectified ones.
    size : (int, int) or None
        Of the images.
    file : CalibrationText
        Has what the user stated.
    lacking : str
        What the file has instead, for messages.
    fisheye : bool, optional
        Whether the file says that the lenses are fisheyes; None if it says nothing.
    unit : {"mm", "cm", "m"}, optional
        Unit of length that the file states.

    Raises
    ------
    ValueError
        The matrices describe no cameras.
    """
    reason = "as the file says" if unit else f"assumed: {name.partition(' ')[0]} files do not say"
    millimetres, unit_text = file.millimetres(unit or "mm", reason)
    states_unit = unit is not None
    rectified: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None
    if "P1" in matrices and "P2" in matrices:
        left, right = (reshaped(matrices[side], side, (3, 4)) for side in ("P1", "P2"))
        rectified = rectified_of_projections(left, right, millimetres)
        _check_agrees(rectified, matrices.get("Q"), millimetres, file)
    elif "Q" in matrices:
        rectified = _rectified_of_q(reshaped(matrices["Q"], "Q", (4, 4)), millimetres)
    if all(name in matrices for name in ("K1", "K2", "R", "T")):
        distortions = _distortions(matrices)
        raw = {
            "left_matrix": reshaped(matrices["K1"], "K1", (3, 3)),
            "left_distortion": distortions[0].ravel(),
            "right_matrix": reshaped(matrices["K2"], "K2", (3, 3)),
            "right_distortion": distortions[1].ravel(),
            "rotation": reshaped(matrices["R"], "R", (3, 3)),
            "translation_mm": reshaped(matrices["T"], "T", (3,)) * millimetres,
            "fisheye": bool(fisheye),
        }
        if rectified is not None and file.baseline_mm is None:
            _check_length(raw["translation_mm"], rectified)
    elif rectified is not None and "R" in matrices and "T" in matrices:
        return CalibrationFile(
            name, unit_text, size, rectified, states_unit=states_unit, **_raw_without_intrinsics(rectified, matrices)
        )
    if rectified is None and raw is None:
        if not matrices:
            raise UnknownFormatError(lacking or "it has none of the names that the known formats use")
        missing = [name for name in ("K1 (or M1)", "K2 (or M2)", "R", "T") if name[:2].strip() not in matrices]
        raise ValueError(
            f"{name} with {', '.join(matrices)}, but without {', '.join(missing)}; "
            "expected K1, K2, R and T of raw cameras, or P1 and P2, or Q, of rectified ones"
        )
    lacks_distortion = raw is not None and "D1" not in matrices
    assumed = _assumed_lens(raw) if fisheye is None else ""
    if lacks_distortion:
        assumed = "no distortion in the file: read as none"
    return CalibrationFile(
        name, unit_text, size, rectified, raw,
        states_unit=states_unit, assumed=assumed, lacks_distortion=lacks_distortion,
    )  # fmt: skip


def _distortions(matrices: dict[str, Array]) -> tuple[Array, Array]:
    """Distortion coefficients of both cameras, 0 if neither has any; ValueError if only one has."""
    if ("D1" in matrices) != ("D2" in matrices):
        there, missing = ("D1", "D2") if "D1" in matrices else ("D2", "D1")
        raise ValueError(f"{there} without {missing}; expected the distortion of both cameras")
    return matrices.get("D1", np.zeros(5)), matrices.get("D2", np.zeros(5))


def _assumed_lens(raw: dict[str, Any] | None) -> str:
    """What is to be said of four coefficients, as a lens of either kind may have; all others are no fisheye's."""
    if raw is None:
        return ""
    distortions = [raw["left_distortion"], raw["right_distortion"]]
    if all(len(each) == 4 for each in distortions) and any(each.any() for each in distortions):
        return "its 4 distortion coefficients are read as k1, k2, p1, p2 of a pinhole camera, not as those of a fisheye"
    return ""


def _values(file: CalibrationText) -> dict[str, Any]:
    """Names and values of one file."""
    return _parse_xml(file.text) if _is_xml(file) else file.values


def _other_half(file: CalibrationText, matrices: dict[str, Array]) -> CalibrationText | None:
    """The second file, as given, or found by the names that OpenCV's sample gives: intrinsics and extrinsics."""
    path = file.second
    if path is None:
        if all(name in matrices for name in ("K1", "K2", "R", "T")):
            return None
        names = ("intrinsics", "extrinsics") if "K1" in matrices else ("extrinsics", "intrinsics")
        path = file.path.with_name(file.path.name.replace(*names))
        if path == file.path or not path.exists():
            return None
    other = CalibrationText(path, read_text(path, MAX_CALIBRATION_BYTES))
    if not _recognises(other):
        raise ValueError(f"{path} has none of the names of an OpenCV calibration")
    return other


def _merged(ours: dict[str, Array], others: dict[str, Array], name: str) -> dict[str, Array]:
    """The matrices of both files; ValueError if they contradict each other."""
    for shared in ours.keys() & others.keys():
        if not np.array_equal(ours[shared], others[shared]):
            raise ValueError(f"{shared} differs from that in {name}: these are of two calibrations")
    return others | ours


def _raw_without_intrinsics(rectified: dict[str, Any], matrices: dict[str, Array]) -> dict[str, Any]:
    """Raw cameras of a file that has only their rotation: with the focal length of the rectified ones, undistorted."""
    focal, cx, cy = (rectified[name] for name in ("focal_px", "cx", "cy"))
    matrix = np.array([[focal, 0, cx], [0, focal, cy], [0, 0, 1]])
    translation = reshaped(matrices["T"], "T", (3,))
    if not translation.any():
        raise ValueError("T is 0: the cameras would be in one place")
    raw = {
        "left_matrix": matrix, "left_distortion": np.zeros(5), "right_matrix": matrix, "right_distortion": np.zeros(5),
        "rotation": reshaped(matrices["R"], "R", (3, 3)),
        "translation_mm": translation * (rectified["baseline_mm"] / np.linalg.norm(translation)),
    }  # fmt: skip
    return {"raw": raw, "raw_lacks": "M1, D1, M2 and D2 (in OpenCV's intrinsics.yml)"}


def _matrices(values: dict[str, Any]) -> dict[str, Array]:
    """Matrices of the file under the first name of each in :data:`_SPELLINGS` that has a value."""
    matrices = {}
    for name, spellings in _SPELLINGS.items():
        for spelling in spellings:
            if values.get(spelling) is not None:
                matrices[name] = matrix_of(values[spelling], spelling)
                break
    return matrices | of_both_sides(_with_numbers(values), "D", DISTORTION)


def _with_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """What may be a matrix, and is not an empty one."""
    return {name: value for name, value in values.items() if isinstance(value, list | dict) and not is_empty(value)}


def _size(values: dict[str, Any]) -> Size | None:
    """Size of the images under any of the names in use."""
    for width, height in (("image_width", "image_height"), ("width", "height"), ("imageWidth", "imageHeight")):
        if width in values and height in values:
            return check_size((values[width], values[height]))
    for name in ("size", "image_size", "imageSize", "img_size"):
        if isinstance(values.get(name), list | dict):
            return check_size(matrix_of(values[name], name).ravel().tolist())
    return None


def _parse_xml(text: str) -> dict[str, Any]:
    """Names and values of a FileStorage in XML, in the form that :func:`parse_yaml` returns for YAML."""
    values: dict[str, Any] = {}
    for node in ElementTree.fromstring(text, ElementTree.XMLParser(target=_WithoutDoctype())):
        if node.find("data") is not None:
            values[node.tag] = {child.tag: child.text or "" for child in node}
            values[node.tag]["data"] = [scalar_of(word) for word in values[node.tag]["data"].split()]
        else:
            words = [scalar_of(word) for word in (node.text or "").split()]
            values[node.tag] = words[0] if len(words) == 1 else words
    return values


class _WithoutDoctype(ElementTree.TreeBuilder):
    """Refuses the declarations with which a small XML file can become gigabytes, before they are read."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("XML with a DOCTYPE or entities, which calibration files do not have")


def _rectified_of_q(q: Array, millimetres: float) -> dict[str, Any]:
    """Arguments of :class:`bdis.Rig` from OpenCV's 4x4 reprojection matrix, which may be multiplied by any number."""
    q = q / q[0, 0] if abs(q[0, 0]) > 1e-12 else q
    form = np.array([[1, 0, 0, q[0, 3]], [0, 1, 0, q[1, 3]], [0, 0, 0, q[2, 3]], [0, 0, *q[3, 2:]]])
    if np.abs(q - form).max() > _ROUNDED:
        raise ValueError("Q is not OpenCV's reprojection matrix; expected 1 0 0 -cx, 0 1 0 -cy, 0 0 0 f, 0 0 1/b d/b")
    if abs(q[3, 2]) < 1e-12:
        raise ValueError("Q[3,2] (one over the baseline) is 0")
    baseline = float(1 / q[3, 2])
    cx, offset = -float(q[0, 3]), float(q[3, 3]) * baseline
    return rectified_of(float(q[2, 3]), cx, -float(q[1, 3]), baseline * millimetres, cx + offset)


def _check_agrees(rectified: dict[str, Any], q: Array | None, millimetres: float, file: CalibrationText) -> None:
    """Raise ValueError if Q, where it is of OpenCV's form, is of other cameras than P1 and P2."""
    try:
        if q is None:
            return
        other = _rectified_of_q(reshaped(q, "Q", (4, 4)), millimetres)
    except ValueError:
        return  # another convention: P1 and P2 say everything
    differing = [name for name in ("cx", "cy") if abs(rectified[name] - other[name]) > _MOST_DIFFERENCE_PX]
    centres = [each["cx"] if each["cx_right"] is None else each["cx_right"] for each in (rectified, other)]
    if abs(centres[0] - centres[1]) > _MOST_DIFFERENCE_PX:
        differing.append("cx of the right camera")
    # The sign of Q's baseline differs between versions of OpenCV; one that the user states replaces both.
    lengths = ["focal_px"] if file.baseline_mm is not None else ["focal_px", "baseline_mm"]
    differing += [name for name in lengths if abs(abs(other[name] / rectified[name]) - 1) > _MOST_DIFFERENCE]
    if differing:
        raise ValueError(
            f"Q contradicts P1 and P2 in {', '.join(differing)}: these are of two calibrations, or the file was "
            "changed; leave out what is wrong"
        )


def _check_length(translation_mm: Array, rectified: dict[str, Any]) -> None:
    """Raise ValueError if the raw cameras are not as far apart as the rectified ones, which rectification keeps."""
    length, baseline = float(np.linalg.norm(translation_mm)), abs(rectified["baseline_mm"])
    if abs(length - baseline) > _MOST_DIFFERENCE * baseline:
        raise ValueError(
            f"T is {length:.4g} mm long, but the rectified cameras are {baseline:.4g} mm apart: these are of two "
            "calibrations, or of two units"
        )


FORMAT = CalibrationFormat(
    "OpenCV FileStorage YAML, XML or JSON, SCARED, SERV-CT (M1 or K1, D1, M2 or K2, D2, R, T; or P1, P2; or Q)",
    _recognises,
    _read,
    takes_second=True,
)
