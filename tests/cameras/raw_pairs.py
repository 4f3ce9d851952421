"""What two raw cameras, distorted and turned towards each other, see of a rendered scene; and their calibration."""

import functools

import cv2
import numpy as np

import bdis
from bdis.synthetic.renderer import render

WIDTH, HEIGHT = 640, 480


def turn(x, y, z):
    """Rotation matrix (3, 3) of a rotation vector in radians."""
    return cv2.Rodrigues(np.array([x, y, z], float))[0]


@functools.cache
def raw_pair(scene="tissue", seed=1, rotation=(0.006, -0.03, 0.008), bend=(-0.2, 0.05, 0, 0, 0), size=(WIDTH, HEIGHT)):
    """Raw images (h, w, 3), their StereoCalibration, and the rendered pair they show.

    Each camera is turned by half of ``rotation`` out of the direction of the rendered ones.
    """
    width, height = size
    pair = render(scene, height, width, seed=seed)
    matrix = np.array([[pair.focal_px, 0, (width - 1) / 2], [0, pair.focal_px, (height - 1) / 2], [0, 0, 1]])
    half, distortion = turn(*np.array(rotation) / 2), np.array(bend, float)
    rows, columns = np.mgrid[:height, :width].astype(float)
    raw = []
    for image, turned in ((pair.left, half.T), (pair.right, half)):
        places = np.stack([columns, rows], -1).reshape(-1, 1, 2)
        places = cv2.undistortPoints(places, matrix, distortion, R=turned.T, P=matrix)
        across, down = np.moveaxis(places.reshape(height, width, 2).astype(np.float32), 2, 0)
        raw.append(cv2.remap(image, across, down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT))
    shift = half @ np.array([-pair.baseline_mm, 0, 0])
    cameras = bdis.StereoCalibration(matrix, distortion, matrix, distortion, half @ half, shift, size=size)
    return raw[0], raw[1], cameras, pair


def write_ros(folder, cameras):
    """left.yaml and right.yaml, as ROS calibrators write them; the path of the left one."""
    rotations, projections = _rectified(cameras)
    for side, rotation, projection in zip(("left", "right"), rotations, projections):
        matrix, distortion = getattr(cameras, f"{side}_matrix"), getattr(cameras, f"{side}_distortion")
        projection = projection * [1, 1, 1, 1e-3]  # the last column is in metres
        lines = [f"image_width: {cameras.size[0]}", f"image_height: {cameras.size[1]}", "distortion_model: plumb_bob"]
        for name, value in (
            ("camera_matrix", matrix), ("distortion_coefficients", distortion.reshape(1, -1)),
            ("rectification_matrix", rotation), ("projection_matrix", projection),
        ):  # fmt: skip
            lines += [f"{name}:", f"  rows: {value.shape[0]}", f"  cols: {value.shape[1]}"]
            lines.append(f"  data: [{', '.join(repr(float(number)) for number in value.ravel())}]")
        (folder / f"{side}.yaml").write_text("\n".join(lines) + "\n")
    return folder / "left.yaml"


def write_opencv(folder, cameras, intrinsics="intrinsics.yml", extrinsics="extrinsics.yml"):
    """The two files that OpenCV's sample stereo_calib writes; the path of the one with the extrinsics."""
    rotations, projections = _rectified(cameras)
    contents = {
        intrinsics: {
            "M1": cameras.left_matrix, "D1": cameras.left_distortion,
            "M2": cameras.right_matrix, "D2": cameras.right_distortion,
        },
        extrinsics: {
            "R": cameras.rotation, "T": cameras.translation_mm.reshape(3, 1),
            "R1": rotations[0], "R2": rotations[1], "P1": projections[0], "P2": projections[1],
        },
    }  # fmt: skip
    for name, matrices in contents.items():
        storage = cv2.FileStorage(str(folder / name), cv2.FILE_STORAGE_WRITE)
        for key, value in matrices.items():
            storage.write(key, np.ascontiguousarray(value))
        storage.release()
    return folder / extrinsics


def _rectified(cameras):
    found = cv2.stereoRectify(
        cameras.left_matrix, cameras.left_distortion, cameras.right_matrix, cameras.right_distortion, cameras.size,
        cameras.rotation, cameras.translation_mm.reshape(3, 1), flags=cv2.CALIB_ZERO_DISPARITY, alpha=-1,
    )  # fmt: skip
    return found[0:2], found[2:4]
