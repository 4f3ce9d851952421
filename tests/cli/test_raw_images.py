"""Calibrations that can rectify, and images that may be raw or rectified: the depth is right, or it is refused."""

import json

import numpy as np
import pytest

pytest.importorskip("cv2")

import bdis
from bdis.cli.app import run
from tests.cameras.raw_pairs import raw_pair, write_opencv, write_ros
from tests.cli.commands import fails


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Folders raw/ and rectified/ with left.png and right.png, and the true median depth in mm."""
    folder = tmp_path_factory.mktemp("images")
    left, right, cameras, pair = raw_pair()
    for name, views in {"raw": (left, right), "rectified": cameras.rectify()(left, right)}.items():
        (folder / name).mkdir()
        for side, image in zip(("left", "right"), views):
            bdis.write_image(folder / name / f"{side}.png", image)
    rig = bdis.Rig(pair.focal_px, 0, 0, pair.baseline_mm)
    return folder, float(np.nanmedian(rig.depth(pair.disparity)))


@pytest.fixture
def files(tmp_path):
    """Calibration files in every format that has raw cameras."""
    cameras = raw_pair()[2]
    cameras.save(tmp_path / "cameras.toml")
    return {
        "ROS": write_ros(tmp_path, cameras),
        "OpenCV": write_opencv(tmp_path, cameras),
        "bdis": tmp_path / "cameras.toml",
    }


def views(images, kind):
    return [str(images[0] / kind / f"{side}.png") for side in ("left", "right")]


def matched(arguments, tmp_path, capsys):
    """Median depth in mm, and everything that was said."""
    assert run(["match", *map(str, arguments), "--json", "--format", "npy", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    return found["depth_mm"]["50%"], found, said.err


@pytest.mark.parametrize("file", ["ROS", "OpenCV", "bdis"])
@pytest.mark.parametrize("kind", ["raw", "rectified"])
def test_raw_images_taken_as_rectified_gave_two_thirds_of_the_depth(images, files, kind, file, tmp_path, capsys):
    depth, found, said = matched([*views(images, kind), "--calib", files[file]], tmp_path, capsys)
    assert depth == pytest.approx(images[1], rel=0.02)
    remark = " ".join(found["calibration"])
    assert ("images rectified with it" if kind == "raw" else "images taken as rectified") in remark
    assert "px after rectification" in remark
    assert ("are rectified already" in said) == (kind == "rectified" and file == "bdis")  # its rig is only assumed


@pytest.mark.parametrize("file", ["ROS", "OpenCV", "bdis"])
def test_both_can_be_forced_for_every_format(images, files, file, tmp_path, capsys):
    true = images[1]
    for kind, right_option, wrong_option in (
        ("raw", "--rectify", "--no-rectify"),
        ("rectified", "--no-rectify", "--rectify"),
    ):
        given = [*views(images, kind), "--calib", files[file]]
        assert matched([*given, right_option], tmp_path, capsys)[0] == pytest.approx(true, rel=0.02)
        depth, _, said = matched([*given, wrong_option], tmp_path / kind, capsys)
        assert abs(depth / true - 1) > 0.1  # wrong, but asked for
        assert "warning" in said


def test_extrinsics_alone_cannot_rectify_and_say_so(images, tmp_path, capsys):
    file = write_opencv(tmp_path, raw_pair()[2], intrinsics="elsewhere.yml")
    given = ["match", *views(images, "raw"), "--calib", file, "-o", tmp_path / "out"]
    fails(capsys, given, 1, "the images do not look rectified", "lacks M1, D1, M2 and D2", "--calib FILE twice")
    assert not (tmp_path / "out").exists()
    assert matched([*given[1:5], "--calib-right", tmp_path / "elsewhere.yml"], tmp_path, capsys)[0] == pytest.approx(
        images[1], rel=0.02
    )
    assert matched([*views(images, "rectified"), "--calib", file], tmp_path / "2", capsys)[0] == pytest.approx(
        images[1], rel=0.02
    )


def test_a_file_without_intrinsics_shows_no_made_up_cameras(tmp_path, capsys):
    file = write_opencv(tmp_path, raw_pair()[2], intrinsics="elsewhere.yml")
    assert run(["calib", "show", str(file), "--size", "640x480"]) == 0
    said = capsys.readouterr().out
    assert "not known without M1, D1, M2 and D2" in said
    assert "left camera" not in said
    with pytest.raises(ValueError, match="lacks M1, D1, M2 and D2.*: give that file as second"):
        bdis.StereoCalibration.load(file, size=(640, 480))
    both = bdis.StereoCalibration.load(file, tmp_path / "elsewhere.yml", size=(640, 480))
    np.testing.assert_allclose(both.rotation, raw_pair()[2].rotation, atol=1e-9)


def test_intrinsics_and_extrinsics_can_be_given_in_either_order(images, tmp_path, capsys):
    write_opencv(tmp_path, raw_pair()[2], "a.yml", "b.yml")
    for number, (first, second) in enumerate((("a.yml", "b.yml"), ("b.yml", "a.yml"))):
        given = [*views(images, "raw"), "--calib", tmp_path / first, "--calib", tmp_path / second]
        assert matched(given, tmp_path / str(number), capsys)[0] == pytest.approx(images[1], rel=0.02)


def test_files_of_two_calibrations_are_refused(images, tmp_path, capsys):
    (tmp_path / "other").mkdir()
    write_opencv(tmp_path, raw_pair()[2])
    other = write_opencv(tmp_path / "other", raw_pair(rotation=(0, -0.01, 0))[2], extrinsics="more.yml")
    given = [*views(images, "raw"), "--calib", tmp_path / "extrinsics.yml", "--calib-right", other]
    fails(capsys, ["match", *given], 1, "differs from that in more.yml: these are of two calibrations")


def test_images_that_show_nothing_are_refused_unless_it_is_said_what_they_are(files, tmp_path, capsys):
    for side in ("left", "right"):
        bdis.write_image(tmp_path / f"{side}.png", np.full((480, 640), 90, np.uint8))
    given = ["match", tmp_path / "left.png", tmp_path / "right.png", "--calib", files["ROS"], "-o", tmp_path / "out"]
    fails(capsys, given, 1, "it cannot be told whether the images are rectified already", "--rectify or --no-rectify")
    assert run([*map(str, given), "--no-rectify"]) == 0


def test_the_calibration_of_other_cameras_is_refused(images, tmp_path, capsys):
    other = write_ros(tmp_path, raw_pair(rotation=(-0.02, 0.02, -0.03))[2])
    given = ["match", *views(images, "raw"), "--calib", other]
    fails(capsys, given, 1, "is not the calibration of these images")


def test_a_video_of_raw_images_is_rectified_too(images, files, tmp_path, capsys):
    folder = tmp_path / "frames"
    for side in ("left", "right"):
        (folder / side).mkdir(parents=True)
        for number in range(2):
            (folder / side / f"{number}.png").write_bytes((images[0] / "raw" / f"{side}.png").read_bytes())
    out = tmp_path / "run"
    given = ["run", str(folder), "--calib", str(files["ROS"]), "--save", "depth", "-o", str(out), "--json"]
    assert run(given) == 0
    assert any("images rectified with it" in remark for remark in json.loads(capsys.readouterr().out)["calibration"])


@pytest.fixture
def folder(images, tmp_path):
    """Makes a folder with left/ and right/ of two images each, and a complete calibration of OpenCV beside them."""

    def made(kind):
        for side in ("left", "right"):
            (tmp_path / "frames" / side).mkdir(parents=True)
            for number in range(2):
                image = images[0] / kind / f"{side}.png"
                (tmp_path / "frames" / side / f"{number}.png").write_bytes(image.read_bytes())
        files = write_opencv(tmp_path, raw_pair()[2]), tmp_path / "intrinsics.yml"
        extrinsics, intrinsics = (file.read_text() for file in files)
        (tmp_path / "frames" / "calibration.yaml").write_text(intrinsics + extrinsics.partition("---\n")[2])
        return tmp_path / "frames"

    return made


def run_depth(arguments, out):
    """Median depth of the first frame in mm, and the remarks on the calibration in the manifest."""
    assert run(["run", *map(str, arguments), "--save", "depth", "-o", str(out)]) == 0
    depth = bdis.read_depth(sorted((out / "depth").iterdir())[0])
    return float(np.nanmedian(depth)), json.loads((out / "manifest.json").read_text())["calibration_remarks"]


@pytest.mark.parametrize("kind", ["raw", "rectified"])
def test_raw_images_with_a_calibration_in_their_folder_gave_two_thirds_of_the_depth(images, folder, kind, tmp_path):
    place = folder(kind)
    depth, remarks = run_depth([place], tmp_path / "out")
    assert depth == pytest.approx(images[1], rel=0.02)
    assert remarks[0] == "calibration.yaml of the folder"
    assert ("images rectified with it" if kind == "raw" else "images taken as rectified") in " ".join(remarks)
    with bdis.open_source(place) as source:
        rig = source.camera.rig if kind == "raw" else source.rig
        assert (source.rig is None) == (kind == "raw")
        assert rig.focal_px == pytest.approx(bdis.Rig.load(tmp_path / "out" / "rig.toml").focal_px)


def test_rectify_was_refused_for_a_calibration_in_the_folder(images, folder, tmp_path, capsys):
    place = folder("raw")
    assert run_depth([place, "--rectify"], tmp_path / "out")[0] == pytest.approx(images[1], rel=0.02)
    assert abs(run_depth([place, "--no-rectify"], tmp_path / "no")[0] / images[1] - 1) > 0.1  # wrong, but asked for
    (place / "calibration.yaml").unlink()
    fails(capsys, ["run", place, "--rectify", "-o", tmp_path / "o"], 2, "--rectify needs --calib")


def test_another_calibration_in_the_folder_is_not_passed_over(folder, tmp_path):
    place = folder("raw")
    (place / "K.txt").write_text("544 0 319.5\n0 544 239.5\n0 0 1\n0.005\n")
    remarks = run_depth([place], tmp_path / "out")[1]
    assert remarks[0] == "calibration.yaml of the folder, and not K.txt, which is there as well"


def test_a_baseline_in_cm_in_the_folder_gave_a_hundred_times_the_depth(folder, tmp_path, capsys):
    place = folder("rectified")
    (place / "calibration.yaml").unlink()
    (place / "K.txt").write_text("544 0 319.5\n0 544 239.5\n0 0 1\n0.5\n")
    assert "baseline 500 mm" in run_depth([place], tmp_path / "out")[1]
    assert "K.txt has a baseline of 500 mm" in capsys.readouterr().err


def test_a_run_goes_on_only_with_the_calibration_that_the_folder_had(folder, tmp_path, capsys):
    place = folder("raw")
    run_depth([place], tmp_path / "out")
    assert run(["run", str(place), "--save", "depth", "-o", str(tmp_path / "out"), "--resume"]) == 0
    with (place / "calibration.yaml").open("a") as file:
        file.write("\n# changed\n")
    fails(capsys, ["run", place, "--save", "depth", "-o", tmp_path / "out", "--resume"], 1, "calib_sha256")


@pytest.mark.parametrize(
    ("kind", "order", "words"),
    [
        ("raw", 1, ""),
        ("rectified", 1, "the images look rectified already: rows of"),
        ("raw", -1, "cameras.toml does not look like the calibration of these images: rows of"),
    ],
)
@pytest.mark.parametrize("alpha", [[], ["--alpha", "1"]])
def test_rectify_said_nothing_of_images_that_it_is_not_for(images, files, kind, order, words, alpha, tmp_path, capsys):
    """Rectified ones were rectified again, and swapped views were rectified as each other's."""
    out = ["--calib", str(files["bdis"]), "-o", str(tmp_path / "out")]
    assert run(["rectify", *views(images, kind)[::order], *out, *alpha]) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert warnings[0].startswith(f"warning: {words}") if words else not warnings
