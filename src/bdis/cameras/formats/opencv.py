"""OpenCV FileStorage: YAML, XML and JSON; SCARED, SERV-CT and most others."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .record import (
    Array,
    CalibrationFile,
    Length,
    Size,
    check_size,
    check_square,
    matrix_of,
    shaped,
    unknown_format,
    unless_equal,
)
from .yaml_subset import parse_yaml


def read_opencv(values: dict[str, Any], name: str, length: Length) -> CalibrationFile:
    """Raw cameras (K1, D1, K2, D2, R, T), rectified ones (P1 and P2, or Q), or both, whatever is there."""
    millimetres, unit = length.resolve("mm", "assumed: OpenCV files do not say")
    matrices = {}
    for wanted, spellings in {
        "K1": ("M1", "K1", "cameraMatrix1"), "K2": ("M2", "K2", "cameraMatrix2"),
        "D1": ("D1", "distCoeffs1"), "D2": ("D2", "distCoeffs2"), "R": ("R",), "T": ("T",),
        "P1": ("P1",), "P2": ("P2",), "Q": ("Q",),
    }.items():  # fmt: skip
        for spelling in spellings:
            if values.get(spelling) is not None:
                matrices[wanted] = matrix_of(values[spelling], spelling)
                break
    rectified = raw = None
    if "P1" in matrices and "P2" in matrices:
        rectified = from_projections(shaped(matrices, "P1", (3, 4)), shaped(matrices, "P2", (3, 4)), millimetres)
    elif "Q" in matrices:
        rectified = _from_q(shaped(matrices, "Q", (4, 4)), millimetres)
    if all(name in matrices for name in ("K1", "K2", "R", "T")):
        raw = {
            "left_matrix": shaped(matrices, "K1", (3, 3)),
            "left_distortion": matrices.get("D1", np.zeros(5)).ravel(),
            "right_matrix": shaped(matrices, "K2", (3, 3)),
            "right_distortion": matrices.get("D2", np.zeros(5)).ravel(),
            "rotation": shaped(matrices, "R", (3, 3)),
            "translation_mm": shaped(matrices, "T", (3,)) * millimetres,
        }
    if rectified is None and raw is None:
        if not matrices:
            raise unknown_format("none of their names are in it")
        lacking = [name for name in ("K1 (or M1)", "K2 (or M2)", "R", "T") if name[:2].strip() not in matrices]
        raise ValueError(
            f"{name} with {', '.join(matrices)}, but without {', '.join(lacking)}; "
            "expected K1, K2, R and T of raw cameras, or P1 and P2, or Q, of rectified ones"
        )
    return CalibrationFile(name, unit, _opencv_size(values), rectified, raw)


def _opencv_size(values: dict[str, Any]) -> Size | None:
    for width, height in (("image_width", "image_height"), ("width", "height"), ("imageWidth", "imageHeight")):
        if width in values and height in values:
            return check_size((values[width], values[height]))
    for name in ("size", "image_size", "imageSize", "img_size"):
        if isinstance(values.get(name), list | dict):
            return check_size(matrix_of(values[name], name).ravel().tolist())
    return None


def parse_opencv_xml(text: str) -> dict[str, Any]:
    """The names and values of a FileStorage in XML, as :func:`parse_yaml` gives those of one in YAML."""
    if "<!" in re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL):
        raise ValueError("XML with a DOCTYPE or entities, which calibration files do not have")
    values: dict[str, Any] = {}
    for node in ElementTree.fromstring(text):
        if node.find("data") is not None:
            values[node.tag] = {child.tag: child.text or "" for child in node}
            values[node.tag]["data"] = [parse_yaml(word) for word in values[node.tag]["data"].split()]
        else:
            words = [parse_yaml(word) for word in (node.text or "").split()]
            values[node.tag] = words[0] if len(words) == 1 else words
    return values


def from_projections(left: Array, right: Array, millimetres: float) -> dict[str, Any]:
    """Rig of two 3x4 projection matrices; right[0, 3] = -f b."""
    check_square(right)
    focal = float(right[0, 0])
    if abs(left[0, 0] - focal) > 1e-3 * focal or abs(left[1, 2] - right[1, 2]) > 0.5:
        raise ValueError("the projection matrices differ in focal length or row of the centre: not of a rectified pair")
    if abs(right[1, 3]) > abs(right[0, 3]):
        raise ValueError("the cameras stand above each other (P2[1,3]); expected them side by side")
    if left[0, 3] and not right[0, 3]:
        raise ValueError("the left projection matrix holds the baseline: left and right are swapped")
    baseline = -float(right[0, 3] - left[0, 3]) / focal * millimetres
    if baseline == 0:
        raise ValueError("the right projection matrix has no baseline (P[0,3] is 0): not calibrated as a stereo pair")
    return {
        "focal_px": focal, "cx": float(left[0, 2]), "cy": float(left[1, 2]), "baseline_mm": baseline,
        "cx_right": unless_equal(float(right[0, 2]), float(left[0, 2])),
    }  # fmt: skip


def _from_q(q: Array, millimetres: float) -> dict[str, Any]:
    if q[3, 2] == 0:
        raise ValueError("Q[3,2] (one over the baseline) is 0")
    baseline = float(1 / q[3, 2])
    cx, offset = -float(q[0, 3]), float(q[3, 3]) * baseline
    return {
        "focal_px": float(q[2, 3]), "cx": cx, "cy": -float(q[1, 3]), "baseline_mm": baseline * millimetres,
        "cx_right": unless_equal(cx + offset, cx),
    }  # fmt: skip
