"""Calibrations of images of another size, or of another part of the sensor: refused, or told."""

import pytest

import bdis
from tests.cameras.raw_pairs import raw_pair, write_ros

# --- ROS camera_info --------------------------------------------------------------------------------------------------


def ros_pair(folder, text, sides=("left", "right")):
    """left.yaml and right.yaml of images of 640x480, with more text; the path of the left one."""
    path = write_ros(folder, raw_pair()[2])
    for side in sides:
        with open(folder / f"{side}.yaml", "a") as file:
            file.write(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "roi:\n  x_offset: 160\n  y_offset: 120\n  height: 240\n  width: 320\n  do_rectify: false\n",
        "roi: {x_offset: 0, y_offset: 0, width: 640, height: 240}\n",
        "binning_x: 2\nbinning_y: 2\n",
        "binning_x: 1\nbinning_y: 2\nroi: {x_offset: 0, y_offset: 0, width: 0, height: 0}\n",
    ],
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_ros_file_of_binned_images_or_of_a_part_of_the_sensor_gave_half_the_depth(text, side, tmp_path):
    """The images are smaller than the file says, so the advice was to scale it."""
    path = ros_pair(tmp_path, text, [side])
    with pytest.raises(ValueError, match=f"left.yaml: .*{side} camera is of binned images or of a part of the sensor"):
        bdis.Rig.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "binning_x: 0\nbinning_y: 0\nroi: {x_offset: 0, y_offset: 0, width: 0, height: 0, do_rectify: true}\n",
        "binning_x: 1\nbinning_y: 1\nroi: {x_offset: 0, y_offset: 0, width: 640, height: 480, do_rectify: false}\n",
        "binning_x:\nroi:\n",
        "roi: {do_rectify: true}\n",
    ],
)
def test_a_ros_file_says_in_many_ways_that_it_is_of_all_pixels(text, tmp_path):
    path = ros_pair(tmp_path, text)
    assert bdis.Rig.load(path).size == (640, 480)
    assert bdis.StereoCalibration.load(path).size == (640, 480)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("roi: [0, 0, 640, 480]\n", "roi must have x_offset, y_offset, width and height"),
        ("roi: {x_offset: a}\n", "x_offset of roi must be a finite number, but it is 'a'"),
        ("binning_x: .nan\n", "binning_x must be a finite number"),
        ("binning_y: {a: 1}\n", "binning_y must be a finite number"),
    ],
)
def test_a_ros_file_whose_part_of_the_sensor_makes_no_sense_is_refused(text, words, tmp_path):
    with pytest.raises(ValueError, match=f"left.yaml: {words}"):
        bdis.Rig.load(ros_pair(tmp_path, text))
