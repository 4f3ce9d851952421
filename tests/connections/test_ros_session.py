"""What ``bdis ros1`` and ``bdis ros2`` do with cameras and parameters, without ROS."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rosbags")

import bdis
from bdis.cli.camera_options import CameraOptions
from bdis.cli.ros_session import RosSession
from bdis.connections.ros2.bdis_ros.bridge import Message

from .ros_messages import image_message, info_message, state

RIG = bdis.Rig(500, 31.5, 23.5, 5, size=(64, 48))


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """A camera_info is used as soon as it is there."""
    monkeypatch.setattr("bdis.cli.ros_session.SETTLE_S", -1.0)


def session(**camera):
    made = RosSession(
        2, CameraOptions(**camera), "fast", [], average_frames=True, max_depth_mm=None, wanted=None,
        tolerance_s=0.005, node_name="bdis",
    )  # fmt: skip
    made._topics.handle(Message("hello", {"ros": 2}))
    made._topics.handle(state())
    return made


def show(made, number=1, size=(48, 64)):
    for key in ("left", "right"):
        made._topics.handle(image_message(key, number * 40_000_000, np.zeros(size, np.uint8)))


def test_a_calibration_file_wins_over_camera_info(tmp_path):
    bdis.Rig(400, 31.5, 23.5, 4).save(tmp_path / "rig.toml")
    made = session(calib=[tmp_path / "rig.toml"])
    show(made)
    _, cameras, _ = made._open()
    assert (cameras.rig.baseline_mm, cameras.rig.size) == (4, (64, 48))
    assert cameras.remarks[0] == "cameras of rig.toml"


def test_focal_length_and_baseline_may_be_given():
    made = session(focal=300.0, baseline=6.0)
    show(made)
    assert made._open()[1].rig.focal_px == 300


def test_a_camera_info_of_another_size_is_refused():
    made = session()
    for side in ("left", "right"):
        made._topics.handle(info_message(side, RIG))
    show(made, size=(40, 64))
    with pytest.raises(ValueError, match="the images are 64x40 but their camera_info is for 64x48"):
        made._open()
    show(made, 2)
    assert made._open()[1].rig == RIG


def test_a_camera_info_in_centimetres_is_warned_of_once(capsys):
    made = session()
    for side in ("left", "right"):
        made._topics.handle(info_message(side, replace(RIG, baseline_mm=100 * RIG.baseline_mm)))
    for number in (1, 2):
        show(made, number)
        assert any("baseline 500 mm" in remark for remark in made._open()[1].remarks)
    assert capsys.readouterr().err.count("warning: the camera_info has a baseline of 500 mm") == 1


def test_parameters_of_ros_are_taken_over_or_refused(capsys):
    made = session()
    made._topics.handle(state(parameters={"max_depth_m": 0.1, "cloud_every": 2.5, "publish_cloud": False, "other": 1}))
    made._take_parameters()
    made._take_parameters()
    assert (made._options.max_depth_mm, made._options.publish_cloud, made._options.cloud_every) == (100, False, 1)
    said = capsys.readouterr().err
    assert said.count("cloud_every is 2.5; expected a whole number from 1 to 64; 1 stays") == 1
    assert "max_depth_m is 0.1 now" in said
    assert list(made.status()["refused"]) == ["cloud_every"]
    made._topics.handle(state(parameters={"max_depth_m": 0, "cloud_every": 2, "preset": "balanced"}))
    made._take_parameters()
    assert (made._options.max_depth_mm, made._options.cloud_every, made._preset) == (None, 2, "balanced")
    assert made.status()["refused"] == {}


def test_nothing_is_sent_without_a_node():
    made = session()
    made._topics.handle(state(wanted=["depth", "nonsense"]))
    assert made._wanted() == []
    with pytest.raises(OSError, match="no ROS node"):
        made._send("publish")
