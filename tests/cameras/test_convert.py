"""Calibrations survive the way into the formats of other tools and back."""

from dataclasses import replace

import numpy as np
import pytest

import bdis
from bdis.cameras.convert import WRITERS, write_calibration
from bdis.cameras.formats import read_calibration
from bdis.cli.app import run
from tests.cameras.simulated import CAMERAS, SIZE, check_depth, cv2
from tests.cli.commands import fails

RADTAN = replace(CAMERAS, left_distortion=CAMERAS.left_distortion[:4], right_distortion=CAMERAS.right_distortion[:4])
FISHEYE = replace(
    RADTAN, fisheye=True, left_distortion=[0.1, -0.02, 0.01, 0.0], right_distortion=[0.1, -0.03, 0, 0.001]
)
RATIONAL = replace(CAMERAS, left_distortion=[*CAMERAS.left_distortion, 0.01, -0.02, 0.003])
RIG = bdis.Rig(1000, 600.5, 500.25, 4.2, cx_right=640, size=SIZE)
NAMES = {"bdis": "out.toml", "opencv": "out.yaml", "ros": "left.yaml", "kalibr": "out.yaml"}


def converted(cameras, folder, to):
    """The cameras, written by us, converted, and read again."""
    cameras.save(folder / "in.json")
    remarks = write_calibration(read_calibration(folder / "in.json"), folder / NAMES[to], to)
    return folder / NAMES[to], remarks


def check_same(read, cameras):
    assert (read.size, read.fisheye) == (cameras.size, cameras.fisheye)
    for name in ("left_matrix", "right_matrix", "rotation", "translation_mm"):
        np.testing.assert_allclose(getattr(read, name), getattr(cameras, name), rtol=1e-12, atol=1e-12, err_msg=name)
    for name in ("left_distortion", "right_distortion"):
        ours, others = (np.append(getattr(each, name), np.zeros(8))[:8] for each in (read, cameras))
        np.testing.assert_array_equal(ours, others, err_msg=name)


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize("cameras", [CAMERAS, RADTAN, FISHEYE, RATIONAL], ids=["k3", "radtan", "fisheye", "rational"])
def test_raw_cameras_survive_or_are_refused(cameras, to, tmp_path):
    is_refused = (to == "opencv" and cameras.fisheye) or (to == "kalibr" and cameras in (CAMERAS, RATIONAL))
    if is_refused:
        with pytest.raises(ValueError, match="fisheye; write kalibr or ros|which Kalibr's radtan cannot hold"):
            converted(cameras, tmp_path, to)
        assert [path.name for path in tmp_path.iterdir()] == ["in.json"]
        return
    path, remarks = converted(cameras, tmp_path, to)
    read = bdis.StereoCalibration.load(path)
    check_same(read, cameras)
    assert remarks == []
    if not cameras.fisheye:
        check_depth(read, cameras)


@pytest.mark.parametrize("to", ["bdis", "opencv", "ros"])
def test_a_rig_survives(to, tmp_path):
    path, _ = converted(RIG, tmp_path, to)
    read = bdis.Rig.load(path)
    for name in ("focal_px", "cx", "cy", "baseline_mm", "doffs"):
        assert getattr(read, name) == pytest.approx(getattr(RIG, name), rel=1e-12)
    assert (read.size if to != "opencv" else SIZE) == SIZE


def test_kalibr_has_no_rectified_cameras(tmp_path):
    with pytest.raises(ValueError, match="of raw cameras, but this calibration has rectified ones only"):
        converted(RIG, tmp_path, "kalibr")


@pytest.mark.parametrize("to", ["opencv", "ros"])
def test_the_factor_of_sigma_is_said_to_be_lost(to, tmp_path):
    _, (remark,) = converted(replace(RIG, sigma_scale=1.3), tmp_path, to)
    assert remark == "sigma_scale 1.3 is left out: only a rig of bdis (.toml, .json) has it"


def test_both_kinds_of_cameras_of_a_ros_pair_survive_in_opencv(tmp_path):
    left, _ = converted(CAMERAS, tmp_path, "ros")
    write_calibration(read_calibration(left), tmp_path / "both.yaml", "opencv")
    check_same(bdis.StereoCalibration.load(tmp_path / "both.yaml"), CAMERAS)
    rig, truth = bdis.Rig.load(tmp_path / "both.yaml"), CAMERAS.rectify().rig
    assert rig.focal_px == pytest.approx(truth.focal_px, rel=1e-12)
    assert rig.baseline_mm == pytest.approx(truth.baseline_mm, rel=1e-12)
    write_calibration(read_calibration(tmp_path / "both.yaml"), tmp_path / "left_again.yaml", "ros")
    check_same(bdis.StereoCalibration.load(tmp_path / "left_again.yaml"), CAMERAS)


def test_opencv_itself_reads_what_is_written(tmp_path):
    path, _ = converted(CAMERAS, tmp_path, "opencv")
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_READ)
    np.testing.assert_array_equal(storage.getNode("M1").mat(), CAMERAS.left_matrix)
    np.testing.assert_array_equal(storage.getNode("T").mat().ravel(), CAMERAS.translation_mm)
    storage.release()


def test_the_command_converts_and_refuses(tmp_path, capsys):
    CAMERAS.save(tmp_path / "in.toml")
    convert = ["calib", "convert", str(tmp_path / "in.toml")]
    assert run([*convert, str(tmp_path / "left.yaml"), "--to", "ros"]) == 0
    assert "ros" in capsys.readouterr().out
    fails(capsys, [*convert, tmp_path / "left.yaml", "--to", "ros"], 1, "left.yaml exists; choose another name")
    fails(
        capsys, [*convert, tmp_path / "a.yaml"], 2, "--to is needed to write a.yaml: one of bdis, opencv, ros, kalibr"
    )
    fails(capsys, [*convert, tmp_path / "a.yaml", "--to", "ros"], 1, "a.yaml has no 'left' in its name")
    fails(capsys, [*convert, tmp_path / "a.yaml", "--to", "kalibr"], 1, "in.toml cannot be written as kalibr: the left")
    fails(capsys, [*convert, tmp_path / "a.yaml", "--to", "bdis"], 1, "written as .toml or .json")
    fails(capsys, [*convert, tmp_path / "a.toml", "--size", "4x3"], 2, "--size is 4x3, but")
    fails(capsys, [*convert, tmp_path / "none" / "b.toml", "--to", "obj"], 2, "expected bdis, opencv, ros, kalibr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.toml", "left.yaml", "right.yaml"]


def test_a_size_that_is_missing_is_asked_for(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", K1=CAMERAS.left_matrix, D1=CAMERAS.left_distortion, K2=CAMERAS.right_matrix,
             D2=CAMERAS.right_distortion, R=CAMERAS.rotation, T=CAMERAS.translation_mm)  # fmt: skip
    convert = ["calib", "convert", str(tmp_path / "a.npz"), str(tmp_path / "out.toml")]
    fails(capsys, convert, 1, "says how large the images are, and this calibration does not: give size (--size)")
    assert run([*convert, "--size", "1280x1024"]) == 0
    check_same(bdis.StereoCalibration.load(tmp_path / "out.toml"), CAMERAS)
