"""A raw stereo camera whose calibration is known, and whether a calibration that was read gives the right depth."""

import numpy as np
import pytest

import bdis

cv2 = pytest.importorskip("cv2")
SIZE = (1280, 1024)
CAMERAS = bdis.StereoCalibration(
    left_matrix=[[1084.2, 0, 580.3], [0, 1085.1, 506.8], [0, 0, 1]],
    left_distortion=[-0.12, 0.05, 0.0012, -0.0008, 0.01],
    right_matrix=[[1083.4, 0, 680.9], [0, 1082.7, 515.4], [0, 0, 1]],
    right_distortion=[-0.10, 0.04, -0.0006, 0.0011, 0.0],
    rotation=cv2.Rodrigues(np.array([0.012, -0.035, 0.02]))[0],
    translation_mm=[-4.35, 0.08, -0.06],
    size=SIZE,
)
POINTS_MM = np.array([(x, y, z) for x in (-15, 3, 14) for y in (-12, 2, 11) for z in (60.0, 95.0)])


def pixels(cameras=CAMERAS, points=POINTS_MM):
    """Where both cameras see the points, px, and their depth along the axis of the rectified left camera, mm."""
    turn, _ = cv2.Rodrigues(cameras.rotation)
    project = cv2.projectPoints
    left, _ = project(points, np.zeros(3), np.zeros(3), cameras.left_matrix, cameras.left_distortion)
    right, _ = project(points, turn, cameras.translation_mm, cameras.right_matrix, cameras.right_distortion)
    depth = (points @ cameras.rectify().left_rotation.T)[:, 2]
    return left.reshape(-1, 2), right.reshape(-1, 2), depth


def check_depth(read, cameras=CAMERAS, share=1e-3, rows_px=0.05):
    """With the calibration that was read, what the true cameras see lies in equal rows and at the true depth."""
    left, right, truth = pixels(cameras)
    rectifier = read.rectify()
    left, right = rectifier.points(left, right)
    assert np.abs(left[:, 1] - right[:, 1]).max() < rows_px, "rows"
    depth = rectifier.rig.depth((left[:, 0] - right[:, 0]).astype(np.float32))
    np.testing.assert_allclose(depth, truth, rtol=share)
