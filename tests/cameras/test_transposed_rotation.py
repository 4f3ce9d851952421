"""A rotation that leads from right to left instead of left to right: told where the rows of the images show it."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("cv2")

from bdis.cameras.formats import read_calibration
from bdis.cameras.given_cameras import GivenCameras
from bdis.cameras.raw_or_rectified import weigh_rows
from bdis.cameras.rectifier import rectified_features
from bdis.cli.app import run
from bdis.connections.ros.topic_cameras import decide_camera
from bdis.files.images import write_image
from tests.cameras.raw_pairs import raw_pair, write_opencv, write_ros

BENT, STRAIGHT = (-0.2, 0.05, 0, 0, 0), (0, 0, 0, 0, 0)


def verged(degrees, scene="tissue", bend=BENT, others=(0.0, 0.0)):
    """A raw pair of cameras that are turned towards each other, their calibration, and a transposed one."""
    left, right, cameras, _ = raw_pair(scene, 3, (others[0], np.deg2rad(degrees), others[1]), bend)
    return left, right, cameras, dataclasses.replace(cameras, rotation=cameras.rotation.T)


@pytest.mark.parametrize("scene", ["tissue", "colon", "instruments"])
@pytest.mark.parametrize("degrees", [-0.5, -2, -5, 1])
@pytest.mark.parametrize("bend", [BENT, STRAIGHT], ids=["bent", "straight"])
def test_a_transposed_rotation_gave_another_depth_without_a_word(scene, degrees, bend):
    """Of cameras that are turned towards each other and in no other direction, whose rows hardly differ."""
    left, right, cameras, transposed = verged(degrees, scene, bend)
    evidence = weigh_rows([(left, right)], transposed.rectify())
    assert evidence.verdict == "transposed"
    assert evidence.transposed_px < 0.3 < evidence.rectified_px
    rectifier = cameras.rectify()
    assert weigh_rows([(left, right)], rectifier).verdict in ("raw", "unclear")
    assert weigh_rows([rectifier(left, right)], rectifier).verdict in ("rectified", "unclear")


@pytest.mark.parametrize("degrees", [-0.25, -3])
def test_it_is_told_of_cameras_that_are_turned_otherwise_as_well(degrees):
    left, right, cameras, transposed = verged(degrees, others=(0.006, 0.008))
    assert weigh_rows([(left, right)], transposed.rectify()).verdict == "transposed"
    assert weigh_rows([(left, right)], cameras.rectify()).verdict == "raw"


@pytest.mark.parametrize("degrees", [-0.25, -2])
@pytest.mark.parametrize("lower_px", [-2, 1, 2])
def test_a_knock_is_not_taken_for_a_transposed_rotation(degrees, lower_px):
    left, right, cameras, _ = verged(degrees)
    assert weigh_rows([(left, np.roll(right, lower_px, 0))], cameras.rectify()).verdict != "transposed"


@pytest.mark.parametrize("degrees", [-0.25, -2])
def test_swapped_images_are_not_taken_for_a_transposed_rotation(degrees):
    """That of the cameras as they were swapped is the transpose, but then all features lie behind them."""
    left, right, cameras, _ = verged(degrees)
    assert weigh_rows([(right, left)], cameras.rectify()).verdict != "transposed"


def test_a_file_with_a_transposed_rotation_is_refused_and_with_rectify_told(tmp_path, capsys):
    left, right, _, transposed = verged(-2)
    path = write_opencv(tmp_path, transposed)
    words = "the rotation in extrinsics.yml looks transposed: rows of .* transpose it"
    with pytest.raises(ValueError, match=f"{words}.*--rectify or --no-rectify"):
        GivenCameras((path,)).load([(left, right)])
    said = []
    assert GivenCameras((path,), rectify=True).load([(left, right)], warn=said.append).raw is not None
    assert sum("looks transposed" in text for text in said) == 1
    for name, image in (("left.png", left), ("right.png", right)):
        write_image(tmp_path / name, image)
    images = [str(tmp_path / name) for name in ("left.png", "right.png")]
    assert run(["rectify", *images, "--calib", str(path), "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.count("looks transposed") == 1


def test_nothing_is_said_with_rectify_of_a_rotation_that_is_right(tmp_path):
    left, right, cameras, _ = verged(-2)
    said = []
    GivenCameras((write_opencv(tmp_path, cameras),), rectify=True).load([(left, right)], warn=said.append)
    assert not said


def test_topics_with_a_transposed_rotation_are_refused(tmp_path):
    left, right, _, transposed = verged(-2)
    found = read_calibration(write_ros(tmp_path, transposed))
    for topics in (("left", "right"), ("left/image_raw", "right/image_raw")):
        with pytest.raises(ValueError, match="the rotation in its camera_info looks transposed"):
            decide_camera(found, topics, None, iter([(left, right)]), pytest.fail)


def test_features_are_rectified_without_maps_as_with_them():
    _, _, cameras, _ = verged(-2)
    places = np.random.default_rng(0).uniform((0, 0), cameras.size, (50, 2))
    rectifier = cameras.rectify()
    left, right, rig = rectified_features(cameras, places, places[::-1])
    np.testing.assert_array_equal(np.stack([left, right]), rectifier.points(places, places[::-1]))
    assert rig == rectifier.rig
