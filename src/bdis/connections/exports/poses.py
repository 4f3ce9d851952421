"""Poses of a camera from a text file: rows of TUM's kind (also those of StereoMIS), 3x4 or 4x4 matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.arrays import Array
from ...common.atomic import Place
from ...common.reading import MAX_TEXT_BYTES, read_text

MILLIMETRES = {"mm": 1.0, "cm": 10.0, "m": 1000.0}
_EXPECTED = (
    "rows of 8 numbers (time, tx, ty, tz, qx, qy, qz, qw), of 12 or 16 (a 3x4 or 4x4 matrix), or 4x4 matrices of four "
    "rows each"
)
_TUM = 8  # numbers of a row that begins with a time
_UNITS_S = (1.0, 1e-3, 1e-6, 1e-9)  # of times in such rows: files do not say
_TOLERANCE = 1e-2  # of a rotation: files have few digits


def read_poses(
    path: Place,
    unit: str,
    indices: Sequence[int],
    *,
    inverse: bool = False,
    times_s: Sequence[float] | None = None,
    source_frames: int | None = None,
) -> Array:
    """Read the pose of every frame.

    Parameters
    ----------
    path : str or path-like
        Text file with TUM's rows (time, translation, quaternion x y z w), as StereoMIS has them in ``groundtruth.txt``
        too, or with matrices; # begins a comment.
    unit : {"mm", "cm", "m"}
        Unit of its translations, which no such file says.
    indices : sequence of int
        Numbers of the frames in their source.  If the file has as many poses as there are frames, they are taken in
        order; if it has more, those of these numbers.
    inverse : bool
        The poses are from the world to the camera.  Default: from the camera to the world.
    times_s : sequence of float, optional
        Times of the frames.  If the file has more poses than there are frames, the times in its rows must go as these
        do, whatever they count from.  Default: times in the file do not count.
    source_frames : int, optional
        How many frames the source has; a file with as many poses has one for each of them, whatever its times.

    Returns
    -------
    ndarray of float64, shape (len(indices), 4, 4)
        From the camera to the world, in mm.

    Raises
    ------
    ValueError
        Another kind of file, too few poses, one that is no rigid motion, or poses of other times than the frames.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/groundtruth.txt", "w") as file:
    ...         _ = file.write("# time tx ty tz qx qy qz qw\\n0.00 0.001 0 0 0 0 0 1\\n0.04 0.002 0 0 0 0 0 1\\n")
    ...     read_poses(f"{folder}/groundtruth.txt", "m", [0, 1])[:, :3, 3].tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    if unit not in MILLIMETRES:
        raise ValueError(f"the unit of poses is {unit!r}; expected one of {', '.join(MILLIMETRES)}")
    rows = _rows(path)
    poses = _matrices(rows, path)
    if len(poses) != len(indices):
        if len(poses) <= max(indices, default=0):
            raise ValueError(
                f"{path} has {len(poses)} poses for {len(indices)} frames, whose numbers go up to {max(indices)}"
            )
        if times_s is not None and len(rows) != source_frames and len(rows[0]) == _TUM:
            _check_times(np.array([row[0] for row in rows]), indices, times_s, path)
        poses = poses[np.asarray(indices)]
    _check_rigid(poses, path)
    poses[:, :3, :3] = _nearest_rotations(poses[:, :3, :3])
    poses[:, :3, 3] *= MILLIMETRES[unit]
    return np.linalg.inv(poses) if inverse else poses


def _check_times(stamps: Array, indices: Sequence[int], times_s: Sequence[float], path: Place) -> None:
    """Raise ValueError if the rows that the numbers of the frames choose are not at the times of the frames."""
    chosen, times = stamps[np.asarray(indices)], np.asarray(times_s, np.float64)
    numbers = np.arange(len(stamps))
    if len(times) < 2 or np.array_equal(stamps - stamps[0], numbers) or not np.ptp(stamps):
        return  # they count the frames, or say nothing
    step_s = np.median(np.diff(times) / np.diff(np.asarray(indices)))
    passed, expected = chosen - chosen[0], times - times[0]
    wrong = [np.abs(passed * unit_s - expected) > step_s / 2 for unit_s in _UNITS_S]
    if all(each.any() for each in wrong):
        first = int(np.flatnonzero(wrong[0])[0])
        raise ValueError(
            f"{path} has {len(stamps)} poses for {len(indices)} frames, and their times are not those of the frames: "
            f"frame {indices[first]} is {expected[first]:.3f} s after frame {indices[0]}, pose {indices[first]} is "
            f"{passed[first]:g} after pose {indices[0]}; give a file with the pose of each frame, in order"
        )


def _rows(path: Place) -> list[list[float]]:
    rows = []
    for number, line in enumerate(read_text(path, MAX_TEXT_BYTES).splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        try:
            if words:
                rows.append([float(word) for word in words])
        except ValueError:
            raise ValueError(f"{path}, line {number}: {line[:60]!r} is no pose; expected {_EXPECTED}") from None
    return rows


def _matrices(rows: list[list[float]], path: Place) -> Array:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or not lengths <= {4, 8, 12, 16} or (lengths == {4} and len(rows) % 4):
        shown = ", ".join(map(str, sorted(lengths)[:5])) or "no"
        raise ValueError(f"{path} has {len(rows)} rows of {shown} numbers; expected {_EXPECTED}")
    values = np.array(rows)
    if not np.isfinite(values).all() or np.abs(values).max() > 1e12:
        raise ValueError(f"{path} has NaN, infinite or absurd values")
    if lengths == {_TUM}:
        return _of_quaternions(values, path)
    if lengths == {12}:
        bottom = np.tile([0.0, 0, 0, 1], (len(values), 1))
        values = np.hstack([values, bottom])
    return values.reshape(-1, 4, 4)


def _of_quaternions(values: Array, path: Place) -> Array:
    translation, quaternions = values[:, 1:4], values[:, 4:8]
    lengths = np.linalg.norm(quaternions, axis=1)
    if (wrong := np.flatnonzero(np.abs(lengths - 1) > _TOLERANCE)).size:
        raise ValueError(
            f"{path}: the quaternion of pose {wrong[0]} has length {lengths[wrong[0]]:.4g}; a rotation has 1"
        )
    x, y, z, w = (quaternions / lengths[:, None]).T
    poses = np.tile(np.eye(4), (len(values), 1, 1))
    poses[:, :3, :3] = np.moveaxis(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        ),
        2,
        0,
    )
    poses[:, :3, 3] = translation
    return poses


def _check_rigid(poses: Array, path: Place) -> None:
    rotations = poses[:, :3, :3]
    error = np.abs(rotations @ np.swapaxes(rotations, 1, 2) - np.eye(3)).max(axis=(1, 2))
    bottom = np.abs(poses[:, 3] - [0, 0, 0, 1]).max(axis=1)
    with np.errstate(over="ignore"):
        wrong = np.flatnonzero(
            (error > _TOLERANCE) | (bottom > 1e-9) | ~(np.linalg.det(rotations) > 0)  # a mirror is no motion
        )
    if wrong.size:
        raise ValueError(
            f"{path}: pose {wrong[0]} is no rigid motion: expected a rotation, a translation and a last row of 0 0 0 1"
        )


def _nearest_rotations(rotations: Array) -> Array:
    """Without what rounding in the file has added."""
    u, _, v = np.linalg.svd(rotations)
    nearest: Array = u @ v
    return nearest


def quaternions_of(rotations: Array) -> Array:
    """Unit quaternions of rotations.

    Parameters
    ----------
    rotations : ndarray, shape (n, 3, 3)

    Returns
    -------
    ndarray of float64, shape (n, 4)
        x, y, z, w with w not negative.

    Examples
    --------
    >>> quaternions_of(np.eye(3)[None]).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """
    found = []
    for r in rotations:
        # The eigenvector of the largest eigenvalue: no division by a small number, whatever the angle.
        k = np.array(
            [
                [r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
                [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
                [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], 0],
                [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
            ]
        )
        quaternion = np.linalg.eigh(k)[1][:, -1]  # of the lower triangle
        found.append(quaternion if quaternion[3] >= 0 else -quaternion)
    return np.array(found).reshape(-1, 4) + 0.0  # no -0.0
