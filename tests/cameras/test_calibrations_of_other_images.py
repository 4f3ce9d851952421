"""Calibrations of images of another size, or of another part of the sensor: refused, or told."""

import numpy as np
import pytest

import bdis
from bdis.cameras.calibration_doubts import off_middle, unusual_baseline
from bdis.cameras.formats import CalibrationFile
from bdis.cameras.given_cameras import GivenCameras
from bdis.cli.app import run
from bdis.evaluation.datasets.authors import CAMERAS
from bdis.video.opened_source import SourceRequest
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


# --- Files that do not say how large the images are -------------------------------------------------------------------

K = "data: [544, 0, 319.5, 0, 544, 239.5, 0, 0, 1]"
RAW = (
    f"K1: {{{K}}}\nD1: {{data: [0, 0, 0, 0, 0]}}\nK2: {{{K}}}\nD2: {{data: [0, 0, 0, 0, 0]}}\n"
    "R: {data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}\nT: {data: [-5, 0, 0]}\n"
)
P = "data: [544, 0, 319.5, {shift}, 0, 544, 239.5, 0, 0, 0, 1, 0]"
RECTIFIED = f"P1: {{{P.format(shift=0)}}}\nP2: {{{P.format(shift=-2720)}}}\n"
K_TXT = "544 0 319.5\n0 544 239.5\n0 0 1\n0.005\n"
K_3X4 = "544 0 319.5 {shift}\n0 544 239.5 0\n0 0 1 0\n"


def loaded(folder, text, size, name="calib.yml", **given):
    """The cameras in a file for images of this size, and what was warned of."""
    path = folder / name
    path.write_text(text)
    return loaded_of(GivenCameras((path,), **given), size)


def loaded_of(cameras, size):
    image, said = np.zeros(size[::-1], np.uint8), []
    return cameras.load([(image, image)], warn=said.append), said


@pytest.mark.parametrize(
    ("text", "rectify"), [(RAW, True), (RAW, False), (RAW, None), (RECTIFIED, None), (K_TXT, None), (K_TXT, False)]
)
def test_a_calibration_of_images_of_twice_the_size_gave_twice_the_depth_without_a_word(text, rectify, tmp_path):
    """Their principal point is the corner of these images: of 320 columns, the last one ends at 319.5."""
    words = r"principal point at \(319.5, 239.5\), outside the images of 320x240; .*--calib-scale"
    with pytest.raises(ValueError, match=f"calib.yml has its {words}"):
        loaded(tmp_path, text, (320, 240), rectify=rectify)


@pytest.mark.parametrize(("size", "share"), [((400, 300), 30), ((480, 360), 17), ((1280, 960), 25), ((960, 720), 17)])
@pytest.mark.parametrize("text", [RAW, RECTIFIED, K_TXT])
def test_a_calibration_of_images_of_another_size_is_told_by_its_principal_point(text, size, share, tmp_path):
    cameras, said = loaded(tmp_path, text, size, rectify=False)
    assert len(said) == 1
    assert (
        f"calib.yml does not say how large its images are, and has its principal point at (319.5, 239.5), {share} % of"
        in said[0]
    )
    assert "add --calib-scale FACTOR" in said[0]
    assert any(f"principal point {share} %" in remark for remark in cameras.remarks)
    cameras, said = loaded(tmp_path, text, size, rectify=False, calib_scale=size[0] / 640)
    assert not said
    assert cameras.rig.focal_px == pytest.approx(544 * size[0] / 640)


@pytest.mark.parametrize("text", [RAW, RECTIFIED, K_TXT])
def test_nothing_is_said_of_a_calibration_of_these_images(text, tmp_path):
    cameras, said = loaded(tmp_path, text, (640, 480), rectify=False)
    assert not said
    assert "principal point" not in " ".join(cameras.remarks)


# --- Files that say how large the images are --------------------------------------------------------------------------

SIZE = "image_width: {}\nimage_height: {}\n"


def test_a_rig_of_bdis_that_says_its_size_may_be_of_a_crop(tmp_path):
    bdis.Rig(544, 100, 239.5, 5, size=(640, 480)).save(tmp_path / "crop.toml")
    assert not loaded_of(GivenCameras((tmp_path / "crop.toml",)), (640, 480))[1]
    bdis.Rig.load(tmp_path / "crop.toml")


@pytest.mark.parametrize("rectify", [True, False])
@pytest.mark.parametrize("text", [RAW, RECTIFIED])
def test_matrices_of_half_the_size_that_the_file_states_gave_half_the_depth_without_a_word(text, rectify, tmp_path):
    if rectify and text == RECTIFIED:
        return
    path = tmp_path / "calib.yml"
    path.write_text(SIZE.format(1280, 960) + text)
    words = "calib.yml says that its images are 1280x960, but has its principal point at (319.5, 239.5), 25 % of the"
    cameras, (said,) = loaded_of(GivenCameras((path,), rectify=rectify), (1280, 960))
    assert said.startswith(words)
    assert [remark for remark in cameras.remarks if "25 %" in remark] == [
        "principal point 25 % of the width off the middle"
    ]
    _, (said,) = loaded_of(GivenCameras((path,), rectify=rectify, calib_scale=0.5), (640, 480))
    assert said.startswith(words)


@pytest.mark.parametrize(("text", "cameras"), [(RAW, bdis.StereoCalibration), (RECTIFIED, bdis.Rig)])
def test_such_a_file_is_told_once_by_python_and_by_commands(text, cameras, tmp_path, capsys):
    path = tmp_path / "calib.yml"
    path.write_text(SIZE.format(1280, 960) + text)
    with pytest.warns(UserWarning, match="calib.yml says that its images are 1280x960, but has its principal") as told:
        cameras.load(path)
    assert len(told) == 1
    for arguments in (["show", str(path)], ["convert", str(path), str(tmp_path / "out.toml")]):
        assert run(["calib", *arguments]) == 0
        assert capsys.readouterr().err.count("warning: calib.yml says that its images are 1280x960") == 1


def test_matrices_of_twice_the_size_that_the_file_states_are_refused(tmp_path, capsys):
    path = tmp_path / "calib.yml"
    path.write_text(SIZE.format(320, 240) + RAW)
    words = r"calib.yml: .* the principal point at \(319.5, 239.5\), outside the images of 320x240; "
    with pytest.raises(ValueError, match=words):
        bdis.StereoCalibration.load(path)
    with pytest.raises(ValueError, match=words):
        loaded_of(GivenCameras((path,)), (320, 240))
    for arguments in (["show", str(path)], ["convert", str(path), str(tmp_path / "out.toml")]):
        assert run(["calib", *arguments]) == 1
        assert "outside the images of 320x240" in capsys.readouterr().err


def test_a_rig_of_half_the_size_that_it_states_is_told_and_one_of_a_crop_is_not(tmp_path, recwarn):
    """The first gave half of every depth without a word."""
    bdis.Rig(544, 100, 239.5, 5, size=(640, 480)).save(tmp_path / "crop.toml")
    bdis.Rig.load(tmp_path / "crop.toml")
    assert not recwarn
    bdis.Rig(272, 163, 117, 5, size=(640, 480)).save(tmp_path / "half.toml")
    with pytest.warns(UserWarning, match="half.toml says that its images are 640x480, but has its principal point"):
        bdis.Rig.load(tmp_path / "half.toml")


def test_rectified_matrices_of_twice_the_size_are_told_as_they_may_be_of_a_part(tmp_path, capsys):
    path = tmp_path / "calib.yml"
    path.write_text(SIZE.format(320, 240) + RECTIFIED)
    words = "says that its images are 320x240, but has its principal point"
    with pytest.warns(UserWarning, match=words):
        assert bdis.Rig.load(path).cx == 319.5
    assert run(["calib", "show", str(path)]) == 0
    assert words in capsys.readouterr().err
    with pytest.raises(ValueError, match="outside the images of 320x240"):
        loaded_of(GivenCameras((path,)), (320, 240))


@pytest.mark.parametrize(("cx", "cy"), [(1000, 119.5), (-1, 119.5), (159.5, 239.5)])
def test_raw_cameras_had_a_principal_point_outside_of_their_own_images(cx, cy):
    matrix = np.array([[272, 0, cx], [0, 272, cy], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"left_matrix has the principal point at .*, outside the images of 320x240"):
        bdis.StereoCalibration(matrix, [], matrix, [], np.eye(3), [-5, 0, 0], size=(320, 240))


def test_the_right_principal_point_of_verged_cameras_may_lie_outside():
    rig = bdis.Rig(272, 100, 119.5, 5, cx_right=330, size=(320, 240))
    assert rig.doffs == 230


def test_rectified_images_of_a_part_of_the_raw_ones_are_taken_as_rectified(tmp_path):
    """The file has both cameras and does not say how large the images of either are."""
    half = RECTIFIED.replace("319.5", "159.5").replace("239.5", "119.5")
    cameras, said = loaded(tmp_path, RAW + half, (320, 240))
    assert cameras.rig.cx == 159.5
    assert not said
    with pytest.raises(ValueError, match="outside the images of 320x240"):
        loaded(tmp_path, RAW + half, (320, 240), rectify=True)


# --- Numbers ----------------------------------------------------------------------------------------------------------


def test_the_rigs_of_the_data_sets_are_near_the_middle():
    for rig in CAMERAS.values():
        assert off_middle(rig, rig.size, "", "") is None


def test_a_principal_point_given_by_numbers_lies_in_the_images():
    """With a file the same one is refused."""
    with pytest.raises(
        ValueError, match=r"--cx and --cy put the principal point at \(5000.0, 239.5\), outside the images"
    ):
        loaded_of(GivenCameras(focal=544, baseline=5, cx=5000), (640, 480))
    with pytest.raises(ValueError, match="outside the images of 640x480"):
        loaded_of(GivenCameras(focal=544, baseline=5, cy=-1), (640, 480))
    cameras, said = loaded_of(GivenCameras(focal=544, baseline=5, cx=319.5, cy=239.5), (400, 300))
    assert len(said) == 1
    assert "30 % of the width off the middle" in said[0]
    assert cameras.remarks == ["principal point 30 % of the width off the middle"]
    assert not loaded_of(GivenCameras(focal=544, baseline=5, cx=280.4, cy=252.4), (640, 480))[1]


@pytest.mark.parametrize("focal", [54400, 4])
def test_a_focal_length_that_hardly_any_camera_has_is_told(focal):
    """One in mm, or with two zeros too many, gave a depth without a word."""
    cameras, (said,) = loaded_of(GivenCameras(focal=focal, baseline=5), (640, 480))
    assert cameras.remarks == [f"focal length {focal} px"]
    assert f"--focal gives a focal length of {focal} px: images of 640x480 see" in said
    for usual in (200, 6000):
        assert not loaded_of(GivenCameras(focal=usual, baseline=5), (640, 480))[1]


def test_a_focal_length_of_another_camera_is_told_whatever_the_file_says_of_its_size(tmp_path):
    bdis.Rig(8000, 319.5, 239.5, 5, size=(640, 480)).save(tmp_path / "tele.toml")
    _, (said,) = loaded_of(GivenCameras((tmp_path / "tele.toml",)), (640, 480))
    assert "tele.toml has a focal length of 8000 px: images of 640x480 see 4.58 degrees" in said


def test_no_images_are_no_stop_iteration():
    with pytest.raises(ValueError, match="there are no images"):
        GivenCameras(focal=544, baseline=5).load([])


# --- Baselines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("calib.yml", RAW.replace("[-5,", "[-0.5,"), "calib.yml has a baseline of 0.5 mm, read in mm (assumed"),
        ("K.txt", K_TXT.replace("0.005", "0.5"), "K.txt has a baseline of 500 mm, read in m (K.txt convention)"),
    ],
)
def test_a_file_in_centimetres_gave_a_tenth_or_a_hundred_times_the_depth_without_a_word(name, text, words, tmp_path):
    cameras, said = loaded(tmp_path, text, (640, 480), name, rectify=False)
    assert len(said) == 1
    assert words in said[0]
    assert "--unit" in said[0]
    assert any(remark in cameras.remarks for remark in ("baseline 0.5 mm", "baseline 500 mm"))
    cameras, said = loaded(tmp_path, text, (640, 480), name, rectify=False, unit="cm")
    assert not said
    assert cameras.rig.baseline_mm == pytest.approx(5)


def test_a_rig_of_a_file_in_centimetres_gave_a_hundred_times_the_depth_without_a_word_in_python(tmp_path):
    (tmp_path / "K.txt").write_text(K_TXT.replace("0.005", "0.5"))
    words = r"K.txt has a baseline of 500 mm, read in m \(K.txt convention\); if that is not so, .*unit="
    with pytest.warns(UserWarning, match=words):
        assert bdis.Rig.load(tmp_path / "K.txt").baseline_mm == 500
    assert bdis.Rig.load(tmp_path / "K.txt", unit="cm").baseline_mm == 5
    (tmp_path / "raw.yml").write_text(RAW.replace("[-5,", "[-0.5,"))
    with pytest.warns(UserWarning, match="raw.yml has a baseline of 0.5 mm"):
        bdis.StereoCalibration.load(tmp_path / "raw.yml", size=(640, 480))
    bdis.StereoCalibration.load(tmp_path / "raw.yml", size=(640, 480), unit="mm")


def test_a_converted_calibration_in_centimetres_was_no_longer_told(tmp_path, capsys):
    """What is written states its unit."""
    (tmp_path / "K.txt").write_text(K_TXT.replace("0.005", "0.5"))
    for more, count in (([], 1), (["--unit", "cm"], 0)):
        out = tmp_path / f"{count}.toml"
        assert run(["calib", "convert", str(tmp_path / "K.txt"), str(out), *more]) == 0
        assert capsys.readouterr().err.count("warning: K.txt has a baseline of 500 mm, read in m") == count


@pytest.mark.parametrize("baseline", [0.5, 500])
def test_a_baseline_whose_unit_is_known_may_be_large_or_small(baseline, tmp_path):
    """The authors' virtual colon has 0.5 mm."""
    bdis.Rig(544, 319.5, 239.5, baseline).save(tmp_path / "rig.toml")
    assert not loaded_of(GivenCameras((tmp_path / "rig.toml",)), (640, 480))[1]
    assert not loaded(tmp_path, K_TXT, (640, 480), "K.txt", baseline=baseline)[1]
    assert not loaded(tmp_path, RAW.replace("[-5,", f"[-{baseline},"), (640, 480), unit="mm", rectify=False)[1]


@pytest.mark.parametrize("baseline", [1, 5.4, 12, 120, 193])
def test_usual_baselines_of_endoscopes_and_robots_are_not_told(baseline):
    assert unusual_baseline(CalibrationFile("K.txt", "m", None, {"baseline_mm": baseline}), "K.txt") is None


@pytest.mark.parametrize(
    ("text", "given", "remark"),
    [
        (RECTIFIED, 50, "baseline 50 mm as given, instead of the 5 mm in calib.yml"),
        (K_TXT, 50, "baseline 50 mm as given, instead of the 5 mm in calib.yml"),
        (K_3X4.format(shift=-2.72), 4, "baseline 4 mm as given, instead of the 5 mm in calib.yml"),
        (K_3X4.format(shift=-2720), 4, "baseline 4 mm as given, instead of the 5 mm in calib.yml"),
        (RECTIFIED, 5, ""),
        (K_TXT, 5.001, ""),
        (K_TXT[:-6], 50, ""),
        (K_3X4.format(shift=-2.72), 5, ""),
        (K_3X4.format(shift=0), 50, ""),
    ],
)
def test_a_given_baseline_replaced_that_of_the_file_without_a_word(text, given, remark, tmp_path):
    cameras, said = loaded(tmp_path, text, (640, 480), baseline=given)
    assert [found for found in cameras.remarks if "baseline" in found] == ([remark] if remark else [])
    assert cameras.rig.baseline_mm == given
    assert not said


def test_what_a_given_baseline_replaces_is_shown(tmp_path, capsys):
    (tmp_path / "rect.yml").write_text(RECTIFIED)
    remark = "baseline 50 mm as given, instead of the 5 mm in rect.yml"
    assert run(["calib", "show", str(tmp_path / "rect.yml"), "--baseline", "50"]) == 0
    assert remark in capsys.readouterr().out
    out = tmp_path / "rig.toml"
    assert run(["calib", "convert", str(tmp_path / "rect.yml"), str(out), "--baseline", "50"]) == 0
    assert f"warning: {remark}" in capsys.readouterr().err


@pytest.mark.parametrize("given", [0.005, 5000, -0.005, 0, float("nan")])
@pytest.mark.parametrize("text", [RECTIFIED, K_TXT, K_TXT[:-6]])
def test_a_given_baseline_that_no_stereo_camera_has_gave_a_depth_of_micrometres_or_metres(text, given, tmp_path):
    """It was refused with --focal only."""
    with pytest.raises(ValueError, match=r"baseline_mm is .*, which no stereo camera has; is it in another unit"):
        loaded(tmp_path, text, (640, 480), baseline=given)
    assert loaded(tmp_path, text, (640, 480), baseline=5)[0].rig.baseline_mm == 5


@pytest.mark.parametrize("how", [["--calib", "K.txt"], ["--focal", "544"]])
@pytest.mark.parametrize("given", ["0.005", "5000"])
def test_such_a_baseline_is_a_wrong_command_line(how, given, capsys):
    assert run(["match", "left.png", "right.png", *how, "--baseline", given]) == 2
    assert f"--baseline is {given} mm, which no stereo camera has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        (K_TXT, "mm", r"read in mm \(given\), the cameras are 0.005 mm apart, .*; is mm really the unit of the file"),
        (RAW, "m", r"read in m \(given\), the cameras are 5000 mm apart"),
    ],
)
def test_a_given_unit_switched_off_the_check_of_what_no_stereo_camera_has(text, unit, words, tmp_path):
    with pytest.raises(ValueError, match=f"calib.yml: {words}"):
        loaded(tmp_path, text, (640, 480), unit=unit, rectify=False)


@pytest.mark.parametrize("name", ["rig.toml", "rig.json"])
def test_a_rig_file_with_an_impossible_baseline_was_to_be_read_in_a_unit_that_such_files_refuse(name, tmp_path):
    bdis.Rig(544, 319.5, 239.5, 500).save(tmp_path / name)
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("500.0", "0.005"))
    with pytest.raises(ValueError, match="0.005 mm apart, .*; the file states its unit, so correct its baseline$"):
        bdis.Rig.load(tmp_path / name)


@pytest.mark.parametrize("baseline", [0.005, 0.0999, 3001])
def test_python_took_a_baseline_that_files_and_commands_refuse(baseline):
    words = r"is .*, which no stereo camera has; is it in another unit than mm"
    with pytest.raises(ValueError, match=f"baseline_mm {words}"):
        bdis.Rig(272, 159.5, 119.5, baseline, size=(320, 240))
    matrix = np.array([[272, 0, 159.5], [0, 272, 119.5], [0, 0, 1]])
    with pytest.raises(ValueError, match=f"the length of translation_mm {words}"):
        bdis.StereoCalibration(matrix, [], matrix, [], np.eye(3), [-baseline, 0, 0], size=(320, 240))


# --- Two files --------------------------------------------------------------------------------------------------------


def test_a_second_file_was_ignored_by_formats_of_one(tmp_path):
    bdis.Rig(544, 319.5, 239.5, 5).save(tmp_path / "rig.toml")
    (tmp_path / "K.txt").write_text(K_TXT)
    (tmp_path / "mb.txt").write_text(
        "cam0=[544 0 319.5; 0 544 239.5; 0 0 1]\ncam1=[544 0 319.5; 0 544 239.5; 0 0 1]\nbaseline=5\n"
    )
    (tmp_path / "second.yml").write_text(RAW)
    for name in ("rig.toml", "K.txt", "mb.txt"):
        assert bdis.Rig.load(tmp_path / name).baseline_mm == 5
        words = r"a format of one file, but .*second.yml is given as well; formats that may have two are: .*ROS.*OpenCV"
        with pytest.raises(ValueError, match=f"{name}: .* is {words}"):
            bdis.Rig.load(tmp_path / name, tmp_path / "second.yml")


# --- Calibrations that lie beside the images --------------------------------------------------------------------------


def folder_of_images(folder, size):
    for side in ("left", "right"):
        (folder / side).mkdir()
        bdis.write_image(folder / side / "0.png", np.zeros((*size[::-1], 3), np.uint8))
    (folder / "calibration.yaml").write_text(RECTIFIED)
    return SourceRequest(str(folder))


def test_a_calibration_in_the_folder_of_smaller_images_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"principal point at \(319.5, 239.5\), outside .* 320x240; .*--calib-scale"):
        folder_of_images(tmp_path, (320, 240)).open()


@pytest.mark.parametrize(("size", "count"), [((400, 300), 1), ((640, 480), 0)])
def test_a_calibration_in_the_folder_of_resized_images_is_told(size, count, tmp_path):
    said = []
    opened = folder_of_images(tmp_path, size).open(warn=said.append)
    assert opened.rig.focal_px == 544
    told = [remark for remark in opened.remarks if "off the middle" in remark]
    assert len(said) == len(told) == count
    assert all("30 % of the width off the middle" in text for text in said + told)


def test_a_calibration_in_centimetres_in_the_folder_of_the_images_is_told_by_commands(tmp_path, capsys):
    request = folder_of_images(tmp_path, (640, 480))
    (tmp_path / "calibration.yaml").write_text(RECTIFIED.replace("-2720", "-272"))
    assert request.open().rig.baseline_mm == 0.5
    assert run(["run", str(tmp_path), "--save", "depth", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "warning: " in said
    assert "calibration.yaml has a baseline of 0.5 mm, read in mm (assumed" in said
    assert "UserWarning" not in said
