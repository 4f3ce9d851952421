"""Focal lengths of raw cameras that differ along rows and columns: told, unless such images are known for it."""

import numpy as np
import pytest

import bdis
from bdis.cameras.calibration_doubts import unequal_focals
from bdis.cameras.formats import CalibrationFile, read_calibration
from bdis.cameras.given_cameras import GivenCameras
from bdis.cli.app import run
from bdis.connections.ros.topic_cameras import decide_camera
from tests.cameras.raw_pairs import raw_pair, write_ros


def opencv_text(left, right, size, rotation="1, 0, 0, 0, 1, 0, 0, 0, 1"):
    """A calibration of raw cameras with focal lengths (fx, fy) and the principal points in the middle."""
    matrices = [
        f"{name}: {{data: [{fx}, 0, {(size[0] - 1) / 2}, 0, {fy}, {(size[1] - 1) / 2}, 0, 0, 1]}}\n"
        for name, (fx, fy) in (("K1", left), ("K2", right))
    ]
    bent = "D1: {data: [0, 0, 0, 0, 0]}\nD2: {data: [0, 0, 0, 0, 0]}\n"
    stated = f"image_width: {size[0]}\nimage_height: {size[1]}\n"
    return "".join(matrices) + bent + f"R: {{data: [{rotation}]}}\nT: {{data: [-5, 0, 0]}}\n" + stated


def of_raw(left, right=None, size=(640, 480)):
    """What is doubted of cameras with focal lengths (fx, fy)."""
    matrices = [np.array([[fx, 0, 319.5], [0, fy, 239.5], [0, 0, 1]]) for fx, fy in (left, right or left)]
    raw = {"left_matrix": matrices[0], "right_matrix": matrices[1], "translation_mm": np.array([-5.0, 0, 0])}
    return unequal_focals(CalibrationFile("OpenCV", "mm", None, None, raw), size, "raw.yml")


@pytest.mark.parametrize("factor", [0.5, 0.9, 0.95, 1.05, 1.1, 2.0])
def test_a_calibration_whose_fy_is_off_in_both_cameras_gave_wrong_points_without_a_word(factor, tmp_path, capsys):
    """Both cameras are wrong alike, so that no rows differ which would have told."""
    path = tmp_path / "raw.yml"
    path.write_text(opencv_text((544, 544 * factor), (545, 545 * factor), (640, 480)))
    words = f"raw.yml has focal lengths of 544 px along rows and {544 * factor:g} px along columns"
    image, said = np.zeros((480, 640), np.uint8), []
    cameras = GivenCameras((path,), rectify=True).load([(image, image)], warn=said.append)
    assert words in said[0]
    assert len(said) == 1
    assert f"focal lengths 544 and {544 * factor:g} px" in cameras.remarks
    with pytest.warns(UserWarning, match=words):
        bdis.StereoCalibration.load(path)
    assert run(["calib", "show", str(path)]) == 0
    assert words in capsys.readouterr().err


@pytest.fixture
def ros_file(tmp_path):
    """Files of ROS whose K have too large an fy, and P as it follows from them."""
    cameras = raw_pair()[2]
    stretched = np.diag([1, 1.1, 1])
    wrong = bdis.StereoCalibration(
        stretched @ cameras.left_matrix, cameras.left_distortion, stretched @ cameras.right_matrix,
        cameras.right_distortion, cameras.rotation, cameras.translation_mm, (640, 526),
    )  # fmt: skip
    return write_ros(tmp_path, wrong)


def test_the_cameras_of_topics_are_told_too(ros_file):
    image, said = np.zeros((526, 640), np.uint8), []
    decide_camera(read_calibration(ros_file), ("left", "right"), True, iter([(image, image)]), said.append)
    assert any(text.startswith("the camera_info has focal lengths of") for text in said)


def test_it_is_told_as_well_if_the_images_are_rectified_already(ros_file):
    """The rectified camera has one focal length; that of the columns is dropped on the way to it."""
    image, path, said = np.zeros((526, 640), np.uint8), ros_file, []
    GivenCameras((path,), rectify=False).load([(image, image)], warn=said.append)
    assert any("px along columns" in text for text in said)
    with pytest.warns(UserWarning, match="px along columns"):
        bdis.Rig.load(path)


@pytest.mark.parametrize(("side", "others"), [(1.1, 1.0), (1.0, 1.1)])
def test_one_camera_alone_is_told_too(side, others):
    assert of_raw((500, 500 * side), (500, 500 * others)).remark == "focal lengths 500 and 550 px"


# Published calibrations: a da Vinci (EndoVis), that of Hamlyn's heart phantom, and one of a field of a video (Hamlyn);
# then what standards of television, HDV and views that were squeezed give.
HONEST = [
    ((1084.21, 1084.05), (1280, 1024)), ((415.126, 410.5), (1280, 800)), ((391.656525, 426.835144), (360, 288)),
    ((530.90002, 581.00362), (320, 288)), ((755.312744, 420.477722), (720, 288)), ((700, 700 * 16 / 15), (720, 576)),
    ((700, 700 * 12 / 11), (704, 576)), ((700, 700 * 16 / 11), (720, 576)), ((700, 700 * 10 / 11), (720, 480)),
    ((700, 700 * 8 / 9), (704, 480)), ((350, 350 * 40 / 33), (360, 240)), ((1000, 1000 * 4 / 3), (1440, 1080)),
    ((500, 1000), (960, 1080)), ((1000, 500), (1920, 540)), ((400, 800), (320, 480)),
    ((700, 350 * 10 / 11), (720, 240)),
]  # fmt: skip


@pytest.mark.parametrize(("focals", "size"), HONEST)
def test_nothing_is_said_of_pixels_that_images_of_this_size_are_known_to_have(focals, size):
    assert of_raw(focals, size=size) is None
    assert of_raw(focals, size=None) is None


@pytest.mark.parametrize(
    ("focals", "size"),
    [
        ((700, 770), (640, 480)), ((700, 770), (1280, 1024)), ((700, 630), (1280, 1024)), ((700, 770), (1920, 1080)),
        ((700, 630), (720, 576)), ((700, 770), (720, 480)), ((700, 770), (768, 576)), ((700, 1400), (640, 480)),
        ((700, 350), (1280, 720)), ((700, 770), (1024, 576)), ((700, 733), (1280, 1024)), ((700, 7000), None),
    ],
)  # fmt: skip
def test_the_pixels_of_another_standard_are_told(focals, size):
    assert of_raw(focals, size=size) is not None


def test_views_that_were_stretched_and_their_calibration_of_squeezed_ones_had_no_advice(tmp_path):
    path, image = tmp_path / "raw.yml", np.zeros((480, 640), np.uint8)
    path.write_text(opencv_text((272, 544), (272, 544), (320, 480)))
    with pytest.raises(ValueError, match="as they were squeezed into one image, leave out --squeezed"):
        GivenCameras((path,)).load([(image, image)])
    said = []
    GivenCameras((path,), rectify=True).load([(image[:, :320], image[:, :320])], warn=said.append)
    assert not said
