"""Calibrations in the formats of other tools: OpenCV, ROS, Kalibr and our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.atomic import Place, all_or_nothing, write_whole
from .calibration import StereoCalibration
from .formats import CalibrationFile
from .formats.native import native_text
from .rig import Rig

_METRES = 1e-3  # per mm
_SAME_BASELINE = 1e-3
_ANY_SIZE = (8192, 8192)  # in which every principal point lies
Text = tuple[str, str]  # name of a file, and what it contains


def write_calibration(
    found: CalibrationFile, path: Place, to: str, *, size: tuple[int, int] | None = None
) -> list[str]:
    """Write a calibration that was read in the format of another tool.

    Parameters
    ----------
    found : CalibrationFile
        As :func:`bdis.cameras.formats.read_calibration` returns it.
    path : str or path-like
        File to write, which must not exist; of ROS's pair that of the left camera, with "left" in its name.
    to : str
        A key of :data:`WRITERS`.
    size : tuple of int, optional
        (width, height) of the images in px, if ``found`` does not have it.

    Returns
    -------
    list of str
        What the format could not hold, for messages.

    Raises
    ------
    ValueError
        The format cannot hold these cameras, or something is missing.
    FileExistsError
        The file exists.
    OSError
        It cannot be written; no partial file is left.

    Examples
    --------
    >>> import tempfile
    >>> from bdis.cameras.formats import read_calibration
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Rig(500, 320, 240, 5, size=(640, 480)).save(f"{folder}/rig.toml")
    ...     _ = write_calibration(read_calibration(f"{folder}/rig.toml"), f"{folder}/left.yaml", "ros")
    ...     sorted(path.name for path in Path(folder).iterdir()), Rig.load(f"{folder}/left.yaml").baseline_mm
    (['left.yaml', 'rig.toml', 'right.yaml'], 5.0)
    """
    if to not in WRITERS:
        raise ValueError(f"there is no format {to!r} to write; choose among {', '.join(WRITERS)}")
    path = Path(path)
    cameras = _Cameras(found, size or found.size)
    texts, remarks = WRITERS[to](cameras, path)
    for name, _ in texts:
        if (path.parent / name).exists():
            raise FileExistsError(f"{path.parent / name} exists; choose another name")
    with all_or_nothing(path.parent) as stage:
        for name, text in texts:
            write_whole(stage / name, text.encode())
    return remarks


class _Cameras:
    """What is known of the cameras: raw ones, rectified ones, or both."""

    def __init__(self, found: CalibrationFile, size: tuple[int, int] | None):
        self.size = size
        self.rig = None if found.rectified is None else Rig(**found.rectified, size=size)
        self.raw: StereoCalibration | None = None
        if found.raw is not None and not found.raw_lacks:
            # Without a size nothing can be rectified, but some formats do without.
            self.raw = StereoCalibration(**found.raw, size=size or _ANY_SIZE)

    def needed_size(self, what: str) -> tuple[int, int]:
        if self.size is None:
            raise ValueError(f"{what} says how large the images are, and this calibration does not: give size (--size)")
        return self.size

    def lost(self, holds_sigma: bool = False) -> list[str]:
        """What formats of other tools have no place for."""
        if self.rig is None or self.rig.sigma_scale is None or holds_sigma:
            return []
        return [f"sigma_scale {self.rig.sigma_scale:g} is left out: only a rig of bdis (.toml, .json) has it"]


def _write_native(cameras: _Cameras, path: Path) -> tuple[list[Text], list[str]]:
    chosen: StereoCalibration | Rig | None = cameras.raw or cameras.rig
    assert chosen is not None
    remarks = [] if cameras.rig is chosen else cameras.lost()
    if cameras.raw is not None:
        cameras.needed_size("a calibration of raw cameras")
        if cameras.rig is not None:
            remarks.append("the rectified cameras are left out: bdis computes them from the raw ones")
    return [(path.name, native_text(path, chosen.content()))], remarks


def _write_opencv(cameras: _Cameras, path: Path) -> tuple[list[Text], list[str]]:
    raw, rig = cameras.raw, cameras.rig
    matrices: dict[str, Array] = {}
    if raw is not None:
        if raw.fisheye:
            raise ValueError(
                "an OpenCV file does not say that its distortion is that of a fisheye; write kalibr or ros"
            )
        # The names of OpenCV's own sample programs, which SCARED has as well.
        matrices |= {"M1": raw.left_matrix, "D1": raw.left_distortion[None], "M2": raw.right_matrix,
                     "D2": raw.right_distortion[None], "R": raw.rotation, "T": raw.translation_mm[:, None]}  # fmt: skip
    if rig is not None:
        left, right = _projections(rig)
        matrices |= {"P1": left, "P2": right, "Q": rig.Q}
    lines = ["%YAML:1.0", "---"]
    if cameras.size is not None:
        lines += [f"image_width: {cameras.size[0]}", f"image_height: {cameras.size[1]}"]
    for name, matrix in matrices.items():
        rows, columns = matrix.shape
        lines += [f"{name}: !!opencv-matrix", f"   rows: {rows}", f"   cols: {columns}", "   dt: d",
                  f"   data: [ {_numbers(matrix)} ]"]  # fmt: skip
    return [(path.name, _joined(lines))], cameras.lost()


def _write_ros(cameras: _Cameras, path: Path) -> tuple[list[Text], list[str]]:
    """K and D of raw cameras with the rotations that rectify them; of rectified cameras K is that of P."""
    other = re.sub("left", "right", path.name, flags=re.IGNORECASE)
    if other == path.name:
        raise ValueError(
            f"{path.name} has no 'left' in its name; ROS has a file for each camera, left.yaml and right.yaml"
        )
    size = cameras.needed_size("a ROS camera_info")
    raw, rig = cameras.raw, cameras.rig
    if raw is None:
        assert rig is not None
        projections, model = _projections(rig), "plumb_bob"
        sides = [(projection[:, :3], np.zeros(5), np.eye(3)) for projection in projections]
    else:
        rectifier = raw.rectify()
        if rig is None:
            rig = rectifier.rig
        if abs(rig.baseline_mm / np.linalg.norm(raw.translation_mm) - 1) > _SAME_BASELINE:
            raise ValueError("the baselines of the raw and of the rectified cameras differ: they are not of one pair")
        projections = _projections(rig)
        model, distortions = _ros_distortion(raw)
        rotations = (rectifier.left_rotation, rectifier.left_rotation @ raw.rotation.T)
        sides = list(zip((raw.left_matrix, raw.right_matrix), distortions, rotations))
    texts = []
    for name, title, (matrix, distortion, rotation), projection in zip(
        (path.name, other), ("left", "right"), sides, projections
    ):
        projection = projection.copy()
        projection[0, 3] *= _METRES
        lines = [f"image_width: {size[0]}", f"image_height: {size[1]}", f"camera_name: {title}",
                 f"distortion_model: {model}"]  # fmt: skip
        for key, values in (("camera_matrix", matrix), ("distortion_coefficients", distortion[None]),
                            ("rectification_matrix", rotation), ("projection_matrix", projection)):  # fmt: skip
            lines += [f"{key}:", f"  rows: {values.shape[0]}", f"  cols: {values.shape[1]}",
                      f"  data: [{_numbers(values)}]"]  # fmt: skip
        texts.append((name, _joined(lines)))
    return texts, cameras.lost()


def _ros_distortion(raw: StereoCalibration) -> tuple[str, list[Array]]:
    if raw.fisheye:
        return "equidistant", [raw.left_distortion, raw.right_distortion]
    coefficients = [raw.left_distortion, raw.right_distortion]
    most = max(map(len, coefficients))
    if most > 8 and any(each[8:].any() for each in coefficients):
        raise ValueError(f"{most} distortion coefficients; ROS's models have 5 or 8")
    count = 5 if most <= 5 else 8
    model = "plumb_bob" if count == 5 else "rational_polynomial"
    return model, [np.append(each, np.zeros(count))[:count] for each in coefficients]


def _write_kalibr(cameras: _Cameras, path: Path) -> tuple[list[Text], list[str]]:
    raw = cameras.raw
    if raw is None:
        raise ValueError("a Kalibr camchain is of raw cameras, but this calibration has rectified ones only")
    width, height = cameras.needed_size("a Kalibr camchain")
    lines = []
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = raw.rotation, raw.translation_mm * _METRES
    for number, (matrix, distortion) in enumerate(
        ((raw.left_matrix, raw.left_distortion), (raw.right_matrix, raw.right_distortion))
    ):
        if matrix[0, 1] or distortion[4:].any():
            lost = "a skew" if matrix[0, 1] else f"coefficients beyond k1, k2, p1, p2 ({_numbers(distortion[4:])})"
            raise ValueError(
                f"the {'right' if number else 'left'} camera has {lost}, which Kalibr's radtan cannot hold"
            )
        fx, fy, cx, cy = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
        lines += [f"cam{number}:"]
        if number:
            lines += ["  T_cn_cnm1:", *(f"  - [{_numbers(row)}]" for row in transform)]
        lines += ["  camera_model: pinhole", f"  distortion_coeffs: [{_numbers(distortion[:4])}]",
                  f"  distortion_model: {'equidistant' if raw.fisheye else 'radtan'}",
                  f"  intrinsics: [{_numbers(np.array([fx, fy, cx, cy]))}]", f"  resolution: [{width}, {height}]",
                  f"  rostopic: /cam{number}/image_raw"]  # fmt: skip
    remarks = [*cameras.lost()]
    if cameras.rig is not None:
        remarks.append("the rectified cameras are left out: Kalibr has raw ones only")
    return [(path.name, _joined(lines))], remarks


def _projections(rig: Rig) -> tuple[Array, Array]:
    """P1 and P2 of OpenCV, in px and mm."""
    f = rig.focal_px
    left = np.array([[f, 0, rig.cx, 0], [0, f, rig.cy, 0], [0, 0, 1, 0]])
    right = left.copy()
    right[0, 2:] = rig.cx + rig.doffs, -f * rig.baseline_mm
    return left, right


def _numbers(values: Iterable[Any]) -> str:
    """All digits, so that they are read back exactly."""
    return ", ".join(repr(float(value)) for value in np.ravel(np.asarray(values)))


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


WRITERS: dict[str, Callable[[_Cameras, Path], tuple[list[Text], list[str]]]] = {
    "bdis": _write_native, "opencv": _write_opencv, "ros": _write_ros, "kalibr": _write_kalibr,
}  # fmt: skip
