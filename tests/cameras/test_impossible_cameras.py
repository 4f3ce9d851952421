"""Calibrations that contradict themselves, or are of no camera that there is, are refused in words."""

import re

import numpy as np
import pytest

import bdis
from bdis.cameras.formats import read_calibration
from tests.cameras.test_calibration_files import (
    D1,
    D2,
    K1,
    K2,
    MIDDLEBURY,
    P1,
    P2,
    RECTIFIED,
    Q,
    R,
    T,
    close,
    kalibr_text,
    opencv_file,
)

SIZE = (640, 480)
SKEWED, BELOW = K1 + [[0, 40, 0], [0, 0, 0], [0, 0, 0]], K1 + [[0, 0, 0], [30, 0, 0], [0, 0, 0]]
IMPOSSIBLE = {
    "twice": (2 * K1, "ends with 2 instead of 1; expected fx 0 cx, 0 fy cy, 0 0 1: divide all of it"),
    "half": (0.5 * K1, "ends with 0.5 instead of 1"),
    "transposed": (K1.T, "is transposed"),
    "skewed": (SKEWED, "has a skew of 40 px, which bdis cannot rectify"),
    "with a number below the diagonal": (BELOW, "below its diagonal it is not 0"),
    "mirrored": (K1 * [[-1, 1, 1], [1, 1, 1], [1, 1, 1]], "focal lengths -700.5 and 701.5 px; expected them above 0"),
    "zero": (0 * K1, "focal lengths 0 and 0 px"),
}


def cameras_of(matrix, rotation=R):
    return bdis.StereoCalibration(matrix, D1, K2, D2, rotation, T, size=SIZE)


def write(folder, kind, matrix):
    """A calibration file of that kind with ``matrix`` as its left camera matrix."""
    if kind == "yml":
        return opencv_file(
            folder / "c.yml", M1=matrix, D1=D1, M2=K2, D2=D2, R=R, T=T, image_width=640, image_height=480
        )
    if kind == "npz":
        np.savez(folder / "c.npz", K1=matrix, D1=D1, K2=K2, D2=D2, R=R, T=T, size=SIZE)
        return folder / "c.npz"
    cameras_of(K1).save(folder / "c.toml")
    text = (folder / "c.toml").read_text()
    (folder / "c.toml").write_text(text.replace(str(K1.tolist()), str(np.asarray(matrix, float).tolist())))
    return folder / "c.toml"


@pytest.mark.parametrize("kind", ["yml", "npz", "toml"])
@pytest.mark.parametrize("wrong", IMPOSSIBLE)
def test_twice_a_camera_matrix_gave_twice_the_depth(wrong, kind, tmp_path):
    matrix, words = IMPOSSIBLE[wrong]
    with pytest.raises(ValueError, match=f"left_matrix .*{words}"):
        cameras_of(matrix)
    with pytest.raises(ValueError, match=rf"c\.{kind}: left_matrix .*{words}"):
        bdis.StereoCalibration.load(write(tmp_path, kind, matrix))


@pytest.mark.parametrize("change", [np.zeros((3, 3)), [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 1e-8]]])
def test_a_camera_matrix_with_rounded_numbers_is_one(change):
    assert cameras_of(K1 + change).rectify().rig.baseline_mm == pytest.approx(np.linalg.norm(T))


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (2 * P1, 2 * P2, "the left projection matrix ends with 2 instead of 1"),
        (P1, P2 + [[0, 40, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], "the right projection matrix has a skew of 40 px"),
        (P1 * [[1], [1.1], [1]], P2, "focal lengths 650 and 715"),
        (P1, P2 + [[0, 0, 0, 0], [0, 0, 0, -0.9 * 3510], [0, 0, 0, 0]], "-3510 -3159 0: the cameras of a rectified"),
        (P1, P2 + [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], "-3510 0 1: the cameras of a rectified pair stand side"),
    ],
)
def test_projections_of_no_rectified_pair_are_refused(left, right, words, tmp_path):
    """Twice both matrices gave twice the depth."""
    with pytest.raises(ValueError, match=words):
        bdis.Rig.load(opencv_file(tmp_path / "stereo.yml", P1=left, P2=right))


def test_projections_of_a_left_camera_that_is_not_at_the_origin_are_read(tmp_path):
    """As in KITTI, where both stand somewhat above and before the first of four cameras."""
    offset = np.array([[0, 0, 0, 44.86], [0, 0, 0, 0.2], [0, 0, 0, 2.7e-3]])
    close(bdis.Rig.load(opencv_file(tmp_path / "stereo.yml", P1=P1 + offset, P2=P2 + offset)), RECTIFIED)


@pytest.mark.parametrize("factor", [2, -1, 1 / 650])
def test_a_multiplied_q_is_the_same_camera(factor, tmp_path):
    """The depth was right, but focal length and centre were multiplied, and the cloud was deformed."""
    close(bdis.Rig.load(opencv_file(tmp_path / "q.yml", Q=factor * Q)), RECTIFIED)


@pytest.mark.parametrize("wrong", [Q.T, Q * 0, Q + np.eye(4), Q * [[1], [1.1], [1], [1]]])
def test_a_matrix_that_is_no_q_is_refused(wrong, tmp_path):
    with pytest.raises(ValueError, match="Q is not OpenCV's reprojection matrix; expected 1 0 0 -cx"):
        bdis.Rig.load(opencv_file(tmp_path / "q.yml", Q=wrong))


OTHER_BASELINE, OTHER_CENTRE = Q * [[1], [1], [1], [0.5]], Q + [[0, 0, 0, 20], [0] * 4, [0] * 4, [0] * 4]


@pytest.mark.parametrize(
    ("q", "words"),
    [
        (OTHER_BASELINE, "Q contradicts P1 and P2 in baseline_mm: "),
        (OTHER_CENTRE, "Q contradicts P1 and P2 in cx, cx of the right camera: "),
    ],
)
def test_q_of_other_cameras_than_the_projections_was_passed_over(q, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        bdis.Rig.load(opencv_file(tmp_path / "stereo.yml", P1=P1, P2=P2, Q=q))


@pytest.mark.parametrize("q", [2 * Q, Q * [[1], [1], [1], [-1]], Q * [[1], [-1], [-1], [1]]])
def test_q_in_another_convention_does_not_contradict_the_projections(q, tmp_path):
    """Multiplied, with the sign of another version of OpenCV, or turned to look along -z as in OpenCV's sample."""
    close(bdis.Rig.load(opencv_file(tmp_path / "stereo.yml", P1=P1, P2=P2, Q=q)), RECTIFIED)


@pytest.mark.parametrize("rectified", [{"P1": P1, "P2": P2}, {"Q": Q}])
def test_projections_with_another_baseline_than_the_raw_cameras(rectified, tmp_path):
    length = np.linalg.norm(T)
    both = {"K1": K1, "D1": D1, "K2": K2, "D2": D2, "R": R, **rectified}
    close(bdis.Rig.load(opencv_file(tmp_path / "stereo.yml", **both, T=T * (5.4 / length))), RECTIFIED)
    path = opencv_file(tmp_path / "twice.yml", **both, T=2 * T)
    with pytest.raises(ValueError, match="T is 10.8 mm long, but the rectified cameras are 5.4 mm apart"):
        bdis.Rig.load(path)
    assert bdis.Rig.load(path, baseline_mm=5).baseline_mm == 5


def test_a_stated_baseline_stands_for_that_of_both_matrices(tmp_path):
    path = opencv_file(tmp_path / "stereo.yml", P1=P1, P2=P2, Q=OTHER_BASELINE)
    assert bdis.Rig.load(path, baseline_mm=5).baseline_mm == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("doffs=131.111", "doffs=0"), "doffs is 0, but the centres of cam0 and cam1 are 131.111 px apart"),
        (("cam1=[3997.684 0", "cam1=[7995.368 0"), "focal lengths 7995.37 and 3997.68 px"),
        (("cam1=[3997.684 0 1307.839; 0 3997.684", "cam1=[4100 0 1307.839; 0 4100"), "cam0 and cam1 differ in focal"),
        (("[3997.684 0 1176.728;", "[3997.684 50 1176.728;"), "cam0 has a skew of 50 px"),
    ],
)
def test_middlebury_cameras_that_contradict_each_other(change, words, tmp_path):
    assert change[0] in MIDDLEBURY
    (tmp_path / "calib.txt").write_text(MIDDLEBURY.replace(*change))
    with pytest.raises(ValueError, match=f"calib.txt: .*{re.escape(words)}"):
        bdis.Rig.load(tmp_path / "calib.txt")


def test_kalibr_with_another_last_row(tmp_path):
    transform = np.vstack([np.hstack([R, T / 1000]), [0, 0, 0, 2]])
    (tmp_path / "camchain.yaml").write_text(kalibr_text(transform=transform))
    with pytest.raises(ValueError, match="the last row of T_cn_cnm1 is not 0 0 0 1"):
        read_calibration(tmp_path / "camchain.yaml")


@pytest.mark.parametrize("signs", [(1, 1, -1), (1, -1, 1), (-1, -1, -1)])
def test_a_reflection_was_taken_for_a_rotation(signs):
    """Its rectifier showed 0 % of the images, or took raw ones as rectified."""
    with pytest.raises(ValueError, match="rotation is not a rotation matrix but a reflection"):
        cameras_of(K1, np.diag(signs) @ R)


def test_a_rotation_of_three_digits_is_one():
    assert cameras_of(K1, R.round(3)).rectify().left_seen.mean() > 0.8


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("baseline=1930.01", "a Middlebury calib.txt with 'baseline' more than once"),
        ("cam0=[1 0 0; 0 1 0; 0 0 1]", "a Middlebury calib.txt with 'cam0' more than once"),
    ],
)
def test_the_last_of_two_values_in_a_middlebury_file_was_taken(more, words, tmp_path):
    (tmp_path / "calib.txt").write_text(f"{MIDDLEBURY.rstrip()}\n{more}\n")
    with pytest.raises(ValueError, match=words):
        bdis.Rig.load(tmp_path / "calib.txt")


@pytest.mark.parametrize("name", ["baseline", "doffs", "width"])
def test_a_number_with_a_unit_in_a_middlebury_file_is_named(name, tmp_path):
    text = re.sub(rf"^{name}\s*=.*$", f"{name} = 5 mm", MIDDLEBURY, flags=re.MULTILINE)
    (tmp_path / "calib.txt").write_text(text)
    with pytest.raises(ValueError, match=f"{name} must be a finite number, but it is '5 mm'"):
        bdis.Rig.load(tmp_path / "calib.txt")


STRAIGHT = np.array([[272, 0, 159.5], [0, 272, 119.5], [0, 0, 1]])


@pytest.mark.parametrize(
    ("rotation", "distortion", "words"),
    [
        (np.diag([-1.0, 1, -1]), np.zeros(5), "0.0% of the left image was seen by its camera; are its rotation and"),
        (np.diag([1.0, -1, -1]), np.zeros(5), "0.0% of the left image was seen by its camera"),
        (np.eye(3), [0, 0, 0.5, 0.5, 0], "0.0% of the left image was seen by its camera"),
    ],
)
def test_a_calibration_with_which_nothing_is_seen_was_rectified_with(rotation, distortion, words):
    cameras = bdis.StereoCalibration(STRAIGHT, distortion, STRAIGHT, distortion, rotation, [-5, 0, 0], size=(320, 240))
    with pytest.raises(ValueError, match=f"^rectified with this calibration, {words}"):
        cameras.rectify()
