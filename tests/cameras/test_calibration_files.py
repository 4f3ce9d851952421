"""Calibration files of other tools, with numbers checked by hand, and what is said about broken ones."""

import re
import sys

import numpy as np
import pytest

import bdis
from bdis.cameras import formats
from bdis.cameras.formats import read_calibration
from bdis.cameras.formats.base import CalibrationFile, CalibrationFormat
from bdis.cameras.formats.yaml_subset import parse_yaml
from bdis.cameras.given_cameras import GivenCameras
from bdis.cli.app import run

K1 = np.array([[700.5, 0, 320.25], [0, 701.5, 240.75], [0, 0, 1]])
K2 = np.array([[702.5, 0, 318.25], [0, 703.5, 238.75], [0, 0, 1]])
D1, D2 = np.array([[-0.1, 0.02, 1e-4, -2e-4, 0.003]]), np.array([[-0.11, 0.03, 2e-4, -1e-4, 0.0]])
ANGLE = 0.01
R = np.array([[np.cos(ANGLE), 0, np.sin(ANGLE)], [0, 1, 0], [-np.sin(ANGLE), 0, np.cos(ANGLE)]])
T = np.array([[-5.4], [0.02], [-0.03]])
P1 = np.array([[650.0, 0, 300, 0], [0, 650, 250, 0], [0, 0, 1, 0]])
P2 = np.array([[650.0, 0, 310, -3510], [0, 650, 250, 0], [0, 0, 1, 0]])  # 3510 / 650 = 5.4
Q = np.array([[1.0, 0, 0, -300], [0, 1, 0, -250], [0, 0, 0, 650], [0, 0, 1 / 5.4, 10 / 5.4]])
RECTIFIED = bdis.Rig(650, 300, 250, 5.4, cx_right=310)


def opencv_file(path, **values):
    """A file as OpenCV itself writes it."""
    cv2 = pytest.importorskip("cv2")
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, value in values.items():
        storage.write(name, value)
    storage.release()
    return path


def close(rig, expected):
    for name in ("focal_px", "cx", "cy", "baseline_mm", "doffs"):
        assert getattr(rig, name) == pytest.approx(getattr(expected, name), abs=1e-9), name


# --- OpenCV -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["yaml", "yml", "xml", "json"])
@pytest.mark.parametrize("letters", ["M", "K"])
def test_opencv_raw_cameras(ending, letters, tmp_path):
    matrices = {f"{letters}1": K1, f"{letters}2": K2}
    path = opencv_file(
        tmp_path / f"stereo.{ending}", **matrices, D1=D1, D2=D2, R=R, T=T, image_width=640, image_height=480
    )
    cameras = bdis.StereoCalibration.load(path)
    np.testing.assert_array_equal(cameras.left_matrix, K1)
    np.testing.assert_array_equal(cameras.right_matrix, K2)
    np.testing.assert_array_equal(cameras.left_distortion, D1[0])
    np.testing.assert_array_equal(cameras.right_distortion, D2[0])
    np.testing.assert_array_equal(cameras.rotation, R)
    np.testing.assert_array_equal(cameras.translation_mm, T[:, 0])
    assert cameras.size == (640, 480)
    assert not cameras.fisheye
    with pytest.raises(ValueError, match="raw cameras.*StereoCalibration.load"):
        bdis.Rig.load(path)


@pytest.mark.parametrize("ending", ["yaml", "xml", "json"])
@pytest.mark.parametrize(
    "matrices", [{"P1": P1, "P2": P2}, {"Q": Q}, {"P1": P1, "P2": P2, "Q": Q}], ids=["P", "Q", "all"]
)
def test_opencv_rectified_cameras(ending, matrices, tmp_path):
    path = opencv_file(tmp_path / f"stereo.{ending}", **matrices)
    close(bdis.Rig.load(path), RECTIFIED)
    with pytest.raises(ValueError, match="rectified cameras; Rig.load"):
        bdis.StereoCalibration.load(path)


@pytest.mark.parametrize("ending", ["yaml", "xml", "json"])
@pytest.mark.parametrize(
    "names",
    [
        ("distCoeffs1", "distCoeffs2"), ("distCoeffs_1", "distCoeffs_2"), ("dist1", "dist2"), ("dist_l", "dist_r"),
        ("distortionCoefficients1", "distortionCoefficients2"), ("distCoeffsLeft", "distCoeffsRight"), ("D_L", "D_R"),
        ("distortion_coefficients_left", "distortion_coefficients_right"), ("left_dist", "right_dist"),
    ],
)  # fmt: skip
def test_distortion_under_another_name_was_read_as_none_without_a_word(names, ending, tmp_path):
    left, right = names
    path = opencv_file(tmp_path / f"stereo.{ending}", K1=K1, K2=K2, R=R, T=T, **{left: D1, right: D2})
    cameras = bdis.StereoCalibration.load(path, size=(640, 480))
    np.testing.assert_array_equal(cameras.left_distortion, D1[0])
    np.testing.assert_array_equal(cameras.right_distortion, D2[0])


@pytest.mark.parametrize(
    ("distortion", "words"),
    [
        ({"D1": D1}, "D1, but no distortion of both"),
        ({"D2": D2}, "D2, but no distortion of both"),
        ({"dist2": D2}, "dist2, but no distortion of both"),
        ({"distortion_of_lenses": D1}, "distortion_of_lenses, but no distortion of both"),
        ({"D1": D1, "dist2": D2, "lens_dist": D1}, None),
    ],
)
def test_distortion_of_one_camera_or_under_an_unknown_name_is_refused(distortion, words, tmp_path):
    path = opencv_file(tmp_path / "stereo.yml", K1=K1, K2=K2, R=R, T=T, **distortion)
    if words is None:  # D1 and dist2 are one of each side
        np.testing.assert_array_equal(read_calibration(path).raw["right_distortion"], D2[0])
        return
    with pytest.raises(ValueError, match=f"stereo.yml: {words} cameras; expected it as D1 and D2"):
        read_calibration(path)


def test_distortion_that_is_there_twice_must_be_the_same(tmp_path):
    path = opencv_file(tmp_path / "a.yml", K1=K1, K2=K2, R=R, T=T, D1=D1, D2=D2, dist1=D1, dist2=D2)
    np.testing.assert_array_equal(read_calibration(path).raw["left_distortion"], D1[0])
    path = opencv_file(tmp_path / "b.yml", K1=K1, K2=K2, R=R, T=T, D1=D1, D2=D2, dist1=D2, dist2=D2)
    with pytest.raises(ValueError, match="D1 and dist1 differ; which is meant"):
        read_calibration(path)


def test_a_file_that_says_nothing_of_distortion_is_warned_of(tmp_path, capsys):
    """It was read as none without a word, and the depth was 62 to 66 instead of 59 mm."""
    path = opencv_file(tmp_path / "stereo.yml", K1=K1, K2=K2, R=R, T=T, image_width=640, image_height=480)
    with pytest.warns(UserWarning, match="stereo.yml says nothing of the distortion of its cameras, .*D1 and D2"):
        assert not bdis.StereoCalibration.load(path).left_distortion.any()
    assert run(["calib", "show", str(path)]) == 0
    assert "no distortion in the file: read as none" in capsys.readouterr().out
    assert run(["calib", "convert", str(path), str(tmp_path / "cameras.toml")]) == 0
    assert "warning: stereo.yml says nothing of the distortion of its cameras" in capsys.readouterr().err
    image, said = np.zeros((480, 640), np.uint8), []
    loaded = GivenCameras((path,), rectify=True).load([(image, image)], warn=said.append)
    assert [remark for remark in loaded.remarks if "distortion" in remark] == [
        "no distortion in the file: read as none"
    ]
    assert len(said) == 1
    assert "says nothing of the distortion" in said[0]
    whole = opencv_file(tmp_path / "whole.yml", K1=K1, K2=K2, R=R, T=T, P1=P1, P2=P2)  # the rectified ones need none
    GivenCameras((whole,), rectify=False).load([(image, image)], warn=said.append)
    assert len(said) == 1


@pytest.mark.parametrize(("count", "is_told"), [(4, True), (5, False)])
def test_four_coefficients_of_an_unnamed_lens_are_told(count, is_told, tmp_path):
    """A calibration of OpenCV's fisheye has four as well, and nothing in its file says so."""
    path = opencv_file(tmp_path / "stereo.yml", K1=K1, K2=K2, D1=D1[:, :count], D2=D2[:, :count], R=R, T=T)
    assert ("4 distortion coefficients are read as k1, k2, p1, p2" in read_calibration(path).assumed) == is_told
    path = opencv_file(tmp_path / "straight.yml", K1=K1, K2=K2, D1=np.zeros((1, 4)), D2=np.zeros((1, 4)), R=R, T=T)
    assert not read_calibration(path).assumed


RAW = {"K1": K1, "K2": K2, "D1": D1[:, :4], "D2": D2[:, :4], "R": R, "T": T}


@pytest.mark.parametrize("ending", ["yaml", "xml", "json"])
@pytest.mark.parametrize(
    ("said", "is_fisheye"),
    [
        ({"distortion_model": "fisheye"}, True), ({"camera_model": "fisheye"}, True), ({"fisheye": 1}, True),
        ({"camera_model": "pinhole", "distortion_model": "equidistant"}, True), ({"fisheye": 0}, False),
        ({"distortion_model": "plumb_bob"}, False), ({"camera_model": "Acme 2000"}, False),
        ({"distortion_model1": "fisheye", "distortion_model2": "fisheye"}, True),
    ],
)  # fmt: skip
def test_a_file_that_says_that_its_lens_is_a_fisheye_was_read_as_a_pinhole_camera(said, is_fisheye, ending, tmp_path):
    path = opencv_file(tmp_path / f"stereo.{ending}", **RAW, **said)
    assert bdis.StereoCalibration.load(path, size=(640, 480)).fisheye == is_fisheye
    assert bool(read_calibration(path).assumed) == ("Acme" in str(said))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"xi": 1.2}, "xi is of OpenCV's omnidirectional model"),
        ({"xi1": np.ones((1, 1)), "xi2": np.ones((1, 1))}, "xi1 is of OpenCV's omnidirectional model"),
        ({"distortion_model": "division"}, "distortion_model is 'division', which bdis cannot use; expected plumb_bob"),
        ({"camera_model": "omnidir"}, "camera_model is 'omnidir', which bdis cannot use"),
        ({"fisheye": 7}, "fisheye must be 0 or 1, but it is 7"),
        ({"fisheye": 0, "distortion_model": "fisheye"}, "fisheye and distortion_model differ"),
    ],
)
def test_a_lens_that_cannot_be_rectified_was_read_as_a_pinhole_camera(said, words, tmp_path):
    path = opencv_file(tmp_path / "stereo.yml", **RAW, **said)
    with pytest.raises(ValueError, match=f"stereo.yml: {words}"):
        read_calibration(path)
    assert not read_calibration(opencv_file(tmp_path / "rectified.yml", P1=P1, P2=P2, **said)).raw


@pytest.mark.parametrize("ending", ["yaml", "xml", "json"])
@pytest.mark.parametrize(
    ("said", "factor"), [("mm", 1), ("cm", 10), ("centimeters", 10), ("m", 1000), ("Metres", 1000)]
)
def test_a_file_that_says_its_unit_was_read_in_mm(said, factor, ending, tmp_path):
    scaled = {**RAW, "T": T / factor}
    found = read_calibration(opencv_file(tmp_path / f"stereo.{ending}", **scaled, unit=said))
    np.testing.assert_allclose(found.raw["translation_mm"], T[:, 0])
    assert found.states_unit
    assert "as the file says" in found.unit
    if factor == 10:  # what the user says wins
        assert read_calibration(tmp_path / f"stereo.{ending}", unit="mm").raw["translation_mm"][0] == T[0, 0] / 10


def test_a_unit_that_is_not_known_is_refused_until_it_is_given(tmp_path):
    path = opencv_file(tmp_path / "stereo.yml", **RAW, unit="inch")
    with pytest.raises(ValueError, match=r"unit is 'inch'; expected mm, cm, m: say the unit of the file \(unit="):
        read_calibration(path)
    assert read_calibration(path, unit="mm").raw["translation_mm"][0] == T[0, 0]
    path = opencv_file(tmp_path / "two.yml", **RAW, unit="mm", length_unit="m")
    with pytest.raises(ValueError, match="unit is 'mm', length_unit is 'm'; expected"):
        read_calibration(path)


@pytest.mark.parametrize("missing", ["D1", "D2"])
def test_an_empty_distortion_beside_another_was_read_as_none(missing, tmp_path):
    text = opencv_file(tmp_path / "stereo.json", **{**RAW, missing: np.zeros((0, 0))}).read_text()
    other = {"D1": "D2", "D2": "D1"}[missing]
    (tmp_path / "stereo.json").write_text(text)
    with pytest.raises(ValueError, match=f"{other}, but no distortion of both cameras; expected it as D1 and D2"):
        read_calibration(tmp_path / "stereo.json")


def test_two_empty_distortions_are_told_like_none(tmp_path):
    path = opencv_file(tmp_path / "stereo.yml", **{**RAW, "D1": np.zeros((0, 0)), "D2": np.zeros((0, 0))})
    found = read_calibration(path)
    assert found.lacks_distortion
    assert not found.raw["left_distortion"].any()


def test_scared_yaml(tmp_path):
    """As in the data set: OpenCV 2's header, no image size."""
    path = tmp_path / "endoscope_calibration.yaml"
    path.write_text(
        "%YAML:1.0\n---\n"
        "M1: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n"
        "   data: [ 1035.5, 0., 596.25, 0., 1035.25, 520.5, 0.,\n       0., 1. ]\n"
        "D1: !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n   data: [ -5.9e-04, 2.5e-03, 0., 0., 0. ]\n"
        "M2: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n"
        "   data: [ 1035.75, 0., 688.5, 0., 1035.5, 521.25, 0., 0., 1. ]\n"
        "D2: !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n   data: [ 0., 0., 0., 0., 0. ]\n"
        "R: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 1., 0., 0., 0., 1., 0., 0., 0., 1. ]\n"
        "T: !!opencv-matrix\n   rows: 3\n   cols: 1\n   dt: d\n   data: [ -4.14, -2.5e-02, 1.1e-02 ]\n"
    )
    with pytest.raises(ValueError, match=r"does not say how large the images are; give size=\(w, h\)"):
        bdis.StereoCalibration.load(path)
    cameras = bdis.StereoCalibration.load(path, size=(1280, 1024))
    assert cameras.left_matrix[0].tolist() == [1035.5, 0, 596.25]
    assert cameras.left_distortion.tolist() == [-5.9e-4, 2.5e-3, 0, 0, 0]
    assert cameras.translation_mm.tolist() == [-4.14, -0.025, 0.011]


def test_serv_ct_json_without_opencv(tmp_path, monkeypatch):
    """OpenCV's JSON with numbers that JSON forbids, as some versions write it; NumPy alone reads it."""
    monkeypatch.setitem(sys.modules, "cv2", None)
    path = tmp_path / "001.json"
    path.write_text(
        '{\n "P1": {\n       "type_id": "opencv-matrix",\n        "rows": 3,\n        "cols": 4,\n        "dt": "d",\n'
        '        "data": [ 800., 0., 350., 0., 0., 800., 280., 0., 0., 0., 1., 0. ]\n    },\n'
        '    "P2": {\n        "type_id": "opencv-matrix",\n        "rows": 3,\n        "cols": 4,\n        "dt": "d",\n'
        '        "data": [ 800., 0., 350., -4400., 0., 800., 280., 0., 0., 0., 1.,\n            0. ]\n    }\n}\n'
    )
    assert bdis.Rig.load(path) == bdis.Rig(800, 350, 280, 5.5)


def test_opencv_in_metres_is_noticed_and_read_when_told(tmp_path):
    straight = {"D1": np.zeros((1, 5)), "D2": np.zeros((1, 5)), "image_width": 640, "image_height": 480}
    path = opencv_file(tmp_path / "metres.yaml", M1=K1, M2=K2, R=R, T=T / 1000, **straight)
    with pytest.raises(ValueError, match=r'0\.0054 mm apart.*unit="mm", "cm" or "m"'):
        bdis.StereoCalibration.load(path)
    assert bdis.StereoCalibration.load(path, unit="m").translation_mm[0] == pytest.approx(-5.4)
    assert bdis.StereoCalibration.load(path, unit="m").left_distortion.tolist() == [0] * 5
    path = opencv_file(tmp_path / "centimetres.yaml", P1=P1, P2=P2 * [1, 1, 1, 0.1])
    assert bdis.Rig.load(path, unit="cm").baseline_mm == pytest.approx(5.4)
    with pytest.raises(ValueError, match="unit must be one of"):
        bdis.Rig.load(path, unit="inch")


def test_files_say_which_unit_was_assumed(tmp_path):
    assert read_calibration(opencv_file(tmp_path / "a.yaml", Q=Q)).unit == "mm (assumed: OpenCV files do not say)"
    assert read_calibration(opencv_file(tmp_path / "b.yaml", Q=Q), unit="mm").unit == "mm (given)"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"M1": K1, "M2": K2, "R": R}, "without T"),
        ({"M1": K1}, r"without K2 \(or M2\), R, T"),
        ({"P1": P1, "P2": P2 * [1, 1, 1, -1]}, "swapped"),
        ({"P1": P2, "P2": P1}, "left and right are swapped"),
        ({"P1": P1, "P2": P1}, "no baseline"),
        ({"P1": P1 * [[1.1], [1.1], [1]], "P2": P2}, "not of a rectified pair"),
        ({"P1": P1, "P2": P2[[1, 0, 2]]}, "focal lengths"),
        ({"P1": P1[:, :3], "P2": P2}, "P1 has 9 numbers; expected 3x4"),
        ({"M1": K1, "M2": K2, "R": 2 * R, "T": T}, "not a rotation"),
        ({"M1": K1, "M2": K2, "R": R, "T": -T}, "swapped"),
        ({"M1": K1, "M2": K2, "R": R, "T": T * np.nan}, "T holds NaN"),
        ({"something": K1}, "not a calibration file bdis knows.*Kalibr"),
    ],
)
def test_opencv_file_with_something_missing_or_wrong(values, words, tmp_path):
    path = opencv_file(tmp_path / "stereo.yaml", **values, image_width=640, image_height=480)
    load = bdis.StereoCalibration.load if "M1" in values or "something" in values else bdis.Rig.load
    with pytest.raises(ValueError, match=words):
        load(path)


def test_cameras_above_each_other_are_refused(tmp_path):
    below = np.array([[650.0, 0, 310, 0], [0, 650, 250, -3510], [0, 0, 1, 0]])
    with pytest.raises(ValueError, match="above each other"):
        bdis.Rig.load(opencv_file(tmp_path / "stereo.yaml", P1=P1, P2=below))


def test_xml_with_entities_is_refused(tmp_path):
    path = tmp_path / "bomb.xml"
    path.write_text('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><opencv_storage><Q>&b;</Q></opencv_storage>')
    with pytest.raises(ValueError, match="DOCTYPE"):
        bdis.Rig.load(path)


# --- ROS --------------------------------------------------------------------------------------------------------------

CAMERA_INFO = """image_width: 640
image_height: 480
camera_name: {name}
camera_matrix:
  rows: 3
  cols: 3
  data: [{k}]
distortion_model: {model}
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.1, 0.02, 0.0001, -0.0002, 0]
rectification_matrix:
  rows: 3
  cols: 3
  data: [{r}]
projection_matrix:
  rows: 3
  cols: 4
  data: [{p}]
"""


def words_of(matrix):
    return ", ".join(map(repr, np.asarray(matrix).ravel().tolist()))


def ros_pair(folder, left="left.yaml", right="right.yaml", model="plumb_bob"):
    turned = [(K1, np.eye(3), P1), (K2, R.T, P2 * [[1, 1, 1, 0.001]])]  # metres
    for name, (k, r, p) in zip((left, right), turned):
        text = CAMERA_INFO.format(name=name, model=model, k=words_of(k), r=words_of(r), p=words_of(p))
        (folder / name).write_text(text)
    return folder / left


def test_ros_pair_found_by_its_name(tmp_path):
    path = ros_pair(tmp_path)
    rig = bdis.Rig.load(path)
    close(rig, RECTIFIED)
    assert rig.size == (640, 480)
    assert read_calibration(path).unit == "m (ROS convention)"


def test_ros_pair_of_raw_cameras(tmp_path):
    """x_right = R2^T (R1 x_left + (-b, 0, 0)): with R1 = 1 and R2 = R^T that is R x + R (-5.4, 0, 0)."""
    cameras = bdis.StereoCalibration.load(ros_pair(tmp_path))
    np.testing.assert_allclose(cameras.rotation, R, atol=1e-12)
    np.testing.assert_allclose(cameras.translation_mm, R @ [-5.4, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(cameras.left_matrix, K1)
    assert cameras.left_distortion.tolist() == [-0.1, 0.02, 0.0001, -0.0002, 0]


def test_ros_fisheye(tmp_path):
    cameras = bdis.StereoCalibration.load(ros_pair(tmp_path, model="equidistant"))
    assert cameras.fisheye
    assert cameras.left_distortion.tolist() == [-0.1, 0.02, 0.0001, -0.0002]


@pytest.mark.parametrize("model", ["kannala_brandt4", "kannala_brandt", "fov"])
def test_a_fisheye_of_another_name_was_read_as_a_pinhole_camera(model, tmp_path):
    with pytest.raises(ValueError, match=f"the left camera has the distortion model '{model}', which is not known"):
        bdis.StereoCalibration.load(ros_pair(tmp_path, model=model))


@pytest.mark.parametrize("model", ["rational_polynomial", "radtan", "Plumb Bob", ""])
def test_ros_pinhole_under_other_names(model, tmp_path):
    assert not bdis.StereoCalibration.load(ros_pair(tmp_path, model=model)).fisheye


def test_ros_pair_with_other_names(tmp_path):
    path = ros_pair(tmp_path, "a.yaml", "b.yaml")
    with pytest.raises(ValueError, match="of one camera; give the other"):
        bdis.Rig.load(path)
    close(bdis.Rig.load(path, tmp_path / "b.yaml"), RECTIFIED)
    with pytest.raises(ValueError, match="swapped"):
        bdis.Rig.load(tmp_path / "b.yaml", path)
    (tmp_path / "left.yaml").write_text(path.read_text())
    with pytest.raises(ValueError, match="there is no .*right.yaml"):
        bdis.Rig.load(tmp_path / "left.yaml")


def test_ros_message_as_echoed(tmp_path):
    """sensor_msgs/CameraInfo printed by a tool: single letters, block sequences."""
    for name, p in (("left.yaml", P1), ("right.yaml", P2 * [[1, 1, 1, 0.001]])):
        lines = ["header:", "  frame_id: camera", "height: 480", "width: 640", "distortion_model: plumb_bob"]
        for letter, values in (("d", np.zeros(5)), ("k", K1), ("r", np.eye(3)), ("p", p)):
            lines += [f"{letter}:", *(f"- {value!r}" for value in np.ravel(values).tolist())]
        (tmp_path / name).write_text("\n".join(lines))
    close(bdis.Rig.load(tmp_path / "left.yaml"), RECTIFIED)


# --- Kalibr, Middlebury, K.txt ----------------------------------------------------------------------------------------


def kalibr_text(distortion_model="radtan", transform=None):
    transform = np.vstack([np.hstack([R, T / 1000]), [0, 0, 0, 1]]) if transform is None else transform
    rows = "".join(f"  - [{words_of(row)}]\n" for row in transform)
    return (
        "cam0:\n  cam_overlaps: [1]\n  camera_model: pinhole\n  distortion_coeffs: [-0.1, 0.02, 0.0001, -0.0002]\n"
        f"  distortion_model: {distortion_model}\n  intrinsics: [700.5, 701.5, 320.25, 240.75]\n"
        "  resolution: [640, 480]\n  rostopic: /cam0/image_raw\n"
        f"cam1:\n  T_cn_cnm1:\n{rows}"
        "  cam_overlaps: [0]\n  camera_model: pinhole\n  distortion_coeffs: [-0.11, 0.03, 0.0002, -0.0001]\n"
        f"  distortion_model: {distortion_model}\n  intrinsics: [702.5, 703.5, 318.25, 238.75]\n"
        "  resolution: [640, 480]\n  rostopic: /cam1/image_raw\n"
    )


def test_kalibr_camchain(tmp_path):
    path = tmp_path / "camchain.yaml"
    path.write_text(kalibr_text())
    cameras = bdis.StereoCalibration.load(path)
    np.testing.assert_array_equal(cameras.left_matrix, K1)
    np.testing.assert_array_equal(cameras.right_matrix, K2)
    np.testing.assert_allclose(cameras.translation_mm, T[:, 0], rtol=1e-12)
    np.testing.assert_array_equal(cameras.rotation, R)
    assert cameras.right_distortion.tolist() == [-0.11, 0.03, 0.0002, -0.0001]
    assert cameras.size == (640, 480)
    assert read_calibration(path).unit == "m (Kalibr convention)"
    path.write_text(kalibr_text("equidistant"))
    assert bdis.StereoCalibration.load(path).fisheye


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("camera_model: pinhole", "camera_model: omni"), "camera model omni; expected pinhole"),
        (("distortion_model: radtan", "distortion_model: fov"), "distortion fov"),
        (("T_cn_cnm1", "T_cam_imu"), "without T_cn_cnm1"),
        (("cam1:", "cam5:"), "without cam1"),
        (("intrinsics", "numbers"), "without intrinsics of cam0"),
        (
            ("distortion_coeffs: [-0.11, 0.03, 0.0002, -0.0001]", "distortion_coeffs: []"),
            "cam1 has distortion radtan, b",
        ),
    ],
)
def test_kalibr_camchain_that_will_not_do(change, words, tmp_path):
    path = tmp_path / "camchain.yaml"
    path.write_text(kalibr_text().replace(*change))
    with pytest.raises(ValueError, match=words):
        bdis.StereoCalibration.load(path)


@pytest.mark.parametrize("camera", [0, 1])
def test_a_kalibr_camera_without_distortion_beside_a_fisheye_was_read_as_a_fisheye(camera, tmp_path):
    path = tmp_path / "camchain.yaml"
    for model in ("radtan", "equidistant"):
        parts = kalibr_text(model).split(f"distortion_model: {model}")
        models = ["none" if camera == number else model for number in (0, 1)]
        path.write_text(f"{parts[0]}distortion_model: {models[0]}{parts[1]}distortion_model: {models[1]}{parts[2]}")
        if model == "radtan":
            assert not read_calibration(path).raw["fisheye"]
        else:
            with pytest.raises(ValueError, match="one camera has a fisheye lens .* and the other has not"):
                read_calibration(path)


MIDDLEBURY = """cam0=[3997.684 0 1176.728; 0 3997.684 1011.728; 0 0 1]
cam1=[3997.684 0 1307.839; 0 3997.684 1011.728; 0 0 1]
doffs=131.111
baseline=193.001
width=2964
height=1988
ndisp=280
"""


def test_middlebury(tmp_path):
    path = tmp_path / "calib.txt"
    path.write_text(MIDDLEBURY)
    rig = bdis.Rig.load(path)
    close(rig, bdis.Rig(3997.684, 1176.728, 1011.728, 193.001, cx_right=1307.839))
    assert rig.size == (2964, 1988)
    # Z = baseline * f / (d + doffs)
    expected = 193.001 * 3997.684 / (50 + 131.111)
    assert bdis.Rig(3997.684, 0, 0, 193.001, 131.111).depth(np.float32([[50]]))[0, 0] == pytest.approx(expected)
    path.write_text(MIDDLEBURY.replace("baseline", "base"))
    with pytest.raises(ValueError, match="without baseline"):
        bdis.Rig.load(path)


def test_plain_k_with_the_baseline_in_metres(tmp_path):
    path = tmp_path / "K.txt"
    path.write_text("754.5 0.0 489.25 0.0 754.5 265.75 0.0 0.0 1.0\n0.063\n")
    close(bdis.Rig.load(path), bdis.Rig(754.5, 489.25, 265.75, 63))
    assert bdis.Rig.load(path, baseline_mm=64).baseline_mm == 64


def test_hamlyn_intrinsics_want_a_baseline(tmp_path):
    path = tmp_path / "intrinsics.txt"
    path.write_text("383.5 0 276.5 0\n0 383.5 124.25 0\n0 0 1 0\n")
    with pytest.raises(ValueError, match="without a baseline"):
        bdis.Rig.load(path)
    assert bdis.Rig.load(path, baseline_mm=5.4) == bdis.Rig(383.5, 276.5, 124.25, 5.4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2 3", "3 numbers; K.txt has the nine"),
        ("700 0 320 0 650 240 0 0 1 0.005", "focal lengths 700 and 650"),
        ("700 0 320 0 700 240 0 0 2 0.005", "third row"),
        ("", "not a calibration file bdis knows"),
        ("hello", "not a calibration file bdis knows.*Middlebury"),
        ("hello\nworld", "not a calibration file bdis knows.*line 2.*ROS"),
        ("- 1\n- 2", "holds no names"),
        ("a: &anchor 1", "anchors"),
    ],
)
def test_text_that_is_no_calibration(text, words, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"file.txt: .*{words}"):
        bdis.Rig.load(path)


def test_picture_given_as_calibration(tmp_path):
    path = tmp_path / "left.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.raises(ValueError, match="not a text file"):
        bdis.Rig.load(path)
    with pytest.raises(FileNotFoundError):
        bdis.Rig.load(tmp_path / "missing.yaml")


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_own_file_gives_the_same_cameras_back(ending, tmp_path):
    cameras = bdis.StereoCalibration(K1, D1, K2, D2, R, T, size=(640, 480))
    cameras.save(tmp_path / f"cameras.{ending}")
    again = bdis.StereoCalibration.load(tmp_path / f"cameras.{ending}")
    for name in ("left_matrix", "left_distortion", "right_matrix", "right_distortion", "rotation", "translation_mm"):
        np.testing.assert_array_equal(getattr(again, name), getattr(cameras, name))
    assert (again.size, again.fisheye) == (cameras.size, False)
    with pytest.raises(ValueError, match="a bdis file is in mm"):
        bdis.StereoCalibration.load(tmp_path / f"cameras.{ending}", unit="m")


# --- YAML -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", {"a": 1}),
        ("a: -1.5e-3 # comment", {"a": -0.0015}),
        ("a: 1.", {"a": 1.0}),
        ("a: .5", {"a": 0.5}),
        ("a: .Inf\nb: -.Inf", {"a": np.inf, "b": -np.inf}),
        ("a: ~\nb: null\nc:", {"a": None, "b": None, "c": None}),
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: 'it''s # [x'", {"a": "it's # [x"}),
        ('a: "x \\"y\\""', {"a": 'x "y"'}),
        ('"quoted name": x', {"quoted name": "x"}),
        ("a: /cam0/image_raw", {"a": "/cam0/image_raw"}),
        ("time: 12:30:01", {"time": "12:30:01"}),
        ("a:\n  b:\n    c: 1\n  d: 2\ne: 3", {"a": {"b": {"c": 1}, "d": 2}, "e": 3}),
        ("a:\n- 1\n- 2\nb: 3", {"a": [1, 2], "b": 3}),
        ("a:\n  - [1, 2]\n  - [3,\n     4]", {"a": [[1, 2], [3, 4]]}),
        ("- a: 1\n  b: 2\n- - 3\n  - 4", [{"a": 1, "b": 2}, [3, 4]]),
        ("a: {b: 1, c: [x, 'y']}", {"a": {"b": 1, "c": ["x", "y"]}}),
        ('{"a": {"b": [1, 2.5]},\n "c": "d"}', {"a": {"b": [1, 2.5]}, "c": "d"}),
        ("a: []\nb: {}", {"a": [], "b": {}}),
        ("a: [1, 2,]", {"a": [1, 2]}),
        ("%YAML:1.0\n---\na: !!opencv-matrix\n  rows: 1\n...", {"a": {"rows": 1}}),
        ("", None),
    ],
)
def test_yaml(text, expected):
    assert parse_yaml(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1, 2", "line 1 .*balance; is the file cut short"),
        ("x: 1\na: *b", "line 2 .*aliases"),
        ("a: |\n  text", "multi-line"),
        ("a: 1\n   b: 2", "line 2 .*indentation"),
        ("\ta: 1", "tab"),
        ("a: {b}", "name: value"),
        ("a: [1, ']", "balance|quote"),
        ("a: [1] 2", "follows the closing bracket"),
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
        ("".join(" " * i + "a:\n" for i in range(100)), "nested too deeply"),
    ],
)
def test_yaml_that_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse_yaml(text)


def test_yaml_tags_run_nothing():
    assert parse_yaml("a: !!python/object/apply:os.system ['false']") == {"a": ["false"]}


def test_truncated_files_never_look_whole(tmp_path):
    """Every prefix of a file either fails with words or lacks nothing that matters."""
    whole = opencv_file(tmp_path / "stereo.yaml", P1=P1, P2=P2).read_text()
    short = tmp_path / "short.yaml"
    for length in range(0, len(whole.rstrip()) - 1, 7):
        short.write_text(whole[:length])
        with pytest.raises(ValueError, match=re.escape("short.yaml: ")):
            bdis.Rig.load(short)


def test_a_format_is_one_entry_of_the_list(tmp_path, monkeypatch):
    def read(file):
        _, focal, baseline = file.text.split()
        millimetres, unit = file.millimetres("cm", "made up")
        rectified = {"focal_px": float(focal), "cx": 1, "cy": 2, "baseline_mm": float(baseline) * millimetres}
        return CalibrationFile("made-up format", unit, None, rectified)

    made_up = CalibrationFormat("a made-up format", lambda file: file.text.startswith("MADEUP"), read)
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, made_up))
    (tmp_path / "camera.txt").write_text("MADEUP 500 0.5")
    assert bdis.Rig.load(tmp_path / "camera.txt").baseline_mm == 5
    (tmp_path / "other.txt").write_text("hello")
    with pytest.raises(ValueError, match="Known formats: .*; a made-up format"):
        bdis.Rig.load(tmp_path / "other.txt")
